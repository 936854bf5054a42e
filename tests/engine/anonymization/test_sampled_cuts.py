"""First cuts from a sample: other classes than exact ones, and every promise kept all the same."""

import json
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from unittest.mock import patch

import numpy as np
import pytest
from effort import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tables import HEADER, QUASI_IDENTIFIERS, Made, People, classes, covers, is_diverse, make, people

sys.path.insert(0, str(Path(__file__).parents[2]))
from shell import CUSTOMER, MARKETING, OWNER, USER, request, small_policy, small_table, smalti

from smalti import api
from smalti.engine.anonymization import sampled_cuts
from smalti.engine.anonymization.fragments import Fragments
from smalti.engine.anonymization.sampled_cuts import SampledCuts, levels_of
from smalti.engine.backends.local import LocalBackend
from smalti.engine.plan.recorded import plan_from_json
from smalti.engine.plan.serialize import plan_digest, plan_to_json
from smalti.engine.run.explain import to_text
from smalti.errors import PlanError, UsageError
from smalti.transforms.base import CutScore, class_requirements
from smalti.transforms.mondrian.medians import median_cuts
from smalti.transforms.problem import OrderedAttribute, Problem, UnorderedAttribute

SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]


@contextmanager
def counted() -> Iterator[tuple[list[int], list[int]]]:
    """The numbers of fragments that samples give, and of those that are left when cuts are undone."""
    obtained: list[int] = []
    left: list[int] = []
    cut, take_back = SampledCuts.cut, Fragments._take_cuts_back

    def counting(self: SampledCuts, fragments: int) -> object:
        found = cut(self, fragments)
        obtained.append(1 + len(found))
        return found

    def taking_back(self: Fragments) -> None:
        take_back(self)
        left.append(self._count)

    with (
        patch.object(SampledCuts, "cut", counting),
        patch.object(Fragments, "_take_cuts_back", taking_back),
    ):
        yield obtained, left


def keeps_its_promise(table: People, found: Made) -> None:
    assert sorted(found.link) == list(range(len(table.rows)))
    for rows in classes(found).values():
        assert len({table.rows[row][0] for row in rows}) >= table.k
        assert is_diverse(table, rows)
    for row, source in zip(found.rows, found.link, strict=True):
        for name, published in zip(found.header, row, strict=True):
            value = table.rows[source][HEADER.index(name)]
            assert covers(published, value) if name in QUASI_IDENTIFIERS else published == value


@settings(max_examples=examples(8, full=300), suppress_health_check=SLOW)
@given(people(), st.sampled_from([2, 3, 16]), st.sampled_from(["strict", "relaxed"]))
def test_k_and_l_hold_whatever_a_sample_says(table: People, fragments: int, partitioning: str) -> None:
    words = {"partitioning": partitioning}
    with tempfile.TemporaryDirectory() as folder, patch.object(sampled_cuts, "FOR_EACH_FRAGMENT", 4):
        whole = make(LocalBackend(1), table, Path(folder) / "whole", words=words)
        found = make(LocalBackend(), table, Path(folder) / "run", words=words, sampled=fragments)
        assert (found is None) == (whole is None)
        if found is not None:
            keeps_its_promise(table, found)


def skewed(rows: int) -> People:
    """One customer has all that is old, and a rare illness is found in one city only."""
    random = np.random.default_rng(7)
    ages = random.integers(1, 1000, rows).tolist()
    days = (np.datetime64("1950-01-01") + random.integers(0, 9000, rows)).astype(str).tolist()
    cities = [f"c{number}" for number in random.zipf(1.5, rows) % 50]
    who = [f"p{i % 300}" if age < 500 else "old" for i, age in enumerate(ages)]
    illness = [
        "rare" if city == "c3" else ("flu", "gout", "asthma")[i % 3] for i, city in enumerate(cities)
    ]
    return People(
        [
            [*some, "1"]
            for some in zip(who, ["x"] * rows, map(str, ages), days, cities, illness, strict=True)
        ],
        3, 2, 4, one_row_each=False,
    )  # fmt: skip


