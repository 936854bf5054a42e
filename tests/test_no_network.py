"""Every entry point runs without a socket, a child process, or a read outside of the given paths.

The Spark engine is not among them: it talks to its own Java process on the loopback interface.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from guarded import FORBIDDEN
from shell import CUSTOMER, OWNER, POLICIES, USER, request, small_policy, small_table

SCRIPT = Path(__file__).with_name("guarded.py")
TURTLE = """
@prefix odrl: <http://www.w3.org/ns/odrl/2/> .
<http://example.com/policy/t> a odrl:Set ;
    odrl:permission [ odrl:action odrl:read ; odrl:target <http://example.com/Customer> ] .
"""
TESTS = {
    "policies": ["policy.jsonld"],
    "tests": [
        {
            "name": "denied without a purpose",
            "request": {"party": USER, "action": "anonymize", "target": CUSTOMER},
            "expect": {"effect": "deny"},
        }
    ],
}
OUT = ["--out", "out"]


def guarded(folder: Path, *commands: list[str]) -> list[tuple[int, str]]:
    """Run commands in a process of their own; how each ended, and what it printed."""
    done = subprocess.run(
        [sys.executable, str(SCRIPT), str(folder)], input=json.dumps(commands),
        cwd=folder, capture_output=True, text=True, timeout=120, check=False,
        env=os.environ | {"TMPDIR": str(folder)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return [(code, printed) for code, printed in json.loads(done.stdout)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with everything that a command may need; the commands below run in it, in this order."""
    place = tmp_path_factory.mktemp("offline")
    small_table(place)
    small_policy(place)
    (place / "policy.ttl").write_text(TURTLE, encoding="utf-8")
    (place / "cases.json").write_text(json.dumps(TESTS), encoding="utf-8")
    remote = small_policy(place, file="remote.jsonld")
    document = json.loads(remote.read_text(encoding="utf-8"))
    document["@context"].append("http://127.0.0.1:9/evil.jsonld")
    remote.write_text(json.dumps(document), encoding="utf-8")
    printed = (POLICIES / "fig-2.6.jsonld").read_text(encoding="utf-8")
    (place / "figure.jsonld").write_text(printed, encoding="utf-8")
    return place


DATA = request(Path("people.csv"))
SEQUENCE: list[tuple[list[str], int]] = [
    (["check", "policy.jsonld", "figure.jsonld"], 0),
    (["check", "policy.jsonld", "--format", "sarif"], 0),
    (["check", "policy.jsonld", "--format", "github"], 0),
    (["check", "remote.jsonld", "--format", "json"], 1),
    (["check", "policy.ttl"], 0),
    (["fmt", "--check", "--diff", "policy.jsonld"], 1),
    (["fmt", "policy.jsonld"], 0),
    (["test", "cases.json"], 0),
    (["plan", "policy.jsonld", *DATA], 0),
    (["run", "policy.jsonld", *DATA, *OUT], 0),
    (["verify", "out"], 0),
    (["policy", "add", "policy.jsonld", "--as", OWNER], 0),
    (["policy", "list"], 0),
    (["policy", "owners"], 0),
    (["decide", "--as", USER, "--action", "read", "--target", CUSTOMER, "--explain"], 1),
    (["targets"], 0),
    (["targets", "--format", "turtle"], 0),
    (["policy", "revoke", "http://example.com/policy/small", "--as", OWNER], 0),
]


def test_every_entry_point_stays_offline_and_inside(folder: Path) -> None:
    ended = guarded(folder, *(arguments for arguments, _ in SEQUENCE))
    for (arguments, expected), (code, printed) in zip(SEQUENCE, ended, strict=True):
        assert code == expected, (arguments, code, printed)


def test_the_guard_can_fail(folder: Path) -> None:
    forbidden = (
        "import socket; socket.create_connection(('127.0.0.1', 9))",
        "open('/etc/hostname')",
        "import os; os.listdir('/')",
        "import subprocess; subprocess.run(['true'])",
    )
    allowed = "open('people.csv').close()"
    ended = guarded(folder, *(["--instead", code] for code in (*forbidden, allowed)))
    assert [code for code, _ in ended] == [FORBIDDEN] * len(forbidden) + [0], ended
