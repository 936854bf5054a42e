"""The ledger of budgets in a registry: what is charged, what counts together, and what never comes back."""

import sqlite3
import sys
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest
from audit_samples import attempt
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection

sys.path.insert(0, str(Path(__file__).parent))
import registry_world as world
from budget_world import ONE, charge, hmac
from registry_world import OTHER, OUTPUT, OWNER, SECOND, SOURCE, USER

from smalti.engine.registry import _budgets, _database
from smalti.engine.registry.budget import Budget, Ceiling, Charge, EpsilonDelta, total
from smalti.engine.registry.entries import Input
from smalti.engine.registry.registry import Registry
from smalti.engine.run.records import export
from smalti.errors import InternalError, PlanError, UsageError
from smalti.transforms.loss.privacy_loss import PrivacyLoss
from smalti.transforms.sensitivity import NeighboringRelation
from smalti.vocab.terms import IRI

ELSEWHERE = "http://example.com/Elsewhere"
WIDE = Ceiling(Decimal(100), Decimal("0.5"))
READ = world.document("read", world.read_rule("read", assignee=USER))


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    return Registry.open(tmp_path / "r.sqlite")


def of(registry: Registry, *targets: str) -> Decimal:
    return registry.ledger.spent([IRI(target) for target in targets]).epsilon


# --- Admission


def test_sums_are_exact(registry: Registry) -> None:
    assert [registry.ledger.charge(charge("0.1"), ONE) for _ in range(11)] == [True] * 10 + [False]
    assert of(registry, SOURCE) == 1
    assert not registry.ledger.charge(charge("1e-300"), ONE)


def test_what_does_not_fit_changes_nothing(registry: Registry) -> None:
    assert not registry.ledger.charge(charge("1.1"), ONE)
    assert not registry.exists
    assert registry.ledger.charge(charge("0.6"), ONE)
    before = world.everything(registry)
    assert not registry.ledger.charge(charge("0.5", inputs=(hmac("a"),)), ONE)
    assert world.everything(registry) == before
    assert registry.ledger.charge(charge("0.4"), ONE)


def test_deltas_add_up_too(registry: Registry) -> None:
    def part(delta: str) -> Charge:
        return charge("0.01", delta=Decimal(delta))

    ceiling = Ceiling(Decimal(1), Decimal("3e-7"))
    assert [registry.ledger.charge(part("1e-7"), ceiling) for _ in range(4)] == [True] * 3 + [False]
    assert registry.ledger.spent([SOURCE]) == EpsilonDelta(Decimal("0.03"), Decimal("3e-7"))
    assert not registry.ledger.charge(part("1e-30"), ceiling)
    assert registry.ledger.charge(part("0"), ceiling)


def test_each_ceiling_bounds_the_sum_of_all_charges(registry: Registry) -> None:
    small, large = Ceiling(Decimal("0.5"), Decimal(0)), ONE
    assert registry.ledger.charge(charge("0.4", party=OTHER), large)
    assert not registry.ledger.charge(charge("0.2"), small), "what others spent counts"
    assert registry.ledger.charge(charge("0.2"), large)
    assert not registry.ledger.charge(charge("0.1"), small)
    assert registry.ledger.charge(charge("0.4"), large)


def test_a_run_is_charged_once(registry: Registry) -> None:
    once = charge("0.1")
    assert registry.ledger.charge(once, ONE)
    before = world.everything(registry)
    for again in (once, replace(once, target=IRI(ELSEWHERE)), replace(once, epsilon=Decimal(5))):
        with pytest.raises(InternalError, match="charged twice"):
            registry.ledger.charge(again, ONE)
    assert world.everything(registry) == before


