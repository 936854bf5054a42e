"""Relaxed Mondrian against a plain one that moves rows, one at a time."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from mondrian_oracle import Oracle, Row, k_of, l_of, make_problem, tables
from weighing_oracle import WeighingOracle

from smalti.transforms.base import CutScore, Requirement, class_requirements
from smalti.transforms.mondrian.relaxed import partition_relaxed
from smalti.transforms.problem import Incidence, Problem, SensitiveIncidence
from smalti.transforms.requirements.registry import REQUIREMENTS

Atom = tuple[tuple[int, ...], tuple[int, ...]]
"""Codes and sensitive values: rows that agree in these are alike."""
Classes = Counter[frozenset[tuple[Atom, int]]]
"""How often there is a class with so many rows of these atoms."""


def atom(row: Row) -> Atom:
    return row[0], row[2]


class Relaxed(Oracle):
    def even(self, rows: list[Row], attribute: int) -> tuple[list[Row], list[Row]] | None:
        places = self.places(rows, attribute)
        if len(places) < 2:
            return None
        ordered = sorted(rows, key=lambda row: (places.index(row[0][attribute]), atom(row)))
        ends = [len(rows) // 2]
        if not self.one_row_each:
            ends = [i for i in range(1, len(rows)) if atom(ordered[i - 1]) != atom(ordered[i])]
        end = min(ends, key=lambda i: abs(2 * i - len(rows)))
        left, right = ordered[:end], ordered[end:]
        return (left, right) if self.allowed(left) and self.allowed(right) else None

    def best(self, rows: list[Row]) -> tuple[list[Row], list[Row]] | None:
        attributes = range(len(self.problem.attributes))
        is_small = len({row[0] for row in rows}) <= self.problem.cut_threshold
        strict = super().best(rows)
        if is_small and self.problem.cut_score is CutScore.CERTAINTY_PENALTY:
            found = [strict, *(self.even(rows, a) for a in attributes)]
            return min(
                (cut for cut in found if cut),
                key=lambda cut: self.charge(cut[0]) + self.charge(cut[1]),
                default=None,
            )
        evens = (self.even(rows, a) for a in self.ranked(rows))
        return strict or next((cut for cut in evens if cut), None)

    def atoms(self) -> Classes | None:
        if not self.allowed(self.rows):
            return None
        return Counter(frozenset(Counter(map(atom, rows)).items()) for rows in self.classes(self.rows))


class WeighingRelaxed(Relaxed, WeighingOracle):
    """The plain rule where distributions are judged as well."""


def by_atom(rows: list[Row], one_row_each: bool, problem: Problem) -> tuple[list[Atom], Problem]:
    atoms = sorted(set(map(atom, rows)))
    number = {one: i for i, one in enumerate(atoms)}

    def distinct(*columns: Sequence[int]) -> list[np.ndarray]:
        return [np.array(c, np.int64) for c in zip(*sorted(set(zip(*columns, strict=True))), strict=True)]

    of_row = [number[atom(row)] for row in rows]
    who = [] if one_row_each else [[row[1] for row in rows]]
    held = [distinct(of_row, [row[2][i] for row in rows], *who) for i in range(len(problem.sensitive))]
    often, of_person = Counter(zip(of_row, *who, strict=True)), Counter(row[1] for row in rows)
    return atoms, replace(
        problem,
        codes=np.array([codes for codes, _ in atoms], np.int64),
        weights=np.bincount(of_row).astype(np.int64),
        respondents=None if one_row_each else Incidence(*distinct(of_row, *who)),
        sensitive=tuple(
            SensitiveIncidence(
                one[0],
                one[1],
                None if one_row_each else one[2],
                np.array([often[key] for key in zip(one[0], *one[2:], strict=True)]),
                None if one_row_each else np.array([of_person[person] for person in one[2]]),
            )
            for one in held
        ),
    )


def found(rows: list[Row], one_row_each: bool, problem: Problem) -> Classes | None:
    atoms, problem = by_atom(rows, one_row_each, problem)
    portions = partition_relaxed(problem)
    if portions is None:
        return None
    assert (np.bincount(portions.atoms, portions.rows) == problem.weights).all()
    members: dict[int, list[tuple[Atom, int]]] = {}
    columns = zip(portions.atoms.tolist(), portions.classes.tolist(), portions.rows.tolist(), strict=True)
    for one, number, count in columns:
        members.setdefault(number, []).append((atoms[one], count))
    return Counter(map(frozenset, members.values()))


@st.composite
def relaxed(draw: st.DrawFn) -> tuple[list[Row], bool, Problem]:
    """Few values, so that there are ties to be divided."""
    rows, one_row_each, problem = draw(tables())
    more = draw(st.lists(st.sampled_from(rows), max_size=12))
    rows = [(tuple(code % 4 + 1 for code in row[0]), row[1], row[2]) for row in [*rows, *more]]
    problem = make_problem(
        rows, one_row_each, k=k_of(problem), l=l_of(problem), cut_threshold=problem.cut_threshold
    )
    return rows, one_row_each, replace(
        problem,
        cut_score=draw(st.sampled_from([CutScore.CERTAINTY_PENALTY, *CutScore])),
        first_attribute=draw(st.sampled_from([None, 0])),
    )  # fmt: skip


@settings(max_examples=examples(165, full=5000))
@given(relaxed())
def test_classes_are_those_of_the_plain_rule(table: tuple[list[Row], bool, Problem]) -> None:
    rows, one_row_each, problem = table
    assert found(rows, one_row_each, problem) == Relaxed(rows, problem, one_row_each).atoms()


@pytest.mark.parametrize(
    "requirement",
    [
        pytest.param(Requirement(kind.name, kind.examples[0]), id=kind.name)
        for kind in REQUIREMENTS
        if kind.weighs
    ],
)
def test_divided_atoms_weigh_what_goes_to_each_side(requirement: Requirement) -> None:
    """A portion of an atom weighs its own rows, not those of the atom."""
    divided = 0

    @settings(max_examples=examples(60, full=2000), deadline=None)
    @given(relaxed())
    def law(table: tuple[list[Row], bool, Problem]) -> None:
        nonlocal divided
        rows, one_row_each, problem = table
        problem = replace(problem, requirements=(*class_requirements(2), requirement))
        classes = found(rows, one_row_each, problem)
        assert classes == WeighingRelaxed(rows, problem, one_row_each).atoms()
        parts = Counter(atom for members in classes or () for atom, _ in members)
        divided += max(parts.values(), default=0) > 1

    law()
    assert divided


@settings(max_examples=examples(50, full=1000))
@given(relaxed(), st.randoms())
def test_order_of_rows_and_names_of_respondents_do_not_matter(
    table: tuple[list[Row], bool, Problem], random: "st.DataObject"
) -> None:
    rows, one_row_each, problem = table
    other = [(codes, 50 - who, values) for codes, who, values in rows]
    random.shuffle(other)  # type: ignore[attr-defined]
    assert found(other, one_row_each, problem) == found(rows, one_row_each, problem)


def test_a_heavy_value_in_the_middle_is_divided() -> None:
    """Of 2, 8 and 2 rows no strict cut keeps k = 6; divided evenly, each side has half of the domain."""
    rows: list[Row] = [((code,), i, ()) for i, code in enumerate([1] * 2 + [3] * 8 + [5] * 2)]
    problem = make_problem(rows, True, k=6, l=1, cut_threshold=256)
    assert found(rows, True, problem) == Counter([
        frozenset({(((1,), ()), 2), (((3,), ()), 4)}), frozenset({(((3,), ()), 4), (((5,), ()), 2)}),
    ])  # fmt: skip


def test_atoms_with_respondents_are_not_divided() -> None:
    rows: list[Row] = [((code,), i, ()) for i, code in enumerate([1] * 2 + [3] * 8 + [5] * 2)]
    problem = make_problem(rows, False, k=6, l=1, cut_threshold=256)
    classes = found(rows, False, problem)
    assert classes is not None
    assert classes.total() == 1


def test_many_partitions_are_cut_together() -> None:
    draw = np.random.default_rng(5)
    rows: list[Row] = [
        (tuple(codes), i, (int(value),))
        for i, (codes, value) in enumerate(
            zip(draw.integers(1, 5, (400, 3)).tolist(), draw.integers(0, 4, 400), strict=True)
        )
    ]
    for threshold in (0, 8, 256):
        problem = make_problem(rows, True, k=5, l=2, cut_threshold=threshold)
        classes = found(rows, True, problem)
        assert classes == Relaxed(rows, problem, True).atoms()
        assert classes is not None
        assert classes.total() > 30
