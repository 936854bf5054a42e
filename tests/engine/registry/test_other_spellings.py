"""IRIs that differ in their percent-encodings only: nobody gets anything by another spelling."""

import json
from contextlib import suppress
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from shell import nobody_has
from spellings import refused_or_held

import smalti
from smalti.policy.decide.decision import Effect
from smalti.vocab.terms import IRI


def beside(name: str) -> ModuleType:
    """Another file of tests, whose worlds these use."""
    spec = spec_from_file_location(f"{name}_for_spellings", Path(__file__).with_name(f"{name}.py"))
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


def attempt(act: Any) -> None:
    with suppress(smalti.SmaltiError):
        act()


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.fixture
def shared(world: World) -> World:
    world.add(policy(READ, uid="0"))
    world.registry.add_owner(IRI(TABLE), IRI(OTHER), by=IRI(OWNER))
    return world


GROUP = "http://groups.example/list/personal"
ENCODED = "http://example.com/survey/%63ontraceptive"


SECRET = "Eve,30,100,secret\nFay,31,100,b\n"


@pytest.mark.parametrize(
    ("member", "table"),
    [
        ("http://example.com/%43", TABLE),
        (TABLE, "http://example.com/%43"),
        ("http://example.com/gr%c3%b6%c3%9fe", "http://example.com/größe"),
        ("http://example.com/größe", "http://example.com/gr%c3%b6%c3%9fe"),
    ],
)
@refused_or_held
def test_a_member_in_another_spelling_is_prohibited_with_its_collection(
    world: World, member: str, table: str
) -> None:
    world.add(policy({**READ, "target": table}, {**READ, "uid": "urn:x:g", "target": HOLDING}, uid="0"))
    says(world, f"<{member}> a odrl:Asset ; odrl:partOf <{HOLDING}> .")
    world.add(policy(prohibitions=(prohibition(HOLDING),), uid="no"))
    got = {one: world.decide(one).effect for one in (member, table, HOLDING, f"{table}/Name")}
    assert Effect.PERMIT not in got.values()


@pytest.mark.parametrize("member", [TABLE, "http://example.com/%43"])
@refused_or_held
def test_a_column_of_a_collection_whose_member_is_spelled_otherwise(world: World, member: str) -> None:
    world.add(policy(READ, READ_HOLDING, uid="0"))
    says(world, f"<{member}> a odrl:Asset ; odrl:partOf <{HOLDING}> .")
    assert runs(world, "first")
    world.add(policy(prohibitions=(prohibition("Nmae"),), uid="no"))
    got = {one: world.decide(one).effect for one in (NAME, f"{HOLDING}/Name", HOLDING)}
    assert Effect.PERMIT not in got.values()


@pytest.mark.parametrize("member", [TABLE, "http://example.com/%43"])
@refused_or_held
def test_a_prohibited_column_of_a_member_that_is_spelled_otherwise(world: World, member: str) -> None:
    world.add(policy(READ, READ_HOLDING, uid="0"))
    says(world, f"<{member}> a odrl:Asset ; odrl:partOf <{HOLDING}> .")
    assert runs(world, "first", columns={"released": [NAME]})
    world.add(policy(prohibitions=(prohibition("Name"),), uid="no"))
    got = {one: world.decide(one).effect for one in (NAME, f"{HOLDING}/Name", HOLDING, f"{OUTPUT}first")}
    assert Effect.PERMIT not in got.values()


@pytest.mark.parametrize(
    ("table", "output"),
    [
        (TABLE, "http://example.com/%43"),
        ("http://example.com/größe", "http://example.com/gr%C3%B6%C3%9Fe"),
        ("http://example.com/x:1", "http://example.com/x%3A1"),
    ],
)
def test_no_strangers_output_takes_an_owners_table_in_another_spelling(
    world: World, table: str, output: str
) -> None:
    """The stranger becomes an owner of a part; the owner may not permit anything any more."""
    world.add(policy({**READ, "target": table}, uid="0"))
    assert world.decide(table).effect is Effect.PERMIT
    data = world.folder / "s.csv"
    data.write_text(ROWS.replace("Ann", "Eve"))
    theirs = "http://example.com/theirs"
    document = way("s", theirs)
    document["permission"][0]["output"] = output
    with suppress(smalti.SmaltiError):
        world.run(document, owner=STRANGER, party=STRANGER, data={theirs: data})
    with suppress(smalti.SmaltiError):
        world.add(policy(prohibitions=(prohibition(table, "s"),), uid="sno"), STRANGER)
    assert world.registry.owners(IRI(table)) == {OWNER}
    assert world.registry.full_owners(IRI(table)) == {OWNER}
    assert world.decide(table).effect is Effect.PERMIT


