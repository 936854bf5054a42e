"""What a policy says, in plain words."""

from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from effort import examples
from hypothesis import given, settings
from strategies import policies

from smalti.policy.model.model import (
    Anonymization,
    Asset,
    Bound,
    ColumnComparison,
    ColumnReference,
    Comparison,
    Condition,
    Day,
    Duty,
    Interval,
    Logical,
    LogicalOperator,
    Named,
    Number,
    Operator,
    Party,
    Permission,
    Policy,
    PolicyType,
    Prohibition,
    Rule,
    Text,
    Training,
    Value,
)
from smalti.policy.read.parse import load
from smalti.policy.say.describe import describe, not_checked, summary
from smalti.vocab.terms import ANONYMIZE, DPV, IRI, ODRL, ODRL_PURPOSE, READ, SMALTI

EXAMPLES = Path(__file__).parents[2] / "examples" / "policies"
ANN, BOB = Party(IRI("http://org/ann")), Party(IRI("http://org/bob"))
ONE, OTHER = Asset(IRI("http://x.org/a")), Asset(IRI("http://x.org/b"))
UID = IRI("http://x.org/r")
AGE = ColumnReference(IRI("http://x.org/a/Age"))
WAY = Anonymization(
    method="k-anonymity", algorithm=None, k=Bound(Operator.EQ, 5), l=None, identifiers=(),
    quasi_identifiers=(AGE,), sensitive=(), released=(), respondent=None, one_row_each=False,
)  # fmt: skip


def compared(operand: str, operator: Operator, *values: Value) -> Comparison:
    return Comparison(IRI(ODRL + operand), operator, values)


def number(value: int) -> Number:
    return Number(Decimal(value))


COUNT = compared("count", Operator.LTEQ, number(5))
ROWS = ColumnComparison(AGE, Operator.GTEQ, (number(18),))
MARKETING = Comparison(ODRL_PURPOSE, Operator.IS_ANY_OF, (Named(IRI(DPV + "Marketing")),))


def policy(*rules: Rule, **more: object) -> Policy:
    kinds = {
        "permissions": tuple(rule for rule in rules if isinstance(rule, Permission)),
        "prohibitions": tuple(rule for rule in rules if isinstance(rule, Prohibition)),
        "obligations": tuple(rule for rule in rules if isinstance(rule, Duty)),
    }
    return replace(Policy(uid=UID, document_digest="", **kinds), **more)  # type: ignore[arg-type]


def may(*constraints: Condition, **more: object) -> Permission:
    plain = Permission(uid=UID, action=READ, targets=(ONE,), assignees=(ANN,), constraints=constraints)
    return replace(plain, **more)  # type: ignore[arg-type]


def told(rule: Rule, **more: object) -> str:
    (sentence,) = describe(policy(rule, **more))
    return sentence


def test_the_reference_policy() -> None:
    figure, canonical = (
        load(EXAMPLES / f"{name}.jsonld").policies[0] for name in ("fig-2.6", "fig-2.6-canonical")
    )
    assert describe(canonical) == (
        "http://org/user may anonymize http://example.com/Customer for marketing: k at least 10, "
        "l at least 3, 3 columns dropped by name, 3 generalised, 2 kept; output http://example/anonCustomer",
    )
    assert describe(figure)[0].startswith(
        "http://org/user may anonymize http://example.com/Customer for marketing: k = 10, l = 3, "
    )


def test_who() -> None:
    assert told(may()) == "http://org/ann may read http://x.org/a"
    assert told(may(assignees=())) == "anybody may read http://x.org/a"
    assert told(may(assignees=(ANN, BOB))) == "http://org/ann or http://org/bob may read http://x.org/a"
    forbidden = Prohibition(uid=UID, action=READ, targets=(ONE,), assignees=(ANN,))
    assert told(forbidden) == "http://org/ann may not read http://x.org/a"
    assert told(replace(forbidden, assignees=())) == "nobody may read http://x.org/a"
    duty = Duty(uid=UID, action=IRI(ODRL + "delete"), targets=(ONE,), assignees=(ANN,))
    assert told(duty) == "http://org/ann must delete http://x.org/a"
    assert told(replace(duty, assignees=(), targets=())) == "everybody must delete"
    refined = Party(IRI("http://org/staff"), refinements=(compared("spatial", Operator.EQ, Text("IT")),))
    assert told(may(assignees=(refined,))).startswith(
        "members of http://org/staff where spatial is `IT` may "
    )


