"""Where nothing tells which column a prohibition means: said by one owner of several, or limited."""

import json
from contextlib import suppress
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest
from shell import nobody_has
from shell import smalti as cli
from spellings import refused_or_held

import smalti
from smalti.engine.registry.column_conflicts import column_conflicts
from smalti.engine.registry.review import reviews
from smalti.errors import DataError
from smalti.policy.decide.decision import Effect
from smalti.vocab.terms import IRI

_at = Path(__file__).with_name("test_more_attacks_on_columns.py")
_spec = spec_from_file_location("attacks_for_doubtful_columns", _at)
assert _spec is not None
assert _spec.loader is not None
more = module_from_spec(_spec)
_spec.loader.exec_module(more)
attacks = more.attacks
ANN, OUTPUT, OWNER, READ = attacks.ANN, attacks.OUTPUT, attacks.OWNER, attacks.READ
ROWS, SCHEMA_NAME, STRANGER, TABLE = attacks.ROWS, attacks.SCHEMA_NAME, attacks.STRANGER, attacks.TABLE
World, OTHER, says, is_denied = attacks.World, attacks.OTHER, attacks.says, attacks.is_denied
permission, policy, prohibition = attacks.permission, attacks.policy, attacks.prohibition
HOLDING, READ_HOLDING, MEMBER = more.HOLDING, more.READ_HOLDING, more.MEMBER
BOB = "http://example.com/party/bob"
NAME, JOB = f"{TABLE}/Name", f"{TABLE}/Job"


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.fixture
def shared(world: World) -> World:
    """The table has two owners, and may be read."""
    world.add(policy(READ, uid="0"))
    world.registry.add_owner(IRI(TABLE), IRI(OTHER), by=IRI(OWNER))
    return world


def way(uid: str, table: str = TABLE, output: str = "", **columns: list[str]) -> Any:
    columns = {"quasi": [f"{table}/Age", f"{table}/ZIP"], **columns}
    output = output or f"{OUTPUT}{uid}"
    return policy({**permission(table, uid, **columns), "output": output}, uid=uid)


def describe(world: World, name: str, iri: str) -> None:
    """A description gives an IRI to the column of that name."""
    columns = [{"name": one} for one in ROWS.splitlines()[0].split(",")]
    world.describe(*({**one, "propertyUrl": iri} if one["name"] == name else one for one in columns))


def runs(world: World, uid: str, **asked: Any) -> bool:
    columns = asked.pop("columns", {})
    return world.run(way(uid, **columns), **asked).version is not None


# --- One of several owners


def test_a_co_owners_recorded_description_does_not_say_what_another_owner_prohibits(shared: World) -> None:
    describe(shared, "Name", SCHEMA_NAME)
    assert runs(shared, "first", columns={"released": [SCHEMA_NAME]})
    describe(shared, "Job", SCHEMA_NAME)
    assert runs(shared, "second", owner=OTHER, party=BOB)
    shared.add(policy(prohibitions=(prohibition(SCHEMA_NAME),), uid="no"))
    assert shared.decide(NAME).effect is Effect.DENY
    assert shared.decide(f"{OUTPUT}first").effect is Effect.DENY
    assert not runs(shared, "last", columns={"released": [NAME]}, owner=OTHER)
    assert {one.version.target for one in reviews(shared.registry)} == {f"{OUTPUT}first", f"{OUTPUT}second"}


@pytest.mark.parametrize("is_shared", [False, True])
def test_only_the_one_owners_record_says_which_column_an_iri_of_its_own_names(
    world: World, is_shared: bool
) -> None:
    """It is `Job`; `Name` is not prohibited, if the owner is believed."""
    world.add(policy(READ, uid="0"))
    describe(world, "Job", SCHEMA_NAME)
    assert runs(world, "first", columns={"released": [NAME]})
    if is_shared:
        world.registry.add_owner(IRI(TABLE), IRI(OTHER), by=IRI(OWNER))
    world.add(policy(prohibitions=(prohibition(SCHEMA_NAME),), uid="no"), OTHER if is_shared else OWNER)
    expected = Effect.DENY if is_shared else Effect.PERMIT
    assert world.decide(NAME).effect is expected
    assert world.decide(f"{OUTPUT}first").effect is expected
    assert runs(world, "last", columns={"released": [NAME]}, party=BOB) is not is_shared


