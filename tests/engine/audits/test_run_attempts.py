"""Whole runs under other names of model and data are attempts at models of the same data. 1 s of CPU."""

import json
import shutil
from pathlib import Path

import pytest
from model_worlds import OUTPUT, OWNER, TARGET, USER, people, policy, registry, run, untrained

import smalti
from smalti.engine.training import attempt as running
from smalti.engine.training.figures import figures_from_json
from smalti.errors import PlanError
from smalti.vocab.terms import IRI


def renamed(path: Path, **names: str) -> Path:
    """A policy with other IRIs for what it is about."""
    text = path.read_text(encoding="utf-8")
    for old, new in (("people-model", names["model"]), ("com/people", f"com/{names['data']}")):
        text = text.replace(old, new)
    made = path.with_name(f"{names['model']}-{names['data']}.jsonld")
    made.write_text(json.dumps(json.loads(text)), encoding="utf-8")
    return made


def test_a_model_under_another_name_from_the_same_bytes_is_the_next_attempt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "target", lambda made, *given: untrained(made))
    data = people(tmp_path)
    asked = policy(tmp_path, noise=False, bound=0.1)  # which no attempt meets: nothing is registered
    monkeypatch.setattr(running, "check_attainable", lambda *given: None)
    run(tmp_path, data, policy=asked)
    run(tmp_path, data, policy=renamed(asked, model="wombat", data="people"))
    copy = shutil.copy(data, tmp_path / "copy.csv")
    described = (tmp_path / "people.csv-metadata.json").read_text(encoding="utf-8")
    (tmp_path / "copy.csv-metadata.json").write_text(described.replace("people.csv", "copy.csv"))
    other = TARGET.replace("people", "others")
    smalti.run(
        renamed(asked, model="koala", data="others"), data={other: copy}, party=USER, owner=OWNER,
        out=tmp_path / "out", registry=tmp_path / "r.sqlite",
    )  # fmt: skip
    assert registry(tmp_path).full_owners(IRI(TARGET)) == {OWNER}, "though nothing was registered"
    found = registry(tmp_path).attempts()
    assert [(one.target, one.number) for one in found] == [(TARGET, 1), (TARGET, 2), (other, 3)]
    assert len({one.output for one in found} | {OUTPUT}) == 3
    errors = [figures_from_json(one.figures).error for one in found]
    assert errors == ["1/40", "1/120", "1/240"]
    assert registry(tmp_path).ledger.budget(found[0].target).charges == ()


@pytest.mark.parametrize("noise", [True, False])
def test_an_attempt_that_has_no_limits_is_refused_before_its_charge(
    noise: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "next_attempt", lambda *given: 10**6)
    with pytest.raises(PlanError, match="too many attempts"):
        run(tmp_path, people(tmp_path), policy=policy(tmp_path, noise=noise))
    assert registry(tmp_path).attempts() == ()
    assert registry(tmp_path).ledger.budget(IRI(TARGET)).charges == ()