def test_relations_of_neighbours_are_not_mixed(registry: Registry) -> None:
    change = charge("0.1", neighbors=NeighboringRelation.CHANGE_ONE)
    assert registry.ledger.charge(charge("0.1"), ONE)
    before = world.everything(registry)
    with pytest.raises(PlanError, match="another neighbouring relation"):
        registry.ledger.charge(change, ONE)
    assert world.everything(registry) == before
    assert registry.ledger.charge(replace(change, target=IRI(ELSEWHERE), inputs=(hmac("a"),)), ONE)
    with pytest.raises(PlanError, match="another neighbouring relation"):
        registry.ledger.charge(charge("0.1", inputs=(hmac("a"),)), ONE)


def test_ledgers_of_both_relations_that_a_run_joins_are_closed(registry: Registry, tmp_path: Path) -> None:
    """A run that is not charged tells that data sets are about the same people, and is not refused."""
    (read,) = world.report().inputs
    changing = {"neighbors": NeighboringRelation.CHANGE_ONE}
    assert registry.ledger.charge(charge("0.4", ELSEWHERE, inputs=(read.hmac,), **changing), WIDE)
    assert registry.ledger.charge(charge("0.3", SOURCE), WIDE)
    assert registry.ledger.spent([SOURCE, ELSEWHERE]).epsilon == 1, (
        "asked for jointly they do not add up, either"
    )
    world.run(registry, tmp_path / "out")  # reads these bytes under the source's IRI
    for target in (SOURCE, ELSEWHERE, OUTPUT):
        found = registry.ledger.budget(IRI(target))
        assert found.relations == tuple(NeighboringRelation)
        assert found.spent == registry.ledger.spent([IRI(target)]) == EpsilonDelta(Decimal(1))
        before = world.everything(registry)
        for changes in ({}, changing):
            with pytest.raises(PlanError, match="There is none: the earlier releases use both relations"):
                registry.ledger.charge(charge("0.01", target, **changes), WIDE)
        assert world.everything(registry) == before


def test_a_charge_is_kept_as_it_was(registry: Registry) -> None:
    full = charge(
        "0.7",
        delta=Decimal("1e-6"),
        selection_delta=Decimal("5e-7"),
        loss=PrivacyLoss(Fraction(1, 3), Fraction(1, 10**40)),
        inputs=(hmac("a"), hmac("b")),
        purpose=IRI("http://example.com/purpose"),
    )
    registry.ledger.charge(full, WIDE)
    registry.ledger.charge(charge("0.2", ELSEWHERE), ONE)
    (kept,) = registry.ledger.budget(SOURCE).charges
    assert replace(kept, inputs=tuple(sorted(kept.inputs))) == replace(
        full, inputs=tuple(sorted(full.inputs))
    )


# --- The same respondents


def test_a_ledger_is_that_of_what_a_target_was_made_from(registry: Registry, tmp_path: Path) -> None:
    world.run(registry, tmp_path / "out")
    assert registry.ledger.charge(charge("0.3", OUTPUT), ONE)
    assert registry.ledger.charge(charge("0.2"), ONE)
    assert of(registry, SOURCE) == of(registry, OUTPUT) == Decimal("0.5")
    made_again = {"target": IRI(ELSEWHERE), "inputs": (Input(OUTPUT, 1),), "policy_uid": world.uid("next")}
    document = world.document("next", world.anonymize_rule("next", target=OUTPUT, output=ELSEWHERE))
    world.run(registry, tmp_path / "next", document=document, **made_again)
    assert of(registry, ELSEWHERE) == Decimal("0.5")
    assert not registry.ledger.charge(charge("0.6", ELSEWHERE), ONE)


def test_a_version_stands_for_its_output(registry: Registry, tmp_path: Path) -> None:
    version = world.run(registry, tmp_path / "out")
    assert registry.ledger.charge(charge("0.3", version.iri), ONE)
    assert of(registry, version.iri) == of(registry, OUTPUT) == of(registry, SOURCE) == Decimal("0.3")
    assert [one.target for one in registry.ledger.budget(version.iri).charges] == [OUTPUT]


