"""Who may run an owner's policy of a training, on what the owner ran it on."""

import json
from pathlib import Path

import pytest
from model_worlds import OUTPUT, OWNER, TARGET, USER, people, policy, registry, run, untrained

import smalti
from smalti.engine.training import attempt as running
from smalti.errors import UsageError

OF_SOMEBODY_ELSE = "describes its data otherwise than an owner did"


@pytest.fixture
def owned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """A policy of the owner, and data that a model was trained on before."""
    monkeypatch.setattr(running, "target", lambda made, *given: untrained(made))
    asked, data = policy(tmp_path, noise=True, is_audited=False), people(tmp_path)
    assert run(tmp_path, data, policy=asked).version is not None
    return asked, data


def test_others_run_it_on_the_same_bytes(tmp_path: Path, owned: tuple[Path, Path]) -> None:
    asked, data = owned
    again = run(tmp_path, data, "again", policy=asked, owner=USER)
    assert again.version is not None
    assert again.version.number == 2
    assert registry(tmp_path).full_owners(smalti.IRI(TARGET)) == {OWNER}


@pytest.mark.parametrize("column", ["number", "group"])
def test_others_do_not_say_what_is_public_of_it(
    tmp_path: Path, owned: tuple[Path, Path], column: str
) -> None:
    asked, data = owned
    metadata = data.with_name(f"{data.name}-metadata.json")
    described = json.loads(metadata.read_text())
    for one in described["tableSchema"]["columns"]:
        if one["name"] == column == "number":
            one["datatype"]["maximum"] = 4999
        if one["name"] == column == "group":
            one["csvw-eo:keyValues"].append("c")
    metadata.write_text(json.dumps(described))
    with pytest.raises(UsageError, match=OF_SOMEBODY_ELSE):
        run(tmp_path, data, "again", policy=asked, owner=USER)
    assert len(registry(tmp_path).versions(smalti.IRI(OUTPUT))) == 1
