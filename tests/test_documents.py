"""Files of the repository speak of the project only: no machine's paths, no registry's address."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

# Written so that this file does not match itself.
FORBIDDEN = {
    "a folder beside the checkout": r"\.\./share[d]\b",
    "a path of one machine": r"(?<![\w.-])/(?:wor[k]|roo[t])/|(?<![\w.-])/hom[e]/\w+/",
    "the address of a package registry": r"pyp[i]\.org|pythonhoste[d]\.org|npmj[s]\.org|deb\.debia[n]\.org",
}


def repository_files() -> list[Path]:
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        return []
    run = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return [path for name in run.stdout.split("\0") if name and (path := ROOT / name).is_file()]


@pytest.mark.skipif(not repository_files(), reason="not a git checkout")
@pytest.mark.parametrize("what", FORBIDDEN)
def test_no_file_names(what: str) -> None:
    wrong = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in repository_files()
        for match in re.finditer(FORBIDDEN[what], path.read_text(encoding="utf-8", errors="replace"))
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("what", "text", "matches"),
    [
        ("a path of one machine", "see /wor" + "k/notes", True),
        ("a path of one machine", "http://example.com/wor" + "k/1", False),
        ("a folder beside the checkout", "read ../share" + "d/design.md", True),
    ],
)
def test_the_patterns(what: str, text: str, matches: bool) -> None:
    assert bool(re.search(FORBIDDEN[what], text)) is matches
