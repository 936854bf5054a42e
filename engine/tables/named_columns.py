"""The columns of a table that messages may name, and the closest name where one is not found.

A CSV file may lack its header. Somebody's values stand there then, so a cell of it is repeated only where
the policy or the description names the same word. The names in a Parquet file's schema are no row.
"""

from collections.abc import Iterable, Mapping

from smalti.engine.plan.plan import OutputFormat
from smalti.policy.model.suggest import nearest

_SHOWN = 20
_LIKELY = 0.6


class NamedColumns:
    """The columns of a table, for messages."""

    def __init__(self, header: tuple[str, ...], file_format: OutputFormat, named: Iterable[str]) -> None:
        """Take the table's column names, and those that the policy or the description names."""
        self._header = header
        self._is_schema = file_format is OutputFormat.PARQUET
        self._named = set(header) if self._is_schema else set(named)

    def closest(self, word: str, spellings: Mapping[str, str]) -> str | None:
        """The column whose name is closest to a word that names none; None where no name is close.

        A column that is named nowhere is only found if it differs in nothing but case and blanks around it.

        Args:
            word: as it stands in the policy or the description.
            spellings: by column, what to compare the word with.
        """
        for name, spelling in spellings.items():
            if _folded(spelling) == _folded(word):
                return name
        close = self._nearest(word, spellings)
        return close if close in self._named else None

    def _nearest(self, word: str, spellings: Mapping[str, str]) -> str | None:
        """The column that is closest, whether or not it may be named: a farther one would mislead."""
        columns = {spelling: name for name, spelling in spellings.items()}
        close = nearest(word, columns, _LIKELY)
        return None if close is None else columns[close]

    def listed(self, word: str | None = None, spellings: Mapping[str, str] | None = None) -> str:
        """The columns that a message may name, as a sentence without a full stop.

        Args:
            word: what none of them is called; a column with a close name is told by its place.
            spellings: as in `closest`.
        """
        close = None if word is None else self._nearest(word, spellings or {})
        if close is not None and close not in self._named:
            place = self._header.index(close) + 1
            return f"{self._listed()}; the closest name is that of column {place}"
        return self._listed()

    def _listed(self) -> str:
        header, count = self._header, len(self._header)
        if count == 1 and any(mark in header[0] for mark in ";\t|"):
            return (
                "the data has a single column, with semicolons, tabs or bars in its name: fields must be"
                " separated by commas, or by the `delimiter` of the description's `dialect`"
            )
        named = [name for name in header if name in self._named]
        if self._is_schema:
            return f"the columns of the data are {_some(named)}"
        columns = "1 column" if count == 1 else f"{count} columns"
        if not named:
            return f"the data has {columns}: its first record must be the header"
        return f"the data has {columns}; of those, policy and description name {_some(named)}"


def _folded(word: str) -> str:
    return word.strip().casefold()


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(f"`{name}`" for name in names[:_SHOWN]) + more
