"""Ranges whose ends are public bounds and cuts, from the policy's word to verifier and readers."""

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import cast

import numpy as np
import pytest
from effort import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from published_folders import write_folder
from tables import HEADER, TARGET, Made, People, make, people, permission, write_csv

import smalti
from smalti.engine.anonymization.label_bounds import RegionBinder
from smalti.engine.backends.local import LocalBackend
from smalti.engine.backends.staged import StagedTable
from smalti.engine.plan.plan import Column, OutputFormat, Role
from smalti.engine.plan.published_columns import DeclaredType, LabelForm
from smalti.engine.plan.recorded import plan_from_json
from smalti.engine.plan.serialize import plan_to_json
from smalti.engine.tables.description import ColumnDescription, Description
from smalti.engine.verify.verifier import Original, Output, verify_run
from smalti.errors import GuaranteeError, SmaltiError
from smalti.transforms.base import Datatype, class_requirements
from smalti.transforms.mondrian.kernel import StrictMondrian
from smalti.transforms.problem import SCALE, Problem, RegionAttribute
from smalti.transforms.values.label_reading import read_ranges
from smalti.transforms.values.regions import region_ends
from smalti.vocab.terms import IRI

REGION = {"labelBounds": "region"}
OF_AGE = {"labelBounds.age": "region"}
AGES = {"age": ("-10", "2000")}


def some_people(ages: list[str], k: int = 2) -> People:
    rows = [
        [str(i), "x", age, "", "Rome", ["flu", "gout", "cold"][i % 3], "1"] for i, age in enumerate(ages)
    ]
    return People(rows, k, 1, 256, True)


def verified(folder: Path, run: Made) -> None:
    original = Original(folder / "people.csv", OutputFormat.CSV)
    output = Output(folder / "out.csv", OutputFormat.CSV)
    verify_run(run.plan, original, output, folder / "link.npy")


def ages(run: Made) -> list[str]:
    return sorted({row[run.header.index("age")] for row in run.rows})


def test_cuts_lie_half_way_between_neighbours_and_outer_ends_are_the_bounds() -> None:
    attribute = RegionAttribute(np.array([-SCALE, 0, SCALE, 2 * SCALE]), np.array([20, 21, 40]), 0, 99, 0)
    around = np.array([[[0, 0], [2, 3]], [[2, 3], [0, 0]], [[1, 2], [2, 3]], [[0, 0], [0, 0]]])
    assert region_ends(attribute, around) == ([0, 31, 21, 0], [30, 99, 30, 99])


@pytest.mark.parametrize(
    ("of", "bounds", "expected"),
    [
        (["20", "21", "40", "41"], ("0", "99"), ["[0..30]", "[31..99]"]),
        (["20", "21", "22", "23"], ("0", "99"), ["[0..21]", "[22..99]"]),
        (["-4", "-3", "-2", "9"], ("-5", "9"), ["[-2..9]", "[-5..-3]"]),
        (["1", "2"], ("0", "9.5"), ["[0..9]"]),
        (["1", "2", "4", "9"], ("0.25", "9.50"), ["[1..3]", "[4..9]"]),
        (["5", "5"], ("5", "6"), ["[5..6]"]),
        (["5", "5", "", ""], ("0", "9"), ["", "[0..9]"]),
        (["5", "", "8"], ("0", "9"), ["[0..9|]"]),
        (["", ""], ("0", "9"), [""]),
        (["1", "1", "", "2", "2"], ("0", "9"), ["[0..1|]", "[2..9]"]),
    ],
)
def test_regions_by_hand(
    of: list[str], bounds: tuple[str, str], expected: list[str], tmp_path: Path
) -> None:
    run = make(LocalBackend(1), some_people(of), tmp_path / "run", words=OF_AGE, bounds={"age": bounds})
    assert run is not None
    verified(tmp_path / "run", run)
    assert ages(run) == expected


@pytest.mark.parametrize("one_row_each", [True, False])
def test_a_run_publishes_the_same_regions_for_every_number_of_fragments(
    one_row_each: bool, tmp_path: Path
) -> None:
    rows = [
        [str(i if one_row_each else i % 37), "x", "" if i % 11 == 0 else str(i * i % 83), "", "Oslo",
         ["flu", "gout", "cold"][i % 3], "1"]
        for i in range(90)
    ]  # fmt: skip
    outputs = set()
    for fragments in (1, 7):
        folder = tmp_path / str(fragments)
        table = People(rows, 3, 1, 4, one_row_each)
        run = make(LocalBackend(fragments), table, folder, words=OF_AGE, bounds=AGES)
        assert run is not None
        verified(folder, run)
        outputs.add(run.bytes)
        assert len(ages(run)) > 3
    assert len(outputs) == 1
    assert plan_from_json(plan_to_json(run.plan)) == run.plan


Box = tuple[tuple[Fraction, Fraction, bool], tuple[str, str], frozenset[str]]


