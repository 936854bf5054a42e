"""Lines that say how to install something: one form, for extras that exist."""

import re
import tomllib
from pathlib import Path

from smalti.errors import install_line, not_installed

ROOT = Path(__file__).parents[1]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
ROOMS = ("engine", "policy", "src", "studies", "transforms", "vocab")
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md")]
PRINTED = [*PAGES, *(path for room in ROOMS for path in ROOT.glob(f"{room}/**/*.py"))]
COMMAND = re.compile(r"pip install '([^'\[]*)\[([^\]]*)\]'")


def test_no_line_names_a_package_that_no_index_has() -> None:
    found = [(path.name, *match) for path in PRINTED for match in COMMAND.findall(path.read_text())]
    assert {package for _, package, _ in found} == {"."}
    named = {extra for _, _, extras in found for extra in extras.split(",") if "{" not in extra}
    assert named <= set(EXTRAS)


def test_a_message_says_where_its_command_works() -> None:
    assert install_line().startswith("install it: pip install ., in the folder of smalti's checkout")
    error = not_installed("training", "the library", "jax", "audit")
    assert error.way_out == install_line("audit")
    assert "pip install '.[audit]', in the folder of smalti's checkout" in error.way_out


def test_pages_that_run_in_another_folder_say_which_one_is_meant() -> None:
    for path in (path for path in ROOT.glob("docs/**/*.md") if COMMAND.search(path.read_text())):
        text = " ".join(path.read_text().split())
        for match in COMMAND.finditer(text):
            assert "in the folder of the checkout" in text[match.start() : match.end() + 60], path.name
