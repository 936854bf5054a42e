"""More attacks on prohibitions of columns that succeeded: each test states what should be so."""

import json
from contextlib import suppress
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest
from shell import smalti as cli

import smalti
from smalti.engine.registry.review import reviews
from smalti.errors import PolicyError
from smalti.policy.decide.decision import Effect
from smalti.vocab.terms import IRI

_at = Path(__file__).with_name("test_attacks_on_columns.py")
_spec = spec_from_file_location("attacks_on_prohibited_columns", _at)
assert _spec is not None
assert _spec.loader is not None
attacks = module_from_spec(_spec)
_spec.loader.exec_module(attacks)
ANN, HEADER, OUTPUT, OWNER, READ = attacks.ANN, attacks.HEADER, attacks.OUTPUT, attacks.OWNER, attacks.READ
RENAMED, ROWS, SCHEMA_NAME = attacks.RENAMED, attacks.ROWS, attacks.SCHEMA_NAME
STRANGER, TABLE, World, is_denied = attacks.STRANGER, attacks.TABLE, attacks.World, attacks.is_denied
permission, policy, prohibition = attacks.permission, attacks.policy, attacks.prohibition
OTHER, RESEARCH, STUDY = attacks.OTHER, attacks.RESEARCH, attacks.STUDY
says, limited = attacks.says, attacks.limited

HOLDING = "http://example.com/holding"
READ_HOLDING = {**READ, "uid": "http://example.com/rule/rh", "target": HOLDING}
MEMBER = f"<{TABLE}> a odrl:Asset ; odrl:partOf <{HOLDING}> ."


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


# --- Collections


@pytest.mark.parametrize("known_by", ["run", "vocabulary"])
def test_a_collection_is_not_read_with_a_members_declared_column(world: World, known_by: str) -> None:
    """Critical: the decision on the member is `limited`, and that on the collection is `permit`."""
    world.add(policy(READ, READ_HOLDING, uid="0"))
    says(world, MEMBER + (f" <{TABLE}> csvw:column <{SCHEMA_NAME}> ." if known_by == "vocabulary" else ""))
    if known_by == "run":
        world.describe(*RENAMED)
        assert world.run(policy(permission())).version is not None
    world.add(policy(prohibitions=(prohibition(SCHEMA_NAME),), uid="no"))
    assert world.decide().effect is Effect.LIMITED
    assert world.decide(HOLDING).effect is not Effect.PERMIT


def test_a_column_of_a_collection_is_not_read_where_a_member_forbids_it(world: World) -> None:
    """Critical: the collection is read without `C/Name`; asked for as `holding/Name`, it is permitted."""
    world.add(policy(READ, READ_HOLDING, uid="0"))
    says(world, MEMBER)
    world.add(policy(prohibitions=(prohibition(),), uid="no"))
    assert world.decide(HOLDING).effect is Effect.LIMITED
    assert world.decide(f"{HOLDING}/Name").effect is not Effect.PERMIT


def test_a_declared_column_of_a_collection_is_forbidden_in_its_members(world: World) -> None:
    """High: a vocabulary says that it is a column of the collection; the member is read with it."""
    world.add(policy(READ, READ_HOLDING, uid="0"))
    says(world, f"{MEMBER} <{HOLDING}> csvw:column <{SCHEMA_NAME}> .")
    world.add(policy(prohibitions=(prohibition(SCHEMA_NAME),), uid="no"))
    assert world.decide(HOLDING).effect is Effect.LIMITED
    assert world.decide().effect is not Effect.PERMIT


# --- Spellings


@pytest.mark.parametrize(
    ("table", "spelled"),
    [
        ("http://example.com/Größe", "http://example.com/Gr%C3%B6%C3%9Fe"),
        ("http://example.com/x:1", "http://example.com/x%3A1"),
    ],
)
def test_a_stranger_takes_no_column_of_a_table_in_another_spelling(
    world: World, table: str, spelled: str
) -> None:
    """Critical: a stranger's policy changes a decision about an owner's prohibited column to permit."""
    no = prohibition(f"{table}/Name")
    world.add(policy({**READ, "target": table}, prohibitions=(no,), uid="0"))
    assert world.decide(f"{table}/Name").effect is Effect.DENY
    theirs = {**READ, "uid": "urn:x:s", "target": f"{spelled}/Name"}
    try:
        world.add(policy(theirs, uid="s"), STRANGER)
    except smalti.SmaltiError:
        return
    assert world.decide(f"{spelled}/Name", STRANGER).effect is not Effect.PERMIT