def test_an_owner_of_before_does_not_say_it_either(shared: World) -> None:
    describe(shared, "Job", SCHEMA_NAME)
    assert runs(shared, "first", owner=OTHER, columns={"released": [NAME]})
    shared.registry.remove_owner(IRI(TABLE), IRI(OTHER), by=IRI(OWNER))
    shared.add(policy(prohibitions=(prohibition(SCHEMA_NAME),), uid="no"))
    assert shared.decide(NAME).effect is Effect.DENY
    assert shared.decide(f"{OUTPUT}first").effect is Effect.DENY


def test_a_co_owners_output_makes_no_table_of_a_misspelt_column(shared: World) -> None:
    assert runs(shared, "first", columns={"released": [JOB]})
    assert runs(shared, "second", columns={"output": f"{TABLE}/Jobb"}, owner=OTHER)
    shared.add(policy(prohibitions=(prohibition("Jobb"),), uid="no"))
    assert shared.decide(JOB).effect is Effect.DENY
    assert shared.decide(f"{OUTPUT}first").effect is Effect.DENY
    assert not runs(shared, "last", columns={"released": [JOB]}, owner=OTHER)


def test_a_co_owners_other_data_does_not_have_the_column_that_is_prohibited(shared: World) -> None:
    """One table of that IRI has it; the other, in which nothing tells what is meant, has been read, too."""
    assert runs(shared, "first", columns={"released": [JOB]})
    other = shared.folder / "other.csv"
    other.write_text(ROWS.replace("Job", "Jobb"))
    nobody_has(shared.registry)
    assert runs(shared, "second", owner=OTHER, data={TABLE: other})
    shared.add(policy(prohibitions=(prohibition("Jobb"),), uid="no"))
    assert shared.decide(JOB).effect is Effect.DENY


def test_a_co_owners_description_makes_no_operand_a_column(shared: World) -> None:
    operand = "https://example.org/policy/Membership"
    limit = {"leftOperand": operand, "operator": "eq", "rightOperand": "active"}
    describe(shared, "Job", operand)
    assert runs(shared, "first", owner=OTHER, party=BOB)
    shared.add(policy({**READ, "uid": "urn:x:r", "target": TABLE, "constraint": [limit]}, uid="r"))
    grants = shared.decide().grants
    assert [grant.permission.uid for grant in grants] == [READ["uid"]]


# --- A prohibition that only some parameters meet


WEAK = {
    "action": {
        "rdf:value": {"@id": "odrl:anonymize"},
        "refinement": [{"leftOperand": "mosaicrown:k", "operator": "gt", "rightOperand": 5}],
    }
}
BY_JOB = {"constraint": [{"leftOperand": JOB, "operator": "neq", "rightOperand": "none"}]}


@pytest.mark.parametrize(
    ("forbidden", "columns", "more", "expected"),
    [
        ("Job", {"released": [JOB]}, {}, False),
        ("Jobb", {"released": [JOB]}, {}, False),
        (SCHEMA_NAME, {"released": [NAME]}, {}, False),
        ("Job", {}, BY_JOB, False),
        ("Jobb", {}, BY_JOB, False),
        ("Jobb", {}, {}, True),
        ("Job", {}, {}, True),
        ("Job", {"released": [NAME]}, {}, True),
    ],
)
def test_a_column_is_not_left_as_it_is_where_a_limited_prohibition_may_mean_it(
    world: World, forbidden: str, columns: dict[str, list[str]], more: dict[str, Any], expected: bool
) -> None:
    """It is prohibited at more than 5; the run is at 2, and no parameter says anything of such a column."""
    world.add(policy(READ, uid="0"))
    says(world, f"<{TABLE}> csvw:column <{SCHEMA_NAME}> .")
    world.add(policy(prohibitions=(prohibition(forbidden, **WEAK),), uid="no"))
    document = way("p", **columns)
    document["permission"][0].update(more)
    outcome = world.run(document)
    assert (outcome.version is not None) is expected
    assert is_denied(outcome) is not expected


