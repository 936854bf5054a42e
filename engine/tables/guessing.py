"""What a column's texts have in common: a datatype, and how its values are written; for people to check."""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Final

from smalti.engine.tables.formats import Format, NumberFormat
from smalti.engine.tables.mixed_formats import known_formats
from smalti.transforms.base import Datatype

_TYPES: Final = (Datatype.DECIMAL, Datatype.DATE, Datatype.DATETIME)
_INTEGER: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,90})")
_DAY: Final = len("yyyyMMdd")
_LEAST_SAMPLED: Final = 5
_MOST_OTHERS: Final = 0.2
"""Share of a sample that may be of no format, for the rest to count."""
_MOST_FORMATS: Final = 3
_CANONICAL_DATES: Final = ("yyyy-MM-dd", "yyyy-MM-ddTHH:mm:ss", "yyyy-MM-ddTHH:mm", "yyyy-MM-dd HH:mm:ss")


@dataclass(frozen=True, slots=True)
class ProposedColumn:
    """What a column seems to hold."""

    name: str | None
    """None: the file seems to have no header."""
    datatype: Datatype | None
    """None: text, or nothing in the sample."""
    format: Format | None = None
    """How its values are written; None: in the canonical form, or as text."""
    rival: Format | None = None
    """Another format that all values have too, with another meaning; people decide."""

    def described(self) -> dict[str, Any]:
        """As a column of a description; without a datatype where people have to decide."""
        column: dict[str, Any] = {} if self.name is None else {"name": self.name}
        if self.datatype is None or self.rival is not None:
            return column
        return column | {"datatype": self.stated(self.format)}

    def stated(self, form: Format | None) -> Any:
        """The `datatype` to write for values of a format; None: for canonical ones."""
        if form is None:
            return str(self.datatype)
        marks: Any = form.text
        if form.numbers is not None:
            marks = {"decimalChar": form.numbers.decimal_char}
            marks |= {"groupChar": form.numbers.group_char} if form.numbers.group_char else {}
        return {"base": str(self.datatype), "format": marks}


class Guess:
    """What the texts of a column have in common, taken in any number of pieces; it keeps no text."""

    def __init__(self, sampled: int = 0) -> None:
        """Begin without texts.

        Args:
            sampled: how many texts are looked at for `mostly`.
        """
        self._to_sample = sampled
        self._sampled: Counter[tuple[Datatype, Format] | None] = Counter()
        """Of the texts that were looked at, how many are of which format; None: of none."""
        self._is_empty = True
        self._has_point = False
        self._fitting = {datatype: list(known_formats(datatype)) for datatype in _TYPES}
        """By datatype, the formats that all texts so far have."""
        self._apart: set[frozenset[Format]] = set()
        """Formats that give a text different meanings."""

    @property
    def is_text(self) -> bool:
        """Whether no further text can change what is guessed: text."""
        return not (self._is_empty or any(self._fitting.values()))

    @property
    def is_done(self) -> bool:
        """Whether no further text can change anything."""
        return self.is_text and not self._to_sample

    def mostly(self, name: str | None) -> tuple[ProposedColumn, ...]:
        """What most texts of a sample look like, where it is text because of others."""
        count, others = self._sampled.total(), self._sampled[None]
        if not self.is_text or others > count * _MOST_OTHERS or count < _LEAST_SAMPLED:
            return ()
        usual = [kind for kind, _ in self._sampled.most_common(_MOST_FORMATS + 1) if kind is not None]
        proposed = [_plain_or_not(name, datatype, form) for datatype, form in usual[:_MOST_FORMATS]]
        return tuple(dict.fromkeys(proposed))

    def add(self, texts: Iterable[str]) -> None:
        """Take further texts; empty ones, which are missing, are passed over."""
        for text in texts:
            if self.is_done:
                return
            if text and self._to_sample:
                self._to_sample -= 1
                self._sampled[_kind_of(text)] += 1
            if text and _INTEGER.fullmatch(text) and len(text) != _DAY:
                # All formats of numbers read it alike, and no other one does.
                self._is_empty = False
                self._fitting = {Datatype.DECIMAL: self._fitting[Datatype.DECIMAL]}
            elif text and not self.is_text:
                self._is_empty = False
                self._has_point = self._has_point or "." in text
                for datatype, fitting in self._fitting.items():
                    self._fitting[datatype] = self._left(fitting, text)

    def _left(self, fitting: list[Format], text: str) -> list[Format]:
        """The formats that a text has, too."""
        meanings = {form: meaning for form in fitting if (meaning := form.canonical(text)) is not None}
        if len(set(meanings.values())) > 1:
            for pair in combinations(meanings, 2):
                if meanings[pair[0]] != meanings[pair[1]]:
                    self._apart.add(frozenset(pair))
        return fitting if len(meanings) == len(fitting) else list(meanings)

    def column(self, name: str | None) -> ProposedColumn:
        """What the column seems to hold."""
        for datatype, fitting in self._fitting.items():
            if fitting and not self._is_empty:
                return self._of_formats(name, datatype, fitting)
        return ProposedColumn(name, None)

    def _of_formats(self, name: str | None, datatype: Datatype, fitting: list[Format]) -> ProposedColumn:
        """A column all of whose texts are of these formats; with two, where they mean different things."""
        first, *others = fitting
        rival = next((form for form in others if frozenset((first, form)) in self._apart), None)
        is_plain = first.text in _CANONICAL_DATES or first.numbers == NumberFormat()
        if is_plain and datatype is Datatype.DECIMAL and not self._has_point:
            datatype = Datatype.INTEGER
        if is_plain and rival is None:
            return ProposedColumn(name, datatype)
        return ProposedColumn(name, datatype, first, rival)


def _kind_of(text: str) -> tuple[Datatype, Format] | None:
    """The first of the formats that a text has; None: none."""
    if text[0] in "+-0123456789":
        for datatype in _TYPES:
            for form in known_formats(datatype):
                if form.canonical(text) is not None:
                    return datatype, form
    return None


def _plain_or_not(name: str | None, datatype: Datatype, form: Format) -> ProposedColumn:
    is_plain = form.text in _CANONICAL_DATES or form.numbers == NumberFormat()
    return ProposedColumn(name, datatype, None if is_plain else form)


def guessed(name: str | None, texts: Iterable[str]) -> ProposedColumn:
    """What a column of these texts seems to hold."""
    guess = Guess()
    guess.add(texts)
    return guess.column(name)
