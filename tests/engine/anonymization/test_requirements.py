"""The contract of requirements, for each entry of their tables and for one that lives in tests alone.

Kernel, cuts in SQL and verifier judge every small class alike, by code that they do not share.
"""

import itertools
import pickle
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pytest
from toys import EVEN, EvenValues, toys

from smalti.engine.anonymization import side_judges
from smalti.engine.anonymization.cut_queries import FACTS, Layout, Line
from smalti.engine.anonymization.first_cuts import FirstCuts, Terms
from smalti.engine.anonymization.guarantee import describe_guarantee, limits
from smalti.engine.anonymization.side_judges import side_judges_of
from smalti.engine.anonymization.sides import Window
from smalti.engine.backends.local import LocalRelations
from smalti.engine.verify import recounts
from smalti.engine.verify.against import _counted
from smalti.engine.verify.classes import group
from smalti.engine.verify.count import ClassCount
from smalti.engine.verify.promise import Counted, Promise, check_counted
from smalti.engine.verify.recount import Edges, Recount
from smalti.engine.verify.recounts import recounts_of
from smalti.errors import GuaranteeError, InternalError
from smalti.transforms.base import OF_POPULATION, CutScore, Guarantee, Requirement
from smalti.transforms.mondrian.cuts import Laid, Scene, Table
from smalti.transforms.mondrian.kernel import Search
from smalti.transforms.mondrian.sampling import surely_allowed
from smalti.transforms.partitions.held import OneClass, OneColumn
from smalti.transforms.partitions.layout import Batch
from smalti.transforms.problem import (
    Incidence,
    OrderedAttribute,
    Problem,
    SensitiveIncidence,
    UnorderedAttribute,
)
from smalti.transforms.requirements import registry
from smalti.transforms.requirements.judge import ClassJudge
from smalti.transforms.requirements.registry import REQUIREMENTS, judges_of

__all__ = ["toys"]
pytestmark = pytest.mark.usefixtures("toys")

Pairs = frozenset[tuple[int, int]]
"""A class: (respondent, value), where a respondent may have several values."""

EXAMPLES = [
    pytest.param(Requirement(kind.name, parameters), id=f"{kind.name} {parameters}".removesuffix(" ()"))
    for kind in (*REQUIREMENTS, EvenValues)
    if not kind.weighs  # those are judged in `test_weights`
    if kind.name not in OF_POPULATION  # and those in `test_population`
    for parameters in kind.examples
]
each_requirement = pytest.mark.parametrize("requirement", EXAMPLES)
each_sharing = pytest.mark.parametrize("pairs_together", [1, 2], ids=["one pair each", "shared tuples"])
each_way = pytest.mark.parametrize("one_row_each", [False, True], ids=["respondents", "one row each"])


def classes_of(people: int, values: int) -> list[Pairs]:
    """Every class of so many respondents at most, each with some of so many values."""
    some = [set(c) for n in range(values + 1) for c in itertools.combinations(range(values), n)]
    found = (
        frozenset((who, value) for who, held in enumerate(each) for value in held)
        for each in itertools.product(some, repeat=people)
    )
    return [pairs for pairs in found if pairs]


@cache
def small_classes(one_row_each: bool) -> list[Pairs]:
    """Every class of up to four respondents and three values, but for the names of respondents."""
    found = (
        frozenset(enumerate_again(pairs))
        for pairs in classes_of(4, 3)
        if not one_row_each or is_one_row_each(pairs)
    )
    return list(dict.fromkeys(found))


def enumerate_again(pairs: Pairs) -> Iterator[tuple[int, int]]:
    held = sorted(sorted(v for r, v in pairs if r == who) for who in {r for r, _ in pairs})
    return ((who, value) for who, values in enumerate(held) for value in values)


def is_one_row_each(pairs: Pairs) -> bool:
    return len(pairs) == len({who for who, _ in pairs})


def pieces(one_row_each: bool) -> list[Pairs]:
    """What cuts divide: every class of up to three respondents and two values."""
    return [pairs for pairs in classes_of(3, 2) if not one_row_each or is_one_row_each(pairs)]


