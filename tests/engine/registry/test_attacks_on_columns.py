"""Attacks on prohibitions of columns that succeeded: each test states what should be so."""

import json
import time
from contextlib import suppress
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest
from shell import smalti as cli
from spellings import refused_or_held

import smalti
from smalti.engine.registry.review import reviews
from smalti.policy.decide.decision import Effect
from smalti.policy.lint.lint import lint
from smalti.policy.read.parse import parse
from smalti.vocab.terms import IRI

_at = Path(__file__).with_name("test_prohibited_columns.py")
_spec = spec_from_file_location("worlds_of_prohibited_columns", _at)
assert _spec is not None
assert _spec.loader is not None
worlds = module_from_spec(_spec)
_spec.loader.exec_module(worlds)
ANN, HEADER, OUTPUT, OWNER, READ = worlds.ANN, worlds.HEADER, worlds.OUTPUT, worlds.OWNER, worlds.READ
RENAMED, ROWS, SCHEMA_NAME = worlds.RENAMED, worlds.ROWS, worlds.SCHEMA_NAME
STRANGER, TABLE, World, is_denied = worlds.STRANGER, worlds.TABLE, worlds.World, worlds.is_denied
permission, policy, prohibition = worlds.permission, worlds.policy, worlds.prohibition

OTHER = "http://example.com/party/other"
ALL, PERSONAL = "http://example.com/all", "http://example.com/personal"
RESEARCH, STUDY = (f"http://example.com/purpose/{name}" for name in ("research", "study"))
PREFIXES = """
@prefix odrl: <http://www.w3.org/ns/odrl/2/> .
@prefix csvw: <http://www.w3.org/ns/csvw#> .
@prefix dct: <http://purl.org/dc/terms/> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix dpv: <https://w3id.org/dpv#> .
"""


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def says(world: World, text: str, by: str = OWNER) -> None:
    world.registry.add_hierarchy((PREFIXES + text).encode(), by.rpartition("/")[2], IRI(by))


def limited(operator: str, purpose: str) -> dict[str, Any]:
    limit = {"leftOperand": "purpose", "operator": operator, "rightOperand": [{"@id": purpose}]}
    return {"constraint": [limit]}


# --- Critical: the column is published


@pytest.mark.parametrize("forbidden", [TABLE, f"{TABLE}/Name"])
def test_a_co_owners_vocabulary_keeps_no_prohibition_from_a_column(world: World, forbidden: str) -> None:
    """The owner's prohibition applies in the owner's view, in which the co-owner's permission does not.

    What is so of the whole table (the first case holds) must be so of a column.
    """
    world.add(policy({**READ, "assignee": STRANGER}, uid="0"))
    world.registry.add_owner(IRI(TABLE), IRI(OTHER), by=IRI(OWNER))
    said = f"<{STUDY}> a dpv:Purpose ; skos:broader <{RESEARCH}> . <{RESEARCH}> a dpv:Purpose ."
    says(world, said, OTHER)
    no = prohibition(forbidden, **limited("isNoneOf", RESEARCH))
    world.add(policy(prohibitions=(no,), uid="no"))
    releasing = {**permission(released=["Name"]), **limited("isAnyOf", RESEARCH)}
    outcome = world.run(policy(releasing), owner=OTHER, purpose=STUDY)
    assert outcome.version is None
    reading = {**READ, "uid": "urn:x:r2", **limited("isAnyOf", RESEARCH)}
    world.add(policy(reading, uid="r2"), OTHER)
    found = smalti.decide(party=ANN, action="read", target=TABLE, purpose=STUDY, registry=world.registry)
    assert found.effect is not Effect.PERMIT


