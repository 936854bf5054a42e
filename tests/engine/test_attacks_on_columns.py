"""Attacks on prohibitions of columns that succeeded: each test states what should be so."""

from contextlib import suppress
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

import smalti
from smalti.policy.decision import Effect
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
    assert is_denied(outcome, "no such column")


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
    ],
)
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