@cache
def lines(one_row_each: bool) -> list[tuple[Pairs, ...]]:
    """Each two of them along a line, and each three of two respondents; rows of one may be in several.

    Respondents and values of the first are numbered in one way only. Beside these, every class of three
    respondents and three values on both sides of a class in which each has a value of their own, and of one
    in which each has all.
    """
    few = [pairs for pairs in classes_of(2, 2) if not one_row_each or is_one_row_each(pairs)]
    whole = pieces(one_row_each)
    large = [pairs for pairs in small_classes(one_row_each) if max(pairs)[0] < 3]
    own, every = frozenset((i, i) for i in range(3)), frozenset(itertools.product(range(3), repeat=2))
    others = [own] if one_row_each else [own, every]
    return [
        *itertools.product(filter(is_first_of_its_kind, whole), whole),
        *itertools.product(filter(is_first_of_its_kind, few), few, few),
        *itertools.product(large, others),
        *itertools.product(others, large),
    ]


def is_first_of_its_kind(pairs: Pairs) -> bool:
    """Whether no other numbers of respondents and values make it less."""
    numbered = (
        sorted((people[who], values[value]) for who, value in pairs)
        for people in itertools.permutations(range(3))
        for values in itertools.permutations(range(2))
    )
    return sorted(pairs) == min(numbered)


def side(parts: Iterable[Pairs], one_row_each: bool) -> Pairs:
    """Parts together; where each row is another respondent, no two of them are the same."""
    if not one_row_each:
        return frozenset().union(*parts)
    rows = [value for part in parts for _, value in sorted(part)]
    return frozenset(enumerate(rows))


def one_class(pairs: Pairs, one_row_each: bool) -> OneClass:
    people = len({who for who, _ in pairs})
    if one_row_each:
        return OneClass(people, (OneColumn(np.unique([value for _, value in pairs]), None),))
    who, values = (np.array(column, np.int64) for column in zip(*sorted(pairs), strict=True))
    return OneClass(people, (OneColumn(values, who),))


def judge_of(requirement: Requirement) -> ClassJudge:
    (judge,) = judges_of([requirement])
    return judge


def is_met(requirement: Requirement, pairs: Pairs, one_row_each: bool) -> bool:
    return judge_of(requirement).meets(one_class(pairs, one_row_each))


# --- The tables


def test_each_table_has_the_same_requirements() -> None:
    names = [kind.name for kind in registry.REQUIREMENTS]
    assert len(set(names)) == len(names)
    assert sorted(names) == sorted(kind.name for kind in recounts.RECOUNTS)
    # Populations are not cut in SQL.
    assert sorted({*names} - OF_POPULATION) == sorted(kind.name for kind in side_judges.SIDE_JUDGES)


def test_a_requirement_that_nobody_knows_is_refused() -> None:
    unknown = [Requirement("unknown")]
    for table in (judges_of, recounts_of, side_judges_of):
        with pytest.raises(InternalError):
            table(unknown)


@each_requirement
def test_a_judge_is_a_value_with_words(requirement: Requirement) -> None:
    judge = judge_of(requirement)
    assert pickle.loads(pickle.dumps(judge)) == judge
    assert judge.requirement == requirement
    for words in (judge.statement("respondents"), judge.statement("rows"), judge.rule, *judge.limits):
        assert words
        assert not words.endswith(".")
    assert judge.addition("rows").startswith(", and ")
    assert (judge.parameters is None) == (requirement.parameters == ())


# --- What each requirement means


def plain(requirement: Requirement, pairs: Pairs) -> bool:
    """The words of the house's semantics, by trying everything."""
    people, values = {who for who, _ in pairs}, {value for _, value in pairs}
    match requirement.name, requirement.parameters:
        case "respondents", (k,):
            return len(people) >= k
        case "not held by all", ():
            return not any({who for who, held in pairs if held == value} == people for value in values)
        case "distinct values", (l,):
            return any(
                set(zip(chosen, some, strict=True)) <= pairs
                for some in itertools.combinations(values, l)
                for chosen in itertools.permutations(people, l)
            )
        case name, () if name == EVEN:
            return len(values) % 2 == 0
    raise NotImplementedError


