"""A report as one page of HTML, without scripts and without references to anything outside."""

from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from smalti.errors import UsageError, not_installed
from smalti.reports.page import Page, Paragraph, Table

if TYPE_CHECKING:
    from jinja2 import Template


def to_html(page: Page) -> str:
    """The page as HTML; every text in it is escaped.

    Raises:
        BackendError: the extra `audit` is not installed.
    """
    return _template().render(page=page)


def write_html(shown: Page, path: str) -> None:
    """Write a report as a page of HTML to a new file.

    Raises:
        UsageError: the file exists, or cannot be written.
        BackendError: the extra `audit` is not installed.
    """
    text = to_html(shown)
    try:
        with Path(path).open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise UsageError(path, "it exists already", "a new file", "name another file") from None
    except OSError as error:
        raise UsageError(
            path, f"it cannot be written ({error.strerror})", "a folder that you may write to"
        ) from None


def check_installed() -> None:
    """Raise BackendError where a page cannot be made, before the work for it begins."""
    _template()


@cache
def _template() -> "Template":
    try:
        from jinja2 import Environment, StrictUndefined  # noqa: PLC0415 (an extra)
    except ImportError:
        raise not_installed("report", "a page of HTML", "jinja2", "audit") from None
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.tests["paragraph"] = lambda part: isinstance(part, Paragraph)
    environment.tests["table"] = lambda part: isinstance(part, Table)
    return environment.from_string(
        files("smalti.reports").joinpath("page.html").read_text(encoding="utf-8")
    )
