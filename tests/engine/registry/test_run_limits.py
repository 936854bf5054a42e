"""Whole runs under grants with limits to rows, duties, asks and people who withdrew."""

import csv
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from shell import nobody_has

from smalti.engine.anonymization.bounds import chosen_bounds
from smalti.engine.backends.local import LocalBackend
from smalti.engine.binding.run_inputs import Granted
from smalti.engine.binding.run_request import Outcome, PolicyDocument, RunRequest
from smalti.engine.registry.registry import Registry
from smalti.engine.run import run as engine
from smalti.engine.run.grants import _granted
from smalti.engine.run.plans import plan, plan_undecided
from smalti.engine.run.recheck import recheck, repeat
from smalti.errors import GuaranteeError, PlanError, SmaltiError, UsageError
from smalti.policy.decide.decision import Decision, Effect, Fact, Grant, Request
from smalti.policy.decide.transformations import requested_parameters, transformation
from smalti.policy.model.model import Anonymization, Bound, Duty, Number, Operator
from smalti.policy.read.parse import parse, require
from smalti.vocab.terms import IRI, L_DIVERSITY, K, L

sys.path.insert(0, str(Path(__file__).parent))
import registry_world as world
from registry_world import OTHER, OUTPUT, OWNER, SOURCE, USER

LOCAL = LocalBackend()
RULE = IRI("http://example.com/rule/anon")
HEADER = ("CustomerID", "ZIP", "Amount", "Country")
NAMES = ("leftOperand", "operator", "rightOperand")


def limit(column: str, operator: str, value: object) -> dict[str, Any]:
    return dict(zip(NAMES, ({"@id": f"{SOURCE}/{column}"}, operator, value), strict=True))


def rule(*constraints: dict[str, Any], **more: Any) -> dict[str, Any]:
    made = world.anonymize_rule("anon", purpose=None)
    (action,) = made["action"]
    respondent = dict(zip(NAMES, ("smalti:respondent", "eq", {"@id": f"{SOURCE}/CustomerID"}), strict=True))
    action["refinement"] = [*action["refinement"], respondent]
    return {**made, **({"constraint": list(constraints)} if constraints else {}), **more}


def document(*rules: dict[str, Any], **more: Any) -> PolicyDocument:
    raw = json.loads(world.document("anon", *rules))
    raw["@context"].append("https://w3id.org/smalti/context.jsonld")
    raw["profile"] = [raw["profile"], "https://w3id.org/smalti#"]
    text = json.dumps({**raw, **more}).encode()
    return PolicyDocument(require(parse(text, "anon.jsonld")), text, "anon.jsonld")


def customers(folder: Path, number: int = 40, rows_each: int = 2) -> Path:
    path = folder / "customers.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(HEADER)
        for n in range(number):
            for i in range(rows_each):
                writer.writerow([f"c{n}", f"10{n % 7}", str(n % 5 + i), ("IT", "FR", "")[n % 3]])
    return path


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return customers(tmp_path)


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    return Registry.open(tmp_path / "r.sqlite")


def request(given: PolicyDocument, data: Path, **more: Any) -> RunRequest:
    return RunRequest(
        document=given, target=SOURCE, data=data, party=USER, purpose=None, owner=OWNER, **more
    )


def ran(registry: Registry, given: PolicyDocument, data: Path, out: Path, **more: Any) -> Outcome:
    return engine.run(request(given, data, **more), out, registry, LOCAL)


def asked_k(k: int) -> Fact:
    return Fact(K, (Number(Decimal(k)),))


def published(outcome: Outcome) -> list[list[str]]:
    assert outcome.version is not None, outcome.decision.reasons
    with (outcome.version.path / outcome.version.files[0].name).open(encoding="utf-8", newline="") as file:
        _, *rows = csv.reader(file)
    return rows


# --- Rows ------------------------------------------------------------------------------------------


def test_only_granted_rows_are_published_and_counted(
    registry: Registry, data: Path, tmp_path: Path
) -> None:
    given = document(rule(limit("Country", "eq", "IT")))
    outcome = ran(registry, given, data, tmp_path / "out")
    assert len(published(outcome)) == 28
    report = outcome.report
    assert report is not None
    assert (report.rows_in, report.rows_out, report.rows_filtered, report.rows_withdrawn) == (80, 28, 52, 0)
    assert report.respondents == 14
    assert outcome.plan is not None
    assert outcome.plan.filter is not None
    assert outcome.version is not None
    assert repeat(registry, outcome.version.path, data, LOCAL).is_repeated


