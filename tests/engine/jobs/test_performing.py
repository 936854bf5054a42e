"""What jobs do that publish nothing: the same as their commands, with a report for the owner."""

import json
import stat
from pathlib import Path

import kind_worlds as world
import pytest

from smalti.cli.performing import perform
from smalti.engine.jobs.requests import Assess, CheckPolicies, JobRequest, Sweep
from smalti.engine.plan.kinds import Kind
from smalti.engine.registry.job_entries import JobResult


@pytest.mark.parametrize("kind", ["sweep", "assess", "check"])
def test_a_report_goes_to_the_private_folder(
    tmp_path: Path, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    policy = str(world.write(tmp_path, Kind.ANONYMIZATION))
    data = str(tmp_path / "people.csv")
    requests: dict[str, JobRequest] = {
        "sweep": Sweep(policy=policy, target=world.TARGET, data=data, owner=world.OWNER, vary=("k=5,8",)),
        "assess": Assess(data=data, one_row_each=True, size=2),
        "check": CheckPolicies(files=(policy,)),
    }
    report = tmp_path / "report.json"
    assert perform(requests[kind], str(tmp_path / "r.sqlite"), report) == JobResult(0, report=report)
    document = json.loads(report.read_text())
    expected = {"sweep": "points", "assess": "columns"}
    assert kind == "check" or expected[kind] in document, list(document)
    assert stat.S_IMODE(report.stat().st_mode) == 0o600
    assert capsys.readouterr().out
    assert not (tmp_path / "r.sqlite").exists(), "nothing is recorded"
