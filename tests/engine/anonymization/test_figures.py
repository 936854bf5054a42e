"""Means and medians of classes, from the policy's word to verifier and readers."""

from dataclasses import replace
from decimal import ROUND_HALF_EVEN, Decimal, localcontext
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import pyarrow as pa
import pytest
from effort import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from published_folders import write_folder
from tables import TARGET, Made, People, coded, make, people, permission, write_csv

import smalti
from smalti.engine.anonymization.output_forms import stated_forms, with_decimals
from smalti.engine.backends.local import LocalBackend
from smalti.engine.backends.staged import StagedTable
from smalti.engine.plan.plan import Column, OutputForm, OutputFormat, Role
from smalti.engine.plan.published_columns import DeclaredType, LabelForm
from smalti.engine.plan.recorded import plan_from_json
from smalti.engine.plan.serialize import plan_to_json
from smalti.engine.verify.verifier import Original, Output, verify_run
from smalti.errors import DataError, GuaranteeError, SmaltiError
from smalti.transforms.base import Datatype, Figure
from smalti.transforms.problem import FigureAttribute, OrderedAttribute, RowWeights
from smalti.transforms.values.label_reading import read_figures
from smalti.transforms.values.labels import class_labels
from smalti.transforms.values.texts import ValueFormError, keys, unit_places
from smalti.vocab.terms import IRI

MEAN, MEDIAN = Figure.MEAN, Figure.MEDIAN
BOTH = {"outputForm.age": "mean", "outputForm.born": "median"}


def labels_of(
    texts: list[str | None],
    classes: list[int],
    figure: Figure,
    datatype: Datatype = Datatype.INTEGER,
    people: list[int] | None = None,
) -> list[str | None]:
    """The labels of each class, where each text is one row of a respondent."""
    book, codes = coded(texts, datatype)
    assert isinstance(book.attribute, OrderedAttribute)
    places = unit_places(book.texts, datatype)
    attribute = FigureAttribute(
        book.attribute.positions, figure, keys(book.texts, datatype, None), places, places,
        datatype is Datatype.DATE,
    )  # fmt: skip
    rows = np.ones(len(texts), np.int64)
    who = np.arange(len(texts)) if people is None else np.array(people)
    weights = RowWeights.by_respondent(np.arange(len(texts)), who, rows)
    labels: list[str | None] = class_labels(
        replace(book, attribute=attribute), codes, np.array(classes), weights
    ).to_pylist()
    return labels


@pytest.mark.parametrize(
    ("texts", "datatype", "mean", "median"),
    [
        (["1", "2", "6"], Datatype.INTEGER, "[~3]", "[~2]"),
        (["1", "2"], Datatype.INTEGER, "[~2]", "[~2]"),  # half to even
        (["2", "3"], Datatype.INTEGER, "[~2]", "[~2]"),
        (["-1", "0"], Datatype.INTEGER, "[~0]", "[~0]"),
        (["1", "2", "6", None], Datatype.INTEGER, "[~3|]", "[~2|]"),
        ([None, None], Datatype.INTEGER, None, None),
        (["0.25", "-1"], Datatype.DECIMAL, "[~-0.38]", "[~-0.38]"),
        (["-0.04", "0.03"], Datatype.DECIMAL, "[~0.00]", "[~0.00]"),
        (["1e1", "0.5"], Datatype.DOUBLE, "[~5.2]", "[~5.2]"),
        (["12345678901234567890.1", "0.1"], Datatype.DECIMAL,
         "[~6172839450617283945.1]", "[~6172839450617283945.1]"),
        (["1969-12-31", "1970-01-02", "1970-01-04"], Datatype.DATE, "[~1970-01-02]", "[~1970-01-02]"),
        (["1970-01-02", "1970-01-03"], Datatype.DATE, "[~1970-01-03]", "[~1970-01-03]"),
    ],
)  # fmt: skip
def test_figures_are_exact_and_rounded_half_to_even(
    texts: list[str | None], datatype: Datatype, mean: str | None, median: str | None
) -> None:
    classes = [0] * len(texts)
    assert labels_of(texts, classes, MEAN, datatype) == [mean]
    assert labels_of(texts, classes, MEDIAN, datatype) == [median]


@pytest.mark.parametrize(("texts", "decimals"), [(["1e2", "3E2"], 0), (["1e2", "0.5"], 1)])
def test_doubles_that_are_multiples_of_ten_have_whole_figures(texts: list[str], decimals: int) -> None:
    staged = cast(StagedTable, SimpleNamespace(texts=lambda _: pa.array(texts, pa.large_string())))
    column = Column(
        "a", IRI(f"{TARGET}/a"), Datatype.DOUBLE, False, Role.QUASI_IDENTIFIER, form=OutputForm.MEAN
    )
    problems: list[SmaltiError] = []
    assert with_decimals((column,), staged, problems) == (replace(column, decimals=decimals),)
    assert not problems


