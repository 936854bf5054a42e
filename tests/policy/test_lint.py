"""What a valid policy probably does not mean, and what does not fit the data's description."""

import json
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from effort import examples
from hypothesis import given, settings
from strategies import policies

from smalti.engine.run.dataset_facts import read_dataset_facts
from smalti.errors import DataError
from smalti.policy.decide import conflicts
from smalti.policy.decide.hierarchy import Hierarchy
from smalti.policy.findings.codes import BY_CODE
from smalti.policy.findings.diagnostics import Diagnostic, Severity
from smalti.policy.lint.check_dataset import check_dataset
from smalti.policy.lint.lint import lint
from smalti.policy.model.dataset import ColumnFacts, DatasetFacts
from smalti.policy.model.model import (
    Anonymization,
    Asset,
    Bound,
    ColumnComparison,
    ColumnReference,
    Comparison,
    Condition,
    ConflictStrategy,
    Day,
    Duty,
    Instant,
    Interval,
    Logical,
    LogicalOperator,
    Named,
    Number,
    Operator,
    Party,
    Permission,
    Policy,
    Prohibition,
    Rule,
    Text,
    Truth,
    Value,
    Where,
)
from smalti.policy.read.parse import parse
from smalti.vocab.terms import ANONYMIZE, DPV, IRI, ODRL, ODRL_PURPOSE, READ, SMALTI, USE, K

TARGET = IRI("http://x.org/t")
UID = IRI("http://x.org/p")
NOW = datetime(2026, 6, 1, tzinfo=UTC)
COLUMNS = (
    ColumnFacts("id", is_key=True),
    ColumnFacts("age", datatype="integer"),
    ColumnFacts("city", datatype="string"),
    ColumnFacts("illness", datatype="string", most_values=3),
    ColumnFacts("seen", datatype="dateTime"),
    ColumnFacts("born", iri=IRI("http://x.org/terms/born"), datatype="date"),
)
FACTS = DatasetFacts(COLUMNS, "t.csv-metadata.json", respondent="id", most_rows=1000)


def at(line: int) -> Where:
    return Where("a.jsonld", line, 1)


def column(name: str, line: int = 1) -> ColumnReference:
    return ColumnReference(IRI(f"{TARGET}/{name}"), at(line))


def compared(operand: str, operator: Operator, *values: Value, line: int = 1) -> Comparison:
    return Comparison(IRI(operand if ":" in operand else ODRL + operand), operator, values, where=at(line))


def purpose(*names: str, operator: Operator = Operator.IS_ANY_OF, line: int = 1) -> Comparison:
    return compared(ODRL_PURPOSE, operator, *(Named(IRI(DPV + name)) for name in names), line=line)


def number(value: int) -> Number:
    return Number(Decimal(value))


def may(*constraints: Condition, **more: object) -> Permission:
    plain = Permission(uid=UID, action=READ, targets=(Asset(TARGET),), constraints=constraints, where=at(7))
    return replace(plain, **more)  # type: ignore[arg-type]


def may_not(*constraints: Condition, **more: object) -> Prohibition:
    plain = Prohibition(
        uid=UID, action=READ, targets=(Asset(TARGET),), constraints=constraints, where=at(9)
    )
    return replace(plain, **more)  # type: ignore[arg-type]


def policy(*rules: Rule, **more: object) -> Policy:
    found = Policy(
        uid=UID, document_digest="", conflict=ConflictStrategy.PROHIBIT, where=at(2),
        permissions=tuple(rule for rule in rules if isinstance(rule, Permission)),
        prohibitions=tuple(rule for rule in rules if isinstance(rule, Prohibition)),
    )  # fmt: skip
    return replace(found, **more)  # type: ignore[arg-type]


WAY = Anonymization(
    method="l-diversity", algorithm=None, k=Bound(Operator.GTEQ, 10, at(21)),
    l=Bound(Operator.GTEQ, 3, at(22)), identifiers=(column("id", 23),),
    quasi_identifiers=(column("city", 24),), sensitive=(column("illness", 25),), released=(),
    respondent=None, one_row_each=False, where=at(20),
)  # fmt: skip


def anonymizing(**more: object) -> Policy:
    way = replace(WAY, **more)  # type: ignore[arg-type]
    return policy(may(action=ANONYMIZE, anonymization=way, output=IRI("http://x.org/o")))


def parameter(name: str, value: Value, of: str | None = None) -> Condition:
    said = compared(SMALTI + name, Operator.EQ, value, line=31)
    if of is None:
        return said
    which = compared(SMALTI + "column", Operator.EQ, Named(column(of).iri), line=32)
    return Logical(LogicalOperator.AND, (which, said), at(30))


