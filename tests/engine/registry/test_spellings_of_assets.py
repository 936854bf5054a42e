"""Spellings of assets, collections, purposes and letters: nobody gets anything by another one."""

import json
from contextlib import suppress
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from spellings import REFUSED, refused_or_held

import smalti
from smalti.engine.registry._assets import claim_sources
from smalti.engine.registry.authority import decide
from smalti.engine.registry.submissions import Submission
from smalti.policy.decide.decision import Effect, Request
from smalti.policy.model.iris import accepted_spelling
from smalti.policy.read.parse import parse
from smalti.vocab import terms
from smalti.vocab.terms import IRI


def beside(name: str) -> ModuleType:
    """Another file of tests, whose worlds these use."""
    spec = spec_from_file_location(f"{name}_for_assets", Path(__file__).with_name(f"{name}.py"))
    assert spec is not None
    assert spec.loader is not None
    found = module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


doubts = beside("test_doubtful_columns")
more, attacks = doubts.more, doubts.attacks
ANN, OWNER, READ, STRANGER = attacks.ANN, attacks.OWNER, attacks.READ, attacks.STRANGER
SCHEMA_NAME, TABLE, World, says = attacks.SCHEMA_NAME, attacks.TABLE, attacks.World, attacks.says
policy, prohibition = attacks.policy, attacks.prohibition
NAME, JOB, way = doubts.NAME, doubts.JOB, doubts.way


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


NFC, NFD = "http://example.com/gr\u00f6\u00dfe", "http://example.com/gro\u0308\u00dfe"
ENCODED, LOWER = "http://example.com/gr%C3%B6%C3%9Fe", "http://example.com/gr%c3%b6%c3%9fe"
PAIRS = [
    ("http://EXAMPLE.com/C", "http://example.com/C"),
    ("http://EXAMPLE.com/C", "http://Example.com/C"),
    (NFD, NFC),
    ("http://xn--gre-6ka8i.example/C", "http://gr\u00f6\u00dfe.example/C"),
    ("http://example.com/C", "http://EXAMPLE.com/C"),
    (NFC, NFD),
    ("http://gr\u00f6\u00dfe.example/C", "http://xn--gre-6ka8i.example/C"),
    # These are one, in whatever spelling a document has them:
    (NFC, ENCODED),
    (ENCODED, NFC),
    (LOWER, ENCODED),
    (NFC, LOWER),
    ("http://example.com/a:b", "http://example.com/a%3Ab"),
    ("http://example.com/a%3Ab", "http://example.com/a:b"),
    ("http://xn--gre-6ka8i.example/\u00f6:b", "http://xn--gre-6ka8i.example/%C3%B6%3Ab"),
    ("http://xn--gre-6ka8i.example/%C3%B6:b", "http://xn--gre-6ka8i.example/\u00f6%3Ab"),
]
"""A table as it is known, and in another spelling."""


def rows_of(outcome: Any) -> int:
    (table,) = outcome.version.path.glob("*.csv")
    return len(table.read_text().splitlines()) - 1


# --- A table that is known in another spelling than `normalised_column` has


@pytest.mark.parametrize(("known", "other"), PAIRS)
@pytest.mark.parametrize("name", ["", "/Name"])
@refused_or_held
def test_a_stranger_permits_nothing_of_a_table_in_another_spelling(
    world: World, known: str, other: str, name: str
) -> None:
    """High: a denial of what is the owner's turns to a permit, by a stranger's policy."""
    world.add(policy({**READ, "target": known}, prohibitions=(prohibition(known),), uid="0"))
    with suppress(smalti.SmaltiError):
        world.add(policy({**READ, "uid": "urn:x:t", "target": f"{other}{name}"}, uid="t"), STRANGER)
    assert [one.iri for one in world.registry.assets()] == [accepted_spelling(known)]
    assert world.decide(f"{other}{name}").effect is Effect.DENY


