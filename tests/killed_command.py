"""A command line with one function that kills it; what `test_killed_run` runs in child processes."""

import os
import shutil
import signal
import sys
from typing import Any

from smalti.cli import main as cli
from smalti.engine.anonymization import capability as anonymizing
from smalti.engine.backends.local import LocalBackend
from smalti.engine.backends.staged import StagedTable
from smalti.engine.binding import binding as engine_binding
from smalti.engine.registry import commit
from smalti.engine.registry._database import Database
from smalti.engine.registry.intents import Intents
from smalti.engine.run import grants
from smalti.engine.tables.writing import CsvWriter
from smalti.transforms.mondrian.kernel import StrictMondrian

POINTS: dict[str, tuple[Any, str]] = {
    "decide": (grants, "decide"),
    "stage": (commit, "_make_stage"),
    "open": (LocalBackend, "open"),
    "compile": (anonymizing, "compile_plan"),
    "frequencies": (StagedTable, "frequencies"),
    "kernel": (StrictMondrian, "generalised"),
    "writer": (CsvWriter, "__init__"),
    "rows": (CsvWriter, "write_pieces"),
    "written": (StagedTable, "write"),
    "verify": (anonymizing, "verify_run"),
    "secret": (engine_binding, "load_secret"),
    "link": (commit, "forget_link"),
    "sync": (commit, "_sync_tree"),
    "registry": (Database, "_create"),
    "intent": (Intents, "begin"),
    "move": (commit, "_move"),
    "rename": (os, "rename"),
    "finish": (Intents, "finish"),
    "sweep": (shutil, "rmtree"),
}


def run_and_kill(point: str, arguments: list[str]) -> None:
    """Run a command that kills itself `before` or `after` a step, as in `rename:after`."""
    name, when = point.split(":")
    owner, attribute = POINTS[name]
    real = getattr(owner, attribute)

    def killing(*given: Any, **named: Any) -> Any:
        if when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        real(*given, **named)
        os.kill(os.getpid(), signal.SIGKILL)

    setattr(owner, attribute, killing)
    sys.argv = ["smalti", *arguments]
    cli.main()
