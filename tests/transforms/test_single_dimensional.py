"""Single-dimensional Mondrian against a plain greedy search over parts of domains, row by row."""

from dataclasses import dataclass, field

import numpy as np
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from mondrian_oracle import Oracle, Row, make_problem, renamed, tables

from smalti.transforms.base import class_requirements
from smalti.transforms.mondrian.single_dimensional import divide_domains
from smalti.transforms.problem import Problem, UnorderedAttribute

Found = tuple[set[frozenset[tuple[int, ...]]], list[set[frozenset[int]]]]
"""The classes as sets of tuples, and for each attribute its parts as sets of codes."""


@dataclass
class Greedy:
    """Parts of each attribute's domain, as sets of codes in their order."""

    oracle: Oracle
    parts: list[list[set[int]]] = field(init=False)

    def __post_init__(self) -> None:
        width = len(self.oracle.rows[0][0])
        self.parts = [[{row[0][a] for row in self.oracle.rows}] for a in range(width)]

    def classes(self) -> list[list[Row]]:
        found: dict[tuple[int, ...], list[Row]] = {}
        for row in self.oracle.rows:
            cell = tuple(
                next(i for i, part in enumerate(parts) if code in part)
                for parts, code in zip(self.parts, row[0], strict=True)
            )
            found.setdefault(cell, []).append(row)
        return list(found.values())

    def rows_in(self, attribute: int, part: set[int]) -> list[Row]:
        return [row for row in self.oracle.rows if row[0][attribute] in part]

    def is_allowed(self, attribute: int, left: set[int], right: set[int]) -> bool:
        for rows in self.classes():
            sides = [[row for row in rows if row[0][attribute] in codes] for codes in (left, right)]
            if all(sides) and not all(map(self.oracle.allowed, sides)):
                return False
        return True

    def cut(self, attribute: int, part: set[int]) -> tuple[set[int], set[int]] | None:
        rows = self.rows_in(attribute, part)
        places = self.oracle.places(rows, attribute)
        found = []
        for index in range(1, len(places)):
            left, right = set(places[:index]), set(places[index:])
            if self.is_allowed(attribute, left, right):
                found.append((abs(2 * len(self.rows_in(attribute, left)) - len(rows)), index, left, right))
        return min(found, key=lambda cut: cut[:2])[2:] if found else None

    def run(self) -> None:
        """Begins anew after each round in which something was cut, so nothing is closed for ever."""
        while self.run_once():
            pass

    def run_once(self) -> bool:
        closed: list[tuple[int, set[int]]] = []
        was_cut = False
        while True:
            waiting = [
                (-self.charge(a, part), a, place)
                for a, parts in enumerate(self.parts)
                for place, part in enumerate(parts)
                if len(part) > 1 and (a, part) not in closed
            ]
            if not waiting:
                return was_cut
            _, attribute, place = min(waiting)
            part = self.parts[attribute][place]
            cut = self.cut(attribute, part)
            if cut is None:
                closed.append((attribute, part))
            else:
                was_cut = True
                self.parts[attribute][place : place + 1] = cut

    def charge(self, attribute: int, part: set[int]) -> int:
        rows = self.rows_in(attribute, part)
        return self.oracle.span(rows, attribute) * len(rows)


def plain(rows: list[Row], problem: Problem, one_row_each: bool) -> Found | None:
    oracle = Oracle(rows, problem, one_row_each)
    if not oracle.allowed(rows):
        return None
    greedy = Greedy(oracle)
    greedy.run()
    classes = {frozenset(row[0] for row in part) for part in greedy.classes()}
    return classes, [set(map(frozenset, parts)) for parts in greedy.parts]


def found(problem: Problem) -> Found | None:
    cells = divide_domains(problem)
    if cells is None:
        return None

    def parts(numbers: np.ndarray, codes: list) -> set:
        return {
            frozenset(code for code, number in zip(codes, numbers.tolist(), strict=True) if number == n)
            for n in range(numbers.max() + 1)
        }

    tuples = list(map(tuple, problem.codes.tolist()))
    columns = zip(cells.parts.T, problem.codes.T.tolist(), strict=True)
    return parts(cells.classes, tuples), [parts(numbers, codes) for numbers, codes in columns]


@settings(max_examples=examples(200, full=4000))
@given(tables())
def test_parts_are_those_of_the_plain_search(table: tuple[list[Row], bool, Problem]) -> None:
    rows, one_row_each, problem = table
    assert found(problem) == plain(rows, problem, one_row_each)


@settings(max_examples=examples(100))
@given(tables(), st.randoms())
def test_order_of_tuples_and_names_of_respondents_do_not_matter(
    table: tuple[list[Row], bool, Problem], random: "st.DataObject"
) -> None:
    problem = table[2]
    order = list(range(len(problem.weights)))
    random.shuffle(order)  # type: ignore[attr-defined]
    assert found(renamed(problem, order)) == found(problem)


def test_heavy_customers_supply_no_diversity_after_any_cut() -> None:
    """Cuts that only the matching forbids: two heavy customers with every value, and others with one."""
    draw = np.random.default_rng(3)
    for _ in range(40):
        heavy = [
            ((int(a), int(b)), who, (int(v),)) for who in (0, 1) for a, b, v in draw.integers(1, 6, (6, 3))
        ]
        light = [
            ((int(a), int(b)), who, (int(v) if draw.random() < 0.25 else 0,))
            for who, (a, b, v) in enumerate(draw.integers(1, 6, (12, 3)), start=2)
        ]
        problem = make_problem([*heavy, *light], False, k=3, l=3, cut_threshold=256)
        assert found(problem) == plain([*heavy, *light], problem, False)


def busy_people(seed: int, rows: int, *tops: int) -> list[Row]:
    draw = np.random.default_rng(seed)
    numbers = zip(*(draw.integers(0, top, rows).tolist() for top in tops), strict=True)
    return [((1 + a, 1 + b), who, (value,)) for a, b, who, value in numbers]


def test_parts_are_tried_again_where_respondents_have_several_rows() -> None:
    """All on one side hold a value, until another attribute is cut: then not all of them hold it there."""
    tried_again = 0
    for seed in (102, 122, 307, 314, 317):
        rows = busy_people(seed, 23, 2, 4, 7, 4)
        problem = make_problem(rows, False, k=2, l=1, cut_threshold=256)
        expected = plain(rows, problem, False)
        assert found(problem) == expected
        if expected is not None:
            greedy = Greedy(Oracle(rows, problem, False))
            greedy.run_once()
            tried_again += [set(map(frozenset, parts)) for parts in greedy.parts] != expected[1]
    assert tried_again == 5


def test_no_rows_meet_nothing() -> None:
    empty = Problem(
        np.empty((0, 1), np.int64),
        np.empty(0, np.int64),
        (UnorderedAttribute(0),),
        None,
        (),
        class_requirements(2),
        256,
    )
    assert divide_domains(empty) is None
