"""`run --replace`: an edited policy and its output take the place of earlier ones, and nothing is lost."""

import signal
from pathlib import Path

import kind_worlds as worlds
import pytest
from forked import run_forked
from killed_command import run_and_kill
from shell import CUSTOMER, OUTPUT, OWNER, Ran, listing, request, small_policy, small_table, smalti

from smalti.engine.plan.kinds import Kind
from smalti.engine.registry.commit import recover
from smalti.engine.registry.registry import Registry
from smalti.vocab.terms import IRI

SECOND = ["intent:after", "move:before", "rename:before", "rename:after", "move:after", "finish:before"]
DONE = ["finish:after"]
EDIT = {
    "identifier": None,
    "sensitive": ("isAllOf", [{"@id": f"{CUSTOMER}/illness"}, {"@id": f"{CUSTOMER}/who"}]),
}
"""One column more is published, of the same classes: no promise is broken beside the earlier version."""


def arguments(folder: Path, *more: str, owner: str | None = OWNER) -> list[str]:
    return ["run", "policy.jsonld", *request(folder / "people.csv", owner=owner), "--out", "out", *more]


def run(folder: Path, *more: str, owner: str | None = OWNER) -> Ran:
    return smalti(*arguments(folder, *more, owner=owner), cwd=folder)


@pytest.fixture
def edited(tmp_path: Path) -> Path:
    """A folder with a first version in `out`, and a policy that was edited since."""
    small_table(tmp_path)
    small_policy(tmp_path)
    assert run(tmp_path).code == 0
    small_policy(tmp_path, **EDIT)
    return tmp_path


def content(folder: Path) -> bytes:
    return (folder / "anonCustomer.csv").read_bytes()


def versions(folder: Path) -> dict[int, Path]:
    return {one.number: one.path for one in Registry.open(folder / "smalti.sqlite").versions(IRI(OUTPUT))}


def test_running_an_edited_policy_again_says_what_to_do(edited: Path) -> None:
    before = listing(edited)
    again = run(edited)
    assert again.code == 1
    text = " ".join(again.out.split())
    assert "is used by another document" in text
    assert "put this one in its place with `smalti run --replace`" in text
    assert listing(edited) == before
    small_policy(edited)  # as it is in force
    taken = run(edited)
    assert taken.code == 2
    assert "out: it exists already" in taken.message
    assert "the owner of the version in it puts the new one there with --replace" in taken.message
    assert listing(edited).keys() == before.keys()


def test_the_new_version_takes_the_folder_and_the_old_one_stays(edited: Path) -> None:
    first = content(edited / "out")
    replaced = run(edited, "--replace", "--format", "json")
    assert replaced.code == 0, replaced
    assert replaced.json["version"] == 2
    assert content(edited / "out") != first == content(edited / "out.version-1")
    assert versions(edited) == {1: edited / "out.version-1", 2: edited / "out"}
    for place in ("out", "out.version-1", OUTPUT):
        assert smalti("verify", place, cwd=edited).code == 0
    assert smalti("verify", "out.version-1", "--data", "people.csv", cwd=edited).code == 0
    policies = smalti("policy", "list", "--format", "json", cwd=edited).json
    assert [policy["state"] for policy in policies] == ["replaced", "in force"]
    shown = " ".join(smalti("targets", cwd=edited).out.split())
    assert shown.count("was replaced") == 1, "the first version is to be reviewed"
    assert run(edited, "--replace").code == 0, "and again"
    assert versions(edited)[2] == edited / "out.version-2"


def test_a_new_folder_with_an_edited_policy(edited: Path) -> None:
    ran = smalti(*arguments(edited)[:-1], "elsewhere", "--replace", cwd=edited)
    assert ran.code == 0, ran
    assert versions(edited) == {1: edited / "out", 2: edited / "elsewhere"}


def test_only_the_owner_replaces(edited: Path) -> None:
    small_policy(edited)  # as it is in force, so that the party may run it
    before = listing(edited)
    refused = run(edited, "--replace", owner=None)
    assert refused.code == 2
    assert "does not own all of" in refused.message
    assert listing(edited) == before


@pytest.mark.parametrize("change", ["foreign", "changed", "more", "link", "taken", "file"])
def test_what_is_no_whole_version_is_never_replaced(edited: Path, change: str) -> None:
    out = edited / "out"
    if change == "changed":
        (out / "anonCustomer.csv").write_text("age\n")
    elif change == "more":
        (out / "notes.txt").write_text("mine")
    elif change == "taken":
        (edited / "out.version-1").mkdir()
    else:
        out.rename(edited / "elsewhere")
        if change == "link":
            out.symlink_to(edited / "elsewhere")
        elif change == "file":
            out.write_text("mine")
        else:
            out.mkdir()
            (out / "notes.txt").write_text("mine")
    before = listing(edited)
    refused = run(edited, "--replace")
    assert refused.code == 2, refused
    assert listing(edited) == before


@pytest.mark.parametrize("point", [*SECOND, *DONE])
def test_a_killed_replacement_loses_nothing(edited: Path, point: str) -> None:
    first = content(edited / "out")
    ended = run_forked(run_and_kill, point, arguments(edited, "--replace"), folder=edited)
    assert ended.code == -signal.SIGKILL, ended.err.decode()
    recover(Registry.open(edited / "smalti.sqlite"))
    is_done = point in {"move:after", "finish:before", *DONE}
    assert versions(edited) == (
        {1: edited / "out.version-1", 2: edited / "out"} if is_done else {1: edited / "out"}
    )
    assert content(versions(edited)[1]) == first
    assert (edited / "out.version-1").exists() == is_done
    assert Registry.open(edited / "smalti.sqlite").intents.pending() == ()
    for place in versions(edited).values():
        assert smalti("verify", place, cwd=edited).code == 0
    assert run(edited, "--replace").code == 0
    assert len(versions(edited)) == 2 + is_done
    assert not list(edited.glob(".smalti-*"))


def test_a_folder_that_cannot_be_put_back_stays_beside_and_is_known(edited: Path) -> None:
    first = content(edited / "out")
    run_forked(run_and_kill, "rename:after", arguments(edited, "--replace"), folder=edited)
    (edited / "out").mkdir()
    (edited / "out" / "notes.txt").write_text("mine")
    recover(Registry.open(edited / "smalti.sqlite"))
    assert versions(edited) == {1: edited / "out.version-1"}
    assert content(edited / "out.version-1") == first
    assert (edited / "out" / "notes.txt").read_text() == "mine"


def test_replacing_frees_no_privacy_loss(tmp_path: Path) -> None:
    kind = Kind.RELEASE
    worlds.write(tmp_path, kind)
    worlds.run(tmp_path, kind)
    worlds.run(tmp_path, kind, replace=True)
    assert worlds.charges(tmp_path) == 2
