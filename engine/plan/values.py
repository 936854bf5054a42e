"""A published number with its noise."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NoisyValue:
    """One row of a release's table."""

    statistic: str
    """Its name."""
    keys: Mapping[str, str]
    """The label of each key, by column; of a choice, without its candidates."""
    level: str
    """Of a quantile; empty otherwise."""
    value: str
    """A decimal number; of a mode, the labels of the chosen candidate, separated by `; `."""
    lower: str
    """The lower end of the interval; empty for a choice."""
    upper: str
    scale: str
    """Of the noise, in the unit of the value where there is one kind of noise; several are listed with `;`,
    each in its own: of a mean and a variance those of the sums, and of the number of rows."""
