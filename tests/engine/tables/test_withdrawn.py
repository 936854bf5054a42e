"""Respondents who withdrew: found in every spelling, left out on both engines, checked by the verifier."""

from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from effort import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tables import HEADER, TARGET, People, permission, write_csv

from smalti.engine.anonymization.compile import compile_plan
from smalti.engine.anonymization.execute import execute
from smalti.engine.backends.base import Backend
from smalti.engine.backends.local import LocalBackend
from smalti.engine.binding.circumstances import Circumstances, Options
from smalti.engine.binding.kept_rows import leave_out_rows
from smalti.engine.plan.plan import OneRowEach, OutputFormat, Plan, RespondentColumn
from smalti.engine.plan.serialize import plan_digest
from smalti.engine.tables.description import ColumnDescription, Description, Source
from smalti.engine.tables.withdrawn import NOBODY, Withdrawn, keyed_with, sought_forms, stored_digests
from smalti.engine.verify.rows import _Forms
from smalti.engine.verify.verifier import Original, Output, Verification, verify_against, verify_run
from smalti.errors import DataError, GuaranteeError, PlanError
from smalti.policy.model.model import ColumnReference
from smalti.transforms.base import Datatype
from smalti.transforms.values.texts import ValueFormError, make_codebook
from smalti.vocab.terms import IRI

LOCAL = LocalBackend()
SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]
KEYED = keyed_with(b"a secret of thirty-two characters")
TYPES = {"age": Datatype.INTEGER, "born": Datatype.DATE}
ROME = "Europe/Rome"


def withdrawn(*respondents: str) -> Withdrawn:
    return Withdrawn(stored_digests(respondents, KEYED), frozenset({"who"}), KEYED)


def is_found(listed: str, held: str, datatype: Datatype, zone: str | None = None) -> bool:
    return withdrawn(listed).includes(sought_forms(held, datatype, zone))


# --- One value, however it is written --------------------------------------------------------------


@pytest.mark.parametrize(
    ("listed", "held", "datatype", "zone"),
    [
        ("ann", "ann", Datatype.STRING, None),
        ("007", "007", Datatype.STRING, None),
        ("7", "7.0", Datatype.DECIMAL, None),
        ("7.00", "7", Datatype.INTEGER, None),
        ("0.7e1", "7", Datatype.INTEGER, None),
        ("700", "7e2", Datatype.DOUBLE, None),
        ("-0.50", "-0.5", Datatype.DECIMAL, None),
        ("-0", "0", Datatype.INTEGER, None),
        ("0.1", "0.10000000000000001", Datatype.DOUBLE, None),
        ("0.10000000000000001", "0.1", Datatype.DOUBLE, None),
        ("9007199254740993", "9007199254740992.9", Datatype.DOUBLE, None),
        ("9007199254740993", "9007199254740992", Datatype.DOUBLE, None),
        ("-0.0", "0", Datatype.DOUBLE, None),
        ("1e-400", "0", Datatype.DOUBLE, None),
        ("2020-01-31", "2020-01-31", Datatype.DATE, None),
        ("2026-03-01T12:00:00Z", "2026-03-01 13:00+01:00", Datatype.DATETIME, None),
        ("2026-03-01T12:00:00Z", "2026-03-01T13:00", Datatype.DATETIME, ROME),
        ("2026-03-01T13:00", "2026-03-01T12:00:00.000Z", Datatype.DATETIME, ROME),
        ("2026-03-01T13:00", "2026-03-01 13:00:00", Datatype.DATETIME, None),
        ("2026-10-25T02:30", "2026-10-25T00:30:00Z", Datatype.DATETIME, ROME),
    ],
)
def test_each_spelling_of_a_value_is_found(
    listed: str, held: str, datatype: Datatype, zone: str | None
) -> None:
    assert is_found(listed, held, datatype, zone)


@pytest.mark.parametrize(
    ("listed", "held", "datatype", "zone"),
    [
        ("ann", "Ann", Datatype.STRING, None),
        ("7", "7.0", Datatype.STRING, None),
        ("7", "70", Datatype.INTEGER, None),
        ("7", "-7", Datatype.INTEGER, None),
        ("70", "7", Datatype.INTEGER, None),
        ("number:7e0", "7", Datatype.INTEGER, None),
        ("0.1", "0.10000000000000001", Datatype.DECIMAL, None),
        ("9007199254740993", "9007199254740992", Datatype.INTEGER, None),
        ("0.1", "0.10000000000000002", Datatype.DOUBLE, None),
        ("2026-03-01T12:00:00.000000001Z", "2026-03-01T12:00:00Z", Datatype.DATETIME, None),
        ("2026-03-01T12:00:00Z", "2026-03-01T12:00:00", Datatype.DATETIME, None),
        ("2026-10-25T02:30", "2026-10-25T01:30:00Z", Datatype.DATETIME, ROME),
    ],
)
def test_another_value_is_not_taken_for_it(
    listed: str, held: str, datatype: Datatype, zone: str | None
) -> None:
    assert not is_found(listed, held, datatype, zone)