def test_several_targets() -> None:
    both = (ONE, OTHER)
    assert (
        told(may(targets=both)) == "http://org/ann may read http://x.org/a and http://x.org/b, also jointly"
    )
    assert told(may(MARKETING, targets=both)).endswith("http://x.org/b, also jointly, for Marketing")
    forbidden = Prohibition(uid=UID, action=READ, targets=both)
    assert told(forbidden) == "nobody may read http://x.org/a or http://x.org/b"


def test_what_is_not_known_is_told_apart_for_permissions_and_prohibitions() -> None:
    limits = (MARKETING, ROWS, COUNT)
    assert told(may(*limits)) == (
        "http://org/ann may read http://x.org/a for Marketing; only rows where Age is at least 18; "
        "only if count is at most 5"
    )
    forbidden = Prohibition(uid=UID, action=READ, targets=(ONE,), constraints=limits)
    assert told(forbidden) == (
        "nobody may read http://x.org/a for Marketing or an unknown purpose; "
        "all rows, not only where Age is at least 18; if count is at most 5, or if this is unknown"
    )


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        (compared("dateTime", Operator.LT, Day(date(2026, 1, 31))), "dateTime is before 2026-01-31"),
        (compared("dateTime", Operator.GTEQ, Day(date(2026, 1, 31))), "dateTime is not before 2026-01-31"),
        (compared("count", Operator.GT, Number(Decimal("0.50"))), "count is above 0.5"),
        (compared("purpose", Operator.IS_NONE_OF, Named(IRI(DPV + "Marketing"))),
         "purpose is none of Marketing"),
        (compared("recipient", Operator.EQ, Named(IRI("http://org/a"))), "recipient is http://org/a"),
        (Logical(LogicalOperator.OR, (COUNT, COUNT)), "(count is at most 5 or count is at most 5)"),
        (Logical(LogicalOperator.XONE, (COUNT, COUNT)),
         "exactly one of (count is at most 5 or count is at most 5)"),
        (Logical(LogicalOperator.AND_SEQUENCE, (COUNT, COUNT)),
         "(count is at most 5, then count is at most 5)"),
        (replace(COUNT, unit=IRI("http://x.org/unit#EUR")), "count is at most 5 (EUR)"),
    ],
)  # fmt: skip
def test_conditions(condition: Condition, words: str) -> None:
    assert told(may(condition)) == f"http://org/ann may read http://x.org/a; only if {words}"


def test_ways_to_anonymize() -> None:
    t = Comparison(IRI(SMALTI + "t"), Operator.LTEQ, (Number(Decimal("0.1")),))
    column = Comparison(IRI(SMALTI + "column"), Operator.EQ, (Named(AGE.iri),))
    form = Comparison(IRI(SMALTI + "outputForm"), Operator.EQ, (Text("mean"),))
    way = replace(
        WAY, method="t-closeness", algorithm="mdav", respondent=ColumnReference(IRI("http://x.org/a/Id")),
        parameters=(Logical(LogicalOperator.AND, (column, form)), t), released=(AGE, AGE),
    )  # fmt: skip
    rule = may(action=ANONYMIZE, anonymization=way, output=IRI("http://x.org/o"))
    assert told(rule) == (
        "http://org/ann may anonymize http://x.org/a: t-closeness, by mdav, k = 5, "
        "outputForm = `mean` for Age, t at most 0.1, 1 column generalised, 2 released unchanged, "
        "respondents identified by Id; output http://x.org/o"
    )
    assert "one row for each respondent" in told(may(anonymization=replace(WAY, one_row_each=True)))


