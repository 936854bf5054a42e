"""A prohibition on a column, from stored and submitted policies to what a run publishes."""

import json
from pathlib import Path
from typing import Any

import pytest
from effort import examples
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from shell import POLICIES, ROOT
from spellings import REFUSED, refused_or_held

import smalti
from smalti.engine.plan.serialize import plan_digest
from smalti.engine.registry.registry import Registry
from smalti.engine.registry.review import reviews
from smalti.errors import PolicyError, UsageError
from smalti.policy.decide.decision import Decision, Effect
from smalti.vocab.terms import IRI

TABLE, OUTPUT = "http://example.com/C", "http://example.com/anonymized"
OWNER, STRANGER, ANN = (f"http://example.com/party/{name}" for name in ("owner", "stranger", "ann"))
ROWS = "Name,Age,ZIP,Job\nAnn,30,100,a\nBob,31,100,b\nCid,32,101,c\nDan,33,101,a\n"
HEADER = ("Name", "Age", "ZIP", "Job")


def refined(**columns: list[str]) -> dict[str, Any]:
    """To anonymize at k = 2; a name without a colon is a column's of the table."""

    def iris(names: list[str]) -> list[dict[str, str]]:
        return [{"@id": name if ":" in name else f"{TABLE}/{name}"} for name in names]

    words = [("mosaicrown:method", "eq", "k-anonymity"), ("mosaicrown:k", "eq", 2)]
    respondent = columns.pop("respondent", None)
    who = iris(respondent)[0] if respondent else {"@id": "smalti:oneRowEach"}
    if respondent != []:
        words.append(("smalti:respondent", "eq", who))  # type: ignore[arg-type]
    columns = {"quasi": ["Age", "ZIP"], **columns}
    names = {"quasi": "mosaicrown:quasi-identifier", "released": "smalti:released"}
    words += [
        (names.get(role, f"mosaicrown:{role}"), "isAllOf", iris(listed))  # type: ignore[misc]
        for role, listed in columns.items()
        if listed
    ]
    parts = ("leftOperand", "operator", "rightOperand")
    return {
        "rdf:value": {"@id": "odrl:anonymize"},
        "refinement": [dict(zip(parts, word, strict=True)) for word in words],
    }


def permission(target: str = TABLE, uid: str = "p", **columns: list[str]) -> dict[str, Any]:
    return {
        "uid": f"http://example.com/rule/{uid}", "target": target, "output": OUTPUT,
        "action": [refined(**columns)],
    }  # fmt: skip


def prohibition(column: str = "Name", uid: str = "n", **more: Any) -> dict[str, Any]:
    target = column if ":" in column else f"{TABLE}/{column}"
    return {"uid": f"http://example.com/rule/{uid}", "target": target, "action": "use", **more}


def policy(
    *permissions: dict[str, Any],
    prohibitions: tuple[dict[str, Any], ...] = (),
    uid: str = "1",
    conflict: str = "prohibit",
) -> dict[str, Any]:
    return {
        "@context": [
            "http://www.w3.org/ns/odrl.jsonld",
            "http://localhost:8000/ns/mosaicrown/namespace.jsonld",
            "https://w3id.org/smalti/context.jsonld",
        ],
        "@type": "Set",
        "uid": f"http://example.com/policy/{uid}",
        "profile": ["https://www.mosaicrown.eu/ns/mosaicrown/1/", "https://w3id.org/smalti#"],
        "conflict": conflict,
        **({"permission": list(permissions)} if permissions else {}),
        **({"prohibition": list(prohibitions)} if prohibitions else {}),
    }


