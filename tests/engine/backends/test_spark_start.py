"""What is said where Spark does not start; each in a process of its own, for Java starts once in one."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from shell import request, small_policy, small_table

pytestmark = pytest.mark.spark


def told(folder: Path, *options: str, java: bool = True) -> str:
    """All that a run with these options says on standard error."""
    policy, data = small_policy(folder), small_table(folder)
    command = [sys.executable, "-m", "smalti", "run", policy, *request(data), "--out", "out"]
    environment = dict(os.environ)
    if not java:
        found = folder / "bin"
        found.mkdir()
        for name in ("bash", "env", "dirname", "python3"):
            (found / name).symlink_to(shutil.which(name) or sys.executable)
        environment |= {"PATH": str(found), "JAVA_HOME": ""}
    done = subprocess.run(
        [*command, "--engine", "spark", *options],
        cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (3, "")
    assert not (folder / "out").exists()
    assert not list(folder.glob(".smalti-*"))
    return done.stderr.strip()


def test_without_java_one_sentence_says_what_to_install_for_spark(tmp_path: Path) -> None:
    assert told(tmp_path, java=False) == (
        "error: spark engine: Java was not found; expected a Java runtime 17 or newer. Install it: apt-get"
        " install default-jre-headless (Debian, Ubuntu; as root), or use --engine local"
    )


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (("--conf", "spark.driver.memory=wombat"), "--conf spark.driver.memory"),
        pytest.param(("--master", "wombat"), "--master wombat", marks=pytest.mark.slow),
    ],
)
def test_a_setting_or_master_that_spark_does_not_take_is_named_and_java_is_not_blamed(
    tmp_path: Path, options: tuple[str, ...], named: str
) -> None:
    assert told(tmp_path, *options) == (
        f"error: spark engine: Java was found, but Spark does not start with {named};"
        " expected a Java runtime 17 or newer, and a master and settings that Spark accepts."
        " Run `smalti doctor` to see which Java is used, or use --engine local"
    )
