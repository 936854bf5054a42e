"""The digest of what a policy means stays with every spelling, and changes with every change of meaning."""

import json
import time
from dataclasses import is_dataclass, replace
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from random import Random

import pytest
import rfc8785
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import changes, numbered, policies, shuffled

from smalti.policy.model import model
from smalti.policy.model.meaning import _KINDS, canonical_meaning, meaning_digest
from smalti.policy.model.model import (
    Asset,
    Comparison,
    Day,
    Instant,
    Logical,
    LogicalOperator,
    Number,
    Operator,
    Permission,
    Policy,
    Prohibition,
    Rule,
    Text,
    Value,
)
from smalti.policy.read.parse import load
from smalti.vocab.terms import IRI, ODRL, READ

EXAMPLES = Path(__file__).parents[2] / "examples" / "policies"
TARGET = Asset(IRI("http://example.com/t"))
GOLDEN = "sha256:dda27bd700aa22f0842c9960a126e4c7eae02762626b09a2b14ca004a35e0a57"


def limited(*values: Value, operator: Operator = Operator.EQ) -> Policy:
    constraint = Comparison(IRI(ODRL + "count"), operator, values)
    rule = Permission(
        uid=IRI("http://example.com/r"), action=READ, targets=(TARGET,), constraints=(constraint,)
    )
    return Policy(uid=IRI("http://example.com/p"), document_digest="sha256:1", permissions=(rule,))


def together(operator: LogicalOperator, *numbers: int) -> Policy:
    of = [Comparison(IRI(ODRL + "count"), Operator.EQ, (Number(Decimal(n)),)) for n in numbers]
    rule = Permission(uid=IRI("http://example.com/r"), action=READ, targets=(TARGET,),
                      constraints=(Logical(operator, tuple(of)),))  # fmt: skip
    return Policy(uid=IRI("http://example.com/p"), document_digest="sha256:1", permissions=(rule,))


@given(policies(), st.randoms(use_true_random=False), st.booleans())
@settings(max_examples=examples(12, full=250))
def test_order_and_repetition_mean_nothing(policy: Policy, random: Random, twice: bool) -> None:
    assert meaning_digest(shuffled(policy, random, twice)) == meaning_digest(policy)


@given(policies(), st.data())
@settings(max_examples=examples(8, full=150))
def test_every_change_of_meaning_shows(policy: Policy, data: st.DataObject) -> None:
    policy = numbered(policy)
    every = list(changes(policy))
    for changed in data.draw(st.lists(st.sampled_from(every), min_size=1, max_size=20)):
        assert meaning_digest(changed) != meaning_digest(policy), (policy, changed)


def rich() -> Policy:
    """A policy in which every field of the language says something."""
    amount = Comparison(
        IRI(ODRL + "payAmount"), Operator.LT, (Number(Decimal(5)),), IRI("http://x.org/EUR")
    )
    values = (Text("a"), model.Truth(True), model.Named(IRI("http://x.org/n")))
    rows = model.ColumnComparison(model.ColumnReference(IRI("http://x.org/c")), Operator.EQ, values)
    either = Logical(LogicalOperator.OR, (amount, rows))
    columns = tuple(model.ColumnReference(IRI(f"http://x.org/{name}")) for name in "abcde")
    way = model.Anonymization(
        method="l-diversity", algorithm="mondrian", k=model.Bound(Operator.EQ, 5),
        l=model.Bound(Operator.GTEQ, 2), identifiers=columns[:1], quasi_identifiers=columns[1:2],
        sensitive=columns[2:3], released=columns[3:4], respondent=columns[4], one_row_each=True,
        parameters=(amount,),
    )  # fmt: skip
    party = model.Party(IRI("http://x.org/party"), (amount,))
    common = {
        "targets": (Asset(IRI("http://x.org/t"), (rows,)),), "assignees": (party,), "assigners": (party,),
        "constraints": (either,), "refinements": (amount,), "action": READ,
    }  # fmt: skip
    made = {"output": IRI("http://x.org/o"), "anonymization": way}
    uids = iter(IRI(f"http://x.org/r/{n}") for n in range(9))
    consequence = model.Duty(uid=next(uids), **common)  # type: ignore[arg-type]
    duty = model.Duty(uid=next(uids), **common, **made, consequences=(consequence,))  # type: ignore[arg-type]
    instants = datetime(2026, 1, 1, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC)
    dated = Comparison(IRI(ODRL + "dateTime"), Operator.LT, (Instant(instants[0]), Day(date(2026, 1, 1))))
    shared = model.Shared(actions=(READ,), targets=(TARGET,), assignees=(party,), assigners=(party,))
    return Policy(
        uid=IRI("http://x.org/p"), document_digest="", profiles=(IRI("http://x.org/profile"),),
        valid=model.Interval(*instants), shared=shared,
        permissions=(Permission(uid=next(uids), **common, **made, duties=(duty,)),),  # type: ignore[arg-type]
        prohibitions=(Prohibition(uid=next(uids), **common, remedies=(duty,)),),  # type: ignore[arg-type]
        obligations=(replace(duty, constraints=(dated,)),),
        memberships=(model.Membership(IRI("http://x.org/m"), IRI("http://x.org/all")),),
    )  # fmt: skip