def test_a_column_of_a_table_with_a_reserved_character_is_forbidden_in_each_spelling(world: World) -> None:
    """Critical: the table is read without it, and the column itself is permitted."""
    table, spelled = "http://example.com/x:1", "http://example.com/x%3A1"
    no = prohibition(f"{spelled}/Name")
    world.add(policy({**READ, "target": table}, prohibitions=(no,), uid="0"))
    assert world.decide(table).effect is Effect.LIMITED
    assert world.decide(f"{table}/Name").effect is not Effect.PERMIT


# --- Several owners


def test_a_co_owners_vocabulary_keeps_no_prohibition_from_a_renamed_column(world: World) -> None:
    """Critical: as in round two, where the owner names the column as a run recorded it."""
    world.describe(*RENAMED)
    world.add(policy({**READ, "assignee": STRANGER}, uid="0"))
    assert world.run(policy(permission(uid="p0"), uid="p0")).version is not None
    world.registry.add_owner(IRI(TABLE), IRI(OTHER), by=IRI(OWNER))
    says(
        world, f"<{STUDY}> a dpv:Purpose ; skos:broader <{RESEARCH}> . <{RESEARCH}> a dpv:Purpose .", OTHER
    )
    no = prohibition(SCHEMA_NAME, **limited("isNoneOf", RESEARCH))
    world.add(policy(prohibitions=(no,), uid="no"))
    reading = {**READ, "uid": "urn:x:r2", **limited("isAnyOf", RESEARCH)}
    world.add(policy(reading, uid="r2"), OTHER)
    found = smalti.decide(party=ANN, action="read", target=TABLE, purpose=STUDY, registry=world.registry)
    assert found.effect is not Effect.PERMIT


# --- Reviews


def test_an_output_is_to_be_reviewed_once_its_table_is_prohibited(world: World) -> None:
    """High: whoever prohibits one column is told of what was made from it; of all columns, of nothing."""
    world.add(policy(READ, uid="0"))
    assert world.run(policy(permission(released=["Job"]))).version is not None
    world.add(policy(prohibitions=(prohibition(TABLE),), uid="no"))
    assert world.decide(OUTPUT).effect is Effect.DENY
    assert reviews(world.registry)


def test_a_co_owners_vocabulary_keeps_no_output_from_review(world: World) -> None:
    """High: the implicit rule denies, by each owner's view; reviews look at one view of all."""
    world.add(policy(READ, uid="0"))
    world.registry.add_owner(IRI(TABLE), IRI(OTHER), by=IRI(OWNER))
    says(
        world, f"<{STUDY}> a dpv:Purpose ; skos:broader <{RESEARCH}> . <{RESEARCH}> a dpv:Purpose .", OTHER
    )
    made = world.run(policy(permission(released=["Job"])), owner=OTHER, purpose=STUDY)
    assert made.version is not None
    world.add(policy(prohibitions=(prohibition("Job", **limited("isNoneOf", RESEARCH)),), uid="no"))
    found = smalti.decide(party=ANN, action="read", target=OUTPUT, purpose=STUDY, registry=world.registry)
    assert found.effect is Effect.DENY
    assert reviews(world.registry)


# --- What strangers bring about


@pytest.mark.parametrize("is_squatted", [False, True])
def test_a_strangers_output_frees_no_column_of_an_owners_output(world: World, is_squatted: bool) -> None:
    """Critical: the first case holds; a stranger's output of that IRI turns the denial into a permit."""
    world.add(policy(READ, uid="0"))
    says(world, f"<{TABLE}> csvw:column <{SCHEMA_NAME}> .")
    assert world.run(policy(permission(released=["Name"]))).version is not None
    if is_squatted:
        theirs = "http://example.com/strangers"
        own = permission(theirs, "s", quasi=[f"{theirs}/Age", f"{theirs}/ZIP"])
        data = world.folder / "s.csv"
        data.write_text("Age,ZIP\n1,2\n3,4\n")
        world.run(
            policy({**own, "output": SCHEMA_NAME}, uid="s"),
            data={theirs: data},
            party=STRANGER,
            owner=STRANGER,
        )
    world.add(policy(prohibitions=(prohibition(SCHEMA_NAME),), uid="no"))
    assert world.decide(OUTPUT).effect is not Effect.PERMIT
    assert reviews(world.registry)


