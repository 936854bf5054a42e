"""Estimates from perturbed columns, for programs."""

from collections.abc import Sequence
from dataclasses import asdict
from math import isfinite

from smalti.engine.perturbation.estimate import ColumnEstimate
from smalti.json.text import Json


def estimates_json(found: Sequence[ColumnEstimate], confidence: float) -> Json:
    """The same for programs; a margin without end is null."""
    columns = [asdict(one) for one in found]
    for one in (one for column in columns for one in column["estimates"]):
        one["margin"] = one["margin"] if isfinite(one["margin"]) else None
    return {"confidence": confidence, "columns": columns}
