"""Attacks on classes, against brute force on small tables, and on tables where they clearly win."""

import itertools
import math
from collections import Counter, defaultdict
from fractions import Fraction

import numpy as np
import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from smalti.transforms.attacks.class_facts import ClassFacts
from smalti.transforms.attacks.disclosure import (
    background_knowledge,
    homogeneity,
    identity,
    similarity_of_nodes,
    similarity_of_numbers,
    skewness,
)
from smalti.transforms.attacks.minimality import UncutClasses, minimality
from smalti.transforms.attacks.naive_bayes import (
    ROUNDS,
    TURNS,
    Published,
    guessed_values,
    most_frequent_values,
)

Fact = tuple[int, int, int]
"""Class, value, respondent."""
FACTS = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 4), st.integers(0, 7)), min_size=1, max_size=30
)


def facts_of(facts: list[Fact]) -> ClassFacts:
    used = {number: place for place, number in enumerate(sorted({fact[0] for fact in facts}))}
    classes, values, people = (np.array(column, np.int64) for column in zip(*facts, strict=True))
    classes = np.array([used[number] for number in classes.tolist()])
    return ClassFacts.of(classes, values, people, np.ones(len(facts), np.int64))


class Brute:
    """Who holds what, in sets."""

    def __init__(self, facts: list[Fact]) -> None:
        self.facts = set(facts)
        self.people: dict[int, set[int]] = defaultdict(set)
        self.holders: dict[tuple[int, int], set[int]] = defaultdict(set)
        for number, value, person in self.facts:
            self.people[number].add(person)
            self.holders[number, value].add(person)

    def values(self, number: int) -> list[int]:
        return [value for owner, value in self.holders if owner == number]

    def identity(self) -> set[int]:
        return set().union(*(people for people in self.people.values() if len(people) == 1))

    def homogeneity(self) -> set[int]:
        return set().union(
            *(self.people[c] for (c, _), who in self.holders.items() if who == self.people[c])
        )

    def background(self) -> set[int]:
        hit = self.homogeneity()
        for (number, _), who in self.holders.items():
            left = self.people[number] - who
            if left and any(left <= self.holders[number, other] for other in self.values(number)):
                hit |= left
        return hit

    def skewness(self) -> set[int]:
        everybody = {person for _, _, person in self.facts}
        hit = set()
        for (number, value), who in self.holders.items():
            share = Fraction(len(who), len(self.people[number]))
            whole = Fraction(len({p for _, v, p in self.facts if v == value}), len(everybody))
            if share >= Fraction(1, 2) and share >= 2 * whole:
                hit |= who
        return hit


@settings(max_examples=examples(80), deadline=None)
@given(FACTS)
def test_disclosures_are_those_of_brute_force(facts: list[Fact]) -> None:
    table, brute = facts_of(facts), Brute(facts)
    assert identity(table) == len(brute.identity())
    assert homogeneity(table) == len(brute.homogeneity())
    assert background_knowledge(table) == len(brute.background())
    assert skewness(table) == len(brute.skewness())


@settings(max_examples=examples(40), deadline=None)
@given(
    FACTS,
    st.lists(st.integers(0, 100), min_size=5, max_size=5),
    st.lists(st.integers(0, 1), min_size=5, max_size=5),
)
def test_similar_values_are_those_of_brute_force(
    facts: list[Fact], places: list[int], nodes: list[int]
) -> None:
    table, brute = facts_of(facts), Brute(facts)

    def hit(similar: set[int]) -> int:
        return len(set().union(*(brute.people[c] for c in similar)))

    near = {c for c in brute.people if max(x := [places[v] for v in brute.values(c)]) - min(x) <= 10}
    assert similarity_of_numbers(table, np.array(places), 100) == hit(near)
    alike = {c for c in brute.people if len({nodes[v] for v in brute.values(c)}) == 1}
    assert similarity_of_nodes(table, np.array(nodes)) == hit(alike)