def shown(found: tuple[Diagnostic, ...]) -> list[tuple[str, int]]:
    return [(one.code, one.where.line) for one in found]


# --- Budgets

RELEASES: dict[str, object] = {
    "method": "differential-privacy", "k": None, "l": None, "identifiers": (), "quasi_identifiers": (),
    "sensitive": (), "parameters": (compared(SMALTI + "epsilon", Operator.LTEQ, number(1), line=21),),
    "one_row_each": True,
}  # fmt: skip


@pytest.mark.parametrize("method", ["differential-privacy", "local-differential-privacy"])
@pytest.mark.parametrize(
    ("constraints", "expected"),
    [
        ((), [("P615", 20)]),
        ((compared(SMALTI + "budgetDelta", Operator.LTEQ, number(0), line=30),), [("P615", 20)]),
        ((compared(SMALTI + "budgetEpsilon", Operator.LTEQ, number(3), line=30),), []),
        ((Logical(LogicalOperator.AND, (
            purpose("Marketing"), compared(SMALTI + "budgetEpsilon", Operator.LTEQ, number(3)),
        )),), []),
    ],
)  # fmt: skip
def test_a_release_without_a_budget_can_never_be(
    constraints: tuple[Condition, ...], expected: list[tuple[str, int]], method: str
) -> None:
    way = replace(WAY, **RELEASES | {"method": method})  # type: ignore[arg-type]
    rule = may(*constraints, action=ANONYMIZE, anonymization=way, output=IRI("http://x.org/o"))
    assert shown(lint(policy(rule))) == expected
    by_duty = Duty(uid=UID, action=ANONYMIZE, targets=(Asset(TARGET),), anonymization=way)
    assert shown(lint(policy(may(*constraints, duties=(by_duty,))))) == expected


def test_a_budget_that_nothing_charges_is_pointed_out() -> None:
    budget = compared(SMALTI + "budgetEpsilon", Operator.LTEQ, number(3), line=30)
    way = replace(WAY, one_row_each=True)
    rule = may(budget, action=ANONYMIZE, anonymization=way, output=IRI("http://x.org/o"))
    (found,) = lint(policy(rule))
    assert (found.code, found.where.line) == ("P616", 30)
    assert "`smalti:budgetEpsilon` is declared for the method `l-diversity`" in found.message
    assert lint(policy(may(budget))) == ()


def test_anatomy_publishes_quasi_identifiers_exactly() -> None:
    way = replace(WAY, algorithm="anatomy", k=None, one_row_each=True)
    (found,) = lint(policy(may(action=ANONYMIZE, anonymization=way, output=IRI("http://x.org/o"))))
    assert (found.code, found.severity) == ("P627", Severity.WARNING)
    assert "it promises distinct l, and no k" in found.message


def test_masking_promises_nothing_and_each_technique_says_what_it_leaves_open() -> None:
    pseudonyms = compared(SMALTI + "pseudonym", Operator.IS_ALL_OF, Text("x"))
    way = replace(
        WAY, method="masking", algorithm=None, several_algorithms=("noise-addition", "sampling"), k=None,
        l=None, one_row_each=True, parameters=(pseudonyms,),
    )  # fmt: skip
    rule = may(action=ANONYMIZE, anonymization=way, output=IRI("http://x.org/o"))
    (found,) = lint(policy(rule))
    assert (found.code, found.severity) == ("P626", Severity.NOTE)
    assert found.message.startswith("masking promises no privacy model")
    for technique in ("sampling", "noise-addition", "pseudonymization"):
        assert f"{technique}: " in found.help
    assert "top-coding" not in found.help
    assert lint(policy(may(action=ANONYMIZE, anonymization=replace(WAY, one_row_each=True)))) == ()


# --- Rules that never apply


@pytest.mark.parametrize(
    "constraints",
    [
        (purpose("Marketing"), purpose("ResearchAndDevelopment", line=5)),
        (purpose("Marketing"), purpose("DirectMarketing", operator=Operator.EQ),
         purpose("Marketing", operator=Operator.NEQ, line=5)),
        (compared("count", Operator.LT, number(5)), compared("count", Operator.GTEQ, number(5), line=5)),
        (compared("dateTime", Operator.LT, Day(date(2026, 1, 1))),
         compared("dateTime", Operator.GT, Day(date(2026, 1, 2)), line=5)),
        (ColumnComparison(column("age"), Operator.LT, (number(5),), at(1)),
         ColumnComparison(column("age"), Operator.GT, (number(6),), at(5))),
        (ColumnComparison(column("city"), Operator.EQ, (Text("Rome"),), at(1)),
         ColumnComparison(column("city"), Operator.EQ, (Text("Oslo"),), at(5))),
        (Logical(LogicalOperator.AND, (compared("count", Operator.LT, number(5)),
                                       compared("count", Operator.GT, number(6), line=5)), at(1)),),
    ],
)  # fmt: skip
def test_constraints_that_exclude_each_other(constraints: tuple[Condition, ...]) -> None:
    assert shown(lint(policy(may(*constraints)))) == [("P601", 5)]


