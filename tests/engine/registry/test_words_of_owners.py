"""Whose word it is: owners of before, owners who come meanwhile, keys that are trusted no longer."""

import json
from contextlib import suppress
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import smalti
from smalti.engine.registry.authority import decide
from smalti.engine.registry.intents import Intents
from smalti.engine.registry.registry import Registry
from smalti.engine.registry.review import reviews
from smalti.policy.decide.decision import Effect
from smalti.vocab.terms import IRI


def beside(name: str) -> ModuleType:
    """Another file of tests, whose worlds these use."""
    spec = spec_from_file_location(f"{name}_for_words", Path(__file__).with_name(f"{name}.py"))
    assert spec is not None
    assert spec.loader is not None
    found = module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


doubts = beside("test_doubtful_columns")
more, attacks = doubts.more, doubts.attacks
ANN, OUTPUT, OWNER, READ = attacks.ANN, attacks.OUTPUT, attacks.OWNER, attacks.READ
ROWS, SCHEMA_NAME, STRANGER, TABLE = attacks.ROWS, attacks.SCHEMA_NAME, attacks.STRANGER, attacks.TABLE
World, OTHER, says, is_denied = attacks.World, attacks.OTHER, attacks.says, attacks.is_denied
permission, policy, prohibition = attacks.permission, attacks.policy, attacks.prohibition
HOLDING, READ_HOLDING, MEMBER = more.HOLDING, more.READ_HOLDING, more.MEMBER
NAME, JOB, BOB = doubts.NAME, doubts.JOB, doubts.BOB
way, describe, runs, WEAK = doubts.way, doubts.describe, doubts.runs, doubts.WEAK
signs = beside("test_signatures")


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.fixture
def shared(world: World) -> World:
    world.add(policy(READ, uid="0"))
    world.registry.add_owner(IRI(TABLE), IRI(OTHER), by=IRI(OWNER))
    return world


def during(world: World, monkeypatch: pytest.MonkeyPatch, act: Any) -> None:
    """Something is done once, after the decision of a run and before it is recorded."""
    done = []

    finish = Intents.finish

    def finishing(self: Any, *arguments: Any, **named: Any) -> Any:
        if not done:
            done.append(1)
            act()
        return finish(self, *arguments, **named)

    monkeypatch.setattr(Intents, "finish", finishing)


ENCODED = "http://example.com/survey/%63ontraceptive"


SECRET = "Eve,30,100,secret\nFay,31,100,b\n"


BELOW_TEN = {
    "action": {
        "rdf:value": {"@id": "odrl:anonymize"},
        "refinement": [{"leftOperand": "mosaicrown:k", "operator": "lt", "rightOperand": 2}],
    }
}


@pytest.mark.parametrize("kind", ["output", "source"])
def test_data_of_an_owner_of_before_makes_no_table_of_a_misspelt_column(shared: World, kind: str) -> None:
    assert runs(shared, "first", columns={"released": [JOB]})
    if kind == "output":
        assert runs(shared, "second", columns={"output": f"{TABLE}/Jobb"}, owner=OTHER)
    else:
        data = shared.folder / "s.csv"
        data.write_text(ROWS.replace("Ann", "Eve"))
        own = shared.run(way("s", f"{TABLE}/Jobb"), owner=OTHER, party=OTHER, data={f"{TABLE}/Jobb": data})
        assert own.version is not None
    shared.registry.remove_owner(IRI(TABLE), IRI(OTHER), by=IRI(OWNER))
    shared.add(policy(prohibitions=(prohibition("Jobb"),), uid="no"))
    got = (
        shared.decide(JOB).effect,
        shared.decide(f"{OUTPUT}first").effect,
        runs(shared, "last", columns={"released": [JOB]}),
    )
    assert got == (Effect.DENY, Effect.DENY, False)


