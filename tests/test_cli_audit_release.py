"""`smalti audit release`: attacks on a whole release; some 3 s of CPU in all."""

import json
import random
import stat
from pathlib import Path
from typing import Any

import pytest
from release_worlds import OUTPUT, OWNER, TARGET, USER, columns, policy, refinement, release, visits
from shell import Ran, smalti

from smalti.auditing_releases import attackable_data
from smalti.cli.performing import perform
from smalti.engine.jobs.requests import ReleaseAudit
from smalti.engine.registry.job_entries import JobResult
from smalti.engine.registry.registry import Registry
from smalti.errors import DataError, UsageError
from smalti.json.text import as_json
from smalti.vocab.terms import IRI

BINS = [str(age) for age in range(20, 51)]
QUERY = {
    "statistics": [
        {"name": "ages", "statistic": "histogram", "measure": {"column": "age", "edges": BINS},
         "groupBy": [{"column": "sex", "values": ["f", "m"]}]},
        {"name": "mean", "statistic": "mean", "measure": "age", "lower": 20, "upper": 50, "unit": 1,
         "groupBy": [{"column": "sex", "values": ["f", "m"]}]},
        {"name": "half", "statistic": "quantile", "measure": "age", "lower": 20, "upper": 50, "unit": 1,
         "levels": [0.5]},
    ]
}  # fmt: skip
CHOICE = {"statistics": [QUERY["statistics"][2]]}
CANARY = "kanarienvogel"


def people(letter: str, count: int) -> list[tuple[str, str, str]]:
    draw = random.Random(letter)
    return [(f"{letter}{number}", draw.choice("fm"), str(draw.randint(20, 50))) for number in range(count)]


def released(folder: Path, data: Path, query: Any, name: str) -> None:
    words = {
        "smalti:statistic": refinement("smalti:statistic", "isAnyOf", ["histogram", "mean", "quantile"]),
        "smalti:measure": refinement("smalti:measure", "isAnyOf", columns("age")),
        "smalti:rowsPerRespondent": refinement("smalti:rowsPerRespondent", "lteq", 1),
    }
    outcome = release(folder, data, name, policy=policy(folder, budget=3, words=words), query=query)
    assert outcome.decision.is_permitted


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("world")
    members = people("p", 40)
    data = visits(folder, members)
    visits(folder, [*people("q", 300), *members[:5]], "others.csv")
    younger = [(who, sex, str(20 + number % 8)) for number, (who, sex, _) in enumerate(people("y", 200))]
    visits(folder, younger, "younger.csv")
    visits(folder, people("q", 20), "few.csv")
    visits(folder, [*members[:-1], (CANARY, "f", "21")], "changed.csv")
    released(folder, data, QUERY, "out")
    released(folder, data, CHOICE, "choice")  # the newest version under the output's IRI
    return folder


def audit(folder: Path, *more: str, data: str = "visits.csv", party: str = OWNER, out: str = "out") -> Ran:
    return smalti(
        "audit", "release", out, "--data", folder / data, "--as", party,
        "--registry", folder / "r.sqlite", *more, cwd=folder,
    )  # fmt: skip


def test_what_noise_hides_is_shown(world: Path) -> None:
    files = world / "page.html", world / "report.json"
    ran = audit(
        world, "--population", str(world / "others.csv"), "--format", "json",
        "--page", str(files[0]), "--report", str(files[1]),
    )  # fmt: skip
    assert ran.code == 0, ran.err
    found = ran.json
    assert (found["respondents"], found["others"], found["leftOut"]) == (40, 300, 5)
    assert [each["cells"] for each in found["statistics"]] == [60, 2, 0]
    advantages = {(each["attack"], each["withNoise"]): each for each in found["tracing"]}
    assert len(advantages) == 4
    for attack in ("inner-product", "likelihood-ratio"):
        noisy, exact = advantages[attack, True], advantages[attack, False]
        assert exact["advantage"]["value"] > 0.3 > noisy["expectedAdvantage"] + 0.1
        assert exact["area"] > 0.65
        assert noisy["area"] < 0.95, "the noise is random: so much of it has a chance below 1e-6"
        low, value, high = (exact["advantage"][name] for name in ("lower", "value", "upper"))
        assert low <= value <= high
    assert not found["populationDiffers"]
    assert all(each["advantage"]["value"] < 0.45 for each in found["controls"])
    (sex,) = found["reconstruction"]
    assert sex["column"] == "sex"
    assert sex["rightWithoutNoise"] > 0.8 > sex["guessed"]
    assert 0 <= sex["right"] <= 1
    (age,) = found["notRun"]
    assert "too few statistics: 2 released counts" in age["reason"]
    assert all(stat.S_IMODE(file.stat().st_mode) == 0o600 for file in files)
    assert json.loads(files[1].read_text()) == found
    assert "<svg" in files[0].read_text()
    again = audit(world, "--population", str(world / "others.csv"), "--format", "json")
    assert again.out == as_json(found)


