"""The k and l of a plan: the policy's bounds, or stronger ones that a run asks for."""

from collections.abc import Iterable

from smalti.errors import InternalError, PlanError, SmaltiError
from smalti.policy.decision import Fact
from smalti.policy.model import Anonymization, Bound, Number, Operator
from smalti.vocab.terms import K, L


def chosen_bounds(
    wanted: Anonymization, asks: Iterable[Fact], problems: list[SmaltiError]
) -> tuple[int, int]:
    """The k and l that are taken; l is 1 where only k is promised.

    The bound itself, where nothing is asked for; otherwise what is stronger. `eq` takes no other value.
    Where the policy's l is larger than its k, and k may rise, k rises to it. An l that is asked for never
    raises k by itself: prohibitions were judged by the k that was asked for (`policy.transformations`).

    Args:
        wanted: by the policy.
        asks: by the run, under the operands of refinements.
        problems: takes a `PlanError` for each ask that cannot be met.
    """
    if wanted.k is None:
        raise InternalError("a method without k reached the compiler")
    asked = {fact.operand: fact for fact in asks}
    chooser = _Chooser(wanted, problems)
    k = chooser.stronger("k", wanted.k, asked.pop(K, None))
    asked_l = asked.pop(L, None)
    least = 1 if wanted.l is None else chooser.stronger("l", wanted.l, asked_l)
    if wanted.l is None and asked_l is not None:
        chooser.problem(
            "l is asked for, and the policy does not promise l-diversity",
            "a policy with the method l-diversity",
        )
    for operand in sorted(asked):
        chooser.problem(f"a run cannot ask for `{operand}`", f"`{K}` or `{L}`")
    if asked_l is not None and least > max(k, wanted.l.value if wanted.l else 1):
        chooser.problem(f"l = {least} is asked for, with k = {k}", f"l of at most {k}, or a larger k")
    return max(k, least), least


class _Chooser:
    def __init__(self, wanted: Anonymization, problems: list[SmaltiError]) -> None:
        self._where, self._problems = str(wanted.where), problems

    def stronger(self, name: str, bound: Bound, asked: Fact | None) -> int:
        number = bound.value if asked is None else self._number(name, asked)
        if bound.operator is Operator.EQ and number != bound.value:
            self.problem(
                f"{name} = {number} is asked for, and the policy wants {bound.value} exactly",
                f"{name} = {bound.value}",
            )
        return max(bound.value, number)

    def _number(self, name: str, asked: Fact) -> int:
        if len(asked.values) == 1:
            (value,) = asked.values
            if isinstance(value, Number) and 1 <= value.value < _TOO_MANY and value.value % 1 == 0:
                return int(value.value)
        self.problem(f"what is asked for {name} is no bound", "one whole number, above 0")
        return 0

    def problem(self, problem: str, expected: str) -> None:
        self._problems.append(PlanError(self._where, problem, expected, "ask for something else"))


_TOO_MANY = 1 << 62
