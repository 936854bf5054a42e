"""What classes cost and what risk they leave, measured on the rows; for their owner."""

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class GeneralisedColumn:
    """The loss of one quasi-identifier."""

    name: str
    certainty_penalty: Fraction
    """Normalised (NCP), from 0 to 1."""
    entropy_loss: Fraction
    """The share of the column's entropy that labels leave open, from 0 to 1."""
    exact_rows: int
    """Published rows that show one value of it."""
    squared_error: Fraction | None = None
    """Of numbers and dates that are published as means or medians, the share of the squared error that lies
    within classes (SSE/SST), from 0 to 1; None of all other columns."""


@dataclass(frozen=True, slots=True)
class KeptColumn:
    """What classes tell of a column that is published as it is."""

    name: str
    is_sensitive: bool
    """Whether the plan promises something of it."""
    homogeneous_classes: int
    """Those in which all respondents hold one value."""
    disclosed_respondents: int
    """Who are in such a class."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassFigures:
    """The loss and the risk of one division of rows into classes, and of its labels.

    Definitions: `smalti.transforms.measures`, `smalti.transforms.values.metrics` (certainty penalty) and
    `smalti.transforms.uniqueness.linking` (prosecutor risk).
    """

    rows: int
    """That are published."""
    rows_suppressed: int
    """That are left out."""
    respondents: int
    """With a published row."""
    respondents_suppressed: int
    """With a row that is left out."""
    classes: int
    k: int
    """The least number of respondents in a class."""
    average_class: Fraction
    """Rows for each class."""
    discernibility: int
    average_risk: float
    """The mean prosecutor risk of respondents."""
    homogeneous_classes: int
    """In which all respondents hold one value of a column that is published as it is."""
    generalised: tuple[GeneralisedColumn, ...]
    """At least one."""
    kept: tuple[KeptColumn, ...]

    @property
    def highest_risk(self) -> float:
        """The largest prosecutor risk of a respondent."""
        return 1 / self.k

    @property
    def loss(self) -> Fraction:
        """Global certainty penalty (GCP), from 0 to 1."""
        return _mean([column.certainty_penalty for column in self.generalised])

    @property
    def entropy_loss(self) -> Fraction:
        """The mean over the quasi-identifiers, from 0 to 1."""
        return _mean([column.entropy_loss for column in self.generalised])

    @property
    def squared_error(self) -> Fraction | None:
        """Information loss SSE/SST: the mean over the columns that have one; None where none has.

        It is that of these columns, each divided by its standard deviation.
        """
        shares = [each.squared_error for each in self.generalised if each.squared_error is not None]
        return _mean(shares) if shares else None

    @property
    def exact_share(self) -> Fraction:
        """The share of published cells of quasi-identifiers that show one value."""
        cells = self.rows * len(self.generalised)
        return Fraction(sum(column.exact_rows for column in self.generalised), cells)


def _mean(shares: list[Fraction]) -> Fraction:
    return sum(shares, Fraction(0)) / len(shares)