@pytest.mark.parametrize(
    "constraints",
    [
        (purpose("Marketing"), purpose("DirectMarketing")),
        (compared("count", Operator.LTEQ, number(5)), compared("count", Operator.GTEQ, number(5))),
        (compared("count", Operator.LT, number(5)), compared("percentage", Operator.GT, number(5))),
        (Logical(LogicalOperator.OR, (compared("count", Operator.LT, number(5)),
                                      compared("count", Operator.GT, number(6)))),),
        (ColumnComparison(column("age"), Operator.LT, (number(5),)),
         ColumnComparison(column("city"), Operator.GT, (number(6),))),
        (compared("recipient", Operator.EQ, Named(IRI("http://x.org/a"))),
         compared("recipient", Operator.EQ, Named(IRI("http://x.org/b")))),
    ],
)  # fmt: skip
def test_constraints_that_may_hold_together(constraints: tuple[Condition, ...]) -> None:
    assert lint(policy(may(*constraints))) == ()


def test_a_void_policy() -> None:
    void = policy(may(), may_not(), conflict=ConflictStrategy.INVALID)
    assert shown(lint(void)) == [("P602", 7)]
    apart = policy(may(purpose("Marketing")), may_not(purpose("ResearchAndDevelopment")),
                   conflict=ConflictStrategy.INVALID)  # fmt: skip
    assert lint(apart) == ()


FEW, MANY = compared("count", Operator.LT, number(5)), compared("count", Operator.GT, number(6), line=5)


@pytest.mark.parametrize("strategy", list(ConflictStrategy))
def test_a_rule_that_never_applies_voids_nothing(strategy: ConflictStrategy) -> None:
    """Whichever of the two it is; and a policy with other contradictions stays void."""
    for rules in ((may(FEW, MANY), may_not()), (may(), may_not(FEW, MANY))):
        found = lint(policy(*rules, conflict=strategy))
        assert ("P601", 5) in shown(found)
        assert "P602" not in [diagnostic.code for diagnostic in found]
    void = policy(may(FEW, MANY), may(), may_not(), conflict=ConflictStrategy.INVALID)
    assert ("P602", 7) in shown(lint(void))
    assert "P602" in [
        found.code for found in lint(policy(may(FEW), may_not(), conflict=ConflictStrategy.INVALID))
    ]


def test_each_kind_of_rule_that_never_applies_is_named() -> None:
    owed = Duty(
        uid=UID, action=IRI(ODRL + "delete"), targets=(Asset(TARGET),), constraints=(FEW, MANY), where=at(9)
    )
    for rule, kind in (
        (may(FEW, MANY), "permission"),
        (may_not(FEW, MANY), "prohibition"),
        (owed, "obligation"),
    ):
        obligations = (rule,) if isinstance(rule, Duty) else ()
        (found,) = lint(policy(*(() if obligations else (rule,)), obligations=obligations))
        assert (found.code, found.where.line) == ("P601", 5)
        assert found.message.startswith(f"this {kind} ")


def test_an_ended_policy() -> None:
    over = policy(may(), valid=Interval(None, NOW))
    assert shown(lint(over, now=NOW)) == [("P603", 2)]
    assert lint(over) == ()
    assert lint(policy(may(), valid=Interval(NOW, None)), now=NOW) == ()
    assert "2026-06-01:" in lint(over, now=NOW)[0].message


ANN, BOB = (Party(IRI(f"http://x.org/{name}")) for name in ("ann", "bob"))
OTHER = Asset(IRI("http://x.org/other"))


