"""Classes that show the same labels: readers take them for one, which has to meet the promise, too."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from smalti.engine.anonymization.output_forms import MOST_DIGITS
from smalti.engine.plan.plan import OutputForm, Plan, RespondentColumn
from smalti.errors import GuaranteeError
from smalti.transforms.base import IMPROVED_MONDRIAN, MICROAGGREGATION, RELAXED_MONDRIAN
from smalti.transforms.mondrian.algorithm import LEFT_OUT, Portions
from smalti.transforms.mondrian.kernel import meets_requirements
from smalti.transforms.problem import Integers, Problem
from smalti.transforms.requirements.registry import judges_of


def may_break(plan: Plan) -> bool:
    """Whether classes may show the same labels, and miss together what each meets.

    Ranges, sets and nodes tell classes apart, and so do figures where classes lie apart: they have the
    decimals of the values, and all values of one class are below those of the other. Shorter forms do not.
    Of what is required, merging breaks only that no value is held by all, and that only where a respondent
    may have rows in several classes.
    """
    transform = plan.apply.transform
    has_respondents = isinstance(plan.read.respondent, RespondentColumn)
    is_kept = all(
        judge.is_kept_by_merging(has_respondents=has_respondents, sensitive=len(transform.sensitive))
        for judge in judges_of(transform.guarantee.requirements)
    )
    return not is_kept and any(_is_short(plan, name) for name in transform.quasi_identifiers)


def _is_short(plan: Plan, name: str) -> bool:
    column = plan.column(name)
    if column.is_published_as_figures:
        overlapping = (RELAXED_MONDRIAN, IMPROVED_MONDRIAN, MICROAGGREGATION)
        may_overlap = plan.apply.transform.class_maker in overlapping
        return may_overlap or column.decimals == MOST_DIGITS
    return column.form is OutputForm.PREFIX


def check_alike(plan: Plan, problem: Problem, portions: Portions, labels: pa.Table) -> None:
    """Check that classes with the same labels meet what is promised together.

    Of tables that are cut in fragments, the verifier alone does.

    Args:
        plan: which promises it.
        problem: whose rows these are.
        portions: its rows in classes.
        labels: by class the label of each quasi-identifier.

    Raises:
        GuaranteeError: some do not.
    """
    shown = numbers_of_labels(labels)
    if not may_break(plan) or int(shown.max(initial=-1)) + 1 == labels.num_rows:
        return
    kept = portions.classes != LEFT_OUT
    together = Portions(portions.atoms[kept], shown[portions.classes[kept]], portions.rows[kept])
    if not meets_requirements(problem, together).all():
        short = [name for name in plan.apply.transform.quasi_identifiers if _is_short(plan, name)]
        raise GuaranteeError(
            str(plan.read.target),
            "several classes would be published with the same labels, and all respondents of these classes"
            " together have a sensitive value in common",
            "labels that tell such classes apart",
            f"state another `smalti:outputForm` for {', '.join(f'`{name}`' for name in short)}",
        )


def numbers_of_labels(labels: pa.Table) -> Integers:
    """By class a number, the same where all labels are."""
    codes = [
        pc.dictionary_encode(column, null_encoding="encode").combine_chunks() for column in labels.columns
    ]
    columns = [part.indices.to_numpy().astype(np.int64) for part in codes]
    _, numbers = np.unique(np.column_stack(columns), axis=0, return_inverse=True)
    return numbers.reshape(-1).astype(np.int64)
