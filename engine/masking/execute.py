"""Mask a bound table: from rows to a staged output and the private link, for every backend."""

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from smalti.engine.backends.staged import StagedTable
from smalti.engine.masking.plan import MaskingPlan
from smalti.engine.plan.phase import Phase
from smalti.engine.techniques.applying import apply_mask
from smalti.engine.techniques.mechanisms import Secrets
from smalti.transforms.noise.samplers import SAMPLER, Sampler


@dataclass(frozen=True, slots=True)
class Places:
    """Where a run writes."""

    output: Path
    """Of the published rows; parts stand beside where that would be."""
    link: Path
    """Of the private link from published row to input row."""


def execute(
    plan: MaskingPlan,
    table: StagedTable,
    places: Places,
    phase: Phase,
    secrets: Secrets,
    sampler: Sampler = SAMPLER,
) -> dict[str, Fraction]:
    """Write the plan's output, and the private link from published row to input row.

    Args:
        plan: what to do.
        table: the rows that take part.
        places: of the output.
        phase: is told what is going on.
        secrets: the key of pseudonyms, and hierarchies.
        sampler: where what is random comes from.

    Returns:
        As `apply_mask`.

    Raises:
        DataError: a value does not fit the plan.
        BackendError: the machine.
    """
    phase("mask")
    errors = apply_mask(plan, plan.mask, table, secrets, sampler)
    phase("write")
    table.write_columns(plan.write, places.output, places.link)
    return errors
