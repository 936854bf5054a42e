"""The kernel against a plain recursive Mondrian that is written from the paper, without vectors."""

import itertools
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from smalti.transforms import kernel
from smalti.transforms.kernel import partition
from smalti.transforms.problem import (
    SCALE,
    Incidence,
    OrderedAttribute,
    Problem,
    SensitiveIncidence,
    UnorderedAttribute,
)

# --- the oracle: rows are (codes, respondent, sensitive values), one at a time ---------------------

Row = tuple[tuple[int, ...], int, tuple[int, ...]]


class Oracle:
    def __init__(self, rows: list[Row], problem: Problem, one_row_each: bool) -> None:
        self.rows, self.problem = rows, problem
        self.one_row_each = one_row_each

    def allowed(self, rows: list[Row]) -> bool:
        people = {i if self.one_row_each else row[1] for i, row in enumerate(rows)}
        if len(people) < self.problem.k:
            return False
        for column in range(len(self.problem.sensitive)):
            holders: dict[int, set[int]] = {}
            for i, row in enumerate(rows):
                holders.setdefault(row[2][column], set()).add(i if self.one_row_each else row[1])
            if any(held == people for held in holders.values()):
                return False
            if self.problem.l > 1 and not can_match(holders, self.problem.l):
                return False
        return True

    def span(self, rows: list[Row], attribute: int) -> int:
        codes = {row[0][attribute] for row in rows}
        kind = self.problem.attributes[attribute]
        if isinstance(kind, UnorderedAttribute):
            return len(codes) * SCALE // kind.size if len(codes) > 1 else 0
        places = [int(kind.positions[code]) for code in codes]
        return min(max(places) - min(places), SCALE)

    def places(self, rows: list[Row], attribute: int) -> list[int]:
        codes = {row[0][attribute] for row in rows}
        if isinstance(self.problem.attributes[attribute], OrderedAttribute):
            return sorted(codes)
        weight = {code: sum(row[0][attribute] == code for row in rows) for code in codes}
        return sorted(codes, key=lambda code: (-weight[code], code))

    def cuts(self, rows: list[Row], attribute: int) -> Iterator[tuple[list[Row], list[Row]]]:
        places = self.places(rows, attribute)
        for index in range(1, len(places)):
            left_codes = set(places[:index])
            left = [row for row in rows if row[0][attribute] in left_codes]
            right = [row for row in rows if row[0][attribute] not in left_codes]
            if self.allowed(left) and self.allowed(right):
                yield left, right

    def charge(self, rows: list[Row]) -> int:
        return len(rows) * sum(self.span(rows, a) for a in range(len(self.problem.attributes)))

    def best(self, rows: list[Row]) -> tuple[list[Row], list[Row]] | None:
        attributes = range(len(self.problem.attributes))
        if len({row[0] for row in rows}) <= self.problem.cut_threshold:
            found = [cut for a in attributes for cut in self.cuts(rows, a)]
            return min(found, key=lambda cut: self.charge(cut[0]) + self.charge(cut[1]), default=None)
        for attribute in sorted(attributes, key=lambda a: -self.span(rows, a)):
            found = list(self.cuts(rows, attribute))
            if found:
                return min(found, key=lambda cut: abs(2 * len(cut[0]) - len(rows)))
        return None

    def classes(self, rows: list[Row]) -> list[list[Row]]:
        cut = self.best(rows)
        return [rows] if cut is None else self.classes(cut[0]) + self.classes(cut[1])

    def answer(self) -> set[frozenset[tuple[int, ...]]] | None:
        if not self.allowed(self.rows):
            return None
        return {frozenset(row[0] for row in part) for part in self.classes(self.rows)}


def can_match(holders: dict[int, set[int]], wanted: int) -> bool:
    """Hall by brute force: some `wanted` values with distinct representatives."""
    return any(
        len(set(people)) == wanted
        for values in itertools.combinations(holders, wanted)
        for people in itertools.product(*(holders[value] for value in values))
    )


