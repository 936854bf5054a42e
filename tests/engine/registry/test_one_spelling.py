"""Attacks by a second spelling of an IRI that succeeded: each test states what should be so."""

import json
from contextlib import suppress
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest
from shell import nobody_has, request, small_document, small_table
from shell import smalti as cli
from sqlalchemy import insert, select, update

import smalti
from smalti.engine.registry import _tables as db
from smalti.engine.registry.registry import Registry
from smalti.errors import DataError, UsageError
from smalti.policy.decide.decision import Effect, Fact, Request
from smalti.policy.model.iris import accepted_spelling, iri_problem
from smalti.policy.model.model import Named
from smalti.vocab.terms import IRI, READ

_at = Path(__file__).with_name("test_doubtful_columns.py")
_spec = spec_from_file_location("worlds_of_one_spelling", _at)
assert _spec is not None
assert _spec.loader is not None
doubts = module_from_spec(_spec)
_spec.loader.exec_module(doubts)
attacks, describe, way = doubts.attacks, doubts.describe, doubts.way
ANN, NAME, OWNER, STRANGER, TABLE = attacks.ANN, doubts.NAME, attacks.OWNER, attacks.STRANGER, attacks.TABLE
World, policy, prohibition = attacks.World, attacks.policy, attacks.prohibition
READING = attacks.READ

TERMS = "http://terms.example/"
SINCE = "2026-01-01T00:00:00+00:00"
SPELLINGS = ["gr\u00f6\u00dfe", "gr%C3%B6%C3%9Fe", "gr%c3%b6%C3%9Fe"]


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.mark.parametrize("declared", SPELLINGS)
@pytest.mark.parametrize("strangers", SPELLINGS)
@pytest.mark.parametrize("forbidden", SPELLINGS[:2])
def test_nobody_keeps_owners_from_prohibiting_a_declared_column(
    world: World, declared: str, strangers: str, forbidden: str
) -> None:
    """High: a stranger registers the column's IRI in another spelling, and the owner may not name it."""
    describe(world, "Name", TERMS + declared)
    world.add(policy(READING, uid="0"))
    assert world.run(way("p0")).version is not None
    with suppress(smalti.SmaltiError):
        world.add(policy({**READING, "uid": "urn:x:t", "target": TERMS + strangers}, uid="t"), STRANGER)
    theirs = "http://example.com/strangers"
    (world.folder / "s.csv").write_text("Age,ZIP\n1,2\n3,4\n")
    with suppress(smalti.SmaltiError):
        world.run(
            way("s", theirs, TERMS + strangers), data={theirs: world.folder / "s.csv"},
            party=STRANGER, owner=STRANGER,
        )  # fmt: skip
    world.add(policy(prohibitions=(prohibition(TERMS + forbidden),), uid="no"))
    assert world.run(way("p", released=[NAME])).version is None


@pytest.mark.parametrize(
    ("declared", "asked"),
    [
        ("gr%c3%b6%c3%9fe", "gr\u00f6\u00dfe"),
        ("gr%c3%b6%c3%9fe", "gr%C3%B6%C3%9Fe"),
        ("gr\u00f6\u00dfe", "gr%c3%b6%c3%9fe"),
        ("a%3ab", "a:b"),
        ("a:b", "a%3Ab"),
        ("a:b%2C", "a%3Ab,"),
    ],
)
def test_a_column_is_forbidden_by_each_spelling_of_its_declared_iri(
    world: World, declared: str, asked: str
) -> None:
    """High: decisions permitted to read it in any spelling but that of the description."""
    describe(world, "Name", TERMS + declared)
    reading = {**READING, "uid": "urn:x:c", "target": TERMS + declared}
    world.add(policy(READING, uid="0"))
    assert world.run(way("p0")).version is not None
    world.add(policy(reading, prohibitions=(prohibition(NAME),), uid="no"))
    assert world.decide(TERMS + asked).effect is not Effect.PERMIT
    assert world.decide(TERMS + declared).effect is not Effect.PERMIT


@pytest.mark.parametrize(
    ("stored", "written"),
    [
        ("http://Example.com/T", "http://example.com/T"),
        ("http://example.com/gro\u0308\u00dfe", "http://example.com/gr\u00f6\u00dfe"),
        ("http://example.com/gr%c3%b6%C3%9Fe", "http://example.com/gr\u00f6\u00dfe"),
        ("http://example.com/a%3Ab", "http://example.com/a:b"),
        ("http://example.com/", "http://example.com"),
        ("http://gr\u00f6\u00dfe.example/T", "http://xn--gre-6ka8i.example/T"),
        ("urn:EX:T", "urn:ex:T"),
        ("http://example.com/T?x[1]", "http://example.com/T?x%5B1%5D"),
        ("did:ex:a]", "did:ex:a%5D"),
    ],
)
def test_what_an_earlier_version_registered_is_nobody_elses(
    world: World, stored: str, written: str
) -> None:
    """High: an asset in a spelling that is refused now was not found, and a stranger became its owner."""
    world.add(policy(READING, uid="0"))
    with world.registry._database.writing() as connection:
        connection.execute(insert(db.assets).values(iri=stored, kind="source", registered_at=SINCE))
        connection.execute(insert(db.owners).values(iri=stored, party=OWNER))
    with pytest.raises(smalti.SmaltiError, match="does not own"):
        world.add(policy({**READING, "uid": "urn:x:t", "target": written}, uid="t"), STRANGER)
    assert world.decide(written).effect is not Effect.PERMIT
    assert STRANGER not in world.registry.owners(IRI(written))