def test_a_cut_whose_side_breaks_the_promise_is_taken_back(tmp_path: Path) -> None:
    table = skewed(2000)
    with counted() as (obtained, left), patch.object(sampled_cuts, "FOR_EACH_FRAGMENT", 16):
        found = make(LocalBackend(), table, tmp_path / "run", sampled=16)
    assert obtained == [16]
    assert left, "no cut was taken back: the table is too good for this test"
    assert 1 < left[-1] <= 16
    assert found is not None
    keeps_its_promise(table, found)


def test_a_table_of_too_few_respondents_is_refused_after_all(tmp_path: Path) -> None:
    rows = [[f"p{i % 2}", *row[1:5], ("flu", "gout")[i % 2], "1"] for i, row in enumerate(skewed(500).rows)]
    with counted() as (obtained, left), patch.object(sampled_cuts, "FOR_EACH_FRAGMENT", 16):
        table = People(rows, 3, 1, 4, one_row_each=False)
        assert make(LocalBackend(), table, tmp_path / "run", sampled=4) is None
    assert obtained == [4]
    assert left[-1] == 1


def test_a_small_table_is_cut_exactly(tmp_path: Path) -> None:
    """Below the threshold there is no first cut; the bytes are those of an exact run."""
    table = People(skewed(200).rows, 3, 1, 256, one_row_each=False)
    exact = make(LocalBackend(1), table, tmp_path / "exact")
    sampled = make(LocalBackend(), table, tmp_path / "sampled", sampled=8)
    assert exact is not None
    assert sampled is not None
    assert sampled.bytes == exact.bytes
    assert sampled.plan != exact.plan


@pytest.mark.spark
@pytest.mark.parametrize(
    ("rows", "fragments", "left"),
    [
        pytest.param(1000, 4, [4], marks=pytest.mark.slow),
        pytest.param(2000, 3, [], marks=pytest.mark.slow),
        pytest.param(2000, 16, [12, 10, 9, 16], marks=pytest.mark.slow),
    ],
)
def test_spark_takes_the_same_sample_and_the_same_cuts_back(
    spark: object, rows: int, fragments: int, left: list[int], tmp_path: Path
) -> None:
    from smalti.engine.backends.spark import SparkBackend  # noqa: PLC0415

    table = skewed(rows)
    with counted() as counts, patch.object(sampled_cuts, "FOR_EACH_FRAGMENT", 16):
        here = make(LocalBackend(), table, tmp_path / "here", sampled=fragments)
        there = make(SparkBackend(spark), table, tmp_path / "there", sampled=fragments)  # type: ignore[arg-type]
    assert counts == ([fragments] * 2, left * 2)
    assert (here and here.bytes) == (there and there.bytes)
    assert here is not None


# --- Cuts of a sample


def problem(rows: int) -> Problem:
    random = np.random.default_rng(5)
    codes = np.unique(
        np.column_stack([random.integers(1, 200, rows), random.integers(1, 20, rows)]), axis=0
    )
    line = OrderedAttribute(np.concatenate(([-(1 << 20)], np.linspace(0, 1 << 20, 200).astype(np.int64))))
    return Problem(
        codes,
        random.integers(1, 4, len(codes)),
        (line, UnorderedAttribute(20)),
        None,
        (),
        class_requirements(2),
        256,
    )


@pytest.mark.parametrize("score", CutScore)
@pytest.mark.parametrize("partitions", [1, 2, 7, 64, 10_000])
def test_medians_divide_a_table_into_so_many_partitions(partitions: int, score: CutScore) -> None:
    one = replace(problem(3000), cut_score=score)
    cuts = median_cuts(one, partitions, 8)
    assert [cut.new for cut in cuts] == list(range(1, len(cuts) + 1))
    assert len(cuts) + 1 == partitions or partitions == 10_000
    node = np.zeros(len(one.weights), np.int64)
    for cut in cuts:
        mine = node == cut.node
        assert mine.sum() >= 8
        node[mine & ~np.isin(one.codes[:, cut.attribute], cut.left)] = cut.new
        for side in (cut.node, cut.new):
            assert one.weights[node == side].sum() >= 2
    assert len(np.unique(node)) == len(cuts) + 1