def test_duties_remedies_and_consequences() -> None:
    then = Duty(uid=UID, action=IRI(ODRL + "delete"), targets=(ONE,))
    inform = Duty(uid=UID, action=IRI(ODRL + "inform"), targets=(ONE,), consequences=(then,))
    so = Duty(uid=UID, action=ANONYMIZE, targets=(ONE,), anonymization=WAY, output=IRI("http://x.org/o"))
    assert told(may(duties=(inform, so))) == (
        "http://org/ann may read http://x.org/a; in return must inform http://x.org/a, "
        "otherwise must delete http://x.org/a; "
        "only if anonymized as follows: k = 5, 1 column generalised; output http://x.org/o"
    )
    forbidden = Prohibition(uid=UID, action=READ, targets=(ONE,), remedies=(then,))
    assert told(forbidden).endswith("; whoever violates this must delete http://x.org/a")


def test_validity_and_offers() -> None:
    times = datetime(2026, 1, 1, tzinfo=UTC), datetime(2027, 1, 1, 12, 30, tzinfo=UTC)
    assert told(may(), valid=Interval(*times)).endswith(
        "; in force from 2026-01-01 until 2027-01-01T12:30:00Z"
    )
    assert told(may(), valid=Interval(None, times[0])).endswith("; in force until 2026-01-01")
    assert told(may(), valid=Interval(None, None)) == told(may())
    assert told(may(), type=PolicyType.OFFER).startswith("only offered, not in force: http://org/ann may")


def test_long_lists_are_cut() -> None:
    many = tuple(Asset(IRI(f"http://x.org/{n:03}")) for n in range(300))
    assert told(may(targets=many)).endswith("http://x.org/004 and 295 more, also jointly")
    condition: Condition = COUNT
    for _ in range(30):
        condition = Logical(LogicalOperator.OR, (condition,) * 12)
    assert len(told(may(condition))) < 3000
    assert len(told(may(compared("count", Operator.IS_ANY_OF, *map(number, range(9000)))))) < 200


def test_summary_has_one_line_for_one_rule() -> None:
    unseen = "Not checked: the data and its description"
    assert summary(policy(may())) == f"http://org/ann may read http://x.org/a. {unseen}"
    two = summary(policy(may(), Prohibition(uid=UID, action=READ, targets=(OTHER,))), with_dataset=True)
    assert two.splitlines() == [
        "2 rules",
        "  - http://org/ann may read http://x.org/a",
        "  - nobody may read http://x.org/b",
        "  Not checked: the data",
    ]


def test_that_a_recipe_was_not_looked_up_is_said() -> None:
    learns = may(action=IRI(SMALTI + "train"), training=Training(recipe="mlp-12", label_column=AGE))
    assert not_checked(policy(learns), with_dataset=True) == (
        "the data",
        "whether the recipe exists, which `plan` checks",
    )


def test_words_that_run_refuses_are_named() -> None:
    later = Comparison(IRI(ODRL + "fileFormat"), Operator.EQ, (Text("text/csv"),))
    way = replace(WAY, parameters=(later,))
    duty = Duty(uid=UID, action=IRI(SMALTI + "audit"), targets=(ONE,))
    rule = may(action=ANONYMIZE, anonymization=way, duties=(duty,))
    (data, words) = not_checked(policy(rule), with_dataset=True)
    assert data == "the data"
    assert words.startswith("words that `run` refuses as not implemented: ")
    assert "`odrl:fileFormat`" in words
    assert not_checked(policy(may()), with_dataset=True) == ("the data",)
    remedy = Duty(uid=UID, action=ANONYMIZE, targets=(ONE,), anonymization=way)
    forbidden = Prohibition(uid=UID, action=READ, targets=(ONE,), remedies=(remedy, duty))
    (_, words) = not_checked(policy(forbidden), with_dataset=True)
    assert "`odrl:fileFormat`" in words
    alone = replace(forbidden, remedies=(duty,))  # reported, and never run
    assert not_checked(policy(alone), with_dataset=True) == ("the data",)


@given(policies())
@settings(max_examples=examples(8, full=150))
def test_any_policy_has_one_sentence_for_each_rule(any_policy: Policy) -> None:
    sentences = describe(any_policy)
    assert len(sentences) == len(any_policy.rules)
    for sentence, rule in zip(sentences, any_policy.rules, strict=True):
        assert all(target.iri in sentence for target in rule.targets)
        assert not sentence.endswith(".")
        assert "\n" not in sentence
