"""Warnings of plans and runs: sentences for programs, and lines for people."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from smalti.engine.plan.lines import Line

MOST_ALIKE: Final = 5
"""The most alike warnings, or alike columns of a table, that people are shown one by one."""
_MOST_LISTED: Final = 12
"""The most columns that a line for people lists."""
_EXAMPLES: Final = 3
_WAY: Final = "`--verbose` lists them"


@dataclass(frozen=True, slots=True)
class Notice:
    """A warning, and what it lists; nothing but what whoever sees it may know."""

    text: str
    """A sentence. What is listed follows after a colon."""
    listed: tuple[str, ...] = ()
    """Columns, with what is said of each."""
    each: str | None = None
    """Where every column is a warning of its own: its sentence, with `{}` for the column."""
    is_of_data: bool = False
    """Whether it follows from the data, not from the plan alone."""

    @property
    def sentences(self) -> tuple[str, ...]:
        """The whole warning for programs, with everything that is listed."""
        if self.each is not None:
            return tuple(self.each.format(column) for column in self.listed)
        return (self.sentence,)

    @property
    def sentence(self) -> str:
        """The whole warning in one sentence."""
        return f"{self.text}: {', '.join(self.listed)}" if self.listed else self.text

    def shown(self, *, in_full: bool) -> tuple[str, ...]:
        """The warning for people: in one line where there is much to list."""
        most = _MOST_LISTED if self.each is None else MOST_ALIKE
        if in_full or len(self.listed) <= most:
            return self.sentences
        count = f"{len(self.listed)} " if self.each is not None else ""
        return (f"{count}{self.text}: {shortened(self.listed)}; {_WAY}",)


def dropped_unnamed(columns: Iterable[str]) -> tuple[Notice, ...]:
    """Warn that columns will be dropped, since the policy does not name them."""
    names = tuple(columns)
    each = "column {} will be dropped: the policy does not name it"
    return (Notice("columns that the policy does not name will be dropped", names, each),) if names else ()


def of_no_rows(rows: int, *, is_sample: bool) -> tuple[Notice, ...]:
    """Warn whoever gets an output without rows, which the output itself shows.

    Args:
        rows: of the output.
        is_sample: whether the rows are of a sample.
    """
    if rows:
        return ()
    why = ": nobody was drawn into the sample; a larger rate draws more people" if is_sample else ""
    return (Notice(f"the output has no rows{why}", is_of_data=True),)


def sentences(notices: Iterable[Notice]) -> tuple[str, ...]:
    """All warnings for programs, each once."""
    return tuple(dict.fromkeys(text for notice in notices for text in notice.sentences))


def ordered(notices: Iterable[Notice]) -> tuple[Notice, ...]:
    """Each notice once: those about this data before those that the plan says whatever the data."""
    once = tuple(dict.fromkeys(notices))
    return tuple(sorted(once, key=lambda notice: not notice.is_of_data))


def warning_lines(notices: Iterable[Notice], *, in_full: bool) -> Iterator[Line]:
    """Warnings as labelled lines for people."""
    for notice in ordered(notices):
        yield from (("warning", text) for text in notice.shown(in_full=in_full))


def names_shown(names: Sequence[str], *, in_full: bool) -> tuple[str, ...]:
    """Alike columns for people, each by itself, or all in one line."""
    if in_full or len(names) <= MOST_ALIKE:
        return tuple(names)
    return (f"{len(names)} columns: {shortened(names)}; {_WAY}",)


def shortened(names: Sequence[str], most: int = _EXAMPLES) -> str:
    """The first names of a list, and how many follow.

    >>> shortened(["a", "b", "c", "d", "e"])
    'a, b, c and 2 more'
    """
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