@pytest.mark.parametrize("is_squatted", [False, True])
def test_a_strangers_table_in_another_spelling_lets_no_run_go_on(world: World, is_squatted: bool) -> None:
    """Critical: the first case holds; a stranger's table of that IRI lets the owner's run publish."""
    table, spelled = "http://example.com/Größe", "http://example.com/Gr%C3%B6%C3%9Fe"
    world.add(policy({**READ, "target": table}, uid="0"))
    if is_squatted:
        theirs = f"{spelled}/Nome"
        own = permission(theirs, "s", quasi=[f"{theirs}/Age", f"{theirs}/ZIP"])
        data = world.folder / "s.csv"
        data.write_text("Age,ZIP\n1,2\n3,4\n")
        try:
            asked = {"data": {theirs: data}, "party": STRANGER, "owner": STRANGER}
            world.run(policy({**own, "output": "http://example.com/theirs"}, uid="s"), **asked)
        except smalti.SmaltiError:
            return
    columns = {"released": [f"{table}/Name"], "quasi": [f"{table}/Age", f"{table}/ZIP"]}
    releasing = policy(permission(table, **columns), prohibitions=(prohibition(f"{table}/Nome"),))
    assert world.run(releasing, data={table: world.data}).version is None


# --- Columns that are parts of columns, and runs on collections


def test_a_column_is_not_published_whose_part_is_forbidden(world: World) -> None:
    """Critical: to read `Job` is denied, since a part of it is forbidden; a run publishes it."""
    world.add(policy(READ, uid="0"))
    says(world, f"<{TABLE}/Name> a odrl:Asset ; odrl:partOf <{TABLE}/Job> .")
    world.add(policy(prohibitions=(prohibition(),), uid="no"))
    assert world.decide(f"{TABLE}/Job").effect is Effect.DENY
    assert world.run(policy(permission(released=["Job"]))).version is None


def test_a_run_on_a_collection_publishes_no_members_declared_column(world: World) -> None:
    """Critical: earlier runs recorded which column of the member is meant; the same bytes are bound."""
    world.describe(*RENAMED)
    world.add(policy(READ, READ_HOLDING, uid="0"))
    says(world, MEMBER)
    assert world.run(policy(permission())).version is not None
    (world.folder / "c.csv-metadata.json").unlink()
    world.add(policy(prohibitions=(prohibition(SCHEMA_NAME),), uid="no"))
    columns = {"released": [f"{HOLDING}/Name"], "quasi": [f"{HOLDING}/Age", f"{HOLDING}/ZIP"]}
    releasing = {**permission(HOLDING, "h", **columns), "output": "http://example.com/second"}
    assert world.run(policy(releasing, uid="h"), data={HOLDING: world.data}).version is None


# --- Names that IRIs cannot have


@pytest.mark.parametrize(("forbidden", "asked"), [("a[1]", "a%5B1%5D"), ("100%", "100%25")])
def test_a_column_is_forbidden_as_its_header_writes_it(world: World, forbidden: str, asked: str) -> None:
    """Critical: the policy is taken, runs heed it, and to read the column is permitted."""
    world.data.write_text(ROWS.replace("Name", forbidden))
    try:
        world.add(policy(READ, prohibitions=(prohibition(f"{TABLE}/{forbidden}"),), uid="0"))
    except smalti.SmaltiError:
        return
    assert is_denied(world.run(policy(permission(released=[f"{TABLE}/{asked}"]))))
    assert world.decide(f"{TABLE}/{asked}").effect is not Effect.PERMIT


@pytest.mark.parametrize(
    ("header", "forbidden"),
    [("Why?", f"{TABLE}/Why?"), ("Item#", f"{TABLE}/Item#"), ("Name", f"{TABLE}#Name")],
)
def test_a_prohibition_below_a_table_that_names_no_column_is_told(
    world: World, header: str, forbidden: str
) -> None:
    """High: CSVW's own default is `#Name`; `check` says nothing, and the run publishes."""
    world.data.write_text(ROWS.replace("Name", header))
    released = f"{TABLE}/{header.replace('?', '%3F').replace('#', '%23')}"
    document = policy(permission(released=[released]), prohibitions=(prohibition(forbidden),))
    place = world.folder / "checked.jsonld"
    place.write_text(json.dumps(document))
    findings = smalti.check(place)
    assert findings or world.run(document).version is None


# --- Descriptions, and columns with IRIs of their own


SURVEY, DATA, POLICIES = attacks.worlds.SURVEY, attacks.worlds.DATA, attacks.worlds.POLICIES


class Survey:
    """Statistics of a survey, by its owner's stored policy."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.registry = attacks.worlds.Registry.open(folder / "r.sqlite")
        self.document = json.loads((POLICIES / "contraceptive-statistics.jsonld").read_text())
        (rule,) = self.document["permission"]
        rule["constraint"][0]["rightOperand"] = 9
        self.party = rule["assignee"]
        self.data = folder / "c.csv"
        self.data.write_bytes(DATA.read_bytes())
        self._runs = 0
        self.add(self.document)

    def add(self, document: dict[str, Any]) -> None:
        self.registry.add_policy(json.dumps(document).encode(), "policy.jsonld", IRI(OWNER))

    def run(self, owner: str | None = None) -> Any:
        self._runs += 1
        place = self.folder / "policy.jsonld"
        place.write_text(json.dumps(self.document))
        return smalti.run(
            place, data={SURVEY: self.data}, party=self.party, owner=owner, purpose="statistical",
            registry=self.registry, query=POLICIES / "contraceptive.query.json",
            out=self.folder / f"out{self._runs}",
        )  # fmt: skip


@pytest.mark.parametrize("is_described", [False, True])
def test_a_description_of_who_owns_nothing_finds_no_prohibited_column(
    tmp_path: Path, is_described: bool
) -> None:
    """Critical: the first case holds; the party's own description turns the denial into a release."""
    survey = Survey(tmp_path)
    assert survey.run(OWNER).version is not None
    survey.add(policy(prohibitions=(prohibition(f"{SURVEY}/agee"),), uid="no"))
    if is_described:
        columns = [{"name": "husband_occupation", "propertyUrl": f"{SURVEY}/agee"}]
        said = {
            "@context": "http://www.w3.org/ns/csvw", "url": "c.csv", "tableSchema": {"columns": columns},
        }  # fmt: skip
        (tmp_path / "c.csv-metadata.json").write_text(json.dumps(said))
    try:
        outcome = survey.run()
    except smalti.SmaltiError:
        return
    assert outcome.version is None


@pytest.mark.parametrize("forbidden", ["Name", TABLE])
def test_a_column_is_not_read_by_the_iri_that_a_run_recorded(world: World, forbidden: str) -> None:
    """Critical: `C/Name` is forbidden; by the IRI that runs recorded for it, it is permitted."""
    world.describe(*RENAMED)
    own = {**READ, "uid": "http://example.com/rule/own", "target": SCHEMA_NAME}
    world.add(policy(READ, own, uid="0"))
    assert world.run(policy(permission())).version is not None
    world.add(policy(prohibitions=(prohibition(forbidden),), uid="no"))
    assert world.decide(f"{TABLE}/Name").effect is Effect.DENY
    assert world.decide(SCHEMA_NAME).effect is not Effect.PERMIT


def test_a_column_of_a_table_is_not_read_where_a_part_of_the_table_forbids_it(world: World) -> None:
    """Critical: `D partOf C`, `D/Name` is forbidden: `C` is read without it, and `C/Name` with it."""
    part = "http://example.com/D"
    world.add(policy(READ, {**READ, "uid": "urn:x:d", "target": part}, uid="0"))
    says(world, f"<{part}> a odrl:Asset ; odrl:partOf <{TABLE}> .")
    world.add(policy(prohibitions=(prohibition(f"{part}/Name"),), uid="no"))
    assert world.decide().effect is Effect.LIMITED
    assert world.decide(f"{TABLE}/Name").effect is not Effect.PERMIT


# --- What is told beforehand


def test_check_tells_that_rows_are_chosen_by_a_prohibited_column(world: World) -> None:
    """High: it is denied wherever both apply, and `check` says nothing."""
    limit = {"leftOperand": f"{TABLE}/Name", "operator": "eq", "rightOperand": "Ann"}
    document = policy({**permission(), "constraint": [limit]}, prohibitions=(prohibition(),))
    place = world.folder / "checked.jsonld"
    place.write_text(json.dumps(document))
    assert is_denied(world.run(document))
    assert "P621" in {one.code for one in smalti.check(place)}


# --- What ordinary owners meet


def test_rows_are_chosen_in_a_table_whose_iri_has_a_reserved_character(world: World) -> None:
    """Medium: `is_column_of` spells the table's last part, and not the same part of the column's IRI."""
    table = "http://example.com/x:1"
    limit = {"leftOperand": f"{table}/Age", "operator": "gt", "rightOperand": 18}
    world.add(policy({**READ, "target": table, "constraint": [limit]}, uid="0"))
    assert world.decide(table).effect is Effect.LIMITED