def test_one_respondent_with_many_rows_weighs_as_much_as_another() -> None:
    texts, who = ["0", "0", "0", "0", "10"], [0, 0, 0, 0, 1]
    assert labels_of(list(texts), [0] * 5, MEAN, people=who) == ["[~5]"]
    assert labels_of(list(texts), [0] * 5, MEDIAN, people=who) == ["[~5]"]
    # Its other rows in the table count, wherever they are.
    assert labels_of(list(texts), [0, 1, 1, 1, 0], MEAN, people=who) == ["[~8]", "[~0]"]


def brute_force(held: list[tuple[Decimal | None, Fraction]], figure: Figure, places: int) -> str | None:
    present = [(Fraction(number), share) for number, share in held if number is not None]
    if not present:
        return None
    total = sum(share for _, share in present)
    value = sum((number * share for number, share in present), Fraction(0)) / total
    if figure is MEDIAN:
        # Between the least and the greatest of those that are nearest to all.
        costs = {m: sum(abs(m - number) * share for number, share in present) for m, _ in present}
        least = [m for m, cost in costs.items() if cost == min(costs.values())]
        value = (min(least) + max(least)) / 2
    with localcontext(prec=80):
        decimal = Decimal(value.numerator) / Decimal(value.denominator)
        text = format(decimal.quantize(Decimal(1).scaleb(-places), ROUND_HALF_EVEN), "f")
    text = text.removeprefix("-") if not Decimal(text) else text
    return f"[~{text}|]" if len(present) < len(held) else f"[~{text}]"


ROW = st.tuples(
    st.one_of(st.none(), st.decimals("-2", "9", places=1)), st.integers(0, 2), st.integers(0, 3)
)


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(ROW, min_size=1, max_size=12), st.sampled_from([MEAN, MEDIAN]))
def test_figures_equal_brute_force_and_are_read_again(
    rows: list[tuple[Decimal | None, int, int]], figure: Figure
) -> None:
    _, classes = np.unique(np.array([number for _, number, _ in rows]), return_inverse=True)
    texts = [None if number is None else str(number) for number, _, _ in rows]
    who = [person for _, _, person in rows]
    labels = labels_of(texts, classes.tolist(), figure, Datatype.DECIMAL, who)
    places = 1 if any(texts) else 0
    for number, label in enumerate(labels):
        held = [
            (value, Fraction(1, who.count(person)))
            for (value, _, person), of in zip(rows, classes, strict=True)
            if of == number
        ]
        assert label == brute_force(held, figure, places)
        if label is not None:
            read = read_figures(pa.array([label], pa.large_string()))
            assert read.or_missing.to_pylist() == [any(value is None for value, _ in held)]
            assert label == f"[~{read.texts[0]}{'|' * read.or_missing[0].as_py()}]"


@pytest.mark.parametrize("label", ["1", "[1..2]", "[~]", "[~1", "[~1||]", "{~1}", "[~1..2|x]"])
def test_what_is_no_figure_is_refused(label: str) -> None:
    with pytest.raises(ValueFormError):
        read_figures(pa.array([label], pa.large_string()))


# --- Runs


def some_people(one_row_each: bool) -> People:
    rows = [
        [str(i if one_row_each else i % 37), "x", "" if i % 11 == 0 else str(i * i % 83),
         f"19{50 + i * 7 % 45}-0{1 + i % 9}-11", "", ["flu", "gout", "cold"][i % 3], "1"]
        for i in range(90)
    ]  # fmt: skip
    return People(rows, 3, 1, 4, one_row_each)


def verified(folder: Path, found: Made) -> None:
    original = Original(folder / "people.csv", OutputFormat.CSV)
    output = Output(folder / "out.csv", OutputFormat.CSV)
    verify_run(found.plan, original, output, folder / "link.npy")


@pytest.mark.parametrize(
    "words", [BOTH, {**BOTH, "dimensionality": "single"}, {**BOTH, "partitioning": "relaxed"}]
)
@pytest.mark.parametrize("one_row_each", [True, False])
def test_a_run_publishes_figures_that_the_verifier_accepts_for_every_number_of_fragments(
    words: dict[str, str], one_row_each: bool, tmp_path: Path
) -> None:
    outputs = {}
    for fragments in (1, 2, 7):
        folder = tmp_path / str(fragments)
        found = make(LocalBackend(fragments), some_people(one_row_each), folder, words=words)
        assert found is not None
        verified(folder, found)
        outputs[fragments] = found.bytes
        assert {row[found.header.index("age")][:2] for row in found.rows} <= {"", "[~"}
        assert any(row[found.header.index("age")].endswith("|]") for row in found.rows)
    assert outputs[1] == outputs[2] == outputs[7]
    assert plan_from_json(plan_to_json(found.plan)) == found.plan


