"""Processes that write to one registry and decide by it at the same time; a script of theirs."""

import subprocess
import sys
from pathlib import Path

from smalti.engine.registry.authority import decide
from smalti.engine.registry.registry import Registry
from smalti.policy.decide.decision import Request
from smalti.vocab import terms
from smalti.vocab.terms import IRI

sys.path.insert(0, str(Path(__file__).parent))
import registry_world as world
from registry_world import OWNER, SOURCE, USER

WRITERS, ROUNDS = 3, 8


def read(party: IRI) -> Request:
    return Request(party=party, action=terms.READ, targets=(SOURCE,))


def churn(location: str, name: str) -> None:
    """Add and revoke, and decide after each: a process sees its own writes at once."""
    registry = Registry.open(location, log_decisions=False)
    party = IRI(f"http://org/{name}")
    for number in range(ROUNDS):
        uid = f"{name}-{number}"
        document = world.document(uid, world.read_rule(uid, assignee=party))
        registry.add_policy(document, uid, OWNER)
        assert decide(registry, read(party)).is_permitted, f"{uid} was added"
        if number < ROUNDS - 1:
            registry.revoke_policy(world.uid(uid), OWNER)
            assert not decide(registry, read(party)).is_permitted, f"{uid} was revoked"


def watch(location: str) -> None:
    """Decide until told to stop: what is always permitted stays so, what never is, never gets so."""
    registry = Registry.open(location, log_decisions=False)
    print("watching", flush=True)
    count = 0
    while count < 40 or not Path(sys.argv[3]).exists():
        assert decide(registry, read(USER)).is_permitted
        assert not decide(registry, read(IRI("http://org/nobody"))).is_permitted
        count += 1


def check(location: str, folder: Path) -> None:
    """Let several processes add, revoke and decide at once; then see that nothing was lost."""
    registry = Registry.open(location, log_decisions=False)
    registry.add_policy(world.document("read", world.read_rule("read", assignee=USER)), "read", OWNER)
    stop = folder / "stop"
    command = [sys.executable, "-W", "error", __file__]
    watcher = subprocess.Popen([*command, "watch", location, str(stop)], stderr=subprocess.PIPE, text=True)
    writers = [
        subprocess.Popen([*command, "churn", location, f"p{at}"], stderr=subprocess.PIPE, text=True)
        for at in range(WRITERS)
    ]
    errors = [writer.communicate(timeout=240)[1] for writer in writers]
    stop.touch()
    errors.append(watcher.communicate(timeout=240)[1])
    assert [error for error in errors if error] == []
    assert [process.returncode for process in (*writers, watcher)] == [0] * (WRITERS + 1)
    stored = registry.list_policies()
    assert len(stored) == 1 + WRITERS * ROUNDS
    assert sum(one.is_in_force for one in stored) == 1 + WRITERS
    for at in range(WRITERS):
        assert decide(registry, read(IRI(f"http://org/p{at}"))).is_permitted


if __name__ == "__main__":
    {"churn": churn, "watch": lambda place, _: watch(place)}[sys.argv[1]](sys.argv[2], sys.argv[3])
