"""Single techniques beside classes: what is published and promised, and what the verifier refuses."""

import csv
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from effort import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from masking_world import CALENDAR, DATATYPES, HEADER, TARGET, Row, expected_cell, noisy, people
from stub_sampler import StubSampler

from smalti.engine.anonymization.beside import mask_rows
from smalti.engine.anonymization.execute import execute
from smalti.engine.backends.base import Backend
from smalti.engine.backends.local import LocalBackend
from smalti.engine.plan.masks import AtLevel, Coded, Mask, RareCells, Recoded
from smalti.engine.plan.plan import (
    Apply,
    Column,
    OutputFormat,
    Plan,
    Read,
    RespondentColumn,
    Role,
    Select,
    Write,
)
from smalti.engine.plan.recorded import plan_from_json
from smalti.engine.plan.serialize import plan_to_json
from smalti.engine.tables.sources import bind
from smalti.engine.verify.verifier import Original, Output, Verification, verify_run
from smalti.errors import GuaranteeError
from smalti.transforms import transform_class
from smalti.transforms.base import Asked, Datatype
from smalti.transforms.class_models import ClassModels, Diversity
from smalti.vocab.terms import IRI

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOCAL = LocalBackend()
TREES = {"born": CALENDAR}
AGE, PAY = Coded("age", "44", "18", "top- and bottom-coding"), Coded("pay", "100", None, "top-coding")
ROLES = {"age": Role.QUASI_IDENTIFIER, "pay": Role.SENSITIVE, "city": Role.MASKED}


def plan_of(mask: Mask, roles: dict[str, Role] = ROLES, k: int = 2, l: int = 2) -> Plan:  # noqa: E741
    trees = {each.column: CALENDAR.in_plan for each in mask.columns if isinstance(each, AtLevel)}
    columns = tuple(
        Column(
            name,
            IRI(f"{TARGET}/{name}"),
            DATATYPES.get(name, Datatype.STRING),
            False,
            roles.get(name, Role.UNLISTED),
            hierarchy=trees.get(name),
        )
        for name in HEADER
    )
    names = {role: tuple(c.name for c in columns if c.role is role) for role in Role}
    kind = transform_class("l-diversity" if l > 1 else "k-anonymity", "mondrian")
    asked = Asked(k, l, names[Role.QUASI_IDENTIFIER], names[Role.SENSITIVE])
    kept = tuple(each.name for each in columns if each.role.is_published)
    dropped = tuple(each.name for each in columns if not each.role.is_published)
    output = Write(IRI("http://example.com/beside"), kept, OutputFormat.CSV)
    read = Read(TARGET, columns, RespondentColumn("who"))
    return Plan(read, Select(kept, dropped), Apply(kind.of(asked)), output, mask=mask)


@dataclass(frozen=True)
class Made:
    """What a run wrote."""

    plan: Plan
    folder: Path

    @property
    def bytes(self) -> bytes:
        return (self.folder / "out" / "published").read_bytes()

    @property
    def rows(self) -> list[Row]:
        with (self.folder / "out" / "published").open(encoding="utf-8", newline="") as file:
            _, *rows = csv.reader(file)
        return [*map(tuple, rows)]

    @property
    def origins(self) -> list[int]:
        origins: list[int] = np.load(self.folder / "link.npy").tolist()
        return origins

    def verified(self) -> Verification:
        output = Output.in_folder(self.folder / "out", OutputFormat.CSV)
        original = Original(self.folder / "people.csv", OutputFormat.CSV)
        return verify_run(self.plan, original, output, self.folder / "link.npy", hierarchies=TREES)

    def tampered(self, change: Callable[[list[Row], list[int]], None]) -> "Made":
        """The same run, as if it had written other rows; they stand in their order."""
        rows, origins = self.rows, self.origins
        change(rows, origins)
        pairs = sorted(zip(rows, origins, strict=True), key=lambda each: [t.encode() for t in each[0]])
        with (self.folder / "out" / "published").open("w", encoding="utf-8", newline="") as file:
            header = self.plan.write.columns
            csv.writer(file, lineterminator="\n").writerows([header, *(row for row, _ in pairs)])
        np.save(self.folder / "link.npy", np.array([origin for _, origin in pairs], np.int64))
        return self


