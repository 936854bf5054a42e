"""Requirements of classes, by their names in guarantees."""

from collections.abc import Iterable
from typing import Final

from smalti.errors import InternalError
from smalti.transforms.base import Requirement
from smalti.transforms.requirements.distinct_values import DistinctValues
from smalti.transforms.requirements.distribution_judge import Entropy, Recursive, Share, TableCloseness
from smalti.transforms.requirements.judge import ClassJudge
from smalti.transforms.requirements.not_held_by_all import NotHeldByAll
from smalti.transforms.requirements.population import EnoughOfPopulation, Presence
from smalti.transforms.requirements.respondents import EnoughRespondents

REQUIREMENTS: Final[tuple[type[ClassJudge], ...]] = (
    EnoughRespondents, NotHeldByAll, DistinctValues, Entropy, Recursive, Share, TableCloseness,
    EnoughOfPopulation, Presence,
)  # fmt: skip
"""Every requirement that a guarantee can ask for."""


def judges_of(requirements: Iterable[Requirement]) -> tuple[ClassJudge, ...]:
    """The judges of classes for these requirements.

    Raises:
        InternalError: nobody does.
    """
    return tuple(_judge(requirement) for requirement in requirements)


def weighs_values(requirements: Iterable[Requirement]) -> bool:
    """Whether one of them is about how much values weigh; rows are counted for it."""
    return any(judge.weighs for judge in judges_of(requirements))


def judge_class(name: str) -> type[ClassJudge] | None:
    """What judges classes by the requirement of a name; None: nothing does."""
    return next((kind for kind in REQUIREMENTS if kind.name == name), None)


def _judge(requirement: Requirement) -> ClassJudge:
    kind = judge_class(requirement.name)
    if kind is None:
        raise InternalError("the kernel does not implement a requirement")
    return kind(requirement)
