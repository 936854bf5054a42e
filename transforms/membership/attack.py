"""The interface of an attack: a score for each audited record, from what it may observe."""

from enum import Flag, auto
from typing import Protocol

from smalti.errors import UsageError
from smalti.transforms.membership.confidences import Doubles
from smalti.transforms.membership.observation import Observation, ShadowAnswers


class Needs(Flag):
    """What an attack must observe, beside labels and the target's confidences."""

    NOTHING = 0
    SHADOWS_OUT = auto()
    """Shadow models that were not trained on the audited record."""
    SHADOWS_IN = auto()
    """Shadow models that were trained on the audited record."""
    SHADOW_POOL = auto()
    """Shadow models that were trained on records that are none of the target's, under D5.1's conditions."""


class Attack(Protocol):
    """Scores records by how likely the target was trained on them; the same for the same input."""

    @property
    def name(self) -> str:
        """As policies name it, by `s:attack`."""

    @property
    def needs(self) -> Needs: ...

    def scores(self, observation: Observation) -> Doubles:
        """One finite score for each audited record; higher where membership is likelier.

        Raises:
            UsageError: what the attack needs is not in the observation.
        """


def shadows_of(attack: str, observation: Observation) -> ShadowAnswers:
    """The answers of shadow models about the audited records."""
    if observation.shadows is None:
        raise _missing(attack, "shadow models that were asked about the audited records")
    return observation.shadows


def shadow_pool_of(attack: str, observation: Observation) -> ShadowAnswers:
    """The answers of disjoint shadow models about their pool."""
    if observation.shadow_pool is None:
        raise _missing(attack, "shadow models whose training sets are disjoint from the target's")
    return observation.shadow_pool


def _missing(attack: str, what: str) -> UsageError:
    return UsageError(f"the attack {attack}", "a required observation is missing", what, "train them")
