"""A registry is copied while it is used, and put back whole or not at all."""

import json
import stat
import sys
import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest

from smalti.engine.registry._database import Database
from smalti.engine.registry.backup import DATABASE, MANIFEST, SECRET, back_up, restore
from smalti.engine.registry.registry import Registry
from smalti.engine.tables.secret import load_secret, make_pseudonym_key, pseudonym_key, secret_path
from smalti.errors import RegistryError, UsageError

sys.path.insert(0, str(Path(__file__).parent))
import registry_world as world
from registry_world import OWNER, USER

READ = world.document("read", world.read_rule("read", assignee=USER))
KEY = "patients.2026"


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    place = tmp_path / "here"
    place.mkdir()
    registry = Registry.open(place / "r.sqlite")
    registry.add_policy(READ, "read.jsonld", OWNER)
    load_secret(registry.path)
    make_pseudonym_key(registry.path, KEY)
    return registry


@pytest.fixture
def copy(registry: Registry, tmp_path: Path) -> Path:
    back_up(registry, tmp_path / "copy")
    return tmp_path / "copy"


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_copy_has_the_registry_with_its_keys_and_is_private(copy: Path) -> None:
    assert set(files(copy)) == {MANIFEST, DATABASE, SECRET, f"pseudonyms.{KEY}"}
    assert stat.S_IMODE(copy.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in copy.iterdir()} == {0o600}