@settings(max_examples=examples(15), deadline=None, suppress_health_check=[*HealthCheck])
@given(
    table=people(),
    variant=st.sampled_from([{}, {"dimensionality": "single"}, {"partitioning": "improved"}]),
    form=st.sampled_from(["mean", "median"]),
    fragments=st.sampled_from([1, 4]),
)
def test_whatever_classes_show_alike_has_that_figure_together(
    table: People,
    variant: dict[str, str],
    form: str,
    fragments: int,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("figures") / "run"
    words = {"outputForm.age": form, "outputForm.born": "mean", **variant}
    found = make(LocalBackend(fragments), table, folder, words=words)
    if found is not None:
        verified(folder, found)


CHANGES = [
    ("age", lambda text: "[~0]"),
    ("age", lambda text: text.replace("|", "") if "|" in text else text.replace("]", "|]")),
    ("age", lambda text: text.strip("[~|]")),
    ("age", lambda text: text.replace("]", ".0]").replace("|.0", ".0|")),
    ("born", lambda text: "[~1970-01-01]"),
]


@pytest.mark.parametrize(("column", "change"), CHANGES)
def test_another_figure_is_refused(column: str, change: object, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    found = make(LocalBackend(1), some_people(False), folder, words=BOTH)
    assert found is not None
    assert callable(change)
    verified(folder, found)
    # The class that stands last, so that the order stays: it is changed as a whole.
    place = found.header.index(column)
    rows = [*found.rows]
    changed = change(rows[-1][place])
    for number, row in enumerate(rows):
        if row[:2] == rows[-1][:2] or number == len(rows) - 1:
            rows[number] = [changed if i == place else text for i, text in enumerate(row)]
    order = sorted(range(len(rows)), key=lambda number: [text.encode() for text in rows[number]])
    write_csv(folder / "out.csv", found.header, [rows[number] for number in order])
    np.save(folder / "link.npy", np.array(found.link)[order])
    with pytest.raises(GuaranteeError, match="is not the m"):
        verified(folder, found)


def test_a_figure_by_rows_is_refused_where_respondents_weigh(tmp_path: Path) -> None:
    """What a mean of rows would say: one of two respondents has nine rows of 0."""
    rows = [["a", "x", "0", "", "", ["flu", "gout"][i % 2], "1"] for i in range(9)]
    rows.append(["b", "x", "100", "", "", "cold", "1"])
    folder = tmp_path / "run"
    found = make(LocalBackend(1), People(rows, 2, 1, 4, False), folder, words={"outputForm.age": "mean"})
    assert found is not None
    assert {row[found.header.index("age")] for row in found.rows} == {"[~50]"}
    text = (folder / "out.csv").read_text(encoding="utf-8")
    (folder / "out.csv").write_text(text.replace("[~50]", "[~10]"), encoding="utf-8")
    with pytest.raises(GuaranteeError, match="is not the mean"):
        verified(folder, found)


# --- Words, plans and readers


def test_forms_must_fit_their_columns() -> None:
    column = Column("born", IRI(f"{TARGET}/born"), Datatype.DATETIME, False, Role.QUASI_IDENTIFIER)
    for datatype, fits in ((Datatype.DATETIME, False), (Datatype.STRING, False), (Datatype.DOUBLE, True)):
        wanted = permission(People([], 2, 1, 4, True), {"outputForm.born": "median"}).anonymization
        problems: list[SmaltiError] = []
        assert wanted is not None
        (formed,) = stated_forms(wanted, (replace(column, datatype=datatype),), problems)
        assert [error.expected.partition(";")[0] for error in problems] == (
            [] if fits else ["numbers or dates without a hierarchy"]
        )
        assert (formed.form is OutputForm.MEDIAN) == fits


def test_figures_are_read_as_what_stands_in_the_middle(tmp_path: Path) -> None:
    columns = {"a": ["[~3]", None, "[~-4|]"], "b": ["[~1.50]", "[~0.00]", None], "d": ["[~1970-01-02]"] * 3}
    forms = {"a": LabelForm.MEANS, "b": LabelForm.MEDIANS, "d": LabelForm.MEANS}
    stated = [DeclaredType("a", Datatype.INTEGER), DeclaredType("d", Datatype.DATE)]
    table = smalti.read_published(write_folder(tmp_path / "out", columns, forms, stated))
    assert table["a.mid"].to_pylist() == [3.0, None, -4.0]
    assert table["a.low"].null_count == table["a.high"].null_count == 3
    assert table["a.missing"].to_pylist() == [False, True, True]
    assert table["b.mid"].to_pylist() == [1.5, 0.0, None]
    assert table["a.low"].type == pa.int64()
    assert str(table["d.mid"][0]) == "1970-01-02"
    exact = smalti.read_published(tmp_path / "out", decimals="exact", columns=["b"])
    assert exact["b.mid"].to_pylist() == [Decimal("1.50"), Decimal("0.00"), None]


def test_what_is_no_label_is_refused_by_the_reader_of_published_tables(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "out", {"a": ["[1..2]"]}, {"a": LabelForm.MEANS}, [])
    with pytest.raises(DataError, match="no label"):
        smalti.read_published(folder)