def test_too_few_granted_rows_end_the_run(registry: Registry, data: Path, tmp_path: Path) -> None:
    """14 customers are in Italy: k = 15 is met by the whole table, and not by the granted rows."""
    given = document(rule(limit("Country", "eq", "IT")))
    with pytest.raises(GuaranteeError, match="cannot meet") as caught:
        ran(registry, given, data, tmp_path / "out", asks=(asked_k(15),))
    assert "14" not in str(caught.value)
    assert not registry.all_versions()


def numbers(part: Any) -> set[int]:
    if isinstance(part, dict):
        part = list(part.values())
    if isinstance(part, list):
        return set[int]().union(*map(numbers, part))
    return {part} if isinstance(part, int) else set()


def keys(part: Any) -> Any:
    """A document without its values."""
    if isinstance(part, dict):
        return {key: keys(value) for key, value in part.items()}
    return [keys(one) for one in part] if isinstance(part, list) else None


def test_nothing_that_was_left_out_reaches_the_certificate(
    registry: Registry, data: Path, tmp_path: Path
) -> None:
    outcome = ran(registry, document(rule(limit("Country", "eq", "IT"))), data, tmp_path / "out")
    assert outcome.version is not None
    assert outcome.report is not None
    certificate = json.loads(outcome.version.certificate)
    figures = {outcome.report.rows_in, outcome.report.rows_filtered, outcome.report.rows_withdrawn}
    assert figures.isdisjoint(numbers(certificate))


def test_a_limit_that_cannot_be_bound_ends_the_run(registry: Registry, data: Path, tmp_path: Path) -> None:
    given = document(rule(limit("Country", "gteq", 5)))
    with pytest.raises(PlanError, match="`Country` cannot be compared as numbers"):
        ran(registry, given, data, tmp_path / "out")
    assert not (tmp_path / "out").exists()


# --- Who withdrew ----------------------------------------------------------------------------------


def test_who_withdrew_is_left_out_of_later_runs(registry: Registry, data: Path, tmp_path: Path) -> None:
    given = document(rule())
    first = ran(registry, given, data, tmp_path / "one")
    registry.withdraw(SOURCE, ["c1", "c2", "nobody"], by=OWNER)
    nobody_has(registry)
    second = ran(registry, given, data, tmp_path / "two")
    assert (len(published(first)), len(published(second))) == (80, 76)
    assert second.report is not None
    assert (second.report.rows_withdrawn, second.report.respondents) == (4, 38)
    both = replace(second.report, rows_in=90, rows_filtered=10)
    told = [
        next(iter(report.lines("respondents"))) for report in (first.report, second.report, both) if report
    ]
    assert [line.partition("; ")[2] for line in told] == [
        "80 rows in, 80 out",
        "80 rows in, 4 withdrawn, 76 out",
        "90 rows in, 4 withdrawn, 10 not granted, 76 out",
    ]
    assert first.version is not None
    assert second.version is not None
    assert first.version.plan_digest == second.version.plan_digest
    assert keys(json.loads(first.version.certificate)) == keys(json.loads(second.version.certificate))
    assert "withdrew" not in second.version.certificate


def test_an_output_is_repeated_with_the_list_of_its_time(
    registry: Registry, data: Path, tmp_path: Path
) -> None:
    given = document(rule())
    first = ran(registry, given, data, tmp_path / "one")
    registry.withdraw(SOURCE, ["c1"], by=OWNER)
    nobody_has(registry)
    second = ran(registry, given, data, tmp_path / "two")
    registry.withdraw(SOURCE, ["c2"], by=OWNER)
    for outcome in (first, second):
        assert outcome.version is not None
        assert repeat(registry, outcome.version.path, data, LOCAL).is_repeated
        assert recheck(registry, outcome.version.path).version is not None


