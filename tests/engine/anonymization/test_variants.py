"""The words of Mondrian's variants, from the policy's words to the published bytes."""

import json
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from effort import every, examples, is_full
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from shell import CUSTOMER, small_document, small_rows, small_table
from tables import Made, People, make, people

import smalti
from smalti.engine.anonymization import first_cuts
from smalti.engine.backends.local import LocalBackend
from smalti.engine.plan.plan import OutputFormat, Plan
from smalti.engine.plan.recorded import plan_from_json
from smalti.engine.plan.serialize import plan_digest, plan_to_json
from smalti.engine.verify.verifier import Original, Output, verify_run

SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]
CUT_ELSEWHERE = [
    {"cutScore": "normalized-span"},
    {"cutScore": "entropy"},
    {"fragmentColumn": "city"},
    {"cutScore": "entropy", "fragmentColumn": "born"},
]
"""What changes single cuts, which first cuts make as well."""
RELAXED = [
    {"partitioning": "relaxed"},
    {"partitioning": "relaxed", "cutScore": "entropy", "fragmentColumn": "city"},
]
IMPROVED = {"partitioning": "improved"}
VARIANTS = [*CUT_ELSEWHERE, *RELAXED, {"dimensionality": "single"}, IMPROVED, IMPROVED]


@contextmanager
def obtained() -> Iterator[list[int]]:
    """The numbers of fragments that runs obtain."""
    numbers: list[int] = []
    real = first_cuts.FirstCuts.cut

    def cut(self: first_cuts.FirstCuts, fragments: int) -> int:
        numbers.append(real(self, fragments))
        return numbers[-1]

    with patch.object(first_cuts.FirstCuts, "cut", cut):
        yield numbers


