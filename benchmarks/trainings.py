"""The suite of private training: an epoch beside the same epoch without privacy, and beside peers."""

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import numpy as np
from measuring import CommandError, Limit, Usage, measure
from peers import Peer
from results import TrainingRow
from suites import Bench

HERE = Path(__file__).parent
FEATURES = 600
CLASSES = 100
FLIPS = 0.35
PEERS = (
    # Without CUDA: this build is on PyTorch's own index, or where pip is told to look for wheels.
    Peer("opacus", "1.6.0", ("torch==2.13.0+cpu",)),
    Peer("jax-privacy", "2.0.0"),
)
"""Of private training, in the same hyper-parameters."""
ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
}
"""Of others, as smalti by itself: threads that wait for one another would be counted as work."""


def data_file(bench: Bench, records: int) -> Path:
    """Features of 600 bits, and labels: a random word for each class, and 35 % of its bits flipped."""
    path = bench.folder / f"bits-{records}.npz"
    if not path.exists():
        draw = np.random.default_rng(bench.seed)
        words = draw.random((CLASSES, FEATURES)) < 0.5
        # Each class is there, so that it is counted as one.
        labels = draw.permutation(np.arange(records) % CLASSES)
        bits = words[labels] ^ (draw.random((records, FEATURES)) < FLIPS)
        np.savez(path, features=bits.astype(np.uint8), labels=labels)
    return path


@dataclass(frozen=True, slots=True)
class Trained:
    """A process that trained, and what it printed."""

    usage: Usage
    phases: dict[str, float]
    """CPU seconds of `training_job.PHASES`."""


def training_rows(bench: Bench, records: int, peers: list[Peer]) -> Iterator[TrainingRow]:
    """With and without privacy in turns; then others on the same records."""
    data = data_file(bench, records)
    plain, private = [], []
    for _ in range(bench.runs):
        plain.append(_job(bench, "smalti", "plain", data))
        private.append(_job(bench, "smalti", "private", data))
    floor = _cheapest(plain)
    yield _row(records, "smalti", _cheapest(private), floor)
    without = _cheapest([_job(bench, "scikit-learn", "plain", data) for _ in range(bench.runs)])
    yield _row(records, f"scikit-learn {version('scikit-learn')}, without privacy", without, floor)
    for peer in peers:
        name = f"{peer.name} {peer.version}"
        try:
            cheapest = _cheapest([_peer(bench, peer, data) for _ in range(bench.runs)])
        except CommandError as error:
            print(f"{name} is left out: {error}", file=sys.stderr, flush=True)
            continue
        yield _row(records, name, cheapest, floor)


def _cheapest(trainings: list[Trained]) -> Trained:
    """Of the later ones: the first pays for cold files."""
    return min(trainings[1:], key=lambda training: training.phases["epoch"])


def _job(bench: Bench, tool: str, what: str, data: Path) -> Trained:
    command = [sys.executable, "-P", str(HERE / "training_job.py"), tool, what, str(data)]
    environment = {} if tool == "smalti" else ONE_THREAD
    return printed_by(bench, lambda output: measure(command, output=output, environment=environment))


def _peer(bench: Bench, peer: Peer, data: Path) -> Trained:
    command = [str(peer.python()), "-P", str(HERE / "training_peer.py"), peer.name, str(data)]
    limit = Limit(900, 1800)
    return printed_by(
        bench, lambda output: measure(command, output=output, limit=limit, environment=ONE_THREAD)
    )


def printed_by(bench: Bench, run: Callable[[Path], Usage]) -> Trained:
    """What a process took, and the phases that it printed."""
    output = bench.folder / "trained.json"
    usage = run(output)
    return Trained(usage, json.loads(output.read_text(encoding="utf-8")))


def _row(records: int, tool: str, training: Trained, plain: Trained) -> TrainingRow:
    return TrainingRow(
        records=records,
        tool=tool,
        epoch=training.phases["epoch"],
        first=training.phases["first epoch"],
        cpu=training.usage.cpu,
        peak=training.usage.peak,
        plain_epoch=plain.phases["epoch"],
        plain_first=plain.phases["first epoch"],
        plain_cpu=plain.usage.cpu,
        plain_peak=plain.usage.peak,
    )
