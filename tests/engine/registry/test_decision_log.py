"""The decision log: every decision, whole lines, no values; nothing is decided without it."""

import json
import os
import resource
import stat
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from smalti.engine.registry.authority import decide
from smalti.engine.registry.decision_log import ENVIRONMENT
from smalti.engine.registry.registry import Registry
from smalti.engine.registry.submissions import Submission
from smalti.errors import RegistryError
from smalti.policy.decide.decision import DutyReading, Fact, Request
from smalti.policy.model.model import Number, Text
from smalti.policy.read.parse import parse
from smalti.vocab import terms
from smalti.vocab.terms import IRI

sys.path.insert(0, str(Path(__file__).parent))
import registry_world as world
from registry_world import OTHER, OWNER, SOURCE, USER

READ = world.document(
    "read",
    {**world.read_rule("read"), "assignee": USER},
    prohibitions=({**world.read_rule("no"), "assignee": OTHER},),
)
CANARY = "canary-8361"
PROCESSES, EACH = 4, 100


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    found = Registry.open(tmp_path / "r.sqlite")
    found.add_policy(READ, "read", OWNER)
    return found


def read(party: IRI = USER, **more: Any) -> Request:
    return Request(party=party, action=terms.READ, targets=(SOURCE,), **more)


def lines(folder: Path, name: str = "r.sqlite.decisions.jsonl") -> list[dict[str, Any]]:
    text = (folder / name).read_text(encoding="utf-8")
    assert text.endswith("\n")
    return [json.loads(line) for line in text.splitlines()]


def test_each_decision_is_a_line(registry: Registry, tmp_path: Path) -> None:
    decisions = [decide(registry, read(party)) for party in (USER, OTHER, OWNER)]
    permit, deny, nothing = lines(tmp_path)
    name = {"policy": world.uid("read"), "digest": world.digest(READ)}
    assert permit["rules"] == [{**name, "rule": "http://example.com/rule/read"}]
    assert deny["rules"] == [{**name, "rule": "http://example.com/rule/no"}]
    assert nothing["rules"] == []
    assert [line["effect"] for line in (permit, deny, nothing)] == ["permit", "deny", "deny"]
    assert len({line["id"] for line in (permit, deny, nothing)}) == 3
    assert permit["request"]["party"] == USER
    assert permit["request"]["targets"] == [SOURCE]
    time = decisions[0].request.time
    assert time is not None
    assert permit["request"]["time"] == time.isoformat(timespec="microseconds")
    assert abs(datetime.fromisoformat(permit["time"]) - time) < timedelta(seconds=1)
    assert 0 < permit["milliseconds"] < 60_000
    assert stat.S_IMODE((tmp_path / "r.sqlite.decisions.jsonl").stat().st_mode) == 0o600


def test_the_time_that_was_judged_is_no_time_of_asking(registry: Registry, tmp_path: Path) -> None:
    before, claimed = datetime.now(UTC), datetime(2001, 2, 3, tzinfo=UTC)
    decide(registry, read(time=claimed))
    (line,) = lines(tmp_path)
    assert datetime.fromisoformat(line["request"]["time"]) == claimed
    slack = timedelta(seconds=1)
    assert before - slack < datetime.fromisoformat(line["time"]) < datetime.now(UTC) + slack


def test_no_value_of_a_fact_or_parameter_is_in_it(registry: Registry, tmp_path: Path) -> None:
    facts = (Fact(IRI(terms.ODRL + "event"), (Text(CANARY),)),)
    parameters = (Fact(IRI(terms.MOSAICROWN + "k"), (Number(Decimal("836100836100")),)),)
    request = read(
        facts=facts, parameters=parameters, fulfilled=frozenset({IRI("http://example.com/duty")})
    )
    decide(registry, request)
    text = (tmp_path / "r.sqlite.decisions.jsonl").read_text()
    assert CANARY not in text
    assert "836100" not in text
    (line,) = lines(tmp_path)
    assert line["request"]["facts"] == [terms.ODRL + "event"]
    assert line["request"]["parameters"] == [terms.MOSAICROWN + "k"]
    assert line["request"]["fulfilled"] == ["http://example.com/duty"]


def test_obligations_are_named(registry: Registry, tmp_path: Path) -> None:
    duty = {"uid": "http://example.com/rule/duty", "output": "http://example.com/out"}
    duty["action"] = world.anonymize_rule("x")["action"]
    document = world.document("duty", world.read_rule("duties", assignee=OWNER) | {"duty": [duty]})
    registry.add_policy(document, "duty", OWNER)
    assert not decide(registry, read(OWNER)).is_permitted
    assert decide(registry, replace(read(OWNER), understands_limits=True)).is_permitted
    plain, understood = lines(tmp_path)[-2:]
    assert plain["obligations"] == understood["obligations"] == ["http://example.com/rule/duty"]
    assert plain["effect"] == understood["effect"] == "limited"
    assert (plain["permitted"], understood["permitted"]) == (False, True)
    assert [one["request"]["understandsLimits"] for one in (plain, understood)] == [False, True]


