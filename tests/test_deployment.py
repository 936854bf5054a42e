"""The files in `examples/deployment` start what there is, with options that there are."""

import shlex
import shutil
import subprocess
from configparser import ConfigParser
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from smalti.cli.main import cli

FOLDER = Path(__file__).parents[1] / "examples" / "deployment"
UNITS = sorted(FOLDER.glob("*.service"))


def unit(path: Path) -> ConfigParser:
    parser = ConfigParser(strict=False, interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read(path)
    return parser


def composed() -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load((FOLDER / "compose.yaml").read_text())
    return document


def understood(words: list[str]) -> click.Context:
    """The command that these words are, with its options; an error where it has no such option."""
    context = cli.make_context("smalti", words)
    name, command, rest = cli.resolve_command(context, [*context._protected_args, *context.args])
    assert name is not None
    assert command is not None
    return command.make_context(name, rest, parent=context)


@pytest.mark.parametrize("name", ["service", "worker"])
def test_commands_of_containers_are_commands_of_smalti(name: str) -> None:
    context = understood(shlex.split(composed()["services"][name]["command"]))
    assert context.params["registry"] == "postgresql://smalti@database/smalti"


def test_containers_can_do_little() -> None:
    services = composed()["services"]
    for service in services.values():
        assert service["cap_drop"] == ["ALL"]
        assert "no-new-privileges:true" in service["security_opt"]
        assert "privileged" not in service
    assert services["service"]["ports"] == ["127.0.0.1:8080:8080"]
    assert all("ports" not in services[name] for name in ("worker", "database"))


def test_the_image_installs_locked_versions_and_runs_as_nobody() -> None:
    text = (FOLDER / "Containerfile").read_text()
    (user,) = [line.split()[1] for line in text.splitlines() if line.startswith("USER ")]
    assert user.isdigit()
    assert int(user) > 0
    assert "--require-hashes" in text
    assert (FOLDER.parents[1] / "requirements" / "deployment.txt").is_file()


@pytest.mark.parametrize("path", UNITS, ids=[path.name for path in UNITS])
def test_units_start_commands_of_smalti(
    tmp_path: Path, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, *words = shlex.split(unit(path)["Service"]["ExecStart"])
    assert program == "/opt/smalti/bin/smalti"
    if "--settings" in words:  # read as the command is understood
        place = words.index("--settings") + 1
        words[place] = str(tmp_path / "smalti.toml")
        (tmp_path / "smalti.toml").write_text("")
    assert understood(words).params["registry"] == "/var/lib/smalti/registry.sqlite"
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        return
    copy = tmp_path / path.name
    copy.write_text(path.read_text().replace(program, "/bin/true"))
    checked = subprocess.run([analyze, "verify", str(copy)], capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stderr) == (0, "")
