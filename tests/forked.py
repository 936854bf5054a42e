"""Child processes that begin at once: forked from one that has imported the engine already."""

import multiprocessing
import os
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(
    [
        "smalti.cli.main",
        "smalti.api",
        "smalti.show.runs",
        "smalti.cli.progress",
        "smalti.engine.backends.local",
        "smalti.engine.releases.capability",
        "smalti.engine.perturbation.capability",
        "opendp.prelude",
        "pyarrow.compute",
        "pyarrow.csv",
        "pyarrow.parquet",
        "sqlalchemy.dialects.sqlite",
    ]
)


@dataclass(frozen=True)
class Ended:
    """How a child ended: its exit code, minus the signal where one ended it, and what it wrote."""

    code: int | None
    out: bytes
    err: bytes


def run_forked(function: Callable[..., None], *arguments: object, folder: Path) -> Ended:
    """Call a function of a module that is on the path, in a process of its own that works in a folder.

    The process shares nothing with the tests' process: no connection, no thread, only their environment.
    """
    with tempfile.TemporaryDirectory() as place:
        child = _FORKS.Process(
            target=_child, args=(function, arguments, folder, Path(place), dict(os.environ))
        )
        child.start()
        child.join(60)
        if child.is_alive():
            child.kill()
            raise TimeoutError("a child did not end by itself")
        out, err = (Path(place, name).read_bytes() for name in ("out", "err"))
        return Ended(child.exitcode, out, err)


def _child(
    function: Callable[..., None],
    arguments: tuple[object, ...],
    folder: Path,
    place: Path,
    environment: Mapping[str, str],
) -> None:
    os.environ.clear()
    os.environ.update(environment)
    for descriptor, name in ((1, "out"), (2, "err")):
        file = os.open(place / name, os.O_WRONLY | os.O_CREAT)
        os.dup2(file, descriptor)
        os.close(file)
    os.chdir(folder)
    function(*arguments)