def box_of(row: list[str], header: list[str]) -> Box:
    """The low and high end of the age and whether it may be missing, the ends of born, the cities."""
    age, born, city = (row[header.index(name)] for name in ("age", "born", "city"))
    ends = [part.strip("[|]") for part in (age or "1..0|").split("..")]
    low, high = Fraction(ends[0]), Fraction(ends[-1])
    days = born.strip("[|]").split("..")
    return (low, high, age == "" or age.endswith("|]")), (days[0], days[-1]), frozenset([city])


def are_apart(one: Box, other: Box) -> bool:
    (low, high, missing), born, city = one
    (other_low, other_high, other_missing), other_born, other_city = other
    return (
        ((high < other_low or other_high < low or low > high or other_low > other_high)
         and not (missing and other_missing))
        or born[1] < other_born[0]
        or other_born[1] < born[0]
        or city.isdisjoint(other_city)
    )  # fmt: skip


@settings(max_examples=examples(20), deadline=None, suppress_health_check=[*HealthCheck])
@given(table=people(), more=st.lists(st.integers(-9, 1999), max_size=30))
def test_regions_cover_what_they_stand_for_and_their_ends_are_bounds_or_cuts(
    table: People, more: list[int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """By an oracle that looks at the published file and the original alone."""
    added = [
        [f"m{i}", "", str(age), "", "Rome", "flu" if i % 2 else "gout", ""] for i, age in enumerate(more)
    ]
    table = People([*table.rows, *added], table.k, table.l, table.cut_threshold, table.one_row_each)
    folder = tmp_path_factory.mktemp("regions") / "run"
    run = make(LocalBackend(1), table, folder, words=OF_AGE, bounds=AGES)
    if run is None:
        return
    verified(folder, run)
    place = HEADER.index("age")
    values = sorted({int(row[place]) for row in table.rows if row[place]})
    middles = {(a + b) // 2 for a, b in combinations(values, 2)}
    for row, source in zip(run.rows, run.link, strict=True):
        (low, high, missing), _, _ = box_of(row, run.header)
        text = table.rows[source][place]
        assert low <= int(text) <= high if text else missing
        if low <= high:
            assert low == -10 or low - 1 in middles
            assert high == 2000 or high in middles


def test_regions_are_followed_through_batches_of_partitions() -> None:
    """More tuples than are looked at together: neighbours on one line end where the next one begins."""
    numbers = np.sort(np.random.default_rng(1).choice(10**6, 70_000, replace=False))
    attribute = RegionAttribute(np.concatenate(([-SCALE], numbers * SCALE // 10**6)), numbers, -5, 10**6, 0)
    codes = np.arange(1, len(numbers) + 1)
    problem = Problem(
        codes[:, np.newaxis], np.ones(len(codes), np.int64), (attribute,), None, (),
        class_requirements(50, None), 256,
    )  # fmt: skip
    made = StrictMondrian().generalised(problem)
    assert made is not None
    (around,) = made.cuts_around
    assert around is not None
    low, high = region_ends(attribute, around)
    classes = made.portions.classes
    assert (np.array(low)[classes] <= numbers).all()
    assert (numbers <= np.array(high)[classes]).all()
    assert sorted(low) == [-5, *(end + 1 for end in sorted(high)[:-1])]


@settings(max_examples=examples(12), deadline=None, suppress_health_check=[*HealthCheck])
@given(of=st.lists(st.integers(0, 60), min_size=4, max_size=60), k=st.integers(2, 4))
def test_no_number_between_the_bounds_is_left_out_or_in_two_regions(
    of: list[int], k: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """One column, so that its regions are all that there is."""
    folder = tmp_path_factory.mktemp("regions") / "run"
    table = some_people([str(age) for age in of], k)
    run = make(LocalBackend(1), table, folder, words=OF_AGE, bounds={"age": ("0", "99")})
    if run is None:
        return
    verified(folder, run)
    boxes = {box_of(row, run.header) for row in run.rows}
    assert all(are_apart(*pair) for pair in combinations(boxes, 2))
    assert sum(high - low + 1 for (low, high, _), _, _ in boxes) == 100


def test_what_nobody_chose_to_show_is_not_in_a_label(tmp_path: Path) -> None:
    """The extremes of the table are in no label: another table with others has the same output."""
    inner = ["40", "41", "43", "44", "45"]
    outputs = set()
    for name, outer in (("a", ["18", "97"]), ("b", ["30", "61"])):
        table = some_people([outer[0], *inner, outer[1]], 4)
        run = make(LocalBackend(1), table, tmp_path / name, words=OF_AGE, bounds={"age": ("0", "120")})
        assert run is not None
        outputs.add(run.bytes)
    assert len(outputs) == 1


CHANGES: list[Callable[[str], str]] = [
    lambda text: text.replace("99", "98"),
    lambda text: text.replace("[0.", "[1."),
    lambda text: text.replace("[31", "[30"),
    lambda text: text.replace("[31", "[40"),
    lambda text: text.replace("..30", "..21"),
    lambda text: text.replace("..30", "..30.5"),
    lambda text: text.replace("[0..30]", "20"),
    lambda text: text.replace("[31..99]", "[3e1..99]"),
    lambda text: text.replace("[31..99]", "[31..98.9]"),
]


@pytest.mark.parametrize("change", CHANGES)
def test_an_end_that_is_no_bound_and_no_cut_is_refused(
    change: Callable[[str], str], tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    table = some_people(["20", "21", "40", "41"])
    run = make(LocalBackend(1), table, folder, words=OF_AGE, bounds={"age": ("0", "99")})
    assert run is not None
    verified(folder, run)
    rows = [[change(text) for text in row] for row in run.rows]
    assert rows != run.rows
    order = sorted(range(len(rows)), key=lambda number: rows[number])
    write_csv(folder / "out.csv", run.header, [rows[number] for number in order])
    np.save(folder / "link.npy", np.array(run.link)[order])
    with pytest.raises(GuaranteeError):
        verified(folder, run)


@pytest.mark.parametrize(
    ("words", "bounds", "problem"),
    [
        (OF_AGE, {}, "has no public bounds"),
        (REGION, AGES, "which the column `born` cannot have"),
        (OF_AGE, {"age": ("0", "40")}, "lie outside its public bounds"),
        (OF_AGE, {"age": ("21", "99")}, "lie outside its public bounds"),
        ({"labelBounds.born": "region"}, {}, "which the column `born` cannot have"),
        ({"labelBounds.city": "region"}, {}, "which the column `city` cannot have"),
        ({"labelBounds.illness": "region"}, {}, "for a column that is not generalised"),
        ({**OF_AGE, "outputForm.age": "mean"}, AGES, "which the column `age` cannot have"),
        ({**OF_AGE, "outputForm.city": "prefix"}, AGES, "beside the column `city`"),
        ({**OF_AGE, "dimensionality": "single"}, AGES, "not implemented yet for this technique"),
        ({**OF_AGE, "partitioning": "relaxed"}, AGES, "not implemented yet for this technique"),
        ({**OF_AGE, "partitioning": "improved"}, AGES, "not implemented yet for this technique"),
        (OF_AGE, {"age": ("0", "1" + "0" * 100)}, "too long for a region"),
        ({**REGION, "algorithm": "incognito"}, AGES, "no column is published as ranges"),
        (
            {**REGION, "outputForm.age": "mean", "outputForm.born": "median"},
            AGES,
            "no column is published as ranges",
        ),
    ],
)
def test_what_cannot_have_regions_is_refused_by_name(
    words: dict[str, str], bounds: dict[str, tuple[str, str]], problem: str, tmp_path: Path
) -> None:
    table = some_people(["20", "21", "40", "41"])
    table.rows[0][HEADER.index("born")] = "1990-01-01"
    with pytest.raises(SmaltiError, match=problem) as refused:
        make(LocalBackend(1), table, tmp_path / "run", words=words, bounds=bounds)
    assert not any(value in str(refused.value) for value in ("20", "21", "41"))


def test_bounds_from_the_data_are_refused() -> None:
    problems: list[SmaltiError] = []
    wanted = permission(some_people([]), OF_AGE).anonymization
    assert wanted is not None
    described = ColumnDescription(
        "age", None, Datatype.INTEGER, None, lower=Decimal(0), upper=Decimal(99), is_derived=True
    )
    column = Column("age", IRI(f"{TARGET}/age"), Datatype.INTEGER, False, Role.QUASI_IDENTIFIER)
    binder = RegionBinder(wanted, Description((described,)), problems)
    assert binder.bound((column,), cast(StagedTable, None)) == (column,)
    assert "were taken from the data" in str(problems[0])


def test_first_cuts_from_a_sample_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SmaltiError, match="requested first cuts from a sample"):
        make(
            LocalBackend(1), some_people(["20", "21"]), tmp_path / "run", words=OF_AGE, sampled=2,
            bounds=AGES,
        )  # fmt: skip


def test_observed_is_what_columns_have_anyway(tmp_path: Path) -> None:
    table = some_people(["20", "21", "40", "41"])
    plain = make(LocalBackend(1), table, tmp_path / "a")
    stated = make(LocalBackend(1), table, tmp_path / "b", words={"labelBounds": "observed"}, bounds=AGES)
    assert plain is not None
    assert stated is not None
    assert plain.plan == stated.plan


def test_regions_are_read_as_ranges(tmp_path: Path) -> None:
    columns = {"a": ["[0..30]", "[31..99|]", "12.5"]}
    stated = [DeclaredType("a", Datatype.DECIMAL)]
    table = smalti.read_published(
        write_folder(tmp_path / "out", columns, {"a": LabelForm.REGIONS}, stated), decimals="exact"
    )
    assert table["a.low"].to_pylist() == [Decimal(0), Decimal(31), Decimal("12.5")]
    assert table["a.high"].to_pylist() == [Decimal(30), Decimal(99), Decimal("12.5")]
    assert table["a.missing"].to_pylist() == [False, True, False]
    assert read_ranges(table["a.low"].cast("large_string").combine_chunks()).low is not None