class World:
    """A registry, a table, and a folder for policies."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.registry = Registry.open(folder / "r.sqlite")
        self.data = folder / "c.csv"
        self.data.write_text(ROWS)
        self._runs = 0

    def describe(self, *columns: dict[str, Any], **more: Any) -> None:
        described = {
            "@context": "http://www.w3.org/ns/csvw", "url": "c.csv",
            "tableSchema": {"columns": list(columns), **more},
        }  # fmt: skip
        (self.folder / "c.csv-metadata.json").write_text(json.dumps(described))

    def add(self, document: dict[str, Any], by: str = OWNER) -> None:
        self.registry.add_policy(json.dumps(document).encode(), "policy.jsonld", IRI(by))

    def run(self, document: dict[str, Any], **more: Any) -> Any:
        self._runs += 1
        place = self.folder / "policy.jsonld"
        place.write_text(json.dumps(document))
        asked: dict[str, Any] = {"data": {TABLE: self.data}, "party": ANN, "owner": OWNER, **more}
        return smalti.run(place, registry=self.registry, out=self.folder / f"out{self._runs}", **asked)

    def plan(self, document: dict[str, Any], **more: Any) -> Any:
        place = self.folder / "policy.jsonld"
        place.write_text(json.dumps(document))
        asked: dict[str, Any] = {"data": {TABLE: self.data}, "party": ANN, "owner": OWNER, **more}
        return smalti.plan(place, registry=self.registry, **asked)

    def header(self) -> set[str]:
        """What the last run published."""
        (published,) = (self.folder / f"out{self._runs}").glob("*.csv")
        return set(published.read_text().splitlines()[0].split(","))

    def decide(self, target: str = TABLE, party: str = ANN, action: str = "read") -> Decision:
        return smalti.decide(party=party, action=action, target=target, registry=self.registry)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


READ = {"uid": "http://example.com/rule/r", "target": TABLE, "action": "read"}


def is_denied(outcome: Any, why: str = "") -> bool:
    text = " ".join(reason.text for reason in outcome.decision.reasons)
    return outcome.decision.effect is Effect.DENY and why in text


# --- The case itself


@pytest.mark.parametrize("is_split", [False, True])
def test_what_a_policy_prohibits_is_not_published(world: World, is_split: bool) -> None:
    releasing = permission(released=["Name"])
    document = policy(releasing, prohibitions=() if is_split else (prohibition(),))
    if is_split:
        world.add(policy(prohibitions=(prohibition(),), uid="2"))
    assert is_denied(world.plan(document), "the use of the column")
    outcome = world.run(document)
    assert is_denied(outcome, "the use of the column")
    assert outcome.version is None
    world.add(policy(READ, uid="3"))
    if not is_split:
        world.add(document)
    decision = world.decide()
    assert (decision.effect, decision.is_permitted) == (Effect.LIMITED, False)
    assert {grant.withheld for grant in decision.grants} == {(f"{TABLE}/Name",)}
    assert world.decide(f"{TABLE}/Name").effect is Effect.DENY
    assert world.decide(f"{TABLE}/Age").effect is Effect.PERMIT


def test_a_column_that_is_dropped_anyway_is_told_as_withheld(world: World) -> None:
    document = policy(
        permission(identifier=["Name"]), prohibitions=(prohibition(), prohibition("Job", "n2"))
    )
    planned = world.plan(document)
    roles = {column.name: str(column.role) for column in planned.plan.read.columns}
    assert (roles["Name"], roles["Job"]) == ("withheld", "withheld")
    assert "withheld: the policy prohibits its use" in smalti.explain(planned.plan)
    without = world.plan(policy(permission(identifier=["Name"])))
    assert plan_digest(without.plan) != plan_digest(planned.plan)
    assert "withheld" not in smalti.explain(without.plan)
    outcome = world.run(document)
    assert outcome.decision.effect is Effect.LIMITED
    assert world.header() == {"Age", "ZIP"}


# --- Bad input


def test_a_prohibited_column_that_the_data_lacks(world: World) -> None:
    document = policy(permission(), prohibitions=(prohibition("Nome"),))
    planned = world.plan(document)
    assert planned.plan is not None
    assert any("Nome" in warning and "no such column" in warning for warning in planned.warnings)
    assert is_denied(world.run(document), "no such column")
    assert world.registry.all_versions() == ()


def test_a_prohibited_column_that_only_the_description_has(world: World) -> None:
    world.describe(*({"name": name} for name in (*HEADER, "Salary")))
    document = policy(permission(), prohibitions=(prohibition("Salary"),))
    for act in (world.plan, world.run):
        with pytest.raises(smalti.SmaltiError, match="no column `Salary`"):
            act(document)


@pytest.mark.parametrize("is_described", [False, True])
def test_the_column_that_tells_people_apart_is_prohibited(world: World, is_described: bool) -> None:
    columns = {"identifier": ["Name"], "respondent": [] if is_described else ["Name"]}
    if is_described:
        described: list[dict[str, Any]] = [{"name": name} for name in HEADER]
        described[0]["csvw-eo:public.privacyId"] = True
        world.describe(*described)
    assert world.run(policy(permission(**columns))).version is not None
    document = policy(permission(uid="p2", **columns), prohibitions=(prohibition(),), uid="2")
    assert is_denied(world.plan(document), "Name")
    assert is_denied(world.run(document), "Name")


@pytest.mark.parametrize("way", ["plan", "run"])
def test_the_log_says_why_a_permitted_run_was_denied_on_the_data(world: World, way: str) -> None:
    """What it permitted first is not the last word of the log."""
    world.describe(
        {"name": "Name", "csvw-eo:public.privacyId": True}, *({"name": name} for name in HEADER[1:])
    )
    document = policy(permission(identifier=["Name"], respondent=[]), prohibitions=(prohibition(),))
    answer = {"plan": world.plan, "run": world.run}[way](document)
    text = (world.folder / "r.sqlite.decisions.jsonl").read_text()
    first, last = [json.loads(line) for line in text.splitlines()]
    assert (first["permitted"], first["deniedBecause"]) == (True, None)
    assert (last["permitted"], last["effect"]) == (False, "deny")
    assert last["deniedBecause"] == answer.decision.reasons[0].text
    assert "`Name`, which the plan needs" in last["deniedBecause"]
    assert last["request"] == first["request"]


def test_every_column_is_prohibited(world: World) -> None:
    everything = tuple(prohibition(name, name) for name in HEADER)
    assert is_denied(world.run(policy(permission(), prohibitions=everything)))
    world.add(policy(READ, prohibitions=everything))
    # Nothing tells the registry what columns there are until a run has read them.
    assert world.decide().effect is Effect.LIMITED


def test_every_column_that_a_run_has_read_is_prohibited(world: World) -> None:
    world.add(policy(READ, uid="2"))
    assert world.run(policy(permission())).version is not None
    world.add(policy(prohibitions=tuple(prohibition(name, name) for name in HEADER), uid="3"))
    assert world.decide().effect is Effect.DENY


SCHEMA_NAME = "http://schema.example/name"
RENAMED = ({"name": "Name", "propertyUrl": SCHEMA_NAME}, *({"name": name} for name in HEADER[1:]))


@pytest.mark.parametrize("forbidden", ["Name", SCHEMA_NAME, "%4Eame"])
@pytest.mark.parametrize("is_stored", [False, True])
@refused_or_held
def test_a_description_that_renames_a_column_does_not_free_it(
    world: World, forbidden: str, is_stored: bool
) -> None:
    """The column goes by its declared IRI and by its name under the target."""
    world.describe(*RENAMED)
    against = (prohibition(forbidden),)
    if is_stored:
        world.add(policy(prohibitions=against, uid="2"))
    own = () if is_stored else against
    releasing = policy(permission(released=[SCHEMA_NAME]), prohibitions=own)
    assert is_denied(world.plan(releasing))
    assert is_denied(world.run(releasing))
    outcome = world.run(policy(permission(identifier=[SCHEMA_NAME]), prohibitions=own))
    assert outcome.version is not None
    assert world.header() == {"Age", "ZIP"}
    assert {column.name for column in outcome.plan.read.columns if str(column.role) == "withheld"} == {
        "Name"
    }


def test_a_declared_column_is_known_once_a_run_has_read_it(world: World) -> None:
    world.describe(*RENAMED)
    world.add(policy(READ, prohibitions=(prohibition(SCHEMA_NAME),), uid="2"))
    assert world.decide().effect is Effect.PERMIT
    assert world.run(policy(permission())).version is not None
    assert world.decide().effect is Effect.LIMITED


# --- Whose word it is


def test_columns_belong_to_the_owners_of_their_table(world: World) -> None:
    world.add(policy(READ))
    with pytest.raises(UsageError, match="does not own"):
        world.add(policy({**READ, "uid": "urn:x:r", "target": f"{TABLE}/Name"}, uid="2"), STRANGER)
    world.add(policy(prohibitions=(prohibition(),), uid="3"))
    assert [asset.iri for asset in world.registry.assets()] == [TABLE]
    assert world.registry.full_owners(IRI(f"{TABLE}/Name")) == {OWNER}
    assert world.decide(f"{TABLE}/Name").effect is Effect.DENY
    with pytest.raises(PolicyError, match=REFUSED):
        world.add(policy({**READ, "uid": "urn:x:r", "target": f"{TABLE}/%4Eame"}, uid="2"), STRANGER)
    # A stranger cannot bind data to a column, either.
    own = {**policy({**permission(f"{TABLE}/Name"), "uid": "urn:x:s"}, uid="4")}
    outcome = world.run(own, data={f"{TABLE}/Name": world.data}, owner=STRANGER, party=STRANGER)
    assert not outcome.decision.is_permitted


@pytest.mark.parametrize("rule", ["permission", "prohibition"])
def test_who_registered_a_column_before_its_table_gains_nothing(world: World, rule: str) -> None:
    column = f"{TABLE}/Name"
    theirs = {**READ, "uid": "urn:x:r", "target": column}
    if rule == "permission":
        world.add(policy(theirs, uid="s"), STRANGER)
    else:
        world.add(policy(prohibitions=(theirs,), uid="s"), STRANGER)
    world.add(policy(READ))
    assert world.registry.full_owners(IRI(column)) == frozenset()
    assert world.decide(column, STRANGER).effect in (Effect.DENY, Effect.NOT_APPLICABLE)
    # The table stays its owner's, as if the stranger were not there, and its owner can forbid the column.
    assert world.decide().effect is Effect.PERMIT
    assert world.registry.full_owners(IRI(TABLE)) == {OWNER}
    assert world.run(policy(permission(released=["Name"]), uid="2")).version is not None
    world.add(policy(prohibitions=(prohibition(),), uid="3"))
    assert world.decide().effect is Effect.LIMITED
    assert is_denied(world.run(policy(permission(released=["Name"]), uid="4")))


def test_an_output_takes_no_column_of_somebody_elses_table(world: World) -> None:
    world.add(policy({**READ, "uid": "urn:x:i", "target": "http://example.com/theirs"}, uid="i"), STRANGER)
    taking = {**permission(), "output": "http://example.com/theirs/Name"}
    with pytest.raises(UsageError, match="may be a column of somebody else's table"):
        world.run(policy(taking))
    own = {**permission(uid="p2"), "output": f"{TABLE}/anonymized"}
    assert world.run(policy(own, uid="2")).version is not None


def test_a_table_of_its_own_under_a_table_needs_its_own_permission(world: World) -> None:
    inner = f"{TABLE}/branch"
    world.add(policy(READ))
    assert world.decide(inner).effect is Effect.PERMIT
    rule = json.loads(json.dumps(permission(inner, "i")).replace(f"{TABLE}/", f"{inner}/"))
    rule["target"] = inner
    assert world.run(policy(rule, uid="i"), data={inner: world.data}).version is not None
    assert not world.decide(inner).grants
    assert world.decide(f"{TABLE}/other").effect is Effect.PERMIT
    # As a column, it is prohibited with its table, and prohibiting it limits who reads the table.
    world.add(policy({**READ, "uid": "urn:x:i", "target": inner}, uid="2"))
    assert world.decide(inner).effect is Effect.PERMIT
    world.add(policy(prohibitions=(prohibition(inner),), uid="3"))
    assert (world.decide(inner).effect, world.decide().effect) == (Effect.DENY, Effect.LIMITED)
    # It is no column of the data, which a run is not denied for.
    assert world.run(policy(permission(uid="t"), uid="4")).version is not None


# --- What is made of it


def test_an_output_shows_only_columns_that_its_input_shows(world: World) -> None:
    world.add(policy(READ, uid="2"))
    assert world.run(policy(permission(released=["Job"]))).version is not None
    assert world.decide(OUTPUT).effect is Effect.PERMIT
    assert reviews(world.registry) == ()
    world.add(policy(prohibitions=(prohibition(),), uid="3"))
    assert world.decide(OUTPUT).effect is Effect.PERMIT
    assert reviews(world.registry) == ()
    world.add(policy(prohibitions=(prohibition("Job", "n2"),), uid="4"))
    assert world.decide(OUTPUT).effect is Effect.DENY
    (review,) = reviews(world.registry)
    assert "rule/n2` prohibits the use of a column that it was made from" in review.reasons[0]


@pytest.mark.parametrize(
    ("action", "is_marked"), [("distribute", False), ("print", False), ("read", True), ("use", True)]
)
def test_a_prohibition_on_the_table_marks_what_it_forbids_to_make(
    world: World, action: str, is_marked: bool
) -> None:
    assert world.run(policy(permission(released=["Job"]))).version is not None
    forbidden = {**prohibition("Job", "n2"), "target": TABLE, "action": action}
    world.add(policy(prohibitions=(forbidden,), uid="4"))
    reasons = [reason for review in reviews(world.registry) for reason in review.reasons]
    assert [("n2` prohibits the use of the data" in reason) for reason in reasons] == [True] * is_marked


def test_a_prohibition_for_others_marks_nothing(world: World) -> None:
    assert world.run(policy(permission(released=["Job"]))).version is not None
    world.add(policy(prohibitions=(prohibition("Job", "n2", assignee=STRANGER),), uid="4"))
    assert reviews(world.registry) == ()


def test_columns_of_outputs_are_prohibited_like_any(world: World) -> None:
    world.add(policy(READ, uid="2"))
    assert world.run(policy(permission(released=["Job"]))).version is not None
    world.add(policy(prohibitions=(prohibition(f"{OUTPUT}/Job"),), uid="3"))
    decision = world.decide(OUTPUT)
    assert decision.effect is Effect.LIMITED
    assert decision.grants[0].withheld == (f"{OUTPUT}/Job",)


def test_who_asks_nobody_is_told_what_the_policy_forbids(world: World) -> None:
    document = policy(permission(released=["Name"]), prohibitions=(prohibition(),))
    planned = world.plan(document, party=None, owner=None)
    assert any("rule/n" in warning and "denied" in warning for warning in planned.warnings)


# --- Laws


NO_SHRINKING = (Phase.explicit, Phase.generate)
"""Each example is two runs."""
roles = st.sampled_from(["identifier", "quasi", "released", "none"])


@given(
    st.fixed_dictionaries(dict.fromkeys(HEADER, roles)),
    st.sets(st.sampled_from([*HEADER, "Lacking"]), max_size=2),
    st.booleans(),
)
@settings(
    max_examples=examples(10, full=150),
    phases=NO_SHRINKING,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_the_published_header_never_holds_a_prohibited_column(
    tmp_path_factory: pytest.TempPathFactory, chosen: dict[str, str], forbidden: set[str], is_split: bool
) -> None:
    chosen = {**chosen, "Age": "quasi"}
    world = World(tmp_path_factory.mktemp("law"))
    columns: dict[str, list[str]] = {"quasi": []}
    for name, role in chosen.items():
        # Other identifiers repeat, which tells against one row for each person.
        columns.setdefault("none" if role == "identifier" and name != "Name" else role, []).append(name)
    columns.pop("none", None)
    against = tuple(prohibition(name, name) for name in sorted(forbidden))
    free = world.run(policy(permission(**columns)))
    assert free.version is not None
    published = world.header()
    if is_split and against:
        world.add(policy(prohibitions=against, uid="2"))
    again = permission(uid="p2", **columns)
    outcome = world.run(policy(again, prohibitions=() if is_split else against, uid="3"))
    if outcome.version is None:
        assert published & forbidden or "Lacking" in forbidden
        return
    assert world.header() == published
    assert world.header().isdisjoint(forbidden)


OTHER_NAMES = ("http://x.example/a", "http://x.example/b", f"{TABLE}/c")
names_of_columns = st.dictionaries(
    st.sampled_from(["Name", "Job"]), st.sampled_from(OTHER_NAMES), max_size=2
).filter(lambda named: len(set(named.values())) == len(named))


@given(
    st.lists(st.tuples(names_of_columns, st.sampled_from(["Name", "Job"])), min_size=1, max_size=2),
    names_of_columns,
    st.sampled_from([*OTHER_NAMES, f"{TABLE}/Job"]),
)
@settings(
    max_examples=examples(5, full=150),
    phases=NO_SHRINKING,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_a_prohibited_column_is_so_under_each_iri_that_it_ever_had(
    tmp_path_factory: pytest.TempPathFactory,
    earlier: list[tuple[dict[str, str], str]],
    last: dict[str, str],
    forbidden: str,
) -> None:
    """Whatever descriptions said when: what a forbidden IRI stood for is neither published nor read."""
    world = World(tmp_path_factory.mktemp("law"))
    world.add(policy(READ, uid="0"))

    def release(named: dict[str, str], column: str, uid: str) -> Any:
        world.describe(*({"name": one, **_property(named.get(one))} for one in HEADER))
        way = {**permission(uid=uid, released=[named.get(column, column)]), "output": f"{OUTPUT}{uid}"}
        return world.run(policy(way, uid=f"run{uid}"))

    made = [release(named, column, str(number)) for number, (named, column) in enumerate(earlier)]
    assert all(outcome.version is not None for outcome in made)
    world.add(policy(prohibitions=(prohibition(forbidden),), uid="no"))
    meant = {
        name
        for named in (last, *(named for named, _ in earlier))
        for name in ("Name", "Job")
        if forbidden in (named.get(name), f"{TABLE}/{name}")
    }
    for number, column in enumerate(["Name", "Job"]):
        assert column not in meant or release(last, column, f"last{number}").version is None
        recorded = any(named.get(column) == forbidden for named, _ in earlier)
        assert not recorded or world.decide(f"{TABLE}/{column}").effect is not Effect.PERMIT
    marked = {review.version.target for review in reviews(world.registry)}
    for number, (_, column) in enumerate(earlier):
        if any(named.get(column) == forbidden for named, _ in earlier) or forbidden == f"{TABLE}/{column}":
            assert world.decide(f"{OUTPUT}{number}").effect is not Effect.PERMIT
            assert f"{OUTPUT}{number}" in marked


def _property(iri: str | None) -> dict[str, str]:
    return {} if iri is None else {"propertyUrl": iri}


# --- Every kind of run


SURVEY = "http://example.com/survey/contraceptive"
DATA = ROOT / "examples" / "data" / "contraceptive.csv"


@pytest.mark.parametrize(
    ("kind", "used", "unused"),
    [
        ("contraceptive-statistics", "age", "religion"),
        ("contraceptive-local", "age", "husband_occupation"),
        ("contraceptive-model", "age", None),
    ],
)
def test_releases_reports_and_models_do_without_a_prohibited_column(
    tmp_path: Path, kind: str, used: str, unused: str | None
) -> None:
    registry, place = Registry.open(tmp_path / "r.sqlite"), tmp_path / "policy.jsonld"
    for number, column in enumerate((used, unused)):
        document = json.loads((POLICIES / f"{kind}.jsonld").read_text())
        party = document["permission"][0]["assignee"]
        document["prohibition"] = [prohibition(f"{SURVEY}/{column}")]
        place.write_text(json.dumps(document))
        if column is None:
            continue
        outcome = smalti.run(
            place, data={SURVEY: DATA}, party=party, owner=OWNER, purpose="statistical", registry=registry,
            query=POLICIES / "contraceptive.query.json" if "statistics" in kind else None,
            out=tmp_path / f"out{number}",
        )  # fmt: skip
        assert (outcome.version is None) is (column == used)
        assert outcome.decision.effect is (Effect.DENY if column == used else Effect.LIMITED)
