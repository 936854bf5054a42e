"""Rules that shut each other out of a ledger are told beforehand: by `check` and by `policy add`."""

import json
from pathlib import Path
from typing import Any

import pytest
from release_worlds import (
    COUNT,
    MEMBER,
    OWNER,
    ROWS,
    TARGET,
    WARDS,
    WHOLE,
    policy,
    refinement,
    release,
    visits,
)
from shell import Ran, smalti

from smalti.engine.registry.registry import Registry
from smalti.vocab.terms import IRI

DELTA = {
    "smalti:mechanism": refinement("smalti:mechanism", "eq", "gaussian"),
    "smalti:delta": refinement("smalti:delta", "lteq", 1e-6),
}


def written(folder: Path, name: str, target: str = TARGET, **how: Any) -> Path:
    """A policy of releases of its own name."""
    text = policy(folder, **how).read_text().replace("hospital.example/policy", f"hospital.example/{name}")
    place = folder / f"{name}.jsonld"
    place.write_text(text.replace(f'"{TARGET}', f'"{target}').replace("statistics", f"{name}-statistics"))
    return place


def both(folder: Path, one: dict[str, Any], other: dict[str, Any]) -> list[Path]:
    return [written(folder, "one", **one), written(folder, "other", **other)]


def found(*files: Path) -> list[tuple[str, str]]:
    ran = smalti("check", *files, "--format", "json", cwd=files[0].parent)
    assert ran.code == 0, ran
    return [(Path(one["document"]).stem, one["message"]) for one in ran.json if one["code"] == "P623"]


NO_DELTA = "the other rule may charge a delta, and this rule states no `smalti:budgetDelta`"
CASES: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, str]]] = {
    "a delta without a ceiling": ({}, {"words": DELTA, "delta": 1e-5}, {"one": NO_DELTA}),
    "more delta than the ceiling": (
        {"words": DELTA | {"smalti:delta": refinement("smalti:delta", "lteq", 1e-7)}, "delta": 1e-7},
        {"words": DELTA, "delta": 1e-5},
        {"one": "the other rule may charge more delta at once"},
    ),
    "as much epsilon as the ceiling": (
        {},
        {"epsilon": 2, "budget": 5},
        {"one": "the other rule may charge all of `smalti:budgetEpsilon`"},
    ),
    "other neighbours": (
        {},
        {"words": {"smalti:neighbors": refinement("smalti:neighbors", "eq", "change-one")}},
        {"one": "neighbouring relation", "other": "neighbouring relation"},
    ),
    "room for both": ({"budget": 3}, {"budget": 2}, {}),
    "deltas with ceilings": ({"delta": 1e-5}, {"words": DELTA, "delta": 1e-5}, {}),
}


@pytest.mark.parametrize("case", CASES)
def test_check_names_rules_that_shut_each_other_out(tmp_path: Path, case: str) -> None:
    one, other, expected = CASES[case]
    told = dict(found(*both(tmp_path, one, other)))
    assert told.keys() == expected.keys()
    for name, message in told.items():
        assert expected[name] in message
        assert f"`http://hospital.example/{'other' if name == 'one' else 'one'}/1`" in message
    assert found(written(tmp_path, "one", **one)) == []


def test_rules_of_one_document_and_of_other_people(tmp_path: Path) -> None:
    quiet, loud = both(tmp_path, {}, {"words": DELTA, "delta": 1e-5})
    document = json.loads(quiet.read_text())
    document["permission"] += json.loads(loud.read_text())["permission"]
    document["permission"][1]["uid"] = "http://hospital.example/one/2"
    quiet.write_text(json.dumps(document))
    assert [name for name, _ in found(quiet)] == ["one"]
    elsewhere = written(tmp_path, "elsewhere", "http://hospital.example/others", words=DELTA, delta=1e-5)
    assert found(written(tmp_path, "one"), elsewhere) == []


def add(folder: Path, place: Path, *options: str) -> Ran:
    ran = smalti("policy", "add", place, "--as", OWNER, "--registry", "r.sqlite", *options, cwd=folder)
    assert ran.code == 0, ran
    return ran


def test_policy_add_says_it_of_what_is_in_force(tmp_path: Path) -> None:
    quiet, loud = both(tmp_path, {}, {"words": DELTA, "delta": 1e-5})
    assert add(tmp_path, quiet).out == "in force: http://hospital.example/one\n"
    ran = add(tmp_path, loud)
    told = " ".join(ran.out.split())
    assert (
        "warning `http://hospital.example/one/1` is denied after a release under `http://hospital.example/other/1`"
        in told
    )
    assert NO_DELTA in told
    again = add(tmp_path, written(tmp_path, "third", words=DELTA, delta=1e-5), "--format", "json").json
    assert [one["uid"] for one in again["policies"]] == ["http://hospital.example/third"]
    assert [NO_DELTA in one for one in again["warnings"]] == [True]


def test_what_is_told_comes_true(tmp_path: Path) -> None:
    quiet, loud = both(tmp_path, {}, {"words": DELTA, "delta": 1e-5})
    data = visits(tmp_path, ROWS)
    assert release(tmp_path, data, "a", policy=quiet, query=COUNT | {"epsilon": 0.5}).version is not None
    gaussian = COUNT | {"epsilon": 0.5, "delta": 1e-6}
    assert release(tmp_path, data, "b", policy=loud, query=gaussian).version is not None
    denied = release(tmp_path, data, "c", policy=quiet, query=COUNT | {"epsilon": 0.1})
    assert not denied.decision.is_permitted
    assert "states no ceiling for delta" in denied.decision.reasons[0].text


def test_a_collection_shares_the_ledger_of_its_members(tmp_path: Path) -> None:
    add(tmp_path, written(tmp_path, "one", MEMBER))
    known = Registry.open(tmp_path / "r.sqlite")
    known.add_hierarchy(WARDS, "wards", IRI(OWNER))
    assert {MEMBER, WHOLE} <= known.ledger.same_respondents((IRI(WHOLE),))
    ran = add(tmp_path, written(tmp_path, "whole", WHOLE, words=DELTA, delta=1e-5))
    assert NO_DELTA in " ".join(ran.out.split())
