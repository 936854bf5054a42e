"""A stranger submits an owner's policy, unchanged, with a parent of their own: whole runs of every kind."""

import json
from pathlib import Path
from typing import Any

import pytest
from shell import POLICIES, ROOT

import smalti
from smalti.engine.binding.run_request import Watch
from smalti.engine.registry.registry import Registry
from smalti.vocab.terms import IRI

SURVEY = "http://example.com/survey/contraceptive"
DATA = ROOT / "examples" / "data" / "contraceptive.csv"
OWNER, STRANGER, STAFF = (f"http://example.com/party/{name}" for name in ("owner", "stranger", "staff"))
ALL, OWN = "http://stranger.example/all", "http://stranger.example/own"
PARENT = "http://example.com/policy/parent"
KINDS = {
    "anonymize": "contraceptive",
    "release": "contraceptive-statistics",
    "perturb": "contraceptive-local",
    "train": "contraceptive-model",
}


def example(kind: str, **changes: Any) -> dict[str, Any]:
    """An example policy that inherits; the changes are of its rule."""
    document = json.loads((POLICIES / f"{KINDS[kind]}.jsonld").read_text())
    document["inheritFrom"] = PARENT
    document["permission"][0] |= changes
    return document


def parent(kind: str, **changes: Any) -> dict[str, Any]:
    """A policy under the parent's uid; what it permits is of the same kind."""
    document = example(kind, **changes)
    del document["inheritFrom"]
    document["uid"] = PARENT
    document["permission"][0] |= {"uid": f"{PARENT}/1", "output": f"{OWN}/out"}
    return document


def strangers(kind: str) -> dict[str, Any]:
    """About the stranger's own IRIs; says that the survey is in their collection, and they are staff."""
    survey = {"uid": SURVEY, "@type": "Asset", "partOf": ALL}
    document = parent(kind, target=ALL, assignee={"uid": STRANGER, "@type": "Party", "partOf": STAFF})
    mine = {"uid": f"{OWN}/rule", "target": {"uid": OWN, "@type": "Asset", "partOf": survey}}
    document["permission"].append({**mine, "action": "odrl:use"})
    return json.loads(json.dumps(document).replace('"method"}', f'"{SURVEY}/method"}}'))  # a bare name


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    return Registry.open(tmp_path / "r.sqlite")


def put(registry: Registry, document: dict[str, Any], by: str) -> None:
    registry.add_policy(json.dumps(document).encode(), "policy", IRI(by))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("way", ["asset", "group"])
@pytest.mark.parametrize("owner", [None, STRANGER])
def test_a_stranger_gets_nothing_from_an_owners_unchanged_policy(
    registry: Registry, tmp_path: Path, kind: str, way: str, owner: str | None
) -> None:
    policy = example(kind, **({"assignee": STAFF} if way == "group" else {}))
    put(registry, parent(kind, assignee=OWNER, target=f"{SURVEY}-of-last-year"), OWNER)
    put(registry, policy, OWNER)
    place = tmp_path / "policy.jsonld"
    place.write_bytes(json.dumps(policy).encode())
    put(registry, strangers(kind), STRANGER)
    read = smalti.load_policy(place, registry=registry, issuer=STRANGER)
    for submitted in (place, read):
        outcome = smalti.run(
            submitted,
            data={SURVEY: DATA},
            party=STRANGER,
            owner=owner,
            purpose="statistical",
            rule=f"{PARENT}/1" if way == "asset" else None,
            query=POLICIES / "contraceptive.query.json" if kind == "release" else None,
            registry=registry,
            out=tmp_path / "out",
        )
        assert not outcome.decision.is_permitted
        assert outcome.version is None
    assert not (tmp_path / "out").exists()
    assert registry.all_versions() == ()
    assert not registry.ledger.budget(IRI(SURVEY)).charges
    assert registry.attempts() == ()


def test_a_stranger_runs_an_owners_policy_as_its_owner_says_it(registry: Registry, tmp_path: Path) -> None:
    """The stranger has a parent under the same uid; what runs, and is recorded, is the owner's."""
    policy, place = example("anonymize", assignee=STRANGER), tmp_path / "policy.jsonld"
    put(registry, parent("anonymize", assignee=OWNER, target=f"{SURVEY}-of-last-year"), OWNER)
    put(registry, policy, OWNER)
    place.write_text(json.dumps(policy))
    asked: dict[str, Any] = {
        "data": {SURVEY: DATA}, "party": STRANGER, "purpose": "statistical", "registry": registry
    }  # fmt: skip
    assert smalti.run(place, owner=OWNER, out=tmp_path / "first", **asked).version is not None
    put(registry, strangers("anonymize"), STRANGER)
    for number, submitted in enumerate(
        (place, smalti.load_policy(place, registry=registry, issuer=STRANGER))
    ):
        outcome = smalti.run(submitted, out=tmp_path / f"out{number}", **asked)
        assert outcome.version is not None
        assert outcome.report is None
        first, *_ = registry.versions(outcome.version.target)
        assert outcome.version.policy_meaning == first.policy_meaning


class _Forbidding(Watch):
    """Puts a prohibition in force as soon as a phase begins."""

    def __init__(self, registry: Registry, target: str) -> None:
        super().__init__()
        self._registry, self._target = registry, target

    def phase(self, name: str) -> None:
        super().phase(name)
        if name == "register":
            document = parent("anonymize")
            del document["permission"]
            rule = {"uid": f"{PARENT}/no", "target": self._target, "action": "odrl:use"}
            put(self._registry, {**document, "prohibition": [rule]}, OWNER)


@pytest.mark.parametrize("kind", ["anonymize", "perturb"])
@pytest.mark.parametrize("target", [SURVEY, f"{SURVEY}/age"])
def test_what_is_prohibited_during_a_run_is_not_published(
    registry: Registry, tmp_path: Path, kind: str, target: str
) -> None:
    policy, place = example(kind, assignee=STRANGER), tmp_path / "policy.jsonld"
    del policy["inheritFrom"]
    put(registry, policy, OWNER)
    place.write_text(json.dumps(policy))
    with pytest.raises(smalti.SmaltiError, match="is no longer permitted"):
        smalti.run(
            place,
            data={SURVEY: DATA},
            party=STRANGER,
            owner=OWNER,
            purpose="statistical",
            registry=registry,
            out=tmp_path / "out",
            watch=_Forbidding(registry, target),
        )
    assert registry.all_versions() == ()
    assert not (tmp_path / "out").exists()