def test_rows_of_other_people_each_are_counted() -> None:
    """Machanavajjhala et al. 2007, Figure 2: one block has three cancers and one more person."""
    classes, values, rows = np.array([0, 0, 1]), np.array([0, 1, 2]), np.array([3, 1, 4])
    table = ClassFacts.of(classes, values, None, rows)
    assert homogeneity(table) == 4
    assert background_knowledge(table) == 8, "told that it is not cancer, or cancer alone is left"
    assert skewness(table) == 7


def test_many_values_of_many_people_are_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("smalti.transforms.attacks.disclosure.MOST_PAIRS", 3)
    assert background_knowledge(facts_of([(0, 0, 0), (0, 1, 0), (0, 1, 1)])) is None


# --- Minimality


def uncut_of(sides: list[list[int]]) -> UncutClasses:
    """Pairs of sides, each a list of values."""
    rows = [(side // 2, side, value) for side, values in enumerate(sides) for value in values]
    return UncutClasses(*(np.array(column, np.int64) for column in zip(*rows, strict=True)))


def diverse(table: UncutClasses, values: np.ndarray) -> np.ndarray:
    """Distinct 2-diversity, by side."""
    held = defaultdict(set)
    for side, value in zip(table.sides.tolist(), values.tolist(), strict=True):
        held[side].add(value)
    return np.array([len(held[side]) > 1 for side in sorted(held)])


def exact_posterior(low: list[int], high: list[int], value: int, of_low: bool) -> tuple[Fraction, int]:
    """The chance of a value on a side, over all ways that leave a side with one value alone."""
    seen = total = ways = 0
    for drawn in itertools.permutations([*low, *high]):
        sides = drawn[: len(low)], drawn[len(low) :]
        if all(len(set(side)) > 1 for side in sides):
            continue
        ways += 1
        side = sides[0 if of_low else 1]
        seen, total = seen + side.count(value), total + len(side)
    return Fraction(seen, total or 1), ways


def test_a_class_that_was_left_whole_tells_its_rare_value() -> None:
    """Two rows of six hold 0, and the cut between these two and the others was not made."""
    table = uncut_of([[0, 0], [1, 2, 3, 4]])
    hit = minimality(table, lambda values: diverse(table, values), seed=1)
    assert hit.tolist() == [True, True, False, False, False, False]
    assert exact_posterior([0, 0], [1, 2, 3, 4], 0, of_low=True)[0] == 1


@settings(max_examples=examples(8), deadline=None)
@given(
    st.lists(st.integers(0, 2), min_size=2, max_size=3), st.lists(st.integers(0, 3), min_size=2, max_size=4)
)
def test_beliefs_are_those_of_all_ways_to_divide(low: list[int], high: list[int]) -> None:
    table = uncut_of([low, high])
    hit = minimality(table, lambda values: diverse(table, values), seed=7).tolist()
    whole = [*low, *high]
    for row, value in enumerate(whole):
        posterior, ways = exact_posterior(low, high, value, of_low=row < len(low))
        if Fraction(whole.count(value), len(whole)) >= Fraction(1, 2) or not ways:
            assert not hit[row]
        elif abs(posterior - Fraction(1, 2)) > Fraction(1, 5) and ways >= math.factorial(len(whole)) / 4:
            assert hit[row] == (posterior > Fraction(1, 2))


# --- deFinetti


def published(rows: list[tuple[tuple[int, ...], int, int]]) -> tuple[Published, list[int]]:
    """A table of (codes, class, value), and by tuple the values that its rows hold."""
    tuples = sorted({(codes, number) for codes, number, _ in rows})
    held = Counter((number, value) for _, number, value in rows)
    owners, values = zip(*sorted(held), strict=True)
    table = Published(
        np.array([codes for codes, _ in tuples]),
        np.array([sum((c, n) == each for c, n, _ in rows) for each in tuples]),
        np.array([number for _, number in tuples]),
        np.array(owners),
        np.array(values),
        np.array([held[key] for key in sorted(held)]),
    )
    return table, [min(v for c, n, v in rows if (c, n) == each) for each in tuples]


def test_what_some_classes_tell_of_a_column_is_used_on_others() -> None:
    """Men (1) hold 0 and women (2) hold 1; some classes are of men or women alone, most are mixed."""
    rows = [((sex, 1), number, sex - 1) for number in range(4) for sex in [1 + number % 2] * 3]
    rows += [((sex, 2), number, sex - 1) for number in range(4, 24) for sex in (1, 2)]
    table, truth = published(rows)
    guessed = guessed_values(table)
    assert guessed is not None
    assert guessed.tolist() == truth
    without = most_frequent_values(table).tolist()
    assert sum(a == b for a, b in zip(without, truth, strict=True)) < 0.6 * len(truth)


ROWS = st.lists(
    st.tuples(st.tuples(st.integers(0, 2), st.integers(0, 1)), st.integers(0, 2), st.integers(0, 2)),
    min_size=1, max_size=14,
)  # fmt: skip


@settings(max_examples=examples(25), deadline=None)
@given(ROWS)
def test_beliefs_are_those_of_the_same_model_in_plain_loops(
    rows: list[tuple[tuple[int, ...], int, int]],
) -> None:
    used = {number: place for place, number in enumerate(sorted({row[1] for row in rows}))}
    rows = [(codes, used[number], value) for codes, number, value in rows]
    table, _ = published(rows)
    guessed = guessed_values(table)
    assert guessed is not None
    for place, shares in enumerate(plain_shares(rows)):
        most = max(shares.values())
        if sum(share > most - 1e-4 for share in shares.values()) == 1:
            assert guessed[place] == max(shares, key=lambda value: shares[value])


def plain_shares(rows: list[tuple[tuple[int, ...], int, int]]) -> list[dict[int, float]]:
    tuples = sorted({(codes, number) for codes, number, _ in rows})
    weight = Counter((codes, number) for codes, number, _ in rows)
    held = Counter((number, value) for _, number, value in rows)

    def fitted(belief: list[dict[int, float]]) -> list[dict[int, float]]:
        shares = [{v: math.exp(b - max(each.values())) for v, b in each.items()} for each in belief]
        for _ in range(TURNS):
            totals: dict[tuple[int, int], float] = defaultdict(float)
            for (codes, number), each in zip(tuples, shares, strict=True):
                for v, share in each.items():
                    totals[number, v] += share * weight[codes, number]
            shares = [
                {v: share * held[number, v] / totals[number, v] for v, share in each.items()}
                for (_, number), each in zip(tuples, shares, strict=True)
            ]
            shares = [{v: share / sum(each.values()) for v, share in each.items()} for each in shares]
        return shares

    def likelihood(shares: list[dict[int, float]]) -> list[dict[int, float]]:
        of_value: dict[int, float] = defaultdict(float)
        of_code: dict[tuple[int, int, int], float] = defaultdict(float)
        for key, each in zip(tuples, shares, strict=True):
            for v, share in each.items():
                of_value[v] += share * weight[key]
                for place, code in enumerate(key[0]):
                    of_code[place, code, v] += share * weight[key]
        sizes = [len({codes[place] for codes, _ in tuples}) for place in range(2)]
        return [
            {
                v: sum(
                    math.log((of_code[place, code, v] + 1) / (of_value[v] + sizes[place]))
                    for place, code in enumerate(codes)
                )
                for v in each
            }
            for (codes, _), each in zip(tuples, shares, strict=True)
        ]

    shares = fitted([{v: 0.0 for n, v in held if n == number} for _, number in tuples])
    for _ in range(ROUNDS):
        shares = fitted(likelihood(shares))
    return shares
