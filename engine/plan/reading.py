"""How a caller says that a published table is to be read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypedDict

from smalti.errors import UsageError
from smalti.transforms.base import Datatype

MOST_BYTES: Final = 4 << 30
"""The default limit on the texts of a table that is read at once."""
_DECIMALS: Final = ("float", "exact")


@dataclass(frozen=True, slots=True)
class Reading:
    """How a published table is read."""

    columns: tuple[str, ...] | None = None
    """The published columns that are wanted, by name; None: all."""
    datatypes: Mapping[str, Datatype] = field(default_factory=dict)
    """What the reader says that columns hold, before what is declared."""
    is_exact: bool = False
    """Whether decimals stay exact."""
    separator: str = "."
    """Between a column's name and `low`, `high`, `mid`, `missing` or `values`."""
    most_bytes: int = MOST_BYTES
    """Of the texts that are read."""


class ReadingChoices(TypedDict, total=False):
    """How a published table is read."""

    columns: Sequence[str] | None
    """The published columns that are wanted, by their names in the file; all when not given."""
    datatypes: Mapping[str, str] | None
    """What columns hold, by name: `string`, `integer`, `decimal`, `double`, `date` or `dateTime`. For those
    of which the certificate says nothing, which are text otherwise; or to read some as text."""
    decimals: str
    """`float` (the default), or `exact`: numbers that are declared as decimals become exact decimals. So do
    whole numbers of more than 64 bits, which are doubles otherwise."""
    separator: str
    """What stands between a column's name and `low`, `high`, `mid`, `missing` or `values`: a dot when not
    given."""
    max_bytes: int
    """The most bytes of texts that are read: 4 GiB when not given. Tables take memory of the same order."""


def reading_of(choices: ReadingChoices) -> Reading:
    """The same, checked.

    Raises:
        UsageError: a choice is not known.
    """
    decimals, most = choices.get("decimals", "float"), choices.get("max_bytes", MOST_BYTES)
    if decimals not in _DECIMALS:
        raise UsageError("decimals", f"`{decimals}` is not known", " or ".join(_DECIMALS))
    if most < 1:
        raise UsageError("max_bytes", "must be at least 1")
    columns = choices.get("columns")
    return Reading(
        None if columns is None else tuple(columns),
        {name: _datatype(name, word) for name, word in (choices.get("datatypes") or {}).items()},
        decimals == "exact",
        choices.get("separator", "."),
        most,
    )


def _datatype(name: str, word: str) -> Datatype:
    if word not in set(Datatype):
        raise UsageError(
            "datatypes", f"`{word}`, of the column `{name}`, is not known", ", ".join(Datatype)
        )
    return Datatype(word)
