"""Labelled lines of text for people."""

import textwrap
from typing import TypeAlias

Line: TypeAlias = tuple[str, str] | str
"""A label with its text, or a line as it is."""


def labelled(label: str, text: str, width: int = 108) -> str:
    """A label with a text beside it, wrapped between words; a longer word, such as a path, stays whole.

    >>> print(labelled("output", "one two three", 22))
    output       one two
                 three
    """
    first, rest = f"{label:12} ", " " * 13
    return textwrap.fill(
        text, width, initial_indent=first, subsequent_indent=rest, break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip
