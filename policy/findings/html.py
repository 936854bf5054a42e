"""Small pieces of HTML for notebooks: every text is escaped, and nothing refers to anything outside."""

from collections.abc import Iterable
from html import escape

_MOST_ROWS = 30
"""Of a table in a notebook; the rest is counted."""


def table(rows: Iterable[tuple[str, str]], caption: str = "") -> str:
    """Labels with texts beside them, as a table.

    >>> ">deny &lt;b&gt;</td>" in table([("effect", "deny <b>")])
    True
    """
    cells = list(rows)
    if len(cells) > _MOST_ROWS:
        more = len(cells) - _MOST_ROWS
        cells = [*cells[:_MOST_ROWS], ("...", f"{more} more")]
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    lines = "".join(
        f'<tr><th style="text-align:left">{escape(label)}</th>'
        f'<td style="text-align:left">{escape(text)}</td></tr>'
        for label, text in cells
    )
    return f"<table>{title}{lines}</table>"


def preformatted(text: str) -> str:
    """A text with its lines as they are."""
    return f"<pre>{escape(text)}</pre>"
