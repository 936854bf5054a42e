"""The size of labels: the owner is warned of large ones before a run, and extreme ones are refused.

A set lists every text of its class, and each row of the class shows it: n rows of n different texts, in
one class, are published as n times n texts. What is refused follows from the plan and the data alone, not
from the engine, its memory or the number of fragments.
"""

from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from smalti.engine.backends.staged import StagedTable
from smalti.engine.plan.plan import Plan, Role
from smalti.errors import PlanError
from smalti.transforms.problem import Integers

MOST_BYTES: Final = 1 << 30
"""Of labels: more are refused where they are also too many times as long as what they stand for."""
MOST_GROWTH: Final = 100
_LARGE: Final = 1 << 26
"""Up to so many bytes of labels, the owner is not warned."""
_MUCH: Final = 10
_WAY_OUT: Final = (
    "shorten the texts that are too exact (a postal code to a district, a name to a group), declare the"
    " datatype of numbers and dates, or lower k"
)


def label_bytes(labels: pa.Array, parts: Integers, rows: Integers) -> int:
    """The bytes that labels take in all rows.

    Args:
        labels: by part.
        parts: by tuple, what has one label.
        rows: by tuple.
    """
    lengths = pc.fill_null(pc.binary_length(labels), 0).to_numpy().astype(np.int64)
    return int(lengths[parts] @ rows)


def check_labels(plan: Plan, table: StagedTable, size: int) -> tuple[str, ...]:
    """Refuse labels that are too long together.

    Args:
        plan: whose quasi-identifiers they are of.
        table: its rows; these columns have numbers.
        size: the bytes of all labels in all rows.

    Returns:
        Warnings for the owner.

    Raises:
        PlanError: they take more than a gibibyte, and more than 100 times what they stand for.
    """
    if size <= _LARGE:
        return ()
    before = sum(table.text_bytes(name) for name in plan.apply.transform.quasi_identifiers)
    if size > MOST_BYTES and size > MOST_GROWTH * before:
        raise PlanError(
            plan.read.target,
            f"the labels of {_sets(plan)} would take more than {MOST_BYTES >> 30} GiB, and more than"
            f" {MOST_GROWTH} times the bytes of the values that they stand for",
            "classes with few different texts",
            _WAY_OUT,
        )
    if size <= _MUCH * before:
        return ()
    times = size // max(before, 1)
    return (f"labels take {times} times the bytes of the values that they stand for: {_WAY_OUT}",)


def foreseen(plan: Plan, table: StagedTable) -> tuple[str, ...]:
    """What can be said of labels before classes are made: sets that may list many texts."""
    guarantee = plan.apply.transform.guarantee
    many = [
        column.name
        for column in plan.read.columns
        if column.role is Role.QUASI_IDENTIFIER
        and column.is_published_as_sets
        and guarantee.k > MOST_GROWTH
        and len(table.texts(column.name)) > MOST_GROWTH
    ]
    if not many:
        return ()
    return (
        f"each label of {', '.join(many)} may list more than {MOST_GROWTH} texts, in every row of its"
        f" class: the output can be that many times as large; {_WAY_OUT}",
    )


def _sets(plan: Plan) -> str:
    """The columns whose labels are sets; all quasi-identifiers where there are none."""
    names = plan.apply.transform.quasi_identifiers
    sets = [name for name in names if not plan.column(name).has_ordered_labels]
    return ", ".join(f"`{name}`" for name in sets or names)
