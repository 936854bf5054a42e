"""Errors of random queries, against answers that are worked out row by row."""

import numpy as np
import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from smalti.transforms.measures import queries
from smalti.transforms.measures.loss import LabelledColumn
from smalti.transforms.measures.queries import SANITY, QueryErrors, QueryKind, query_errors
from smalti.transforms.problem import SCALE, Integers, OrderedAttribute, UnorderedAttribute

VALUES = 5
LINE = OrderedAttribute(np.array([-SCALE, *(SCALE * place // 4 for place in range(VALUES))]))
SETS = UnorderedAttribute(VALUES)


def columns_of(
    tuples: list[tuple[int, int, int]], parts: list[int], kept: list[bool]
) -> list[LabelledColumn]:
    """Two columns of (code, code, rows): numbers, and texts without an order."""
    line, sets, rows = (np.array(column, np.int64) for column in zip(*tuples, strict=True))
    dense = np.unique(parts, return_inverse=True)[1].reshape(-1).astype(np.int64)
    published = np.array(kept)
    return [
        LabelledColumn(kind, codes, rows, dense, published) for kind, codes in ((LINE, line), (SETS, sets))
    ]


def covered(column: LabelledColumn, row: int) -> set[int]:
    """The values of the table that the label of a tuple may stand for."""
    mine = column.codes[(column.parts == column.parts[row]) & column.kept].tolist()
    if column.attribute is SETS:
        return set(mine)
    return {code for code in column.codes.tolist() if min(mine) <= code <= max(mine)}


def by_rows(columns: list[LabelledColumn], kind: QueryKind, seed: int, count: int) -> QueryErrors:
    random, rows = np.random.Generator(np.random.PCG64(seed)), columns[0].rows
    total, errors = rows.sum(), []
    order = np.lexsort([column.codes for column in columns])
    for _ in range(count):
        chosen = random.choice(2, 2, replace=False).tolist()
        drawn = order[random.choice(len(rows), p=rows[order] / float(total))]
        truth, estimate = rows.astype(float), np.where(columns[0].kept, rows, 0).astype(float)
        for place in chosen:
            wanted = condition(columns[place], kind, int(drawn), random)
            for row in range(len(rows)):
                truth[row] *= columns[place].codes[row] in wanted
                if columns[0].kept[row]:
                    label = covered(columns[place], row)
                    estimate[row] *= len(label & wanted) / len(label)
        errors.append(abs(estimate.sum() - truth.sum()) / max(truth.sum(), SANITY * total))
    figures = (np.mean(errors), np.median(errors), np.quantile(errors, 0.9))
    return QueryErrors(kind, count, 2, *map(float, figures))


def condition(column: LabelledColumn, kind: QueryKind, drawn: int, random: np.random.Generator) -> set[int]:
    if kind is QueryKind.COUNT:
        return {int(column.codes[drawn])}
    present: Integers = np.unique(column.codes)
    many = int(np.ceil(0.3 * len(present)))
    if column.attribute is LINE:
        first = random.integers(len(present) - many + 1)
        return set(present[first : first + many].tolist())
    return set(random.choice(present, many, replace=False).tolist())


TUPLES = st.lists(
    st.tuples(st.integers(1, VALUES), st.integers(1, VALUES), st.integers(1, 4)),
    min_size=1, max_size=12, unique_by=lambda each: each[:2],
)  # fmt: skip


@settings(max_examples=examples(15), deadline=None)
@given(TUPLES, st.data(), st.sampled_from(QueryKind))
def test_errors_are_those_of_answers_row_by_row(
    tuples: list[tuple[int, int, int]], data: st.DataObject, kind: QueryKind
) -> None:
    count = len(tuples)
    parts = data.draw(st.lists(st.integers(0, 2), min_size=count, max_size=count))
    kept = data.draw(st.lists(st.booleans(), min_size=count, max_size=count).filter(any))
    columns = columns_of(tuples, parts, kept)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(queries, "QUERIES", 10)
        mine = query_errors(columns, kind, 3)
    brute = by_rows(columns, kind, 3, 10)
    for name in ("mean", "median", "ninth_tenth"):
        assert getattr(mine, name) == pytest.approx(getattr(brute, name), abs=1e-8)


@pytest.mark.parametrize("kind", QueryKind)
def test_exact_labels_have_no_error(kind: QueryKind) -> None:
    tuples = [(1, 1, 3), (2, 4, 1), (5, 2, 2)]
    errors = query_errors(columns_of(tuples, [0, 1, 2], [True] * 3), kind, 9)
    assert (errors.mean, errors.median, errors.ninth_tenth) == (0, 0, 0)
