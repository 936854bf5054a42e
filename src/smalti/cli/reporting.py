"""Reports of studies: written where that is asked for, and shown; by commands and by jobs alike."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from smalti.json.text import Json, as_json

if TYPE_CHECKING:
    from smalti.reports.page import Page


@dataclass(frozen=True, slots=True)
class Reported:
    """What a study found. Private: it is about people."""

    document: Json
    """For programs."""
    page: "Callable[[bool], Page]"
    """For people, with or without drawings."""


def check_pages(page: str | None) -> None:
    """Raise BackendError where a page is asked for that cannot be made, before the work for it begins."""
    if page is not None:
        from smalti.reports.web import check_installed

        check_installed()


def deliver(reported: Reported, *, page: str | None, report: str | None, shown_as: str) -> None:
    """Write the reports that are asked for to new files that their owner alone can read, and show one.

    Args:
        reported: what was found.
        page: where the page is written; None: nowhere.
        report: where the JSON report is written; None: nowhere.
        shown_as: `human` or `json`.

    Raises:
        UsageError: a file exists, or cannot be written.
        BackendError: the extra `audit` is not installed.
    """
    from smalti.cli.keys import write_new
    from smalti.reports import terminal
    from smalti.reports.web import to_html
    from smalti.show.terminal import console, show_written

    text = as_json(reported.document)
    if report is not None:
        write_new(report, text.encode())
    if page is not None:
        write_new(page, to_html(reported.page(True)).encode())
    if shown_as == "json":
        click.echo(text, nl=False)
    else:
        terminal.show(reported.page(False), console())
        show_written(console(), page, report)
