"""The registry on a real PostgreSQL server: the tests of registry and authority, and several processes.

Without the server's programs these tests are skipped, with a loud reason; where `CI` is set they fail.
"""

import inspect
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import psycopg
import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "jobs"))
import budget_world
import busy_registry
import postgresql_server
import registry_world as world
import test_attacks_of_strangers
import test_authority
import test_budget_decisions
import test_budgets
import test_collections
import test_job_queue
import test_registry
import test_signatures
import test_submissions
import test_submitted_runs
from registry_world import OWNER, USER

from smalti.engine.registry import _database
from smalti.engine.registry.authority import decide
from smalti.engine.registry.registry import Registry
from smalti.engine.tables import secret
from smalti.errors import RegistryError

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with postgresql_server.running(postgresql_server.required()) as address:
        yield address


@pytest.fixture
def location(server: str, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> str:
    """The address of an empty database."""
    monkeypatch.setenv(secret.ENVIRONMENT, "a secret of more than thirty-two characters")
    name = f"test_{abs(hash(request.node.nodeid))}"
    with psycopg.connect(server.format("postgres"), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return server.format(name)


@pytest.fixture
def registry(location: str) -> Registry:
    return Registry.open(location)


made = test_authority.made
attacked = test_submissions.attacked


def adopt(module: ModuleType) -> None:
    """Take the tests of a module that say nothing of a file: here they get this module's registry."""
    for name, found in vars(module).items():
        if name.startswith("test_") and inspect.isfunction(found):
            source = inspect.getsource(found)
            is_about = "registry" in inspect.signature(found).parameters or "usefixtures" in source
            if is_about and not any(word in source for word in ("r.sqlite", "monkeypatch.set", ".chmod")):
                globals()[name] = found


for module in (
    test_registry, test_authority, test_collections, test_signatures, test_submissions, test_budgets,
    test_budget_decisions, test_attacks_of_strangers, test_submitted_runs, test_job_queue,
):  # fmt: skip
    adopt(module)


def test_enough_tests_were_adopted() -> None:
    assert sum(name.startswith("test_") for name in globals()) > 70


def test_processes_share_a_registry(location: str, tmp_path: Path) -> None:
    busy_registry.check(location, tmp_path)


def test_processes_race_for_a_budget(location: str) -> None:
    budget_world.race(location, 4)


def test_a_crash_after_the_charge_leaves_it_charged(location: str) -> None:
    budget_world.crash(location)


def test_no_budget_is_overspent_by_processes_that_are_killed(location: str, tmp_path: Path) -> None:
    budget_world.soak(location, tmp_path, 2_000)


def test_the_address_may_name_the_driver(location: str) -> None:
    registry = Registry.open(location.replace("postgresql://", "postgresql+psycopg://"))
    registry.add_policy(world.document("read", world.read_rule("read")), "read", OWNER)
    assert len(Registry.open(location).list_policies()) == 1


def test_a_forked_child_opens_its_own_connection(location: str) -> None:
    registry = Registry.open(location)
    registry.add_policy(world.document("read", world.read_rule("read", assignee=USER)), "read", OWNER)
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if decide(registry, busy_registry.read(USER)).is_permitted else 1)
        finally:
            os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
    assert decide(registry, busy_registry.read(USER)).is_permitted


def test_a_server_that_is_gone_is_an_error_without_the_password(tmp_path: Path) -> None:
    registry = Registry.open(f"postgresql://user:hunter2@/db?host={tmp_path}")
    with pytest.raises(RegistryError, match="does not answer") as caught:
        registry.assets()
    assert caught.value.exit_code == 3
    assert "hunter2" not in str(caught.value)


def test_a_missing_database_is_named(server: str) -> None:
    with pytest.raises(RegistryError, match="r"):
        Registry.open(server.format("nosuch")).assets()


def test_a_writer_that_waits_too_long_gives_up(location: str, monkeypatch: pytest.MonkeyPatch) -> None:
    registry = Registry.open(location)
    read = world.document("read", world.read_rule("read"))
    registry.add_policy(read, "read", OWNER)
    monkeypatch.setattr(_database, "_BUSY_MILLISECONDS", 50)
    with psycopg.connect(location) as connection:
        connection.execute(f"SELECT pg_advisory_xact_lock({_database._WRITERS})")
        with pytest.raises(RegistryError, match="another program is writing"):
            registry.revoke_policy(world.uid("read"), OWNER)
        assert registry.list_policies()[0].is_in_force  # readers are not held up