@pytest.mark.parametrize(("known", "other"), PAIRS)
@refused_or_held
def test_nobody_runs_past_a_prohibition_by_another_spelling(world: World, known: str, other: str) -> None:
    """Critical: the column is published."""
    world.add(policy({**READ, "target": known}, prohibitions=(prohibition(known),), uid="0"))
    outcome = None
    with suppress(smalti.SmaltiError):
        document = way("p", other, released=[f"{other}/Name"])
        outcome = world.run(document, owner=STRANGER, data={other: world.data})
    assert outcome is None or outcome.version is None


@pytest.mark.parametrize(("known", "other"), PAIRS)
@refused_or_held
def test_nobody_who_withdrew_is_published_by_another_spelling(world: World, known: str, other: str) -> None:
    """Critical: who withdrew is in the output."""

    def outcome(uid: str, table: str) -> Any:
        name = [f"{table}/Name"]
        document = way(uid, table, released=[f"{table}/Job"], respondent=name, identifier=name)
        return world.run(document, data={table: world.data})

    first = outcome("first", known)
    world.registry.withdraw(IRI(accepted_spelling(known)), ["Ann"], by=IRI(OWNER), column="Name")
    second = None
    with suppress(smalti.SmaltiError):
        second = outcome("second", other)
    assert second is None or second.version is None or rows_of(second) == rows_of(first) - 1


@pytest.mark.parametrize(("known", "other"), [pair for pair in PAIRS if NFC in pair or "gr" in pair[0]])
@refused_or_held
def test_a_stranger_is_no_owner_of_a_collection_in_another_spelling(
    world: World, known: str, other: str
) -> None:
    """High: the stranger reads the owner's budget of the collection, and may prohibit."""
    world.add(policy(READ, {**READ, "uid": "urn:x:g", "target": known}, uid="0"))
    says(world, f"<{TABLE}> a odrl:Asset ; odrl:partOf <{known}> .")
    theirs = "http://stranger.example/theirs"
    world.add(policy({**READ, "uid": "urn:x:t", "target": theirs}, uid="t"), STRANGER)
    with suppress(smalti.SmaltiError):
        says(world, f"<{theirs}> a odrl:Asset ; odrl:partOf <{other}> .", STRANGER)
    assert world.registry.owners(IRI(known)) == {OWNER}
    with pytest.raises(smalti.SmaltiError):
        world.registry.owners_budget(IRI(known), by=IRI(STRANGER))


# --- Collections and columns that a vocabulary writes otherwise

LIST = "http://groups.example/list"


@pytest.mark.parametrize("said", [LIST, "http://GROUPS.example/list", "http://groups.example/%6Cist"])
@pytest.mark.parametrize("forbidden", [LIST, "http://groups.EXAMPLE/list"])
@refused_or_held
def test_a_collections_column_is_withheld_however_the_collection_is_written(
    world: World, said: str, forbidden: str
) -> None:
    """Critical: the column is published, and permitted to be read."""
    world.add(policy(READ, uid="0"))
    says(world, f"<{TABLE}> a odrl:Asset ; odrl:partOf <{said}> .")
    world.add(policy(prohibitions=(prohibition(f"{forbidden}/Name"),), uid="no"))
    assert world.decide(NAME).effect is Effect.DENY
    assert world.decide(TABLE).effect is Effect.LIMITED
    assert world.run(way("p", released=[NAME])).version is None


@pytest.mark.parametrize("table", [TABLE, "http://EXAMPLE.com/C", "http://example.com/%43"])
@refused_or_held
def test_a_declared_column_is_one_however_its_table_is_written(world: World, table: str) -> None:
    """Critical: the column is published."""
    world.add(policy(READ, uid="0"))
    says(world, f"<{table}> csvw:column <{SCHEMA_NAME}> .")
    world.add(policy(prohibitions=(prohibition(SCHEMA_NAME),), uid="no"))
    assert [one.withheld for one in world.decide(TABLE).grants] == [(SCHEMA_NAME,)]
    assert world.run(way("p", released=[NAME])).version is None