# --- Poisoned records


def links_columns(world: World, *names: str) -> None:
    """A stranger records the owner's columns as their own, and calls the table a column of theirs."""
    theirs = "http://example.com/theirs"
    world.add(policy({**READ, "uid": "urn:x:s", "target": theirs}, uid="s"), STRANGER)
    data = world.folder / "s.csv"
    data.write_text("x,y,z\n1,2,9\n3,4,8\n")
    for name in names:
        columns = [{"name": "x", "propertyUrl": f"{TABLE}/{name}"}, {"name": "y"}, {"name": "z"}]
        said = {
            "@context": "http://www.w3.org/ns/csvw", "url": "s.csv", "tableSchema": {"columns": columns},
        }  # fmt: skip
        (world.folder / "s.csv-metadata.json").write_text(json.dumps(said))
        own = permission(theirs, f"s{name}", quasi=[f"{theirs}/y", f"{theirs}/z"])
        own["output"] = f"{theirs}-{name}"
        asked = {"data": {theirs: data}, "party": STRANGER, "owner": STRANGER}
        world.run(policy(own, uid=f"s{name}"), **asked)
    says(world, f"<{theirs}> csvw:column <{TABLE}> .", STRANGER)


def training() -> dict[str, Any]:
    """To train on all columns but `Name`."""
    document: dict[str, Any] = json.loads(
        (POLICIES / "contraceptive-model-without-noise.jsonld").read_text()
    )
    (rule,) = document["permission"]
    for word in ("assignee", "purpose", "duty"):
        del rule[word]
    rule |= {"target": TABLE, "output": "http://example.com/model"}
    words = rule["action"][0]["refinement"]
    words[1]["rightOperand"] = {"@id": f"{TABLE}/Job"}
    dropped = [{"@id": f"{TABLE}/Name"}]
    words.append({"leftOperand": "mosaicrown:identifier", "operator": "isAllOf", "rightOperand": dropped})
    return document


@pytest.mark.parametrize("is_poisoned", [False, True])
def test_a_stranger_lets_no_model_learn_from_a_prohibited_column(world: World, is_poisoned: bool) -> None:
    """Critical: the first case holds; then `Age` counts as dropped, and the training is granted."""
    world.add(training())
    world.add(policy(prohibitions=(prohibition("Age"),), uid="no"))
    if is_poisoned:
        try:
            links_columns(world, "Name", "Age")
        except smalti.SmaltiError:
            return
    found = smalti.decide(
        party=ANN, action="smalti:train", target=TABLE, registry=world.registry, understands_limits=True
    )
    assert not found.is_permitted


def test_a_stranger_links_no_columns_of_somebody_elses_table(world: World) -> None:
    """High: one column is prohibited; by a stranger's records all are, and every use is denied."""
    world.add(policy(READ, prohibitions=(prohibition(),), uid="0"))
    before = world.decide().grants[0].withheld
    assert world.decide(f"{TABLE}/Age").effect is Effect.PERMIT
    try:
        links_columns(world, "Name", "Age", "Job")
    except smalti.SmaltiError:
        return
    assert world.decide().grants[0].withheld == before
    assert world.decide(f"{TABLE}/Age").effect is Effect.PERMIT
    assert world.run(policy(permission(released=["Job"]))).version is not None


def test_a_release_is_not_read_where_a_prohibition_names_no_column_that_is_known(tmp_path: Path) -> None:
    """A run is denied; what was made before is not read, and is marked."""
    survey = Survey(tmp_path)
    made = survey.run(OWNER).version
    survey.add(policy({**READ, "target": SURVEY}, uid="r"))
    survey.add(policy(prohibitions=(prohibition(f"{SURVEY}/agee"),), uid="no"))
    assert survey.run(OWNER).version is None
    found = smalti.decide(
        party=survey.party, action="read", target=made.target, purpose="statistical",
        registry=survey.registry,
    )  # fmt: skip
    assert found.effect is not Effect.PERMIT
    assert reviews(survey.registry)


