"""The example policies of single techniques run, and their outputs are verified with the data."""

import csv
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

import smalti
from smalti.engine.masking.report import MaskingReport
from smalti.vocab.terms import MASKING
from smalti.vocab.words import ALGORITHM_METHODS

EXAMPLES = Path(__file__).parents[3] / "examples"
SURVEY, PATIENTS, VISITS = (
    f"http://example.com/{name}" for name in ("survey/contraceptive", "patients", "visits")
)
Rows = list[dict[str, str]]
RUNS: dict[str, tuple[str, str, Callable[[Rows], bool]]] = {
    "contraceptive-masked.jsonld": (
        SURVEY, "contraceptive.csv",
        lambda rows: {int(row["age"]) for row in rows} == set(range(18, 46))
        and {row["children"] for row in rows} <= {f"{low}..{low + 2}" for low in range(0, 21, 3)}
        and {row["education"] for row in rows} == {"", "2", "3", "4"},
    ),
    "contraceptive-sample.yaml": (
        SURVEY, "contraceptive.csv",
        lambda rows: 100 < len(rows) < 500 and all(15 <= int(row["age"]) <= 49 for row in rows),
    ),
    "contraceptive-averages.yaml": (SURVEY, "contraceptive.csv", lambda rows: len(rows) == 1473),
    "patients-masked.yaml": (
        PATIENTS, "patients.csv-metadata.json",
        lambda rows: len(rows) == 14 and all(row["ZIP"][3:] == "**" for row in rows),
    ),
    "patients-categories.yaml": (
        PATIENTS, "patients.csv-metadata.json",
        lambda rows: len(rows) == 17
        and min(Counter(row["ZIP"] for row in rows).values()) >= 3
        and min(Counter(row["Disease"] for row in rows).values()) >= 3,
    ),
    "visits-pseudonyms.yaml": (
        VISITS, "visits.csv", lambda rows: all(len(row["Name"]) == 64 for row in rows)
    ),
}  # fmt: skip


ERRORS = {"contraceptive-masked.jsonld": {"age": 0.0086}, "contraceptive-averages.yaml": {"age": 0.0004}}
"""By policy and column, SSE/SST; noise, samples, intervals and categories have none."""


@pytest.mark.parametrize("name", RUNS)
def test_an_example_runs_and_is_verified(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    target, data, fits = RUNS[name]
    monkeypatch.setenv("SMALTI_PSEUDONYM_KEY_VISITS", "0123456789abcdef" * 2)
    party = "http://example.com/party/researcher"
    outcome = smalti.run(
        EXAMPLES / "policies" / name,
        data={target: EXAMPLES / "data" / data},
        party=party,
        owner="http://example.com/party/institute"
        if target == SURVEY
        else "http://example.com/party/hospital",
        purpose="mosaicrown:statistical",
        registry=tmp_path / "r.sqlite",
        out=tmp_path / "out",
    )
    assert outcome.version is not None, outcome.decision.reasons
    assert isinstance(outcome.report, MaskingReport)
    assert {each.column: round(each.share, 4) for each in outcome.report.errors} == ERRORS.get(name, {})
    (published,) = (tmp_path / "out").glob("*.csv")
    with published.open(encoding="utf-8", newline="") as file:
        assert fits([*csv.DictReader(file)])
    is_random = name == "contraceptive-sample.yaml"
    more = {} if is_random else {"data": EXAMPLES / "data" / data}
    assert (
        smalti.verify(tmp_path / "out", registry=tmp_path / "r.sqlite", **more).is_repeated is not is_random
    )


def test_each_technique_has_an_example() -> None:
    techniques = {name for name, methods in ALGORITHM_METHODS.items() if MASKING in methods}
    policies = [smalti.load_policy(EXAMPLES / "policies" / name) for name in RUNS]
    shown = {
        name
        for policy in policies
        for rule in policy.policy.permissions
        if rule.anonymization is not None
        for name in rule.anonymization.algorithms
    }
    assert shown == techniques