@pytest.mark.parametrize("known_by", ["run", "vocabulary"])
@pytest.mark.parametrize("squatted", [False, True])
def test_no_strangers_output_stands_for_a_prohibited_column(
    world: World, known_by: str, squatted: bool
) -> None:
    """An IRI that names no column of the data denies; a stranger's output of that IRI changes nothing."""
    world.add(policy(READ, uid="0"))
    if known_by == "run":
        world.describe(*RENAMED)
        assert world.run(policy(permission(uid="p0"), uid="p0")).version is not None
        (world.folder / "c.csv-metadata.json").unlink()
    else:
        says(world, f"<{TABLE}> csvw:column <{SCHEMA_NAME}> .")
    if squatted:
        theirs = "http://example.com/strangers"
        own = permission(theirs, "s", quasi=[f"{theirs}/Age", f"{theirs}/ZIP"])
        (world.folder / "s.csv").write_text("Age,ZIP\n1,2\n3,4\n")
        with suppress(smalti.SmaltiError):
            world.run(
                policy({**own, "output": SCHEMA_NAME}, uid="s"), data={theirs: world.folder / "s.csv"},
                party=STRANGER, owner=STRANGER,
            )  # fmt: skip
    releasing = policy(permission(released=["Name"]), prohibitions=(prohibition(SCHEMA_NAME),))
    outcome = world.run(releasing)
    assert outcome.version is None
    assert is_denied(outcome, "the use of the column" if known_by == "run" else "no such column")
    without = world.run(policy(permission(), prohibitions=(prohibition(SCHEMA_NAME),)))
    assert is_denied(without, "no such column")


# --- High: a decision permits what is forbidden


@pytest.mark.parametrize(
    ("header", "forbidden", "asked"),
    [
        ("a:b", "a:b", "a%3Ab"),
        ("a:b", "a%3Ab", "a:b"),
        ("a@b", "a@b", "a%40b"),
        ("a(b)", "a(b)", "a%28b%29"),
    ],
)
def test_a_column_is_forbidden_in_each_percent_encoding(
    world: World, header: str, forbidden: str, asked: str
) -> None:
    """Runs take both for one column, and decisions for two."""
    world.data.write_text(ROWS.replace("Name", header))
    world.add(policy(READ, prohibitions=(prohibition(f"{TABLE}/{forbidden}"),), uid="0"))
    assert is_denied(world.run(policy(permission(released=[f"{TABLE}/{asked}"]))))
    assert world.decide(f"{TABLE}/{asked}").effect is not Effect.PERMIT


@pytest.mark.parametrize(
    ("said", "forbidden"),
    [
        (f"<{TABLE}> a odrl:Asset ; odrl:partOf <{ALL}> .", f"{ALL}/Name"),
        (f"<{TABLE}/%4Eame> a odrl:Asset ; odrl:partOf <{PERSONAL}> .", PERSONAL),
    ],
)
@refused_or_held
def test_what_is_withheld_of_a_table_is_not_read_as_a_column(
    world: World, said: str, forbidden: str
) -> None:
    world.add(policy(READ, uid="0"))
    says(world, said)
    world.add(policy(prohibitions=(prohibition(forbidden),), uid="no"))
    assert f"{TABLE}/Name" in world.decide().grants[0].withheld
    assert world.decide(f"{TABLE}/Name").effect is not Effect.PERMIT


# --- Versions


def test_a_prohibition_on_a_column_of_one_version_is_not_taken_and_passed_over(world: World) -> None:
    """A policy about a version is refused; one about a column of a version is taken, and has no effect."""
    world.add(policy(READ, uid="0"))
    version = world.run(policy(permission(released=["Job"]))).version
    try:
        world.add(policy(prohibitions=(prohibition(f"{version.iri}/Job"),), uid="no"))
    except smalti.SmaltiError:
        return
    assert world.decide(version.iri).effect is not Effect.PERMIT


def test_a_co_owner_does_not_describe_the_same_bytes_otherwise(world: World) -> None:
    """A run on these very bytes recorded that `Name` is the prohibited column."""
    world.describe(*RENAMED)
    world.add(policy(READ, uid="0"))
    world.registry.add_owner(IRI(TABLE), IRI(OTHER), by=IRI(OWNER))
    assert world.run(policy(permission(uid="p0"), uid="p0")).version is not None
    world.add(policy(prohibitions=(prohibition(SCHEMA_NAME),), uid="no"))
    world.describe(
        {"name": "Name"}, {"name": "Age"}, {"name": "ZIP"}, {"name": "Job", "propertyUrl": SCHEMA_NAME}
    )
    outcome = world.run(policy(permission(released=["Name"])), owner=OTHER)
    assert outcome.version is None


def test_a_renamed_column_is_forbidden_under_both_of_its_iris(world: World) -> None:
    world.describe(*RENAMED)
    world.add(policy(READ, uid="0"))
    assert world.run(policy(permission())).version is not None
    world.add(policy(prohibitions=(prohibition(SCHEMA_NAME),), uid="no"))
    assert world.decide().effect is Effect.LIMITED
    assert world.decide(f"{TABLE}/Name").effect is not Effect.PERMIT


