"""The benchmarks themselves: data as stated, figures read and judged rightly, and nothing timed."""

import doctest
import json
import re
import sys
from collections import Counter
from pathlib import Path

import generated
import kernel_alone
import numpy as np
import phases
import policies
import pyarrow as pa
import pytest
import quality
import results
import rivals
import run as command_line
import suites
from measuring import CommandError, Limit, Usage, measure
from results import DecisionRow, LossRow, Measured, NothingToGeneraliseError, RunRow, Setting

import smalti
from smalti.engine.binding.run_request import Outcome
from smalti.json.runs import outcome_json
from smalti.json.text import as_json
from smalti.transforms.mondrian.kernel import partition
from smalti.transforms.problem import MISSING, OrderedAttribute, Problem

ROWS = 700


def lines(path: Path) -> list[list[str]]:
    return [line.split(",") for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def base() -> generated.Base:
    return generated.read_base(None)


def numbered_base(rows: int) -> pa.Table:
    """Each row holds its own number in each column, so that a drawn value tells where it comes from."""
    names = (*generated.QUASI_IDENTIFIERS, "hours-per-week", generated.INCOME)
    return pa.table({name: [str(row) for row in range(rows)] for name in names})


# --- Generators


def write(kind: str, path: Path, seed: int, base: generated.Base) -> bytes:
    if kind == "redrawn":
        generated.write_redrawn(path, 400, seed, base)
    else:
        {"floats": generated.write_floats, "transactions": generated.write_transactions}[kind](
            path, 400, seed
        )
    return path.read_bytes()


@pytest.mark.parametrize("kind", suites.KINDS)
def test_generated_rows_repeat_for_a_seed(kind: str, base: generated.Base, tmp_path: Path) -> None:
    first, same, other = (
        write(kind, tmp_path / f"{place}.csv", seed, base) for place, seed in enumerate((7, 7, 8))
    )
    assert first == same
    assert first != other
    assert len(first.splitlines()) == 401


def test_an_eighth_of_the_values_is_drawn_again_and_nothing_else() -> None:
    table = pa.concat_tables(generated.redrawn(numbered_base(1000), 200_000, seed=3))
    source = table.column(generated.INCOME).to_numpy()
    again = {name: table.column(name).to_numpy() != source for name in table.column_names}
    for name in generated.QUASI_IDENTIFIERS:
        # 5 standard deviations of a share of 200,000 draws; one in 1000 draws the same value again
        assert abs(again[name].mean() - 0.125 * 0.999) < 5 * 0.00074
    assert not again["hours-per-week"].any()
    both = again["age"] & again["sex"]
    assert abs(both.mean() - (0.125 * 0.999) ** 2) < 5 * 0.00028  # columns are drawn each by itself


def test_values_are_drawn_again_from_the_distribution_of_their_column() -> None:
    skewed = numbered_base(1000)
    place = skewed.column_names.index("race")
    skewed = skewed.set_column(place, "race", pa.array(["rare"] * 100 + ["common"] * 900))
    table = pa.concat_tables(generated.redrawn(skewed, 200_000, seed=3))
    source = table.column(generated.INCOME).to_numpy().astype(np.int64)
    race = table.column("race").to_numpy()
    assert abs((race == "rare").mean() - 0.1) < 5 * 0.00067
    # rows that were common turn rare in an eighth of the cases, times the column's share of rare ones
    assert abs((race[source >= 100] == "rare").mean() - 0.125 * 0.1) < 5 * 0.00027


def test_rows_are_made_in_chunks(base: generated.Base, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generated, "CHUNK", 100)
    assert [part.num_rows for part in generated.redrawn(base.table, 250, 1)] == [100, 100, 50]
    assert [part.num_rows for part in generated.floats(250, 1)] == [100, 100, 50]


def test_transactions_are_those_of_the_reference_policy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(generated, "CUSTOMERS", 100)
    generated.write_transactions(tmp_path / "t.csv", 1000, seed=7)
    header, *rows = lines(tmp_path / "t.csv")
    described = json.loads((tmp_path / "t.csv-metadata.json").read_text(encoding="utf-8"))
    assert [column["name"] for column in described["tableSchema"]["columns"]] == header
    assert described["https://w3id.org/smalti#respondent"] == "CustomerID"
    assert len(rows) == 1000
    of_customer = Counter(row[0] for row in rows)
    assert 200 < len(of_customer) < 400
    assert max(of_customer.values()) > 8
    person = len({tuple(row[:5]) for row in rows})
    assert person == len(of_customer)  # one customer is one person in all rows
    assert len({tuple(row[3:6]) for row in rows}) > 990
    assert all(re.fullmatch(r"2024-0[1-7]-\d\dT\d\d:\d\d:00", row[5]) for row in rows)
    assert all(re.fullmatch(r"\d+\.\d\d", row[6]) for row in rows)
    assert 0 < sum(row[3] == "" for row in rows) < 100


def test_no_two_rows_of_floats_are_alike(tmp_path: Path) -> None:
    generated.write_floats(tmp_path / "f.csv", 2000, seed=7)
    header, *rows = lines(tmp_path / "f.csv")
    assert len(header) == 8
    assert len({tuple(row) for row in rows}) == 2000
    assert all(re.fullmatch(r"[1-9]\d*\.\d{1,6}", value) for row in rows for value in row)


@pytest.mark.parametrize(
    ("text", "expected"), [("age,income\n1,2\n", "native-country"), (None, "without quotes")]
)
def test_a_base_that_cannot_be_used_is_refused(text: str | None, expected: str, tmp_path: Path) -> None:
    names = (*generated.QUASI_IDENTIFIERS, generated.INCOME)
    quoted = ",".join(names) + "\n" + ",".join(['"canary, value"'] * len(names)) + "\n"
    (tmp_path / "adult.csv").write_text(text or quoted)
    with pytest.raises(generated.BaseError, match=expected) as caught:
        generated.read_base(tmp_path / "adult.csv")
    assert "canary" not in str(caught.value)


# --- Figures of a run


@pytest.fixture(scope="module")
def outcome(
    base: generated.Base, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Outcome, phases.ClockWatch]:
    folder = tmp_path_factory.mktemp("benchmark")
    data = folder / "redrawn.csv"
    generated.write_redrawn(data, ROWS, 7, base)
    job, watch = policies.adult(folder), phases.ClockWatch()
    made = smalti.run(
        job.policy,
        data={job.target: data},
        party=job.party,
        purpose=job.purpose,
        out=folder / "out",
        registry=folder / "registry.sqlite",
        watch=watch,
    )
    return data, made, watch


def test_figures_are_read_from_what_a_run_prints(
    outcome: tuple[Path, Outcome, phases.ClockWatch],
) -> None:
    _, made, _ = outcome
    assert made.report is not None
    read = suites.read_run(as_json(outcome_json(made)))
    assert (read.rows_out, read.classes, read.k) == (ROWS, made.report.classes, made.report.k)
    assert read.gcp == made.report.loss
    assert set(read.phases) >= {"read", "write", "verify"}


@pytest.mark.parametrize("text", ["", "{}", '{"decision": {}}', '{"ownerReport": {"rowsOut": 3}}', "[]"])
def test_a_run_that_prints_no_report_has_no_figures(text: str) -> None:
    with pytest.raises(CommandError, match="no owner's report"):
        suites.read_run(text)


def test_clocks_are_noted_for_the_phases_that_peers_are_compared_with(
    outcome: tuple[Path, Outcome, phases.ClockWatch],
) -> None:
    spent = outcome[2].seconds()
    for clock in ("wall", "cpu"):
        assert set(suites.CALL_PHASES) < set(spent[clock])
        assert all(seconds >= 0 for seconds in spent[clock].values())


def test_an_independent_count_agrees_with_the_run(
    outcome: tuple[Path, Outcome, phases.ClockWatch],
) -> None:
    data, made, _ = outcome
    assert made.report is not None
    assert made.version is not None
    (published,) = made.version.path.glob("*.csv")
    held = quality.domains(data, policies.EIGHT, suites.NUMBERS)
    judged = quality.measure_quality(published, held, ROWS, quality.of_smalti)
    assert (judged.k, judged.rows) == (made.report.k, ROWS)
    assert judged.gcp == pytest.approx(made.report.loss, abs=1e-5)  # the run counts in 2^-20 of a domain
    assert 0 < judged.gcp_steps < judged.gcp


def usage(wall: float) -> Usage:
    return Usage(wall, wall / 2, 100.0)


@pytest.fixture
def bench(base: generated.Base, tmp_path: Path) -> suites.Bench:
    return suites.Bench(folder=tmp_path, base=base, adult=None, seed=7, runs=3)


def pretend(monkeypatch: pytest.MonkeyPatch, *, gcp: float, rows_out: int = ROWS) -> None:
    copies, runs = iter([usage(1), usage(4), usage(2)]), iter([usage(3), usage(6), usage(8)])
    figures = suites.RunFigures(rows_out, 5, 10, gcp, {"read": 1.5})
    monkeypatch.setattr(suites, "_copied", lambda *_: next(copies))
    monkeypatch.setattr(suites, "_run", lambda *_: (next(runs), figures))


def test_ratios_are_of_the_fastest_later_run_and_copy(
    bench: suites.Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend(monkeypatch, gcp=0.1)
    row = suites.run_row(bench, "redrawn", ROWS, "local", 8)
    assert (row.first_wall, row.wall, row.copy_first_wall, row.copy_wall) == (3, 6, 1, 2)
    assert row.phases == {"read": 1.5, suites.REST: 4.5}
    assert row.cells()["times the copy"] == "3.0"
    assert row.cells()["in CPU"] == "3.0"


def test_a_benchmark_that_generalises_nothing_is_refused(
    bench: suites.Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend(monkeypatch, gcp=0.0)
    with pytest.raises(NothingToGeneraliseError, match=f"redrawn, {ROWS} rows: the GCP is 0"):
        suites.run_row(bench, "redrawn", ROWS, "local", 8)


def test_a_run_that_loses_rows_is_no_benchmark(
    bench: suites.Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend(monkeypatch, gcp=0.1, rows_out=ROWS - 1)
    with pytest.raises(CommandError, match=f"{ROWS} rows in, {ROWS - 1} out"):
        suites.run_row(bench, "redrawn", ROWS, "local", 8)


def test_a_ratio_to_nothing_is_none() -> None:
    assert results.ratio(3.0, 2.0) == 1.5
    assert results.ratio(3.0, 0.0) is None


@pytest.mark.parametrize("make", [kernel_alone.floats, kernel_alone.transactions])
def test_the_kernel_is_timed_on_a_real_problem(make) -> None:  # type: ignore[no-untyped-def]
    problem: Problem = make(600, 7, 256)
    for codes, attribute in zip(problem.codes.T, problem.attributes, strict=True):
        assert isinstance(attribute, OrderedAttribute)
        assert set(codes) - {MISSING} == set(range(1, len(attribute.positions)))
    classes = partition(problem)
    assert classes is not None
    assert np.bincount(classes, problem.weights).min() >= 10
    assert classes.max() > 3
    assert len(np.unique(problem.codes, axis=0)) == len(problem.codes)


# --- Judging published tables


def test_docstring_examples_of_the_judge() -> None:
    assert doctest.testmod(quality).failed == 0


def test_rows_that_a_peer_leaves_out_are_charged_the_whole(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text('age,race,count\n20-30,"a,b",5\n20-30,"a,b",2\n40,c,3\n')
    held = {"age": quality.Domain(50.0, 51), "race": quality.Domain(None, 5)}
    judged = quality.measure_quality(tmp_path / "p.csv", held, 12, quality.of_peer)
    assert (judged.k, judged.classes, judged.rows) == (3, 2, 10)
    assert judged.gcp == pytest.approx((7 * (0.2 + 0.4) / 2 + 2) / 12)
    assert judged.gcp_steps == pytest.approx((7 * (0.2 + 0.25) / 2 + 2) / 12)


def test_a_peer_is_given_hierarchies_that_cover_each_value() -> None:
    pytest.importorskip("pandas")
    import pandas as pd  # noqa: PLC0415 (an extra)
    import peer_job  # noqa: PLC0415 (imports pandas)

    ages = peer_job._hierarchy(pd.Series(["17", "23", "90"]), True)
    assert [list(level) for level in ages.values()] == [
        ["17", "23", "90"],
        ["17-19", "20-24", "90-90"],
        ["17-19", "20-29", "90-90"],
        ["17-19", "20-39", "80-90"],
        ["*", "*", "*"],
    ]
    races = peer_job._hierarchy(pd.Series(list("abcdef")), False)
    assert list(races[1]) == ["a,b,c,d"] * 4 + ["e,f"] * 2
    assert list(races[2]) == ["*"] * 6


# --- Keeping results


def decision(rules: int, built: float, date: str = "2026-01-01") -> Measured:
    row = DecisionRow(
        rules=rules, built=built, permitted=4e-6, permitted_floor=1e-6, refused=6e-6, refused_floor=1e-6
    )
    return Measured(row, Setting(date=date, commit="c", machine="m", software="s", base="b"))


def test_results_are_kept_and_replaced_by_key(tmp_path: Path) -> None:
    kept, shown = tmp_path / "results.json", tmp_path / "RESULTS.md"
    shown.write_text(f"how to read\n{results.BEGIN}\nold\n{results.END}\nthe end\n")
    results.keep([decision(1000, 1.0), decision(200, 2.0)], kept, shown)
    results.keep([decision(1000, 3.0, "2026-02-02")], kept, shown)
    rules = {one.row.rules: one for one in results.from_json(kept.read_text())}  # type: ignore[attr-defined]
    assert list(rules) == [200, 1000]
    assert rules[1000] == decision(1000, 3.0, "2026-02-02")
    page = shown.read_text()
    assert page.startswith("how to read\n")
    assert page.endswith(f"{results.END}\nthe end\n")
    assert "old" not in page
    assert "| 1,000 | 3.00 | 4.0 | 4.0 | 6.0 | 6.0 | 2 |" in page
    assert "| 2 | 2026-02-02 | c | m | s | b |" in page


def test_quoted_figures_stand_in_order_beside_measured_ones() -> None:
    here = decision(1, 1.0).setting
    ours = LossRow(tool="smalti", columns=8, gcp=0.06, gcp_steps=0.055, k=10, classes=9, source="measured")
    kept = results.merged([Measured(row, here) for row in rivals.rows()], [Measured(ours, here)])
    assert results.from_json(results.to_json(kept)) == kept
    table = [
        line.split(" | ") for line in results.to_markdown(kept).splitlines() if line.startswith("| 8 ")
    ]
    assert [row[1] for row in table[:2]] == ["mosaicrown/mondrian d83e823, normalised span", "smalti"]
    assert [row[-1] for row in table[:2]] == [" |", "1 |"]
    with_eight = [row for row in rivals.rows() if row.columns == 8]
    assert min(row.gcp_steps for row in with_eight if row.gcp_steps is not None) == 0.055


def test_a_page_without_marks_is_left_alone(tmp_path: Path) -> None:
    kept, shown = tmp_path / "results.json", tmp_path / "RESULTS.md"
    shown.write_text("by hand")
    with pytest.raises(ValueError, match="expected the marks"):
        results.keep([decision(1, 1.0)], kept, shown)
    assert shown.read_text() == "by hand"
    assert not kept.exists()


def test_the_page_shows_the_kept_results() -> None:
    page = results.SHOWN.read_text(encoding="utf-8")
    kept = results.from_json(results.KEPT.read_text(encoding="utf-8"))
    _, _, rest = page.partition(results.BEGIN)
    assert rest.partition(results.END)[0].strip() == results.to_markdown(kept).strip()
    assert all(one.row.gcp > 0 for one in kept if isinstance(one.row, RunRow))


# --- Measuring from outside

WORK = "import time; x = bytearray(150 << 20); x[::4096] = x[::4096]; print(len(x)); time.sleep(1)"
GRANDCHILD = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {WORK!r}])"


def test_children_of_a_command_are_measured(tmp_path: Path) -> None:
    used = measure([sys.executable, "-c", GRANDCHILD], output=tmp_path / "out.txt")
    assert (tmp_path / "out.txt").read_text() == f"{150 << 20}\n"
    assert used.peak > 150
    assert used.cpu > 0
    assert used.wall >= 1


def test_a_command_is_ended_at_its_limit(tmp_path: Path) -> None:
    busy = [sys.executable, "-c", "while True: pass"]
    with pytest.raises(CommandError, match=r"^over 0 s of CPU$"):
        measure(busy, limit=Limit(cpu=0.1, wall=600))
    asleep = [sys.executable, "-c", "import time; time.sleep(600)"]
    with pytest.raises(CommandError, match=r"^over 0 s$"):
        measure(asleep, limit=Limit(cpu=600, wall=0.2))


def test_a_command_that_fails_says_so(tmp_path: Path) -> None:
    broken = [sys.executable, "-c", "import sys; sys.exit('no such thing')"]
    with pytest.raises(CommandError, match="exit code 1\nno such thing"):
        measure(broken, output=tmp_path / "out.txt")


def test_what_is_measured_by_default_takes_no_data_set_and_no_other_tool() -> None:
    given = command_line.arguments().parse_args([])
    assert given.suites == ["runs", "kernel", "decisions", "training", "audits"]
    assert given.rows == [100_000, 1_000_000]
    assert (given.adult, given.peers, given.results) == (None, None, False)