def mixed(rows: int, seed: int, one_row_each: bool = True) -> People:
    """Missing values, a skew (one city in most rows), and respondents that repeat."""
    draw = np.random.default_rng(seed)
    days = (np.datetime64("1950-01-01") + draw.integers(0, 20_000, rows)).astype(str)
    who = range(rows) if one_row_each else draw.integers(0, rows // 3, rows).tolist()
    found = [
        [str(person), "x", str(age) if age > 20 else "", day, city, illness, "1"]
        for person, age, day, city, illness in zip(
            who,
            draw.integers(17, 90, rows).tolist(),
            days.tolist(),
            draw.choice(["Rome", "Oslo", "Bonn", ""], rows, p=[0.85, 0.05, 0.05, 0.05]).tolist(),
            draw.choice(["flu", "gout", "asthma", ""], rows, p=[0.5, 0.3, 0.1, 0.1]).tolist(),
            strict=True,
        )
    ]
    return People(found, 4, 1 if one_row_each else 3, 24, one_row_each)


def published(table: People, folder: Path, words: Mapping[str, str], fragments: int = 1) -> Made | None:
    """Made and verified."""
    found = make(LocalBackend(fragments), table, folder, words=words)
    if found is not None:
        original = Original(folder / "people.csv", OutputFormat.CSV)
        verify_run(found.plan, original, Output(folder / "out.csv", OutputFormat.CSV), folder / "link.npy")
    return found


@settings(max_examples=examples(8, full=400), suppress_health_check=SLOW)
@given(people(), st.sampled_from(VARIANTS), st.sampled_from([2, 3, 64]), st.sampled_from([8, 4096]))
def test_outputs_verify_and_fragments_change_nothing(
    table: People, words: dict[str, str], fragments: int, window: int
) -> None:
    with tempfile.TemporaryDirectory() as folder, patch.object(first_cuts, "WINDOW", window):
        whole = published(table, Path(folder) / "whole", words)
        pieces = published(table, Path(folder) / "pieces", words, fragments)
        assert (whole and whole.bytes) == (pieces and pieces.bytes)


@pytest.mark.parametrize("one_row_each", [True, pytest.param(False, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "words",
    [*every(3, [*CUT_ELSEWHERE, *RELAXED]), pytest.param(IMPROVED, marks=pytest.mark.slow)],
    ids=lambda words: "-".join(words.values()),
)
def test_fragments_that_exist_publish_the_same_bytes(
    words: dict[str, str], one_row_each: bool, tmp_path: Path
) -> None:
    table = mixed(1500, 1, one_row_each)
    whole = published(table, tmp_path / "1", words)
    default = published(table, tmp_path / "default", {})
    assert whole is not None
    assert default is not None
    assert whole.bytes != default.bytes
    for fragments, window in ((2, 4096), (7, 8), (32, 4096)):
        with obtained() as numbers, patch.object(first_cuts, "WINDOW", window):
            pieces = published(table, tmp_path / f"{fragments}", words, fragments)
        assert numbers == [fragments]
        assert pieces is not None
        assert pieces.bytes == whole.bytes


def test_single_dimensional_publishes_equal_values_alike_and_has_one_fragment(tmp_path: Path) -> None:
    table, words = mixed(1500, 2), {"dimensionality": "single"}
    with obtained() as numbers:
        found = published(table, tmp_path / "single", words, 7)
    several = published(table, tmp_path / "multi", {})
    assert numbers == []
    assert found is not None
    assert several is not None
    assert are_alike(found, table)
    assert not are_alike(several, table)
    assert len({row[found.header.index("age")] for row in found.rows}) > 1


def are_alike(found: Made, table: People) -> bool:
    """Whether each value of a quasi-identifier has one label, wherever it occurs."""
    labels = {
        (name, table.rows[source][place], row[found.header.index(name)])
        for row, source in zip(found.rows, found.link, strict=True)
        for place, name in ((2, "age"), (3, "born"), (4, "city"))
    }
    return len(labels) == len({label[:2] for label in labels})


@pytest.mark.spark
@pytest.mark.parametrize(
    ("words", "one_row_each"),
    [
        pytest.param(CUT_ELSEWHERE[3], False, marks=pytest.mark.slow),
        (RELAXED[0], True),
        pytest.param(IMPROVED, False, marks=pytest.mark.slow),
        pytest.param({"outputForm": "prefix"}, False, marks=pytest.mark.slow),
        pytest.param(
            {"outputForm.age": "mean", "outputForm.born": "median"}, False, marks=pytest.mark.slow
        ),
    ],
)
def test_spark_publishes_the_same_bytes(
    spark: object, words: dict[str, str], one_row_each: bool, tmp_path: Path
) -> None:
    from smalti.engine.backends.spark import SparkBackend  # noqa: PLC0415

    table = mixed(1500, 1, one_row_each)
    whole = published(table, tmp_path / "1", words)
    with obtained() as numbers:
        pieces = make(SparkBackend(spark, 7), table, tmp_path / "7", words=words)  # type: ignore[arg-type]
    assert numbers == [7]
    assert (whole and whole.bytes) == (pieces and pieces.bytes)


def test_relaxed_divides_rows_that_are_alike_and_loses_less(tmp_path: Path) -> None:
    ages = ["20"] * 2 + ["30"] * 8 + ["40"] * 2
    rows = [[str(i), "", age, "", "", ("flu", "gout")[i % 2], "1"] for i, age in enumerate(ages)]
    table = People(rows, 6, 1, 256, True)
    strict = published(table, tmp_path / "strict", {})
    relaxed = published(table, tmp_path / "relaxed", {"partitioning": "relaxed"})
    assert strict is not None
    assert relaxed is not None
    assert {row[0] for row in strict.rows} == {"[20..40]"}
    assert sorted(row[0] for row in relaxed.rows) == ["[20..30]"] * 6 + ["[30..40]"] * 6


@pytest.mark.parametrize("fragments", [1, 4])
def test_relaxed_writes_each_row_once_where_nothing_else_is_published(
    fragments: int, tmp_path: Path
) -> None:
    rows = [[str(i), "x", str(40 + (i > 34)), "", "", "flu", "1"] for i in range(40)]
    found = make(
        LocalBackend(fragments), People(rows, 10, 1, 4, one_row_each=True), tmp_path / "run",
        words=RELAXED[0], quasi_identifiers=("age",), is_alone=True,
    )  # fmt: skip
    assert found is not None
    assert sorted(found.link) == list(range(40))


def test_relaxed_refuses_what_the_whole_table_cannot_meet(tmp_path: Path) -> None:
    table = People([[str(i), "", "20", "", "", "flu", "1"] for i in range(9)], 2, 1, 256, True)
    for fragments in (1, 3):
        folder = tmp_path / str(fragments)
        assert published(table, folder, {"partitioning": "relaxed"}, fragments) is None


@pytest.mark.parametrize("one_row_each", [True, False])
def test_spellings_of_one_value_are_one_combination(one_row_each: bool, tmp_path: Path) -> None:
    """The threshold is about values: how often they are spelled otherwise changes no cut."""
    ages = {"7": ["7", "7.0", "7.00"], "41": ["41", "41.0", "41.00"], "90": ["90", "90.0", "90.00"]}
    for seed in range(6 if is_full() else 3):
        draw = np.random.default_rng(seed)
        plain = [
            [
                str(i if one_row_each else i // 2),
                "",
                list(ages)[a],
                f"19{60 + b}-01-31",
                "RO"[c],
                "fg"[v],
                "1",
            ]
            for i, (a, b, c, v) in enumerate(draw.integers(0, (3, 3, 2, 2), (30, 4)).tolist())
        ]
        # Each value occurs in its shortest spelling, too, so labels are the same.
        spelled = [[*row[:2], ages[row[2]][draw.integers(0, 3)], *row[3:]] for row in plain[:-9]] + plain[
            -9:
        ]
        with patch("tables.TYPES", {"age": "decimal", "born": "date"}):
            made = [
                published(People(rows, 2, 1, 8, one_row_each), tmp_path / f"{seed}-{name}", {}, fragments)
                for name, rows, fragments in (
                    ("plain", plain, 1), ("spelled", spelled, 1), ("pieces", spelled, 64)
                )
            ]  # fmt: skip
        assert len({one and one.bytes for one in made}) == 1


def test_a_table_that_is_refused_as_a_whole_is_refused_in_fragments(tmp_path: Path) -> None:
    """On both sides of the cut nobody shares a value, and in the whole table both people hold both."""
    rows = [
        [who, "", age, "", "", illness, "1"]
        for age, pairs in (("7", ["flu", "gout"]), ("90", ["gout", "flu"]))
        for who, illness in zip("ab", pairs, strict=True)
    ]
    for words in ({}, {"partitioning": "relaxed"}):
        for fragments in (1, 2):
            folder = tmp_path / f"{len(words)}-{fragments}"
            assert published(People(rows, 2, 1, 1, False), folder, words, fragments) is None


# --- In policies and plans


def planned(folder: Path, words: Mapping[str, str]) -> Plan:
    document = small_document()
    document["@context"].append("https://w3id.org/smalti/context.jsonld")
    document["permission"][0]["action"][0]["refinement"] += [
        {"leftOperand": f"smalti:{name}", "operator": "eq", "rightOperand": value}
        for name, value in words.items()
    ]
    folder.mkdir()
    policy = folder / "policy.jsonld"
    policy.write_text(json.dumps(document), encoding="utf-8")
    found = smalti.plan(policy, data={CUSTOMER: small_table(folder, small_rows())})
    assert found.plan is not None
    return found.plan


TOLD = {
    "normalized-span": "strict, multidimensional: the median of the widest quasi-identifier",
    "entropy": "strict, multidimensional: the median of the quasi-identifier with the largest entropy",
    "city": "; a table of more than 256 distinct combinations is cut along city first",
    "relaxed": "relaxed, multidimensional: the cut with the least loss in partitions of at most 256",
    "improved": "; then combinations move between classes where that loses less, so that classes may",
    "single": "strict, single-dimensional: domains of quasi-identifiers are cut",
}


@pytest.mark.parametrize("words", [*CUT_ELSEWHERE[:3], RELAXED[0], IMPROVED, {"dimensionality": "single"}])
def test_a_plan_says_what_the_policy_says(words: dict[str, str], tmp_path: Path) -> None:
    plan, default = planned(tmp_path / "this", words), planned(tmp_path / "that", {})
    (value,) = words.values()
    assert f':"{value}"' in plan_to_json(plan)
    assert plan_from_json(plan_to_json(plan)) == plan
    assert plan_digest(plan) != plan_digest(default)
    assert TOLD[value] in " ".join(smalti.explain(plan).split())


def test_words_at_their_defaults_are_in_no_plan(tmp_path: Path) -> None:
    stated = planned(
        tmp_path / "this",
        {"cutScore": "certainty-penalty", "dimensionality": "multi", "partitioning": "strict"},
    )
    silent = planned(tmp_path / "that", {})
    assert plan_to_json(stated) == plan_to_json(silent)
    assert not {"partitioning", "cut_score", "dimensionality", "fragment_column"} & set(
        plan_to_json(silent).split('"')
    )
