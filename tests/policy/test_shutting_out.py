"""Rules that shut each other out of one ledger (P623), as the ledger itself would find."""

from dataclasses import replace
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from smalti.policy.findings.codes import BY_CODE
from smalti.policy.lint.shutting_out import ChargedRule, shut_outs
from smalti.policy.model.model import Asset, ConflictStrategy, Permission, Policy
from smalti.vocab.terms import ANONYMIZE, IRI

POLICY = Policy(uid=IRI("urn:x:policy"), document_digest="", conflict=ConflictStrategy.PROHIBIT)
ASSETS = tuple(IRI(f"urn:x:{name}") for name in ("ward", "wards", "other"))
amounts = st.sampled_from([Decimal(0), Decimal("0.5"), Decimal(1), Decimal(2)])


def _rule(
    epsilon: Decimal | None,
    delta: Decimal,
    most: Decimal,
    most_delta: Decimal | None,
    change: bool,
    about: int,
) -> ChargedRule:
    target = ASSETS[about]
    rule = Permission(uid=IRI("urn:x:rule"), action=ANONYMIZE, targets=(Asset(target),))
    neighbors = "change-one" if change else "add-or-remove-one"
    return ChargedRule(
        POLICY, rule, frozenset({target}), neighbors, epsilon, delta, most, most_delta or Decimal(0),
        most_delta is not None,
    )  # fmt: skip


rules = st.builds(
    _rule, st.none() | amounts, amounts, amounts, st.none() | amounts, st.booleans(), st.integers(0, 2)
)


@given(rules, rules)
def test_a_rule_is_shut_out_exactly_where_the_ledger_would_have_no_room(
    one: ChargedRule, by: ChargedRule
) -> None:
    """Any release takes some epsilon, so what is left must be above 0; delta may be used up."""
    by = replace(by, rule=replace(by.rule, uid=IRI("urn:x:by")))
    found = {(two.rule.rule.uid, two.by.rule.uid) for two in shut_outs((one, by), [ASSETS[:2]])}
    are_same = (one.targets | by.targets) <= set(ASSETS[:2]) or one.targets == by.targets
    has_room = (
        one.neighbors == by.neighbors
        and by.delta <= one.most_delta
        and (by.epsilon is None or by.epsilon < one.most_epsilon)
    )
    assert ((one.rule.uid, by.rule.uid) in found) is (are_same and not has_room)
    sentences = [shut_out.sentence() for shut_out in shut_outs((one, by))]
    assert all("`urn:x:rule`" in sentence and "`urn:x:by`" in sentence for sentence in sentences)


def test_a_rule_does_not_shut_itself_out() -> None:
    alone = _rule(Decimal(2), Decimal(2), Decimal(1), None, change=False, about=0)
    assert shut_outs((alone, alone)) == ()
    assert BY_CODE["P623"].title == "rules shut each other out"
