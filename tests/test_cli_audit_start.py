"""What `smalti audit start` refuses before it starts anything."""

from pathlib import Path

import pytest
from model_worlds import OWNER, TARGET, USER, people, policy
from shell import smalti

from smalti.cli import workers
from smalti.engine.jobs.queue import request_of
from smalti.engine.jobs.requests import Audit, to_json
from smalti.engine.registry.job_entries import StoredJob
from smalti.engine.registry.registry import Registry
from smalti.json.jobs import without_address

REST = ("--data", f"{TARGET}=people.csv", "--as", USER, "--owner", OWNER, "--out", "out")


@pytest.fixture(autouse=True)
def started(monkeypatch: pytest.MonkeyPatch) -> list[StoredJob]:
    """Jobs whose workers would be started."""
    found: list[StoredJob] = []

    def start(_: Registry, __: str, job: StoredJob) -> StoredJob:
        found.append(job)
        return job

    monkeypatch.setattr(workers, "start_worker", start)
    return found


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("missing.jsonld",), "Missing option"),
        ((), "Missing argument 'POLICY'"),
        (("policy.jsonld", *REST, "--wombat"), "No such option"),
        (
            ("policy.jsonld", *REST, "--dry-run"),
            "`--dry-run`: options of `smalti run` that no such job takes",
        ),
        (("policy.jsonld", *REST, "--job", "here"), "No such option"),
    ],
)
def test_wrong_arguments_are_told_as_its_own(
    tmp_path: Path, started: list[StoredJob], arguments: tuple[str, ...], told: str
) -> None:
    ran = smalti("audit", "start", *arguments, cwd=tmp_path)
    assert ran.code == 2, ran
    assert "Usage: smalti audit start" in ran.err
    assert "Usage: smalti run" not in ran.err
    assert told in ran.err
    assert started == []


def test_a_policy_that_is_not_there_is_told_at_once(tmp_path: Path, started: list[StoredJob]) -> None:
    alone = smalti("run", "missing.jsonld", *REST, cwd=tmp_path)
    ran = smalti("audit", "start", "missing.jsonld", *REST, cwd=tmp_path)
    assert (ran.code, ran.err) == (alone.code, alone.err)
    assert "missing.jsonld" in ran.message
    assert started == []
    assert not (tmp_path / "smalti.sqlite").exists()


def test_a_policy_with_errors_is_told_at_once(tmp_path: Path, started: list[StoredJob]) -> None:
    (tmp_path / "policy.jsonld").write_text('{"uid": 1}')
    ran = smalti("audit", "start", "policy.jsonld", *REST, cwd=tmp_path)
    assert ran.code == 1
    assert "policy.jsonld" in ran.message
    assert started == []


def test_what_can_be_started_is(tmp_path: Path, started: list[StoredJob]) -> None:
    people(tmp_path)
    policy(tmp_path)
    assert smalti("audit", "start", "policy.jsonld", *REST, cwd=tmp_path).code == 0
    (job,) = started
    assert request_of(job) == Audit(
        policy=str(tmp_path / "policy.jsonld"),
        target=TARGET,
        data=str(tmp_path / "people.csv"),
        party=USER,
        owner=OWNER,
        out=str(tmp_path / "out"),
    )


def test_arguments_are_shown_without_secrets(tmp_path: Path, started: list[StoredJob]) -> None:
    secret = "HUNTER2"
    given = (
        "policy.jsonld", "--data", f"{TARGET}=s3://bucket/x.csv?access_key=AK&secret_key={secret}",
        f"--earlier-data=abfs://c:{secret}@host/b",
        "--conf", f"spark.hadoop.fs.s3a.secret.key={secret}", f"--conf=spark.key={secret}=",
        "--as", USER, "--out", "out",
    )  # fmt: skip
    people(tmp_path)
    policy(tmp_path)
    ran_start = smalti("audit", "start", *given, "--format", "json", cwd=tmp_path)
    assert ran_start.code == 0, ran_start.err
    listed = smalti("audit", "list", "--format", "json", cwd=tmp_path)
    words = [
        str(tmp_path / "policy.jsonld"), "--out", str(tmp_path / "out"), "--data", f"{TARGET}=s3://***",
        "--earlier-data", "abfs://***", "--conf", "spark.hadoop.fs.s3a.secret.key=***",
        "--conf", "spark.key=***", "--as", USER,
    ]  # fmt: skip
    for ran in (ran_start, listed):
        assert secret not in ran.out + ran.err
        assert ran.json["audits"][0]["arguments"] == words
    shown = [
        smalti("jobs", "show", started[0].id, *form, cwd=tmp_path) for form in ((), ("--format", "json"))
    ]
    assert not any(secret in ran.out + ran.err for ran in shown)
    (job,) = started
    assert to_json(request_of(job)).count(secret) == 4, "as the job needs them"


def test_a_server_is_shown_without_its_address() -> None:
    assert without_address("postgresql://u:HUNTER2@h/db?password=HUNTER2") == "postgresql://***"
    assert without_address("--registry=sqlite:///r") == "--registry=sqlite://***"
    assert without_address("https://example.com/as?x") == "https://example.com/as?x"