def test_nor_is_the_strangers_budget_or_list_that_of_the_owner(world: World) -> None:
    """What only owners may ask and do: figures, and who withdrew (a stranger's list shrinks outputs)."""
    world.add(policy(READ, uid="0"))
    columns = {"respondent": [NAME], "identifier": [NAME]}
    assert runs(world, "p", columns=columns)
    data = world.folder / "s.csv"
    data.write_text(ROWS.replace("Ann", "Eve"))
    theirs = "http://example.com/theirs"
    document = way("s", theirs)
    document["permission"][0]["output"] = "http://example.com/%43"
    with suppress(smalti.SmaltiError):
        world.run(document, owner=STRANGER, party=STRANGER, data={theirs: data})
    with pytest.raises(smalti.SmaltiError):
        world.registry.owners_budget(IRI(TABLE), by=IRI(STRANGER))
    with pytest.raises(smalti.SmaltiError):
        world.registry.withdraw(IRI(TABLE), ["Ann"], by=IRI(STRANGER), column="Name")
    with pytest.raises(smalti.SmaltiError):
        world.registry.count_withdrawn(IRI(TABLE), by=IRI(STRANGER))


def test_an_output_is_not_its_target_in_another_spelling(world: World) -> None:
    """A permission on the output is one on the table."""
    table, output = "http://example.com/größe", "http://example.com/gr%C3%B6%C3%9Fe"
    document = way("p", table)
    document["permission"][0]["output"] = output
    with suppress(smalti.SmaltiError):
        world.run(document, data={table: world.data})
    with suppress(smalti.SmaltiError):
        world.add(policy({**READ, "target": output}, uid="0"))
    assert world.registry.all_versions() == ()


@pytest.mark.parametrize("kind", ["collection", "output"])
def test_a_stranger_says_nothing_of_a_collection_in_another_spelling(world: World, kind: str) -> None:
    world.add(policy(READ, READ_HOLDING, uid="0"))
    says(world, MEMBER)
    assert world.decide(HOLDING).effect is Effect.PERMIT
    theirs, spelled = "http://example.com/theirs", HOLDING.replace("/h", "/%68")
    data = world.folder / "s.csv"
    data.write_text(ROWS.replace("Ann", "Eve"))
    world.add(policy({**READ, "uid": "urn:x:t", "target": theirs}, uid="t"), STRANGER)
    with suppress(smalti.SmaltiError):
        if kind == "collection":
            says(world, f"<{theirs}> a odrl:Asset ; odrl:partOf <{spelled}> .", STRANGER)
        else:
            document = way("s", theirs)
            document["permission"][0]["output"] = spelled
            world.run(document, owner=STRANGER, party=STRANGER, data={theirs: data})
    assert STRANGER not in world.registry.owners(IRI(HOLDING))
    assert world.decide(HOLDING).effect is Effect.PERMIT
    assert world.decide(TABLE).effect is Effect.PERMIT


