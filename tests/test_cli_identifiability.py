"""`smalti audit identifiability`: what is refused before anything is trained, and a whole study."""

import json
import re
from pathlib import Path

import pytest
from model_worlds import OWNER, TARGET, people, policy
from shell import smalti

from smalti.cli.performing import perform
from smalti.cli.progress import CommandWatch, watching
from smalti.engine.jobs.requests import Identifiability, IdentifiabilitySample
from smalti.engine.registry.job_entries import JobResult

WORDS = ("audit", "identifiability")


def test_what_cannot_be_studied_is_refused_and_nothing_is_recorded(tmp_path: Path) -> None:
    policy(tmp_path)
    people(tmp_path, 4)
    data = ("--data", f"{TARGET}=people.csv")
    few = smalti(*WORDS, "policy.jsonld", *data, cwd=tmp_path)
    assert (few.code, "respondents are too few" in few.err) == (1, True)
    wrong = smalti(*WORDS, "policy.jsonld", *data, "--belief", "2", "--steps", "0", cwd=tmp_path)
    assert (wrong.code, wrong.err.count("out of range")) == (2, 2)
    stranger = smalti(*WORDS, "policy.jsonld", *data, "--as", "http://example.com/stranger", cwd=tmp_path)
    assert (stranger.code, "deny" in stranger.out) == (1, True)
    both = smalti(*WORDS, "policy.jsonld", *data, "--sample", "digits", cwd=tmp_path)
    assert (both.code, "it is not one thing" in both.err) == (2, True)
    for words in (["policy.jsonld"], [*data, "--sample", "digits"], []):
        unclear = smalti(*WORDS, *words, cwd=tmp_path)
        assert (unclear.code, "it is not one thing" in unclear.err) == (2, True)
    sample = smalti(*WORDS, "--sample", "wombats", cwd=tmp_path)
    assert (sample.code, "there is no such data; expected purchases or digits" in sample.err) == (2, True)
    assert not (tmp_path / "smalti.sqlite").exists()


@pytest.mark.slow
def test_a_job_studies_public_data_and_tells_how_far_it_is(tmp_path: Path) -> None:
    request = IdentifiabilitySample(
        sample="purchases", beliefs=(0.9,), records=4, steps=1, repetitions=20, neighbors=1, hidden=(2,)
    )
    report, watch = tmp_path / "report.json", CommandWatch()
    with watching(watch):
        assert perform(request, "r.sqlite", report) == JobResult(0, report=report)
    assert json.loads(report.read_text())["records"] == 4
    phases = [timing.phase for timing in watch.timings]
    assert re.fullmatch(r"train models, 0 of \d+", phases[0])
    assert 5 < len(phases) < 30
    assert not (tmp_path / "r.sqlite").exists()


def test_a_job_ends_with_findings_where_the_policy_denies_it(tmp_path: Path) -> None:
    place, data = policy(tmp_path), people(tmp_path, 4)
    request = Identifiability(
        policy=str(place), target=TARGET, data=str(data), party="http://example.com/stranger"
    )
    assert perform(request, str(tmp_path / "smalti.sqlite"), tmp_path / "report.json") == JobResult(1)
    assert not (tmp_path / "report.json").exists()


@pytest.mark.slow
def test_a_study_of_a_policys_data(tmp_path: Path) -> None:
    policy(tmp_path)
    people(tmp_path, 120)
    sized = (
        "--repetitions",
        "20",
        "--belief",
        "0.9",
        "--records",
        "20",
        "--steps",
        "5",
        "--page",
        "p.html",
    )
    ran = smalti(
        *WORDS,
        "policy.jsonld",
        "--data",
        f"{TARGET}=people.csv",
        *sized,
        "--page",
        "p.html",
        "--format",
        "json",
        cwd=tmp_path,
    )
    assert ran.code == 0, ran.err
    shown = json.loads(ran.out)
    assert {cell["sensitivity"] for cell in shown["results"]} == {"dataset", "local", "global"}
    assert len(shown["results"]) == 6
    page = tmp_path / "p.html"
    assert page.stat().st_mode & 0o077 == 0
    assert page.read_text().count("<svg") == 10
    assert not (tmp_path / "smalti.sqlite").exists()


@pytest.mark.slow
def test_only_the_owner_may_study_what_a_registry_knows(tmp_path: Path) -> None:
    policy(tmp_path)
    people(tmp_path, 60)
    claimed = smalti("policy", "add", "policy.jsonld", "--as", OWNER, cwd=tmp_path)
    assert claimed.code == 0, claimed.err
    ran = smalti(
        *WORDS, "policy.jsonld", "--data", f"{TARGET}=people.csv", "--registry", "smalti.sqlite",
        "--as", "http://example.com/party/researcher", cwd=tmp_path,
    )  # fmt: skip
    assert (ran.code, "own" in ran.err) == (2, True)