def test_the_same_bytes_are_the_same_respondents(registry: Registry) -> None:
    assert registry.ledger.charge(charge("0.4", SOURCE, inputs=(hmac("a"),)), ONE)
    assert registry.ledger.charge(charge("0.1", ELSEWHERE), ONE), "nothing is known of it so far"
    assert not registry.ledger.charge(charge("0.6", ELSEWHERE, inputs=(hmac("a"), hmac("b"))), ONE)
    assert registry.ledger.charge(charge("0.5", ELSEWHERE, inputs=(hmac("a"), hmac("b"))), ONE)
    assert of(registry, SOURCE) == of(registry, ELSEWHERE) == 1
    assert not registry.ledger.charge(charge("0.1", SECOND, inputs=(hmac("b"),)), ONE)
    assert registry.ledger.charge(charge("0.1", SECOND, inputs=(hmac("c"),)), ONE)


def test_other_runs_tell_of_the_same_bytes(registry: Registry, tmp_path: Path) -> None:
    (read,) = world.report().inputs
    assert registry.ledger.charge(charge("0.9", ELSEWHERE, inputs=(read.hmac,)), ONE)
    world.run(registry, tmp_path / "out")  # reads these bytes under the source's IRI
    assert not registry.ledger.charge(charge("0.2", SOURCE), ONE)
    assert not registry.ledger.charge(charge("0.2", OUTPUT), ONE)


def test_joined_data_are_charged_for_each_part(registry: Registry, tmp_path: Path) -> None:
    world.run(registry, tmp_path / "out", inputs=(Input(SOURCE),))
    assert registry.ledger.charge(charge("0.3", SOURCE), ONE)
    assert registry.ledger.charge(charge("0.4", SECOND), ONE)
    assert of(registry, SOURCE, SECOND) == Decimal("0.7")
    assert of(registry, SOURCE) == Decimal("0.3"), "asking about both joins nothing"
    joined = {"inputs": (Input(SOURCE), Input(SECOND)), "policy_uid": world.uid("anon")}
    world.run(registry, tmp_path / "joined", **joined)
    assert of(registry, OUTPUT) == Decimal("0.7")
    assert not registry.ledger.charge(charge("0.4", OUTPUT), ONE)


def test_a_collection_is_charged_for_its_members(registry: Registry) -> None:
    registry.add_policy(READ, "read", OWNER)
    collection = IRI("http://example.com/All")
    turtle = "@prefix odrl: <http://www.w3.org/ns/odrl/2/> .\n"
    turtle += f"<{SOURCE}> a odrl:Asset ; odrl:partOf <{collection}> ."
    assert registry.ledger.charge(charge("0.6", SOURCE), ONE)
    registry.add_hierarchy(turtle.encode(), "all", OWNER)
    assert not registry.ledger.charge(charge("0.5", collection), ONE)
    registry.remove_hierarchy("all", OWNER)
    assert of(registry, collection) == Decimal("0.6"), "what was one ledger stays one"
    assert registry.ledger.charge(charge("0.1", collection), ONE)
    assert of(registry, SOURCE) == of(registry, collection) == Decimal("0.7")


def test_a_collection_that_was_learned_from_counts_for_its_members(registry: Registry) -> None:
    whole = IRI("http://example.com/All")
    registry.trainings.begin(replace(attempt("run", target=whole), bound_by=OWNER))
    assert registry.ledger.charge(charge("0.6", whole), ONE)
    assert not registry.ledger.charge(charge("0.5"), ONE, [(IRI(SOURCE), whole)])
    audited = IRI("http://example.com/Audited")
    registry.trainings.begin(replace(attempt("other", target=audited), inputs=(hmac("a"),), bound_by=OWNER))
    assert registry.ledger.charge(charge("0.4", SECOND), ONE, [(IRI(SECOND), audited)])
    assert of(registry, audited) == Decimal("0.4")


# --- Whose data it is


