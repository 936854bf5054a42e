"""Two descriptions have equal content where they say the same of data, and only there."""

from dataclasses import fields, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from smalti.engine.plan.hierarchies import DeclaredHierarchy, OrderedList
from smalti.engine.plan.plan import OutputFormat
from smalti.engine.tables.csvw_dialect import Dialect
from smalti.engine.tables.description import ColumnDescription, Description, Source
from smalti.engine.tables.description_content import NOT_OF_DATA, description_content
from smalti.engine.tables.formats import NumberFormat, date_format, number_format
from smalti.engine.tables.reading import Contents
from smalti.transforms.base import Datatype
from smalti.vocab.terms import IRI

TABLE = IRI("http://example.com/table")
ORDERED = DeclaredHierarchy(OrderedList(("a", "b"), (2,)))
AGE = ColumnDescription("age", None, None, None)
OF_COLUMN: dict[str, Any] = {
    "iri": IRI("http://example.com/years"), "datatype": Datatype.INTEGER, "time_zone": "Europe/Rome",
    "is_required": True, "most_values": 2, "values": ("a", "b"), "lower": Decimal(0), "upper": Decimal(9),
    "unit": Decimal(1), "most_groups": 1, "is_derived": True, "image_size": (2, 3),
    "nulls": frozenset({"?"}), "format": date_format("dd/MM/yyyy"), "hierarchy": ORDERED,
}  # fmt: skip
OF_TABLE: dict[str, Any] = {
    "columns": (replace(AGE, is_required=True),), "key": ("age",), "most_rows": 2, "most_contributions": 2,
    "dialect": Dialect(skipped_rows=1), "nulls": frozenset({"?"}),
}  # fmt: skip


def content(description: Description, stated: Datatype | None = None) -> bytes:
    source = Source(TABLE, Path("t.csv"), OutputFormat.CSV, description)
    return description_content(source, Contents(("age", "city"), 1, ("sha256:0",), (stated, None)))


def of_age(**said: Any) -> bytes:
    return content(Description((replace(AGE, **said),)))


NOTHING = content(Description())


def test_every_word_of_a_column_counts() -> None:
    assert {field.name for field in fields(ColumnDescription)} == {"name", *OF_COLUMN}
    contents = {name: of_age(**{name: value}) for name, value in OF_COLUMN.items()}
    assert len({NOTHING, *contents.values()}) == 1 + len(OF_COLUMN)


def test_every_word_of_a_table_counts() -> None:
    assert {field.name for field in fields(Description)} == {*NOT_OF_DATA, *OF_TABLE}
    contents = {name: content(Description(**{name: value})) for name, value in OF_TABLE.items()}
    assert len({NOTHING, *contents.values()}) == 1 + len(OF_TABLE)


@pytest.mark.parametrize(
    ("word", "one", "other"),
    [
        ("values", ("a", "b"), ("b", "a")),
        ("format", date_format("dd/MM/yyyy"), date_format("MM/dd/yyyy")),
        ("hierarchy", ORDERED, replace(ORDERED, stated=OrderedList(("b", "a"), (2,)))),
        ("hierarchy", ORDERED, replace(ORDERED, is_derived=True)),
        ("upper", Decimal(9), Decimal(10)),
        (
            "format",
            number_format(NumberFormat(), whole=False, exponent=False),
            number_format(NumberFormat(","), whole=False, exponent=False),
        ),
    ],
)
def test_a_word_with_another_value_is_another(word: str, one: Any, other: Any) -> None:
    assert of_age(**{word: one}) != of_age(**{word: other})


def test_what_says_the_same_is_the_same() -> None:
    assert of_age() == NOTHING, "a column that is named and no more"
    assert content(Description(dialect=Dialect())) == NOTHING
    assert content(Description(source="other.json", respondent="age", one_row_each=True)) == NOTHING
    assert of_age(iri=IRI(f"{TABLE}/age")) == NOTHING, "the IRI that it has anyway"
    assert of_age(datatype=Datatype.INTEGER) == content(Description(), Datatype.INTEGER)
    city = replace(AGE, name="city", unit=Decimal(1))
    assert content(Description((AGE, city))) == content(Description((city, AGE)))
    of_all = Description(nulls=frozenset({"?"}))
    one_by_one = [replace(AGE, name=name, nulls=frozenset({"?"})) for name in ("age", "city")]
    assert content(of_all) == content(Description(tuple(one_by_one)))