@pytest.mark.parametrize("more", [{}, WEAK])
@pytest.mark.parametrize("forbidden", [f"{TABLE}/Jobb", f"{TABLE}/Job", f"{TABLE}/Other"])
def test_a_prohibition_that_is_added_meanwhile_names_what_was_only_implied(
    world: World, monkeypatch: pytest.MonkeyPatch, forbidden: str, more: dict[str, Any]
) -> None:
    world.add(policy(READ, READ_HOLDING, uid="0"))
    says(world, MEMBER)
    world.add(policy(prohibitions=(prohibition(f"{HOLDING}/Jobb"),), uid="no"))
    during(
        world,
        monkeypatch,
        lambda: world.add(policy(prohibitions=(prohibition(forbidden, "n2", **more),), uid="no2")),
    )
    outcome = None
    with suppress(smalti.SmaltiError):
        outcome = world.run(way("p", released=[JOB]))
    assert outcome is None or outcome.version is None


def test_the_owners_description_is_believed_in_runs_of_whom_the_policy_permits(world: World) -> None:
    """One owner; nobody else describes anything."""
    describe(world, "Name", SCHEMA_NAME)
    document = way("p", identifier=[SCHEMA_NAME])
    world.add(policy(READ, uid="0"))
    assert world.run(document).version is not None
    again = way("q", identifier=[SCHEMA_NAME])
    world.add(again)
    outcome = world.run(again, owner=None)
    assert outcome.version is not None
    world.add(policy(prohibitions=(prohibition(SCHEMA_NAME),), uid="no"))
    got = {one: world.decide(f"{OUTPUT}{one}").effect for one in ("p", "q")}
    assert set(got.values()) == {Effect.PERMIT}
    assert reviews(world.registry) == ()


def test_a_run_of_whom_the_policy_permits_goes_on_beside_the_owners_prohibition(world: World) -> None:
    describe(world, "Name", SCHEMA_NAME)
    world.add(policy(READ, uid="0"))
    assert world.run(way("p", identifier=[SCHEMA_NAME])).version is not None
    again = way("q", identifier=[SCHEMA_NAME])
    world.add(again)
    world.add(policy(prohibitions=(prohibition(SCHEMA_NAME),), uid="no"))
    outcome = world.run(again, owner=None)
    assert outcome.version is not None
    assert world.decide(f"{OUTPUT}q").effect is Effect.PERMIT
    assert world.decide(f"{TABLE}/Age").effect is Effect.PERMIT


@pytest.mark.parametrize("target", [[NAME], [NAME, TABLE], [TABLE, f"{TABLE}/Nmae"], [f"{TABLE}/Nmae"]])
def test_a_limited_prohibition_of_a_column_and_its_table_holds_for_the_column(
    world: World, target: list[str]
) -> None:
    """Runs are at k = 2, which it spares; a column that is released as it is has no k."""
    world.add(policy(READ, uid="0"))
    world.add(policy(prohibitions=({**prohibition(**BELOW_TEN), "target": target},), uid="no"))
    outcome = world.run(way("q", released=[NAME]))
    assert outcome.version is None


def test_a_limited_prohibition_of_a_collection_of_both_holds_for_the_column(world: World) -> None:
    world.add(policy(READ, READ_HOLDING, uid="0"))
    says(world, f"{MEMBER} <{NAME}> a odrl:Asset ; odrl:partOf <{HOLDING}> .")
    world.add(policy(prohibitions=({**prohibition(**BELOW_TEN), "target": HOLDING},), uid="no"))
    outcome = world.run(way("q", released=[NAME]))
    assert outcome.version is None