def test_who_first_binds_a_source_to_what_is_charged_owns_it(registry: Registry) -> None:
    assert not registry.ledger.charge(charge("1.1"), ONE, bound_by=OTHER)
    assert not registry.ownership.is_known(SOURCE), "what was not charged is nobody's"
    assert registry.ledger.charge(charge("0.4"), ONE, bound_by=OWNER)
    assert registry.full_owners(SOURCE) == {OWNER}
    with pytest.raises(UsageError, match="does not own"):
        registry.add_policy(READ, "read", OTHER)
    with pytest.raises(UsageError, match="does not own"):
        registry.owners_budget(SOURCE, by=OTHER)
    before = world.everything(registry)
    with pytest.raises(UsageError, match="may not say what data it is"):
        registry.ledger.charge(charge("0.1", inputs=(hmac("a"),)), ONE, bound_by=OTHER)
    assert world.everything(registry) == before, "the first one wins, and the other charges nothing"
    assert registry.owners_budget(SOURCE, by=OWNER).spent.epsilon == Decimal("0.4")


def test_others_are_charged_for_what_an_owner_bound(registry: Registry, tmp_path: Path) -> None:
    world.run(registry, tmp_path / "out")
    (read,) = world.report().inputs
    assert registry.ledger.charge(charge("0.4", inputs=(read.hmac,)), ONE, bound_by=OTHER)
    assert registry.full_owners(SOURCE) == {OWNER}
    for digests in ((hmac("a"),), (read.hmac, hmac("a"))):
        with pytest.raises(UsageError, match="may not say what data it is"):
            registry.ledger.charge(charge("0.1", inputs=digests), ONE, bound_by=OTHER)


def test_a_collection_of_other_peoples_data_is_nobodys_to_bind(registry: Registry) -> None:
    registry.add_policy(READ, "read", OWNER)
    collection = IRI("http://example.com/All")
    turtle = "@prefix odrl: <http://www.w3.org/ns/odrl/2/> .\n"
    turtle += f"<{SOURCE}> a odrl:Asset ; odrl:partOf <{collection}> ."
    registry.add_hierarchy(turtle.encode(), "all", OWNER)
    with pytest.raises(UsageError, match="does not own all that belongs to it"):
        registry.ledger.charge(charge("0.1", collection), ONE, bound_by=OTHER)
    assert registry.ledger.charge(charge("0.1", collection), ONE, bound_by=OWNER)


COLLECTED = "@prefix odrl: <http://www.w3.org/ns/odrl/2/> .\n<{}> a odrl:Asset ; odrl:partOf <{}> ."


def test_a_stranger_joins_no_ledger_by_a_policy_of_their_own(registry: Registry) -> None:
    """Nor do attempts: theirs are no attempts at the owner's data."""
    own = IRI("http://example.com/Own")
    assert registry.ledger.charge(charge("0.6", inputs=(hmac("a"),)), ONE, bound_by=OWNER)
    for pair in ((IRI(SOURCE), own), (own, IRI(SOURCE))):
        theirs = replace(attempt("run" + pair[0], target=own), bound_by=OTHER)
        registry.trainings.begin(theirs, [pair])
        assert registry.ledger.charge(charge("0.4", own), ONE, [pair], bound_by=OTHER)
    assert registry.owners_budget(own, by=OTHER).spent.epsilon == Decimal("0.8")
    assert registry.owners_budget(SOURCE, by=OWNER).spent.epsilon == Decimal("0.6")
    first = replace(attempt("first", target=IRI(SOURCE)), inputs=(hmac("a"),), bound_by=OWNER)
    assert registry.trainings.begin(first).number == 1
    assert registry.ledger.charge(charge("0.4", SECOND), ONE, [(IRI(SECOND), IRI(SOURCE))], bound_by=OWNER)
    assert registry.owners_budget(SECOND, by=OWNER).spent.epsilon == 1, "the owner's word joins them"


