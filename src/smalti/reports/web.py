"""A report as one page of HTML: no script, nothing fetched, nothing that refers to another place."""

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from smalti.errors import not_installed
from smalti.reports.page import Page, Paragraph, Table

if TYPE_CHECKING:
    from jinja2 import Template


def to_html(page: Page) -> str:
    """The page as HTML; every text in it is escaped.

    Raises:
        BackendError: the extra `audit` is not installed.
    """
    return _template().render(page=page)


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