def asked(world: Path, party: str, page: str | None = None) -> ReleaseAudit:
    return ReleaseAudit(
        output=str(world / "out"), data=str(world / "visits.csv"), party=party,
        population=str(world / "others.csv"), page=page,
    )  # fmt: skip


def test_a_job_audits_a_release_for_its_owner_alone(world: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not own"):
        perform(asked(world, USER), str(world / "r.sqlite"), tmp_path / "report.json")
    assert not (tmp_path / "report.json").exists()
    sums, quantile = Registry.open(world / "r.sqlite").versions(IRI(OUTPUT))
    assert attackable_data(sums) == TARGET
    with pytest.raises(DataError, match="is a sum over people"):
        attackable_data(quantile)


@pytest.mark.slow
def test_a_job_audits_a_release(world: Path, tmp_path: Path) -> None:
    request, report = asked(world, OWNER, str(tmp_path / "p.html")), tmp_path / "report.json"
    registry = str(world / "r.sqlite")
    assert perform(request, registry, report) == JobResult(0, report=report)
    assert json.loads(report.read_text())["respondents"] == 40
    assert "<svg" in (tmp_path / "p.html").read_text()


def test_a_population_that_differs_is_noticed(world: Path) -> None:
    """Then respondents are told from it by what the statistics do not tell of them."""
    ran = audit(world, "--population", str(world / "younger.csv"))
    assert ran.code == 0, ran.err
    assert "The population differs from the data" in " ".join(ran.out.split())


def test_what_is_missing_is_told_before_any_attack(world: Path) -> None:
    others = "--population", str(world / "others.csv")
    refused = {
        "nobody to compare with": audit(world),
        "few others": audit(world, "--population", str(world / "few.csv")),
        "other data": audit(world, *others, data="changed.csv"),
        "another party": audit(world, *others, party=USER),
        "no sums": audit(world, *others, out=OUTPUT),
        "a secret with few counts": audit(world, *others, "--secret", "age"),
        "an unknown secret": audit(world, *others, "--secret", "agee"),
        "a rate": audit(world, *others, "--false-positive-rate", "1"),
    }
    assert {name: ran.code for name, ran in refused.items()} == {
        "nobody to compare with": 2, "few others": 1, "other data": 1, "another party": 2, "no sums": 1,
        "a secret with few counts": 1, "an unknown secret": 2, "a rate": 2,
    }  # fmt: skip
    words = {
        "nobody to compare with": "people who are not in the data",
        "few others": "20 respondents",
        "other data": "made from other data",
        "another party": "does not own",
        "no sums": "is a sum over people",
        "a secret with few counts": "too few statistics",
        "an unknown secret": "`sex`",
        "a rate": "out of range",
    }
    for name, text in words.items():
        assert text in " ".join(refused[name].err.split()), name
    assert not any(CANARY in ran.out + ran.err for ran in refused.values())


def test_a_single_respondent_is_refused(tmp_path: Path) -> None:
    released(tmp_path, visits(tmp_path, people("p", 1)), QUERY, "out")
    visits(tmp_path, people("q", 120), "others.csv")
    ran = audit(tmp_path, "--population", str(tmp_path / "others.csv"))
    assert ran.code == 1
    assert "it has 1 respondent to attack" in " ".join(ran.err.split())
