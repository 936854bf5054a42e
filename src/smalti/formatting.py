"""Lays out files of policies in place (`smalti fmt`)."""

import difflib
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from smalti.policy.findings.render import render_human
from smalti.policy.read.parse import MAX_BYTES
from smalti.policy.say.format import format_document

STANDARD_INPUT = "-"


@dataclass(frozen=True, slots=True)
class FormattedFile:
    """The result for one file."""

    name: str
    text: str = ""
    """The laid-out document."""
    is_changed: bool = False
    difference: str = ""
    """A unified diff; empty where nothing changes."""
    problem: str = ""
    """Why the file cannot be laid out; it was left as it was."""


def format_files(names: Sequence[str], *, write: bool) -> Iterator[FormattedFile]:
    """Lay out each file; a file is replaced as a whole, or left as it was.

    Args:
        names: paths; `-` is standard input, which is never written.
        write: replace files whose layout changes.
    """
    for name in names:
        yield _format(name, write=write and name != STANDARD_INPUT)


def convert_file(name: str, form: str) -> FormattedFile:
    """A policy document in another form; no file is changed.

    Args:
        name: its path; `-` is standard input.
        form: `short` (YAML) or `json-ld`.
    """
    before = _read(name)
    return before if isinstance(before, FormattedFile) else convert_text(before, name, form)


def convert_text(before: str, name: str, form: str) -> FormattedFile:
    """The characters of a policy document in another form.

    Args:
        before: the document.
        name: of it, for messages; its ending says how it is written.
        form: as of `convert_file`.
    """
    from smalti.policy.say.short_form import to_json_ld, to_short  # noqa: PLC0415 (only then)

    done = (to_short if form == "short" else to_json_ld)(before, name)
    if done.text is None:
        return FormattedFile(name, problem=render_human(done.diagnostics, before))
    return FormattedFile(name, done.text, done.text != before)


def _read(name: str) -> str | FormattedFile:
    """The characters of a document, or why there are none."""
    try:
        content = (
            sys.stdin.buffer.read(MAX_BYTES + 1) if name == STANDARD_INPUT else Path(name).read_bytes()
        )
        before = content.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "it is not UTF-8 text"
        return FormattedFile(name, problem=f"{name}: the document cannot be read: {reason.lower()}")
    if len(content) > MAX_BYTES:
        return FormattedFile(name, problem=f"{name}: the document has more than {MAX_BYTES} bytes")
    return before


def _format(name: str, *, write: bool) -> FormattedFile:
    before = _read(name)
    if isinstance(before, FormattedFile):
        return before
    done = format_document(before, name)
    if done.text is None:
        return FormattedFile(name, problem=render_human(done.diagnostics, before))
    if write and done.text != before:
        problem = _replace(Path(name), done.text)
        if problem:
            return FormattedFile(name, problem=problem)
    return FormattedFile(name, done.text, done.text != before, _difference(name, before, done.text))


def _difference(name: str, before: str, after: str) -> str:
    lines = difflib.unified_diff(
        before.splitlines(keepends=True), after.splitlines(keepends=True), name, f"{name} (laid out)"
    )
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )


def _replace(path: Path, text: str) -> str:
    """Put a whole new file, with the permissions of the old one, in its place; returns the problem."""
    place = path.resolve()
    draft = None
    try:
        handle, draft = tempfile.mkstemp(prefix=f".{place.name}.", dir=place.parent)
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        Path(draft).chmod(place.stat().st_mode & 0o7777)
        Path(draft).replace(place)
    except OSError as error:
        if draft is not None:
            Path(draft).unlink(missing_ok=True)
        return f"{path}: the document cannot be written: {(error.strerror or 'unknown reason').lower()}"
    return ""
