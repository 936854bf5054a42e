"""Which engine, with which fragments and settings: what a command line and a caller may say."""

import sys
from pathlib import Path
from unittest.mock import patch

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))
from shell import CUSTOMER, MARKETING, OWNER, USER, request, small_policy, small_table, smalti

from smalti import api
from smalti.engine.anonymization import first_cuts
from smalti.engine.backends.local import LocalBackend
from smalti.errors import UsageError


@pytest.mark.parametrize("option", [("--master", "local[2]"), ("--conf", "spark.ui.enabled=true")])
@pytest.mark.parametrize("command", ["run", "plan", "verify"])
def test_settings_of_the_other_engine_are_wrong_usage(
    tmp_path: Path, command: str, option: tuple[str, str]
) -> None:
    data, policy = small_table(tmp_path), small_policy(tmp_path)
    arguments: list[object] = [policy, *request(data)]
    if command == "run":
        arguments += ["--out", "out"]
    if command == "verify":
        assert smalti("run", *arguments, "--out", "out", cwd=tmp_path).code == 0
        arguments = ["out", "--data", data]
    ran = smalti(command, *arguments, *option, cwd=tmp_path)
    assert (ran.code, "they are for Spark" in ran.err) == (2, True)
    assert (tmp_path / "out").exists() == (command == "verify")


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ("spark.log.level=wombat", "`spark.log.level` cannot be set: Spark's log may quote rows"),
        ("spark.pyspark.python=wombat", "the workers take this interpreter"),
        ("wombat", "a setting has no name or no value"),
        ("log.level=wombat", "no setting of Spark"),
    ],
)
def test_a_setting_that_cannot_be_made_is_named_without_its_value(
    tmp_path: Path, setting: str, told: str
) -> None:
    data, policy = small_table(tmp_path), small_policy(tmp_path)
    ran = smalti(
        "run", policy, *request(data), "--out", "out", "--engine", "spark", "--conf", setting, cwd=tmp_path
    )
    assert ran.code == 2
    # The console breaks lines.
    assert told in " ".join(ran.err.split())
    assert "wombat" not in ran.err
    assert not (tmp_path / "out").exists()


def test_fragments_are_obtained_and_change_nothing(tmp_path: Path) -> None:
    data, policy = small_table(tmp_path), small_policy(tmp_path)
    common = ["--cut-threshold", "0"]
    assert smalti("run", policy, *request(data), "--out", "whole", *common, cwd=tmp_path).code == 0
    obtained: list[int] = []
    real = first_cuts.FirstCuts.cut

    def cut(self: first_cuts.FirstCuts, fragments: int) -> int:
        obtained.append(real(self, fragments))
        return obtained[-1]

    with patch.object(first_cuts.FirstCuts, "cut", cut):
        ran = smalti(
            "run", policy, *request(data), "--out", "pieces", "--fragments", "2", *common, cwd=tmp_path
        )
    assert (ran.code, obtained) == (0, [2])
    whole, pieces = (tmp_path / name / "anonCustomer.csv" for name in ("whole", "pieces"))
    assert whole.read_bytes() == pieces.read_bytes()


@pytest.mark.parametrize("url", ["ftp://host/people.csv", "file:///people.csv"])
def test_other_stores_are_refused_by_name(tmp_path: Path, url: str) -> None:
    policy = small_policy(tmp_path)
    ran = smalti("run", policy, *request(url), "--out", "out", cwd=tmp_path)
    assert ran.code == 2
    assert f"`{url.partition(':')[0]}://` is no store that can be read" in " ".join(ran.err.split())


@pytest.mark.parametrize("choice", [{"fragments": 2}, {"master": "local"}, {"conf": {"spark.x": "y"}}])
def test_a_backend_is_taken_as_it_is(tmp_path: Path, choice: dict[str, object]) -> None:
    with pytest.raises(UsageError, match="a backend has its own"):
        api.run(
            small_policy(tmp_path), data={CUSTOMER: small_table(tmp_path)}, party=USER, owner=OWNER,
            purpose=MARKETING, out=tmp_path / "out", registry=tmp_path / "r.sqlite",
            engine=LocalBackend(), **choice,  # type: ignore[arg-type]
        )  # fmt: skip


def test_no_fragments_are_wrong_usage(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there are none"):
        api.plan(small_policy(tmp_path), data={CUSTOMER: small_table(tmp_path)}, fragments=0)


@pytest.mark.parametrize("command", ["plan", "verify", "dry run"])
def test_a_workspace_is_where_a_command_works_and_is_left_empty(
    tmp_path: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, policy, shared = small_table(tmp_path), small_policy(tmp_path), tmp_path / "shared"
    shared.mkdir()
    arguments: list[object] = ["plan", policy, *request(data), "--workspace", shared]
    if command == "verify":
        assert smalti("run", policy, *request(data), "--out", "out", cwd=tmp_path).code == 0
        arguments = ["verify", "out", "--data", data, "--workspace", shared]
    if command == "dry run":
        arguments = ["run", policy, *request(data), "--out", "shared/out", "--dry-run"]
    used: list[Path] = []
    real = LocalBackend.open

    def opening(self: LocalBackend, source: object, workspace: Path, columns: object = None) -> object:
        used.append(workspace)
        return real(self, source, workspace, columns)  # type: ignore[arg-type]

    monkeypatch.setattr(LocalBackend, "open", opening)
    assert smalti(*arguments, cwd=tmp_path).code == 0  # type: ignore[arg-type]
    assert [place.is_relative_to(shared) for place in used] == [True]
    assert list(shared.iterdir()) == []


@pytest.mark.parametrize("command", ["plan", "verify"])
def test_a_workspace_that_is_not_there_is_wrong_usage(tmp_path: Path, command: str) -> None:
    data, policy = small_table(tmp_path), small_policy(tmp_path)
    arguments: list[object] = ["plan", policy, *request(data)]
    if command == "verify":
        assert smalti("run", policy, *request(data), "--out", "out", cwd=tmp_path).code == 0
        arguments = ["verify", "out", "--data", data]
    ran = smalti(*arguments, "--workspace", "nowhere", cwd=tmp_path)  # type: ignore[arg-type]
    assert ran.code == 2
    assert "nowhere: the work folder does not exist" in " ".join(ran.err.split())


def test_a_run_works_beside_its_output(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="a run works beside its output"):
        api.run(
            small_policy(tmp_path), data={CUSTOMER: small_table(tmp_path)}, party=USER, owner=OWNER,
            purpose=MARKETING, out=tmp_path / "out", registry=tmp_path / "r.sqlite", workspace=tmp_path,
        )  # fmt: skip