@pytest.mark.parametrize(
    "whole", [NAME, "http://example.com/%43", "http://example.com/%43/Name", f"{TABLE}/Nmae"]
)
@pytest.mark.parametrize("forbidden", [None, NAME, "http://example.com/%43/Name"])
@refused_or_held
def test_a_stranger_puts_nothing_into_what_is_an_owners(
    world: World, whole: str, forbidden: str | None
) -> None:
    world.add(policy(READ, uid="0"))
    assert runs(world, "p")
    if forbidden:
        world.add(policy(prohibitions=(prohibition(forbidden),), uid="no"))
    asked = (TABLE, NAME, JOB, f"{OUTPUT}p", "http://example.com/%43")
    before = {one: world.decide(one).effect for one in asked}
    theirs = "http://example.com/theirs"
    world.add(policy({**READ, "uid": "urn:x:t", "target": theirs}, uid="t"), STRANGER)
    for at, member in enumerate((theirs, f"{theirs}/Name")):
        with suppress(smalti.SmaltiError):
            world.registry.add_hierarchy(
                (attacks.PREFIXES + f"<{member}> a odrl:Asset ; odrl:partOf <{whole}> .").encode(),
                f"h{at}",
                IRI(STRANGER),
            )
    after = {one: world.decide(one).effect for one in asked}
    assert all(after[one] in (before[one], Effect.DENY) for one in asked)
    assert after[TABLE] == before[TABLE]
    assert runs(world, "z", columns={"released": [NAME]}) is (forbidden is None)


@pytest.mark.parametrize("output", [f"{OUTPUT}p", "http://example.com/%61nonymizedp"])
def test_a_strangers_output_is_not_an_owners_output(world: World, output: str) -> None:
    world.add(policy(READ, uid="0"))
    assert runs(world, "p")
    data = world.folder / "s.csv"
    data.write_text(ROWS.replace("Ann", "Eve"))
    document = way("s", "http://example.com/theirs")
    document["permission"][0]["output"] = output
    with suppress(smalti.SmaltiError):
        world.run(document, owner=STRANGER, party=STRANGER, data={"http://example.com/theirs": data})
    assert world.decide(f"{OUTPUT}p").effect is Effect.PERMIT
    assert world.registry.owners(IRI(f"{OUTPUT}p")) == {OWNER}
    assert runs(world, "p")


def test_a_stranger_lists_nobody_as_withdrawn_from_an_owners_table(world: World) -> None:
    """Two versions that differ in one person's row tell what that row says."""
    world.add(policy(READ, uid="0"))
    world.data.write_text(ROWS + SECRET)
    columns = {"respondent": [NAME], "identifier": [NAME], "released": [JOB]}
    assert runs(world, "p", columns=columns)
    data = world.folder / "s.csv"
    data.write_text(ROWS.replace("Ann", "Zoe"))
    document = way("s", "http://example.com/theirs")
    document["permission"][0]["output"] = "http://example.com/%43"
    with suppress(smalti.SmaltiError):
        world.run(document, owner=STRANGER, party=STRANGER, data={"http://example.com/theirs": data})
    with suppress(smalti.SmaltiError):
        world.registry.withdraw(IRI(TABLE), ["Eve"], by=IRI(STRANGER), column="Name")
    assert not world.registry.withdrawals.of(IRI(TABLE)).digests


def test_a_strangers_prohibition_counts_nowhere(world: World) -> None:
    """By an output in another spelling, the stranger's word counts about the owner's table."""
    world.add(policy(READ, uid="0"))
    data = world.folder / "s.csv"
    data.write_text(ROWS.replace("Ann", "Eve"))
    document = way("s", "http://example.com/theirs")
    document["permission"][0]["output"] = "http://example.com/%43"
    with suppress(smalti.SmaltiError):
        world.run(document, owner=STRANGER, party=STRANGER, data={"http://example.com/theirs": data})
    with suppress(smalti.SmaltiError):
        world.add(policy(prohibitions=(prohibition(TABLE, "s"),), uid="sno"), STRANGER)
    assert runs(world, "p")


@pytest.mark.parametrize("is_asset", [False, True])
def test_a_prohibition_on_a_collection_in_another_spelling_holds(world: World, is_asset: bool) -> None:
    """Whether a policy is about the collection or not."""
    plain, spelled = "http://example.com/größen", "http://example.com/gr%c3%b6%C3%9Fen"
    other = {**READ, "uid": "urn:x:g", "target": plain}
    world.add(policy(READ, *([other] if is_asset else []), uid="0"))
    says(world, f"<{TABLE}> a odrl:Asset ; odrl:partOf <{plain}> .")
    document = policy(prohibitions=(prohibition(spelled),), uid="no")
    world.add(document)
    assert Effect.PERMIT not in {world.decide(one).effect for one in (TABLE, NAME)}
    assert world.run(way("p", released=[NAME])).version is None


