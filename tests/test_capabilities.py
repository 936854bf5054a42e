"""The contract that each kind of run keeps: one suite over the entries of the one table.

`test_killed_kinds` kills a run of each kind at each step; `test_architecture` says who may know of kinds.
"""

import json
import pickle
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from itertools import combinations
from pathlib import Path
from typing import Any

import kind_worlds as world
import pytest
from jsonschema import Draft202012Validator
from killed_kinds import end_at, untaught
from kind_worlds import EXAMPLES, OWNER, TARGET, USER, charges, is_charged, leftovers, output_of, registry

import smalti
from smalti.engine.binding.capability import Capability, capability_of
from smalti.engine.losses.certified import charged_run
from smalti.engine.plan.any_plan import AnyPlan
from smalti.engine.plan.kinds import TABLE, Kind, granted_kind, plan_class, report_class
from smalti.engine.plan.origins import Change
from smalti.engine.plan.recorded import plan_from_json, recorded_kind
from smalti.engine.plan.reports import report_from_json, report_to_json
from smalti.engine.plan.serialize import plan_digest, plan_to_json
from smalti.engine.registry.entries import TargetVersion
from smalti.engine.registry.registry import Registry
from smalti.engine.run.lineage import openlineage
from smalti.engine.run.records import export_catalogue, export_lineage
from smalti.errors import DataError, SmaltiError, UsageError
from smalti.vocab.terms import IRI

EXAMPLE_FILES = Path(__file__).parents[1] / "examples"
GOLDEN = Path(__file__).parent / "golden"
SURVEY = "http://example.com/survey/contraceptive"
SCHEMA = json.loads((files("smalti.vocab") / "certificate.schema.json").read_text())
OTHERS = ("wombat", -1, [], {"@id": "http://example.com/wombat"})
"""Values that mean nothing to any refinement of the examples."""
UNCHANGED: dict[Kind, tuple[str, ...]] = {
    Kind.ANONYMIZATION: ("standard_of_living", "method"),
    Kind.BUCKETIZATION: ("method",),
    Kind.RELEASE: ("method", "working"),
    Kind.PERTURBATION: (),
    Kind.MASKING: ("method",),
    Kind.TRAINING: (),
    Kind.SYNTHESIS: (),
}
"""Of the public example of each kind, of two tables that of the values: the columns that are published as
they are; of statistics their groups."""
EACH = pytest.mark.parametrize("kind", [entry.kind for entry in TABLE])


@dataclass(frozen=True)
class Made:
    """A run that was carried out."""

    kind: Kind
    folder: Path
    outcome: smalti.Outcome

    @property
    def capability(self) -> Capability[AnyPlan, object]:
        return capability_of(self.kind)

    @property
    def plan(self) -> AnyPlan:
        assert self.outcome.plan is not None
        return self.outcome.plan

    @property
    def version(self) -> TargetVersion:
        assert self.outcome.version is not None, self.outcome.decision.reasons
        return self.outcome.version