def test_the_reading_of_duties_is_named_and_what_is_owed_then(registry: Registry, tmp_path: Path) -> None:
    duty = {"uid": "http://example.com/rule/inform", "action": "inform"}
    document = world.document("duty", world.read_rule("duties", assignee=OWNER) | {"duty": [duty]})
    registry.add_policy(document, "duty", OWNER)
    decide(registry, read(OWNER))
    decide(registry, replace(read(OWNER), duties=DutyReading.NOT_VIOLATED))
    strict, later = lines(tmp_path)
    assert [line["request"]["duties"] for line in (strict, later)] == ["fulfilled", "not-violated"]
    assert [line["effect"] for line in (strict, later)] == ["deny", "limited"]
    assert [line["obligations"] for line in (strict, later)] == [[], ["http://example.com/rule/inform"]]


def test_a_submitted_policy_is_named_by_its_digest(tmp_path: Path) -> None:
    registry = Registry.open(tmp_path / "r.sqlite")
    (policy,) = parse(READ, "read").policies
    assert decide(registry, read(), submission=Submission(policy, USER)).is_permitted
    (line,) = lines(tmp_path)
    assert line["rules"][0]["digest"] == world.digest(READ)
    assert not registry.exists


def test_a_decision_that_cannot_be_written_down_is_not_made(registry: Registry, tmp_path: Path) -> None:
    (tmp_path / "r.sqlite.decisions.jsonl").mkdir()
    with pytest.raises(RegistryError, match="the decision cannot be logged") as caught:
        decide(registry, read())
    assert caught.value.exit_code == 3
    assert caught.value.__suppress_context__


def test_decisions_that_are_logged_together_are_logged_at_the_end_or_not_at_all(
    registry: Registry, tmp_path: Path
) -> None:
    log, elsewhere = registry.decision_log, Registry.open(tmp_path / "other.sqlite")
    assert log is not None
    with log.together():
        for _ in range(3):
            decide(registry, read())
        decide(elsewhere, read())
        assert len(lines(tmp_path, "other.sqlite.decisions.jsonl")) == 1
        assert not log.path.exists()
    assert len(lines(tmp_path)) == 3
    log.path.unlink()
    log.path.mkdir()
    with pytest.raises(RegistryError, match="the decision cannot be logged"), log.together():
        decide(registry, read())
    log.path.rmdir()
    decide(registry, read())
    assert len(lines(tmp_path)) == 1


def test_half_a_line_is_taken_back(registry: Registry, tmp_path: Path) -> None:
    """A limit on the file's size stands for a full disk."""
    decide(registry, read())
    before = (tmp_path / "r.sqlite.decisions.jsonl").read_bytes()
    script = (
        "import resource, signal, sys, registry_world as world\n"
        "from smalti.engine.registry.authority import decide\n"
        "from smalti.engine.registry.registry import Registry\n"
        "from smalti.engine.registry.decision_log import DecisionLog\n"
        "from smalti.errors import RegistryError\n"
        "from smalti.policy.decide.decision import Request\nfrom pathlib import Path\n"
        "log = DecisionLog(Path(sys.argv[1]))\n"
        "request = Request(party=world.USER, action='a', targets=('http://e.com/a',))\n"
        "from smalti.policy.decide.authorize import authorize\n"
        "decision = authorize(request, ())\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]),) * 2)\n"
        "try:\n    log.append(decision, 1)\nexcept RegistryError:\n    print('refused')\n"
    )
    log, limit = str(tmp_path / "r.sqlite.decisions.jsonl"), str(len(before) + 20)
    child = subprocess.run(
        [sys.executable, "-c", script, log, limit],
        capture_output=True, text=True, check=True, cwd=Path(__file__).parent,
    )  # fmt: skip
    assert child.stdout == "refused\n"
    assert (tmp_path / "r.sqlite.decisions.jsonl").read_bytes() == before
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != int(limit)


def test_it_is_off_only_where_somebody_says_so(
    registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    silent = Registry.open(tmp_path / "r.sqlite", log_decisions=False)
    assert decide(silent, read()).is_permitted
    assert not (tmp_path / "r.sqlite.decisions.jsonl").exists()
    monkeypatch.setenv(ENVIRONMENT, str(tmp_path / "elsewhere.jsonl"))
    decide(Registry.open(tmp_path / "r.sqlite"), read())
    assert len(lines(tmp_path, "elsewhere.jsonl")) == 1
    assert not (tmp_path / "r.sqlite.decisions.jsonl").exists()
    assert registry.decision_log is not None


def test_lines_of_several_processes_stay_whole(registry: Registry, tmp_path: Path) -> None:
    script = (
        "import sys, registry_world as world\n"
        "from smalti.engine.registry.decision_log import DecisionLog\nfrom pathlib import Path\n"
        "from smalti.policy.decide.authorize import authorize\n"
        "from smalti.policy.decide.decision import Request\n"
        "targets = tuple(f'http://e.com/{n}' for n in range(400))\n"
        "request = Request(party=world.USER, action='a', targets=targets)\n"
        "decision = authorize(request, ())\n"
        f"for _ in range({EACH}):\n    DecisionLog(Path(sys.argv[1])).append(decision, 1)\n"
    )
    log = str(tmp_path / "r.sqlite.decisions.jsonl")
    children = [
        subprocess.Popen([sys.executable, "-c", script, log], cwd=Path(__file__).parent)
        for _ in range(PROCESSES)
    ]
    assert [child.wait(timeout=120) for child in children] == [0] * PROCESSES
    found = lines(tmp_path)
    assert len({line["id"] for line in found}) == PROCESSES * EACH
    assert {len(line["request"]["targets"]) for line in found} == {400}
    assert registry.decision_log is not None
    assert os.path.basename(registry.decision_log.path) == "r.sqlite.decisions.jsonl"