def test_rows_are_not_chosen_by_the_other_iri_of_a_prohibited_column(world: World) -> None:
    world.describe(*RENAMED)
    assert world.run(policy(permission())).version is not None
    limit = {"leftOperand": f"{TABLE}/Name", "operator": "eq", "rightOperand": "Ann"}
    world.add(policy({**READ, "constraint": [limit]}, uid="0"))
    world.add(policy(prohibitions=(prohibition(SCHEMA_NAME),), uid="no"))
    assert not world.decide().grants


def test_an_output_made_from_a_column_under_another_iri_is_not_read(world: World) -> None:
    """Earlier `a`, then `b`: both runs recorded the name `Job`. `b` is prohibited."""
    first, second = "http://x.example/a", "http://x.example/b"
    rest = [{"name": name} for name in HEADER[:3]]
    world.add(policy(READ, uid="0"))
    world.describe(*rest, {"name": "Job", "propertyUrl": first})
    assert world.run(policy(permission(released=[first]))).version is not None
    world.describe(*rest, {"name": "Job", "propertyUrl": second})
    again = {**permission(uid="p2"), "output": "http://example.com/second"}
    assert world.run(policy(again, uid="2")).version is not None
    world.add(policy(prohibitions=(prohibition(second),), uid="no"))
    assert world.decide(OUTPUT).effect is not Effect.PERMIT
    assert len(reviews(world.registry)) == 1


@pytest.mark.parametrize("forbidden", ["Jobb", SCHEMA_NAME])
def test_a_prohibition_that_names_no_column_of_the_data_denies_outputs_too(
    world: World, forbidden: str
) -> None:
    """A run is denied then, since the name may be misspelt; nothing tells that the output does without."""
    world.add(policy(READ, uid="0"))
    assert world.run(policy(permission(released=["Job"]))).version is not None
    if ":" in forbidden:
        says(world, f"<{TABLE}> csvw:column <{forbidden}> .")
    world.add(policy(prohibitions=(prohibition(forbidden),), uid="no"))
    assert world.decide(OUTPUT).effect is not Effect.PERMIT
    assert reviews(world.registry)


def test_a_prohibition_on_a_column_of_a_collection_leaves_the_rest_of_its_tables(world: World) -> None:
    world.add(policy(READ, uid="0"))
    says(world, f"<{TABLE}> a odrl:Asset ; odrl:partOf <{ALL}> .")
    world.add(policy(prohibitions=(prohibition(f"{ALL}/Name"),), uid="no"))
    assert world.run(policy(permission())).version is not None


def test_a_column_that_is_said_to_be_a_part_of_its_table_and_of_a_collection(world: World) -> None:
    world.add(policy(READ, uid="0"))
    says(world, f"<{TABLE}/Name> a odrl:Asset ; dct:isPartOf <{TABLE}>, <{PERSONAL}> .")
    world.add(policy(prohibitions=(prohibition(PERSONAL),), uid="no"))
    assert world.decide().effect is Effect.LIMITED


def test_a_stranger_keeps_no_owner_from_prohibiting_a_declared_column(world: World) -> None:
    world.describe(*RENAMED)
    world.add(policy(READ, uid="0"))
    says(world, f"<{TABLE}> csvw:column <{SCHEMA_NAME}> .")
    world.add(policy({**READ, "uid": "urn:x:s", "target": SCHEMA_NAME}, uid="s"), STRANGER)
    world.add(policy(prohibitions=(prohibition(SCHEMA_NAME),), uid="no"))
    assert world.decide().effect is Effect.LIMITED


def test_a_prohibition_makes_no_run_go_on_that_would_be_refused(world: World) -> None:
    """Two permissions match, which is refused; one of them is denied, and the other one publishes."""
    other = {**permission(uid="p2", identifier=["Name"]), "output": "http://example.com/other"}
    both = permission(released=["Name"]), other
    with pytest.raises(smalti.SmaltiError, match="several permissions match"):
        world.run(policy(*both))
    with pytest.raises(smalti.SmaltiError, match="several permissions match"):
        world.run(policy(*both, prohibitions=(prohibition(),)))


def test_a_part_with_data_of_its_own_is_forbidden_with_its_rows(world: World) -> None:
    """Its IRI may be a column's; it is a table, which the owner says to be a part of the other one."""
    part = f"{TABLE}/2024"
    world.add(policy(READ, uid="0"))
    own = {**permission(part, "p9", quasi=[f"{part}/Age", f"{part}/ZIP"]), "output": f"{OUTPUT}9"}
    assert world.run(policy(own, uid="9"), data={part: world.data}).version is not None
    says(world, f"<{part}> a odrl:Asset ; odrl:partOf <{TABLE}> .")
    world.add(policy(prohibitions=(prohibition(part),), uid="no"))
    assert world.decide().effect is Effect.DENY
    assert world.run(policy(permission())).version is None


