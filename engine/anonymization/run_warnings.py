"""What a plan and a run warn of: the same, by the same words."""

from dataclasses import dataclass

from smalti.engine.anonymization.alike_texts import warnings_of_alike_texts
from smalti.engine.anonymization.exact_values import exact_values, warnings_of
from smalti.engine.anonymization.explain import warnings_in
from smalti.engine.anonymization.label_sizes import foreseen
from smalti.engine.anonymization.people_of_rows import rows_alike, warnings_of_rows
from smalti.engine.backends.staged import StagedTable
from smalti.engine.plan.files import ExactColumn
from smalti.engine.plan.plan import Plan
from smalti.engine.tables.description import Source


@dataclass(frozen=True, slots=True)
class Looked:
    """What a look at the rows shows before anything is made of them; figures are for owners."""

    exact: tuple[ExactColumn, ...]
    alike: int
    """Rows that equal another one, where each is about another person (`rows_alike`)."""
    in_plan: tuple[str, ...]
    """Warnings that follow from the plan."""
    in_data: tuple[str, ...]
    """Warnings that follow from the data too."""

    @property
    def warnings(self) -> tuple[str, ...]:
        return (*self.in_plan, *self.in_data)


def look(made: Plan, source: Source, table: StagedTable, *, is_output: bool, with_counts: bool) -> Looked:
    """What to warn of before a run.

    Args:
        made: the plan.
        source: the target, as it is bound.
        table: the rows that take part.
        is_output: whether they are of an output, in which rows of a class are alike by design.
        with_counts: whether an owner is told, who may know how many texts are alike.
    """
    exact = exact_values(made, table)
    alike = 0 if is_output else rows_alike(made, table)
    of_rows = () if is_output else warnings_of_rows(made, table, alike)
    of_texts = warnings_of_alike_texts(made, source, table, with_counts=with_counts)
    in_data = (*foreseen(made, table), *warnings_of(exact), *of_rows, *of_texts)
    return Looked(exact, alike, warnings_in(made), in_data)