def made(backend: Backend, rows: Sequence[Row], plan: Plan, folder: Path, seed: int = 1) -> Made:
    (folder / "out").mkdir(parents=True)
    (folder / "work").mkdir()
    with (folder / "people.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([HEADER, *rows])
    with closing(backend.open(bind(TARGET, folder / "people.csv"), folder / "work")) as table:
        mask_rows(plan, table, TREES, None, StubSampler(seed))
        link = folder / "link.npy"
        execute(plan.once_masked, table, folder / "out" / "published", link, lambda _: None, TREES)
    return Made(plan, folder)


def holds(label: str, text: str) -> bool:
    """Whether a label of ages covers one of them."""
    if not text or not label:
        return not text and (not label or label.endswith("|]"))
    if not label.startswith("["):
        return int(label) == int(text)
    low, high = label.strip("[]|").split("..")
    return (not low or int(low) <= int(text)) and (not high or int(text) <= int(high))


def by_value(text: str) -> object:
    """Equal for equal numbers, in whatever spelling."""
    return text if not text or ".." in text else Decimal(text)


def closed_ends(label: str) -> set[int]:
    return {int(end) for end in label.strip("[]|").split("..") if end}


SENSITIVE = [PAY, Recoded("pay", Decimal("2.5"), "0"), RareCells("pay", 2)]
BESIDE = [AGE, Recoded("age", Decimal(7), "3"), RareCells("age", 2)]
EXAMPLE: list[Row] = [
    (f"p{n}", str(10 + 3 * n), f"{40 * (n % 4)}.0", f"19{20 + n}-05-01", "Rome" if n % 5 else "Oslo")
    for n in range(20)
]


@settings(
    max_examples=examples(15), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(people(least=6), st.sampled_from(SENSITIVE), st.sampled_from([None, Decimal("0.6")]))
def test_classes_of_masked_rows_are_what_a_reader_counts(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[Row],
    pay: Coded | Recoded | RareCells,
    rate: Decimal,
) -> None:
    plan = plan_of(Mask((AGE, pay, RareCells("city", 2)), rate))
    try:
        run = made(LOCAL, rows, plan, tmp_path_factory.mktemp("beside"))
    except GuaranteeError:
        return
    verification = run.verified()
    assert verification.rows + verification.rows_not_sampled == len(rows)
    sampled = {rows[origin][0] for origin in run.origins}
    assert {n for n, row in enumerate(rows) if row[0] in sampled} == set(run.origins)
    classes: dict[str, dict[str, set[object]]] = defaultdict(lambda: defaultdict(set))
    for (age, shown_pay, city), origin in zip(run.rows, run.origins, strict=True):
        row = rows[origin]
        assert holds(age, row[1])
        assert all(18 <= end <= 44 for end in closed_ends(age))
        assert city == expected_cell(RareCells("city", 2), row[4], rows, False)
        assert shown_pay == expected_cell(pay, row[2], rows, False)
        classes[age][row[0]].add(by_value(shown_pay))
    assert rate is not None or len(sampled) == len({row[0] for row in rows})
    for members in classes.values():
        assert len(members) >= 2
        assert len(set().union(*members.values())) >= 2


@settings(
    max_examples=examples(15), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(people(least=6), st.sampled_from(BESIDE), st.sampled_from([1, 2]))
def test_suppressed_records_beside_coded_columns_are_those_that_a_reader_misses(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Row], age: Coded | Recoded | RareCells, least: int
) -> None:
    """Values are masked first, so that frequencies count suppressed records too."""
    roles = {"born": Role.QUASI_IDENTIFIER, "pay": Role.SENSITIVE, "city": Role.MASKED, "age": Role.MASKED}
    plan = plan_of(Mask((age, RareCells("city", 2))), roles, l=least)
    kind = transform_class("l-diversity" if least > 1 else "k-anonymity", "incognito")
    choices = {"suppression_limit": "0.5"}
    columns = tuple(
        replace(each, hierarchy=CALENDAR.in_plan) if each.name == "born" else each
        for each in plan.read.columns
    )
    apply = Apply(kind.of(Asked(2, least, ("born",), ("pay",), choices=choices)))
    plan = replace(plan, apply=apply, read=replace(plan.read, columns=columns))
    try:
        run = made(LOCAL, rows, plan, tmp_path_factory.mktemp("suppressed"))
    except GuaranteeError:
        return
    said = run.verified()
    left_out = set(range(len(rows))) - set(run.origins)
    everybody = {row[0] for row in rows}
    people_left_out = {rows[n][0] for n in left_out}
    assert (said.rows, said.rows_suppressed) == (len(run.origins), len(left_out))
    assert said.respondents_suppressed == len(people_left_out) <= len(everybody) / 2
    classes: dict[str, dict[str, set[object]]] = defaultdict(lambda: defaultdict(set))
    place = {name: n for n, name in enumerate(plan.write.columns)}
    for row, origin in zip(run.rows, run.origins, strict=True):
        source = rows[origin]
        assert row[place["age"]] == expected_cell(age, source[1], rows, False)
        assert row[place["pay"]] == source[2]
        assert row[place["city"]] == expected_cell(RareCells("city", 2), source[4], rows, False)
        classes[row[place["born"]]][source[0]].add(by_value(row[place["pay"]]))
    assert said.classes == len(classes)
    assert said.k == min(map(len, classes.values()), default=0) != 1
    distinct = [len(set().union(*members.values())) for members in classes.values()]
    assert min(distinct, default=least) >= least


LOOSE = {
    "t-closeness": ClassModels(t=Fraction(99, 100)),
    "l-diversity": ClassModels(Diversity.RECURSIVE, c=Fraction(100)),
}
STRICT = {
    "t-closeness": [ClassModels(t=Fraction(n, 10)) for n in (1, 2, 4, 6)],
    "l-diversity": [
        ClassModels(Diversity.RECURSIVE, c=c) for c in (Fraction(1), Fraction(3, 2), Fraction(3))
    ],
}


def of_models(plan: Plan, method: str, models: ClassModels) -> Plan:
    """The same plan with another promise about its sensitive column."""
    size = 1 if method == "t-closeness" else 2
    asked = Asked(2, size, ("age",), ("pay",), models=models)
    return replace(plan, apply=Apply(transform_class(method, "mondrian").of(asked)))


def meets(method: str, models: ClassModels, held: list[Fraction], whole: list[Fraction]) -> bool:
    """Whether the weights of a class, by value, meet a model; in plain fractions."""
    size = sum(held)
    if method == "t-closeness":
        far = sum(abs(own / size - all_ / sum(whole)) for own, all_ in zip(held, whole, strict=True)) / 2
        return models.t is not None and far <= models.t
    first, *others = sorted(held, reverse=True)
    return models.c is not None and first < models.c * sum(others)


@settings(
    max_examples=examples(20, full=400),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(people(least=6), st.sampled_from(SENSITIVE), st.sampled_from([*LOOSE]), st.data())
def test_t_and_recursive_diversity_are_counted_on_what_is_published(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[Row],
    pay: Coded | Recoded | RareCells,
    method: str,
    data: st.DataObject,
) -> None:
    """Each respondent weighs 1, spread over all its rows; the verifier says what a plain count says."""
    roles = {"age": Role.QUASI_IDENTIFIER, "pay": Role.SENSITIVE}
    plan = of_models(plan_of(Mask((pay,)), roles), method, LOOSE[method])
    try:
        run = made(LOCAL, rows, plan, tmp_path_factory.mktemp("models"))
    except GuaranteeError:
        return
    run.verified()
    rows_of = Counter(row[0] for row in rows)
    weights: dict[str, dict[object, Fraction]] = defaultdict(lambda: defaultdict(Fraction))
    for (age, shown), origin in zip(run.rows, run.origins, strict=True):
        assert shown == expected_cell(pay, rows[origin][2], rows, False)
        weights[age][by_value(shown)] += Fraction(1, rows_of[rows[origin][0]])
    values = {value for held in weights.values() for value in held}
    by_class = [[held[value] for value in values] for held in weights.values()]
    whole = [sum(held) for held in zip(*by_class, strict=True)]
    assert all(meets(method, LOOSE[method], held, whole) for held in by_class)  # type: ignore[arg-type]
    models = data.draw(st.sampled_from(STRICT[method]))
    stricter = replace(run, plan=of_models(plan, method, models))
    if all(meets(method, models, held, whole) for held in by_class):  # type: ignore[arg-type]
        stricter.verified()
    else:
        with pytest.raises(GuaranteeError):
            stricter.verified()


def test_a_sensitive_value_counts_as_it_is_published(tmp_path: Path) -> None:
    """Two values beyond the threshold are one: what differs in the data alone makes no class diverse."""
    rows: list[Row] = [("a", "30", "150", "", ""), ("b", "30", "250", "", "")]
    assert made(LOCAL, rows, plan_of(Mask((AGE,))), tmp_path / "as-it-is").verified().k == 2
    with pytest.raises(GuaranteeError):
        made(LOCAL, rows, plan_of(Mask((AGE, PAY))), tmp_path / "coded")


def test_outliers_end_no_range_and_classes_are_finer_without_them(tmp_path: Path) -> None:
    ages = ["20", "21", "22", "23", "80", "97"]
    rows: list[Row] = [(f"p{n}", age, f"{n}", "", "") for n, age in enumerate(ages)]
    run = made(LOCAL, rows, plan_of(Mask((AGE,)), l=1), tmp_path / "run")
    assert [row[0] for row in run.rows] == [
        "[20..21]",
        "[20..21]",
        "[22..23]",
        "[22..23]",
        "[44..]",
        "[44..]",
    ]


def test_a_plan_with_techniques_is_read_back(tmp_path: Path) -> None:
    plan = plan_of(
        Mask((AGE, noisy()), Decimal("0.5"), suppressed=("who",)), {**ROLES, "pay": Role.MASKED}, l=1
    )
    assert plan_from_json(plan_to_json(plan)) == plan
    assert made(LOCAL, EXAMPLE, plan, tmp_path / "run").verified().rows_not_sampled > 0


def other_cell(place: int, column: int, text: str) -> Callable[[list[Row], list[int]], None]:
    def change(rows: list[Row], _: list[int]) -> None:
        assert rows[place][column] != text
        rows[place] = (*rows[place][:column], text, *rows[place][column + 1 :])

    return change


def relabelled(before: str, after: str) -> Callable[[list[Row], list[int]], None]:
    def change(rows: list[Row], _: list[int]) -> None:
        assert before in {row[0] for row in rows}
        rows[:] = [(after if row[0] == before else row[0], *row[1:]) for row in rows]

    return change


def one_lost(rows: list[Row], origins: list[int]) -> None:
    del rows[0], origins[0]


WHOLE = Mask((AGE, PAY, RareCells("city", 5)))
PAIRS: list[Row] = [(f"p{n // 2}", *row[1:]) for n, row in enumerate(EXAMPLE)]
TAMPERINGS = {
    "an outlier ends a range": (WHOLE, EXAMPLE, relabelled("[43..]", "[43..67]")),
    "a range is open that is not coded there": (
        Mask((Coded("age", "44", None, "top-coding"), PAY)), EXAMPLE, relabelled("[10..13]", "[..13]"),
    ),
    "a threshold ends a range": (WHOLE, EXAMPLE, relabelled("[43..]", "[43..44]")),
    "a label covers others": (WHOLE, EXAMPLE, relabelled("[..18]", "[31..34]")),
    "a sensitive value that is not coded": (WHOLE, EXAMPLE, other_cell(-1, 1, "120.0")),
    "a rare value": (WHOLE, EXAMPLE, other_cell(0, 2, "Oslo")),
    "a row too few": (WHOLE, EXAMPLE, one_lost),
    "a part of a respondent": (Mask((AGE, PAY), Decimal("0.9")), PAIRS, one_lost),
    "noise beyond its scale": (Mask((AGE, noisy())), EXAMPLE, other_cell(0, 1, "999.9")),
}  # fmt: skip


@pytest.mark.parametrize("name", TAMPERINGS)
def test_tampered_outputs_are_refused(tmp_path: Path, name: str) -> None:
    mask, rows, change = TAMPERINGS[name]
    is_noisy = not any(each in (PAY,) for each in mask.columns)
    roles = {**ROLES, "pay": Role.MASKED} if is_noisy else ROLES
    run = made(LOCAL, rows, plan_of(mask, roles, l=1 if is_noisy else 2), tmp_path / "run")
    run.verified()
    with pytest.raises(GuaranteeError) as caught:
        run.tampered(change).verified()
    assert not any(text in str(caught.value) for text in ("Oslo", "120.0", "67", "999.9"))


@pytest.mark.slow
def test_spark_writes_the_same_bytes(tmp_path: Path, spark: "SparkSession") -> None:
    from smalti.engine.backends.spark import SparkBackend  # noqa: PLC0415 (it needs Spark)

    mask = Mask((AGE, AtLevel("born", 2), RareCells("city", 5)))
    plan = plan_of(mask, {"age": Role.QUASI_IDENTIFIER, "born": Role.SENSITIVE, "city": Role.MASKED})
    here = made(LOCAL, EXAMPLE, plan, tmp_path / "local")
    assert made(SparkBackend(spark), EXAMPLE, plan, tmp_path / "spark").bytes == here.bytes
    assert here.verified().k >= 2
