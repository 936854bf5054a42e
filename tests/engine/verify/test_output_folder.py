"""`verify` follows no link, and reads each file once."""

import os
from pathlib import Path

import pytest
from double_world import OWNER, TARGET, write

import smalti
from smalti.engine.anonymization.capability import Anonymization
from smalti.engine.run.output_folder import OutputFolder, opened_folder
from smalti.errors import GuaranteeError, UsageError

ROWS = [(str(i), str(i % 5), str(i % 3)) for i in range(60)]


@pytest.fixture
def world(tmp_path: Path) -> Path:
    write(tmp_path, ROWS)
    outcome = smalti.run(
        tmp_path / "policy.jsonld",
        data={TARGET: tmp_path / "people.csv"},
        party=OWNER,
        out=tmp_path / "out",
        registry=tmp_path / "registry.sqlite",
    )
    assert outcome.version is not None
    return tmp_path


def verify(world: Path, name: str = "out") -> smalti.Recheck:
    return smalti.verify(world / name, registry=world / "registry.sqlite")


def test_the_output_itself_is_verified(world: Path) -> None:
    assert verify(world).version is not None


@pytest.mark.parametrize("named", ["link", "link/"])
def test_a_link_to_the_folder_is_refused(world: Path, named: str) -> None:
    (world / "link").symlink_to(world / "out")
    with pytest.raises(UsageError, match="it is a symbolic link"):
        verify(world, named)


@pytest.mark.parametrize("name", ["Published.csv", "certificate.jsonld"])
def test_a_link_in_the_folder_is_refused(world: Path, name: str) -> None:
    (world / "out" / name).rename(world / "elsewhere")
    (world / "out" / name).symlink_to(world / "elsewhere")
    with pytest.raises(GuaranteeError, match=f"{name}: it is a symbolic link"):
        verify(world)


def test_what_is_no_file_is_refused_and_not_waited_for(world: Path) -> None:
    (world / "out" / "Published.csv").unlink()
    os.mkfifo(world / "out" / "Published.csv")
    with pytest.raises(GuaranteeError, match=r"Published\.csv: it is not a file"):
        verify(world)


def test_what_is_put_there_meanwhile_is_not_looked_at(world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other bytes come as soon as the file was opened: what is hashed is what is parsed, and was there."""
    real = Anonymization.check_again

    def swapped(*arguments: object) -> object:
        (world / "out" / "Published.csv").unlink()
        (world / "out" / "Published.csv").write_text("age,illness\n1,2\n")
        return real(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(Anonymization, "check_again", swapped)
    assert verify(world).version is not None
    monkeypatch.undo()
    with pytest.raises(GuaranteeError, match="its bytes are not those"):
        verify(world)


def test_each_file_is_opened_once(world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    real = OutputFolder._opened

    def noted(self: OutputFolder, name: str) -> object:
        opened.append(name)
        return real(self, name)

    monkeypatch.setattr(OutputFolder, "_opened", noted)
    verify(world)
    assert sorted(opened) == ["Published.csv", "certificate.jsonld"]


def test_a_file_that_grew_is_not_copied_whole(world: Path) -> None:
    with (world / "out" / "Published.csv").open("ab") as file:
        file.truncate(1 << 40)  # nothing is written: the disk keeps holes
    with pytest.raises(GuaranteeError, match=r"^Published\.csv"):
        verify(world)


def test_a_folder_that_is_replaced_by_a_link_stays_the_one_that_was_opened(world: Path) -> None:
    with opened_folder(world / "out") as output:
        (world / "out").rename(world / "moved")
        (world / "out").symlink_to("/etc")
        assert output.names() == {"Published.csv", "certificate.jsonld"}