SPELLINGS = st.one_of(
    st.from_regex(r"-?(0|[1-9][0-9]{0,3})(\.[0-9]{1,3})?([eE][+-]?[0-9]{1,2})?", fullmatch=True),
    st.from_regex(
        r"2026-(03|10)-(25|29)[T ]0[0-3]:[03]0(:00(\.[05]{1,9})?)?(Z|[+-]0[0-2]:00)?", fullmatch=True
    ),
    st.sampled_from(["0", "-0", "0.0e5", "7", "7.0", "70e-1", "ann", "1e-400", "4.9e-324", "5e-324"]),
    st.sampled_from(
        ["0.1", "0.10000000000000001", "0.10000000000000002", "9007199254740992", "9007199254740993"]
    ),
    st.sampled_from(
        ["2026-10-25T02:30", "2026-10-25T00:30Z", "2026-10-25T01:30Z", "2026-10-25 02:30+01:00"]
    ),
)


@settings(max_examples=examples(150, full=3000))
@given(SPELLINGS, SPELLINGS, st.sampled_from(list(Datatype)), st.sampled_from([None, ROME]))
def test_forms_agree_with_the_kernel_on_what_is_one_value(
    one: str, other: str, datatype: Datatype, zone: str | None
) -> None:
    """Whom the kernel counts as one respondent is one respondent here, and nobody else."""
    distinct = sorted({one, other})
    try:
        codes = make_codebook(pa.array(distinct, pa.string()), datatype, zone, has_missing=False).codes
    except ValueFormError:
        return
    assert is_found(one, other, datatype, zone) == (len(set(codes.tolist())) == 1)


@settings(max_examples=examples(150, full=3000))
@given(SPELLINGS, st.sampled_from(list(Datatype)), st.sampled_from([None, ROME, "America/New_York"]))
def test_the_verifier_makes_the_same_forms(text: str, datatype: Datatype, zone: str | None) -> None:
    assert sorted(_Forms(datatype, zone).of(text)) == sorted(sought_forms(text, datatype, zone))


def test_a_digest_depends_on_the_secret_and_shows_no_value() -> None:
    first, second = (stored_digests(["ann"], keyed_with(secret * 32)) for secret in (b"a", b"b"))
    assert first.isdisjoint(second)
    assert "ann" not in repr(withdrawn("ann"))


# --- Outputs ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Made:
    plan: Plan
    bytes: bytes
    link: list[int]
    original: Original
    output: Output
    link_file: Path


def make(
    backend: Backend, table: People, gone: Withdrawn, folder: Path, types: dict[str, Datatype] = TYPES
) -> Made | None:
    folder.mkdir(parents=True)
    (folder / "work").mkdir()
    data, output, link = folder / "people.csv", folder / "out.csv", folder / "link.npy"
    write_csv(data, HEADER, table.rows)
    described = Description(tuple(ColumnDescription(n, None, types.get(n), None) for n in HEADER))
    source = Source(TARGET, data, OutputFormat.CSV, described)
    with closing(backend.open(source, folder / "work")) as bound:
        plan = compile_plan(
            permission(table), source, bound, Options(table.cut_threshold), Circumstances(withdrawn=gone)
        )
        try:
            execute(plan, bound, output, link, lambda _: None)
        except GuaranteeError:
            assert not output.exists()
            return None
    original, published = Original(data, OutputFormat.CSV), Output(output, OutputFormat.CSV)
    verify_run(plan, original, published, link, gone.known_form)
    return Made(plan, output.read_bytes(), np.load(link).tolist(), original, published, link)


