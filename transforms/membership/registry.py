"""Attacks by their names in policies (`s:attack`)."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from smalti.errors import UsageError
from smalti.transforms.membership.attack import Attack
from smalti.transforms.membership.likelihood_ratio import OfflineLikelihoodRatio, OnlineLikelihoodRatio
from smalti.transforms.membership.loss_threshold import LossThreshold
from smalti.transforms.membership.relative_membership import RelativeMembership
from smalti.transforms.membership.set_membership import AttackType
from smalti.transforms.membership.shadow_attack import ShadowModelAttack


@dataclass(frozen=True, slots=True)
class NamedAttack:
    """An attack as a policy asks for it; what it needs is `attack.needs`."""

    name: str
    attack: Attack
    """Gives the scores."""
    judged_as: AttackType | None = None
    """How the scores are judged, where it is not record by record."""


_SCORES: Final[tuple[Attack, ...]] = (
    ShadowModelAttack(),
    LossThreshold(),
    OnlineLikelihoodRatio(),
    OfflineLikelihoodRatio(),
    RelativeMembership(),
)

ATTACKS: Final[Mapping[str, NamedAttack]] = MappingProxyType(
    {attack.name: NamedAttack(attack.name, attack) for attack in _SCORES}
    | {kind: NamedAttack(kind, LossThreshold(), kind) for kind in (AttackType.SINGLE, AttackType.SET)}
)
"""Every attack of this room. Single and set membership take the loss for their score, for which any other
attack's score may be put (`set_membership.repeated`)."""


def named(name: str) -> NamedAttack:
    """The attack of a name.

    Raises:
        UsageError: there is none of this name.
    """
    if name not in ATTACKS:
        raise UsageError("the audit", f"there is no attack `{name}`", ", ".join(sorted(ATTACKS)))
    return ATTACKS[name]
