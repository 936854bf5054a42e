"""A plain recursive Mondrian that is written from the paper, without vectors, and tables for it."""

import itertools
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from smalti.transforms.base import DISTINCT_VALUES, RESPONDENTS, class_requirements
from smalti.transforms.mondrian.kernel import partition
from smalti.transforms.partitions.entropy import binary_logarithm
from smalti.transforms.problem import (
    SCALE,
    CutScore,
    Incidence,
    OrderedAttribute,
    Problem,
    Reference,
    SensitiveIncidence,
    UnorderedAttribute,
)

Row = tuple[tuple[int, ...], int, tuple[int, ...]]
"""The codes of one row, its respondent, and its sensitive values."""


class Oracle:
    def __init__(self, rows: list[Row], problem: Problem, one_row_each: bool) -> None:
        self.rows, self.problem = rows, problem
        self.one_row_each = one_row_each

    def allowed(self, rows: list[Row]) -> bool:
        people = {i if self.one_row_each else row[1] for i, row in enumerate(rows)}
        if len(people) < k_of(self.problem):
            return False
        for column in range(len(self.problem.sensitive)):
            holders: dict[int, set[int]] = {}
            for i, row in enumerate(rows):
                holders.setdefault(row[2][column], set()).add(i if self.one_row_each else row[1])
            if any(held == people for held in holders.values()):
                return False
            if l_of(self.problem) > 1 and not can_match(holders, l_of(self.problem)):
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

    def rank(self, rows: list[Row], attribute: int) -> int:
        if self.problem.cut_score is not CutScore.ENTROPY:
            return -self.span(rows, attribute)
        weights = Counter(row[0][attribute] for row in rows).values()
        return sum(w * int(binary_logarithm(np.array([w]))[0]) for w in weights)

    def ranked(self, rows: list[Row]) -> list[int]:
        order = sorted(range(len(self.problem.attributes)), key=lambda a: self.rank(rows, a))
        first = self.problem.first_attribute
        is_small = len({row[0] for row in rows}) <= self.problem.cut_threshold
        if first is not None and rows is self.rows and not is_small:
            return [first, *(a for a in order if a != first)]
        return order

    def best(self, rows: list[Row]) -> tuple[list[Row], list[Row]] | None:
        attributes = range(len(self.problem.attributes))
        is_small = len({row[0] for row in rows}) <= self.problem.cut_threshold
        if is_small and self.problem.cut_score is CutScore.CERTAINTY_PENALTY:
            found = [cut for a in attributes for cut in self.cuts(rows, a)]
            return min(found, key=lambda cut: self.charge(cut[0]) + self.charge(cut[1]), default=None)
        for attribute in self.ranked(rows):
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


def k_of(problem: Problem) -> int:
    return next(int(one.parameters[0]) for one in problem.requirements if one.name == RESPONDENTS)


def l_of(problem: Problem) -> int:
    found = [int(one.parameters[0]) for one in problem.requirements if one.name == DISTINCT_VALUES]
    return found[0] if found else 1


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
        often = Counter(
            (index[row[0]], row[2][column]) if one_row_each else (index[row[0]], row[2][column], row[1])
            for row in rows
        )
        counts = np.array([often[pair] for pair in pairs])
        of_person = Counter(row[1] for row in rows)
        totals = None if one_row_each else np.array([of_person[who] for _, _, who in pairs])
        sensitive.append(
            SensitiveIncidence(
                columns[0], columns[1], columns[2] if len(columns) > 2 else None, counts, totals
            )
        )
    return Problem(
        codes, weights, attributes, respondents, tuple(sensitive),
        class_requirements(parameters["k"], parameters["l"]), parameters["cut_threshold"],
        references=tuple(Reference.of(s.values, s.totals, s.rows) for s in sensitive if s.rows is not None),
    )  # fmt: skip


def classes_of(problem: Problem) -> set[frozenset[tuple[int, ...]]] | None:
    classes = partition(problem)
    if classes is None:
        return None
    return {
        frozenset(map(tuple, problem.codes[classes == number].tolist()))
        for number in range(classes.max() + 1)
    }


def renamed(problem: Problem, order: list[int]) -> Problem:
    """The same problem, its tuples in another order, and respondents and values with other numbers."""
    place = np.argsort(np.array(order))
    return replace(
        problem,
        codes=problem.codes[order],
        weights=problem.weights[order],
        respondents=problem.respondents
        and Incidence(place[problem.respondents.tuples], 100 - problem.respondents.items),
        sensitive=tuple(
            SensitiveIncidence(
                place[s.tuples],
                50 - s.values,
                None if s.respondents is None else 100 - s.respondents,
                s.rows,
                s.totals,
            )
            for s in problem.sensitive
        ),
        references=tuple(replace(each, values=50 - each.values) for each in problem.references),
    )


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
