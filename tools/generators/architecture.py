"""The rooms of the code and who imports whom, found in the syntax tree; and the drawing of them."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

BEGIN: Final = "<!-- The rooms of {}, drawn by tools/generate.py: do not edit. -->"
END: Final = "<!-- End of the rooms of {}. -->"
MAY_IMPORT: Final = {
    "vocab": frozenset[str](),
    "policy": frozenset({"vocab"}),
    "transforms": frozenset({"vocab"}),
    "studies": frozenset({"transforms"}),
    "engine": frozenset({"vocab", "policy", "transforms"}),
}
"""The packages below the front door, each with those below it."""
FLOORS: Final = {
    "engine": {
        "plan": 1, "tables": 2, "backends": 3, "verify": 3, "registry": 3, "binding": 4, "jobs": 5,
        "losses": 5, "techniques": 5, "anonymization": 6, "bucketization": 6, "releases": 6,
        "perturbation": 6, "masking": 6, "training": 6, "run": 7,
    },
    "policy": {
        "model": 1, "text": 1, "short": 2, "findings": 3, "decide": 4, "document": 4, "read": 5,
        "lint": 6, "say": 7,
    },
    "transforms": {
        "loss": 1, "partitions": 1, "uniqueness": 1, "values": 1, "noise": 2, "requirements": 2,
        "improving": 2, "measures": 2, "learning": 3, "mondrian": 3, "lattice": 4, "microaggregation": 4,
        "auditing": 4, "bucketization": 4, "attacks": 5, "masking": 5, "membership": 5, "tracing": 5,
        "generative": 6,
    },
}  # fmt: skip
"""The rooms of packages. Imports go down; rooms of one floor do not know each other."""


def dotted_name(path: Path, root: Path) -> tuple[str, ...]:
    """The module that a file is, as users import it, in parts."""
    parts = path.relative_to(root).with_suffix("").parts
    return parts[1:] if parts[0] == "src" else ("smalti", *parts)


@cache  # many rules are about the imports of all files
def imports(path: Path, root: Path) -> tuple[str, ...]:
    """The full dotted name of everything that a file imports, also inside functions; read once."""
    return tuple(_imports(path, root))


def _imports(path: Path, root: Path) -> Iterator[str]:
    parts = dotted_name(path, root)
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(parts[: len(parts) - node.level]) if node.level else ""
            stem = ".".join(filter(None, (base, node.module or "")))
            yield from (f"{stem}.{alias.name}" for alias in node.names)


def arrows(root: Path, package: str) -> set[tuple[str, str]]:
    """The rooms of a package that import each other: who, and whom."""
    pairs, floors = set(), FLOORS[package]
    for path in (root / package).rglob("*.py"):
        room = path.relative_to(root).parts[1]
        for name in imports(path, root):
            parts = name.split(".")
            other = parts[2] if parts[:2] == ["smalti", package] and len(parts) > 2 else ""
            if room in floors and other in floors and room != other:
                pairs.add((room, other))
    return pairs


def upward(pairs: set[tuple[str, str]], package: str) -> set[tuple[str, str]]:
    """Those of some arrows between rooms of a package that do not go down."""
    floors = FLOORS[package]
    return {(room, other) for room, other in pairs if floors[other] >= floors[room]}


def drawing(root: Path, package: str) -> str:
    """The rooms of a package by floors, as a flowchart in Mermaid's language.

    An arrow that others lead along is left out; those that go up are dotted.
    """
    pairs, floors = arrows(root, package), FLOORS[package]
    wrong = upward(pairs, package)
    lines = ["```mermaid", "flowchart TB"]
    for floor in sorted(set(floors.values()), reverse=True):
        lines.append(f'  subgraph floor{floor}["floor {floor}"]')
        lines += [f'    {room}["{room}/"]' for room in sorted(floors) if floors[room] == floor]
        lines.append("  end")
    lines += [f"  {room} --> {other}" for room, other in sorted(_reduced(pairs - wrong, floors))]
    lines += [f"  {room} -.-> {other}" for room, other in sorted(wrong)]
    return "\n".join([*lines, "```"])


def page(root: Path) -> str:
    """`docs/architecture.md` with the drawings as the code has them now."""
    text = (root / "docs" / "architecture.md").read_text(encoding="utf-8")
    for package in FLOORS:
        before, _, rest = text.partition(BEGIN.format(package))
        _, _, after = rest.partition(END.format(package))
        drawn = f"{BEGIN.format(package)}\n\n{drawing(root, package)}\n\n{END.format(package)}"
        text = f"{before}{drawn}{after}"
    return text


def _reduced(pairs: set[tuple[str, str]], floors: dict[str, int]) -> set[tuple[str, str]]:
    """A set of arrows without circles, but for those that a longer way replaces."""
    below: dict[str, set[str]] = {}
    for room in sorted(floors, key=lambda name: floors[name]):
        direct = {other for start, other in pairs if start == room}
        below[room] = direct.union(*(below[other] for other in direct))
    return {
        (room, other)
        for room, other in pairs
        if not any(other in below[between] for start, between in pairs if start == room)
    }