def test_every_single_change_shows() -> None:
    """Each field of each part, one by one; so a field that is left out of the digest cannot hide."""
    policy = rich()
    digest = meaning_digest(policy)
    every = list(changes(policy))
    assert len(every) > 300
    assert [changed for changed in every if meaning_digest(changed) == digest] == []


@given(policies())
@settings(max_examples=examples(8, full=120))
def test_the_text_is_canonical_json(policy: Policy) -> None:
    text = canonical_meaning(policy)
    assert rfc8785.dumps(json.loads(text)).decode() == text


def test_control_characters_are_written_as_rfc_8785_says() -> None:
    text = canonical_meaning(limited(Text('\x00\x1f\x7f"\\/\u2028\U0001f600é\n')))
    assert rfc8785.dumps(json.loads(text)).decode() == text


def test_places_digests_and_made_up_uids_do_not_count() -> None:
    policy = limited(Number(Decimal(1)))
    made = replace(policy, uid=IRI("urn:smalti:policy:sha256:12"))
    other = replace(policy, uid=IRI("urn:smalti:policy:sha256:34"), document_digest="sha256:2",
                    inherits=(IRI("http://example.com/parent"),), where=model.Where("a", 1, 2))  # fmt: skip
    assert meaning_digest(made) == meaning_digest(other) != meaning_digest(policy)
    rules = [replace(policy.permissions[0], uid=IRI(f"urn:smalti:rule:sha256:{n}")) for n in (1, 2)]
    one, two = (replace(policy, permissions=(rule,)) for rule in rules)
    assert meaning_digest(one) == meaning_digest(two) != meaning_digest(policy)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (Number(Decimal(10)), Number(Decimal("10.0"))),
        (Number(Decimal(10)), Number(Decimal("1e1"))),
        (Number(Decimal("-0")), Number(Decimal("0.00"))),
        (Instant(datetime(2026, 1, 1, 12, tzinfo=UTC)),
         Instant(datetime(2026, 1, 1, 14, tzinfo=timezone(timedelta(hours=2))))),
        (Instant(datetime(1, 1, 1, 1, tzinfo=timezone(timedelta(hours=2)))),
         Instant(datetime(1, 1, 1, 2, tzinfo=timezone(timedelta(hours=3))))),
    ],
)  # fmt: skip
def test_one_value_in_two_spellings(left: Value, right: Value) -> None:
    assert meaning_digest(limited(left)) == meaning_digest(limited(right))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (Number(Decimal(10)), Text("10")),
        (Number(Decimal(10)), Text("1e1")),
        (Day(date(2026, 1, 1)), Text("2026-01-01")),
        (Instant(datetime(2026, 1, 1, tzinfo=UTC)), Day(date(2026, 1, 1))),
        (Instant(datetime(2026, 1, 1, tzinfo=UTC)), Instant(datetime(2026, 1, 1))),
        (model.Truth(True), model.Truth(False)),
        (model.Named(IRI("http://example.com/a")), Text("http://example.com/a")),
        (Number(Decimal("1" + "0" * 40)), Number(Decimal("1" + "0" * 39 + "1"))),
    ],
)
def test_values_that_differ(left: Value, right: Value) -> None:
    assert meaning_digest(limited(left)) != meaning_digest(limited(right))


