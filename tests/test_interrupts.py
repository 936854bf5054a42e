"""A run that is told to stop, wherever: one sentence, the documented exit code, and nothing stays."""

import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from shell import listing, request, small_policy, small_table

from smalti.engine.registry.commit import scratch

PROGRAM = """
import os, signal, sys, threading
from smalti.engine.backends import local

number = int(sys.argv.pop())
signal.signal(number, signal.SIG_DFL)  # a test in the background may have it ignored
real = local.LocalRelations._run

def long(self, query):
    threading.Timer(0.3, os.kill, (os.getpid(), number)).start()
    real(self, "SELECT sum(range) FROM range(3000000000)")  # some seconds, also on a fast machine

local.LocalRelations._run = long
from smalti.cli.main import main
main()
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_a_run_that_is_told_to_stop_in_a_query_says_so_and_leaves_nothing(
    tmp_path: Path, number: signal.Signals
) -> None:
    policy, data = small_policy(tmp_path), small_table(tmp_path)
    before = listing(tmp_path)
    command = [
        sys.executable,
        "-c",
        PROGRAM,
        "run",
        policy,
        *request(data),
        "--out",
        "out",
        str(int(number)),
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)
    assert done.stderr.strip() == "error: interrupted; an output that was not registered yet is removed"
    assert (done.returncode, done.stdout) == (3, "")
    assert listing(tmp_path) == before


LOST = """
import os, signal, sys
from smalti.engine.anonymization import capability as run
from smalti.__main__ import main

number = int(sys.argv.pop())
signal.signal(number, signal.default_int_handler)

class Lost:
    def __del__(self):
        os.kill(os.getpid(), number)
        sum(range(1000))  # here the handler runs, and nobody can be told

real = run.compile_plan
def losing(*arguments):
    Lost()
    return real(*arguments)

run.compile_plan = losing
main()
"""
IN_A_TEXT = """
import os, signal, sys
from smalti.engine.anonymization import capability as run
from smalti.__main__ import main

number = int(sys.argv.pop())
signal.signal(number, signal.default_int_handler)

def killed(*arguments):
    exec("os.kill(os.getpid(), number); sum(range(1000))")

run.compile_plan = killed
main()
"""
IN_AN_IMPORT = """
import os, signal, sys
from importlib.abc import MetaPathFinder
from smalti.__main__ import main

number = int(sys.argv.pop())
signal.signal(number, signal.default_int_handler)

class Killing(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "smalti.cli.main":
            os.kill(os.getpid(), number)
            sum(range(1000))

sys.meta_path.insert(0, Killing())
main()
"""
AT_THE_END = """
import atexit, os, signal, sys
from smalti.__main__ import main

number = int(sys.argv.pop())
signal.signal(number, signal.default_int_handler)
atexit.register(lambda: os.kill(os.getpid(), number))
main()
"""


def ended(folder: Path, program: str, number: signal.Signals) -> "subprocess.CompletedProcess[str]":
    policy, data = small_policy(folder), small_table(folder)
    command = [
        sys.executable,
        "-c",
        program,
        "run",
        policy,
        *request(data),
        "--out",
        "out",
        str(int(number)),
    ]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
@pytest.mark.parametrize("program", [LOST, IN_A_TEXT, IN_AN_IMPORT], ids=["lost", "text", "import"])
def test_an_interrupt_ends_with_the_documented_code_wherever_it_comes(
    tmp_path: Path, program: str, number: signal.Signals
) -> None:
    done = ended(tmp_path, program, number)
    assert done.stderr.strip() == "error: interrupted; an output that was not registered yet is removed"
    assert (done.returncode, done.stdout) == (3, "")
    assert not (tmp_path / "out").exists()
    assert not list(tmp_path.glob(".smalti-*"))


def test_an_interrupt_on_the_way_out_changes_nothing(tmp_path: Path) -> None:
    done = ended(tmp_path, AT_THE_END, signal.SIGINT)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "out").exists()


def test_a_second_interrupt_does_not_keep_a_stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, tries = shutil.rmtree, []

    def interrupted(folder: Path, **how: bool) -> None:
        tries.append(folder)
        if len(tries) == 1:
            raise KeyboardInterrupt
        real(folder, **how)

    monkeypatch.setattr("smalti.engine.registry.commit.shutil.rmtree", interrupted)
    with pytest.raises(KeyboardInterrupt), scratch(tmp_path) as place:
        (place / "private").touch()
    assert not list(tmp_path.iterdir())