@pytest.mark.parametrize(
    ("permission", "prohibition", "overridden"),
    [
        (may(), may_not(), True),
        (may(), may_not(action=USE), True),
        (may(action=USE), may_not(), False),
        (may(assignees=(ANN,)), may_not(assignees=(ANN, BOB)), True),
        (may(), may_not(assignees=(ANN,)), False),
        (may(assignees=(ANN, BOB)), may_not(assignees=(ANN,)), False),
        (may(targets=(Asset(TARGET), OTHER)), may_not(), False),
        (may(), may_not(targets=(Asset(TARGET), OTHER)), True),
        (may(), may_not(purpose("Marketing")), False),
        (may(purpose("DirectMarketing")), may_not(purpose("Marketing")), True),
        (may(purpose("Marketing")), may_not(purpose("DirectMarketing")), False),
        (may(purpose("Marketing"), compared("count", Operator.LT, number(5))),
         may_not(compared("count", Operator.LT, number(5))), True),
        (may(), may_not(refinements=(compared("count", Operator.LT, number(5)),)), False),
        (may(), may_not(targets=(Asset(TARGET, (compared("count", Operator.LT, number(5)),)),)), False),
    ],
)  # fmt: skip
def test_an_overridden_permission(
    permission: Permission, prohibition: Prohibition, overridden: bool
) -> None:
    assert shown(lint(policy(permission, prohibition))) == ([("P604", 7)] if overridden else [])
    assert lint(policy(permission, prohibition, conflict=ConflictStrategy.PERMIT)) == ()


def test_what_may_be_read_if_anonymized_is_not_overridden_by_a_prohibition_to_read() -> None:
    """A run asks to anonymize, which a prohibition to read says nothing of."""
    duty = Duty(uid=IRI("http://x.org/d"), action=ANONYMIZE, targets=(Asset(TARGET),))
    assert lint(policy(may(duties=(duty,)), may_not())) == ()
    assert shown(lint(policy(may(duties=(duty,)), may_not(action=USE)))) == [("P604", 7)]
    count = IRI(ODRL + "display")  # no run rests on it
    assert shown(lint(policy(may(action=count, duties=(duty,)), may_not(action=count)))) == [("P604", 7)]


# --- Hostile policies: work is counted, never timed

BUDGET = 300_000
"""Steps that any of the policies below may take; their pairs, one by one, would be millions."""


def counted(monkeypatch: pytest.MonkeyPatch, owner: object, name: str) -> list[None]:
    """The calls of a function from now on."""
    calls: list[None] = []
    real = getattr(owner, name)

    def counting(*given: object, **more: object) -> object:
        calls.append(None)
        return real(*given, **more)

    monkeypatch.setattr(owner, name, counting)
    return calls


def crowd(name: str, size: int) -> tuple[Party, ...]:
    return tuple(Party(IRI(f"http://x.org/{name}/{at_}")) for at_ in range(size))


def test_parties_are_looked_up_once_for_each_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    """3,600 pairs of 600 parties; so many parties are in no index, so that each pair is looked at."""
    rules = [may(uid=IRI(f"urn:x:p{n}"), assignees=crowd(f"p{n}", 300)) for n in range(60)]
    none = [may_not(uid=IRI(f"urn:x:n{n}"), assignees=crowd(f"n{n}", 300)) for n in range(60)]
    found = counted(monkeypatch, Hierarchy, "concept")
    assert lint(policy(*rules, *none, conflict=ConflictStrategy.INVALID)) == ()
    assert 0 < len(found) < BUDGET


@pytest.mark.parametrize("action", [ANONYMIZE, USE])
def test_refinements_of_prohibitions_are_judged_within_the_steps(
    action: IRI, monkeypatch: pytest.MonkeyPatch
) -> None:
    """40,000 pairs of a permission with a prohibition of 200 refinements."""
    many = tuple(compared(f"http://x.org/{n}", Operator.EQ, number(n)) for n in range(200))
    beyond = compared(K, Operator.LT, number(5))
    rules = [
        replace(anonymizing().permissions[0], uid=IRI(f"urn:x:p{n}"), assignees=crowd("p", 1))
        for n in range(200)
    ]
    none = [may_not(uid=IRI(f"urn:x:n{n}"), action=action, refinements=(*many, beyond)) for n in range(200)]
    judged = counted(monkeypatch, conflicts, "evaluate_parameter")
    found = lint(policy(*rules, *none, conflict=ConflictStrategy.INVALID))
    assert "P602" in {one.code for one in found}  # what was not looked at counts as a contradiction
    assert 0 < len(judged) < BUDGET