def test_a_policys_own_strategy_spares_what_a_limited_prohibition_may_mean(world: World) -> None:
    document = way("p", released=[JOB])
    document |= {"prohibition": [prohibition("Jobb", **WEAK)], "conflict": "perm"}
    assert world.run(document).version is not None


def test_a_decision_tells_what_columns_the_data_must_have(world: World) -> None:
    world.add(policy(READ, uid="0"))
    world.add(way("p", released=[JOB]))
    world.add(policy(prohibitions=(prohibition("Jobb", **WEAK),), uid="no"))
    decision = world.decide(action="http://www.w3.org/ns/odrl/2/anonymize")
    (grant,) = decision.grants
    assert (decision.effect, decision.is_permitted) == (Effect.LIMITED, False)
    assert (grant.spared, grant.withheld) == ((f"{TABLE}/Jobb",), ())


# --- Collections, and other spellings


def test_a_column_of_a_collection_is_as_doubtful_as_that_of_its_member(world: World) -> None:
    world.add(policy(READ, READ_HOLDING, uid="0"))
    says(world, MEMBER)
    assert runs(world, "first")
    world.add(policy(prohibitions=(prohibition("Nmae"),), uid="no"))
    assert world.decide(NAME).effect is Effect.DENY
    assert world.decide(f"{HOLDING}/Name").effect is Effect.DENY


@pytest.mark.parametrize(
    ("table", "theirs"),
    [
        ("http://example.com/%43", "http://example.com/C/Name"),
        ("http://example.com/%43", "http://example.com/C"),
        ("http://example.com/x:1", "http://example.com/x%3A1"),
        ("http://example.com/gr%c3%b6%c3%9fe", "http://example.com/größe/Name"),
    ],
)
@refused_or_held
def test_a_stranger_gets_no_other_spelling_of_an_owners_iri(world: World, table: str, theirs: str) -> None:
    world.add(policy({**READ, "target": table}, uid="0"))
    with pytest.raises(smalti.SmaltiError, match="does not own"):
        world.add(policy({**READ, "uid": "urn:x:s", "target": theirs}, uid="s"), STRANGER)
    assert world.decide(f"{table}/Age").effect is Effect.PERMIT
    data = world.folder / "s.csv"
    data.write_text(ROWS)
    with suppress(smalti.SmaltiError):
        world.run(way("s", theirs), owner=STRANGER, party=STRANGER, data={theirs: data})
    assert world.registry.all_versions() == ()


# --- What is told before


def test_a_dry_run_tells_that_the_output_cannot_be_registered(world: World) -> None:
    world.add(policy({**READ, "target": OUTPUT}, uid="s"), STRANGER)
    planned = world.plan(policy(permission()))
    assert "it belongs to somebody else" in (planned.obstacle or "")


def test_a_policy_test_expects_no_plan_of_what_a_run_denies(world: World) -> None:
    """A duty to anonymize what is read, beside a prohibition that names no column of the data."""
    duty = {"uid": "urn:x:d", "action": [attacks.worlds.refined(released=["Job"])], "output": OUTPUT}
    document = policy({**READ, "duty": [duty]}, prohibitions=(prohibition("Jobb"),))
    (world.folder / "p.jsonld").write_text(json.dumps(document))
    case = {
        "name": "read", "request": {"party": ANN, "action": "read", "target": TABLE},
        "expect": {"effect": "limited", "plan": {"data": "c.csv"}},
    }  # fmt: skip
    file = world.folder / "tests.json"
    file.write_text(json.dumps({"policies": ["p.jsonld"], "tests": [case]}))
    done = cli("test", str(file), cwd=world.folder)
    assert done.code == 1
    assert "the column that it means is unknown" in done.out + done.err


