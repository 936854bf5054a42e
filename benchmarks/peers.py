"""Other tools for k-anonymity in Python: each in an environment of its own, on the same file."""

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from measuring import CommandError, Limit, Usage, measure
from quality import Domain, Quality, measure_quality, of_peer

HERE = Path(__file__).parent
ENVIRONMENTS = HERE / ".environments"


@dataclass(frozen=True, slots=True)
class Peer:
    """A tool, and what its environment needs."""

    name: str
    version: str
    undeclared: tuple[str, ...] = ()
    """What it imports and does not declare, or declares without a bound that it needs."""

    def python(self) -> Path:
        """The interpreter of the peer's environment, which is made on demand.

        Raises:
            CommandError: it cannot be made; the machine may have no package index.
        """
        folder = ENVIRONMENTS / f"{self.name}-{self.version}"
        python, done = folder / "bin" / "python", folder / "installed"
        if not done.exists():
            print(f"making an environment for {self.name} {self.version}", file=sys.stderr, flush=True)
            _succeed([sys.executable, "-m", "venv", "--clear", str(folder)])
            install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
            _succeed([*install, f"{self.name}=={self.version}", *self.undeclared])
            done.touch()
        return python


PEERS = (
    Peer("anonypy", "0.2.1", ("pandas>=2.2,<3",)),
    Peer("anonypyx", "0.2.11", ("pandas>=2.2,<3",)),
    Peer("anjana", "1.2.3"),
)


@dataclass(frozen=True, slots=True)
class Task:
    """What each peer is asked for."""

    data: Path
    rows: int
    held: dict[str, Domain]
    """The quasi-identifiers, and what they hold."""
    k: int
    limit: float
    """Seconds of CPU after which a peer is ended."""


@dataclass(frozen=True, slots=True)
class Result:
    """What a peer took, and what it made of the data."""

    call_wall: float
    """Seconds of the call alone, without starting and reading."""
    call_cpu: float
    usage: Usage
    quality: Quality


def run_peer(peer: Peer, task: Task, folder: Path) -> Result:
    """Let a peer anonymize.

    Raises:
        CommandError: it failed, or took too long.
    """
    published, figures = folder / f"{peer.name}.csv", folder / f"{peer.name}.figures.json"
    job = folder / f"{peer.name}.job.json"
    job.write_text(
        json.dumps(
            {
                "peer": peer.name,
                "data": str(task.data),
                "columns": list(task.held),
                "numbers": [name for name, domain in task.held.items() if domain.width is not None],
                "k": task.k,
                "published": str(published),
                "figures": str(figures),
            }
        )
    )
    command = [str(peer.python()), "-P", str(HERE / "peer_job.py"), str(job)]
    limit = Limit(task.limit, 4 * task.limit)
    usage = measure(command, output=folder / f"{peer.name}.out", limit=limit)
    taken = json.loads(figures.read_text())
    quality = measure_quality(published, task.held, task.rows, of_peer)
    published.unlink()
    return Result(taken["wall"], taken["cpu"], usage, quality)


def run_peers(peers: list[Peer], task: Task, folder: Path) -> Iterator[tuple[Peer, Result | CommandError]]:
    """Each peer in turn, with what became of it."""
    for peer in peers:
        try:
            yield peer, run_peer(peer, task, folder)
        except CommandError as error:
            yield peer, error


def _succeed(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:]
        raise CommandError(f"{' '.join(command[:4])}: {' '.join(last)}")