def rows_of(people: list[str]) -> list[list[str]]:
    return [
        [
            who,
            "",
            str(20 + n % 30),
            "1990-01-31",
            ("Rome", "Oslo")[n % 2],
            ("flu", "gout")[n // 2 % 2],
            "1.5",
        ]
        for n, who in enumerate(people)
    ]


def table_of(people: list[str]) -> People:
    return People(rows_of(people), 3, 1, 256, one_row_each=False)


EVERYBODY = [f"p{n % 20}" for n in range(60)]


@settings(max_examples=examples(12, full=250), suppress_health_check=SLOW)
@given(
    st.lists(st.sampled_from("abcdefghij"), min_size=1, max_size=40),
    st.sets(st.sampled_from("abcdefghijxy")),
)
def test_the_output_is_that_of_who_did_not_withdraw(people: list[str], gone: set[str]) -> None:
    """The oracle: a run on a file without their rows gives the same bytes, and the same plan."""
    import tempfile  # noqa: PLC0415

    table = table_of(people)
    rest = replace(table, rows=[row for row in table.rows if row[0] not in gone])
    with tempfile.TemporaryDirectory() as folder:
        without = make(LOCAL, table, withdrawn(*gone), Path(folder) / "without")
        alone = make(LOCAL, rest, NOBODY, Path(folder) / "alone")
    assert (without and without.bytes) == (alone and alone.bytes)
    if without is not None and alone is not None:
        assert without.plan == alone.plan
        assert sorted(without.link) == [i for i, who in enumerate(people) if who not in gone]


@pytest.mark.spark
def test_spark_leaves_out_the_same_people(spark: object, tmp_path: Path) -> None:
    from smalti.engine.backends.spark import SparkBackend  # noqa: PLC0415

    gone = withdrawn("p3", "p17", "nobody")
    here = make(LOCAL, table_of(EVERYBODY), gone, tmp_path / "local")
    there = make(SparkBackend(spark), table_of(EVERYBODY), gone, tmp_path / "spark")  # type: ignore[arg-type]
    assert here is not None
    assert there is not None
    assert (here.bytes, sorted(here.link)) == (there.bytes, sorted(there.link))


def test_spellings_of_one_respondent_leave_together(tmp_path: Path) -> None:
    people = ["7", "7.0", "70e-1", "70", *map(str, range(8, 40))]
    made = make(LOCAL, table_of(people), withdrawn("7.00"), tmp_path / "run", {"who": Datatype.DOUBLE})
    assert made is not None
    assert sorted(made.link) == list(range(3, len(people)))


def test_a_respondent_who_is_generalised_leaves_by_the_inferred_value(tmp_path: Path) -> None:
    """The kernel infers a quasi-identifier's datatype from the remaining rows: `7.0` is `7` then."""
    people = ["7", "7.0", "gone", *map(str, range(8, 40))]
    table = table_of(people)
    wanted = permission(table)
    assert wanted.anonymization is not None
    who = ColumnReference(IRI(f"{TARGET}/who"))
    changed = replace(
        wanted.anonymization, identifiers=(),
        quasi_identifiers=(who, *wanted.anonymization.quasi_identifiers),
    )  # fmt: skip
    (tmp_path / "work").mkdir()
    data = tmp_path / "people.csv"
    write_csv(data, HEADER, table.rows)
    source = Source(TARGET, data, OutputFormat.CSV, Description())
    gone = withdrawn("7", "gone")
    with closing(LOCAL.open(source, tmp_path / "work")) as bound:
        plan = compile_plan(
            replace(wanted, anonymization=changed), source, bound, Options(), Circumstances(withdrawn=gone)
        )
        assert plan.column("who").datatype is Datatype.INTEGER
        output, link = tmp_path / "out.csv", tmp_path / "link.npy"
        execute(plan, bound, output, link, lambda _: None)
    original, published = Original(data, OutputFormat.CSV), Output(output, OutputFormat.CSV)
    found = verify_run(plan, original, published, link, gone.known_form)
    assert (found.rows, found.rows_withdrawn) == (len(people) - 3, 3)


def test_the_plan_does_not_tell_who_or_how_many(tmp_path: Path) -> None:
    found = [
        make(LOCAL, table_of(EVERYBODY), withdrawn(*gone), tmp_path / str(n))
        for n, gone in enumerate([[], ["p1"], ["p2", "p3", "p4"], ["nobody"]])
    ]
    plans = [made.plan for made in found if made is not None]
    assert len(plans) == 4
    assert len({plan_digest(plan) for plan in plans}) == 1
    assert len(set(plans)) == 1


# --- Where nothing tells whose rows they are ---------------------------------------------------------


@pytest.mark.parametrize("one_row_each", [True, False])
def test_without_a_respondent_column_the_run_refuses(tmp_path: Path, one_row_each: bool) -> None:
    table = replace(table_of([f"p{n}" for n in range(60)]), one_row_each=True)
    wanted = permission(table)
    if not one_row_each:
        assert wanted.anonymization is not None
        wanted = replace(wanted, anonymization=replace(wanted.anonymization, one_row_each=False))
    with pytest.raises(PlanError, match="no column identifies their rows"):
        compile_for(wanted, table, tmp_path, Circumstances(withdrawn=withdrawn("p1")))


@pytest.mark.parametrize("inherited", [RespondentColumn("who"), OneRowEach(True), OneRowEach(False)])
def test_an_output_tells_nobody_any_more(tmp_path: Path, inherited: RespondentColumn | OneRowEach) -> None:
    """An output's column is not the one by which people were listed, whatever it is called."""
    table = table_of(EVERYBODY)
    circumstances = Circumstances(withdrawn=withdrawn("p1"), inherited=inherited)
    with pytest.raises(PlanError, match="no column identifies their rows"):
        compile_for(permission(table), table, tmp_path, circumstances)


def compile_for(wanted: object, table: People, folder: Path, circumstances: Circumstances) -> Plan:
    (folder / "work").mkdir()
    data = folder / "people.csv"
    write_csv(data, HEADER, table.rows)
    source = Source(TARGET, data, OutputFormat.CSV, Description())
    with closing(LOCAL.open(source, folder / "work")) as bound:
        return compile_plan(wanted, source, bound, Options(), circumstances)  # type: ignore[arg-type]


def test_a_row_without_a_respondent_is_not_taken_for_somebody_who_withdrew(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="a row has no respondent"):
        make(LOCAL, table_of(["", *EVERYBODY]), withdrawn("p1"), tmp_path / "run")


# --- The verifier ----------------------------------------------------------------------------------


@pytest.fixture
def made(tmp_path: Path) -> Made:
    found = make(LOCAL, table_of(EVERYBODY), withdrawn("p1", "p2"), tmp_path / "run")
    assert found is not None
    return found


def verified(made: Made, gone: Withdrawn) -> Verification:
    return verify_run(made.plan, made.original, made.output, made.link_file, gone.known_form)


def test_the_verifier_counts_who_is_left_out(made: Made) -> None:
    found = verified(made, withdrawn("p1", "p2", "nobody"))
    assert (found.rows, found.rows_withdrawn, found.rows_filtered, found.respondents) == (54, 6, 0, 18)
    again = verify_against(made.plan, made.original, made.output, withdrawn("p1", "p2").known_form)
    assert not isinstance(again, Verification) or again.rows_withdrawn == 6


@pytest.mark.parametrize(
    ("gone", "message"),
    [
        (["p1", "p2", "p3"], "or whose respondent withdrew"),
        (["p1"], "the plan keeps|others were lost"),
        ([], "the plan keeps|others were lost"),
        (["p1", "p4"], "or whose respondent withdrew"),
    ],
)
def test_another_list_is_told_apart(made: Made, gone: list[str], message: str) -> None:
    with pytest.raises(GuaranteeError, match=message) as caught:
        verified(made, withdrawn(*gone))
    assert "p3" not in str(caught.value)
    with pytest.raises(GuaranteeError):
        verify_against(made.plan, made.original, made.output, withdrawn(*gone).known_form)


def test_a_plan_that_tells_no_respondents_is_not_verified(made: Made, tmp_path: Path) -> None:
    plan = replace(made.plan, read=replace(made.plan.read, respondent=OneRowEach(True)))
    with pytest.raises(DataError, match="plan does not identify respondents"):
        verify_run(plan, made.original, made.output, made.link_file, withdrawn("p1", "p2").known_form)
    (tmp_path / "work").mkdir()
    source = Source(TARGET, made.original.path, OutputFormat.CSV, Description())
    with (
        closing(LOCAL.open(source, tmp_path / "work")) as bound,
        pytest.raises(PlanError, match="does not identify respondents"),
    ):
        leave_out_rows(plan, bound, withdrawn("p1"))


def test_a_recorded_plan_leaves_out_the_same_people(made: Made, tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    source = Source(TARGET, made.original.path, OutputFormat.CSV, Description())
    output, link = tmp_path / "again.csv", tmp_path / "again.npy"
    with closing(LOCAL.open(source, tmp_path / "work")) as bound:
        leave_out_rows(made.plan, bound, withdrawn("p1", "p2"))
        execute(made.plan, bound, output, link, lambda _: None)
    assert output.read_bytes() == made.bytes