def test_a_hierarchy_about_what_was_nobodys_joins_no_ledger_of_who_owns_it_now(registry: Registry) -> None:
    own = IRI("http://example.com/Own")
    assert registry.ledger.charge(charge("0.5", own), ONE, bound_by=OTHER)
    registry.add_hierarchy(COLLECTED.format(own, SOURCE).encode(), "theirs", OTHER)
    registry.remove_hierarchy("theirs", OTHER)
    assert registry.ledger.charge(charge("0.6"), ONE, bound_by=OWNER)
    assert registry.ledger.charge(charge("0.4", own), ONE, bound_by=OTHER)
    assert registry.owners_budget(SOURCE, by=OWNER).spent.epsilon == Decimal("0.6")
    assert registry.owners_budget(own, by=OTHER).spent.epsilon == Decimal("0.9")


def test_what_was_charged_is_not_bound_under_a_strangers_name(registry: Registry) -> None:
    own = IRI("http://example.com/Own")
    assert registry.ledger.charge(charge("0.5", inputs=(hmac("a"),)), ONE, bound_by=OWNER)
    before = world.everything(registry)
    with pytest.raises(UsageError, match="known under another IRI, which somebody else owns"):
        registry.ledger.charge(charge("0.1", own, inputs=(hmac("a"),)), ONE, bound_by=OTHER)
    with pytest.raises(UsageError, match="known under another IRI, which somebody else owns"):
        registry.trainings.begin(replace(attempt("run", target=own), inputs=(hmac("a"),), bound_by=OTHER))
    assert world.everything(registry) == before
    assert registry.ledger.charge(charge("0.5", own, inputs=(hmac("a"),)), ONE, bound_by=OWNER)


# --- Nothing comes back


def test_nothing_takes_a_charge_back(registry: Registry, tmp_path: Path) -> None:
    world.keep_secret(registry)
    version = world.run(registry, tmp_path / "out")
    registry.add_policy(READ, "read", OWNER)
    assert registry.ledger.charge(charge("0.9", inputs=(hmac("a"),)), ONE)
    kept = registry.ledger.budget(SOURCE)

    registry.revoke_policy(world.uid("anon"), OWNER)
    registry.add_policy(world.document("read", world.read_rule("read")), "new", OWNER, replaces=True)
    registry.revoke_policy(world.uid("read"), OWNER)
    registry.add_owner(SOURCE, OTHER, by=OWNER)
    registry.remove_owner(SOURCE, OWNER, by=OTHER)
    again = world.document("again", world.read_rule("again"))
    registry.add_policy(again, "again", OTHER)
    registry.add_policy(world.SOURCE_POLICY, "anon", OTHER)
    world.run(registry, tmp_path / "once-more", issuer=OTHER, bound_by=OTHER)
    registry.withdraw(SOURCE, ["somebody"], by=OTHER, column="who")

    for target in (SOURCE, OUTPUT, version.iri):
        assert registry.ledger.budget(target) == kept
    assert not registry.ledger.charge(charge("0.2"), ONE)


def test_figures_are_for_owners(registry: Registry, tmp_path: Path) -> None:
    world.run(registry, tmp_path / "out")
    registry.ledger.charge(charge("0.3", OUTPUT), ONE)
    assert registry.owners_budget(OUTPUT, by=OWNER) == registry.owners_budget(SOURCE, by=OWNER)
    for target, by, problem in (
        (SOURCE, USER, "does not own it"),
        (OUTPUT, USER, "does not own it"),
        (IRI(ELSEWHERE), OWNER, "the registry does not know it"),
    ):
        with pytest.raises(UsageError, match=problem) as refused:
            registry.owners_budget(target, by=by)
        assert "0.3" not in str(refused.value)


def test_the_public_export_tells_nothing_of_charges(registry: Registry, tmp_path: Path) -> None:
    world.run(registry, tmp_path / "out")
    before = export(registry)
    registry.ledger.charge(charge("0.12345", party=IRI("http://org/secretive")), ONE)
    assert export(registry) == before


# --- Closure: laws, against sums over all charges that are linked