def test_who_withdrew_is_left_out_in_each_spelling(world: World) -> None:
    plain, spelled = "http://example.com/größe", "http://example.com/gr%C3%B6%C3%9Fe"
    world.data.write_text(ROWS + SECRET)

    def outcome(uid: str, table: str) -> Any:
        name = [f"{table}/Name"]
        document = way(uid, table, released=[f"{table}/Job"], respondent=name, identifier=name)
        return world.run(document, data={table: world.data})

    first = outcome("first", plain).version
    world.registry.withdraw(IRI(plain), ["Eve"], by=IRI(OWNER), column="Name")
    nobody_has(world.registry)
    second = outcome("second", spelled).version
    assert SECRET.split(",", maxsplit=1)[0] == "Eve"
    sizes = [len(next(version.path.glob("*.csv")).read_text().splitlines()) for version in (first, second)]
    assert sizes[1] == sizes[0] - 1


def test_no_budget_is_spent_twice_by_another_spelling(tmp_path: Path) -> None:
    """By the table's own IRI a second release does not fit; the data has other bytes."""
    survey = more.Survey(tmp_path)
    survey.document["permission"][0]["constraint"][0]["rightOperand"] = 1.5
    survey.document["uid"] += "x"
    survey.document["permission"][0]["uid"] += "x"
    assert survey.run(OWNER).version is not None
    document = json.loads(json.dumps(survey.document).replace(more.SURVEY, ENCODED))
    document["uid"] = "http://example.com/policy/theirs"
    document["permission"][0] |= {"uid": "urn:x:theirs", "output": "http://example.com/theirs"}
    (tmp_path / "theirs.jsonld").write_text(json.dumps(document))
    header, *rows = survey.data.read_text().splitlines(keepends=True)
    (tmp_path / "other.csv").write_text("".join([header, *reversed(rows)]))
    asked = (attacks.worlds.POLICIES / "contraceptive.query.json").read_text()
    (tmp_path / "q.json").write_text(asked.replace(more.SURVEY, ENCODED))
    with pytest.raises(smalti.SmaltiError, match="another spelling"):
        smalti.run(
            tmp_path / "theirs.jsonld", data={ENCODED: tmp_path / "other.csv"}, party=survey.party,
            owner=OWNER, purpose="statistical", registry=survey.registry, query=tmp_path / "q.json",
            out=tmp_path / "theirs",
        )  # fmt: skip


# --- What a stranger registers afterwards


@pytest.mark.parametrize("way_in", ["policy", "output", "source"])
@pytest.mark.parametrize(
    "claimed",
    [
        "http://groups.example/list",
        "http://groups.example/list/%70ersonal",
        "http://groups.example/%6Cist",
        GROUP,
        "http://groups.example/list/personal/x",
    ],
)
def test_a_stranger_ends_no_owners_membership(world: World, claimed: str, way_in: str) -> None:
    """The owner's prohibition on the collection goes on to hold for its member."""
    world.add(policy(READ, uid="0"))
    says(world, f"<{TABLE}> a odrl:Asset ; odrl:partOf <{GROUP}> .")
    world.add(policy(prohibitions=(prohibition(GROUP),), uid="no"))
    assert world.decide(TABLE).effect is Effect.DENY
    data = world.folder / "s.csv"
    data.write_text(ROWS.replace("Ann", "Eve"))
    theirs = "http://stranger.example/theirs"
    if way_in == "policy":
        attempt(lambda: world.add(policy({**READ, "uid": "urn:x:t", "target": claimed}, uid="t"), STRANGER))
    elif way_in == "output":
        document = way("s", theirs, output=claimed)
        attempt(lambda: world.run(document, owner=STRANGER, party=STRANGER, data={theirs: data}))
    else:
        attempt(lambda: world.run(way("s", claimed), owner=STRANGER, party=STRANGER, data={claimed: data}))
    assert world.decide(TABLE).effect is Effect.DENY
    assert not runs(world, "p", columns={"released": [NAME]})