# --- Others, and the IRIs of columns


def test_who_owns_the_iri_of_a_column_ends_no_prohibition_of_its_tables_owner(world: World) -> None:
    world.describe(*RENAMED)
    world.add(policy(READ, uid="0"))
    says(world, f"<{TABLE}> csvw:column <{SCHEMA_NAME}> .")
    world.add(policy({**READ, "uid": "urn:x:s", "target": SCHEMA_NAME}, uid="s"), STRANGER)
    world.add(policy(prohibitions=(prohibition(SCHEMA_NAME),), uid="no"))
    with pytest.raises(smalti.SmaltiError, match="may not revoke"):
        world.registry.revoke_policy(IRI("http://example.com/policy/no"), IRI(STRANGER))
    mine = policy({**READ, "uid": "urn:x:s2", "target": SCHEMA_NAME}, uid="no")
    with suppress(smalti.SmaltiError):
        world.registry.add_policy(json.dumps(mine).encode(), "p", IRI(STRANGER), replaces=True)
    assert world.decide().effect is Effect.LIMITED


def test_a_strangers_table_says_nothing_of_an_owners_columns(world: World) -> None:
    """By descriptions, two of its runs call its one column by IRIs of the owner's; its vocabulary, too."""
    theirs = "http://example.com/strangers"
    (world.folder / "s.csv").write_text("Age,ZIP\n1,2\n3,4\n")
    for number, named in enumerate([f"{TABLE}/Name", f"{TABLE}/Job", TABLE]):
        columns = [{"name": "Age", "propertyUrl": named}, {"name": "ZIP"}]
        described = {
            "@context": "http://www.w3.org/ns/csvw", "url": "s.csv", "tableSchema": {"columns": columns},
        }  # fmt: skip
        (world.folder / "s.csv-metadata.json").write_text(json.dumps(described))
        own = permission(theirs, f"s{number}", quasi=[f"{theirs}/ZIP"])
        mine = policy({**own, "output": f"http://example.com/s{number}"}, uid=f"s{number}")
        world.run(mine, data={theirs: world.folder / "s.csv"}, party=STRANGER, owner=STRANGER)
    assert world.run(policy(permission())).version is not None
    assert len(world.registry.all_versions()) == 4
    for column in (TABLE, f"{TABLE}/Name", f"{TABLE}/Job"):
        says(world, f"<{theirs}> csvw:column <{column}> .", STRANGER)
    world.add(policy(READ, prohibitions=(prohibition(),), uid="0"))
    assert {grant.withheld for grant in world.decide().grants} == {(f"{TABLE}/Name",)}
    assert world.decide(f"{TABLE}/Job").effect is Effect.PERMIT
    with pytest.raises(smalti.SmaltiError, match="does not own"):
        world.add(policy(prohibitions=(prohibition("Job", "s"),), uid="s"), STRANGER)
    world.add(policy(prohibitions=(prohibition(TABLE, "s"),), uid="s"), STRANGER)  # it is stored, and idle
    assert {grant.withheld for grant in world.decide().grants} == {(f"{TABLE}/Name",)}


def test_a_party_who_describes_the_table_otherwise_permits_nothing_more(world: World) -> None:
    """To permit a run is not to let the party say which column is meant."""
    world.add(policy(READ, uid="0"))
    assert world.run(policy(permission(uid="p0"), uid="p0")).version is not None
    world.add(policy(prohibitions=(prohibition("Jobb"),), uid="no"))
    assert world.decide(OUTPUT).effect is not Effect.PERMIT
    world.describe(*({"name": one} for one in HEADER[:3]), {"name": "Job", "propertyUrl": f"{TABLE}/Jobb"})
    again = {**permission(uid="p1"), "output": f"{OUTPUT}1"}
    assert world.run(policy(again, uid="p1")).version is not None
    assert world.decide(OUTPUT).effect is not Effect.PERMIT
    assert world.decide(f"{TABLE}/Job").effect is not Effect.PERMIT


# --- What lies below a table, and is no column


BELOW = ["/Name/", "//Name", "#Name", "?Name", "/column/Name"]


