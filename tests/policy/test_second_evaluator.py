"""Decisions on random policies, against a second evaluator that shares nothing with the first
(`second_evaluator`)."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

import pytest
import second_evaluator
from random_policies import HIERARCHIES, LORE, ROWS, Draw
from second_evaluator import Evaluator, Granted, Verdict, is_left, is_void, truth_of, without_conditions

from smalti.policy.decide.authorize import authorize, prepare
from smalti.policy.decide.decision import Decision, Request, owed_later
from smalti.policy.decide.exclusion import Prover
from smalti.policy.decide.index import PolicyIndex
from smalti.policy.model.model import ConflictStrategy, Policy

REQUESTS = 8
"""For the policies of each seed."""


def is_void_here(policy: Policy) -> bool:
    """Whether the product takes a policy for void."""
    is_strict = policy.conflict is ConflictStrategy.INVALID
    return is_strict and prepare(policy, HIERARCHIES).conflict is not None


def verdict(decision: Decision) -> Verdict:
    """What the product decides, in the words of the second evaluator."""
    grants = frozenset(
        Granted(
            grant.policy.uid,
            grant.permission.uid,
            frozenset(grant.withheld),
            frozenset(duty.uid for duty in grant.obligations),
            bool(grant.rows),
            frozenset(at for at, row in enumerate(ROWS) if all(is_left(each, row) for each in grant.rows)),
        )
        for grant in decision.grants
    )
    return Verdict(
        str(decision.effect), grants, frozenset((name.policy, name.rule) for name in decision.determining)
    )


def difference(ours: Verdict, other: Verdict, void: Iterable[Policy]) -> str:
    """Empty where both decide the same, for the same rules.

    A permit is determined by what grants. A refusal is by the prohibitions that strike what would be
    granted; the product names besides the two rules that make a policy void.
    """
    if (ours.effect, ours.grants) != (other.effect, other.grants):
        return f"{ours.effect} {set(ours.grants)}\ninstead of\n{other.effect} {set(other.grants)}"
    if ours.grants:
        expected = {(grant.policy, grant.rule) for grant in ours.grants}
        return "" if ours.forbidding == expected else f"determined by {set(ours.forbidding)}"
    besides = {(policy.uid, rule.uid) for policy in void for rule in policy.rules}
    is_named = other.forbidding <= ours.forbidding <= other.forbidding | besides
    return "" if is_named else f"determined by {set(ours.forbidding)}, and not {set(other.forbidding)}"


def compare(seeds: Sequence[int]) -> Counter[str]:
    """Decide all requests of some seeds twice, and count what kinds of decisions there are."""
    kinds: Counter[str] = Counter()
    for seed in seeds:
        draw = Draw(seed)
        policies = draw.policies()
        void = [is_void_here(policy) for policy in policies]
        voided = [policy for policy, is_so in zip(policies, void, strict=True) if is_so]
        second, index = Evaluator(policies, LORE, void, ROWS), PolicyIndex(HIERARCHIES, policies)
        for number in range(REQUESTS):
            request = draw.request(policies)
            decision, other = index.authorize(request), second.decide(request)
            ours = verdict(decision)
            problem = difference(ours, other, voided)
            assert not problem, f"seed {seed}, request {number}: {problem}\n{request}\n{policies}"
            kinds.update(kinds_of(other, request))
            kinds["owed later"] += any(map(owed_later, decision.grants))
    return kinds


def kinds_of(decided: Verdict, request: Request) -> Iterable[str]:
    yield decided.effect
    yield from {"by row" for grant in decided.grants if grant.by_row}
    yield from {"some rows" for grant in decided.grants if 0 < len(grant.rows) < len(ROWS)}
    yield from {"withheld" for grant in decided.grants if grant.withheld}
    yield from {"owed" for grant in decided.grants if grant.owed}
    if not decided.grants and decided.forbidding:
        yield "prohibited"
    if len(request.targets) > 1 and decided.grants:
        yield "joint"


LEAST_SHARES = {
    "permit": 0.1,
    "limited": 0.02,
    "deny": 0.4,
    "void": 0.03,
    "not applicable": 0.1,
    "prohibited": 0.1,
    "by row": 0.005,
    "some rows": 0.004,
    "withheld": 0.005,
    "owed": 0.002,
    "owed later": 0.001,
    "joint": 0.005,
}


def check(seeds: Sequence[int]) -> None:
    kinds = compare(seeds)
    total = len(seeds) * REQUESTS
    rare = {kind: kinds[kind] for kind, share in LEAST_SHARES.items() if kinds[kind] < share * total}
    assert not rare, f"of {total} requests"


def test_a_thousand_requests_are_decided_as_by_the_second_evaluator() -> None:
    check(range(125))


@pytest.mark.slow
def test_twenty_thousand_requests_are_decided_as_by_the_second_evaluator() -> None:
    check(range(1000, 3500))


def test_a_list_of_policies_decides_like_the_index() -> None:
    """So that what holds of the one holds of the other."""
    for seed in range(40):
        draw = Draw(seed)
        policies = draw.policies()
        index = PolicyIndex(HIERARCHIES, policies)
        request = draw.request(policies)
        assert authorize(request, policies, HIERARCHIES) == index.authorize(request)


def check_contradictions(seeds: Iterable[int]) -> None:
    """A policy whose rules may meet is void; one that is void without such rules has conditions.

    Decision 17: that two rules never meet has to be proved from pairs of their conditions; else the
    policy is void.
    """
    strict = [policy for seed in seeds for policy in Draw(seed).policies()]
    strict = [replace(policy, conflict=ConflictStrategy.INVALID) for policy in strict]
    strict = [policy for policy in strict if policy.prohibitions]
    unproved = 0
    for policy in strict:
        meets, is_so = is_void(policy, LORE), is_void_here(policy)
        # A rule whose own constraints exclude each other meets no other (P601); it denies what is unknown.
        excludes_itself = any(Prover(HIERARCHIES, 1000).never(rule.constraints) for rule in policy.rules)
        assert is_so or not meets or excludes_itself, policy
        unproved += is_so and not meets
        bare = without_conditions(policy)
        assert is_void_here(bare) == is_void(bare, LORE), bare
    assert unproved <= 0.1 * len(strict)


def test_a_policy_is_void_where_some_request_meets_both_kinds_of_rules() -> None:
    check_contradictions(range(5000, 5050))


@pytest.mark.slow
def test_many_policies_are_void_where_some_request_meets_both_kinds_of_rules() -> None:
    check_contradictions(range(6000, 6700))


def test_many_decisions_depend_on_what_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison would not be worth much if unknown facts decided nothing."""

    def decided() -> list[Verdict]:
        verdicts = []
        for seed in range(100):
            draw = Draw(seed)
            policies = draw.policies()
            second = Evaluator(policies, LORE, [False] * len(policies), ROWS)
            verdicts += [second.decide(draw.request(policies)) for _ in range(REQUESTS)]
        return verdicts

    before = decided()
    for instead in (True, False):
        monkeypatch.setattr(
            second_evaluator,
            "truth_of",
            lambda comparison, ask, guess=instead: (
                guess if truth_of(comparison, ask) is None else truth_of(comparison, ask)
            ),
        )
        changed = sum(one != other for one, other in zip(before, decided(), strict=True))
        assert changed >= 0.02 * len(before), instead