def test_cuts_of_different_partitions_share_a_level() -> None:
    cuts = median_cuts(problem(3000), 8, 8)
    divisions = [sampled_cuts.Division(cut.node, 0, -1, 0, cut.new) for cut in cuts]
    assert [len(level) for level in levels_of(divisions)] == [1, 2, 4]


# --- What is said of it


def test_a_plan_tells_that_first_cuts_are_sampled_and_others_say_nothing(tmp_path: Path) -> None:
    policy, data = small_policy(tmp_path), small_table(tmp_path)
    asked = {"data": {CUSTOMER: data}, "registry": tmp_path / "r.sqlite"}
    exact = api.plan(policy, **asked, fragments=4).plan
    same = api.plan(policy, **asked, fragments=4, first_cuts="exact").plan
    four, five = (api.plan(policy, **asked, fragments=n, first_cuts="sampled").plan for n in (4, 5))
    assert exact is not None
    assert four is not None
    assert five is not None
    assert same == exact
    assert "sampled" not in plan_to_json(exact)
    assert json.loads(plan_to_json(four))["steps"][-2]["sampled_fragments"] == 4
    assert len({plan_digest(plan) for plan in (exact, four, five)}) == 3
    assert plan_from_json(plan_to_json(four)) == four
    assert "sample" not in to_text(exact)
    told = " ".join(to_text(four).split())
    assert (
        "first cuts, into at most 4 fragments, at medians of a sample: another number gives other" in told
    )


def test_a_sampled_run_is_reported_to_the_owner_and_can_be_repeated(tmp_path: Path) -> None:
    policy, data = small_policy(tmp_path), small_table(tmp_path)
    options = ["--first-cuts", "sampled", "--fragments", "3", "--cut-threshold", "0"]
    with patch.object(sampled_cuts, "FOR_EACH_FRAGMENT", 8), counted() as (obtained, _):
        ran = smalti("run", policy, *request(data), "--out", "out", *options, cwd=tmp_path)
        assert (ran.code, obtained) == (0, [3])
        # The recorded plan says the number; that of this command changes nothing.
        again = smalti("verify", "out", "--data", data, "--fragments", "2", cwd=tmp_path)
        assert (again.code, obtained) == (0, [3, 3])
    told = "into at most 3 fragments, are medians of a sample: exact cuts give other classes"
    assert f"{told}, which may lose more or less" in " ".join(ran.out.split())
    exact = smalti("run", policy, *request(data), "--out", "exact", "--fragments", "3", cwd=tmp_path)
    assert "medians of a sample" not in exact.out


@pytest.mark.parametrize("fragments", [(), ("--fragments", "1")])
@pytest.mark.parametrize("command", ["run", "plan"])
def test_a_sample_without_a_number_of_fragments_is_wrong_usage(
    tmp_path: Path, command: str, fragments: tuple[str, ...]
) -> None:
    out = ["--out", "out"] if command == "run" else []
    ran = smalti(
        command, small_policy(tmp_path), *request(small_table(tmp_path)), *out,
        "--first-cuts", "sampled", *fragments, cwd=tmp_path,
    )  # fmt: skip
    assert ran.code == 2
    assert "2 fragments or more" in " ".join(ran.err.split())


def test_a_word_that_is_none_is_wrong_usage(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="exact or sampled"):
        api.plan(
            small_policy(tmp_path), data={CUSTOMER: small_table(tmp_path)}, first_cuts="wombat", fragments=2
        )


def test_a_backend_takes_the_number_from_the_plan(tmp_path: Path) -> None:
    outcome = api.run(
        small_policy(tmp_path), data={CUSTOMER: small_table(tmp_path)}, party=USER, owner=OWNER,
        purpose=MARKETING, out=tmp_path / "out", registry=tmp_path / "r.sqlite",
        engine=LocalBackend(), first_cuts="sampled", fragments=3,
    )  # fmt: skip
    assert outcome.report is not None
    assert outcome.report.sampled_fragments == 3


def test_domains_are_not_cut_by_samples(tmp_path: Path) -> None:
    words = MappingProxyType({"dimensionality": "single"})
    with pytest.raises(PlanError, match="`single` dimensionality"):
        make(LocalBackend(), skewed(50), tmp_path / "run", words=words, sampled=4)