@each_requirement
@each_way
def test_the_kernel_means_what_is_said(requirement: Requirement, one_row_each: bool) -> None:
    judged = {pairs: is_met(requirement, pairs, one_row_each) for pairs in small_classes(one_row_each)}
    assert judged == {pairs: plain(requirement, pairs) for pairs in judged}
    assert set(judged.values()) == {False, True}


@each_requirement
@each_way
def test_no_class_with_fewer_respondents_meets_it(requirement: Requirement, one_row_each: bool) -> None:
    fewest = judge_of(requirement).fewest_respondents
    for pairs in small_classes(one_row_each):
        if is_met(requirement, pairs, one_row_each):
            assert len({who for who, _ in pairs}) >= fewest


@each_requirement
@each_way
def test_merging_keeps_it_exactly_where_it_says_so(requirement: Requirement, one_row_each: bool) -> None:
    broken = any(
        is_met(requirement, one, one_row_each)
        and is_met(requirement, other, one_row_each)
        and not is_met(requirement, side((one, other), one_row_each), one_row_each)
        for some in (
            pieces(one_row_each),
            [pairs for pairs in classes_of(2, 3) if not one_row_each or is_one_row_each(pairs)],
        )
        for one, other in itertools.combinations_with_replacement(some, 2)
    )
    kept = judge_of(requirement).is_kept_by_merging(has_respondents=not one_row_each, sensitive=1)
    assert kept is not broken


@each_requirement
def test_names_of_respondents_and_values_do_not_matter(requirement: Requirement) -> None:
    for pairs in small_classes(False):
        renamed = frozenset((9 - who, (value + 1) % 3) for who, value in pairs)
        assert is_met(requirement, renamed, False) is is_met(requirement, pairs, False)


# --- The kernel


