"""The kernel against a plain recursive Mondrian that is written from the paper, without vectors."""

import itertools

import numpy as np
import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from mondrian_oracle import Oracle, Row, can_match, classes_of, make_problem, renamed, tables

from smalti.transforms.base import class_requirements
from smalti.transforms.mondrian import cuts
from smalti.transforms.mondrian.kernel import partition
from smalti.transforms.mondrian.sampling import surely_allowed
from smalti.transforms.partitions import matching, reach
from smalti.transforms.partitions.held import ColumnSides, HeldOnSides
from smalti.transforms.partitions.incidence import Diversity, Holdings, Links, Members
from smalti.transforms.partitions.layout import Batch, lay_out, order_by
from smalti.transforms.problem import (
    SCALE,
    Problem,
    SensitiveIncidence,
    UnorderedAttribute,
)
from smalti.transforms.requirements import distinct_values
from smalti.transforms.requirements.distinct_values import DistinctValues, surely_match
from smalti.transforms.requirements.registry import judges_of


@settings(max_examples=examples(200, full=4000))
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
    assert classes_of(renamed(problem, order)) == classes_of(problem)


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
    monkeypatch.setattr("smalti.transforms.partitions.layout._BATCH", 1)
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
        np.empty((0, 1), np.int64),
        np.empty(0, np.int64),
        (UnorderedAttribute(0),),
        None,
        (),
        class_requirements(2),
        256,
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
    assert matching.can_match(values, respondents, wanted) == can_match(holders, wanted)
    assert not distinct_values._greedily(values, respondents, wanted) or can_match(holders, wanted)


def test_a_long_chain_of_moves_is_found() -> None:
    """Value i is held by respondents i and i + 1, the last by 0 alone: everybody has to move."""
    size = 3000
    pairs = [(i, j) for i in range(size - 1) for j in (i, i + 1)] + [(size - 1, 0)]
    values, respondents = (np.array(column, np.int64) for column in zip(*pairs, strict=True))
    assert matching.can_match(values, respondents, size)


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
                patch.setattr(DistinctValues, "meets", lambda self, held: True)
                decided += classes_of(problem) != found
    assert decided > 10


# --- the parts, each against a plain loop -----------------------------------------------------------


@settings(max_examples=examples(100))
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=30),
    st.sampled_from([1, 1 << 20, 1 << 40]),
)
def test_rows_are_sorted_by_keys_of_any_size(rows: list[tuple[int, int]], unit: int) -> None:
    """With keys of 2^42 twice, one packed number is too short, and the other way is taken."""
    first, second = (np.array([row[i] for row in rows], np.int64) * unit for i in (0, 1))
    order, new = order_by(first, second)
    assert order.tolist() == sorted(range(len(rows)), key=lambda i: rows[i])
    found = [rows[i] for i in order.tolist()]
    assert new.tolist() == [i == 0 or found[i] != found[i - 1] for i in range(len(rows))]


@settings(max_examples=examples(100))
@given(
    st.lists(st.integers(1, 40), min_size=1, max_size=5),
    st.integers(1, 3),
    st.integers(0, 1 << 20),
    st.sampled_from([2, 3, 16]),
)
def test_reaches_are_those_of_a_plain_loop(
    sizes: list[int], attributes: int, seed: int, block: int
) -> None:
    draw = np.random.default_rng(seed)
    starts = np.concatenate(([0], np.cumsum(sizes)))
    values = [-SCALE, 0, 5, SCALE // 2, SCALE]
    positions = [draw.choice(values, starts[-1]).astype(np.int32) for _ in range(attributes)]
    order = np.concatenate([a + draw.permutation(b - a) for a, b in itertools.pairwise(starts)])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reach, "_BLOCK", block)
        blocks = reach.Blocks(starts)
        upto, onward = reach.side_reaches(positions, order, blocks)

    def extent(slots: np.ndarray) -> int:
        return sum(min(int(np.ptp(position[slots])), SCALE) for position in positions)

    for a, b in itertools.pairwise(starts.tolist()):
        for place in range(a, b):
            assert upto[blocks.places[place]] == extent(order[a : place + 1])
            assert onward[blocks.places[place]] == extent(order[place:b])


Triples = list[tuple[int, int, int]]
"""(Tuple, value, respondent), each once."""


def triples(values: int, respondents: int) -> st.SearchStrategy[Triples]:
    triple = st.tuples(st.integers(0, 5), st.integers(0, values), st.integers(0, respondents))
    return st.lists(triple, min_size=1, max_size=40, unique=True)


def held(found: Triples) -> tuple[Holdings, Links]:
    """Six tuples in one sensitive column, and their respondents."""
    columns = np.array(found, np.int64).T
    who = np.unique(columns[[0, 2]], axis=1)
    return Holdings.of(SensitiveIncidence(*columns), 6), Links.of(*who, 6)


def holders_in(found: Triples, tuples: range) -> dict[int, set[int]]:
    holders: dict[int, set[int]] = {}
    for number, value, respondent in found:
        if number in tuples:
            holders.setdefault(value, set()).add(respondent)
    return holders


SIDES = (range(3), range(3, 6))
BATCH = Batch(np.arange(6), np.array([0, 3, 6]))


