"""The rooms of the code and who imports whom, found in the syntax tree; and the drawing of them."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

BEGIN: Final = "<!-- Drawn by tools/generate.py: do not edit. -->"
END: Final = "<!-- End of the drawing. -->"
MAY_IMPORT: Final = {
    "vocab": frozenset[str](),
    "policy": frozenset({"vocab"}),
    "transforms": frozenset({"vocab"}),
    "engine": frozenset({"vocab", "policy", "transforms"}),
}
"""The packages below the front door, each with those below it."""
FLOORS: Final = {
    "plan": 1, "tables": 2, "backends": 3, "verify": 3, "registry": 3, "binding": 4, "losses": 5,
    "anonymization": 6, "releases": 6, "perturbation": 6, "training": 6, "run": 7,
}  # fmt: skip
"""The rooms of `engine/`. Imports go down; rooms of one floor do not know each other."""


def dotted_name(path: Path, root: Path) -> tuple[str, ...]:
    """The module that a file is, as users import it, in parts."""
    parts = path.relative_to(root).with_suffix("").parts
    return parts[1:] if parts[0] == "src" else ("smalti", *parts)


def imports(path: Path, root: Path) -> Iterator[str]:
    """The full dotted name of everything that a file imports, also inside functions."""
    parts = dotted_name(path, root)
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(parts[: len(parts) - node.level]) if node.level else ""
            stem = ".".join(filter(None, (base, node.module or "")))
            yield from (f"{stem}.{alias.name}" for alias in node.names)


def arrows(root: Path) -> set[tuple[str, str]]:
    """The rooms of the engine that import each other: who, and whom."""
    found = set()
    for path in (root / "engine").rglob("*.py"):
        room = path.relative_to(root).parts[1]
        for name in imports(path, root):
            parts = name.split(".")
            other = parts[2] if parts[:2] == ["smalti", "engine"] and len(parts) > 2 else ""
            if room in FLOORS and other in FLOORS and room != other:
                found.add((room, other))
    return found


def upward(pairs: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """Those of some arrows that do not go down."""
    return {(room, other) for room, other in pairs if FLOORS[other] >= FLOORS[room]}


def drawing(root: Path) -> str:
    """The rooms of the engine by floors, as a flowchart in Mermaid's language.

    An arrow that others lead along is left out; those that go up are dotted.
    """
    pairs = arrows(root)
    wrong = upward(pairs)
    lines = ["```mermaid", "flowchart TB"]
    for floor in sorted(set(FLOORS.values()), reverse=True):
        lines.append(f'  subgraph floor{floor}["floor {floor}"]')
        lines += [f'    {room}["{room}/"]' for room in sorted(FLOORS) if FLOORS[room] == floor]
        lines.append("  end")
    lines += [f"  {room} --> {other}" for room, other in sorted(_reduced(pairs - wrong))]
    lines += [f"  {room} -.-> {other}" for room, other in sorted(wrong)]
    return "\n".join([*lines, "```"])


def page(root: Path) -> str:
    """`docs/architecture.md` with the drawing as the code has it now."""
    text = (root / "docs" / "architecture.md").read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{drawing(root)}\n\n{END}{after}"


def _reduced(pairs: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """A set of arrows without circles, but for those that a longer way replaces."""
    below: dict[str, set[str]] = {}
    for room in sorted(FLOORS, key=lambda one: FLOORS[one]):
        direct = {other for start, other in pairs if start == room}
        below[room] = direct.union(*(below[other] for other in direct))
    return {
        (room, other)
        for room, other in pairs
        if not any(other in below[between] for start, between in pairs if start == room)
    }