def test_a_run_without_a_respondent_column_is_refused(
    registry: Registry, tmp_path: Path, data: Path
) -> None:
    ran(registry, document(rule()), data, tmp_path / "one")
    registry.withdraw(SOURCE, ["c1"], by=OWNER)
    made = rule()
    made["action"][0]["refinement"][-1]["rightOperand"] = {"@id": "smalti:oneRowEach"}
    with pytest.raises(PlanError, match="no column identifies their rows"):
        ran(registry, document({**made, "uid": f"{RULE}/2"}, uid=f"{RULE}/policy"), data, tmp_path / "two")
    assert not (tmp_path / "two").exists()


def test_a_run_that_counts_people_by_another_column_is_refused(
    registry: Registry, data: Path, tmp_path: Path
) -> None:
    """Nobody on the list would be found there, and everybody who withdrew would be published."""
    ran(registry, document(rule()), data, tmp_path / "one")
    registry.withdraw(SOURCE, ["c1"], by=OWNER)
    made = rule()
    made["action"][0]["refinement"][-1]["rightOperand"] = {"@id": f"{SOURCE}/ZIP"}
    with pytest.raises(PlanError, match="but respondents are counted by `ZIP`"):
        ran(registry, document({**made, "uid": f"{RULE}/2"}, uid=f"{RULE}/policy"), data, tmp_path / "two")
    assert not (tmp_path / "two").exists()


def test_an_output_that_was_made_before_is_refused_as_an_input(
    registry: Registry, data: Path, tmp_path: Path
) -> None:
    """Its rows cannot be told apart any more; one that was made afterwards has nobody in it."""
    given = document(rule())
    old = ran(registry, given, data, tmp_path / "one")
    registry.withdraw(SOURCE, ["c1"], by=OWNER)
    again = world.anonymize_rule("again", OUTPUT, "http://example/again", purpose=None)
    again["action"][0]["refinement"] = [
        one for one in again["action"][0]["refinement"] if one["leftOperand"] != "mosaicrown:identifier"
    ]
    raw = world.document("again", again)
    chained = PolicyDocument(require(parse(raw, "again.jsonld")), raw, "again.jsonld")

    def plan_of(outcome: Outcome) -> SmaltiError | None:
        assert outcome.version is not None
        file = outcome.version.path / outcome.version.files[0].name
        wanted = replace(request(chained, file), target=OUTPUT)
        with pytest.raises(SmaltiError) as caught:
            plan(wanted, registry, LOCAL)
        return caught.value

    assert "people withdrew from it" in str(plan_of(old))
    nobody_has(registry)
    new = ran(registry, given, data, tmp_path / "two")
    assert "people withdrew from it" not in str(plan_of(new))


# --- Asks ------------------------------------------------------------------------------------------


def test_a_stronger_guarantee_reaches_plan_and_certificate(
    registry: Registry, data: Path, tmp_path: Path
) -> None:
    outcome = ran(registry, document(rule()), data, tmp_path / "out", asks=(asked_k(20),))
    assert outcome.plan is not None
    assert outcome.plan.apply.transform.guarantee.k == 20
    assert outcome.report is not None
    assert outcome.report.k >= 20
    assert outcome.version is not None
    assert json.loads(outcome.version.certificate)["guarantee"]["k"] == 20


# --- Duties ----------------------------------------------------------------------------------------


def granted(given: PolicyDocument, data: Path, *obligations: Duty, **changes: Any) -> Granted:
    (permission,) = given.policy.permissions
    wanted = request(given, data)
    asked = Request(party=USER, action=permission.action, targets=(SOURCE,))
    grant = Grant(given.policy, replace(permission, **changes), (), obligations)
    return _granted(wanted, Decision(request=asked, effect=Effect.PERMIT, reasons=(), grants=(grant,)))


def duty_of(given: PolicyDocument, **changes: Any) -> Duty:
    (permission,) = given.policy.permissions
    made = Duty(
        uid=IRI("http://example.com/duty"), action=permission.action, targets=permission.targets,
        output=permission.output, anonymization=permission.anonymization,
    )  # fmt: skip
    return replace(made, **changes)


def test_an_obligation_that_the_plan_contains_is_met(data: Path) -> None:
    given = document(rule())
    assert granted(given, data, duty_of(given)).output == OUTPUT
    assert granted(given, data, duty_of(given, output=None, targets=())).output == OUTPUT