@contextmanager
def empty() -> Iterator[Connection]:
    """A registry in memory, as one transaction sees it."""
    with (
        _database._memory_engine().connect() as connection,
        connection.execution_options(smalti_writes=True).begin(),
    ):
        yield connection


@dataclass(frozen=True)
class Event:
    """A charge about assets, or (where it has no epsilon) bytes that a run read under them."""

    assets: frozenset[str]
    inputs: frozenset[str]
    epsilon: Decimal | None

    @property
    def members(self) -> frozenset[str]:
        return self.assets | self.inputs


ASSETS = [f"http://example.com/{name}" for name in "abcdef"]
DIGESTS = [hmac(name) for name in "uvwxyz"]
EVENTS = st.lists(
    st.builds(
        Event,
        st.frozensets(st.sampled_from(ASSETS), min_size=1, max_size=2),
        st.frozensets(st.sampled_from(DIGESTS), max_size=2),
        st.none() | st.decimals("0.001", "0.4", places=3),
    ),
    max_size=9,
)


def play(connection: Connection, events: list[Event], ceiling: Ceiling) -> list[bool]:
    """Let events happen; whether each was admitted."""
    told = []
    for event in events:
        assets = frozenset(map(IRI, event.assets))
        fits = True
        if event.epsilon is None:
            _budgets.note_read(connection, assets, event.inputs)
        else:
            new = charge(str(event.epsilon), min(assets), inputs=tuple(event.inputs))
            fits = _budgets.fits(connection, new, ceiling, assets)
            if fits:
                _budgets.add(connection, new, assets)
        told.append(fits)
    return told


def linked(events: list[Event], start: AbstractSet[str]) -> list[Event]:
    """The events that are about the same respondents as some members."""
    reached, found = set(start), list[Event]()
    while new := [event for event in events if event not in found and event.members & reached]:
        found += new
        reached.update(*(event.members for event in new))
    return [event for event in events if event in found]


def expected(events: list[Event], start: AbstractSet[str]) -> Decimal:
    return sum((event.epsilon or Decimal(0) for event in linked(events, start)), Decimal(0))


def known(connection: Connection, asset: str) -> Decimal:
    return _budgets.spent(connection, [IRI(asset)]).epsilon


@settings(max_examples=examples(35, full=1000))
@given(EVENTS)
def test_what_was_charged_is_the_sum_over_all_that_is_linked(events: list[Event]) -> None:
    with empty() as connection:
        assert all(play(connection, events, WIDE))
        assert [known(connection, one) for one in ASSETS] == [expected(events, {one}) for one in ASSETS]
        for asset in ASSETS[:2]:
            budget = _budgets.budget(connection, [IRI(asset)])
            assert known(connection, asset) == budget.epsilon
            charges = [event for event in linked(events, {asset}) if event.epsilon is not None]
            assert [one.epsilon for one in budget.charges] == [event.epsilon for event in charges]
            assert [set(one.inputs) for one in budget.charges] == [set(event.inputs) for event in charges]


@settings(max_examples=examples(35, full=1000))
@given(EVENTS, st.decimals("0", "1", places=3))
def test_admission_is_that_of_the_sum_and_it_is_never_exceeded(events: list[Event], most: Decimal) -> None:
    ceiling, admitted = Ceiling(most, Decimal(0)), list[Event]()
    with empty() as connection:
        for event in events:
            (fits,) = play(connection, [event], ceiling)
            so_far = expected(admitted, event.members)
            assert fits is (event.epsilon is None or so_far + event.epsilon <= most)
            admitted += [event] if fits else []
        # Reading the same bytes joins what was within the ceiling separately, and admits no more.
        if all(event.epsilon is not None and len(event.assets) == 1 for event in events):
            assert all(known(connection, asset) <= len(ASSETS) * most for asset in ASSETS)


