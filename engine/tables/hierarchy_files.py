"""Files that state a hierarchy: ARX's CSV, a JSON tree, SKOS in Turtle; local, bounded, never guessed.

Each is read as rows of a value and its labels. A tree's values may lie at different depths: those that lie
higher stay by themselves on the lower levels. Messages count; they never hold a value.
"""

import csv
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from smalti.engine.plan.hierarchies import FileForm, HierarchyFile
from smalti.errors import DataError, UsageError

MOST_BYTES: Final = 1 << 26
MOST_LEVELS: Final = 64
_SKOS: Final = "http://www.w3.org/2004/02/skos/core#"

_SURROGATE: Final = re.compile("[\ud800-\udfff]")

Row = tuple[str, ...]


class _FaultError(ValueError):
    """What is wrong with a file, in words without its values."""

    def __init__(self, problem: str, expected: str) -> None:
        super().__init__(problem)
        self.problem, self.expected = problem, expected


def read_hierarchy_file(path: Path, form: FileForm, separator: str, where: str) -> HierarchyFile:
    """The rows of a file.

    Args:
        path: of a local file.
        form: of the file.
        separator: of the fields of CSV.
        where: the column, for messages.

    Raises:
        UsageError: the file cannot be read.
        DataError: it is not of its form.
    """
    place = f"{where}, hierarchy `{path.name}`"
    try:
        raw = path.read_bytes()
    except OSError:
        raise UsageError(
            place, "the file cannot be read", "a readable file beside the description", "check the name"
        ) from None
    try:
        rows = _rows(raw, form, separator)
    except _FaultError as fault:
        raise DataError(place, fault.problem, fault.expected, "correct the file") from None
    return HierarchyFile(form, path.name, tuple(sorted(rows)))


def _rows(raw: bytes, form: FileForm, separator: str) -> list[Row]:
    if len(raw) > MOST_BYTES:
        raise _FaultError(f"it is larger than {MOST_BYTES} bytes", "a smaller file")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise _FaultError("it is not UTF-8", "text in UTF-8") from None
    match form:
        case FileForm.CSV:
            rows = _csv_rows(text, separator)
        case FileForm.JSON:
            rows = _levelled(_json_paths(text))
        case FileForm.SKOS:
            rows = _levelled(_skos_paths(text))
    if not rows:
        raise _FaultError("it states no value", "a value with its labels")
    if max(map(len, rows)) > MOST_LEVELS:
        raise _FaultError(f"it has more than {MOST_LEVELS} levels", "fewer levels")
    return rows


def _csv_rows(text: str, separator: str) -> list[Row]:
    try:
        lines = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
        rows = [tuple(row) for row in lines if row]
    except csv.Error:
        raise _FaultError(
            "it is not CSV", f"fields separated by `{separator}`, quoted as in RFC 4180"
        ) from None
    lengths = [len(row) for row in rows]
    uneven = sum(length != lengths[0] for length in lengths)
    if uneven:
        raise _FaultError(
            f"{uneven} of its lines have another number of fields than the first", "one number"
        )
    return rows


# --- JSON


def _json_paths(text: str) -> list[Row]:
    expected = (
        "an object of nodes by label, whose content is such an object, or an array of values as texts"
    )
    try:
        tree = json.loads(text, object_pairs_hook=_once)
    except RecursionError:
        raise _FaultError("it is nested too deeply", expected) from None
    except ValueError:
        raise _FaultError("it is not JSON, or repeats a label in one object", expected) from None
    rows = list(_paths(tree, (), expected))
    if any(_SURROGATE.search(text) for row in rows for text in row):
        raise _FaultError("a text in it holds half of a surrogate pair", "texts in UTF-8")
    return rows


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError
    return members


def _paths(tree: Any, above: Row, expected: str) -> Iterator[Row]:
    """From each value to the root."""
    if len(above) > MOST_LEVELS:
        raise _FaultError(f"it has more than {MOST_LEVELS} levels", "fewer levels")
    if isinstance(tree, dict) and tree:
        for label, content in tree.items():
            yield from _paths(content, (label, *above), expected)
    elif isinstance(tree, list) and tree and above:
        for item in tree:
            if isinstance(item, str):
                yield (item, *above)
            else:
                yield from _paths(item, above, expected)
    else:
        raise _FaultError("a part of it is neither an object, an array nor a text, or is empty", expected)


# --- SKOS


def _skos_paths(text: str) -> list[Row]:
    import rdflib  # noqa: PLC0415 (only for such files)

    graph = rdflib.Graph(bind_namespaces="none")
    try:
        graph.parse(data=text, format="turtle", publicID="http://hierarchy.invalid/")
    except Exception:  # the parser raises many kinds, with text of the document
        raise _FaultError("it is not Turtle", "SKOS concepts in Turtle") from None
    skos = rdflib.Namespace(_SKOS)
    broader: dict[Any, set[Any]] = {}
    for narrow, wide in graph.subject_objects(skos.broader):
        broader.setdefault(narrow, set()).add(wide)
    for wide, narrow in graph.subject_objects(skos.narrower):
        broader.setdefault(narrow, set()).add(wide)
    several = sum(len(wider) > 1 for wider in broader.values())
    if several:
        raise _FaultError(
            f"{several} concepts have several broader ones", "at most one `skos:broader` for each"
        )
    above = {narrow: next(iter(wider)) for narrow, wider in broader.items()}
    concepts = set(above) | set(above.values())
    texts = {concept: _text_of(graph, skos, concept) for concept in concepts}
    unnamed = sum(text is None for text in texts.values())
    if unnamed:
        raise _FaultError(
            f"{unnamed} concepts lack a text, or have several",
            "one `skos:notation`, or else one `skos:prefLabel`, for each concept",
        )
    return [_chain(concept, above, texts) for concept in concepts - set(above.values())]


def _text_of(graph: Any, skos: Any, concept: Any) -> str | None:
    texts = {str(text) for text in graph.objects(concept, skos.notation)}
    texts = texts or {str(text) for text in graph.objects(concept, skos.prefLabel)}
    return texts.pop() if len(texts) == 1 else None


def _chain(concept: Any, above: dict[Any, Any], texts: dict[Any, str | None]) -> Row:
    row = [texts[concept] or ""]
    while concept in above:
        concept = above[concept]
        row.append(texts[concept] or "")
        if len(row) > MOST_LEVELS:
            raise _FaultError(f"it has a circle, or more than {MOST_LEVELS} levels", "fewer levels")
    return tuple(row)


def _levelled(paths: list[Row]) -> list[Row]:
    """Rows of one length: a value that lies higher stays by itself on the lower levels."""
    longest = max(map(len, paths), default=0)
    return [(path[0],) * (longest - len(path)) + path for path in paths]
