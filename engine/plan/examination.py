"""What the owner of the data may know of an output: its loss, and what attacks on it achieve."""

from dataclasses import dataclass
from enum import StrEnum

from smalti.engine.plan.class_figures import ClassFigures
from smalti.transforms.measures.queries import QueryErrors


class TableAttack(StrEnum):
    """An attack on a published table."""

    IDENTITY = "identity"
    HOMOGENEITY = "homogeneity"
    BACKGROUND_KNOWLEDGE = "background knowledge"
    SKEWNESS = "skewness"
    SIMILARITY = "similarity"
    MINIMALITY = "minimality"
    DE_FINETTI = "deFinetti"


@dataclass(frozen=True, slots=True)
class AttackFigures:
    """How many respondents an attack hits."""

    attack: TableAttack
    column: str | None
    """Whose values it learns; None: it finds respondents again."""
    hits: int | None
    """In the output; None where it was not run (`note`)."""
    unprotected: int | None
    """In the table as it came; None where that makes no sense, or it was not run."""
    without: int | None = None
    """Who is hit in the output without the attack, by the most frequent value of each class."""
    note: str = ""
    """Why it was not run."""


@dataclass(frozen=True, slots=True)
class Examination:
    """Of one output, for the owners of its inputs alone; recorded nowhere."""

    figures: ClassFigures
    respondents: int
    """In the table as it came."""
    queries: tuple[QueryErrors, ...]
    attacks: tuple[AttackFigures, ...]
