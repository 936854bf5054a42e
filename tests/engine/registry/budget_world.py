"""Charges for the tests of budgets; also the script of the processes that race for a budget."""

import os
import random
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
import registry_world as world
from registry_world import SOURCE, USER

from smalti.engine.registry.budget import Ceiling, Charge
from smalti.engine.registry.entries import new_run
from smalti.engine.registry.registry import Registry
from smalti.transforms.loss.privacy_loss import PrivacyLoss
from smalti.transforms.sensitivity import NeighboringRelation
from smalti.vocab.terms import IRI

ONE = Ceiling(Decimal(1), Decimal(0))
TARGETS = tuple(IRI(f"http://example.com/data/{name}") for name in "abc")
"""Of the soak."""
EPSILONS = ("0.1", "0.03", "0.007", "0.25")


def hmac(name: str) -> str:
    """A keyed digest, told from others by its name."""
    return "hmac-sha256:" + world.digest(name.encode()).removeprefix("sha256:")


def charge(epsilon: str = "0.1", target: str = SOURCE, **changes: Any) -> Charge:
    """A release with Laplace noise that loses what it is charged."""
    exact = Decimal(epsilon)
    known: dict[str, Any] = {
        "run": new_run(),
        "target": IRI(target),
        "inputs": (),
        "epsilon": exact,
        "delta": Decimal(0),
        "loss": PrivacyLoss(pure=Fraction(exact)),
        "neighbors": NeighboringRelation.ADD_OR_REMOVE_ONE,
        "party": USER,
        "purpose": None,
        "policy_uid": world.uid("statistics"),
        "rule_uid": IRI("http://example.com/rule/statistics"),
        "plan_digest": world.digest(b"plan"),
        "time": datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
    }
    return Charge(**known | changes)


# --- Several processes


def start(command: str, location: str, *arguments: str) -> subprocess.Popen[str]:
    """A process of this script."""
    return subprocess.Popen(
        [sys.executable, "-W", "error", __file__, command, location, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def race(location: str, racers: int) -> None:
    """Let processes race for the last of a budget: exactly one gets it."""
    registry = Registry.open(location, log_decisions=False)
    assert all(registry.ledger.charge(charge("0.1"), ONE) for _ in range(9))
    processes = [start("race", location) for _ in range(racers)]
    with registry._database.writing():
        # While this holds the lock each of them finds that it fits, and waits to write.
        for process in processes:
            assert process.stdout is not None
            assert process.stdin is not None
            assert process.stdout.readline() == "ready\n"
            process.stdin.write("go\n")
            process.stdin.flush()
        time.sleep(0.5)
    ended = [process.communicate(timeout=120) for process in processes]
    assert [error for _, error in ended] == [""] * racers
    assert sorted(int(out) for out, _ in ended) == [*[0] * (racers - 1), 1]
    assert registry.ledger.spent([SOURCE]).epsilon == 1
    assert len(registry.ledger.budget(SOURCE).charges) == 10


def crash(location: str) -> None:
    """Let a process die between its charge and its draw: it stays charged."""
    process = start("die", location)
    assert process.communicate(timeout=120) == ("", "")
    assert process.returncode == -signal.SIGKILL
    registry = Registry.open(location, log_decisions=False)
    assert registry.ledger.spent([SOURCE]).epsilon == Decimal("0.7")
    assert not registry.ledger.charge(charge("0.4"), ONE)
    assert registry.ledger.charge(charge("0.3"), ONE)


def soak(location: str, folder: Path, requests: int, processes: int = 8) -> None:
    """Let processes make requests, killed at random; then hold the ledgers against what was released."""
    chance = random.Random(1)
    started: list[subprocess.Popen[str]] = []
    while sum(path.stat().st_size for path in folder.glob("asked-*")) < requests:
        while len(running := [one for one in started if one.poll() is None]) < processes:
            seed = str(len(started))
            started.append(start("soak", location, str(folder), seed, str(requests // processes)))
        for one in started:
            if one.returncode not in {None, 0, -signal.SIGKILL}:
                raise AssertionError(one.communicate()[1])
        time.sleep(chance.uniform(1, 3))
        chance.choice(running).kill()
    for process in started:
        process.kill()
        _, error = process.communicate()
        assert process.returncode in {0, -signal.SIGKILL}, error
    _check_soak(Registry.open(location, log_decisions=False), folder)


def _check_soak(registry: Registry, folder: Path) -> None:
    lines = [line for path in folder.glob("released-*") for line in path.read_text().splitlines(True)]
    # A process that was killed as it wrote leaves a part of a line, which nobody could read as a release.
    released = [line.split() for line in lines if line.endswith("\n")]
    runs = [run for run, _, _ in released]
    assert len(runs) > 100, "many were released"
    assert len(set(runs)) == len(runs), "one charge for each release"
    for target in TARGETS:
        budget = registry.ledger.budget(target)
        charged = {one.run: one.epsilon for one in budget.charges}
        mine = {run: Decimal(epsilon) for run, about, epsilon in released if about == target}
        assert mine.items() <= charged.items(), "what was released was charged"
        assert budget.spent == registry.ledger.spent([target]), "sums are those of the charges"
        assert Decimal(29) < budget.epsilon <= 30, "used up, and never more"


# --- As a script


def _race(registry: Registry) -> None:
    """Charge until it no longer fits, as soon as told; print how often it did."""
    print("ready", flush=True)
    sys.stdin.readline()
    count = 0
    while registry.ledger.charge(charge("0.1"), ONE):
        count += 1
    print(count, flush=True)


def _die(registry: Registry) -> None:
    """Charge, and die before anything is drawn."""
    if registry.ledger.charge(charge("0.7"), ONE):
        os.kill(os.getpid(), signal.SIGKILL)


def _soak(registry: Registry, folder: Path, seed: int, requests: int) -> None:
    """Make requests; each one that is admitted is a release: a line in a file of this process."""
    chance = random.Random(seed)
    with (
        (folder / f"released-{os.getpid()}").open("ab", buffering=0) as released,
        (folder / f"asked-{os.getpid()}").open("ab", buffering=0) as asked,
    ):
        for _ in range(requests):
            epsilon, target = chance.choice(EPSILONS), chance.choice(TARGETS)
            new = charge(epsilon, target)
            asked.write(b".")
            if registry.ledger.charge(new, Ceiling(Decimal(chance.choice((20, 30))), Decimal(0))):
                released.write(f"{new.run} {target} {epsilon}\n".encode())


def _main(command: str, location: str, *rest: str) -> None:
    registry = Registry.open(location, log_decisions=False)
    match command:
        case "race":
            _race(registry)
        case "die":
            _die(registry)
        case "soak":
            folder, seed, requests = rest
            _soak(registry, Path(folder), int(seed), int(requests))


if __name__ == "__main__":
    _main(*sys.argv[1:])