@pytest.fixture(scope="module", params=[entry.kind for entry in TABLE])
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Made:
    """One run of each kind, a training for real; of a generative one `test_synthesis` has real ones."""
    kind: Kind = request.param
    folder = tmp_path_factory.mktemp(kind)
    world.write(folder, kind)
    with pytest.MonkeyPatch.context() as patch:
        if kind is Kind.SYNTHESIS:
            untaught(kind, patch.setattr)
        return Made(kind, folder, world.run(folder, kind))


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trainings that learn nothing: for what is about the way, and not about what comes out."""
    untaught(Kind.TRAINING, monkeypatch.setattr)
    untaught(Kind.SYNTHESIS, monkeypatch.setattr)


def test_each_kind_has_an_example() -> None:
    assert EXAMPLES.keys() == {entry.kind for entry in TABLE} == {*Kind}


# --- Plans and what is told of them


def planned_example(kind: Kind) -> AnyPlan:
    """The plan of the public example, on the public data."""
    name = EXAMPLES[kind].public
    query = EXAMPLE_FILES / "policies" / "contraceptive.query.json" if EXAMPLES[kind].query else None
    found = smalti.plan(
        EXAMPLE_FILES / "policies" / f"{name}.jsonld",
        data={SURVEY: EXAMPLE_FILES / "data" / "contraceptive.csv"},
        query=query,
    )
    assert found.plan is not None
    return found.plan


@EACH
def test_its_public_example_compiles_and_is_explained(kind: Kind) -> None:
    plan = planned_example(kind)
    assert (type(plan), plan.kind) == (plan_class(kind), kind)
    assert smalti.explain(plan) == (GOLDEN / f"{EXAMPLES[kind].public}.plan.txt").read_text()
    told = json.loads(smalti.explain(plan, as_json=True))
    assert told["promise"] == capability_of(kind).promise(plan)
    assert plan_from_json(json.dumps(told["plan"])) == plan
    document = smalti.load_policy(EXAMPLE_FILES / "policies" / f"{EXAMPLES[kind].public}.jsonld")
    assert [granted_kind(one) for one in document.policy.permissions if one.how] == [kind]


def test_a_plan_is_read_as_it_was_written(made: Made) -> None:
    text = plan_to_json(made.plan)
    assert made.version.plan == text
    again = plan_from_json(text)
    assert again == made.plan
    assert plan_digest(again) == plan_digest(made.plan) == made.version.plan_digest
    assert recorded_kind(text) is made.kind


def test_a_plan_of_another_kind_is_none(made: Made) -> None:
    """The kind that a recorded plan names is the one that it is read as."""
    for kind in Kind:
        document = json.loads(plan_to_json(made.plan)) | {"kind": str(kind)}
        if kind is not made.kind:
            with pytest.raises(SmaltiError):
                plan_from_json(json.dumps(document))


# --- Certificates and reports


def test_a_certificate_is_valid_and_its_guarantee_is_read_as_it_was_meant(made: Made) -> None:
    document = json.loads(made.version.certificate)
    Draft202012Validator(SCHEMA).validate(document)
    assert document["guarantee"]["kind"] == made.kind
    promised = made.capability.guarantee(made.plan)
    assert promised.kind is made.kind
    stated = made.capability.guarantee_from(document["guarantee"])
    assert stated == promised
    assert json.loads(json.dumps(stated.to_object())).items() <= document["guarantee"].items()
    assert (stated.model, stated.statement) == (
        document["guarantee"]["model"],
        document["guarantee"]["statement"],
    )
    assert [*stated.limits] == document["doesNotProtectAgainst"]


def test_a_certificate_of_another_kind_is_refused(made: Made) -> None:
    document = json.loads(made.version.certificate)
    for kind in Kind:
        if kind is not made.kind:
            document["guarantee"]["kind"] = str(kind)
            assert not Draft202012Validator(SCHEMA).is_valid(document)


def test_lineage_names_columns_that_are_there_and_nobody(made: Made) -> None:
    """Each column of an output comes from columns that the plan reads; parties and paths are left out."""
    registry = Registry.open(made.folder / "r.sqlite")
    (line,) = openlineage(registry, made.version.target).splitlines()
    event = json.loads(line)
    read = {column.name for column in made.plan.read.columns}
    tables = [(table.iri, table.columns) for table in made.version.tables]
    for (iri, columns), output in zip(
        tables or [(made.version.target, made.version.columns)], event["outputs"], strict=True
    ):
        assert f"{output['namespace']}/{output['name']}" == iri
        fields = output["facets"].get("columnLineage", {"fields": {}, "dataset": []})
        names = {column.name for column in columns}
        assert fields["fields"].keys() <= names
        assert fields["fields"] or made.kind is Kind.TRAINING
        sources = [source for field in fields["fields"].values() for source in field["inputFields"]]
        assert {source["field"] for source in (*sources, *fields["dataset"])} <= read
    catalogue, provenance = (
        export(registry, made.version.target) for export in (export_catalogue, export_lineage)
    )
    for text in (line, catalogue, provenance):
        assert made.version.party not in text
        assert str(made.folder) not in text
    with pytest.raises(UsageError, match="no such output"):
        openlineage(registry, IRI("http://example.com/wombat"))


@EACH
def test_lineage_says_where_values_are_not_published_as_they_are(kind: Kind) -> None:
    plan = planned_example(kind)
    changes = {
        column.column: column.change
        for column in capability_of(kind).origins(plan, plan.write.output).columns
    }
    unchanged = {name for name, change in changes.items() if change is Change.NONE}
    assert unchanged == set(UNCHANGED[kind])


def test_an_output_is_verified(made: Made) -> None:
    seen = smalti.verify(made.version.path, registry=made.folder / "r.sqlite")
    assert (seen.version, seen.guarantee) == (made.version, made.capability.guarantee(made.plan))


def test_a_report_is_read_as_it_was_written(made: Made) -> None:
    report = made.version.report
    assert type(report) is report_class(made.kind)
    assert report_from_json(report_to_json(report), made.kind) == report
    assert all(isinstance(line, str) for line in report.lines("rows"))


def test_everything_pickles(made: Made) -> None:
    guarantee = made.capability.guarantee(made.plan)
    for one in (made.plan, guarantee, made.version, made.version.report, made.outcome):
        assert pickle.loads(pickle.dumps(one)) == one
    assert type(pickle.loads(pickle.dumps(made.capability))) is type(made.capability)


# --- Words


def refused(folder: Path, kind: Kind, refinements: tuple[world.Refinement, ...]) -> bool:
    """Whether there is no plan of such a policy: an error of ours, or a denial."""
    world.write(folder, kind, refinements=refinements)
    try:
        return world.plan(folder, kind).plan is None
    except SmaltiError as error:
        return str(pickle.loads(pickle.dumps(error))) == str(error)


@EACH
def test_bad_words_are_refused(tmp_path: Path, kind: Kind) -> None:
    own = EXAMPLES[kind].refinements
    assert not refused(tmp_path, kind, own)
    assert refused(tmp_path, kind, (*own, ("smalti:wombat", "eq", 1)))
    for place, (word, operator, _) in enumerate(own):
        for other in OTHERS:
            bad = (*own[:place], (word, operator, other), *own[place + 1 :])
            assert refused(tmp_path, kind, bad), (word, other)


@pytest.mark.parametrize("kind", [kind for kind in EXAMPLES if EXAMPLES[kind].query is None])
def test_a_query_is_refused_where_none_is_answered(tmp_path: Path, kind: Kind) -> None:
    world.write(tmp_path, kind)
    query = {"statistics": [{"statistic": "count"}]}
    assert world.plan(tmp_path, kind, query=query).plan is None
    with pytest.raises(UsageError, match=r"statistics|query"):
        world.plan(tmp_path, kind, query=query, party=None)


@pytest.mark.parametrize(("one", "other"), [*combinations(EXAMPLES, 2)])
def test_where_two_kinds_are_permitted_a_rule_is_named(tmp_path: Path, one: Kind, other: Kind) -> None:
    place = world.write(tmp_path, one)
    document, more = world.document(one), world.document(other)
    document["permission"] += more["permission"]
    place.write_text(json.dumps(document), encoding="utf-8")
    rules = {kind: f"http://example.com/policy/{kind}/1" for kind in (one, other)}
    with pytest.raises(UsageError) as caught:
        world.plan(tmp_path, one, query=None)  # which only a release answers
    assert all(rule in str(caught.value) for rule in rules.values())
    for kind, rule in rules.items():
        plan = world.plan(tmp_path, kind, rule=rule).plan
        assert plan is not None
        assert plan.kind is kind


# --- Charges


@pytest.mark.usefixtures("quick")
@EACH
def test_each_publication_is_charged_once(tmp_path: Path, kind: Kind) -> None:
    world.write(tmp_path, kind)
    for count in (1, 2):
        outcome = world.run(tmp_path, kind, f"out{count}")
        assert outcome.version is not None
        assert charges(tmp_path) == count * is_charged(kind)
    known = registry(tmp_path)
    versions = known.versions(output_of(kind))
    assert [one.number for one in versions] == [1, 2]
    if not is_charged(kind):
        assert versions[0].output_digest == versions[1].output_digest
        return
    charged = known.ledger.budget(IRI(TARGET)).charges
    assert [one.run for one in charged] == [charged_run(one) for one in versions]
    assert [one.plan_digest for one in charged] == [one.plan_digest for one in versions]
    lost = capability_of(kind).loss(plan_from_json(versions[0].plan))
    assert lost is not None
    assert all((one.epsilon, one.delta) == (lost.epsilon, lost.delta) for one in charged)
    assert all(one.neighbors is lost.neighbors for one in charged)


@EACH
def test_what_is_said_of_charges_is_what_is_charged(tmp_path: Path, kind: Kind) -> None:
    """Before there is a plan, of the permission alone."""
    document = smalti.load_policy(world.write(tmp_path, kind))
    (permission,) = document.policy.permissions
    plan = world.plan(tmp_path, kind).plan
    assert plan is not None
    lost = capability_of(kind).loss(plan)
    said = plan_class(kind).neighbors_charged(permission)
    assert said == (None if lost is None else lost.neighbors)
    assert (said is not None) == is_charged(kind)


@pytest.mark.usefixtures("quick")
@EACH
def test_planning_charges_nothing(tmp_path: Path, kind: Kind) -> None:
    world.write(tmp_path, kind)
    assert world.plan(tmp_path, kind).plan is not None
    assert charges(tmp_path) == 0


# --- Warnings


@pytest.mark.usefixtures("quick")
@EACH
def test_cells_of_several_types_are_told_to_owners(tmp_path: Path, kind: Kind) -> None:
    """One group may stand there as the number 1 and as the text 01; whether it does may be one person's."""
    world.write(tmp_path, kind)
    described = json.loads((tmp_path / "people.csv-metadata.json").read_text())
    described["url"] = "people.sqlite"
    del described["tableSchema"]["columns"][1]["datatype"]
    (tmp_path / "people.sqlite-metadata.json").write_text(json.dumps(described))
    with closing(sqlite3.connect(tmp_path / "people.sqlite")) as database, database:
        database.execute('CREATE TABLE people (number INTEGER, "group", class TEXT)')
        rows = [(n, 1 if n == 7 else "ab"[n % 2], "xxy"[n % 3]) for n in range(60)]
        database.executemany("INSERT INTO people VALUES (?, ?, ?)", rows)
    data = {"data": {TARGET: tmp_path / "people.sqlite"}}
    planned, ran = world.plan(tmp_path, kind, **data), world.run(tmp_path, kind, **data)
    for warnings in (planned.warnings, ran.warnings):
        (warning,) = (text for text in warnings if "several types" in text)
        assert warning.startswith("`group` has cells of several types (59 texts, 1 number)")
    others = world.plan(tmp_path, kind, owner=USER, **data).warnings
    assert not any("59" in text for text in others)
    if is_charged(kind):
        assert not any("several types" in text for text in others)


