"""What `smalti audit list` says of audits that ended, and what of a name that it does not list."""

import json
from pathlib import Path

import pytest
from shell import smalti


def audit(folder: Path, name: str, **status: object) -> None:
    """The folder of an audit that is not running."""
    place = folder / "r.sqlite.audits" / name
    place.mkdir(parents=True)
    said = {
        "arguments": ["policy.jsonld"],
        "workplace": str(folder),
        "started_at": "2026-01-01T00:00:00+00:00",
    }
    (place / "job.json").write_text(json.dumps(said))
    (place / "lock").touch()
    (place / "status.json").write_text(json.dumps(status))


@pytest.mark.parametrize(
    ("status", "told"),
    [
        ({"exit_code": 0}, "ended, permitted (exit code 0)"),
        ({"exit_code": 1}, "ended, refused, or an error (exit code 1)"),
        ({"exit_code": 3}, "ended, failed (exit code 3)"),
        ({"phase": "records", "was_stopped": True}, "stopped, records"),
        ({}, "died"),
    ],
)
def test_how_an_audit_ended_is_told(tmp_path: Path, status: dict[str, object], told: str) -> None:
    audit(tmp_path, "abc", **status)
    ran = smalti("audit", "list", "--registry", "r.sqlite", cwd=tmp_path)
    assert ran.out == f"abc  {told}  started 2026-01-01T00:00:00+00:00  policy.jsonld\n", ran.err


@pytest.mark.parametrize("command", ["follow", "stop", "resume"])
def test_where_a_name_was_looked_for_is_told(tmp_path: Path, command: str) -> None:
    audit(tmp_path, "abc", exit_code=0)
    ran = smalti("audit", command, "abc", cwd=tmp_path)
    assert ran.code == 2
    assert "smalti.sqlite.audits, beside the registry, has no audit of this name" in ran.message
    assert "--registry" in ran.message