def test_order_counts_in_a_sequence_only() -> None:
    def same(operator: LogicalOperator) -> bool:
        return meaning_digest(together(operator, 1, 2)) == meaning_digest(together(operator, 2, 1))

    assert [operator for operator in LogicalOperator if not same(operator)] == [
        LogicalOperator.AND_SEQUENCE
    ]


def test_an_operand_listed_twice_counts_under_xone() -> None:
    once, twice = (together(LogicalOperator.XONE, *numbers) for numbers in ((1, 2), (1, 1, 2)))
    assert meaning_digest(once) != meaning_digest(twice)


def test_rules_are_not_merged_over_their_targets() -> None:
    """Joint visibility: one rule about two targets says more than two rules about one each."""
    rule = limited(Number(Decimal(1))).permissions[0]
    other = Asset(IRI("http://example.com/other"))
    policy = Policy(uid=IRI("http://example.com/p"), document_digest="")
    joint = replace(policy, permissions=(replace(rule, targets=(TARGET, other)),))
    apart = replace(policy, permissions=(rule, replace(rule, targets=(other,))))
    assert meaning_digest(joint) != meaning_digest(apart)


def test_a_permission_is_no_prohibition() -> None:
    uid, target = IRI("http://example.com/r"), (TARGET,)
    policy = Policy(uid=IRI("http://example.com/p"), document_digest="")
    permitted = replace(policy, permissions=(Permission(uid=uid, action=READ, targets=target),))
    forbidden = replace(policy, prohibitions=(Prohibition(uid=uid, action=READ, targets=target),))
    assert meaning_digest(permitted) != meaning_digest(forbidden)


def test_the_two_spellings_of_figure_2_6_do_not_mean_the_same() -> None:
    """One says `k eq 10`, the other `k gteq 10`: they have one plan, and not one meaning."""
    printed, canonical = (
        load(EXAMPLES / f"{name}.jsonld").policies[0] for name in ("fig-2.6", "fig-2.6-canonical")
    )
    assert meaning_digest(printed) != meaning_digest(canonical)


def test_stored_digests_stay() -> None:
    """Registries store digests: this one may change only with a new version of the canonical text."""
    assert meaning_digest(limited(Number(Decimal(10)))) == GOLDEN


def test_every_type_of_the_language_has_a_word() -> None:
    classes = {kind for kind in vars(model).values() if isinstance(kind, type) and is_dataclass(kind)}
    assert classes - _KINDS.keys() == {model.Where, Rule}
    assert len(set(_KINDS.values())) == len(_KINDS)


def test_a_hostile_policy_is_quick() -> None:
    """50,000 values, all different; and conditions 60 deep."""
    values = tuple(Number(Decimal(n)) for n in range(50_000))
    condition: model.Condition = Comparison(IRI(ODRL + "count"), Operator.IS_ANY_OF, values)
    for number in range(60):
        other = Comparison(IRI(ODRL + "count"), Operator.EQ, (Number(Decimal(number)),))
        condition = Logical(LogicalOperator.OR, (condition, other))
    rule = replace(limited(values[0]).permissions[0], constraints=(condition,))
    policy = replace(limited(values[0]), permissions=(rule,))
    start = time.process_time()
    meaning_digest(policy)
    assert time.process_time() - start < 5


def test_a_rule_that_is_written_twice_grants_twice() -> None:
    """Of two grants a run must name one, so the meaning is another one."""
    policy = load(Path(__file__).parent / "good" / "read.jsonld").policies[0]
    twice = replace(policy, permissions=policy.permissions * 2)
    assert meaning_digest(twice) != meaning_digest(policy)