def test_a_prohibition_on_a_collection_of_columns_is_told_when_it_is_added(world: World) -> None:
    world.add(way("p", released=[JOB]))
    says(world, f"<{JOB}> a odrl:Asset ; odrl:partOf <http://example.com/personal> .")
    added = world.registry.add_policy(
        json.dumps(policy(prohibitions=(prohibition("http://example.com/personal"),), uid="no")).encode(),
        "policy.jsonld",
        IRI(OWNER),
    )
    told = column_conflicts(world.registry, added)
    assert any("http://example.com/rule/p" in one for one in told)


def test_a_description_names_no_column_by_an_iri_that_no_policy_can(world: World) -> None:
    describe(world, "Job", "http://example.com:80/C/Job")
    with pytest.raises(DataError, match="default or empty port"):
        world.run(way("p"))


@pytest.mark.parametrize("iri", ["http://example.com/Cc/Name", "http://example.com/personal-columns"])
def test_a_prohibition_on_what_nobody_knows_is_told(world: World, iri: str) -> None:
    """The table's name is misspelt, or nobody said what belongs to the collection."""
    document = way("p", released=[NAME]) | {"prohibition": [prohibition(iri)]}
    planned = world.plan(document)
    outcome = world.run(document)
    for told in (planned.warnings, outcome.warnings):
        assert any(f"`{iri}`, but this IRI is unknown" in one for one in told)


@pytest.mark.parametrize("iri", ["http://example.com/Cc/Name", "http://example.com/personal-columns"])
def test_so_it_is_where_it_is_added(world: World, iri: str) -> None:
    world.add(policy(READ, uid="0"))
    (world.folder / "no.jsonld").write_text(
        json.dumps(policy(prohibitions=(prohibition(iri, "n2"),), uid="no"))
    )
    added = cli("policy", "add", "no.jsonld", "--as", OWNER, "--registry", "r.sqlite", cwd=world.folder)
    assert added.code == 0
    assert "this IRI is unknown" in " ".join((added.out + added.err).split())


@pytest.mark.parametrize("iri", [NAME, TABLE])
def test_a_prohibition_on_what_is_known_is_not_told_so(world: World, iri: str) -> None:
    world.add(policy(READ, uid="0"))
    planned = world.plan(way("p") | {"prohibition": [prohibition(iri)]})
    assert not any("this IRI is unknown" in one for one in planned.warnings)


@pytest.mark.parametrize(
    ("datatype", "spellings"),
    [
        ("decimal", ("1.0", "1.00", "1.000", "1.0000")),
        ("dateTime", tuple(f"2020-01-01T{12 + zone}:00:00+0{zone}:00" for zone in range(4))),
    ],
)
def test_identifiers_repeat_together_as_values(
    world: World, datatype: str, spellings: tuple[str, ...]
) -> None:
    """One person's rows, of which the texts of one identifier differ, and the other one is the same."""
    rows = "".join(f"{text},x,{30 + place},10{place}\n" for place, text in enumerate(spellings))
    world.data.write_text("Id,Number,Age,ZIP\n" + rows)
    world.describe({"name": "Id", "datatype": datatype}, *({"name": n} for n in ("Number", "Age", "ZIP")))
    for identifiers in (["Id"], ["Id", "Number"]):
        named = [f"{TABLE}/{name}" for name in identifiers]
        with pytest.raises(smalti.SmaltiError, match="values repeat in"):
            world.run(way("p", identifier=named, respondent=[]), one_row_each=True)


def test_identifiers_that_repeat_together_where_one_is_blank_refuse_one_row_each(world: World) -> None:
    """Medium: two rows of `Ann` without a job pass; where another job repeats, they are refused."""
    world.data.write_text("Name,Age,ZIP,Job\nAnn,30,100,\nAnn,31,100,\nCid,32,101,c\nDan,33,101,d\n")
    with pytest.raises(smalti.SmaltiError, match="each row is declared to be about another person"):
        world.run(way("p", identifier=[NAME, JOB]))


def test_rows_without_any_identifier_identify_nobody(world: World) -> None:
    world.data.write_text("Name,Age,ZIP,Job\n,30,100,\n,31,100,\nCid,32,101,c\nDan,33,101,d\n")
    assert world.run(way("p", identifier=[NAME, JOB])).version is not None
