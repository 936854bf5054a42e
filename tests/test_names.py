"""Names say their subject: pronouns and verbs are no names of values, functions or modules."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("engine", "policy", "studies", "tools", "transforms", "vocab", "src/smalti")
NO_NAMES = {"made", "known", "told", "given", "found", "one", "forms", "only", "limbs", "offers"}
FIELDS = {("src/smalti/doctor.py", "found")}
"""A field of JSON that users read."""


def modules() -> list[Path]:
    paths = (path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))
    return sorted(path for path in paths if not path.is_symlink())


def names_of(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
            yield name
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.alias(name=name, asname=local):
            yield local or name.rpartition(".")[2]


@pytest.mark.parametrize(
    "text",
    ["found = 1", "for one in x: pass", "def told(): pass", "def f(known): pass", "from x import given"],
)
def test_a_name_is_seen(text: str) -> None:
    assert {name for node in ast.walk(ast.parse(text)) for name in names_of(node)} & NO_NAMES


def test_names_say_their_subject() -> None:
    nameless = {
        (str(path.relative_to(ROOT)), name.strip("_"))
        for path in modules()
        for node in ast.walk(ast.parse(path.read_text()))
        for name in (*names_of(node), path.stem)
        if name.strip("_") in NO_NAMES
    }
    assert nameless == FIELDS
