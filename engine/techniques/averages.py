"""Microaggregation of one column: from its values and respondents to what is published of each value."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from smalti.engine.backends.staged import StagedTable
from smalti.engine.binding.ladders import Hierarchies
from smalti.engine.plan.any_plan import PlanOfColumns
from smalti.engine.plan.masks import Averaged
from smalti.engine.plan.plan import RespondentColumn
from smalti.engine.techniques.errors import error_of_groups
from smalti.engine.techniques.grouped_values import as_grouped
from smalti.engine.techniques.mechanisms import Recoding, codebook_of
from smalti.engine.techniques.values import numbers_by_value
from smalti.errors import OWNER_CAN, InternalError, PlanError
from smalti.transforms.masking.averaging import averaged
from smalti.transforms.problem import (
    MISSING,
    CategoricalAttribute,
    FigureAttribute,
    NominalAttribute,
)


@dataclass(frozen=True, slots=True)
class Averages:
    """A column in groups."""

    recode: Recoding
    """What is published in the place of each text: what stands for its group."""
    error: Fraction | None
    """See `error_of_groups`."""


def averages(node: Averaged, plan: PlanOfColumns, table: StagedTable, hierarchies: Hierarchies) -> Averages:
    """Group the values of a column.

    Raises:
        PlanError: fewer respondents than k have a value.
        DataError: a value has no place in the column's hierarchy, or that is not the one of the plan.
    """
    respondent, column = plan.read.respondent, plan.column(node.column)
    name = respondent.column if isinstance(respondent, RespondentColumn) else None
    values, respondents, rows = table.pairs(node.column, name)
    present = np.unique(values.codes[values.codes != MISSING])
    texts = values.texts.take(pa.array(present - 1))
    book = as_grouped(column, codebook_of(column, texts), hierarchies)
    if not isinstance(book.attribute, FigureAttribute | NominalAttribute | CategoricalAttribute):
        raise InternalError("a group was asked for of a column whose values have no distances")
    of_code = np.zeros(int(values.codes.max(initial=0)) + 1, np.int64)
    of_code[present] = book.codes
    people = None
    if respondents is not None and name is not None:
        people = numbers_by_value(plan.column(name), respondents)
    labels = averaged(book.attribute, book.texts, of_code[values.codes], people, rows, node.k)
    if labels is None:
        has_value = of_code[values.codes] != MISSING
        raise _too_few(node, rows[has_value].sum() if people is None else len(np.unique(people[has_value])))
    of_text = labels.take(pa.array(book.codes - 1))
    return Averages(
        lambda occurring: of_text.take(pc.index_in(occurring.cast(texts.type), texts)),
        error_of_groups(book.attribute, of_code[values.codes], rows, labels),
    )


def _too_few(node: Averaged, respondents: int) -> PlanError:
    """The refusal of a column; how many respondents have a value in it is for the owner."""
    refusal = PlanError(
        f"column `{node.column}`",
        f"fewer respondents than k = {node.k} have a value in it, even with everything in one group",
        "at least k respondents with a value",
        f"{OWNER_CAN} bind more data or offer a policy with a smaller k",
    )
    refusal.attainable = (f"{respondents} respondents",)
    return refusal