class Ended(BaseException):
    """As if the process had died."""


def ending(*_: Any, **__: Any) -> None:
    raise Ended


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    "point",
    [
        "produce:after",
        "move:after",
        *(
            pytest.param(point, marks=pytest.mark.slow)
            for point in ("produce:before", "certify:before", "publish:before", "sync:after", "move:before")
        ),
    ],
)
@EACH
def test_a_failure_behind_the_charge_leaves_the_charge_and_no_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: Kind, point: str
) -> None:
    world.write(tmp_path, kind)
    with monkeypatch.context() as patch:
        end_at(kind, point, ending, patch.setattr)
        with pytest.raises(Ended):
            world.run(tmp_path, kind)
    known = registry(tmp_path)
    assert charges(tmp_path) == is_charged(kind)
    assert known.versions(output_of(kind)) == known.intents.pending() == ()
    assert not (tmp_path / "out").exists()
    assert leftovers(tmp_path) == []
    if is_charged(kind):
        assert known.full_owners(IRI(TARGET)) == {OWNER}, "what is charged is somebody's"
    assert world.run(tmp_path, kind).version is not None
    assert charges(tmp_path) == 2 * is_charged(kind)


def seen_at(kind: Kind, point: str, put: Callable[..., None], look: Callable[[], int]) -> list[int]:
    """What is looked up each time that a run comes to a point."""
    seen: list[int] = []
    end_at(kind, point, lambda: seen.append(look()), put)
    return seen


