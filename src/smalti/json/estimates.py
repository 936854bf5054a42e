"""Estimates from perturbed columns, for programs."""

from collections.abc import Sequence
from dataclasses import asdict
from math import isfinite

from smalti.engine.perturbation.estimate import ColumnEstimate
from smalti.json.text import Json


def estimates_json(estimates: Sequence[ColumnEstimate], confidence: float) -> Json:
    """Estimates; an infinite margin is null."""
    columns = [asdict(column) for column in estimates]
    for estimate in (entry for column in columns for entry in column["estimates"]):
        estimate["margin"] = estimate["margin"] if isfinite(estimate["margin"]) else None
    return {"confidence": confidence, "columns": columns}
