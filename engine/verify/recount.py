"""The interface of a requirement for the verifier: whether what it counted of classes meets it."""

from abc import ABC
from dataclasses import dataclass
from typing import ClassVar

from smalti.engine.verify.classes import Diversity
from smalti.engine.verify.columns import Codes
from smalti.transforms.base import Requirement


@dataclass(frozen=True, slots=True)
class Edges:
    """Who holds which value of one sensitive column, in some classes, each of them whole.

    Each entry is another (class, respondent, value). Equal things have equal numbers in these classes;
    other classes may have other numbers for them.
    """

    classes: Codes
    values: Codes
    respondents: Codes | None
    """None where each row is another."""
    rows: Codes
    """How many rows say so."""


@dataclass(frozen=True, slots=True)
class Recount(ABC):
    """Judges by one requirement what the verifier counted; shares no code with the kernel's judge of it.

    A requirement that the figures of `Diversity` do not decide looks at each class (`looks_at_classes`,
    `meets`), for each sensitive column by itself.
    """

    requirement: Requirement

    name: ClassVar[str]
    """By which a `Requirement` asks for it."""
    looks_at_classes: ClassVar[bool] = False
    weighs: ClassVar[bool] = False
    """Whether it asks how much each value weighs (see `smalti.engine.verify.distributions`)."""
    rows_refute: ClassVar[bool] = True
    """Whether classes that meet it still do where each of their rows is counted as a respondent: then
    published rows alone, which tell nobody apart, can refute it."""

    def meets(self, edges: Edges) -> bool:
        """Whether each of these classes meets it; asked only if it looks at classes."""
        return True

    def problem_of_respondents(self, least: int) -> str | None:
        """What is wrong if the smallest class has so many respondents; None: nothing."""
        return None

    def problem_of_column(self, diversity: Diversity, column: str) -> str | None:
        """What is wrong with the classes by what was found of a sensitive column; None: nothing."""
        if self.requirement in diversity.unmet:
            return f"a class does not meet the promise about `{column}` ({self.requirement})"
        return None
