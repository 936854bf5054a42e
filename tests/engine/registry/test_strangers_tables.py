"""Data of strangers, and IRIs that only look like others, take nothing from a prohibition on a column."""

from contextlib import suppress
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest
from spellings import refused_or_held

import smalti
from smalti.policy.decide.decision import Effect

_at = Path(__file__).with_name("test_more_attacks_on_columns.py")
_spec = spec_from_file_location("attacks_for_strangers_tables", _at)
assert _spec is not None
assert _spec.loader is not None
more = module_from_spec(_spec)
_spec.loader.exec_module(more)
attacks = more.attacks
ANN, OUTPUT, OWNER, READ = attacks.ANN, attacks.OUTPUT, attacks.OWNER, attacks.READ
ROWS, SCHEMA_NAME, STRANGER, TABLE = attacks.ROWS, attacks.SCHEMA_NAME, attacks.STRANGER, attacks.TABLE
World, OTHER, says = attacks.World, attacks.OTHER, attacks.says
permission, policy, prohibition = attacks.permission, attacks.policy, attacks.prohibition
HOLDING, READ_HOLDING, MEMBER = more.HOLDING, more.READ_HOLDING, more.MEMBER
BOB = "http://example.com/party/bob"


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def way(table: str, uid: str, **columns: list[str]) -> Any:
    columns = {"quasi": [f"{table}/Age", f"{table}/ZIP"], **columns}
    return policy({**permission(table, uid, **columns), "output": f"{OUTPUT}{uid}"}, uid=uid)


def squat(world: World, iri: str, kind: str) -> None:
    """A stranger has data of their own under an IRI: bound to it as a source, or made as an output."""
    data = world.folder / "s.csv"
    data.write_text(ROWS.replace("Ann", "Eve"))
    table = iri if kind == "source" else "http://example.com/strangers"
    document = way(table, "s")
    if kind == "output":
        document["permission"][0]["output"] = iri
    with suppress(smalti.SmaltiError):
        world.run(document, owner=STRANGER, party=STRANGER, data={table: data})


def answers(world: World, table: str, own: dict[str, Any]) -> dict[str, bool]:
    """What Ann gets of a column of which nothing tells whether it is the prohibited one."""
    return {
        "decide": world.decide(f"{table}/Job").effect is Effect.PERMIT,
        "output": world.decide(f"{OUTPUT}first").effect is Effect.PERMIT,
        "run": world.run(way(table, "last", released=[f"{table}/Job"]), **own).version is not None,
    }


@pytest.mark.parametrize("kind", ["source", "output"])
@pytest.mark.parametrize("is_squatted", [False, True])
def test_no_strangers_data_makes_a_table_of_a_misspelt_column(
    world: World, kind: str, is_squatted: bool
) -> None:
    """It is there before the owner's table is known."""
    if is_squatted:
        squat(world, f"{TABLE}/Jobb", kind)
    world.add(policy(READ, uid="0"))
    assert world.run(way(TABLE, "first", released=[f"{TABLE}/Job"]), party=BOB).version is not None
    world.add(policy(prohibitions=(prohibition("Jobb"),), uid="no"))
    assert answers(world, TABLE, {}) == {"decide": False, "output": False, "run": False}


@pytest.mark.parametrize("kind", ["source", "output"])
@pytest.mark.parametrize("is_squatted", [False, True])
@refused_or_held
def test_no_strangers_data_makes_a_table_of_a_misspelt_column_afterwards(
    world: World, kind: str, is_squatted: bool
) -> None:
    """The table's IRI has an encoding that none needs; the stranger's has not."""
    table, own = "http://example.com/%43", {"data": {"http://example.com/%43": world.data}}
    world.add(policy({**READ, "target": table}, uid="0"))
    assert world.run(way(table, "first", released=[f"{table}/Job"]), party=BOB, **own).version is not None
    world.add(policy(prohibitions=(prohibition(f"{table}/Jobb"),), uid="no"))
    if is_squatted:
        squat(world, "http://example.com/C/Jobb", kind)
    assert answers(world, table, own) == {"decide": False, "output": False, "run": False}


@pytest.mark.parametrize("kind", ["source", "output"])
@pytest.mark.parametrize(
    ("own", "squatted", "is_after"),
    [
        (SCHEMA_NAME, SCHEMA_NAME, False),
        ("http://schema.example/größe", "http://schema.example/gr%C3%B6%C3%9Fe", True),
        ("http://schema.example/a:b", "http://schema.example/a%3Ab", True),
        ("http://schema.example/n%61me", SCHEMA_NAME, True),
        ("http://schema.example/a%3ab", "http://schema.example/a%3Ab", True),
    ],
)
@refused_or_held
def test_no_strangers_data_makes_a_table_of_a_declared_column(
    world: World, own: str, squatted: str, is_after: bool, kind: str
) -> None:
    """An owner's vocabulary declares it; nothing tells which column of the data it is."""
    world.add(policy(READ, uid="0"))
    says(world, f"<{TABLE}> csvw:column <{own}> .")
    assert world.run(way(TABLE, "first"), party=BOB).version is not None
    if not is_after:
        squat(world, squatted, kind)
    world.add(policy(prohibitions=(prohibition(own),), uid="no"))
    before = world.decide(f"{TABLE}/Name").effect
    if is_after:
        squat(world, squatted, kind)
        assert before is Effect.DENY
    assert world.decide(f"{TABLE}/Name").effect is Effect.DENY


@pytest.mark.parametrize(
    "iri",
    [
        "http://example.com:/C/Name", "http://example.com:080/C/Name", "http://example.com:0080/C/Name",
        "https://example.com:/C/Name", "http://example.com/%2E/C/Name", "http://example.com/x/%2e%2E/C/Name",
    ],
)  # fmt: skip
def test_other_iris_that_only_look_like_others_are_refused(world: World, iri: str) -> None:
    """Equal by RFC 3986, 6.2.2 and 6.2.3; the prohibition would have no effect, and nothing would tell."""
    with pytest.raises(smalti.SmaltiError):
        world.add(policy(prohibitions=(prohibition(iri),), uid="no"))
