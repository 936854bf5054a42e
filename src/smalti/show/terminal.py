"""Labels, widths and short names, shared by everything shown in a terminal."""

import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from smalti.engine.plan.files import PublishedFile
from smalti.engine.plan.lines import labelled
from smalti.engine.plan.notices import Notice, ordered

LABEL = "bold"
WIDTH = 110


def console() -> Console:
    """Standard output; plain, and of one width, when it is no terminal."""
    out = _Output(highlight=False, soft_wrap=True)
    return out if out.is_terminal else _Output(highlight=False, soft_wrap=True, width=WIDTH)


class _Output(Console):
    def on_broken_pipe(self) -> None:
        """Let the command line end itself; rich would exit with the code of findings."""
        raise BrokenPipeError


def short(iri: str | None) -> str:
    """The last part of an IRI, for a sentence; the whole where there is none."""
    if iri is None:
        return "no purpose"
    return iri.rstrip("/#").replace("#", "/").rsplit("/", 1)[-1]


def fields(out: Console, *labelled_texts: tuple[str, str]) -> None:
    """Print labels with texts beside them, wrapped between words."""
    for label, text in labelled_texts:
        lines = labelled(label, text, min(out.width, WIDTH))
        out.print(Text.assemble((lines[:13], LABEL), lines[13:]))


def bullet(out: Console, text: str, indent: int = 2) -> None:
    """Print a sentence as an item of a list."""
    start = " " * indent
    out.print(Text(textwrap.fill(text, min(out.width, WIDTH), initial_indent=f"{start}- ",
                                 subsequent_indent=f"{start}  ", break_long_words=False,
                                 break_on_hyphens=False)))  # fmt: skip


def show_written(out: Console, *files: str | None) -> None:
    """Name the files that were written for the data's owner; None: was not requested."""
    fields(out, *(("wrote", f"{file}, which you alone can read") for file in files if file is not None))


def show_warnings(out: Console, warnings: Iterable[str]) -> None:
    """Print warnings."""
    fields(out, *(("warning", warning) for warning in warnings))


def show_notices(out: Console, notices: Iterable[Notice], *, in_full: bool) -> None:
    """Print warnings, those about this data first; many alike ones as one, unless in full."""
    show_warnings(out, (text for notice in ordered(notices) for text in notice.shown(in_full=in_full)))


def place_of(folder: Path, files: Sequence[PublishedFile], *, are_tables: bool = False) -> str:
    """The path of published files; `are_tables`: each is a table of its own."""
    names = file_names(files, are_tables=are_tables)
    return str(folder / names) if len(files) == 1 else f"{folder}: {names}"


def file_names(files: Sequence[PublishedFile], *, are_tables: bool = False) -> str:
    """The names of published files, in short; `are_tables`: each is a table of its own."""
    if are_tables:
        return f"{len(files)} tables, {' and '.join(file.name for file in files)}"
    first, last = files[0].name, files[-1].name
    return first if len(files) == 1 else f"{len(files)} parts, {first} to {last}"