@pytest.mark.parametrize("order", ["owner", "stranger"])
def test_several_owners_share_an_open_collection(world: World, order: str) -> None:
    world.add(policy(READ, uid="0"))
    theirs = "http://other.example/t"
    world.add(policy({**READ, "uid": "urn:x:t", "target": theirs}, uid="t"), OTHER)
    one = lambda: says(world, f"<{TABLE}> a odrl:Asset ; odrl:partOf <{GROUP}> .")  # noqa: E731
    other = lambda: says(world, f"<{theirs}> a odrl:Asset ; odrl:partOf <{GROUP}> .", OTHER)  # noqa: E731
    for act in (one, other) if order == "owner" else (other, one):
        act()
    world.add(policy(prohibitions=(prohibition(GROUP),), uid="no"))
    assert world.decide(TABLE).effect is Effect.DENY


@refused_or_held
def test_a_co_owner_reads_a_collection_past_another_owners_prohibition(shared: World) -> None:
    holding, spelled = "http://groups.example/h", "http://groups.example/%68"
    shared.add(policy({**READ, "uid": "urn:x:g", "target": holding}, uid="g"))
    says(shared, f"<{TABLE}> a odrl:Asset ; odrl:partOf <{spelled}> .")
    shared.add(policy(prohibitions=(prohibition(TABLE),), uid="no"), OTHER)
    assert shared.decide(TABLE).effect is Effect.DENY
    assert shared.decide(holding).effect is Effect.DENY
    assert shared.decide(spelled).effect is Effect.DENY


def test_one_policy_makes_no_two_spellings_assets(world: World) -> None:
    spelled = "http://example.com/%43"
    attempt(lambda: world.add(policy(READ, {**READ, "uid": "urn:x:2", "target": spelled}, uid="0")))
    assert len(world.registry.assets()) < 2


def test_nobody_who_withdrew_is_in_a_run_on_another_spelling(world: World) -> None:
    spelled = "http://example.com/%43"
    attempt(lambda: world.add(policy(READ, {**READ, "uid": "urn:x:2", "target": spelled}, uid="0")))
    columns = {"respondent": [NAME], "identifier": [NAME]}
    assert runs(world, "p", columns=columns)
    world.registry.withdraw(IRI(TABLE), ["Ann"], by=IRI(OWNER), column="Name")
    other = {"respondent": [f"{spelled}/Name"], "identifier": [f"{spelled}/Name"]}
    outcome = None
    with suppress(smalti.SmaltiError):
        outcome = world.run(way("q", spelled, **other), data={spelled: world.data})
    if outcome is not None and outcome.version is not None:
        (published,) = (world.folder / f"out{world._runs}").glob("*.csv")
        assert len(published.read_text().splitlines()) == 4


def test_a_stranger_ends_no_membership_of_a_collection_that_is_an_asset(world: World) -> None:
    """The owner's policy claimed the collection; the stranger comes above it."""
    world.add(policy(READ, {**READ, "uid": "urn:x:g", "target": GROUP}, uid="0"))
    says(world, f"<{TABLE}> a odrl:Asset ; odrl:partOf <{GROUP}> .")
    world.add(policy(prohibitions=(prohibition(GROUP),), uid="no"))
    assert world.decide(TABLE).effect is Effect.DENY
    above = GROUP.rpartition("/")[0]
    attempt(lambda: world.add(policy({**READ, "uid": "urn:x:t", "target": above}, uid="t"), STRANGER))
    assert world.decide(TABLE).effect is Effect.DENY
    assert not runs(world, "p", columns={"released": [NAME]})