def test_what_is_restored_is_the_same_registry(registry: Registry, copy: Path, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    target = tmp_path / "there" / "other.sqlite"
    restored = restore(copy, target, nothing_released_since=True)
    assert restored.has_secret
    assert world.everything(Registry.open(target)) == world.everything(registry)
    assert load_secret(target) == load_secret(registry.path)
    assert pseudonym_key(target, KEY) == pseudonym_key(registry.path, KEY)
    assert {stat.S_IMODE(path.stat().st_mode) for path in target.parent.iterdir()} == {0o600}


def test_a_copy_is_one_state_while_others_write(registry: Registry, tmp_path: Path) -> None:
    """Each policy has its rows in several tables; a copy that was torn would have some of them alone."""
    begun, ended = threading.Event(), threading.Event()

    def write() -> None:
        writer, count = Registry.open(registry.path or ""), 0
        while not ended.is_set():
            rule = world.read_rule(f"read-{count}", assignee=USER)
            writer.add_policy(world.document(f"read-{count}", rule), "read.jsonld", OWNER)
            count += 1
            begun.set()

    thread = threading.Thread(target=write)
    thread.start()
    try:
        assert begun.wait(60)
        for number in range(3):
            back_up(registry, tmp_path / f"copy-{number}")
    finally:
        ended.set()
        thread.join()
    sizes = []
    for number in range(3):
        copied = Registry.open(tmp_path / f"copy-{number}" / DATABASE)
        assert all(policy.targets for policy in copied.list_policies())
        sizes.append(len(copied.list_policies()))
    assert sizes == sorted(sizes)
    assert sizes[0] >= 2


def test_nothing_is_restored_without_the_word_that_nothing_was_released(copy: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not know what was charged or released"):
        restore(copy, tmp_path / "new.sqlite", nothing_released_since=False)
    assert not list(tmp_path.glob("new*"))


@pytest.mark.parametrize("beside", [lambda path: path, secret_path], ids=["registry", "secret"])
def test_nothing_is_overwritten(copy: Path, tmp_path: Path, beside: object) -> None:
    target = tmp_path / "new.sqlite"
    place: Path = beside(target)  # type: ignore[operator]
    place.write_text("of another registry")
    with pytest.raises(UsageError, match="another file in this place"):
        restore(copy, target, nothing_released_since=True)
    assert place.read_text() == "of another registry"
    assert len(list(tmp_path.glob("*new.sqlite*"))) == 1


@pytest.mark.parametrize("suffix", ["-wal", "-journal", "-shm"])
def test_what_a_lost_registry_left_is_never_read_into_the_restored_one(
    copy: Path, tmp_path: Path, suffix: str
) -> None:
    left = tmp_path / f"new.sqlite{suffix}"
    left.write_text("of the lost registry")
    with pytest.raises(UsageError, match="left of another registry"):
        restore(copy, tmp_path / "new.sqlite", nothing_released_since=True)
    assert files(tmp_path)[left.name] == b"of the lost registry"
    assert [path.name for path in tmp_path.glob("*new.sqlite*")] == [left.name]


def test_a_copy_is_as_of_a_moment_before_it_was_taken(
    registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is recorded while keys are copied is not in it, and must not look as if it were."""
    copied: list[datetime] = []
    copy_to = Database.copy_to

    def noted(database: Database, file: Path) -> None:
        copied.append(datetime.now(UTC))
        copy_to(database, file)

    monkeypatch.setattr(Database, "copy_to", noted)
    assert back_up(registry, tmp_path / "copy").taken_at <= copied[0]


@pytest.mark.parametrize("name", [DATABASE, SECRET, f"pseudonyms.{KEY}"])
@pytest.mark.parametrize("is_missing", [False, True], ids=["changed", "missing"])
def test_a_copy_that_is_not_whole_is_refused(
    copy: Path, tmp_path: Path, name: str, *, is_missing: bool
) -> None:
    (copy / name).write_bytes((copy / name).read_bytes() + b" ")
    if is_missing:
        (copy / name).unlink()
    with pytest.raises(UsageError, match="missing, or was changed"):
        restore(copy, tmp_path / "new.sqlite", nothing_released_since=True)
    assert not list(tmp_path.glob("*new.sqlite*"))


@pytest.mark.parametrize("name", ["../outside", "pseudonyms.a/b", "other", ""])
def test_a_manifest_names_files_of_a_copy_alone(copy: Path, tmp_path: Path, name: str) -> None:
    manifest = json.loads((copy / MANIFEST).read_text())
    manifest["files"][name] = manifest["files"][SECRET]
    (copy / MANIFEST).write_text(json.dumps(manifest))
    with pytest.raises(UsageError, match="other files than a copy has"):
        restore(copy, tmp_path / "new.sqlite", nothing_released_since=True)


def test_a_secret_of_the_environment_has_to_be_the_same(
    registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret_path(registry.path or Path()).unlink()
    monkeypatch.setenv("SMALTI_SECRET", "the secret of then, which is long enough")
    assert not back_up(registry, tmp_path / "copy").has_secret
    for secret, problem in (("another secret, which is as long as that", "another secret"), ("", "none")):
        monkeypatch.setenv("SMALTI_SECRET", secret)
        with pytest.raises(UsageError, match=problem):
            restore(tmp_path / "copy", tmp_path / "new.sqlite", nothing_released_since=True)
    assert not list(tmp_path.glob("*new.sqlite*"))
    monkeypatch.setenv("SMALTI_SECRET", "the secret of then, which is long enough")
    restore(tmp_path / "copy", tmp_path / "new.sqlite", nothing_released_since=True)
    assert (tmp_path / "new.sqlite").exists()


def test_what_cannot_be_copied_leaves_no_folder(registry: Registry, tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.sqlite"
    damaged.write_bytes(b"SQLite format 3\0" + b"?" * 5000)
    load_secret(damaged)
    with pytest.raises(RegistryError):
        back_up(Registry.open(damaged), tmp_path / "copy")
    with pytest.raises(UsageError, match="nothing is recorded"):
        back_up(Registry.open(tmp_path / "none.sqlite"), tmp_path / "copy")
    assert not (tmp_path / "copy").exists()
    (tmp_path / "copy").mkdir()
    with pytest.raises(UsageError, match="cannot be created"):
        back_up(registry, tmp_path / "copy")