@pytest.mark.parametrize(
    ("is_described", "released", "forbidden"), [(True, SCHEMA_NAME, "Name"), (False, "Name", "Nome")]
)
def test_tests_of_policies_have_no_plan_where_a_run_is_denied(
    world: World, is_described: bool, released: str, forbidden: str
) -> None:
    """A test of a policy says what a run on the same data would."""
    from smalti.engine.backends.local import LocalBackend  # noqa: PLC0415
    from smalti.engine.run.case_files import read_cases  # noqa: PLC0415
    from smalti.engine.run.case_runs import run_cases  # noqa: PLC0415

    if is_described:
        world.describe(*RENAMED)
    document = policy(permission(released=[released]), prohibitions=(prohibition(forbidden),))
    (world.folder / "p.jsonld").write_text(json.dumps(document))
    case = {
        "name": "x", "request": {"party": ANN, "action": "anonymize", "target": TABLE},
        "expect": {"effect": "limited", "plan": {"data": "c.csv", "kept": ["Name"]}},
    }  # fmt: skip
    place = world.folder / "p.test.json"
    place.write_text(json.dumps({"policies": ["p.jsonld"], "tests": [case]}))
    (found,) = run_cases(read_cases(place), LocalBackend())
    assert is_denied(world.run(document))
    assert found.failures


def test_check_tells_of_columns_that_another_policy_forbids(world: World) -> None:
    documents = {
        "a": policy(permission(released=["Name"])),
        "forbidding": policy(prohibitions=(prohibition("Name"),), uid="no"),
        "b": policy(prohibitions=(prohibition("Salary"),), uid="no"),
    }
    for name, document in documents.items():
        (world.folder / f"{name}.jsonld").write_text(json.dumps(document))
    alone, other, both = (
        cli("check", "a.jsonld", *more, cwd=world.folder).out
        for more in ((), ("b.jsonld",), ("forbidding.jsonld",))
    )
    assert [text.count("P621") for text in (alone, other, both)] == [0, 0, 1]
    assert "forbidding.jsonld:1:" in " ".join(both.split()), "the place of the other rule"


@pytest.mark.parametrize("is_prohibition_first", [True, False])
def test_adding_a_policy_tells_of_columns_that_another_one_forbids(
    world: World, is_prohibition_first: bool
) -> None:
    """The IRI that it forbids is that of a column which a run has read."""
    world.describe(*RENAMED)
    assert world.run(policy(permission(uid="p0"), uid="0")).version is not None
    forbidding = policy(prohibitions=(prohibition(SCHEMA_NAME),), uid="no")
    documents = [policy(permission(released=["Name"])), forbidding]
    printed = []
    for document in documents[::-1] if is_prohibition_first else documents:
        (world.folder / "added.jsonld").write_text(json.dumps(document))
        ran = cli(
            "policy", "add", "added.jsonld", "--as", OWNER, "--registry", "r.sqlite", cwd=world.folder
        )
        assert ran.code == 0
        printed.append("needs" in ran.out and "it is denied" in " ".join(ran.out.split()))
    assert printed == [False, True]


def test_a_dry_run_ends_as_the_run_does(world: World) -> None:
    document = policy(permission(), prohibitions=(prohibition("Nome"),))
    place = world.folder / "p.jsonld"
    place.write_text(json.dumps(document))
    words = (
        "run",
        place,
        "--out",
        "x",
        "--data",
        f"{TABLE}=c.csv",
        "--as",
        OWNER,
        "--registry",
        "r.sqlite",
    )
    dry, real = cli(*words, "--dry-run", cwd=world.folder), cli(*words, cwd=world.folder)
    assert (dry.code, real.code) == (1, 1)
    assert "no such column" in dry.err


def test_a_plan_tells_of_no_prohibition_that_does_not_hold(world: World) -> None:
    document = {**policy(permission(), prohibitions=(prohibition("Name"),)), "conflict": "perm"}
    place = world.folder / "p.jsonld"
    place.write_text(json.dumps(document))
    planned = smalti.plan(place, data={TABLE: world.data})
    assert not any("a run is denied" in one for one in planned.warnings)


def test_no_column_is_read_where_a_prohibition_names_none_that_is_known(world: World) -> None:
    """Which one is meant, nobody knows; of the table, the decision says what to withhold."""
    world.add(policy(READ, uid="0"))
    assert world.run(policy(permission())).version is not None
    assert world.decide(f"{TABLE}/Name").effect is Effect.PERMIT
    world.add(policy(prohibitions=(prohibition("Nome"),), uid="no"))
    assert world.decide().effect is Effect.LIMITED
    found = world.decide(f"{TABLE}/Name")
    assert found.effect is Effect.DENY
    assert f"{TABLE}/Nome" in found.reasons[0].text