@settings(max_examples=examples(35, full=1000))
@given(EVENTS, st.randoms(use_true_random=False))
def test_neither_order_nor_names_matter(events: list[Event], chance: object) -> None:
    shuffled, assets, digests = list(events), list(ASSETS), list(DIGESTS)
    for one in (shuffled, assets, digests):
        chance.shuffle(one)  # type: ignore[attr-defined]
    names = dict(zip(ASSETS + DIGESTS, assets + digests, strict=True))
    renamed = [
        replace(
            event,
            assets=frozenset(names[one] for one in event.assets),
            inputs=frozenset(names[one] for one in event.inputs),
        )
        for event in shuffled
    ]
    with empty() as connection, empty() as other:
        play(connection, events, WIDE)
        play(other, renamed, WIDE)
        for asset in ASSETS:
            assert known(connection, asset) == known(other, names[asset])


@settings(max_examples=examples(35, full=1000))
@given(EVENTS)
def test_what_was_charged_only_grows(events: list[Event]) -> None:
    with empty() as connection:
        before = dict.fromkeys(ASSETS, Decimal(0))
        for event in events:
            play(connection, [event], ONE)
            now = {asset: known(connection, asset) for asset in ASSETS}
            assert all(now[asset] >= before[asset] for asset in ASSETS)
            before = now


def test_ledgers_of_different_relations_that_turn_out_to_be_one_admit_nothing_more() -> None:
    change = charge("0.1", ASSETS[0], neighbors=NeighboringRelation.CHANGE_ONE)
    other = charge("0.1", ASSETS[1])
    with empty() as connection:
        for one in (change, other):
            assert _budgets.fits(connection, one, ONE, [one.target])
            _budgets.add(connection, one, [one.target])
        _budgets.note_read(connection, [change.target, other.target], [DIGESTS[0]])
        for one in (change, other):
            with pytest.raises(PlanError, match="another neighbouring relation"):
                _budgets.fits(connection, replace(one, run="another"), ONE, [one.target])


def test_many_members_are_one_ledger() -> None:
    assets = frozenset(IRI(f"http://example.com/{number}") for number in range(1203))
    with empty() as connection:
        _budgets.add(connection, charge("0.1", min(assets), inputs=(hmac("a"),)), assets)
        _budgets.add(connection, charge("0.2", max(assets), inputs=(hmac("b"),)), assets)
        assert known(connection, "http://example.com/777") == Decimal("0.3")


# --- Registries of version 2


def make_old(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        for table in ("charge_members", "charges", "ledger_members", "ledgers"):
            connection.execute(f"DROP TABLE {table}")
        connection.execute("UPDATE smalti_meta SET value = '2' WHERE key = 'schema'")


def test_a_registry_of_version_2_is_mended_when_it_is_used(registry: Registry, tmp_path: Path) -> None:
    version = world.run(registry, tmp_path / "out")
    fresh = world.everything(registry)
    make_old(tmp_path / "r.sqlite")
    again = Registry.open(tmp_path / "r.sqlite")
    assert again.versions(OUTPUT) == (version,)
    assert world.everything(again) == fresh, "what earlier runs read is known as if it had always been"
    (read,) = world.report().inputs
    assert again.ledger.charge(charge("0.9", ELSEWHERE, inputs=(read.hmac,)), ONE)
    assert not again.ledger.charge(charge("0.2", OUTPUT), ONE)


def test_two_processes_mend_version_2_once(registry: Registry, tmp_path: Path) -> None:
    world.run(registry, tmp_path / "out")
    make_old(tmp_path / "r.sqlite")
    first, second = Registry.open(tmp_path / "r.sqlite"), Registry.open(tmp_path / "r.sqlite")
    assert first.ledger.charge(charge("0.9"), ONE)
    assert not second.ledger.charge(charge("0.2"), ONE)
    assert second.ledger.charge(charge("0.1"), ONE)
    assert first.ledger.budget(SOURCE) == second.ledger.budget(SOURCE)
    assert isinstance(first.ledger.budget(SOURCE), Budget)
    assert total(one.spent for one in first.ledger.budget(SOURCE).charges) == EpsilonDelta(Decimal("1.0"))
