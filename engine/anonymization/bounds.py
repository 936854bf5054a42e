"""The k and l of a plan: the policy's bounds, or stronger ones that a run asks for."""

from collections.abc import Iterable
from dataclasses import replace

from smalti.errors import InternalError, PlanError, SmaltiError
from smalti.policy.decide.decision import Fact
from smalti.policy.decide.transformations import effective_bounds, whole
from smalti.policy.model.model import Anonymization, Bound, Operator, Permission
from smalti.vocab.terms import K, L


def chosen_bounds(
    wanted: Anonymization, asks: Iterable[Fact], problems: list[SmaltiError]
) -> tuple[int, int]:
    """The k and l that are taken; l is 1 where only k is promised.

    The bound itself, where nothing is asked for; otherwise what is stronger. `eq` takes no other value.
    What they come to is what the decision judged prohibitions by (`effective_bounds`): where
    the policy's l is larger than k, and k may rise, k rises to it. An l that is asked for and is larger
    than both is refused: who asks for it names the larger k, too.

    Args:
        wanted: by the policy.
        asks: by the run, under the operands of refinements.
        problems: takes a `PlanError` for each ask that cannot be met.
    """
    if wanted.k is None:
        raise InternalError("a method without k reached the compiler")
    asked = {fact.operand: fact for fact in asks}
    chooser = _Chooser(wanted, problems)
    asked_k = chooser.asked("k", wanted.k, asked.pop(K, None))
    stated_l = asked.pop(L, None)
    asked_l = None if wanted.l is None else chooser.asked("l", wanted.l, stated_l)
    if wanted.l is None and stated_l is not None:
        chooser.problem(
            "requested l, but the policy does not promise l-diversity",
            "a policy with the method l-diversity",
        )
    for operand in sorted(asked):
        chooser.problem(f"a run cannot request `{operand}`", f"`{K}` or `{L}`")
    unraised, _ = effective_bounds(wanted.k, None, asked_k)
    k, least = effective_bounds(wanted.k, wanted.l, asked_k, asked_l)
    if asked_l is not None and least > max(unraised, wanted.l.value if wanted.l else 1):
        expected = f"l of at most {unraised}, or a larger k"
        chooser.problem(f"requested l = {least} with k = {unraised}", expected)
    elif k < least:
        chooser.problem(f"the policy requires l = {least} with exactly k = {k}", f"l of at most {k}")
    return k, least


def with_number(permission: Permission, word: str, number: int) -> Permission:
    """A permission with another k or l.

    Args:
        permission: to anonymize.
        word: `k` or `l`.
        number: above 0.

    Raises:
        PlanError: it states no such number.
    """
    wanted = permission.anonymization
    bound = None if wanted is None else {"k": wanted.k, "l": wanted.l}[word]
    if wanted is None or bound is None:
        raise PlanError(
            str(permission.where),
            f"the policy states no {word}",
            f"a method with {word}",
            f"leave out --vary {word}",
        )
    other = replace(bound, value=number)
    wanted = replace(wanted, k=other) if word == "k" else replace(wanted, l=other)
    return replace(permission, anonymization=wanted)


class _Chooser:
    def __init__(self, wanted: Anonymization, problems: list[SmaltiError]) -> None:
        self._where, self._problems = str(wanted.where), problems

    def asked(self, name: str, bound: Bound, asked: Fact | None) -> int | None:
        if asked is None:
            return None
        number = whole(asked.values)
        if number is None:
            self.problem(f"the requested {name} is not a valid bound", "one whole number above 0")
        elif bound.operator is Operator.EQ and number != bound.value:
            self.problem(
                f"requested {name} = {number}, but the policy requires exactly {bound.value}",
                f"{name} = {bound.value}",
            )
        return number

    def problem(self, problem: str, expected: str) -> None:
        self._problems.append(PlanError(self._where, problem, expected, "change the request"))
