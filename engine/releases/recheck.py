"""Looking at a release again: its bytes, and what its certificate states."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from smalti.engine.plan.losses import Loss
from smalti.engine.plan.reads import Mechanism
from smalti.engine.releases.guarantee import LossGuarantee, Noise
from smalti.engine.releases.plan import Quantity
from smalti.transforms.sensitivity import NeighboringRelation
from smalti.vocab.terms import DIFFERENTIAL_PRIVACY


def stated_guarantee(promised: Mapping[str, Any]) -> LossGuarantee:
    """The guarantee in a certificate of a release that its schema has accepted."""
    return LossGuarantee(
        DIFFERENTIAL_PRIVACY,
        Loss(
            Decimal(promised["epsilon"]),
            Decimal(promised["delta"]),
            promised["posteriorBelief"],
            promised["membershipAdvantage"],
        ),
        NeighboringRelation(promised["neighbors"]),
        promised["rowsPerRespondent"],
        promised["groupsPerRespondent"],
        tuple(
            Noise(one["name"], Quantity(one["quantity"]), Mechanism(one["mechanism"]), one["scale"])
            for one in promised["measurement"]
        ),
    )
