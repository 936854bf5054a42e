"""A run that is told to stop while a library works: one sentence, and nothing stays."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from shell import listing, request, small_policy, small_table

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
from smalti.cli import main
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
