"""What classes must meet beside k and distinct l: how the values of sensitive columns are distributed."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from typing import Final

from smalti.transforms.plan_fields import LEFT_OUT_AT_DEFAULT


class Diversity(StrEnum):
    """Which values of a class are well represented."""

    DISTINCT = "distinct"
    ENTROPY = "entropy"
    RECURSIVE = "recursive"


class Distance(StrEnum):
    """How far two values are from each other, for t-closeness and for microaggregation."""

    EQUAL = "equal"
    """Each two as far as any others."""
    ORDERED = "ordered"
    """As far as their places in the order."""
    HIERARCHICAL = "hierarchical"
    """As far as the lowest node of a hierarchy that has both is high."""


@dataclass(frozen=True, slots=True)
class ColumnModel:
    """What is required of one sensitive column.

    Of each number the smaller one counts, its own or that of all columns; a distance of its own stands in
    place of the other.
    """

    column: str
    alpha: Fraction | None = field(default=None, metadata=LEFT_OUT_AT_DEFAULT)
    t: Fraction | None = field(default=None, metadata=LEFT_OUT_AT_DEFAULT)
    distance: Distance | None = field(default=None, metadata=LEFT_OUT_AT_DEFAULT)


@dataclass(frozen=True, slots=True)
class ClassModels:
    """The models of distributions that each class must meet."""

    diversity: Diversity = field(default=Diversity.DISTINCT, metadata=LEFT_OUT_AT_DEFAULT)
    """Of l-diversity."""
    c: Fraction | None = field(default=None, metadata=LEFT_OUT_AT_DEFAULT)
    """Of recursive (c, l)-diversity, above 0."""
    alpha: Fraction | None = field(default=None, metadata=LEFT_OUT_AT_DEFAULT)
    """The largest share of one sensitive value in a class, between 0 and 1; None: any."""
    t: Fraction | None = field(default=None, metadata=LEFT_OUT_AT_DEFAULT)
    """The largest distance of t-closeness, between 0 and 1."""
    distance: Distance = field(default=Distance.EQUAL, metadata=LEFT_OUT_AT_DEFAULT)
    """Of t-closeness."""
    of_columns: tuple[ColumnModel, ...] = field(default=(), metadata=LEFT_OUT_AT_DEFAULT)
    """Of some sensitive columns, each once."""

    def check(self, sensitive: Sequence[str], l: int, *, is_close: bool) -> None:  # noqa: E741
        """Check that the models fit what they are about.

        Args:
            sensitive: the columns, by name.
            l: of l-diversity; 1 where that is not promised.
            is_close: whether t-closeness is promised.

        Raises:
            ValueError: they do not.
        """
        if (self.c is not None) is not (self.diversity is Diversity.RECURSIVE):
            raise ValueError("recursive diversity has c, and no other has")
        if self.c is not None and self.c <= 0:
            raise ValueError("c is above 0")
        if self.diversity is not Diversity.DISTINCT and l < 2:
            raise ValueError("a kind of diversity has l")
        named = {model.column for model in self.of_columns}
        if not named <= set(sensitive) or len(named) < len(self.of_columns):
            raise ValueError("models of columns are about sensitive columns, each once")
        own = [(model.alpha, model.t, model.distance) for model in self.of_columns]
        for *shares, distance in ((self.alpha, self.t, self.distance), *own):
            if any(share is not None and not 0 < share < 1 for share in shares):
                raise ValueError("alpha and t are between 0 and 1")
            if distance not in (None, Distance.EQUAL) and not is_close:
                raise ValueError("a distance is of t-closeness")
        if not sensitive and (self.alpha is not None or is_close):
            raise ValueError("alpha and t are about at least one sensitive column")
        of_each = [self.of_column(name) for name in sensitive]
        if any((model.t is not None) is not is_close for model in of_each):
            raise ValueError("t-closeness has t for each sensitive column, and no other model has")

    def of_column(self, name: str) -> ColumnModel:
        """All that is required of a sensitive column by itself."""
        own = next((model for model in self.of_columns if model.column == name), ColumnModel(name))
        return ColumnModel(
            name,
            _least(self.alpha, own.alpha),
            _least(self.t, own.t),
            own.distance or self.distance,
        )


PLAIN: Final = ClassModels()
"""Nothing beside k and distinct l."""


def _least(*numbers: Fraction | None) -> Fraction | None:
    return min((number for number in numbers if number is not None), default=None)