def test_covering_is_told_within_the_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of 500 permissions beside 64 prohibitions: 150 purposes against 150, and 300 parties."""
    names = [f"Purpose{n}" for n in range(150)]
    rules = [may(purpose(*names), uid=IRI(f"urn:x:p{n}"), assignees=crowd("p", 300)) for n in range(500)]
    none = [
        may_not(
            purpose(*(f"Other{name}" for name in names)), uid=IRI(f"urn:x:n{n}"), assignees=crowd("p", 300)
        )
        for n in range(64)
    ]
    compared_, hashed = counted(monkeypatch, Hierarchy, "covers"), counted(monkeypatch, Party, "__hash__")
    assert lint(policy(*rules, *none)) == ()
    assert 0 < len(compared_) < BUDGET
    assert 0 < len(hashed) < BUDGET


@given(policies())
@settings(max_examples=examples(8, full=150))
def test_any_policy_has_warnings_and_notes_only(any_policy: Policy) -> None:
    found = lint(any_policy, replace(FACTS, target=IRI("http://example.com/Customer")), NOW)
    assert {one.severity for one in found} <= {Severity.WARNING, Severity.NOTE}
    assert {one.code for one in found} <= BY_CODE.keys()


# --- Promises that say little


def test_a_sound_policy_has_nothing_to_remark() -> None:
    assert lint(anonymizing(), FACTS, NOW) == ()


def test_ends_of_ranges_are_noted_once() -> None:
    ranged = anonymizing(quasi_identifiers=(column("age"), column("city")))
    (note,) = lint(ranged, FACTS)
    assert (note.code, note.severity, note.where.line) == ("P605", Severity.NOTE, 20)
    assert "`age`" in note.message
    assert "city" not in note.message
    assert shown(lint(ranged)) == [("P620", 20)]
    both = replace(ranged, permissions=ranged.permissions * 2)
    assert shown(lint(both, FACTS)) == [("P605", 20)]
    region = parameter("labelBounds", Text("region"))
    assert lint(anonymizing(quasi_identifiers=(column("age"),), parameters=(region,)), FACTS) == ()


def test_means_have_no_ends_to_note() -> None:
    mean, of_city = (
        parameter("outputForm", Text("mean"), "age"),
        parameter("outputForm", Text("mean"), "city"),
    )
    own_range = parameter("outputForm", Text("range"), "age")
    of_all = parameter("outputForm", Text("median"))
    for stated, codes in (
        ((mean,), []), ((of_all,), []), ((of_city,), ["P605"]), ((of_all, own_range), ["P605"]),
    ):  # fmt: skip
        asked = anonymizing(quasi_identifiers=(column("age"), column("city")), parameters=stated)
        assert [note.code for note in lint(asked, FACTS)] == codes


def test_microaggregation_has_no_ends_to_note_and_distances_that_fit_columns() -> None:
    listed = ColumnFacts("size", datatype="string", hierarchy="ordered")
    facts = replace(FACTS, columns=(*COLUMNS, ColumnFacts("on", datatype="date"), listed))
    names = ("age", "on", "city", "size")
    asked = anonymizing(
        algorithm="mdav", quasi_identifiers=(*map(column, names), column("seen", 34)),
    )  # fmt: skip
    assert lint(asked, facts) == ()
    assert errors(check_dataset(asked, facts)) == [("P612", 34)]
    for name, distance, codes in (
        ("seen", "equal", []), ("size", "ordered", []), ("size", "hierarchical", []), ("on", "ordered", []),
        ("city", "ordered", [("P612", 31)]), ("city", "hierarchical", [("P612", 31)]),
    ):  # fmt: skip
        stated = anonymizing(
            algorithm="mdav", quasi_identifiers=(column(name),),
            parameters=(parameter("distance", Text(distance), name),),
        )  # fmt: skip
        assert errors(check_dataset(stated, facts)) == codes
    median = parameter("outputForm", Text("median"), "on")
    ranged = anonymizing(quasi_identifiers=(column("age"), column("on")), parameters=(median,))
    assert errors(check_dataset(ranged, facts)) == []


@pytest.mark.parametrize(
    ("word", "value", "name", "found"),
    [
        ("intervalWidth", number(5), "city", True), ("intervals", number(5), "seen", True),
        ("intervalWidth", number(5), "age", False), ("level", number(1), "city", True),
        ("level", number(1), "size", False), ("distance", Text("hierarchical"), "city", True),
        ("distance", Text("hierarchical"), "size", False), ("outputForm", Text("mean"), "city", True),
        ("outputForm", Text("mode"), "city", False), ("topCode", Text("x"), "city", True),
    ],
)  # fmt: skip
def test_techniques_that_a_described_column_cannot_have(
    word: str, value: Number | Text, name: str, found: bool
) -> None:
    listed = ColumnFacts("size", datatype="string", hierarchy="ordered")
    stated = anonymizing(
        method="masking", algorithm="mdav", quasi_identifiers=(), sensitive=(), k=None, l=None,
        parameters=(parameter(word, value, name),),
    )  # fmt: skip
    facts = replace(FACTS, columns=(*COLUMNS, listed))
    assert errors(check_dataset(stated, facts)) == ([("P612", 31)] if found else [])


@pytest.mark.parametrize("method", ["masking", "k-anonymity"])
@pytest.mark.parametrize(
    ("name", "form", "distance", "found"),
    [
        ("city", "mean", None, True), ("city", "mode", None, False), ("city", "range", None, True),
        ("age", "mean", None, False), ("age", "mode", None, True), ("age", "mean", "equal", True),
        ("age", "mode", "equal", False), ("size", "median", None, True), ("size", "medoid", None, False),
        ("size", "mean", "ordered", True), ("zip", "mean", None, True), ("zip", "mode", None, False),
        ("id", "mean", None, False), ("id", "mode", "ordered", True), ("id", "median", "equal", True),
        ("seen", "mean", None, True), ("seen", "mode", "equal", False), ("zip", "mode", "ordered", True),
    ],
)  # fmt: skip
def test_what_stands_for_groups_of_a_described_column(
    method: str, name: str, form: str, distance: str | None, found: bool
) -> None:
    listed = ColumnFacts("size", datatype="string", hierarchy="ordered")
    facts = replace(FACTS, columns=(*COLUMNS, listed, ColumnFacts("zip", hierarchy="masking")))
    near = () if distance is None else (parameter("distance", Text(distance), name),)
    columns = () if method == "masking" else (column(name, 31),)
    asked = anonymizing(
        method=method, algorithm="mdav", quasi_identifiers=columns, sensitive=(), identifiers=(), l=None,
        parameters=(parameter("outputForm", Text(form), name), *near),
    )  # fmt: skip
    assert errors(check_dataset(asked, facts)) == ([("P612", 31)] if found else [])
    if method != "masking" and distance is None:
        of_all = replace(
            asked.permissions[0].anonymization, parameters=(parameter("outputForm", Text(form)),)
        )
        everywhere = replace(asked, permissions=(replace(asked.permissions[0], anonymization=of_all),))
        assert errors(check_dataset(everywhere, facts)) == ([("P612", 31)] if found else [])


def test_a_coded_column_whose_labels_are_nodes() -> None:
    facts = replace(FACTS, columns=(*COLUMNS, ColumnFacts("on", datatype="date", hierarchy="dates")))
    code = parameter("topCode", Day(date(2000, 1, 1)), "on")
    asked = anonymizing(quasi_identifiers=(column("on"),), parameters=(code,))
    assert errors(check_dataset(asked, facts)) == [("P612", 31)]


def test_a_key_that_is_published() -> None:
    keyed = {"sensitive": (column("id", 26),), "identifiers": ()}
    assert shown(lint(anonymizing(**keyed), FACTS)) == [("P606", 26), ("P609", 26)]
    assert shown(lint(anonymizing(**keyed, method="k-anonymity", l=None), FACTS)) == [("P609", 26)]
    entropy = parameter("diversity", Text("entropy"))
    assert shown(lint(anonymizing(**keyed, parameters=(entropy,)), FACTS)) == [("P609", 26)]
    assert shown(lint(anonymizing(released=(column("id", 27),), identifiers=()), FACTS)) == [("P609", 27)]


def test_a_respondent_that_is_generalised() -> None:
    quasi = {"quasi_identifiers": (column("id", 28),), "identifiers": ()}
    assert shown(lint(anonymizing(**quasi), FACTS)) == [("P607", 28)]
    assert shown(lint(anonymizing(**quasi, respondent=column("id")))) == [("P607", 28)]
    assert lint(anonymizing(**quasi, one_row_each=True)) == ()


def test_a_promise_about_people_whom_nothing_tells_apart() -> None:
    """Unless the policy or the description says it; a note where there is no description yet."""
    (note,) = lint(anonymizing())
    assert (note.code, note.severity, note.where.line) == ("P620", Severity.NOTE, 20)
    assert "k would count rows" in note.message
    assert "declare it, or `run` refuses" in note.help
    (warning,) = lint(anonymizing(), replace(FACTS, respondent=None))
    assert (warning.code, warning.severity) == ("P620", Severity.WARNING)
    assert "`t.csv-metadata.json`" in warning.message
    assert lint(anonymizing(one_row_each=True)) == lint(anonymizing(respondent=column("id"))) == ()
    assert lint(anonymizing(), FACTS) == ()
    assert lint(anonymizing(), replace(FACTS, respondent=None, one_row_each=True)) == ()
    by_duty = Duty(uid=UID, action=ANONYMIZE, targets=(Asset(TARGET),), anonymization=WAY)
    assert shown(lint(policy(may(duties=(by_duty,))))) == [("P620", 20)]


def test_more_than_there_is() -> None:
    assert shown(lint(anonymizing(k=Bound(Operator.EQ, 1001, at(21))), FACTS)) == [("P608", 21)]
    assert lint(anonymizing(k=Bound(Operator.EQ, 1000, at(21))), FACTS) == ()
    assert shown(lint(anonymizing(l=Bound(Operator.EQ, 4, at(22))), FACTS)) == [("P608", 22)]


# --- Policies and descriptions


def errors(found: tuple[Diagnostic, ...]) -> list[tuple[str, int]]:
    return shown(tuple(one for one in found if one.severity is Severity.ERROR))


def test_columns_that_no_rule_names_are_dropped() -> None:
    (note,) = check_dataset(anonymizing(), FACTS)
    assert (note.code, note.severity, note.where.line) == ("P611", Severity.NOTE, 20)
    assert note.message.endswith("`age`, `seen`, `born`")


def test_a_column_that_the_description_does_not_have() -> None:
    found = check_dataset(anonymizing(sensitive=(column("ilness", 25),)), FACTS)
    assert errors(found) == [("P610", 25)]
    (error,) = (one for one in found if one.severity is Severity.ERROR)
    assert error.help == "did you mean `illness`?"
    assert "`http://x.org/t/ilness`" in error.message


def test_columns_go_by_their_iri() -> None:
    by_iri = ColumnReference(IRI("http://x.org/terms/born"), at(24))
    assert errors(check_dataset(anonymizing(quasi_identifiers=(by_iri,)), FACTS)) == []
    assert errors(check_dataset(anonymizing(quasi_identifiers=(column("born", 24),)), FACTS)) == [
        ("P610", 24)
    ]


def rows(name: str, operator: Operator, *values: Value) -> ColumnComparison:
    return ColumnComparison(column(name, 40), operator, values, at(41))


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (rows("age", Operator.GT, number(18)), []),
        (rows("age", Operator.GT, Text("18")), []),
        (rows("age", Operator.EQ, Truth(True)), [("P612", 41)]),
        (rows("age", Operator.GT, Day(date(2026, 1, 1))), [("P612", 41)]),
        (rows("city", Operator.GT, Text("a")), [("P612", 41)]),
        (rows("city", Operator.EQ, Text("a")), []),
        (rows("city", Operator.EQ, number(1)), [("P612", 41)]),
        (rows("seen", Operator.GT, Instant(NOW)), []),
        (rows("seen", Operator.GT, Day(date(2026, 1, 1))), [("P612", 41)]),
        (rows("id", Operator.GT, number(1)), []),  # nothing is said of its datatype
        (rows("citty", Operator.EQ, Text("a")), [("P610", 40)]),
        (Logical(LogicalOperator.OR, (rows("citty", Operator.EQ, Text("a")), purpose("Marketing"))),
         [("P610", 40)]),
    ],
)  # fmt: skip
def test_limits_to_rows(condition: Condition, expected: list[tuple[str, int]]) -> None:
    assert errors(check_dataset(policy(may(condition)), FACTS)) == expected
    refined = may(targets=(Asset(TARGET, (condition,)),))
    assert errors(check_dataset(policy(refined), FACTS)) == expected


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (parameter("topCode", number(90), "age"), []),
        (parameter("topCode", number(90), "city"), [("P612", 31)]),
        (parameter("outputForm", Text("mean"), "age"), []),
        (parameter("outputForm", Text("mean"), "seen"), [("P612", 31)]),
        (parameter("outputForm", Text("set"), "city"), []),
        (parameter("noiseScale", number(1), "born"), [("P610", 32)]),
        (parameter("fragmentColumn", Named(column("agee").iri)), [("P610", 31)]),
        (parameter("t", number(1)), []),
    ],
)
def test_parameters_of_columns(condition: Condition, expected: list[tuple[str, int]]) -> None:
    assert errors(check_dataset(anonymizing(parameters=(condition,)), FACTS)) == expected


def test_two_respondents() -> None:
    assert errors(check_dataset(anonymizing(respondent=column("city", 29)), FACTS)) == [("P614", 29)]
    assert errors(check_dataset(anonymizing(respondent=column("id", 29)), FACTS)) == []
    assert errors(check_dataset(anonymizing(one_row_each=True), FACTS)) == [("P614", 20)]
    silent = replace(FACTS, respondent=None)
    assert errors(check_dataset(anonymizing(respondent=column("city", 29)), silent)) == []


def test_a_description_of_something_else() -> None:
    two = policy(may(), may(targets=(OTHER,)))
    assert shown(check_dataset(two, FACTS)) == [("P613", 2)]
    assert check_dataset(two, replace(FACTS, target=TARGET)) == ()
    under = replace(FACTS, columns=(ColumnFacts("x", iri=IRI("http://x.org/other/x")),))
    assert under.describes(two) == OTHER.iri


# --- The description file


def described(tmp_path: Path, **more: object) -> Path:
    age = {"name": "age", "datatype": "integer", "csvw-eo:public.maxNumPartitions": 120}
    schema = {"primaryKey": more.pop("key", "id"), "columns": [{"name": "id"}, age]}
    path = tmp_path / "t.csv-metadata.json"
    context = ["http://www.w3.org/ns/csvw", {"csvw-eo": "https://w3id.org/csvw-eo#", "s": SMALTI}]
    document = {"@context": context, "url": "t.csv", "s:respondent": "id", "tableSchema": schema, **more}
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def test_facts_come_from_the_description(tmp_path: Path) -> None:
    path = described(tmp_path, **{"csvw-eo:bounds.maxLength": 500})
    assert read_dataset_facts(path, TARGET) == DatasetFacts(
        (ColumnFacts("id", is_key=True), ColumnFacts("age", datatype="integer", most_values=120)),
        "t.csv-metadata.json", target=TARGET, respondent="id", most_rows=500,
    )  # fmt: skip


def test_a_key_of_two_columns_makes_neither_unique(tmp_path: Path) -> None:
    facts = read_dataset_facts(described(tmp_path, key=["id", "age"]))
    assert [column.is_key for column in facts.columns] == [False, False]


def test_a_key_must_be_described(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="primary key"):
        read_dataset_facts(described(tmp_path, key="other"))


def test_places_come_from_the_document() -> None:
    """From the text to the finding: a contradiction is underlined where the document says it."""
    document = """{"@context": ["http://www.w3.org/ns/odrl.jsonld"], "uid": "http://x.org/p",
 "profile": "https://w3id.org/smalti#",
 "permission": {"target": "http://x.org/t", "action": "odrl:read", "constraint": [
  {"leftOperand": "count", "operator": "lt", "rightOperand": 5},
  {"leftOperand": "count", "operator": "gt", "rightOperand": 9}]}}"""
    (found,) = lint(parse(document.encode(), "a.jsonld").policies[0])
    assert (found.code, found.where.line, found.help) == ("P601", 5, "the other constraint is at line 4")


# --- Columns of a table


def test_rules_that_meet_at_a_column() -> None:
    """Both places are told: the one by the finding, the other one in its text."""
    releasing = Anonymization(
        method="k-anonymity", algorithm=None, k=Bound(Operator.EQ, 2), l=None, identifiers=(),
        quasi_identifiers=(column("age"),), sensitive=(),
        released=(replace(column("city"), where=Where("p", 8, 3)),), respondent=None, one_row_each=True,
    )  # fmt: skip
    anonymizing = may(action=ANONYMIZE, anonymization=releasing, output=IRI("http://x.org/out"))
    against = may_not(action=USE, targets=(Asset(IRI(f"{TARGET}/city")),))
    for rule, words, line in ((anonymizing, "it is denied", 8), (may(), "is withheld", 7)):
        (found,) = lint(policy(rule, against))
        assert (found.code, found.where.line) == ("P621", line)
        assert "the prohibition at line 9" in found.message
        assert words in found.message
        (found,) = lint(policy(rule, against, conflict=ConflictStrategy.PERMIT))
        assert (found.code, "does not override" in found.message) == ("P621", True)
        assert shown(lint(policy(rule, against, conflict=ConflictStrategy.INVALID))) == [("P602", 7)]
    elsewhere = may_not(action=USE, targets=(Asset(IRI(f"{TARGET}/born")),))
    assert lint(policy(anonymizing, elsewhere)) == ()
    assert lint(policy(may(purpose("Marketing")), replace(against, constraints=(purpose("Sports"),)))) == ()


def test_a_target_below_the_table_names_one_of_its_columns() -> None:
    for name, codes in (("city", []), ("%63ity", []), ("born", []), ("cty", ["P622"])):
        against = may_not(targets=(Asset(IRI(f"{TARGET}/{name}"), where=at(3)),))
        found = check_dataset(policy(may(), against), replace(FACTS, target=None))
        assert [one.code for one in found] == codes
    assert found[0].where.line == 3
    assert "`city`" in found[0].help
