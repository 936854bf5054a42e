"""Runs are told as events of OpenLineage: each that begins, and how it ends; no receiver fails a run."""

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from receivers import receiver
from shell import CUSTOMER, OUTPUT, OWNER, USER, Ran, request, small_policy, small_table, smalti

from smalti.engine.run import run as running
from smalti.engine.run.lineage_events import KEY, LineageEvents
from smalti.engine.tables import sending
from smalti.errors import SmaltiError

_NAMED = {
    "type": "object", "required": ["namespace", "name"],
    "properties": {"facets": {"additionalProperties": {"required": ["_producer", "_schemaURL"]}}},
}  # fmt: skip
RUN_EVENT = {
    # What `RunEvent` of OpenLineage 2-0-2 requires (https://openlineage.io/spec/2-0-2/OpenLineage.json,
    # Apache-2.0), in our words.
    "type": "object",
    "required": ["eventTime", "producer", "schemaURL", "run", "job"],
    "properties": {
        "eventType": {"enum": ["START", "RUNNING", "COMPLETE", "ABORT", "FAIL", "OTHER"]},
        "eventTime": {"type": "string", "format": "date-time"},
        "producer": {"type": "string", "format": "uri"},
        "schemaURL": {"type": "string", "format": "uri"},
        "run": {"required": ["runId"], "properties": {"runId": {"type": "string", "format": "uuid"}}},
        "job": _NAMED,
        "inputs": {"type": "array", "items": _NAMED},
        "outputs": {"type": "array", "items": _NAMED},
    },
}
SECRETS = ("oncology", "flu", USER, OWNER, "people.csv", "smalti.sqlite")
"""What stands in no event: values, parties, paths."""


def told(text: str) -> list[dict[str, Any]]:
    """Events, each as the specification wants it."""
    events = [json.loads(line) for line in text.splitlines()]
    checked = Draft202012Validator(RUN_EVENT, format_checker=Draft202012Validator.FORMAT_CHECKER)
    for event in events:
        checked.validate(event)
    assert not any(secret in text for secret in SECRETS)
    return events


def run(folder: Path, events: str, *others: str, out: str = "out") -> Ran:
    policy, data = small_policy(folder), small_table(folder)
    asked = request(data)
    return smalti("run", policy, *asked, "--out", out, "--events", events, *others, cwd=folder)


def test_a_run_that_ends_well_is_told_with_its_columns(tmp_path: Path) -> None:
    assert run(tmp_path, "events.ndjson").code == 0
    place = tmp_path / "events.ndjson"
    assert place.stat().st_mode & 0o777 == 0o600
    start, complete = told(place.read_text())
    assert (start["eventType"], complete["eventType"]) == ("START", "COMPLETE")
    assert start["run"]["runId"] == complete["run"]["runId"]
    assert [start["job"][part] for part in ("namespace", "name")] == [
        complete["job"][part] for part in ("namespace", "name")
    ]
    for part in ("inputs", "outputs"):
        assert [one["name"] for one in start[part]] == [one["name"] for one in complete[part]]
    assert "masking" in json.dumps(complete["outputs"][0]["facets"]["columnLineage"])
    listed = smalti("lineage", OUTPUT, cwd=tmp_path).out
    assert json.loads(listed) == complete


def test_a_run_that_fails_or_is_stopped_is_told_so_and_not_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_policy(tmp_path, k=("gteq", 1000))
    asked = request(small_table(tmp_path))
    ran = smalti("run", "policy.jsonld", *asked, "--out", "out", "--events", "e.ndjson", cwd=tmp_path)
    assert ran.code == 1, ran.err

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(running, "carry_out", interrupted)
    run(tmp_path, "e.ndjson", out="again")
    kinds = [event["eventType"] for event in told((tmp_path / "e.ndjson").read_text())]
    assert kinds == ["START", "FAIL", "START", "ABORT"]
    denied = run(tmp_path, "none.ndjson", "--as", "http://example.com/party/stranger")
    assert denied.code == 1
    assert not (tmp_path / "none.ndjson").exists(), "what is denied does not begin"


def test_events_are_sent_with_a_key_of_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY, "a-key")
    with receiver() as (address, received):
        assert run(tmp_path, address).code == 0
    events = told("\n".join(each.body for each in received))
    assert [event["eventType"] for event in events] == ["START", "COMPLETE"]
    assert {each.authorization for each in received} == {"Bearer a-key"}
    assert "a-key" not in json.dumps(events)


def test_no_receiver_and_no_file_fails_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending, "SECONDS", 0.3)
    with (
        receiver(status=503) as (broken, _),
        receiver(seconds=2) as (slow, _),
        receiver(status=302) as (elsewhere, _),
    ):
        places = [broken, slow, elsewhere, "http://127.0.0.1:1/gone", str(tmp_path / "no" / "such")]
        for number, place in enumerate(places):
            ran = run(tmp_path, place, out=f"out{number}")
            assert ran.code == 0, ran.err
            assert ran.err.count("the run goes on without") == 2, place


@pytest.mark.parametrize(
    "place",
    ["http://elsewhere.example/x", "https://a:b@c.example", "https://c.example/?key=1", "ftp://c/x"],
)
def test_addresses_that_others_could_read_or_that_hold_a_secret_are_refused(
    tmp_path: Path, place: str
) -> None:
    with pytest.raises(SmaltiError):
        LineageEvents(place, print)
    ran = smalti("worker", "--drain", "--events", place, cwd=tmp_path)
    assert (ran.code, place in ran.err) == (2, False)


def test_a_worker_tells_the_runs_of_its_jobs_and_a_clone_sends_none(tmp_path: Path) -> None:
    policy, data = small_policy(tmp_path), small_table(tmp_path)
    (tmp_path / "smalti.toml").write_text('events = "events.ndjson"\n', encoding="utf-8")
    (tmp_path / "smalti.toml").chmod(0o644)
    job = smalti("jobs", "submit", "run", policy, *request(data), "--out", "out", cwd=tmp_path)
    assert job.code == 0, job.err
    worked = smalti("worker", "--drain", cwd=tmp_path)
    assert "gives --events events.ndjson" in worked.err
    events = told((tmp_path / "events.ndjson").read_text())
    assert [event["eventType"] for event in events] == ["START", "COMPLETE"]
    assert f"{events[0]['inputs'][0]['namespace']}/{events[0]['inputs'][0]['name']}" == CUSTOMER
    (tmp_path / "smalti.toml").write_text('events = "https://evil.example/x"\n', encoding="utf-8")
    refused = smalti("worker", "--drain", cwd=tmp_path)
    assert (refused.code, "counts only in a file that you name" in refused.err) == (2, True)