def changed_duties(given: PolicyDocument) -> Sequence[Duty]:
    whole = given.policy.permissions[0].anonymization
    assert whole is not None
    return (
        duty_of(given, action=IRI("http://www.w3.org/ns/odrl/2/inform"), anonymization=None),
        duty_of(given, anonymization=replace(whole, quasi_identifiers=())),
        duty_of(given, output=IRI("http://example/other")),
        duty_of(given, targets=(replace(given.policy.permissions[0].targets[0], iri=OTHER),)),
    )


@pytest.mark.parametrize("which", range(4))
def test_any_other_obligation_is_refused(data: Path, which: int) -> None:
    given = document(rule())
    with pytest.raises(PlanError, match=r"http://example\.com/duty.*which this run does not"):
        granted(given, data, changed_duties(given)[which])


def test_a_grant_that_does_not_say_how_is_refused(data: Path) -> None:
    given = document(rule())
    with pytest.raises(PlanError, match="does not say how to transform"):
        granted(given, data, anonymization=None, output=None)


# --- Plans that nobody asked for ---------------------------------------------------------------------


def read_rule(**more: Any) -> dict[str, Any]:
    return {"uid": "http://example.com/rule/read", "target": SOURCE, "action": "odrl:read", **more}


def as_duty(made: dict[str, Any]) -> dict[str, Any]:
    return {**made, "uid": "http://example.com/duty"}


@pytest.mark.parametrize("name", ["http://example.com/rule/read", "http://example.com/duty", None])
def test_a_duty_of_a_permission_to_read_has_a_plan(
    registry: Registry, data: Path, name: str | None
) -> None:
    given = document(read_rule(duty=[as_duty(rule())], constraint=[limit("Country", "eq", "IT")]))
    wanted = replace(request(given, data), party=None, rule=None if name is None else IRI(name))
    found = plan_undecided(wanted, registry, LOCAL).plan
    assert found is not None
    assert found.filter is not None
    assert found.write.output == OUTPUT


@pytest.mark.parametrize(
    "more",
    [
        {"obligation": [as_duty(rule())]},
        {"prohibition": [read_rule(remedy=[as_duty(rule())])]},
    ],
    ids=["obligation", "remedy"],
)
def test_obligations_and_remedies_have_a_plan(registry: Registry, data: Path, more: dict[str, Any]) -> None:
    given = document(**more)
    found = plan_undecided(replace(request(given, data), party=None), registry, LOCAL).plan
    assert found is not None
    assert found.filter is None


def remedied(**more: Any) -> PolicyDocument:
    """Nobody may use it; the user, who did all the same, must anonymize it."""
    no = {"uid": "http://example.com/rule/no", "target": SOURCE, "action": "odrl:use", **more}
    return document(prohibition=[{**no, "remedy": [as_duty({**rule(), "assignee": USER})]}])


DUTY = IRI("http://example.com/duty")


def test_a_remedy_that_is_named_is_run(registry: Registry, data: Path, tmp_path: Path) -> None:
    given = remedied(constraint=[limit("Country", "eq", "IT")])
    for more in ({}, {"rule": IRI("http://example.com/rule/no")}):
        assert ran(registry, given, data, tmp_path / "out", **more).version is None
    outcome = ran(registry, given, data, tmp_path / "out", rule=DUTY)
    assert len(published(outcome)) == 28
    assert outcome.version is not None
    assert (outcome.version.target, outcome.version.rule_uid) == (OUTPUT, DUTY)
    planned = plan_undecided(request(given, data, rule=DUTY), registry, LOCAL).plan
    assert planned == outcome.plan


ITALIANS = {"@type": "AssetCollection", "source": SOURCE, "refinement": [limit("Country", "eq", "IT")]}