@pytest.mark.parametrize(
    "recorded",
    [
        f"{TERMS}a%3Ab,c",
        f"{TERMS}gr%C3%B6\u00dfe",
        f"{TERMS}gr%c3%b6%C3%9Fe",
        f"{TERMS}n%61me",
        "http://%74erms.example/name",
        "http://gr\u00f6\u00dfe.example/name",
        "http://GR\u00d6SSE.example/name",
        "mailto:%6F'n@ex.example",
        "did:web:TERMS.example:name",
    ],
)
def test_a_column_is_forbidden_however_an_earlier_version_recorded_it(world: World, recorded: str) -> None:
    """High: plans with a spelling that is partly encoded were not found."""
    usual = accepted_spelling(recorded)
    describe(world, "Name", usual)
    world.add(policy(READING, uid="0"))
    assert world.run(way("p0")).version is not None
    with world.registry._database.writing() as connection:
        plans = connection.execute(select(db.versions.c.id, db.versions.c.plan)).all()
        for version, plan in plans:
            text = json.dumps(json.loads(plan), ensure_ascii=False).replace(usual, recorded)
            assert recorded in text
            connection.execute(update(db.versions).where(db.versions.c.id == version).values(plan=text))
    reading = {**READING, "uid": "urn:x:c", "target": usual}
    registry = Registry.open(world.folder / "r.sqlite")
    no = policy(reading, prohibitions=(prohibition(NAME),), uid="no")
    registry.add_policy(json.dumps(no).encode(), "no.jsonld", IRI(OWNER))
    decision = smalti.decide(party=ANN, action="read", target=usual, registry=registry)
    assert decision.effect is not Effect.PERMIT


@pytest.mark.parametrize("table", ["http://example.com/T\u00e4b", "http://example.com/a:b", "urn:ex:a:b"])
def test_a_policy_about_a_table_in_letters_comes_in_force_without_an_error(
    world: World, table: str
) -> None:
    """Medium: warnings were looked for under a spelling that requests refuse."""
    no = policy({**READING, "target": table}, prohibitions=(prohibition(f"{table}/Name"),), uid="0")
    (world.folder / "p.jsonld").write_text(json.dumps(no))
    place = str(world.folder / "r.sqlite")
    ran = cli("policy", "add", "p.jsonld", "--as", OWNER, "--registry", place, cwd=world.folder)
    assert (ran.code, ran.out.split(":")[0]) == (0, "in force"), ran.err


@pytest.mark.parametrize("forbidden", ["mailto:o'neil@ex.org", "mailto:o%27neil@ex.org"])
@pytest.mark.parametrize("party", ["mailto:o'neil@ex.org", "mailto:o%27neil@ex.org"])
def test_an_address_is_one_party(world: World, forbidden: str, party: str) -> None:
    """Medium: what is prohibited to an address was published for it."""
    world.add(policy(READING, prohibitions=(prohibition(NAME, assignee=forbidden),), uid="0"))
    assert world.decide(NAME, party=party).effect is Effect.DENY
    assert world.run(way("p", released=[NAME]), party=party).version is None


@pytest.mark.parametrize(
    ("accepted", "others"),
    [
        (
            "mailto:ann@xn--gre-6ka8i.example",
            [
                "mailto:ann@gr\u00f6\u00dfe.example",
                "mailto:ann@Xn--gre-6ka8i.example",
                "mailto:ann@GR\u00d6\u00dfe.example",
                "mailto:ann@gr%C3%B6%C3%9Fe.example",
            ],
        ),
        ("did:web:owner.example:Ann", ["did:web:OWNER.example:Ann", "did:web:%6Fwner.example:Ann"]),
        ("did:web:xn--gre-6ka8i.example", ["did:web:gr\u00f6\u00dfe.example"]),
        ("did:web:owner.example%3A8080:ann", ["did:web:Owner.example%3a8080:ann"]),
    ],
)
def test_domain_names_of_parties_have_one_spelling(accepted: str, others: list[str]) -> None:
    """High: what was prohibited to a party was published for it, in the other spelling of its domain."""
    assert iri_problem(accepted) == ""
    for other in others:
        assert accepted_spelling(other) == accepted
        assert iri_problem(other) == f"has another spelling than smalti accepts: write `{accepted}`"


