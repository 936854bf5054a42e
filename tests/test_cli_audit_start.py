"""What `smalti audit start` refuses before it starts anything."""

from pathlib import Path

import pytest
from model_worlds import OWNER, TARGET, USER, people, policy
from shell import smalti

from smalti.cli.audit import _without_secrets
from smalti.engine.training import jobs

REST = ("--data", f"{TARGET}=people.csv", "--as", USER, "--owner", OWNER, "--out", "out")


@pytest.fixture(autouse=True)
def started(monkeypatch: pytest.MonkeyPatch) -> list[jobs.Job]:
    """Jobs whose processes would be started."""
    found: list[jobs.Job] = []
    monkeypatch.setattr(jobs, "_spawn", found.append)
    return found


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("missing.jsonld",), "Missing option"),
        ((), "Missing argument 'POLICY'"),
        (("policy.jsonld", *REST, "--wombat"), "No such option"),
        (("policy.jsonld", *REST, "--dry-run"), "`--dry-run` and `--job` start no audit"),
        (("policy.jsonld", *REST, "--job", "here"), "`--dry-run` and `--job` start no audit"),
    ],
)
def test_wrong_arguments_are_told_as_its_own(
    tmp_path: Path, started: list[jobs.Job], arguments: tuple[str, ...], told: str
) -> None:
    ran = smalti("audit", "start", *arguments, cwd=tmp_path)
    assert ran.code == 2, ran
    assert "Usage: smalti audit start" in ran.err
    assert "Usage: smalti run" not in ran.err
    assert told in ran.err
    assert started == []


def test_a_policy_that_is_not_there_is_told_at_once(tmp_path: Path, started: list[jobs.Job]) -> None:
    alone = smalti("run", "missing.jsonld", *REST, cwd=tmp_path)
    ran = smalti("audit", "start", "missing.jsonld", *REST, cwd=tmp_path)
    assert (ran.code, ran.err) == (alone.code, alone.err)
    assert "missing.jsonld" in ran.message
    assert started == []
    assert not (tmp_path / "smalti.sqlite.audits").exists()


def test_a_policy_with_errors_is_told_at_once(tmp_path: Path, started: list[jobs.Job]) -> None:
    (tmp_path / "policy.jsonld").write_text('{"uid": 1}')
    ran = smalti("audit", "start", "policy.jsonld", *REST, cwd=tmp_path)
    assert ran.code == 1
    assert "policy.jsonld" in ran.message
    assert started == []


def test_what_can_be_started_is(tmp_path: Path, started: list[jobs.Job]) -> None:
    people(tmp_path)
    policy(tmp_path)
    assert smalti("audit", "start", "policy.jsonld", *REST, cwd=tmp_path).code == 0
    (job,) = started
    assert job.arguments == ("policy.jsonld", *REST)


def test_arguments_are_shown_without_secrets(tmp_path: Path) -> None:
    secret = "HUNTER2"
    given = (
        "policy.jsonld", "--data", f"{TARGET}=s3://bucket/x.csv?access_key=AK&secret_key={secret}",
        f"--data=http://example.com/b=abfs://c:{secret}@host/b",
        "--conf", f"spark.hadoop.fs.s3a.secret.key={secret}", f"--conf=spark.key={secret}=",
        "--as", USER, "--out", "out",
    )  # fmt: skip
    people(tmp_path)
    policy(tmp_path)
    started = smalti("audit", "start", *given, "--format", "json", cwd=tmp_path)
    assert started.code == 0, started.err
    listed = smalti("audit", "list", "--format", "json", cwd=tmp_path)
    for ran in (started, listed):
        assert secret not in ran.out + ran.err
        assert ran.json["audits"][0]["arguments"] == [
            "policy.jsonld", "--data", f"{TARGET}=s3://***", "--data=http://example.com/b=abfs://***",
            "--conf", "spark.hadoop.fs.s3a.secret.key=***", "--conf=spark.key=***",
            "--as", USER, "--out", "out",
        ]  # fmt: skip
    (job,) = jobs.Jobs.beside(tmp_path / "smalti.sqlite").all()
    assert job.arguments == given, "as `resume` needs them"


def test_a_server_is_shown_without_its_address() -> None:
    shown = _without_secrets(("p.jsonld", "--registry", "postgresql://u:HUNTER2@h/db?password=HUNTER2"))
    assert shown == ["p.jsonld", "--registry", "postgresql://***"]
    assert _without_secrets(("--registry=sqlite:///r", "https://example.com/as?x")) == [
        "--registry=sqlite://***",
        "https://example.com/as?x",
    ]