@pytest.mark.parametrize("asked", [LIST, "http://GROUPS.example/list", "http://groups.example/%6Cist"])
@refused_or_held
def test_a_strangers_submission_permits_nothing_of_an_owners_collection(world: World, asked: str) -> None:
    """High: the stranger is taken as the owner of what is not known so far."""
    world.add(policy(READ, uid="0"))
    says(world, f"<{TABLE}> a odrl:Asset ; odrl:partOf <{LIST}> .")
    text = json.dumps(policy({**READ, "uid": "urn:x:t", "target": asked}, uid="t")).encode()
    parsed = parse(text, "t")
    if asked != LIST:
        assert [finding.code for finding in parsed.errors] == ["P212"]
        return
    submission = Submission(parsed.policies[0], IRI(STRANGER), text)
    request = Request(party=IRI(ANN), action=terms.READ, targets=(IRI(asked),))
    assert decide(world.registry, request, submission=submission).effect is Effect.DENY


@pytest.mark.parametrize("spelled", ["/contra", "/%63ontra"])
@refused_or_held
def test_a_member_in_another_spelling_shares_its_ledger(tmp_path: Path, spelled: str) -> None:
    """Critical: two releases, where the budget has room for one."""
    survey, whole = more.Survey(tmp_path), "http://example.com/whole"
    survey.document["permission"][0]["constraint"][0]["rightOperand"] = 1.5
    survey.document["uid"] += "x"
    survey.document["permission"][0]["uid"] += "x"
    survey.add(policy({**READ, "uid": "urn:x:w", "target": whole}, uid="w"))
    member = more.SURVEY.replace("/contra", spelled)
    said = f"<{member}> a odrl:Asset ; odrl:partOf <{whole}> ."
    survey.registry.add_hierarchy((attacks.PREFIXES + said).encode(), "h", IRI(OWNER))
    assert survey.run(OWNER).version is not None
    document = json.loads(json.dumps(survey.document).replace(more.SURVEY, whole))
    document["uid"] = "http://example.com/policy/second"
    document["permission"][0] |= {"uid": "urn:x:second", "output": "http://example.com/second"}
    (tmp_path / "second.jsonld").write_text(json.dumps(document))
    header, *rows = survey.data.read_text().splitlines(keepends=True)
    (tmp_path / "other.csv").write_text("".join([header, *reversed(rows)]))
    asked = (attacks.worlds.POLICIES / "contraceptive.query.json").read_text()
    (tmp_path / "q.json").write_text(asked.replace(more.SURVEY, whole))
    second = smalti.run(
        tmp_path / "second.jsonld", data={whole: tmp_path / "other.csv"}, party=survey.party, owner=OWNER,
        purpose="statistical", registry=survey.registry, query=tmp_path / "q.json", out=tmp_path / "second",
    )  # fmt: skip
    assert second.version is None


# --- Purposes, and encoded letters

STUDY = "http://example.com/purpose/gr\u00f6\u00dfe"
STUDIES = [
    "http://EXAMPLE.com/purpose/gr\u00f6\u00dfe",
    "http://example.com/purpose/gro\u0308\u00dfe",
    "http://example.com/purpose/gr%C3%B6%C3%9Fe",
    "http://example.com/purpose/gr%c3%b6%C3%9Fe",
]


@pytest.mark.parametrize("pair", [*((STUDY, one) for one in STUDIES), *((one, STUDY) for one in STUDIES)])
@refused_or_held
def test_a_purpose_is_prohibited_however_it_is_written(world: World, pair: tuple[str, str]) -> None:
    """Critical: what is forbidden for a purpose is published for it."""
    defined, forbidden = pair
    world.add(policy(READ, uid="0"))
    says(world, f"<{defined}> a dpv:Purpose ; skos:broader dpv:ResearchAndDevelopment .")
    limit = {"leftOperand": "purpose", "operator": "eq", "rightOperand": {"@id": forbidden}}
    world.add(policy(prohibitions=(prohibition(NAME, constraint=[limit]),), uid="no"))
    for purpose in pair:
        asked = smalti.decide(
            party=ANN, action="read", target=NAME, purpose=purpose, registry=world.registry
        )
        assert asked.effect is Effect.DENY
        assert world.run(way("p", released=[NAME]), purpose=purpose).version is None