def test_a_prohibition_on_a_known_column_leaves_the_others_readable(world: World) -> None:
    world.add(policy(READ, uid="0"))
    assert world.run(policy(permission())).version is not None
    world.add(policy(prohibitions=(prohibition("Name"),), uid="no"))
    assert world.decide(f"{TABLE}/Name").effect is Effect.DENY
    assert world.decide(f"{TABLE}/Age").effect is Effect.PERMIT


@pytest.mark.parametrize("name", ["name", "Name%20", "Nome"])
def test_no_column_is_read_that_no_run_found_beside_a_prohibited_one(world: World, name: str) -> None:
    world.add(policy(READ, uid="0"))
    assert world.run(policy(permission())).version is not None
    assert world.decide(f"{TABLE}/{name}").effect is Effect.PERMIT, "the whole table may be read"
    world.add(policy(prohibitions=(prohibition("Name"),), uid="no"))
    assert world.decide(f"{TABLE}/{name}").effect is Effect.DENY


@pytest.mark.parametrize(
    "iri", ["http://example.com:80/C/Name", "http://example.com/./C/Name", "http://example.com/D/../C/Name"]
)
def test_iris_that_only_look_like_others_are_refused(world: World, iri: str) -> None:
    with pytest.raises(PolicyError, match="leave it out"):
        world.add(policy(prohibitions=(prohibition(iri),), uid="no"))


def test_a_release_stays_readable_where_a_column_is_prohibited_that_it_did_not_read(tmp_path: Path) -> None:
    """The columns that the data had are recorded: the prohibited one is known, and none of the release."""
    survey = Survey(tmp_path)
    made = survey.run(OWNER).version
    survey.add(policy({**READ, "target": SURVEY}, uid="r"))
    survey.add(policy(prohibitions=(prohibition(f"{SURVEY}/husband_occupation"),), uid="no"))
    found = smalti.decide(
        party=survey.party, action="read", target=made.target, purpose="statistical",
        registry=survey.registry,
    )  # fmt: skip
    assert found.effect is Effect.PERMIT
    assert reviews(survey.registry) == ()


# --- The table, or a column's own IRI, in another spelling


PLAIN, SPELLED = "http://example.com/x:1", "http://example.com/x%3A1"


def anonymizing(table: str, uid: str = "1", **more: Any) -> Any:
    columns = {"quasi": [f"{table}/Age", f"{table}/ZIP"]} | more
    return policy({**permission(table, uid, **columns), "output": f"http://example.com/out/{uid}"}, uid=uid)


def test_a_table_in_another_spelling_has_the_columns_that_a_run_recorded(world: World) -> None:
    """Nothing is permitted under the other one, and what is run there is about the same table."""
    world.describe(*RENAMED)
    world.add(policy({**READ, "target": PLAIN}, uid="0"))
    releasing = anonymizing(PLAIN, "2", released=[SCHEMA_NAME])
    assert world.run(releasing, data={PLAIN: world.data}).version is not None
    world.add(policy(prohibitions=(prohibition(SCHEMA_NAME),), uid="no"))
    targets = (PLAIN, SPELLED, f"{PLAIN}/Name", f"{SPELLED}/Name", "http://example.com/out/2")
    assert Effect.PERMIT not in {world.decide(target).effect for target in targets}
    assert "http://example.com/out/2" in {one.version.target for one in reviews(world.registry)}
    again = anonymizing(SPELLED, "3", released=[f"{SPELLED}/Name"])
    assert world.run(again, data={SPELLED: world.data}).version is None
    assert SPELLED not in {asset.iri for asset in world.registry.assets()}


UNKNOWN = {
    "leftOperand": "https://w3id.org/catenax/policy/Membership", "operator": "eq", "rightOperand": "1",
}  # fmt: skip


def test_strangers_make_no_column_of_an_operand_by_another_spelling(world: World) -> None:
    world.add(policy({**READ, "target": PLAIN, "constraint": [UNKNOWN]}, uid="0"))
    assert world.run(anonymizing(PLAIN), data={PLAIN: world.data}).version is not None
    assert not world.decide(PLAIN).grants
    (world.folder / "own.csv").write_text(ROWS.replace("Ann", "Eve"))
    described = {
        "@context": "http://www.w3.org/ns/csvw", "url": "own.csv",
        "tableSchema": {"columns": [{"name": "Name", "propertyUrl": UNKNOWN["leftOperand"]}]},
    }  # fmt: skip
    (world.folder / "own.csv-metadata.json").write_text(json.dumps(described))
    with suppress(smalti.SmaltiError):
        way = anonymizing(SPELLED, "2")
        world.run(way, data={SPELLED: world.folder / "own.csv"}, owner=STRANGER, party=STRANGER)
    assert not world.decide(PLAIN).grants


