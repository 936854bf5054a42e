"""A declared double is the nearest float of 64 bits: however it is written, it is one value."""

import csv
from contextlib import closing
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from double_world import OWNER, TARGET, write
from effort import examples
from hypothesis import example, given, settings
from hypothesis import strategies as st
from shell import nobody_has

import smalti
from smalti.engine.losses.readings import identities
from smalti.engine.plan.plan import Column, Role
from smalti.engine.plan.reads import ReadColumn
from smalti.engine.verify.columns import Coded
from smalti.engine.verify.labels import by_value, canonical, coverage
from smalti.errors import DataError, SmaltiError
from smalti.transforms.base import Datatype
from smalti.transforms.values.texts import ValueFormError, keys, make_codebook
from smalti.vocab.terms import IRI

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TENTHS = ("0.1", "0.10000000000000001", "1e-1", "0.100000000000000001", "100.0E-3")
PAST_2_53 = ("9007199254740993", "9007199254740992", "9007199254740992.0", "9.007199254740993e15")
ZEROS = ("0", "-0", "-0.0", "0e5", "1e-400", "-1e-999")
LEAST = ("5e-324", "4.9e-324", "4.94065645841246544e-324", "3e-324")
SPELLINGS = st.one_of(
    st.sampled_from((*TENTHS, *PAST_2_53, *ZEROS, *LEAST, "0.10000000000000002", "1.7976931348623157e308")),
    st.floats(allow_nan=False, allow_infinity=False).map(repr).map(lambda text: text.replace("e+", "e")),
    st.from_regex(r"-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,20})?([eE][+-]?[0-2]?[0-9]{1,2})?", fullmatch=True)
    # What lies beyond all doubles is refused: `test_what_lies_beyond_all_doubles_is_none`.
    .filter(lambda text: isfinite(float(text))),
)


def column(datatype: Datatype = Datatype.DOUBLE) -> Column:
    return Column("c", IRI(f"{TARGET}/c"), datatype, False, Role.SENSITIVE, None)


@settings(max_examples=examples(100, full=3000))
@given(st.lists(SPELLINGS, min_size=1, max_size=12, unique=True))
@example([*TENTHS, *PAST_2_53, *ZEROS, *LEAST])
def test_all_parts_agree_with_the_floats(texts: list[str]) -> None:
    floats = [float(text) for text in texts]
    given_, large = pa.array(texts), pa.array(texts, pa.large_string())
    order = make_codebook(given_, Datatype.DOUBLE, None, has_missing=False).codes
    for found in (order, keys(given_, Datatype.DOUBLE, None)):
        assert all(
            (found[i] < found[j]) == (floats[i] < floats[j])
            for i in range(len(texts))
            for j in range(len(texts))
        )
    same = identities(given_, ReadColumn("c", IRI(f"{TARGET}/c"), Datatype.DOUBLE, None))
    verified = by_value(column(), Coded(np.arange(len(texts)), large))
    written = canonical(column(), large).to_pylist()
    for who in (list(range(len(texts))) if same is None else same.tolist(), verified.tolist(), written):
        assert all(
            (who[i] == who[j]) == (floats[i] == floats[j])
            for i in range(len(texts))
            for j in range(len(texts))
        )


@pytest.mark.parametrize("datatype", [Datatype.DECIMAL, Datatype.INTEGER])
def test_other_numbers_stay_exact(datatype: Datatype) -> None:
    texts = pa.array(["9007199254740993", "9007199254740992"])
    assert make_codebook(texts, datatype, None, has_missing=False).codes.tolist() == [2, 1]


@pytest.mark.parametrize("text", ["1e309", "-1e999", "1" * 100 + "e300"])
def test_what_lies_beyond_all_doubles_is_none(text: str) -> None:
    with pytest.raises(ValueFormError):
        make_codebook(pa.array([text, "1"]), Datatype.DOUBLE, None, has_missing=False)
    with pytest.raises(DataError):
        by_value(column(), Coded(np.array([0]), pa.array([text], pa.large_string())))


@pytest.mark.parametrize("text", TENTHS)
def test_a_label_covers_all_spellings_of_its_value(text: str) -> None:
    one = Coded(np.array([0]), pa.array([text], pa.large_string()))
    for label in ("0.1", "[0.1..0.1]", "[0.10000000000000001..0.2]"):
        published = Coded(np.array([0]), pa.array([label], pa.large_string()))
        assert coverage(column(), one, published).claims(published.codes, one.codes).all()


# --- Whole runs -----------------------------------------------------------------------------------


def run(folder: Path, out: str, engine: Any = "local", **more: Any) -> smalti.Outcome:
    return smalti.run(
        folder / "policy.jsonld",
        data={TARGET: folder / "people.csv"},
        party=OWNER,
        out=folder / out,
        registry=folder / "registry.sqlite",
        engine=engine,
        **more,
    )


def published(folder: Path, out: str) -> list[list[str]]:
    (place,) = (folder / out).glob("*.csv")
    with place.open(newline="") as file:
        return list(csv.reader(file))


ONE_PERSON = [(who, "41", illness) for who, illness in zip(TENTHS, ("1", "2", "3", "4", "5"), strict=True)]
ONE_ILLNESS = [(str(i), "41", one) for i, one in enumerate(PAST_2_53)]
MIXED = [
    (who, age, illness)
    for i, illness in enumerate(PAST_2_53[:2] + TENTHS[:2])
    for who, age in ((str(i), TENTHS[i]), (TENTHS[i], ZEROS[i]))
]


@pytest.mark.parametrize("rows", [ONE_PERSON, ONE_ILLNESS], ids=["person", "illness"])
def test_spellings_make_no_further_people_and_no_further_values(
    tmp_path: Path, rows: list[tuple[str, str, str]]
) -> None:
    write(tmp_path, rows)
    with pytest.raises(SmaltiError, match="cannot meet"):
        run(tmp_path, "out")


def test_what_is_published_stays_the_text(tmp_path: Path) -> None:
    write(tmp_path, MIXED)
    assert run(tmp_path, "out").version is not None
    header, *rows = published(tmp_path, "out")
    assert sorted(row[header.index("illness")] for row in rows) == sorted(row[2] for row in MIXED)
    smalti.verify(tmp_path / "out", registry=tmp_path / "registry.sqlite", data=tmp_path / "people.csv")


def test_an_overflow_is_refused_with_its_place(tmp_path: Path) -> None:
    write(tmp_path, [*MIXED, ("1e999", "1", "2")])
    with pytest.raises(SmaltiError, match=r"column `who`, record 9: a value is not a valid double"):
        run(tmp_path, "out")


def test_who_withdrew_is_left_out_in_every_spelling(tmp_path: Path) -> None:
    write(tmp_path, MIXED)
    run(tmp_path, "before")
    with closing(smalti.Registry.open(tmp_path / "registry.sqlite")) as registry:
        registry.withdraw(IRI(TARGET), [TENTHS[3]], by=IRI(OWNER), column="who")
        nobody_has(registry)
    run(tmp_path, "after")
    assert len(published(tmp_path, "before")) == 1 + len(MIXED)
    assert len(published(tmp_path, "after")) == 1 + sum(float(row[0]) != 0.1 for row in MIXED)


@pytest.mark.spark
def test_spark_publishes_the_same_bytes(spark: "SparkSession", tmp_path: Path) -> None:
    from smalti.engine.backends.spark import SparkBackend  # noqa: PLC0415

    write(tmp_path, MIXED)
    run(tmp_path, "here")
    run(tmp_path, "there", SparkBackend(spark))
    assert published(tmp_path, "here") == published(tmp_path, "there")
