"""Requirements of classes as the verifier counts them again, by the names that guarantees have for them."""

from collections.abc import Iterable
from typing import ClassVar, Final

from smalti.engine.verify.classes import Diversity
from smalti.engine.verify.distributions import (
    RecountedCloseness,
    RecountedEntropy,
    RecountedRecursive,
    RecountedShare,
)
from smalti.engine.verify.recount import Recount
from smalti.errors import InternalError
from smalti.transforms.base import (
    DISTINCT_VALUES,
    NOT_HELD_BY_ALL,
    POPULATION_RESPONDENTS,
    PRESENCE,
    RESPONDENTS,
    Requirement,
)


class RecountedRespondents(Recount):
    """At least k respondents."""

    __slots__ = ()

    name: ClassVar[str] = RESPONDENTS

    def problem_of_respondents(self, least: int) -> str | None:
        k = int(self.requirement.parameters[0])
        return f"an equivalence class has too few respondents (k = {k})" if least < k else None


class RecountedSharedValue(Recount):
    """No value that all respondents hold."""

    __slots__ = ()

    name: ClassVar[str] = NOT_HELD_BY_ALL

    def problem_of_column(self, diversity: Diversity, column: str) -> str | None:
        return (
            f"all respondents of a class have a value of `{column}` in common"
            if diversity.is_homogeneous
            else None
        )


class RecountedValues(Recount):
    """In each sensitive column, l values that can be matched to l respondents."""

    __slots__ = ()

    name: ClassVar[str] = DISTINCT_VALUES

    def problem_of_column(self, diversity: Diversity, column: str) -> str | None:
        least = int(self.requirement.parameters[0])
        few = f"a class has too few values of `{column}` for its respondents (l = {least})"
        return few if diversity.least_values < least else None


class RecountedPopulation(Recount):
    """At least k persons of a population table, which the table itself has to show (`population`)."""

    __slots__ = ()

    name: ClassVar[str] = POPULATION_RESPONDENTS
    rows_refute: ClassVar[bool] = False


class RecountedPresence(Recount):
    """Shares of such persons, likewise."""

    __slots__ = ()

    name: ClassVar[str] = PRESENCE
    rows_refute: ClassVar[bool] = False


RECOUNTS: Final[tuple[type[Recount], ...]] = (
    RecountedRespondents,
    RecountedSharedValue,
    RecountedValues,
    RecountedEntropy,
    RecountedRecursive,
    RecountedShare,
    RecountedCloseness,
    RecountedPopulation,
    RecountedPresence,
)
"""Every requirement that the verifier can count again; it verifies no other promise."""


def recounts_of(requirements: Iterable[Requirement], *, by_rows: bool = False) -> tuple[Recount, ...]:
    """What judges classes by these requirements.

    Args:
        requirements: of a promise.
        by_rows: rows are counted in place of respondents; what these cannot refute is left out.

    Raises:
        InternalError: nothing counts one of them again.
    """
    recounts = tuple(_recount(requirement) for requirement in requirements)
    return tuple(each for each in recounts if each.rows_refute or not by_rows)


def _recount(requirement: Requirement) -> Recount:
    for kind in RECOUNTS:
        if kind.name == requirement.name:
            return kind(requirement)
    raise InternalError("a promise that the verifier cannot count again reached it")