@pytest.mark.parametrize("iri", [*(f"{TABLE}{name}" for name in BELOW), "http://example.com/c/Name"])
@pytest.mark.parametrize("is_stored", [False, True])
def test_a_target_below_the_table_that_names_no_column_is_told(
    world: World, iri: str, is_stored: bool
) -> None:
    world.describe(*({"name": column} for column in HEADER))
    forbidden = prohibition(iri)
    if is_stored:
        world.add(policy(READ, prohibitions=(forbidden,), uid="no"))
    document = policy(permission(released=["Name"]), prohibitions=() if is_stored else (forbidden,))
    for warnings in (world.plan(document).warnings, world.run(document).warnings):
        assert any(iri in warning for warning in warnings)


@pytest.mark.parametrize("name", BELOW)
def test_check_tells_a_target_below_the_table(world: World, name: str) -> None:
    world.describe(*({"name": column} for column in HEADER))
    document = policy(permission(released=["Name"]), prohibitions=(prohibition(f"{TABLE}{name}"),))
    (world.folder / "policy.jsonld").write_text(json.dumps(document))
    for more in ((), ("--dataset", world.data)):
        told = cli("check", world.folder / "policy.jsonld", *more, cwd=world.folder)
        assert told.out.count("P622") + told.err.count("P622") == 1
        assert "P613" not in told.out + told.err


def test_a_table_with_data_of_its_own_below_another_is_not_told(world: World) -> None:
    """Neither it nor its columns."""
    inner = f"{TABLE}/2024/people"
    own = {**permission(inner, "p9", quasi=[f"{inner}/Age", f"{inner}/ZIP"]), "output": f"{OUTPUT}9"}
    assert world.run(policy(own, uid="9"), data={inner: world.data}).version is not None
    forbidden = tuple(prohibition(iri, iri[-1]) for iri in (inner, f"{inner}/Job"))
    outcome = world.run(policy(permission(), prohibitions=forbidden))
    assert outcome.version is not None
    assert not any("names no column" in warning for warning in outcome.warnings)


@pytest.mark.parametrize(("released", "forbidden"), [("Name", SCHEMA_NAME), (SCHEMA_NAME, f"{TABLE}/Name")])
def test_check_tells_of_a_renamed_column_that_is_permitted_and_prohibited(
    world: World, released: str, forbidden: str
) -> None:
    world.describe(*RENAMED)
    document = policy(permission(released=[released]), prohibitions=(prohibition(forbidden),))
    (world.folder / "policy.jsonld").write_text(json.dumps(document))
    told = cli("check", world.folder / "policy.jsonld", "--dataset", world.data, cwd=world.folder)
    assert "P621" in told.out + told.err


@pytest.mark.parametrize("name", BELOW)
def test_a_stored_prohibition_on_what_is_no_column_is_told(world: World, name: str) -> None:
    """When it is added, and by each plan and run on the table, whoever submits it."""
    forbidden = f"{TABLE}{name}"
    world.add(policy(READ, uid="0"))
    place = world.folder / "no.jsonld"
    place.write_text(json.dumps(policy(prohibitions=(prohibition(forbidden),), uid="no")))
    added = cli(
        "policy", "add", place, "--as", OWNER, "--registry", "r.sqlite", "--format", "json",
        cwd=world.folder,
    )  # fmt: skip
    document = policy(permission(released=["Name"]))
    found = [added.json["warnings"], world.plan(document).warnings]
    found += [world.plan(document, party=None).warnings, world.run(document).warnings]
    world.add(document)
    outcome = world.run(document, owner=ANN)
    assert outcome.report is None
    assert [sum(forbidden in one for one in told) for told in (*found, outcome.warnings)] == [1] * 5


def test_what_a_binder_stored_is_told_before_the_table_is_known(world: World) -> None:
    world.add(policy(prohibitions=(prohibition(f"{TABLE}#Name"),), uid="no"))
    document = policy(permission(released=["Name"]))
    assert any("#Name" in warning for warning in world.plan(document).warnings)


def test_only_what_owners_forbid_is_told(world: World) -> None:
    world.add(policy(prohibitions=(prohibition(f"{TABLE}#Name"),), uid="no"), STRANGER)
    world.add(policy(READ, uid="0"))
    document = policy(permission(released=["Name"]))
    assert not any("#Name" in warning for warning in world.plan(document).warnings)


