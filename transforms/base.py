"""What every transform states about itself, and the vocabulary of tables that it speaks."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import ClassVar, Final


class CutScore(StrEnum):
    """What a cut is judged by."""

    CERTAINTY_PENALTY = "certainty-penalty"
    """The least penalty of all allowed cuts; above the cut threshold as the normalised span."""
    NORMALIZED_SPAN = "normalized-span"
    """The median of the attribute with the largest penalty that has an allowed cut (LeFevre, DeWitt,
    Ramakrishnan, ICDE 2006, 4.1)."""
    ENTROPY = "entropy"
    """The median of the attribute with the largest entropy, over the partition's rows, that has one."""


class Datatype(StrEnum):
    """What a column's texts mean; the lexical forms are in `smalti.transforms.values`."""

    STRING = "string"
    INTEGER = "integer"
    DECIMAL = "decimal"
    DOUBLE = "double"
    DATE = "date"
    DATETIME = "dateTime"

    @property
    def is_ordered(self) -> bool:
        """True for types whose values lie on a line, so that a range can stand for them."""
        return self is not Datatype.STRING


@dataclass(frozen=True, slots=True)
class Guarantee:
    """A privacy model that an output meets, with its parameters."""

    model: str
    """`k-anonymity` or `l-diversity`."""
    k: int
    """Least number of respondents in an equivalence class."""
    l: int | None = None  # noqa: E741 (the literature's name)
    """Least number of well-represented values of each sensitive column, for l-diversity."""


LEFT_OUT_AT_DEFAULT: Final[Mapping[str, bool]] = MappingProxyType({"left out at default": True})
"""Metadata of a field that a plan does not mention while it has its default.

So a parameter that comes with a later version changes neither the JSON nor the digest of plans without it.
"""


class Transform(ABC):
    """A named step that changes values; an open set, listed in `smalti.transforms.ALL_TRANSFORMS`."""

    __slots__ = ()

    method: ClassVar[str]
    """The privacy model, as `m:method` names it."""
    algorithm: ClassVar[str]
    """The technique, as `s:algorithm` names it."""

    @property
    @abstractmethod
    def guarantee(self) -> Guarantee:
        """What the output meets when the transform succeeds."""

    @property
    @abstractmethod
    def quasi_identifiers(self) -> tuple[str, ...]:
        """The columns that are generalised, by name."""

    @property
    @abstractmethod
    def sensitive(self) -> tuple[str, ...]:
        """The columns whose values must differ within each class, by name."""
