"""The mapping of the top-level folders onto the package ``smalti``, and what is locked."""

import doctest
import importlib
import importlib.metadata
import pkgutil
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import smalti

ROOT = Path(__file__).parents[1]
ROOMS = ("policy", "engine", "transforms", "studies", "vocab")
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def packages_on_disk() -> set[str]:
    found = {"smalti"}
    for folder, name in ((ROOT / "src" / "smalti", "smalti"), *((ROOT / r, f"smalti.{r}") for r in ROOMS)):
        for init in folder.rglob("__init__.py"):
            found.add(".".join((name, *init.parent.relative_to(folder).parts)))
    return found


def module_names() -> list[str]:
    """Name every module of smalti, from the installed package, as users import them."""
    names = {"smalti"} | {m.name for m in pkgutil.iter_modules(smalti.__path__, "smalti.")}
    for room in ROOMS:
        package = importlib.import_module(f"smalti.{room}")
        names.add(package.__name__)
        names |= {m.name for m in pkgutil.walk_packages(package.__path__, f"smalti.{room}.")}
    return sorted(name for name in names if not name.endswith(".__main__"))


def locked(name: str) -> dict[str, set[str]]:
    """Map each locked package to its versions (one for each Python that needs its own)."""
    found: dict[str, set[str]] = {}
    for line in (ROOT / "requirements" / name).read_text(encoding="utf-8").splitlines():
        if match := re.match(r"([a-z0-9-]+)(\[\S+\])?==(\S+)", line):
            found.setdefault(match[1], set()).add(match[3])
    return found


def test_every_package_on_disk_is_shipped() -> None:
    assert set(PYPROJECT["tool"]["setuptools"]["packages"]) == packages_on_disk()


def test_every_folder_of_modules_is_a_package() -> None:
    bare = {
        str(path.parent.relative_to(ROOT))
        for room in (*ROOMS, "src/smalti")
        for path in (ROOT / room).rglob("*.py")
        if not (path.parent / "__init__.py").exists()
    }
    assert bare == set()


@pytest.mark.parametrize("room", ROOMS)
def test_bare_room_name_cannot_be_imported(room: str) -> None:
    run = subprocess.run(
        [sys.executable, "-c", f"import {room}"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert run.returncode != 0
    assert f"import smalti.{room}, not {room}" in run.stderr


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="a source distribution holds no links")
@pytest.mark.parametrize("room", ROOMS)
def test_a_link_shows_each_room_to_what_does_not_run_the_code(room: str) -> None:
    link = ROOT / "src" / "smalti" / room
    # Git writes the target as text where the system has no links; the mapping finds the room there, too.
    assert (link.readlink().as_posix() if link.is_symlink() else link.read_text()) == f"../../{room}"


def test_each_module_is_loaded_from_one_file() -> None:
    """The link and the mapping may both find a module; it must have one name whichever does."""
    loaded = [
        (Path(module.__file__).resolve(), name)
        for name, module in sys.modules.items()
        if name.split(".")[0] in {"smalti", *ROOMS} and getattr(module, "__file__", None)
    ]
    names = [name for path, name in loaded if ROOT in path.parents]
    assert len(names) > len(ROOMS)
    assert len({path for path, _ in loaded}) == len(loaded)


def test_no_room_was_imported_twice() -> None:
    assert not set(ROOMS) & set(sys.modules)


@pytest.mark.parametrize("name", module_names())
def test_docstring_examples(name: str) -> None:
    runner = doctest.DocTestRunner()
    for each in doctest.DocTestFinder().find(importlib.import_module(name), name):
        if each.examples:  # to run none takes long: all files that Python ever quoted are looked at again
            runner.run(each)
    assert runner.summarize().failed == 0


@pytest.mark.parametrize("lock", ["core.txt", "dev.txt", "audit-tf.txt", "cross.txt", "cross-tables.txt"])
def test_locks_are_hashed_and_name_no_registry(lock: str) -> None:
    text = (ROOT / "requirements" / lock).read_text(encoding="utf-8")
    entries = re.split(r"\n(?=[a-z])", text)
    assert [entry.split()[0] for entry in entries if "--hash=sha256:" not in entry] == []
    assert re.findall(r"https?://\S+|--\w*index\S*|file:\S+", text) == []


def test_the_lock_names_the_extras_that_locked_packages_require() -> None:
    """Else pip looks at the newest release of ``name[extra]``, which has no hash here, and stops."""
    text = (ROOT / "requirements" / "dev.txt").read_text(encoding="utf-8")
    extras = {
        name: set(listed.split(","))
        for name, listed in re.findall(r"^([a-z0-9-]+)\[(\S+)\]==", text, flags=re.MULTILINE)
    }
    required = [
        Requirement(line)
        for name in locked("dev.txt")
        for distribution in importlib.metadata.distributions(name=name)
        for line in distribution.requires or ()
    ]
    with_extras = [
        needed
        for needed in required
        if needed.extras and (needed.marker is None or needed.marker.evaluate({"extra": ""}))
    ]
    assert with_extras
    assert [
        needed.name for needed in with_extras if not needed.extras <= extras.get(needed.name, set())
    ] == []


def test_dev_lock_holds_the_core_lock() -> None:
    core, dev = locked("core.txt"), locked("dev.txt")
    assert {name: dev.get(name) for name in core} == core


def test_locks_hold_each_declared_dependency() -> None:
    project = PYPROJECT["project"]
    spark = project["optional-dependencies"]["spark"]

    def names(requirements: list[str]) -> set[str]:
        return {re.match(r"[\w-]+", requirement)[0].lower() for requirement in requirements}  # type: ignore[index]

    assert names(project["dependencies"]) <= locked("core.txt").keys()
    assert names(spark) <= locked("dev.txt").keys()
    assert not names(spark) & locked("core.txt").keys()