CHARGED = [kind for kind in EXAMPLES if is_charged(kind)]


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("kind", CHARGED)
def test_the_charge_comes_before_anything_random_and_is_drawn_for_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: Kind
) -> None:
    world.write(tmp_path, kind)
    look = partial(charges, tmp_path)
    drawn = seen_at(kind, "draw:before", monkeypatch.setattr, look)
    produced = seen_at(kind, "produce:before", monkeypatch.setattr, look)
    asked = seen_at(kind, "charge:before", monkeypatch.setattr, look)
    assert world.run(tmp_path, kind).version is not None
    assert (asked, drawn, produced) == ([0], [1], [1])


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("kind", CHARGED)
def test_what_does_not_fit_is_denied_and_draws_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: Kind
) -> None:
    world.write(tmp_path, kind)
    plan = world.plan(tmp_path, kind).plan
    assert plan is not None
    lost = capability_of(kind).loss(plan)
    assert lost is not None
    world.write(tmp_path, kind, budget=float(lost.epsilon) * 1.5)
    assert world.run(tmp_path, kind).version is not None
    seen = seen_at(kind, "produce:before", monkeypatch.setattr, partial(charges, tmp_path))
    outcome = world.run(tmp_path, kind, "again")
    assert not outcome.decision.is_permitted
    assert outcome.version is None
    assert "exceeds what is left of the budget" in outcome.decision.reasons[0].text
    assert (charges(tmp_path), seen) == (1, [])
    assert not (tmp_path / "again").exists()


@pytest.mark.usefixtures("quick")
@EACH
def test_a_file_that_changed_during_the_run_is_charged_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: Kind
) -> None:
    world.write(tmp_path, kind)
    data = tmp_path / "people.csv"

    def change() -> None:
        data.write_text(data.read_text() + data.read_text().splitlines()[-1] + "\n")

    end_at(kind, "exact:after", change, monkeypatch.setattr)
    with pytest.raises(DataError, match="changed during the run"):
        world.run(tmp_path, kind)
    assert charges(tmp_path) == 0
    assert not (tmp_path / "out").exists()
    assert leftovers(tmp_path) == []


def test_lineage_tells_masked_columns_beside_a_model() -> None:
    name = "contraceptive-coded.yaml"
    planned = smalti.plan(
        EXAMPLE_FILES / "policies" / name, data={SURVEY: EXAMPLE_FILES / "data" / "contraceptive.csv"}
    )
    assert planned.plan is not None
    origins = capability_of(planned.plan.kind).origins(planned.plan, planned.plan.write.output)
    masked = {each.column for each in planned.plan.masked}  # type: ignore[union-attr]
    assert masked
    assert {each.column for each in origins.columns if each.change is Change.MASKED} >= masked
