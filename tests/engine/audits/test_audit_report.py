"""Reports of audits: for owners only, and as pages that stand alone."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyld.jsonld
import pytest
import shell
from audit_samples import attempt, figures, result
from model_worlds import OUTPUT, OWNER, TARGET, USER, people, policy, registry, run
from wording import CLAIMS

from smalti import auditing
from smalti.engine.registry.attempts import AttemptState
from smalti.engine.training.figures import Detail, Figure, figures_to_json
from smalti.engine.training.quality import quality_certificate, study_certificate
from smalti.errors import UsageError
from smalti.reports.audits import page, study_page
from smalti.reports.page import Table
from smalti.reports.web import to_html
from smalti.vocab.terms import IRI, SMALTI

HOSTILE = "<script>alert(1)</script>\"'&{{7*7}}"
ENDED = replace(attempt("run"), state=AttemptState.MET, number=1)


def no_document(url: str, *_: Any) -> Any:
    raise AssertionError(f"asked for {url}")


def test_a_page_escapes_whatever_it_shows() -> None:
    told = replace(ENDED, output=IRI(f"http://example.com/{HOSTILE}"))
    text = to_html(page(told, figures(result(HOSTILE)), with_drawings=True))
    assert "<script" not in text
    assert "{{" not in text.replace(HOSTILE[-7:], ""), "nothing is taken for a template"
    assert "&lt;script&gt;alert(1)" in text


def test_a_page_refers_to_nothing_outside() -> None:
    text = to_html(page(ENDED, figures(result()), with_drawings=True))
    assert "default-src 'none'" in text
    assert "<svg" in text
    for element in ("script", "iframe", "link", "object", "embed", "img", "image", "base", "form"):
        assert not re.search(rf"<{element}\b", text), element
    places = re.findall(r"(?:href|src|action)\s*=\s*[\"']([^\"']*)", text)
    assert all(place.startswith("#") for place in places), places
    assert all(place.startswith("#") for place in re.findall(r"url\(([^)]*)\)", text))
    assert "@import" not in text


def test_a_page_says_what_it_does_not_show() -> None:
    for state in AttemptState:
        shown = page(replace(ENDED, state=state), None, with_drawings=False)
        assert shown.sections[-1].title == "What this does not show"
        assert "for the owners" in str(shown.sections[-1].parts)
    found = page(ENDED, figures(result(leak=False)), with_drawings=False)
    assert "not found" in str(found)


def test_a_page_says_why_a_duty_was_not_met_and_what_its_attacks_leave_out() -> None:
    refused = replace(figures(result(), result("model-inversion")), reasons=("loss: 0.4 is above 0.3",))
    text = to_html(page(replace(ENDED, state=AttemptState.NOT_MET), refused, with_drawings=False))
    assert "loss: 0.4 is above 0.3." in text
    assert "what goes together" in text
    assert "hardly any noise" not in text, "no training was repeated"
    assert quality_certificate(ENDED, refused)["dct:description"] == ["loss: 0.4 is above 0.3"]
    met = to_html(page(ENDED, figures(result()), with_drawings=False))
    assert "Why it was not met" not in met
    assert "what goes together" not in met


@pytest.mark.parametrize("state", AttemptState)
def test_no_page_claims_what_nobody_can_keep(state: AttemptState) -> None:
    for found in (None, figures(result()), figures(result(leak=False), TRAINED, SETS)):
        shown = to_html(page(replace(ENDED, state=state), found, with_drawings=False))
        assert not CLAIMS.search(shown.partition("<body")[2])
    study = to_html(study_page("model.onnx", "00" * 32, figures(result()), with_drawings=False))
    assert not CLAIMS.search(study.partition("<body")[2])


TRAINED = replace(
    result("differential-identifiability"),
    figures=(
        Figure(figure="attackAdvantage", value=0.1, limit=0.2),
        Figure(figure="epsilonLowerBound", value=0.5, limit=0.5, method="gaussian"),
    ),
    details=(
        Detail(name="largest belief", value=0.9),
        Detail(name="share of beliefs", value=0.25, lower=0.125, upper=0.5),
        Detail(name="quantile", value=None, lower=0.75, upper=None),
    ),
)
SETS = replace(result("set-membership"), area=None, curve=(), figures=result().figures[:1])


def test_several_certificates_are_one_document_that_keeps_its_meaning() -> None:
    told = [replace(ENDED, run=one, figures=figures_to_json(figures(result()))) for one in ("1", "2")]
    document = auditing.to_json(tuple(auditing.Audited(one, figures(result())) for one in told))
    found = pyld.jsonld.expand(document, {"documentLoader": no_document})
    assert [one["@id"] for one in found] == ["urn:uuid:1#audit", "urn:uuid:2#audit"]
    for one in found:
        assert one[f"{SMALTI}auditState"] == [{"@value": "met"}]
        assert one[f"{SMALTI}attackResult"]


def test_every_kind_of_attack_is_shown_with_its_details() -> None:
    shown = page(ENDED, figures(TRAINED, SETS), with_drawings=True)
    (trained, sets) = [part for part in shown.sections[1].parts if isinstance(part, Table)]
    assert trained.caption.startswith(
        "differential-identifiability: 100 trainings with the record and 100 without it; area"
    )
    assert trained.rows == (
        ("advantage (twice the share of right guesses, minus one)", "0.1", "0.2"),
        ("epsilon is at least (gaussian)", "0.5", "0.5"),
        ("largest belief", "0.9", ""),
        ("share of beliefs", "0.25", "0.125 to 0.5"),
        ("quantile", "too little data", "0.75 to any"),
    )
    assert sets.caption == "set-membership: 100 members and 100 others"
    assert "area 0.550" in to_html(shown)
    alone = page(ENDED, figures(SETS), with_drawings=True)
    assert "<svg" not in to_html(alone), "there is no score of records to draw"
    told = quality_certificate(ENDED, figures(TRAINED, SETS))
    of_training, of_sets = told["results"]
    assert of_training["measurements"][1]["method"] == "gaussian"
    assert of_training["details"][1:] == [
        {"name": "share of beliefs", "value": 0.25, "lowerLimit": 0.125, "upperLimit": 0.5},
        {"name": "quantile", "value": None, "lowerLimit": 0.75},
    ]
    assert not {"details", "areaUnderCurve"} & set(of_sets)


def test_rows_are_as_long_as_the_header() -> None:
    with pytest.raises(ValueError, match="as many cells"):
        Table("caption", ("one", "two"), (("1",),))


def test_a_quality_certificate_is_json_ld_without_anything_to_fetch() -> None:
    told = quality_certificate(ENDED, figures(result(), TRAINED))
    (found,) = pyld.jsonld.expand(json.loads(json.dumps(told)), {"documentLoader": no_document})
    assert found["@id"] == "urn:uuid:run#audit"
    assert found["http://www.w3.org/ns/dqv#computedOn"] == [{"@id": ENDED.output}]
    results = found["https://w3id.org/smalti#attackResult"]
    assert len(results) == 2
    measured = results[0]["http://www.w3.org/ns/dqv#hasQualityMeasurement"]
    assert len(measured) == 3
    assert len(results[1]["https://w3id.org/smalti#attackDetail"]) == 3
    assert not [word for word in _words(found) if ":" not in word and not word.startswith("@")]


def test_a_study_of_a_model_from_a_seed_says_test_only() -> None:
    for is_test_only in (True, False):
        told = study_certificate("00" * 32, figures(result()), is_test_only=is_test_only)
        (found,) = pyld.jsonld.expand(json.loads(json.dumps(told)), {"documentLoader": no_document})
        said = [{"@value": "seed, test only"}] if is_test_only else None
        assert found.get("https://w3id.org/smalti#randomness") == said
        shown = study_page(
            "m", "00" * 32, figures(result()), with_drawings=False, is_test_only=is_test_only
        )
        assert ("Test only: the model was trained with a seed" in to_html(shown)) is is_test_only


def _words(found: Any) -> set[str]:
    if isinstance(found, list):
        return {word for one in found for word in _words(one)}
    if isinstance(found, dict):
        return set(found) | {word for one in found.values() for word in _words(one)}
    return set()


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reports")
    run(folder, people(folder), policy=policy(folder, noise=False))
    known = registry(folder)
    (made,) = known.attempts(IRI(OUTPUT))
    assert made.figures
    return folder


@pytest.mark.parametrize("about", [OUTPUT, TARGET])
def test_an_owner_reads_the_report(world: Path, about: str) -> None:
    name = f"{about.rsplit('/', 1)[1]}.html"
    asked = ("audit", "report", about, "--as", OWNER, "--registry", "r.sqlite")
    ran = shell.smalti(*asked, "--html", name, "--format", "json", cwd=world)
    assert ran.code == 0, ran.err
    (told,) = ran.json["@graph"]
    assert (told["state"], told["results"][0]["attack"]) == ("met", "loss")
    assert "Whether the attacks can find a leak" in (world / name).read_text(encoding="utf-8")
    again = shell.smalti(*asked, "--html", name, cwd=world)
    assert again.code == 2
    assert "it exists already" in again.err
    human = shell.smalti(*asked, cwd=world)
    assert "What attacks achieved" in human.out


@pytest.mark.parametrize("party", [USER, "http://example.com/party/nobody"])
def test_nobody_else_reads_it(world: Path, party: str) -> None:
    ran = shell.smalti("audit", "report", OUTPUT, "--as", party, "--registry", "r.sqlite", cwd=world)
    assert ran.code == 2
    assert "does not own the training data" in ran.message
    assert "loss" not in ran.err + ran.out


def test_what_was_never_audited_is_said(world: Path) -> None:
    with pytest.raises(UsageError, match="no audit is recorded for it"):
        auditing.audits("http://example.com/nothing", party=OWNER, registry=registry(world))


def test_figures_are_kept_as_they_were_told() -> None:
    told = replace(ENDED, figures=figures_to_json(figures(result())))
    assert auditing.to_json((auditing.Audited(told, None),))["@graph"][0]["state"] == "met"