def test_strangers_make_no_column_of_an_operand_by_columns_that_a_release_does_not_read(
    tmp_path: Path,
) -> None:
    survey = Survey(tmp_path)
    assert survey.run(OWNER).version is not None
    survey.add(policy({**READ, "target": SURVEY, "constraint": [UNKNOWN]}, uid="read"))
    column = {"name": "husband_occupation", "propertyUrl": UNKNOWN["leftOperand"]}
    described = {
        "@context": "http://www.w3.org/ns/csvw", "url": "c.csv", "tableSchema": {"columns": [column]},
    }  # fmt: skip
    (tmp_path / "c.csv-metadata.json").write_text(json.dumps(described))
    with suppress(smalti.SmaltiError):
        survey.run()
    found = smalti.decide(party=survey.party, action="read", target=SURVEY, registry=survey.registry)
    assert not found.grants


@pytest.mark.parametrize("asked", ["http://schema.example/gr%C3%B6%C3%9Fe", "http://schema.example/größe"])
def test_an_iri_that_a_run_recorded_is_the_columns_in_each_spelling(world: World, asked: str) -> None:
    own = ("http://schema.example/größe", "http://schema.example/gr%C3%B6%C3%9Fe")
    world.describe({"name": "Name", "propertyUrl": own[0]}, *({"name": one} for one in HEADER[1:]))
    world.add(policy(READ, {**READ, "uid": "urn:x:0", "target": own[0]}, uid="0"))
    assert world.run(policy(permission())).version is not None
    world.add(policy(prohibitions=(prohibition(),), uid="no"))
    assert world.decide(asked).effect is not Effect.PERMIT


# --- Owners of a table together, and what no transformation protects


def test_a_co_owner_does_not_bind_the_data_under_an_iri_without_prohibitions(world: World) -> None:
    world.add(policy(READ, uid="0"))
    world.registry.add_owner(IRI(TABLE), IRI(OTHER), by=IRI(OWNER))
    assert world.run(policy(permission(uid="p0"), uid="p0")).version is not None
    world.add(policy(prohibitions=(prohibition(),), uid="no"))
    elsewhere = "http://example.com/elsewhere"
    with pytest.raises(smalti.SmaltiError, match="another party owns or co-owns"):
        world.run(anonymizing(elsewhere), data={elsewhere: world.data}, owner=OTHER)


def test_a_co_owner_does_not_say_which_column_is_prohibited(world: World) -> None:
    """None is called `Nome`, but by the description of who did not prohibit it."""
    world.add(policy(READ, uid="0"))
    world.registry.add_owner(IRI(TABLE), IRI(OTHER), by=IRI(OWNER))
    world.add(policy(prohibitions=(prohibition("Nome"),), uid="no"))
    rest = ({"name": one} for one in HEADER[:3])
    world.describe(*rest, {"name": "Job", "propertyUrl": f"{TABLE}/Nome"})
    assert world.run(policy(permission(released=["Name"])), owner=OTHER).version is None


@pytest.mark.parametrize("bound", [2, 5])
def test_a_prohibition_on_weak_transformations_holds_for_what_is_not_transformed(
    world: World, bound: int
) -> None:
    """The table's k says nothing of a column that is released as it is."""
    weak = {"leftOperand": "mosaicrown:k", "operator": "lt", "rightOperand": bound}
    anonymizing = {"rdf:value": {"@id": "odrl:anonymize"}, "refinement": [weak]}
    forbidding = {**prohibition(), "action": [anonymizing]}
    assert is_denied(world.run(policy(permission(released=["Name"]), prohibitions=(forbidding,))))


def test_it_spares_what_is_transformed_enough(world: World) -> None:
    weak = {"leftOperand": "mosaicrown:k", "operator": "lt", "rightOperand": 2}
    forbidding = {
        **prohibition("Age"),
        "action": [{"rdf:value": {"@id": "odrl:anonymize"}, "refinement": [weak]}],
    }
    assert world.run(policy(permission(), prohibitions=(forbidding,))).version is not None