def test_a_strangers_data_below_the_table_silences_nothing(world: World) -> None:
    theirs = f"{TABLE}#Name"
    own = permission(theirs, "s", quasi=[f"{theirs}/Age", f"{theirs}/ZIP"])
    data = world.folder / "s.csv"
    data.write_text("Age,ZIP\n1,2\n3,4\n")
    made = world.run(policy(own, uid="s"), data={theirs: data}, party=STRANGER, owner=STRANGER)
    assert made.version is not None
    world.add(policy(READ, uid="0"))
    document = policy({**permission(released=["Name"]), "output": f"{OUTPUT}2"},
                      prohibitions=(prohibition(theirs),))  # fmt: skip
    assert any(theirs in warning for warning in world.plan(document).warnings)


def test_what_may_be_a_column_of_each_member_is_told(world: World) -> None:
    east = f"{ALL}/2024/east"
    world.add(policy(READ, uid="0"))
    world.add(policy({**READ, "target": east, "uid": "urn:x:e"}, uid="e"))
    says(world, "\n".join(f"<{one}> a odrl:Asset ; odrl:partOf <{ALL}> ." for one in (TABLE, east)))
    world.add(policy(prohibitions=(prohibition(f"{ALL}#Name", "n0"), prohibition(east, "n1")), uid="no"))
    warnings = world.plan(policy(permission(released=["Name"]))).warnings
    assert any(f"{ALL}#Name" in warning for warning in warnings)
    assert not any("east" in warning for warning in warnings)


def test_a_column_that_the_description_declares_is_not_told(world: World) -> None:
    """`#Name` is what CSVW calls a column by default."""
    declared = f"{TABLE}#Name"
    world.describe({"name": "Name", "propertyUrl": declared}, *({"name": name} for name in HEADER[1:]))
    document = policy(permission(identifier=[declared]), prohibitions=(prohibition(declared),))
    assert not any("names no column" in warning for warning in world.plan(document).warnings)
    outcome = world.run(document)
    assert "Name" not in world.header()
    assert not any("names no column" in warning for warning in outcome.warnings)
    assert "P622" not in cli("check", "policy.jsonld", "--dataset", world.data, cwd=world.folder).out


def test_an_output_of_the_policy_below_its_table_is_not_told(world: World) -> None:
    world.describe(*({"name": column} for column in HEADER))
    inner = f"{TABLE}/anonymized/2024"
    reading = {**READ, "target": inner}
    document = policy({**permission(), "output": inner}, reading)
    (world.folder / "policy.jsonld").write_text(json.dumps(document))
    for more in ((), ("--dataset", world.data)):
        assert "P622" not in cli("check", "policy.jsonld", *more, cwd=world.folder).out


@pytest.mark.parametrize("name", ["/2024", "/2024/east", "/2024/east/Name", "#2024"])
def test_a_plan_tells_no_known_table_below_another_one(world: World, name: str) -> None:
    inner = f"{TABLE}{name.removesuffix('/Name')}"
    mine = permission(inner, "inner", quasi=[f"{inner}/Age", f"{inner}/ZIP"])
    document = policy(permission(released=["Name"]), prohibitions=(prohibition(f"{TABLE}{name}"),))
    world.add(policy(READ, uid="0"))
    own = policy({**mine, "output": f"{OUTPUT}2"}, uid="inner")
    assert world.run(own, data={inner: world.data}).version is not None
    for planned in (world.plan(document), world.plan(document, party=None)):
        assert not any(f"{TABLE}{name}" in warning for warning in planned.warnings)


def test_a_table_whose_iri_ends_in_a_slash_has_no_column_without_another(world: World) -> None:
    table = f"{TABLE}/"
    columns = {"quasi": [f"{table}/Age", f"{table}/ZIP"], "released": [f"{table}/Name"]}
    document = policy(permission(table, **columns), prohibitions=(prohibition(f"{table}Name"),))
    planned = world.plan(document, data={table: world.data})
    assert planned.plan is None or any(f"`{table}Name`" in warning for warning in planned.warnings)


def test_many_targets_side_by_side_are_checked_at_once() -> None:
    """Comparing each with each took minutes."""
    rules = [{**READ, "target": f"{TABLE}{at}", "uid": f"urn:x:r{at}"} for at in range(5000)]
    (read,) = parse(json.dumps(policy(*rules)).encode(), "many.jsonld").sound
    start = time.process_time()
    assert all(found.code != "P622" for found in lint(read))
    assert time.process_time() - start < 20
