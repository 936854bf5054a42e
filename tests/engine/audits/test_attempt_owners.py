"""Whose an attempt at a model is, and which data it is counted with besides its own."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest
from audit_samples import MODEL, TARGET, attempt

sys.path.insert(0, str(Path(__file__).parents[1] / "registry"))
import registry_world as world

from smalti import auditing
from smalti.engine.registry.attempts import Attempt, AttemptState
from smalti.engine.registry.registry import Registry
from smalti.errors import UsageError
from smalti.vocab.terms import IRI

SITE = "http://example.com"
OTHER = IRI(f"{SITE}/other")


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    return Registry.open(tmp_path / "r.sqlite")


def read(run: str, target: str, digest: str) -> Attempt:
    """An attempt that reads a file with this digest."""
    made = attempt(run, target=IRI(f"{SITE}/{target}"), output=IRI(f"{SITE}/{run}"))
    return replace(made, inputs=(digest,))


# --- What they are counted with


HIERARCHY = """@prefix odrl: <http://www.w3.org/ns/odrl/2/> .
<http://example.com/a> a odrl:Asset ; odrl:partOf <http://example.com/all> .
<http://example.com/b> a odrl:Asset ; odrl:partOf <http://example.com/all> ."""


@pytest.mark.parametrize("is_known_before", [True, False])
def test_a_collection_and_its_members_are_counted_together(
    registry: Registry, is_known_before: bool
) -> None:
    """From when it is known on what belongs to it, whichever of them was learned from first."""
    owner = attempt("").bound_by
    first, whole = ("a", "all") if is_known_before else ("all", "a")
    assert registry.trainings.begin(read("run-1", first, "hmac-1")).number == 1
    for name in ("a", "b"):
        registry.add_policy(world.document(name, world.read_rule(name, f"{SITE}/{name}")), name, owner)
    registry.add_hierarchy(HIERARCHY.encode(), "all", owner)
    assert registry.trainings.begin(read("run-2", whole, "hmac-2")).number == 2
    assert registry.trainings.begin(read("run-3", first, "hmac-1")).number == 3
    registry.remove_hierarchy("all", owner)
    assert registry.trainings.begin(read("run-4", "all", "hmac-3")).number == 4, "what is one stays one"
    assert registry.trainings.begin(read("run-5", "c", "hmac-4")).number == 1


def test_members_that_the_policy_names_are_counted_together(registry: Registry) -> None:
    said = [(IRI(f"{SITE}/a"), IRI(f"{SITE}/all"))]
    assert registry.trainings.begin(read("run-1", "all", "hmac-1"), said).number == 1
    assert registry.trainings.begin(read("run-2", "a", "hmac-2"), said).number == 2


# --- Whose they are


def test_who_first_binds_a_source_owns_it(registry: Registry) -> None:
    """Whatever becomes of the training: nobody who speaks of it later gets its figures."""
    begun = registry.trainings.begin(attempt("run"))
    assert registry.full_owners(TARGET) == {begun.bound_by}
    stranger = world.document("theirs", world.read_rule("theirs", TARGET))
    with pytest.raises(UsageError, match="does not own"):
        registry.add_policy(stranger, "theirs", OTHER)
    before = world.everything(registry)
    with pytest.raises(UsageError, match="may not say what data it is"):
        registry.trainings.begin(replace(attempt("again"), bound_by=OTHER))
    assert world.everything(registry) == before
    registry.trainings.end("run", AttemptState.NOT_MET)
    assert len(auditing.audits(TARGET, party=begun.bound_by, registry=registry)) == 1
    with pytest.raises(UsageError, match="does not own the training data"):
        auditing.audits(TARGET, party=OTHER, registry=registry)


def test_of_a_model_that_two_made_each_sees_their_own_attempts(registry: Registry) -> None:
    """Nobody can keep an owner from their figures by attempts at a model of the same IRI."""
    own = registry.trainings.begin(attempt("own"))
    theirs = registry.trainings.begin(replace(attempt("theirs", target=OTHER), bound_by=OTHER))
    for party, begun in ((own.bound_by, own), (OTHER, theirs)):
        (found,) = auditing.audits(MODEL, party=party, registry=registry)
        assert found.attempt == begun
    with pytest.raises(UsageError, match="does not own the training data"):
        auditing.audits(MODEL, party=own.party, registry=registry)
