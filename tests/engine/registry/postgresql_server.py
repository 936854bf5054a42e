"""A PostgreSQL server for tests: made of the system's packages, in a private folder, on a socket only."""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

USER = "postgres"
"""Whom the server runs as where the tests run as root, whom it refuses."""


def programs() -> Path | None:
    """The folder of `initdb` and `pg_ctl`, of the newest version that is installed."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    if found:
        return found[-1].parent
    known = shutil.which("initdb")
    return Path(known).parent if known else None


def required() -> Path:
    """The same; without it a test fails in CI, and is skipped elsewhere, which says so."""
    place = programs()
    if place is None:
        missing = "NOT TESTED ON POSTGRESQL: no server is installed (package `postgresql`)"
        if os.environ.get("CI"):
            pytest.fail(missing)
        pytest.skip(missing)
    return place


@contextmanager
def running(place: Path) -> Iterator[str]:
    """Run a server until the end; gives the start of its databases' addresses.

    Args:
        place: the folder of its programs.
    """
    # In /tmp itself: the path of a socket has at most 107 bytes.
    folder = Path(tempfile.mkdtemp(prefix="smalti-pg-", dir="/tmp"))
    try:
        as_user: list[str] = []
        if os.geteuid() == 0:
            account = pwd.getpwnam(USER)
            os.chown(folder, account.pw_uid, account.pw_gid)
            as_user = [
                "setpriv",
                f"--reuid={account.pw_uid}",
                f"--regid={account.pw_gid}",
                "--clear-groups",
            ]
        data = folder / "data"
        run = [*as_user, str(place / "initdb"), "-D", str(data), "-U", USER, "--auth=trust", "--no-sync"]
        _call(run, folder)
        options = f"-k {folder} -c listen_addresses='' -c fsync=off -c max_connections=60"
        control = [*as_user, str(place / "pg_ctl"), "-D", str(data), "-w", "-l", str(folder / "log")]
        _call([*control, "-o", options, "start"], folder)
        try:
            yield f"postgresql://{USER}@/{{}}?host={folder}"
        finally:
            _call([*control, "-m", "immediate", "stop"], folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _call(command: list[str], folder: Path) -> None:
    # Not into a pipe: the server would hold it open after pg_ctl has ended.
    with (folder / "output").open("w") as output:
        done = subprocess.run(
            command,
            cwd=folder,
            stdout=output,
            stderr=output,
            stdin=subprocess.DEVNULL,
            timeout=120,
            check=False,
        )
    assert done.returncode == 0, (folder / "output").read_text()
