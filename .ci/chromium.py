"""Finds Chromium for the browser tests; as root on Debian or Ubuntu, installs it if there is none.

`.ci/run` runs this first; ``tests/conftest.py`` uses ``find`` and ``install_command``. It never fails:
without a browser its tests are skipped by name, or fail when they are required.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")


def find() -> Path | None:
    """Return the place of the browser of this system."""
    places = (shutil.which(name) for name in NAMES)
    return next((Path(place) for place in places if place), None)


def install_command() -> str:
    """Return the one command that installs a browser here."""
    if not shutil.which("apt-get"):
        return "install Chromium with this system's package manager"
    sudo = "" if os.geteuid() == 0 else "sudo "
    return f"{sudo}apt-get update && {sudo}apt-get install -y chromium"


def main() -> None:
    """Make sure that there is a browser, or say how to get one."""
    if find() is None and os.geteuid() == 0 and shutil.which("apt-get"):
        print("smalti: installing Chromium for the browser tests", flush=True)
        environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
        for command in (
            ["apt-get", "update", "-qq"],
            ["apt-get", "install", "-y", "-qq", "--no-install-recommends", "chromium"],
        ):
            subprocess.run(
                command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=False
            )
    if find() is None:
        print(
            "smalti: there is no Chromium: browser tests will be skipped.\n"
            f"smalti: to run them too: {install_command()}",
            file=sys.stderr,
        )


if __name__ == "__main__":
    main()
