"""What commands import: no answer waits for a library that has no part in it."""

import gc
import json
import subprocess
import sys
from pathlib import Path

import pytest
from shell import CUSTOMER, POLICIES, USER, request, small_policy, small_table

from smalti.cli import startup

RUN = """
import json, sys
before = set(sys.modules)
from smalti.cli.main import main
try:
    main()
except SystemExit as left:
    print(json.dumps([left.code, sorted(set(sys.modules) - before)]), file=sys.stderr)
"""
DATA = {"numpy", "pyarrow", "duckdb", "sqlalchemy"}
ELSEWHERE = {
    "pandas", "pydantic", "pyspark", "rdflib", "jsonschema", "cryptography", "pyshacl", "requests",
    "aiohttp", "starlette", "uvicorn", "joserfc", "prometheus_client",
    "smalti.checking", "smalti.policy.lint.lint", "smalti.engine.tables.csvw",
    "smalti.engine.run.case_files",
}  # fmt: skip
"""What other commands need, or other files."""


def modules(cwd: Path, *arguments: str | Path, code: int = 0) -> set[str]:
    """What a command of a process of its own has imported, once it has ended with that code.

    What the interpreter has loaded before, as coverage does at its start, is no part of it.
    """
    done = subprocess.run(
        [sys.executable, "-P", "-c", RUN, *map(str, arguments)],
        cwd=cwd, capture_output=True, text=True, check=False,
    )  # fmt: skip
    ended, found = json.loads(done.stderr.splitlines()[-1])
    assert ended == code, done.stderr
    return set(found)


def test_a_run_imports_nothing_that_it_does_not_need(tmp_path: Path) -> None:
    policy, data = small_policy(tmp_path), small_table(tmp_path)
    found = modules(tmp_path, "run", policy, *request(data), "--out", tmp_path / "out", "--format", "json")
    assert found & ELSEWHERE == set()
    assert found >= DATA, "a run needs these, or the names are wrong"


def test_the_form_of_descriptions_is_there_where_there_is_one(tmp_path: Path) -> None:
    data, policy = small_table(tmp_path, respondent="who"), small_policy(tmp_path)
    found = modules(tmp_path, "run", policy, *request(data), "--out", tmp_path / "out")
    assert "smalti.engine.tables.csvw" in found


def test_checking_a_policy_needs_no_data(tmp_path: Path) -> None:
    found = modules(tmp_path, "check", POLICIES / "fig-2.6-canonical.jsonld")
    assert found & (DATA | ELSEWHERE) == {"smalti.checking", "smalti.policy.lint.lint"}


@pytest.mark.parametrize(
    ("code", "arguments"),
    [
        (1, ["decide", "--as", USER, "--action", "read", "--target", CUSTOMER]),
        (0, ["policy", "list"]),
        (0, ["targets"]),
        (2, ["budget", "show", CUSTOMER, "--as", USER]),
    ],
)
def test_asking_the_registry_needs_no_engine(tmp_path: Path, code: int, arguments: list[str]) -> None:
    assert modules(tmp_path, *arguments, code=code) & (DATA | ELSEWHERE) == {"sqlalchemy"}


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["run", "--help"]])
def test_the_version_and_help_need_nothing(tmp_path: Path, arguments: list[str]) -> None:
    (tmp_path / "smalti.toml").write_text("not read")
    found = modules(tmp_path, *arguments)
    assert found & {"tomllib", "smalti.settings"} == set()
    assert {name for name in found if name.startswith(("smalti.policy", "smalti.engine", "rich"))} == set()
    assert found & (DATA | ELSEWHERE) == set()


def test_garbage_is_looked_for_seldom_and_as_before_afterwards() -> None:
    before = gc.get_threshold()
    with startup.few_collections():
        assert gc.get_threshold()[0] > 100 * before[0]
        assert gc.isenabled(), "a long run must not keep its garbage"
    assert gc.get_threshold() == before


# --- pandas


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if neither Arrow nor pandas had been imported."""
    for name in [name for name in sys.modules if name.partition(".")[0] in {"pyarrow", "pandas"}]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path])


def is_kept_out() -> bool:
    try:
        for finder in sys.meta_path:
            if isinstance(finder, startup._Absent):
                assert finder.find_spec("numpy", None) is None
                finder.find_spec("pandas", None)
    except ModuleNotFoundError:
        return True
    return False


@pytest.mark.usefixtures("fresh")
def test_pandas_is_kept_out_of_a_command_without_spark_and_no_longer() -> None:
    with startup.without_pandas(["smalti", "run"]):
        assert is_kept_out()
    with startup.without_pandas(["smalti", "run", "--engine=spark"]):
        assert not is_kept_out()
    assert not is_kept_out()


@pytest.mark.parametrize("library", ["pyarrow", "pandas"])
@pytest.mark.usefixtures("fresh")
def test_programs_that_use_these_libraries_themselves_keep_them(
    library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, library, startup)
    with startup.without_pandas(["smalti", "run"]):
        assert not is_kept_out()
