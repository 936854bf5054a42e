"""What help shows, what it hides, and how former spellings of commands go on."""

import json
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from shell import OWNER, smalti

from smalti.cli.layout import SECTIONS
from smalti.cli.main import cli

FORMER = {"new-key": "new", "sign": "sign", "trust": "trust", "distrust": "distrust", "keys": "list"}
"""Commands of `policy` before, and what they are called in `keys`."""


def groups(command: click.Command = cli, name: str = "smalti") -> Iterator[tuple[str, click.Group]]:
    if isinstance(command, click.Group):
        yield name, command
        for part in command.commands.values():
            yield from groups(part, f"{name} {part.name}")


def help_of(*words: str, cwd: Path) -> str:
    ran = smalti(*words, "--help", cwd=cwd)
    assert (ran.code, ran.err) == (0, "")
    return ran.out


def test_the_first_help_is_one_screen_with_one_line_for_each_command(tmp_path: Path) -> None:
    shown = help_of(cwd=tmp_path).splitlines()
    assert len(shown) <= 45
    assert all(len(line) <= 80 for line in shown)
    titles = [line.removesuffix(":") for line in shown if line.endswith(":") and not line.startswith(" ")]
    assert titles == ["Options", *SECTIONS], "a command that no section names?"
    commands = {line.split()[0] for line in shown if line.startswith("  ")}
    assert commands >= {name for name, command in cli.commands.items() if not command.hidden}


@pytest.mark.parametrize("name", [name for name, _ in groups()])
def test_no_line_about_a_command_is_cut_short(tmp_path: Path, name: str) -> None:
    _, _, listed = help_of(*name.split()[1:], cwd=tmp_path).partition("--help")
    assert "..." not in listed


def test_options_that_tune_stand_under_a_heading_of_their_own(tmp_path: Path) -> None:
    for command in ("run", "plan", "verify"):
        usual, heading, advanced = help_of(command, cwd=tmp_path).partition("\nAdvanced options")
        assert heading
        for option in ("--engine", "--fragments", "--conf", "--master"):
            assert f"  {option} " in advanced
            assert f"  {option} " not in usual
    assert "--cut-threshold" in help_of("run", cwd=tmp_path).partition("\nAdvanced options")[2]


# --- Former spellings


@pytest.mark.parametrize(("former", "present"), FORMER.items())
def test_a_former_spelling_is_hidden_and_names_the_present_one(
    tmp_path: Path, former: str, present: str
) -> None:
    assert f"  {former} " not in help_of("policy", cwd=tmp_path)
    _, _, options = help_of("keys", present, cwd=tmp_path).partition("\n")
    assert help_of("policy", former, cwd=tmp_path).partition("\n")[2] == options


def test_former_spellings_work_and_hint_on_standard_error_alone(tmp_path: Path) -> None:
    (tmp_path / "document").write_text("{}")
    thumbprint = ""
    for words in (
        ["new-key", "--private", "a.pem", "--public", "b.pem"],
        ["sign", "document", "--key", "a.pem"],
        ["trust", "b.pem", "--as", OWNER],
        ["keys", "--format", "json"],
        ["distrust", "THUMBPRINT", "--as", OWNER],
    ):
        ran = smalti(
            "policy", *(thumbprint if word == "THUMBPRINT" else word for word in words), cwd=tmp_path
        )
        assert ran.code == 0, ran.err
        present = f"smalti keys {FORMER[words[0]]}"
        assert ran.err == f"hint: write `{present}`; the former spelling ends with the next version\n"
        if words[0] == "keys":
            thumbprint = json.loads(ran.out)[0]["thumbprint"]
