"""Finds a Java runtime for the Spark tests; as root on Debian or Ubuntu, installs one if there is none.

``make test`` runs this first; ``tests/conftest.py`` uses ``find`` and ``install_command``.
It never fails: without a runtime the Spark tests are skipped by name, or fail when they are required.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

OLDEST = 17
PACKAGES = ("openjdk-21-jre-headless", "openjdk-17-jre-headless", "default-jre-headless")


def _output(*command: str) -> str:
    """Return what a command prints, on either stream; nothing if it cannot run."""
    try:
        run = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return run.stdout if run.returncode == 0 else ""


def _homes() -> Iterator[Path]:
    """Yield the places of Java runtimes, in the order in which Spark would take them."""
    if home := os.environ.get("JAVA_HOME"):
        yield Path(home)
    if java := shutil.which("java"):
        yield Path(java).resolve().parents[1]
    yield from sorted(Path("/usr/lib/jvm").glob("*"), reverse=True)


def major_version(home: Path) -> int | None:
    """Return the major version of the Java runtime in a folder, or None if there is none."""
    match = re.search(r'version "(?:1\.)?(\d+)', _output(str(home / "bin" / "java"), "-version"))
    return int(match[1]) if match else None


def find() -> Path | None:
    """Return the home of the first Java runtime that is new enough."""
    return next((home for home in _homes() if (major_version(home) or 0) >= OLDEST), None)


def _offered_version(package: str) -> int | None:
    """Return the Java version of the package that apt would install, or None if it offers none."""
    match = re.search(r"Candidate: (?:\d+:)?(?:1\.)?(\d+)", _output("apt-cache", "policy", package))
    return int(match[1]) if match else None


def package() -> str | None:
    """Return the first package of a Java runtime, new enough, that apt offers."""
    return next((name for name in PACKAGES if (_offered_version(name) or 0) >= OLDEST), None)


def install_command() -> str:
    """Return the one command that installs a Java runtime here."""
    if not shutil.which("apt-get"):
        return f"install a Java runtime, version {OLDEST} or newer, with this system's package manager"
    sudo = "" if os.geteuid() == 0 else "sudo "
    return f"{sudo}apt-get update && {sudo}apt-get install -y {package() or PACKAGES[1]}"


def _install() -> None:
    print("smalti: installing a Java runtime for the Spark tests", flush=True)
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    subprocess.run(["apt-get", "update", "-qq"], env=environment, stdin=subprocess.DEVNULL, check=False)
    command = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", package() or PACKAGES[1]]
    subprocess.run(
        command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=False
    )


def main() -> None:
    """Make sure that there is a Java runtime, or say how to get one."""
    if find() is None and os.geteuid() == 0 and shutil.which("apt-get"):
        _install()
    if find() is None:
        print(
            f"smalti: there is no Java runtime, version {OLDEST} or newer: Spark tests will be skipped.\n"
            f"smalti: to run them too: {install_command()}",
            file=sys.stderr,
        )


if __name__ == "__main__":
    main()