@pytest.mark.parametrize("target", [{}, {"target": SOURCE}], ids=["inherited", "own"])
@pytest.mark.parametrize("kind", ["permission", "prohibition"])
def test_the_rows_of_the_outer_rule_limit_a_plan_too(
    registry: Registry, data: Path, kind: str, target: dict[str, Any]
) -> None:
    """Also where its duty or remedy has a target of its own; without a requester, as with one."""
    inner = {**as_duty({**rule(), "assignee": USER}), **target}
    if not target:
        del inner["target"]
    outer = {"uid": "http://example.com/rule/no", "target": ITALIANS}
    if kind == "permission":
        given = document({**outer, "action": "odrl:read", "assignee": USER, "duty": [inner]})
    else:
        given = document(prohibition=[{**outer, "action": "odrl:use", "remedy": [inner]}])
    planned = plan_undecided(replace(request(given, data, rule=DUTY), party=None), registry, LOCAL).plan
    assert planned is not None
    assert planned.filter is not None
    assert planned == plan(request(given, data, rule=DUTY), registry, LOCAL).plan


def test_a_duty_for_what_its_rule_is_not_about_is_not_offered(registry: Registry, data: Path) -> None:
    given = document(
        rule(uid="http://example.com/rule/far", target="http://x.org/other", output="http://x.org/out"),
        prohibition=[
            {"uid": "http://example.com/rule/no", "target": "http://x.org/other", "action": "odrl:use",
             "remedy": [as_duty(rule())]},
            {"uid": "http://example.com/rule/no-2", "target": SOURCE, "action": "odrl:read"},
        ],
    )  # fmt: skip
    with pytest.raises(UsageError, match="the policy has no permission to anonymize"):
        plan_undecided(replace(request(given, data), party=None), registry, LOCAL)


def test_a_remedy_is_its_party_and_its_owners_word(registry: Registry, data: Path, tmp_path: Path) -> None:
    registry.add_policy(world.document("read", world.read_rule("read")), "read", OWNER)
    wanted = request(remedied(), data, rule=DUTY)
    for refused in (replace(wanted, party=OTHER), replace(wanted, owner=OTHER)):
        assert engine.run(refused, tmp_path / "out", registry, LOCAL).version is None
    assert engine.run(wanted, tmp_path / "out", registry, LOCAL).version is not None


def test_several_ways_to_anonymize_are_listed(registry: Registry, data: Path) -> None:
    given = document(rule(), read_rule(duty=[as_duty(rule())]))
    wanted = replace(request(given, data), party=None)
    with pytest.raises(UsageError, match="several permissions match"):
        plan_undecided(wanted, registry, LOCAL)
    picked = replace(wanted, rule=RULE)
    assert plan_undecided(picked, registry, LOCAL).plan is not None


def test_rows_that_depend_on_who_asks_have_no_plan_without_a_party(registry: Registry, data: Path) -> None:
    purpose = dict(zip(NAMES, ("purpose", "eq", {"@id": "mosaicrown:marketing"}), strict=True))
    given = document(rule({"or": {"@list": [limit("Country", "eq", "IT"), purpose]}}))
    with pytest.raises(PlanError, match="depends on more than the data"):
        plan_undecided(replace(request(given, data), party=None), registry, LOCAL)


# --- What is decided and what is run ---------------------------------------------------------------

some_bounds = st.builds(Bound, st.sampled_from([Operator.EQ, Operator.GTEQ]), st.integers(2, 12))
some_asks = st.none() | st.integers(1, 14)


@given(some_bounds, st.none() | some_bounds, some_asks, some_asks)
@settings(max_examples=examples(300))
def test_a_run_takes_the_k_and_l_that_prohibitions_were_judged_by(
    k: Bound, diversity: Bound | None, asked_k: int | None, asked_l: int | None
) -> None:
    wanted = Anonymization(
        method=L_DIVERSITY, algorithm=None, k=k, l=diversity, identifiers=(), quasi_identifiers=(),
        sensitive=(), released=(), respondent=None, one_row_each=False,
    )  # fmt: skip
    asked = {
        word: (Number(Decimal(number)),)
        for word, number in ((K, asked_k), (L, asked_l))
        if number is not None
    }
    problems: list[SmaltiError] = []
    taken = chosen_bounds(wanted, (), [Fact(*one) for one in asked.items()], problems)
    judged = requested_parameters(transformation(wanted), asked)
    if problems:
        return
    assert judged[K] == (Number(Decimal(taken.k)),)
    assert judged.get(L, (Number(Decimal(1)),)) == (Number(Decimal(taken.l)),)
    assert taken.k >= taken.l
