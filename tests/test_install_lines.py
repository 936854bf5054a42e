"""Lines that say how to install something: what they name exists, and they work where they stand."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from smalti import doctor
from smalti.errors import checkout_line, install_line, not_installed

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
ROOMS = ("engine", "policy", "src", "studies", "transforms", "vocab")
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md")]
SOURCES = [path for room in ROOMS for path in ROOT.glob(f"{room}/**/*.py")]
COMMAND = re.compile(r"pip install (?P<words>'[^'\n]*'(?: +'[^'\n]*')*|[\w.]+)")
OF_CHECKOUT = re.compile(r"\.(\[[\w,-]+\])?")
OF_OTHERS = {"pyshacl", "jax<0.5"}
"""What pages install that is neither smalti nor something that it declares."""


@dataclass(frozen=True, order=True)
class Line:
    """A line that says how to install something, and what it stands in."""

    words: tuple[str, ...]
    where: str


def lines_of_pages() -> Iterator[Line]:
    for path in PAGES:
        for match in COMMAND.finditer(path.read_text(encoding="utf-8")):
            yield Line(tuple(shlex.split(match["words"])), path.name)


def lines_of_messages() -> Iterator[Line]:
    """Every message with such a line comes from one of two functions: see the test below."""
    for extra in (None, *EXTRAS):
        for text in (install_line(extra), checkout_line(extra)):
            (match,) = COMMAND.finditer(text)
            yield Line(tuple(shlex.split(match["words"])), "messages")


def lines_of_doctor() -> Iterator[Line]:
    for check in doctor.examine(ROOT / "none.sqlite"):
        for match in COMMAND.finditer(check.mend):
            yield Line(tuple(shlex.split(match["words"])), "doctor")


@cache
def all_lines() -> tuple[Line, ...]:
    return (*lines_of_pages(), *lines_of_messages(), *lines_of_doctor())


def test_no_line_names_a_package_that_somebody_else_might_own() -> None:
    declared = {
        Requirement(text).name
        for text in [*PROJECT["dependencies"], *(text for texts in EXTRAS.values() for text in texts)]
    }
    for line in all_lines():
        for word in line.words:
            if OF_CHECKOUT.fullmatch(word):
                named = word.strip(".[]").split(",") if "[" in word else []
                assert {*named} <= {*EXTRAS}, line
            else:
                assert word in OF_OTHERS or Requirement(word).name in declared, line
    assert {"README.md", "messages", "doctor"} <= {line.where for line in all_lines()}


def test_messages_have_no_other_lines() -> None:
    written = {path.name for path in SOURCES if "pip install" in path.read_text(encoding="utf-8")}
    assert written == {"errors.py"}
    asked = re.compile(r"install smalti with|with the extra `")
    assert not [path.name for path in SOURCES if asked.search(path.read_text(encoding="utf-8"))]


def test_a_message_has_a_command_that_works_in_any_folder_for_this_python() -> None:
    _, _, command = install_line("privacy").partition(": ")
    assert shlex.split(command) == [sys.executable, "-m", "pip", "install", "opendp<0.17,>=0.16"]
    assert install_line("audit", "skops").endswith(" -m pip install 'skops>=0.13'")
    assert install_line("postgresql", "psycopg").endswith("'psycopg[binary]>=3.2'")
    assert install_line(None, "pyld").endswith(" -m pip install 'pyld>=3.1'")
    assert "'tensorflow-privacy==0.9.0; python_version < \"3.12\"'" in install_line("audit-tf")
    error = not_installed("training", "the library", "jax", "audit")
    assert error.way_out == install_line("audit")


def test_where_smalti_is_not_installed_the_folder_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("smalti.errors._requirements", lambda extra: [])
    assert install_line("audit") == "install it: pip install '.[audit]', in the folder of smalti's checkout"
    assert install_line() == "install it: pip install ., in the folder of smalti's checkout"


def test_pages_that_run_in_another_folder_say_which_one_is_meant() -> None:
    for path in ROOT.glob("docs/**/*.md"):
        text = " ".join(path.read_text(encoding="utf-8").split())
        for match in re.finditer(r"pip install '?\.", text):
            assert "in the folder of the checkout" in text[match.start() : match.end() + 80], path.name


# --- In a fresh environment


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new environment, in which pip finds what this one has installed, and no index of packages."""
    place = tmp_path_factory.mktemp("fresh") / "venv"
    subprocess.run([sys.executable, "-m", "venv", place], check=True)
    # The one that comes with older versions of Python is too old to build smalti.
    subprocess.run([place / "bin" / "pip", "uninstall", "--quiet", "--yes", "setuptools"], check=True)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    here = sysconfig.get_path("purelib")
    (place / "lib" / version / "site-packages" / "here.pth").write_text(f"{here}\n")
    return place


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what a build needs, for a build writes beside its sources."""
    place = tmp_path_factory.mktemp("checkout")
    for name in ("pyproject.toml", "README.md", "LICENSE", "MANIFEST.in"):
        shutil.copy(ROOT / name, place / name)
    for name in ROOMS:
        shutil.copytree(
            ROOT / name,
            place / name,
            symlinks=True,
            ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"),
        )
    return place


@pytest.mark.slow
def test_every_line_works_in_a_fresh_environment(fresh: Path, checkout: Path) -> None:
    """What is exercised: pip runs the words as they stand, and installs `.`, built from the checkout.

    The others are dry runs: every requirement is resolved against what is installed here, and nothing is
    fetched. So the requirements of `audit-tf`, which fit beside no other extra, and the libraries of
    `OF_OTHERS` are not resolved.
    """
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
    environment |= {"PIP_CONFIG_FILE": os.devnull, "PIP_NO_INDEX": "1", "PIP_NO_BUILD_ISOLATION": "0"}
    foreign = tuple(shlex.split(install_line("audit-tf").partition("pip install ")[2]))
    tried = {line.words for line in all_lines()}
    assert len(tried) > 20
    for words in sorted(tried):
        if {*words} <= OF_OTHERS or words == foreign:
            continue
        options = ["--no-deps"] if "audit-tf" in words[0] else []
        options += ["--dry-run"] if words != (".",) else []
        command = [str(fresh / "bin" / "pip"), "install", *options, *words]
        done = subprocess.run(
            command, cwd=checkout, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{words}\n{done.stdout}\n{done.stderr}"
        assert "does not provide the extra" not in done.stderr, words
    shown = subprocess.run(
        [fresh / "bin" / "smalti", "--version"], capture_output=True, text=True, check=False
    )
    assert shown.stdout.startswith(f"smalti {PROJECT['version']}"), shown.stderr