def problem_of(
    partitions: list[tuple[Pairs, ...]],
    requirements: tuple[Requirement, ...],
    one_row_each: bool,
    pairs_together: int,
) -> tuple[Problem, Batch]:
    """Partitions side by side; the code of a tuple is its part, of which it has so many pairs at most."""
    rows = [
        (number, place, nth // pairs_together, who, value)
        for number, parts in enumerate(partitions)
        for place, pairs in enumerate(parts)
        for nth, (who, value) in enumerate(sorted(pairs))
    ]
    of_row = np.array(rows, np.int64)
    tuples, first, tuple_of, weights = np.unique(
        of_row[:, :3], axis=0, return_index=True, return_inverse=True, return_counts=True
    )
    tuple_of, who, value = tuple_of.reshape(-1), of_row[:, 3], of_row[:, 4]
    numbers = np.arange(len(tuples))
    place = of_row[first, 1]
    held = [tuple_of, value] if one_row_each else [tuple_of, value, who]
    sensitive = np.unique(np.column_stack(held), axis=0)
    respondents = np.unique(np.column_stack([tuple_of, who]), axis=0)
    problem = Problem(
        np.column_stack([place, numbers]),
        weights,
        (UnorderedAttribute(int(place.max()) + 1), UnorderedAttribute(len(tuples))),
        None if one_row_each else Incidence(respondents[:, 0], respondents[:, 1]),
        (SensitiveIncidence(sensitive[:, 0], sensitive[:, 1], None if one_row_each else sensitive[:, 2]),),
        requirements,
        256,
    )
    return problem, Batch(numbers, np.searchsorted(tuples[:, 0], np.arange(len(partitions) + 1)))


@each_requirement
@each_way
@each_sharing
def test_the_kernel_judges_many_classes_as_one(
    requirement: Requirement, one_row_each: bool, pairs_together: int
) -> None:
    small = small_classes(one_row_each)
    problem, batch = problem_of([(pairs,) for pairs in small], (requirement,), one_row_each, pairs_together)
    table = Table.of(problem)
    meets = np.array([is_met(requirement, pairs, one_row_each) for pairs in small])
    assert Search(table).allowed(batch).tolist() == meets.tolist()
    may_meet = Scene(table, batch).allowed
    (judge,) = table.judges
    assert (may_meet >= meets).all()
    if judge.is_decided_by_counts(has_respondents=not one_row_each):
        assert may_meet.tolist() == meets.tolist()
    assert (meets >= (judge.surely_meets(batch, table.sensitive, table.of_values) & may_meet)).all()
    if table.respondents is not None:
        surely = surely_allowed(batch, table.respondents, table.sensitive, table.judges, 2)
        assert (may_meet >= surely).all()


@each_requirement
@each_way
@each_sharing
def test_the_kernel_judges_both_sides_of_cuts_as_classes(
    requirement: Requirement, one_row_each: bool, pairs_together: int
) -> None:
    whole = lines(one_row_each)
    problem, batch = problem_of(whole, (requirement,), one_row_each, pairs_together)
    scene = Scene(Table.of(problem), batch)
    laid = Laid.of(scene, 0)
    (judge,) = scene.table.judges
    is_decided = judge.is_decided_by_counts(has_respondents=not one_row_each)
    place = laid.line.node, laid.scene.codes(0)[laid.line.order[laid.line.begins]]
    cuts = zip(*(numbers.tolist() for numbers in place), laid.allowed.tolist(), strict=True)
    # Unordered values stand by falling weight: what is left of a group is what stands before it.
    before: list[Pairs] = []
    last = -1
    judged = 0
    for node, code, allowed in cuts:
        before, last = ([] if node != last else before), node
        before.append(whole[node][code])
        after = list(whole[node])
        for part in before:
            after.remove(part)
        if not after:
            assert not allowed
            continue
        both = all(
            is_met(requirement, side(parts, one_row_each), one_row_each) for parts in (before, after)
        )
        assert allowed == both if is_decided else allowed >= both
        judged += 1
    assert judged >= len(whole)


# --- Cuts in SQL


@pytest.fixture(scope="module", params=[False, True], ids=["respondents", "one row each"])
def laid_out(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LocalRelations]:
    """The facts of `lines`; what was taken once is kept, for requirements take the same counts."""
    relations = LocalRelations(tmp_path_factory.mktemp("relations"))
    relations.give(FACTS, facts_of(lines(request.param), request.param))
    relations.take = cache(relations.take)  # type: ignore[method-assign]
    with closing(relations):
        yield relations


@each_requirement
def test_sql_judges_both_sides_of_cuts_as_classes(
    requirement: Requirement, laid_out: LocalRelations
) -> None:
    one_row_each = "u" not in laid_out.take(f"SELECT * FROM {FACTS} LIMIT 1").column_names
    whole = lines(one_row_each)
    judges = side_judges_of([requirement])
    assert judges is not None
    attribute = OrderedAttribute(np.arange(3))
    terms = Terms((attribute,), not one_row_each, 1, judges, 0, CutScore.CERTAINTY_PENALTY, None, 0)
    cuts = FirstCuts(laid_out, terms)
    layout = Layout({i: Line(i, 0) for i in range(len(whole))}, [True], cuts._others)
    sides = cuts._sides(layout, {i: Window(0, len(parts) - 1) for i, parts in enumerate(whole)})
    for place in range(2):
        # Each cut by itself, though another may be nearer to the median.
        asked = {
            line: replace(found, allowed=found.allowed & (found.places == place), struck=set())
            for line, found in sides.items()
            if len(whole[line]) > place + 1
        }
        for line, found_place in cuts._met(layout, asked).items():
            both = all(
                is_met(requirement, side(some, one_row_each), one_row_each)
                for some in (whole[line][: place + 1], whole[line][place + 1 :])
            )
            assert (found_place == place) == both, whole[line]


def facts_of(partitions: list[tuple[Pairs, ...]], one_row_each: bool) -> pa.Table:
    rows = [
        (node, place, who, value)
        for node, parts in enumerate(partitions)
        for place, pairs in enumerate(parts)
        for who, value in sorted(pairs)
    ]
    node, place, who, value = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    facts = {"node": node, "q0": place, "u": who, "v0": value, "n": np.ones(len(rows), np.int64)}
    return pa.table({name: column for name, column in facts.items() if name != "u" or not one_row_each})


@each_requirement
@each_way
def test_sql_judges_the_whole_where_merging_may_break_it(
    requirement: Requirement, one_row_each: bool, tmp_path: Path
) -> None:
    judges = side_judges_of([requirement])
    assert judges is not None
    shape = {"has_respondents": not one_row_each, "sensitive": 1}
    is_kept = judge_of(requirement).is_kept_by_merging(**shape)
    with closing(LocalRelations(tmp_path)) as relations:
        for pairs in pieces(one_row_each):
            relations.give(FACTS, facts_of([(pairs,)], one_row_each))
            found = judges[0].whole_meets(relations, **shape)
            meets = is_met(requirement, pairs, one_row_each)
            assert found >= meets if is_kept else found == meets


# --- The verifier


def is_verified(requirement: Requirement, counted: Counted, *, by_rows: bool = False) -> bool:
    promise = Promise(("q", "v"), ("q",), ("v",), (), Guarantee("toy", 2))
    try:
        check_counted(promise, counted, recounts_of([requirement], by_rows=by_rows))
    except GuaranteeError:
        return False
    return True


def columns_of(pairs: Pairs) -> tuple[np.ndarray, np.ndarray]:
    who, values = zip(*sorted(pairs), strict=True)
    return np.array(who), np.array(values)


@each_requirement
@each_way
def test_the_verifier_judges_in_memory_as_the_kernel(requirement: Requirement, one_row_each: bool) -> None:
    for pairs in small_classes(one_row_each):
        who, values = columns_of(pairs)
        classes = group([np.zeros(len(values), np.int64)])
        counted = _counted(classes, who, {"v": values}, recounts_of([requirement]))
        assert is_verified(requirement, counted) == is_met(requirement, pairs, one_row_each)


@each_way
def test_the_verifier_judges_in_sql_as_in_memory(one_row_each: bool, tmp_path: Path) -> None:
    """Each class beside one that meets everything: four respondents with another value each."""
    good = frozenset((who, who) for who in range(4))
    requirements = [
        Requirement(kind.name, p)
        for kind in registry.REQUIREMENTS
        if not kind.weighs
        for p in kind.examples
    ]
    assert all(is_met(requirement, good, one_row_each) for requirement in requirements)
    small = {frozenset(enumerate_again(pairs)) for pairs in pieces(one_row_each)}
    assert len(small) > 5
    for pairs in small:
        rows = [(number, who, value) for number, c in enumerate((good, pairs)) for who, value in sorted(c)]
        number, who, value = (np.array(column) for column in zip(*rows, strict=True))
        table = pa.table({"k0": number, "v0": value, "r": 10 * number + who})
        if one_row_each:
            table = table.drop_columns("r").append_column("n", pa.array(np.ones(len(rows), np.int64)))
        with closing(ClassCount(tmp_path)) as count:
            count.add(table)
            counted = count.counted(recounts_of(requirements))
        for requirement in requirements:
            assert is_verified(requirement, counted) == is_met(requirement, pairs, one_row_each), (
                requirement
            )


@each_requirement
def test_rows_alone_refute_no_class_of_respondents_that_meets_it(requirement: Requirement) -> None:
    assert is_never_refuted_by_rows(requirement)


def is_never_refuted_by_rows(requirement: Requirement) -> bool:
    """Whether rows refute no class that meets it; some pair may be said by several rows."""
    judging = recounts_of([requirement], by_rows=True)
    for pairs in small_classes(False):
        if not is_met(requirement, pairs, False):
            continue
        _, values = columns_of(pairs)
        for often in (np.ones(len(values), np.int64), *(1 + 5 * np.eye(len(values), dtype=np.int64))):
            rows = values.repeat(often)
            classes = group([np.zeros(len(rows), np.int64)])
            counted = _counted(classes, np.arange(len(rows)), {"v": rows}, judging)
            if not is_verified(requirement, counted, by_rows=True):
                return False
    return True


class HalfAtMost(EvenValues):
    """No value has more than half of all (respondent, value) pairs of a class."""

    __slots__ = ()

    name: ClassVar[str] = "half at most"

    def meets(self, held: OneClass) -> bool:
        return all(2 * np.bincount(column.values).max() <= len(column.values) for column in held.columns)


class RecountedHalfAtMost(Recount):
    """The same for the verifier."""

    __slots__ = ()

    name: ClassVar[str] = "half at most"
    looks_at_classes: ClassVar[bool] = True

    def meets(self, edges: Edges) -> bool:
        return bool(2 * np.bincount(edges.values).max() <= len(edges.values))


def test_the_contract_notices_rows_that_wrongly_refute(monkeypatch: pytest.MonkeyPatch) -> None:
    """With each pair in one row, rows tell the same as pairs; only repeated rows show the mistake."""
    monkeypatch.setattr(registry, "REQUIREMENTS", (*registry.REQUIREMENTS, HalfAtMost))
    monkeypatch.setattr(recounts, "RECOUNTS", (*recounts.RECOUNTS, RecountedHalfAtMost))
    assert not is_never_refuted_by_rows(Requirement("half at most"))
    monkeypatch.setattr(RecountedHalfAtMost, "rows_refute", False)
    assert is_never_refuted_by_rows(Requirement("half at most"))


class RecountedMultiples(Recount):
    """The number of different values is a multiple of a parameter."""

    __slots__ = ()

    name: ClassVar[str] = "multiples"
    looks_at_classes: ClassVar[bool] = True

    def meets(self, edges: Edges) -> bool:
        return len(set(edges.values.tolist())) % int(self.requirement.parameters[0]) == 0


def test_two_promises_with_one_name_are_two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recounts, "RECOUNTS", (*recounts.RECOUNTS, RecountedMultiples))
    twos, threes = (Requirement("multiples", (number,)) for number in (2, 3))
    both = recounts_of([twos, threes])
    classes, who, values = group([np.zeros(4, np.int64)]), np.arange(4), np.array([0, 0, 1, 1])
    with closing(ClassCount(tmp_path)) as count:
        count.add(pa.table({"k0": classes.ids, "v0": values, "r": who}))
        in_sql = count.counted(both)
    for counted in (_counted(classes, who, {"v": values}, both), in_sql):
        assert is_verified(twos, counted)
        assert not is_verified(threes, counted)
        promise = Promise(("q", "v"), ("q",), ("v",), (), Guarantee("toy", 2))
        with pytest.raises(GuaranteeError, match=r"promise about `v` \(multiples 3\)"):
            check_counted(promise, counted, both)


def test_what_rows_cannot_refute_is_not_asked_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recounts.RecountedValues, "rows_refute", False)
    asked = Guarantee("l-diversity", 2, 2)
    promise = Promise(("q", "v"), ("q",), ("v",), (), asked)
    assert [each.name for each in promise.recounts()] == [each.name for each in asked.requirements]
    assert [each.name for each in promise.recounts(by_rows=True)] == ["respondents", "not held by all"]


# --- Words


def test_a_guarantee_says_what_its_requirements_say() -> None:
    guarantee = Guarantee("even-anonymity", 3, None, (Requirement(EVEN),))
    assert describe_guarantee(guarantee, ("illness",)) == (
        "each combination of published quasi-identifiers belongs to at least 3 respondents; within it,"
        " each sensitive column by itself has an even number of different values, and none that all of them"
        " hold"
    )
    assert "anything at all" in limits(guarantee, (), ())
    assert not any("most, but not all" in line for line in limits(guarantee, (), ()))