def make_problem(rows: list[Row], one_row_each: bool, **parameters: int) -> Problem:
    codes = np.array(sorted({row[0] for row in rows}), np.int64).reshape(-1, len(rows[0][0]))
    index = {tuple(c): i for i, c in enumerate(codes.tolist())}
    weights = np.zeros(len(codes), np.int64)
    for row in rows:
        weights[index[row[0]]] += 1
    attributes = (
        OrderedAttribute(np.array([-SCALE, *(i * SCALE // 5 for i in range(6))])),
        UnorderedAttribute(len({row[0][-1 if len(row[0]) < 2 else 1] for row in rows})),
        OrderedAttribute(np.array([-SCALE, 0, 10, 1000, SCALE // 2, SCALE // 2 + 1, SCALE])),
    )[: codes.shape[1]]
    who = sorted({(index[row[0]], row[1]) for row in rows})
    respondents = (
        None if one_row_each else Incidence(*(np.array(c, np.int64) for c in zip(*who, strict=True)))
    )
    sensitive = []
    for column in range(len(rows[0][2])):
        if one_row_each:
            pairs = sorted({(index[row[0]], row[2][column]) for row in rows})
        else:
            pairs = sorted({(index[row[0]], row[2][column], row[1]) for row in rows})
        columns = [np.array(c, np.int64) for c in zip(*pairs, strict=True)]
        sensitive.append(
            SensitiveIncidence(columns[0], columns[1], columns[2] if len(columns) > 2 else None)
        )
    return Problem(
        codes, weights, attributes, respondents, tuple(sensitive),
        parameters["k"], parameters["l"], parameters["cut_threshold"],
    )  # fmt: skip


def classes_of(problem: Problem) -> set[frozenset[tuple[int, ...]]] | None:
    classes = partition(problem)
    if classes is None:
        return None
    return {
        frozenset(map(tuple, problem.codes[classes == number].tolist()))
        for number in range(classes.max() + 1)
    }


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[Row], bool, Problem]:
    attributes = draw(st.integers(1, 3))
    sensitive = draw(st.integers(0, 2))
    one_row_each = draw(st.booleans())
    row = st.tuples(
        st.tuples(*[st.integers(0, 6)] * attributes),
        st.integers(0, 9),
        st.tuples(*[st.integers(0, 4)] * sensitive),
    )
    rows = draw(st.lists(row, min_size=1, max_size=24))
    k = draw(st.integers(2, 4))
    l = draw(st.integers(1, k)) if sensitive else 1  # noqa: E741
    threshold = draw(st.sampled_from([0, 4, 256]))
    return rows, one_row_each, make_problem(rows, one_row_each, k=k, l=l, cut_threshold=threshold)


@settings(max_examples=examples(400))
@given(tables())
def test_kernel_is_the_papers_algorithm(table: tuple[list[Row], bool, Problem]) -> None:
    rows, one_row_each, problem = table
    assert classes_of(problem) == Oracle(rows, problem, one_row_each).answer()


@settings(max_examples=examples(100))
@given(tables(), st.randoms())
def test_order_of_tuples_and_names_of_respondents_do_not_matter(
    table: tuple[list[Row], bool, Problem], random: "st.DataObject"
) -> None:
    _, _, problem = table
    order = list(range(len(problem.weights)))
    random.shuffle(order)  # type: ignore[attr-defined]
    place = np.argsort(np.array(order))
    shuffled = replace(
        problem,
        codes=problem.codes[order],
        weights=problem.weights[order],
        respondents=problem.respondents
        and Incidence(place[problem.respondents.tuples], 100 - problem.respondents.items),
        sensitive=tuple(
            SensitiveIncidence(
                place[s.tuples], 50 - s.values, None if s.respondents is None else 100 - s.respondents
            )
            for s in problem.sensitive
        ),
    )
    assert classes_of(shuffled) == classes_of(problem)


def test_batches_do_not_change_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(7)
    rows = [
        (tuple(c), int(r), (int(s),))
        for c, r, s in zip(
            generator.integers(0, 7, (400, 3)).tolist(),
            generator.integers(0, 90, 400),
            generator.integers(0, 5, 400),
            strict=True,
        )
    ]
    problem = make_problem(rows, False, k=4, l=3, cut_threshold=32)
    whole = classes_of(problem)
    monkeypatch.setattr("smalti.transforms._layout._BATCH", 1)
    assert classes_of(problem) == whole
    assert whole is not None
    assert len(whole) > 5


def one_class(people: dict[int, list[int]], k: int, l: int) -> Problem:  # noqa: E741
    """A table with one quasi-identifier tuple; `people` maps respondents to their sensitive values."""
    rows: list[Row] = [((1,), who, (value,)) for who, values in people.items() for value in values]
    return make_problem(rows, False, k=k, l=l, cut_threshold=256)


def test_ten_rows_of_one_person_are_one_respondent() -> None:
    assert partition(one_class({1: [1] * 5 + [2] * 5}, 2, 1)) is None


def test_a_value_that_everybody_holds_is_certain_for_all() -> None:
    """Ten customers with an `oncology` row each and another row each: six values, no diversity."""
    people = {i: [0, 1 + i % 5] for i in range(10)}
    assert partition(one_class(people, 10, 3)) is None


def test_one_heavy_customer_supplies_no_diversity() -> None:
    people = {0: [1, 2, 3, 4, 5, 6], **{i: [0] for i in range(1, 10)}}
    assert partition(one_class(people, 10, 3)) is None
    assert partition(one_class(people, 10, 2)) is not None


def test_k_anonymity_with_a_sensitive_column_forbids_one_value_for_all() -> None:
    assert partition(one_class({1: [1], 2: [1]}, 2, 1)) is None
    assert partition(one_class({1: [1], 2: [2]}, 2, 1)) is not None


def test_no_rows_meet_nothing() -> None:
    empty = Problem(
        np.empty((0, 1), np.int64), np.empty(0, np.int64), (UnorderedAttribute(0),), None, (), 2, 1, 256
    )
    assert partition(empty) is None


def test_a_missing_value_is_charged_the_whole_domain_beside_others() -> None:
    """So missing values are cut off from others as soon as there are enough of them."""
    rows: list[Row] = [((c,), 0, ()) for c in (0, 0, 3, 3)]
    problem = make_problem(rows, True, k=2, l=1, cut_threshold=256)
    assert classes_of(problem) == {frozenset({(0,)}), frozenset({(3,)})}


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=14, unique=True),
    st.integers(1, 5),
)
def test_matching_is_halls(pairs: list[tuple[int, int]], wanted: int) -> None:
    values, respondents = (np.array(column, np.int64) for column in zip(*pairs, strict=True))
    holders = {value: {r for v, r in pairs if v == value} for value, _ in pairs}
    assert kernel._by_augmenting(values, respondents, wanted) == can_match(holders, wanted)
    assert not kernel._greedily(values, respondents, wanted) or can_match(holders, wanted)


def test_a_long_chain_of_moves_is_found() -> None:
    """Value i is held by respondents i and i + 1, the last by 0 alone: everybody has to move."""
    size = 3000
    pairs = [(i, j) for i in range(size - 1) for j in (i, i + 1)] + [(size - 1, 0)]
    values, respondents = (np.array(column, np.int64) for column in zip(*pairs, strict=True))
    assert kernel._by_augmenting(values, respondents, size)


def heavy_table(seed: int) -> list[Row]:
    """Two heavy customers with every value, and others who nearly all share one."""
    draw = np.random.default_rng(seed)
    heavy = [
        ((int(a), int(b)), who, (int(v),)) for who in (0, 1) for a, b, v in draw.integers(1, 6, (6, 3))
    ]
    light = [
        ((int(a), int(b)), who, (int(v) if draw.random() < 0.25 else 0,))
        for who, (a, b, v) in enumerate(draw.integers(1, 6, (12, 3)), start=2)
    ]
    return heavy + light


def test_heavy_customers_supply_no_diversity_after_any_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cuts that only the matching forbids: the kernel finds what the oracle finds, and matching decides."""
    decided = 0
    for seed in range(60):
        rows = heavy_table(seed)
        for threshold in (0, 256):
            problem = make_problem(rows, False, k=3, l=3, cut_threshold=threshold)
            found = classes_of(problem)
            assert found == Oracle(rows, problem, False).answer()
            with monkeypatch.context() as patch:
                patch.setattr(kernel._Search, "can_match", lambda self, tuples: True)
                decided += classes_of(problem) != found
    assert decided > 10