@pytest.mark.parametrize(
    "party",
    ["mailto:", "mailto:ann", "mailto:@ex.com", "mailto:a@ex.com,b@ex.com", "mailto:a@ex.com?subject=x",
     "mailto:?to=a@ex.com", "mailto:a@ex.com?", "mailto:a@ex.com#", "mailto:a@ex.com.", "mailto:a@b@ex.com",
     "mailto:a@[127.0.0.1]", "did:web:", "did:web:owner.example.", "did:web:a_b..c"],
)  # fmt: skip
def test_what_names_no_single_party_is_refused(party: str) -> None:
    assert iri_problem(party)


def test_the_registry_takes_no_party_in_another_spelling(world: World) -> None:
    """Medium: it became an owner for whom nobody can ask."""
    world.add(policy(READING, uid="0"))
    other, owner = IRI("http://example.com/u/anna%40ex.org"), IRI(OWNER)
    document = json.dumps(policy(READING, uid="1")).encode()
    for refused in (
        lambda: world.registry.add_owner(IRI(TABLE), other, by=owner),
        lambda: world.registry.add_policy(document, "p", other),
        lambda: world.registry.trust_authority(owner, other, by=owner),
        lambda: world.registry.trust_key(other, b"", by=other),
        lambda: world.registry.add_hierarchy(b"", "v", other),
    ):
        with pytest.raises(UsageError, match=r"write `http://example.com/u/anna@ex.org`"):
            refused()


def test_a_request_in_code_takes_no_other_spelling() -> None:
    request: dict[str, Any] = {"party": IRI(ANN), "action": READ, "targets": (IRI(TABLE),)}
    assert smalti.authorize(Request(**request), []).effect is Effect.NOT_APPLICABLE
    other = IRI("http://example.com:80/x")
    fact = Fact(IRI("http://www.w3.org/ns/odrl/2/spatial"), (Named(other),))
    for changed in ({"party": other}, {"targets": (other,)}, {"purpose": other}, {"facts": (fact,)}):
        with pytest.raises(UsageError, match="leave it out"):
            smalti.authorize(Request(**{**request, **changed}), [])


@pytest.mark.parametrize("end", ["\u0085", "\u2028", "\u2029", "\x0b", "\x0c", "\x1c", "\x1e"])
def test_lines_of_withdrawals_end_at_line_feeds_alone(world: World, end: str) -> None:
    """Medium: a person whose identifier holds another separator was taken for two, and published."""
    world.data.write_text(world.data.read_text() + f'"a{end}x",30,100,secret\nZoe,31,100,b\n')
    name = [NAME]

    def published(uid: str) -> int:
        outcome = world.run(way(uid, released=[doubts.JOB], respondent=name, identifier=name))
        return len(next(outcome.version.path.glob("*.csv")).read_bytes().split(b"\n"))

    rows = published("p0")
    (world.folder / "list.txt").write_bytes(f"a{end}x\r\nZoe\n".encode())
    registry = str(world.folder / "r.sqlite")
    done = cli(
        "targets", "withdraw", TABLE, "--from", "list.txt", "--as", OWNER, "--column", "Name",
        "--registry", registry, cwd=world.folder,
    )  # fmt: skip
    assert "2 respondents are left out" in done.out, done.err
    nobody_has(world.registry)
    assert published("p1") == rows - 2


@pytest.mark.parametrize(
    "iri", [" http://example.com/n", "http:/example.com/n", "ftp://example.com/n", "ex:n"]
)
def test_a_declared_column_has_an_iri_that_policies_can_name(world: World, iri: str) -> None:
    """Medium: a prohibition of the IRI that was meant withheld nothing."""
    describe(world, "Name", iri)
    world.add(policy(READING, uid="0"))
    with pytest.raises(DataError, match="propertyUrl"):
        world.run(way("p"))


OF_A_CALLER = "http://example.com/party/gr%C3%B6%C3%9Fe"


def test_commands_read_iris_of_callers_in_each_spelling(tmp_path: Path) -> None:
    """Its owner was told to own nothing, and that the output is none."""
    output = "http://example.com/gr%C3%B6%C3%9Fe-out"
    document = small_document(rule={"output": accepted_spelling(output)})
    (tmp_path / "p.jsonld").write_text(json.dumps(document), encoding="utf-8")
    owner = accepted_spelling(OF_A_CALLER)
    ran = cli("run", "p.jsonld", *request(small_table(tmp_path), owner=owner), "--out", "out", cwd=tmp_path)
    assert ran.code == 0, ran.err
    for party in (owner, OF_A_CALLER):
        assert cli("targets", "list", "--as", party, cwd=tmp_path).code == 0
    for which in (output, accepted_spelling(output)):
        assert cli("verify", which, cwd=tmp_path).code == 0
        assert cli("targets", "list", which, cwd=tmp_path).code == 0
    refused = cli("targets", "list", "--as", "not an iri", cwd=tmp_path)
    assert (refused.code, "is not an absolute IRI" in refused.err) == (2, True)
    unknown = cli("verify", "not an iri", cwd=tmp_path)
    assert (unknown.code, "not an output in the registry" in unknown.err) == (2, True)
