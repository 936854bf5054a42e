"""Requirements of classes, by the names that guarantees have for them."""

from collections.abc import Iterable
from typing import Final

from smalti.errors import InternalError
from smalti.transforms.base import Requirement
from smalti.transforms.requirements.distinct_values import DistinctValues
from smalti.transforms.requirements.judge import ClassJudge
from smalti.transforms.requirements.not_held_by_all import NotHeldByAll
from smalti.transforms.requirements.respondents import EnoughRespondents

REQUIREMENTS: Final[tuple[type[ClassJudge], ...]] = (EnoughRespondents, NotHeldByAll, DistinctValues)
"""Every requirement that a guarantee can ask for."""


def judges_of(requirements: Iterable[Requirement]) -> tuple[ClassJudge, ...]:
    """Who judges classes by these requirements.

    Raises:
        InternalError: nobody does.
    """
    return tuple(_judge(requirement) for requirement in requirements)


def _judge(requirement: Requirement) -> ClassJudge:
    for kind in REQUIREMENTS:
        if kind.name == requirement.name:
            return kind(requirement)
    raise InternalError("a requirement that the kernel does not know reached it")