@settings(max_examples=examples(200))
@given(triples(4, 5), st.integers(2, 4))
def test_a_quick_yes_to_a_matching_is_true(found: Triples, wanted: int) -> None:
    surely = surely_match(held(found)[0], BATCH, wanted)
    for yes, tuples in zip(surely.tolist(), SIDES, strict=True):
        holders = holders_in(found, tuples)
        assert not yes or can_match(holders, wanted)
        if len(holders) >= 2 * wanted * wanted:
            assert yes


def test_a_quick_yes_to_a_matching_is_the_rule() -> None:
    many = [(i % 6, i // 6 % 20, i) for i in range(240)]
    assert surely_match(held(many)[0], BATCH, 4).all()


def test_the_most_pairs_without_a_matching_get_no_quick_yes() -> None:
    """l - 1 values with l holders each: l (l - 1) pairs, and still no matching of size l."""
    pairs = [(tuple_, value, 10 * value + i) for tuple_ in (0, 3) for value in range(2) for i in range(3)]
    assert not surely_match(held(pairs)[0], BATCH, 3).any()
    more = [(tuple_, 2, 90) for tuple_ in (0, 3)]
    assert surely_match(held(pairs + more)[0], BATCH, 3).all()


def test_many_pairs_of_few_values_or_few_respondents_get_no_quick_yes() -> None:
    """Two values with twenty holders, or two respondents with twenty values: no matching of size 3."""
    two_values = [(tuple_, i % 2, i) for tuple_ in (0, 3) for i in range(40)]
    two_respondents = [(tuple_, i, i % 2) for tuple_ in (0, 3) for i in range(40)]
    for found in (two_values, two_respondents):
        assert not surely_match(held(found)[0], BATCH, 3).any()


@settings(max_examples=examples(300))
@given(triples(3, 6), st.integers(2, 3), st.integers(2, 3))
def test_a_quick_yes_to_a_partition_is_true(found: Triples, k: int, wanted: int) -> None:
    holdings, respondents = held(found)
    surely = surely_allowed(BATCH, respondents, (holdings,), judges_of(class_requirements(k, wanted)), k)
    for yes, tuples in zip(surely.tolist(), SIDES, strict=True):
        holders = holders_in(found, tuples)
        people: set[int] = set().union(*holders.values())
        shared = any(held_by == people for held_by in holders.values())
        assert not yes or (len(people) >= k and len(holders) >= wanted and not shared)


@settings(max_examples=examples(200))
@given(triples(3, 6), st.integers(2, 3), st.integers(2, 3))
def test_diversity_of_both_sides_is_that_of_a_plain_loop(found: Triples, k: int, wanted: int) -> None:
    holdings, respondents = held(found)
    batch = Batch(np.arange(6), np.array([0, 6]))
    line = lay_out(batch, np.array([0, 0, 1, 2, 3, 3]))
    people = Members.of(batch, respondents).sides(line)
    columns = (ColumnSides(Diversity.of(batch, holdings), line),)
    both = HeldOnSides(line, people, columns, k, batch)
    allowed = np.all(
        [judge.may_meet_on_both_sides(both) for judge in judges_of(class_requirements(k, wanted))], axis=0
    )
    for group, end in enumerate((2, 3, 4)):
        sides = [holders_in(found, tuples) for tuples in (range(end), range(end, 6))]
        everyone = [set().union(*holders.values()) for holders in sides]
        assert [people[0][group], people[1][group]] == [len(who) for who in everyone]
        if min(len(who) for who in everyone) >= k:
            assert allowed[group] == all(
                min(len(holders), len(who)) >= wanted and who not in holders.values()
                for holders, who in zip(sides, everyone, strict=True)
            )


def transactions_like(seed: int) -> Problem:
    draw = np.random.default_rng(seed)
    rows: list[Row] = [
        ((int(a), int(b), int(c)), int(who), (int(value), int(other)))
        for a, b, c, who, value, other in zip(
            *draw.integers(0, 7, (3, 600)),
            draw.integers(0, 200, 600),
            draw.integers(0, 3, 600) ** 2,
            draw.integers(0, 30, 600),
            strict=True,
        )
    ]
    return make_problem(rows, False, k=4, l=3, cut_threshold=16)


@pytest.mark.parametrize("answer", ["quick", "never"])
@pytest.mark.parametrize("batch", [8, 64, 1 << 16])
def test_neither_quick_answers_nor_own_tables_change_the_result(
    monkeypatch: pytest.MonkeyPatch, answer: str, batch: int
) -> None:
    problem = transactions_like(3)
    whole = classes_of(problem)
    yes = 0

    def counted(batch: Batch, *arguments: object) -> np.ndarray:
        nonlocal yes
        surely = surely_allowed(batch, *arguments)
        yes += int(surely.sum())
        return surely if answer == "quick" else np.zeros_like(surely)

    monkeypatch.setattr(cuts, "surely_allowed", counted)
    if answer == "never":
        monkeypatch.setattr(
            distinct_values, "surely_match", lambda _, batch, wanted: np.zeros(batch.size, np.bool_)
        )
    monkeypatch.setattr("smalti.transforms.partitions.layout._BATCH", batch)
    assert classes_of(problem) == whole
    assert whole is not None
    assert len(whole) > 20
    assert yes > 10
