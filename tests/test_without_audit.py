"""What the commands say where the extra `audit` is not installed: in words, and before anything is done."""

import subprocess
import sys
from pathlib import Path

import pytest
from model_worlds import OWNER, TARGET, USER, people, policy

from smalti.errors import install_line

BARE = """
import sys
for library in ("jax", "dp_accounting", "scipy", "sklearn", "safetensors", "skops", "matplotlib", "jinja2"):
    sys.modules[library] = None
from smalti.cli.main import main
main()
"""
FOR_ALL = ("--data", f"{TARGET}=people.csv", "--as", USER, "--owner", OWNER)
MODEL = ("m.onnx", "--members", "m.csv", "--others", "o.csv", "--label", "y", "--attack", "loss")


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "policy.jsonld", *FOR_ALL, "--out", "out"),
        pytest.param(("plan", "policy.jsonld", *FOR_ALL), marks=pytest.mark.slow),
        ("audit", "compare", "--out", "out"),
        ("audit", "model", *MODEL),
    ],
    ids=lambda arguments: arguments[1],
)
def test_it_is_said_what_to_install(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    people(tmp_path)
    policy(tmp_path)
    ran = subprocess.run(
        [sys.executable, "-P", "-c", BARE, *arguments], cwd=tmp_path, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert ran.returncode == 3
    assert install_line("audit").partition(": ")[2] in ran.stderr
    assert "internal error" not in ran.stderr
    assert not list(tmp_path.glob("*.decisions.jsonl"))
    assert not (tmp_path / "out").exists()
