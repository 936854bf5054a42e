"""A population table that is at hand: all persons that the respondents of a target come from."""

from dataclasses import dataclass

from smalti.engine.backends.staged import StagedTable
from smalti.engine.plan.known_columns import DescribedColumns
from smalti.engine.tables.description import Source
from smalti.engine.tables.withdrawn import Withdrawn


@dataclass(frozen=True, slots=True)
class BoundPopulation:
    """A population table, staged for one run."""

    source: Source
    table: StagedTable
    withdrawn: Withdrawn
    """Whose rows are left out."""
    columns: DescribedColumns
    """All columns of the data."""