def test_a_co_owner_who_comes_meanwhile_prohibits_by_an_iri_of_their_own(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run begun afterwards is denied: what the first owner calls so, the second one need not mean."""
    world.add(policy(READ, uid="0"))
    describe(world, "Job", SCHEMA_NAME)
    world.add(policy(prohibitions=(prohibition(SCHEMA_NAME),), uid="no"))

    def act() -> None:
        world.registry.add_owner(IRI(TABLE), IRI(OTHER), by=IRI(OWNER))
        world.add(policy(prohibitions=(prohibition(SCHEMA_NAME, "n2"),), uid="no2"), OTHER)

    during(world, monkeypatch, act)
    outcome = None
    with suppress(smalti.SmaltiError):
        outcome = world.run(way("p", released=[NAME]))
    assert world.run(way("p2", released=[NAME])).version is None
    assert outcome is None or outcome.version is None


def test_what_a_distrusted_key_signed_grants_nothing_by_inheritance(tmp_path: Path) -> None:
    registry = Registry.open(tmp_path / "r.sqlite")
    w = signs.world
    stolen = registry.trust_key(signs.OWNER, signs.pem(signs.KEY), by=signs.OWNER)
    registry.trust_key(signs.OWNER, signs.pem(signs.SECOND_KEY), by=signs.OWNER)
    parent = w.document("b", w.read_rule("read", assignee=signs.USER))
    child = w.document(
        "p", w.read_rule("other", assignee="http://org/x"), inheritFrom="http://example.com/policy/b"
    )
    registry.add_policy(parent, "b", signs.OWNER, signature=signs.signed(parent))
    registry.add_policy(child, "p", signs.OWNER, signature=signs.signed(child, signs.SECOND_KEY))
    assert decide(registry, signs.ASKED).is_permitted
    registry.revoke_key(signs.OWNER, stolen.thumbprint, by=signs.OWNER)
    found = decide(registry, signs.ASKED)
    assert not found.is_permitted


def test_nor_where_the_child_comes_later(tmp_path: Path) -> None:
    registry = Registry.open(tmp_path / "r.sqlite")
    w = signs.world
    stolen = registry.trust_key(signs.OWNER, signs.pem(signs.KEY), by=signs.OWNER)
    registry.trust_key(signs.OWNER, signs.pem(signs.SECOND_KEY), by=signs.OWNER)
    parent = w.document("b", w.read_rule("read", assignee=signs.USER))
    child = w.document(
        "p", w.read_rule("other", assignee="http://org/x"), inheritFrom="http://example.com/policy/b"
    )
    registry.add_policy(parent, "b", signs.OWNER, signature=signs.signed(parent))
    registry.revoke_key(signs.OWNER, stolen.thumbprint, by=signs.OWNER)
    assert not decide(registry, signs.ASKED).is_permitted
    with suppress(smalti.SmaltiError):
        registry.add_policy(child, "p", signs.OWNER, signature=signs.signed(child, signs.SECOND_KEY))
    found = decide(registry, signs.ASKED)
    assert not found.is_permitted


@pytest.mark.parametrize("is_inherited", [False, True])
def test_a_key_that_is_distrusted_meanwhile(
    world: World, monkeypatch: pytest.MonkeyPatch, is_inherited: bool
) -> None:
    registry = world.registry
    stolen = registry.trust_key(IRI(OWNER), signs.pem(signs.KEY), by=IRI(OWNER))
    registry.trust_key(IRI(OWNER), signs.pem(signs.SECOND_KEY), by=IRI(OWNER))
    base = way("b", released=[NAME])
    text = json.dumps(base).encode()
    registry.add_policy(text, "b", IRI(OWNER), signature=signs.signed(text))
    asked = base
    if is_inherited:
        asked = policy({**READ, "assignee": BOB}, uid="child")
        asked["inheritFrom"] = base["uid"]
        text = json.dumps(asked).encode()
        registry.add_policy(text, "child", IRI(OWNER), signature=signs.signed(text, signs.SECOND_KEY))
    during(world, monkeypatch, lambda: registry.revoke_key(IRI(OWNER), stolen.thumbprint, by=IRI(OWNER)))
    outcome = None
    with suppress(smalti.SmaltiError):
        outcome = world.run(asked)
    assert outcome is None or outcome.version is None


def test_outputs_of_what_a_distrusted_key_signed_are_marked_though_it_is_inherited(
    world: World,
) -> None:
    registry = world.registry
    stolen = registry.trust_key(IRI(OWNER), signs.pem(signs.KEY), by=IRI(OWNER))
    registry.trust_key(IRI(OWNER), signs.pem(signs.SECOND_KEY), by=IRI(OWNER))
    base = way("b", released=[NAME])
    text = json.dumps(base).encode()
    registry.add_policy(text, "b", IRI(OWNER), signature=signs.signed(text))
    asked = policy({**READ, "assignee": BOB}, uid="child")
    asked["inheritFrom"] = base["uid"]
    text = json.dumps(asked).encode()
    registry.add_policy(text, "child", IRI(OWNER), signature=signs.signed(text, signs.SECOND_KEY))
    assert world.run(asked).version is not None
    registry.revoke_key(IRI(OWNER), stolen.thumbprint, by=IRI(OWNER))
    assert reviews(registry)


# --- Whoever registers an IRI above somebody's asset


LIST = "http://groups.example/personal-columns"
MADE = "http://outputs.example/anon/p"
ABOVE_TABLE, ABOVE_MADE = TABLE.rpartition("/")[0], MADE.rpartition("/")[0]


def claims(world: World, iri: str, by: str = STRANGER) -> None:
    world.add(policy({**READ, "uid": f"urn:x:{by[-1]}:{iri}", "target": iri}, uid=f"t:{iri}"), by)


def test_nobody_above_an_output_ends_what_it_belongs_to(world: World) -> None:
    world.add(policy(READ, uid="0"))
    assert world.run(way("p", output=MADE)).version is not None
    says(world, f"<{MADE}> a odrl:Asset ; odrl:partOf <{LIST}> .")
    world.add(policy(prohibitions=(prohibition(LIST),), uid="no"))
    assert world.decide(MADE).effect is Effect.DENY
    claims(world, ABOVE_MADE)
    assert world.decide(MADE).effect is Effect.DENY


def test_nobody_above_an_output_ends_what_its_columns_are_called(world: World) -> None:
    world.add(policy(READ, uid="0"))
    assert world.run(way("p", output=MADE)).version is not None
    says(world, f"<{MADE}> csvw:column <{SCHEMA_NAME}> .")
    world.add(policy(prohibitions=(prohibition(SCHEMA_NAME),), uid="no"))
    claims(world, ABOVE_MADE)
    assert [one.withheld for one in world.decide(MADE).grants] == [(SCHEMA_NAME,)]


@pytest.mark.parametrize("leaves", [False, True])
def test_nobody_above_a_table_takes_a_collection_of_its_columns(world: World, leaves: bool) -> None:
    world.add(policy(READ, uid="0"))
    says(world, f"<{NAME}> a odrl:Asset ; odrl:partOf <{LIST}> .")
    world.add(policy(prohibitions=(prohibition(LIST),), uid="no"))
    claims(world, ABOVE_TABLE)
    with suppress(smalti.SmaltiError):
        claims(world, LIST)
    world.registry.add_owner(IRI(ABOVE_TABLE), IRI(OWNER), by=IRI(STRANGER))
    if leaves:
        world.registry.remove_owner(IRI(ABOVE_TABLE), IRI(STRANGER), by=IRI(STRANGER))
    assert world.decide(NAME).effect is Effect.DENY
    assert world.run(way("p", released=[NAME])).version is None


def test_nobody_above_a_table_sees_its_owners_figures(world: World) -> None:
    world.add(policy(READ, uid="0"))
    assert world.run(way("p", respondent=[NAME], identifier=[NAME])).version is not None
    registry, table, stranger = world.registry, IRI(TABLE), IRI(STRANGER)
    registry.withdraw(table, ["Ann"], by=IRI(OWNER), column="Name")
    claims(world, ABOVE_TABLE)
    for act in (
        lambda: registry.count_withdrawn(table, by=stranger),
        lambda: registry.owners_budget(table, by=stranger),
        lambda: registry.withdraw(table, ["Bob"], by=stranger, column="Name"),
    ):
        with pytest.raises(smalti.SmaltiError, match="does not own it"):
            act()
    assert registry.count_withdrawn(table, by=IRI(OWNER)) == 1
