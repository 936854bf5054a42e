"""Each bad or unusual table has one outcome: on the local engine as it is defined, on Spark the same."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from bad_tables import LATER, REFUSED, TAKEN, written
from effort import every

sys.path.insert(0, str(Path(__file__).parents[2]))
from shell import CUSTOMER, MARKETING, OWNER, USER, listing, small_policy, small_table

from smalti import api
from smalti.engine.backends.base import Backend
from smalti.engine.backends.local import LocalRelations
from smalti.errors import DataError, GuaranteeError, SmaltiError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def attempt(folder: Path, data: Path, engine: Backend | str, out: str, **policy: Any) -> api.Outcome:
    return api.run(
        small_policy(folder, **policy), data={CUSTOMER: data}, party=USER, owner=OWNER,
        purpose=MARKETING, out=folder / out, registry=folder / f"{out}.sqlite", engine=engine,
    )  # fmt: skip


def refusal(folder: Path, data: Path, engine: Backend | str, **policy: Any) -> SmaltiError:
    """Why a run is refused; it leaves nothing."""
    small_policy(folder, **policy)
    before = listing(folder)
    with pytest.raises(SmaltiError) as caught:
        attempt(folder, data, engine, "out", **policy)
    assert listing(folder).keys() - before.keys() <= {"out.sqlite.secret"}
    return caught.value


def figures(outcome: api.Outcome) -> dict[str, object]:
    """What a run counted; each row of the file is accounted for."""
    assert outcome.report is not None
    report = outcome.report
    assert report.rows_in == report.rows_out + report.rows_filtered + report.rows_withdrawn
    return {
        name: getattr(report, name)
        for name in ("rows_in", "rows_out", "respondents", "classes", "k", "diversity", "losses")
    }


def published(outcome: api.Outcome) -> bytes:
    assert outcome.version is not None
    return (outcome.version.path / outcome.version.files[0].name).read_bytes()


@pytest.mark.parametrize("name", REFUSED)
def test_a_bad_table_is_refused(tmp_path: Path, name: str) -> None:
    case = REFUSED[name]
    error = refusal(tmp_path, case.make(tmp_path), "local", **case.policy)
    assert type(error) is case.error
    place = 0
    for part in case.told:
        assert part in str(error)[place:]
        place = str(error).index(part, place) + len(part)


@pytest.mark.parametrize("name", LATER)
def test_a_fault_further_on_in_a_file_is_told(tmp_path: Path, name: str) -> None:
    error = refusal(tmp_path, written(LATER[name])(tmp_path), "local")
    assert type(error) is DataError
    assert str(error).startswith("people.csv, record ")


@pytest.mark.parametrize("name", TAKEN)
def test_an_unusual_table_is_published_whole(tmp_path: Path, name: str) -> None:
    case = TAKEN[name]
    outcome = attempt(tmp_path, case.make(tmp_path), "local", "out", **case.policy)
    assert figures(outcome)["rows_out"] == 12
    assert published(outcome).count(b"\n") >= 13


def _on_spark(session: "SparkSession", fragments: int | None = None) -> Backend:
    from smalti.engine.backends.spark import SparkBackend  # noqa: PLC0415

    return SparkBackend(session, fragments)


@pytest.mark.parametrize("name", every(3, REFUSED))
def test_spark_refuses_a_bad_table_in_the_same_words(
    spark: "SparkSession", tmp_path: Path, name: str
) -> None:
    case = REFUSED[name]
    data = case.make(tmp_path)
    here, there = (refusal(tmp_path, data, on, **case.policy) for on in ("local", _on_spark(spark)))
    assert (type(there), str(there)) == (type(here), str(here))


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[] if i % 2 == 0 else pytest.mark.slow) for i, name in enumerate(LATER)],
)
@pytest.mark.parametrize("length", [100, pytest.param(37, marks=pytest.mark.slow)])
def test_spark_tells_the_same_of_a_fault_in_a_later_range(
    spark: "SparkSession", monkeypatch: pytest.MonkeyPatch, tmp_path: Path, length: int, name: str
) -> None:
    from smalti.engine.backends import spark_reading  # noqa: PLC0415

    data = written(LATER[name])(tmp_path)
    here = refusal(tmp_path, data, "local")
    monkeypatch.setattr(spark_reading, "RANGE_BYTES", length)
    there = refusal(tmp_path, data, _on_spark(spark))
    assert (type(there), str(there)) == (type(here), str(here))


@pytest.mark.parametrize(
    "name",
    [
        "no respondent in the third file",
        "no integer in the second file",
        "no integer, twice, after a line end in quotes",
    ],
)
def test_spark_tells_the_same_record_of_a_file_that_is_read_in_ranges(
    spark: "SparkSession", monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    from smalti.engine.backends import spark_reading  # noqa: PLC0415

    monkeypatch.setattr(spark_reading, "RANGE_BYTES", 50)
    error = refusal(tmp_path, REFUSED[name].make(tmp_path), _on_spark(spark))
    assert REFUSED[name].told[0] in str(error)


@pytest.mark.parametrize("asked", ["age", "city"])
def test_the_record_is_told_of_a_column_that_is_too_varied_for_numbers(tmp_path: Path, asked: str) -> None:
    """It is staged as text, and not even gathered where nobody asks for it."""
    rows = [[f"p{n}", f"{n}", "Rome", ("flu", "cold")[n % 2]] for n in range(6000)]
    rows[4500][1] = rows[5500][1] = "1_000"
    data = small_table(tmp_path, rows, datatypes={"age": "integer"})
    policy = {"quasi-identifier": ("isAllOf", [{"@id": f"{CUSTOMER}/{asked}"}])}
    error = refusal(tmp_path, data, "local", **policy)
    assert str(error).startswith("people.csv, column `age`, record 4501: a value is not a valid integer")


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[] if i == 0 else pytest.mark.slow)
        for i, name in enumerate(TAKEN)
    ],
)  # fmt: skip
def test_spark_publishes_an_unusual_table_alike(
    spark: "SparkSession", monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    from smalti.engine.backends import spark_reading  # noqa: PLC0415

    monkeypatch.setattr(spark_reading, "RANGE_BYTES", 100)
    case = TAKEN[name]
    data = case.make(tmp_path)
    here = attempt(tmp_path, data, "local", "here", **case.policy)
    there = attempt(tmp_path, data, _on_spark(spark), "there", **case.policy)
    assert published(there) == published(here)
    assert figures(there) == figures(here)


def test_a_row_that_the_local_engine_loses_ends_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = LocalRelations.publish

    def publish(self: LocalRelations, *more: Any) -> None:
        self.make("staged", "SELECT * FROM staged WHERE row > 0")
        real(self, *more)

    monkeypatch.setattr(LocalRelations, "publish", publish)
    assert "fewer rows than the plan keeps" in str(_refusal_of_twelve_rows(tmp_path, "local"))


def test_a_row_that_spark_loses_ends_the_run(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from smalti.engine.backends import spark_writing  # noqa: PLC0415

    real = spark_writing.write_parts
    monkeypatch.setattr(spark_writing, "write_parts", lambda frame, *more: real(frame.limit(11), *more))
    assert "fewer rows than the plan keeps" in str(_refusal_of_twelve_rows(tmp_path, _on_spark(spark)))


def _refusal_of_twelve_rows(folder: Path, engine: Backend | str) -> SmaltiError:
    case = TAKEN["a constant quasi-identifier"]
    error = refusal(folder, case.make(folder), engine)
    assert type(error) is GuaranteeError
    return error