def test_owners_group_tables_below_an_iri_that_somebody_else_has(world: World) -> None:
    """Whoever comes first at a host keeps nobody from grouping tables of their own under it."""
    world.add(policy({**READ, "uid": "urn:x:t", "target": "http://groups.example"}, uid="t"), STRANGER)
    world.add(policy(READ, uid="0"))
    flat = "http://groups.example/personal"
    says(world, f"<{TABLE}> a odrl:Asset ; odrl:partOf <{flat}> .")
    world.add(policy(prohibitions=(prohibition(flat),), uid="no"))
    assert world.decide(TABLE).effect is Effect.DENY


# --- Parties, facts and names in headers


WRITTEN = [
    ("http://example.com/party/ann", "http://example.com/party/%61nn"),
    ("http://example.com/party/ann", "http://EXAMPLE.com/party/ann"),
    ("http://example.com/party/gr\u00f6\u00dfe", "http://example.com/party/gr%C3%B6%C3%9Fe"),
    ("http://example.com/party/gr\u00f6\u00dfe", "http://example.com/party/gro\u0308\u00dfe"),
    ("http://gr\u00f6\u00dfe.example/ann", "http://xn--gre-6ka8i.example/ann"),
]


@pytest.mark.parametrize("pair", [*WRITTEN, *(pair[::-1] for pair in WRITTEN)])
@pytest.mark.parametrize("through_group", [False, True])
@refused_or_held
def test_a_prohibition_holds_for_a_party_however_it_is_written(
    world: World, pair: tuple[str, str], through_group: bool
) -> None:
    forbidden, asking = pair
    group = "http://example.com/party/group"
    world.add(policy(READ, uid="0"))
    if through_group:
        says(world, f"<{forbidden}> a odrl:Party ; odrl:partOf <{group}> .")
    no = prohibition(NAME, assignee=group if through_group else forbidden)
    world.add(policy(prohibitions=(no,), uid="no"))
    asked = smalti.decide(party=asking, action="read", target=NAME, registry=world.registry)
    assert asked.effect is Effect.DENY
    assert world.run(way("p", released=[NAME]), party=asking).version is None


@pytest.mark.parametrize("operator", ["neq", "isNoneOf"])
@refused_or_held
def test_a_fact_is_excluded_however_it_is_written(world: World, operator: str) -> None:
    value: Any = {"@id": "http://example.com/geo/DE"}
    limit = {"leftOperand": "spatial", "operator": operator, "rightOperand": value}
    world.add(policy({**READ, "constraint": [limit]}, uid="0"))
    for fact, effect in (("FR", Effect.PERMIT), ("DE", Effect.DENY), ("%44E", Effect.DENY)):
        found = smalti.decide(
            party=ANN, action="read", target=TABLE, registry=world.registry,
            facts=(f"spatial=http://example.com/geo/{fact}",),
        )  # fmt: skip
        assert found.effect is effect


@pytest.mark.parametrize(
    ("header", "named"),
    [("Gro\u0308\u00dfe", "Gr\u00f6\u00dfe"), ("Gr\u00f6\u00dfe", "Gro\u0308\u00dfe"), ("name", "Name")],
)
@refused_or_held
def test_a_collections_column_is_withheld_of_a_member_that_spells_it_otherwise(
    world: World, header: str, named: str
) -> None:
    world.data.write_text(ROWS.replace("Name", header))
    world.add(policy(READ, uid="0"))
    says(world, f"<{TABLE}> a odrl:Asset ; odrl:partOf <{GROUP}> .")
    world.add(policy(prohibitions=(prohibition(f"{GROUP}/{named}"),), uid="no"))
    assert world.run(way("p", released=[f"{TABLE}/{header}"])).version is None
    assert world.run(way("q")).version is not None


@pytest.mark.parametrize("forbidden", ["http://EXAMPLE.com/C/Name", "http://example.com/C/%4eame"])
@refused_or_held
def test_a_column_is_prohibited_in_any_spelling_of_its_table(world: World, forbidden: str) -> None:
    world.add(policy(READ, uid="0"))
    world.add(policy(prohibitions=(prohibition(forbidden),), uid="no"))
    assert world.run(way("p", released=[NAME])).version is None
    assert world.run(way("q", identifier=[NAME])).version is not None
    assert world.decide(NAME).effect is Effect.DENY