@pytest.mark.parametrize("written", STUDIES)
@refused_or_held
def test_a_purpose_is_excluded_however_it_is_written(world: World, written: str) -> None:
    limit = {"leftOperand": "purpose", "operator": "neq", "rightOperand": {"@id": written}}
    world.add(policy({**READ, "constraint": [limit]}, uid="0"))
    says(world, f"<{STUDY}> a dpv:Purpose ; skos:broader dpv:ResearchAndDevelopment .")
    asked = smalti.decide(party=ANN, action="read", target=TABLE, purpose=STUDY, registry=world.registry)
    assert asked.effect is not Effect.PERMIT


@pytest.mark.parametrize(
    ("forbidden", "asking"),
    [
        ("http://%45xample.com/party/ann", "http://example.com/party/ann"),
        ("http://example.com/party/%61%CC%88nn", "http://example.com/party/\u00e4nn"),
        ("http://%78%6E--gre-6ka8i.example/ann", "http://gr\u00f6\u00dfe.example/ann"),
    ],
)
@refused_or_held
def test_encoded_letters_in_a_host_and_before_an_accent_make_no_other_party(
    world: World, forbidden: str, asking: str
) -> None:
    """Medium: a column that is prohibited to somebody is published for them."""
    world.add(policy(READ, uid="0"))
    world.add(policy(prohibitions=(prohibition(NAME, assignee=forbidden),), uid="no"))
    assert world.decide(NAME, party=asking).effect is Effect.DENY
    assert world.run(way("p", released=[NAME]), party=asking).version is None


# --- Each way in

SPELLED = {
    "http://EXAMPLE.com/a": "http://example.com/a",
    "http://example.com/%61": "http://example.com/a",
    "http://example.com/o\u0308": "http://example.com/\u00f6",
    "http://example.com/o%CC%88": "http://example.com/\u00f6",
    "http://gr\u00f6\u00dfe.example/a": "http://xn--gre-6ka8i.example/a",
    "http://XN--gre-6ka8i.example/a": "http://xn--gre-6ka8i.example/a",
    "http://example.com/100%": "http://example.com/100%25",
}
CONSTRAINT = {"leftOperand": "spatial", "operator": "neq"}
WAYS_IN: dict[str, Any] = {
    "target": lambda world, iri: world.add(policy({**READ, "target": iri}, uid="0")),
    "assignee": lambda world, iri: world.add(policy({**READ, "assignee": iri}, uid="0")),
    "value": lambda world, iri: world.add(
        policy({**READ, "constraint": [{**CONSTRAINT, "rightOperand": {"@id": iri}}]}, uid="0")
    ),
    "text": lambda world, iri: world.add(
        policy({**READ, "constraint": [{**CONSTRAINT, "rightOperand": iri}]}, uid="0")
    ),
    "vocabulary": lambda world, iri: says(world, f"<{iri}> a dpv:Purpose ; skos:broader dpv:Marketing ."),
    "party": lambda world, iri: world.decide(TABLE, party=iri),
    "asked": lambda world, iri: world.decide(iri),
    "fact": lambda world, iri: smalti.decide(
        party=ANN, action="read", target=TABLE, facts=(f"spatial={iri}",), registry=world.registry
    ),
    "purpose": lambda world, iri: smalti.decide(
        party=ANN, action="read", target=TABLE, purpose=iri, registry=world.registry
    ),
    "data": lambda world, iri: world.run(way("p", TABLE), data={iri: world.data}),
}


@pytest.mark.parametrize("way_in", WAYS_IN)
@pytest.mark.parametrize("written", SPELLED)
def test_each_way_in_refuses_other_spellings_and_names_the_accepted_one(
    world: World, way_in: str, written: str
) -> None:
    with pytest.raises(smalti.SmaltiError) as raised:
        WAYS_IN[way_in](world, written)
    assert f"{REFUSED}{SPELLED[written]}`" in " ".join(str(raised.value).split())
    assert world.registry.assets() == ()


@pytest.mark.parametrize("written", SPELLED)
def test_no_asset_is_registered_in_another_spelling_by_code(world: World, written: str) -> None:
    with (
        pytest.raises(smalti.SmaltiError, match="another spelling"),
        world.registry._database.writing() as c,
    ):
        claim_sources(c, [IRI(written)], IRI(OWNER))
