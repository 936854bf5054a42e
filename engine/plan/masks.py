"""The step of a plan that masks: what single techniques do to columns and records.

Everything that a result depends on is in here, apart from the data, keys and what is drawn at random. No
value comes from the data: thresholds, widths and scales are of the policy, bounds and units of the
description.
"""

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Literal, TypeAlias

from smalti.transforms.plan_fields import LEFT_OUT_AT_DEFAULT


@dataclass(frozen=True, slots=True)
class Coded:
    """Values at and beyond a threshold are published as the threshold."""

    column: str
    top: str | None
    """A text of the column's datatype; None: there is no top code."""
    bottom: str | None
    """Below `top`, where there are both; at least one is there."""
    technique: Literal["top-coding", "bottom-coding", "top- and bottom-coding"]


@dataclass(frozen=True, slots=True)
class AtLevel:
    """Values are published as their nodes at one level of the column's hierarchy."""

    column: str
    level: int
    """At least 1."""
    technique: Literal["generalization"] = "generalization"


@dataclass(frozen=True, slots=True)
class Recoded:
    """Values are published as the intervals that they are in, which all have one width."""

    column: str
    width: Decimal
    """Above 0; of dates in days."""
    start: str
    """An end of an interval: a number; of dates, days after 1970-01-01."""
    technique: Literal["global-recoding"] = "global-recoding"
    measure: Literal["days"] | None = field(default=None, metadata=LEFT_OUT_AT_DEFAULT)
    """The unit of the width; None: the column's own, which nobody states."""


@dataclass(frozen=True, slots=True)
class Noisy:
    """Independent noise is added to each number."""

    column: str
    distribution: Literal["normal", "uniform"]
    scale: Decimal
    """Above 0, in the column's own unit: the standard deviation, or the greatest distance from 0."""
    unit: Decimal
    """Above 0; results are multiples of it."""
    lower: Decimal | None
    """No result is less; None: no public bound is declared."""
    upper: Decimal | None
    technique: Literal["noise-addition"] = "noise-addition"


@dataclass(frozen=True, slots=True)
class Pseudonymized:
    """Values are published as their HMAC-SHA-256 under a key, in hexadecimal digits."""

    column: str
    key: str
    """Its name."""
    technique: Literal["pseudonymization"] = "pseudonymization"


@dataclass(frozen=True, slots=True)
class RareCells:
    """Values that fewer respondents have than a minimum are left out: their cells are missing."""

    column: str
    minimum: int
    """At least 2."""
    technique: Literal["cell-suppression"] = "cell-suppression"


@dataclass(frozen=True, slots=True)
class Averaged:
    """Values are published as what stands for their group of at least k respondents."""

    column: str
    k: int
    figure: Literal["mean", "median", "mode", "medoid"]
    technique: Literal["mdav"] = "mdav"
    distance: Literal["equal", "ordered", "hierarchical"] | None = field(
        default=None, metadata=LEFT_OUT_AT_DEFAULT
    )
    """By which categories are near to each other, of modes and medoids; None: numbers, as they are."""


MaskedColumn: TypeAlias = Coded | AtLevel | Recoded | Noisy | Pseudonymized | RareCells | Averaged


@dataclass(frozen=True, slots=True)
class RareRecords:
    """Records are left out whose value in a column fewer respondents have than a minimum."""

    column: str
    minimum: int
    """At least 2."""


@dataclass(frozen=True, slots=True)
class Mask:
    """What single techniques do; how often a value occurs is counted before any of them."""

    columns: tuple[MaskedColumn, ...]
    """In the order of the file, each column once."""
    sampling_rate: Decimal | None = field(default=None, metadata=LEFT_OUT_AT_DEFAULT)
    """The probability with which each respondent is in the sample, in (0, 1]; None: all are."""
    rare_records: tuple[RareRecords, ...] = field(default=(), metadata=LEFT_OUT_AT_DEFAULT)
    """In the order of the file; records of a missing value are not rare."""
    suppressed: tuple[str, ...] = field(default=(), metadata=LEFT_OUT_AT_DEFAULT)
    """Columns that attribute suppression leaves out, in the order of the file."""

    @property
    def draws_at_random(self) -> bool:
        """Whether another run on the same data gives another content."""
        return self.sampling_rate is not None or any(isinstance(each, Noisy) for each in self.columns)

    @property
    def leaves_out_records(self) -> bool:
        """Whether not all records are published."""
        return self.sampling_rate is not None or bool(self.rare_records)

    @property
    def key(self) -> str | None:
        """The name of the key of pseudonyms; None where there are none."""
        return next((each.key for each in self.columns if isinstance(each, Pseudonymized)), None)
