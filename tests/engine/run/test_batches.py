"""Further batches of the same shape, published at the levels of an earlier release."""

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from shell import Ran, listing, smalti

STAYS = "http://example.com/stays"
HOSPITAL = "http://example.com/party/hospital"
POLICY = """\
policy: http://example.com/policy/stays
owner: http://example.com/party/hospital
party: http://example.com/party/hospital
target: http://example.com/stays
purpose: statistical
method: l-diversity
algorithm: {algorithm}
k: 2
l: 2
respondent: who
identifiers: [who]
quasi-identifiers: [zip]
sensitive: [disease]
output: http://example.com/stays-published
"""
FIRST = [("a", "10041"), ("b", "10042"), ("c", "10043"), ("d", "10044"), ("e", "20031"), ("f", "20032")]
"""At one level of the hierarchy, two classes."""


def stays(folder: Path, people: Sequence[tuple[str, str]], name: str = "stays.csv", width: int = 5) -> None:
    rows = [
        f"{who},{zip_code},{'flu' if place % 2 else 'gout'}\n"
        for place, (who, zip_code) in enumerate(people)
    ]
    (folder / name).write_text("who,zip,disease\n" + "".join(rows))
    hierarchy = {"rule": "masking", "width": width}
    described: dict[str, Any] = {
        "@context": ["http://www.w3.org/ns/csvw", {"smalti": "https://w3id.org/smalti#"}], "url": name,
        "tableSchema": {"columns": [
            {"name": "who"}, {"name": "zip", "smalti:hierarchy": hierarchy}, {"name": "disease"},
        ]},
    }  # fmt: skip
    (folder / f"{name}-metadata.json").write_text(json.dumps(described))


def run(folder: Path, out: str, *more: str, policy: str = "stays.yaml") -> Ran:
    asks = ["--data", f"{STAYS}=stays.csv", "--as", HOSPITAL, "--purpose", "statistical", "--out", out]
    return smalti("run", policy, *asks, *more, cwd=folder)


def labels(folder: Path, out: str) -> list[str]:
    with next((folder / out).glob("*.csv")).open(newline="") as file:
        return [row["zip"] for row in csv.DictReader(file)]


@pytest.fixture
def begun(tmp_path: Path) -> Path:
    """A folder with a first release, and its data in `first.csv`."""
    (tmp_path / "stays.yaml").write_text(POLICY.format(algorithm="incognito"))
    stays(tmp_path, FIRST)
    assert run(tmp_path, "first").code == 0
    assert labels(tmp_path, "first") == ["1004*"] * 4 + ["2003*"] * 2
    stays(tmp_path, FIRST, "first.csv")
    return tmp_path


LEVELS = ("--recoding-of", "http://example.com/stays-published")
TOGETHER = (*LEVELS, "--earlier-data", "first.csv")


def test_a_batch_of_other_people_has_the_levels_of_the_first_release(begun: Path) -> None:
    stays(begun, [("p", "10041"), ("q", "10041"), ("r", "10047"), ("s", "10047")])
    done = run(begun, "second", *TOGETHER)
    assert done.code == 0, done
    assert labels(begun, "second") == ["1004*"] * 4, "by itself, it would be published as it is"
    plan = smalti(
        "plan", "stays.yaml", "--data", f"{STAYS}=stays.csv", "--owner", HOSPITAL, "--registry",
        "smalti.sqlite", *LEVELS, cwd=begun,
    )  # fmt: skip
    assert "those of an earlier release (1)" in " ".join(plan.out.split())


def test_enough_people_may_join_a_class_and_one_may_not(begun: Path) -> None:
    one = [*FIRST, ("p", "10045")]
    stays(begun, one)
    before = listing(begun)
    anew = run(begun, "second", *TOGETHER[len(LEVELS) :])
    assert anew.code == 1
    assert f"Publish it at the levels of `{LEVELS[1]}` version 1 (--recoding-of " in anew.message
    refused = run(begun, "second", *TOGETHER)
    assert refused.code == 1
    assert "--recoding-of" not in refused.message
    assert "in this run, an equivalence class has too few respondents" in refused.message
    assert "1 respondent, in record 7 of `stays.csv`" in refused.message
    assert listing(begun) == before
    stays(begun, [*one, ("q", "10046")])
    done = run(begun, "second", *TOGETHER)
    assert done.code == 0, done


def test_a_deletion_that_tells_something_is_refused(begun: Path) -> None:
    stays(begun, FIRST[1:])
    refused = run(begun, "second", *TOGETHER)
    assert refused.code == 1
    assert "a promise is broken" in refused.message
    stays(begun, FIRST[:4])
    done = run(begun, "second", *TOGETHER)
    assert done.code == 0, "a whole class may go"


def test_a_batch_that_misses_the_promise_by_itself_is_refused(begun: Path) -> None:
    stays(begun, [("p", "10041"), ("q", "30000")])
    refused = run(begun, "second", *TOGETHER)
    assert refused.code == 1
    assert "at the levels of the earlier release" in refused.message


def test_what_has_no_such_levels_is_refused(begun: Path) -> None:
    mondrian = POLICY.format(algorithm="mondrian").replace("policy/stays", "policy/other")
    (begun / "other.yaml").write_text(mondrian)
    refused = run(begun, "second", *LEVELS, policy="other.yaml")
    assert refused.code == 1
    assert "the policy requires `mondrian`" in refused.message
    stays(begun, FIRST, width=6)
    refused = run(begun, "second", *LEVELS)
    assert refused.code == 1
    assert "other hierarchies: `zip`" in refused.message
    unknown = run(begun, "second", "--recoding-of", "http://example.com/nothing")
    assert unknown.code == 2
    assert "owns no release" in unknown.message
    published = LEVELS[1]
    assert smalti("targets", "discard", published, "--as", HOSPITAL, cwd=begun).code == 0
    discarded = run(begun, "second", *LEVELS)
    assert discarded.code == 2
    assert "owns no release" in discarded.message
    assert not (begun / "second").exists()


def test_a_batch_with_an_iri_of_its_own_is_not_published_beside_the_first_unheld(begun: Path) -> None:
    own = POLICY.format(algorithm="incognito").replace(f"target: {STAYS}", f"target: {STAYS}-2")
    own = own.replace("policy/stays", "policy/own").replace("stays-published", "own")
    (begun / "own.yaml").write_text(own)
    stays(begun, [*FIRST[1:], ("p", "10045")])
    asks = ["--data", f"{STAYS}-2=stays.csv", "--as", HOSPITAL, "--purpose", "statistical"]
    asks += ["--out", "second"]
    refused = smalti("run", "own.yaml", *asks, *LEVELS, cwd=begun)
    assert refused.code == 2
    assert "would not be held together" in refused.message
    document = json.loads(smalti("fmt", "--to", "json-ld", "own.yaml", cwd=begun).out)
    context = document.pop("@context")
    member = {"uid": STAYS, "@type": "Asset", "partOf": f"{STAYS}-2"}
    (begun / "stated.jsonld").write_text(json.dumps({"@context": context, "@graph": [document, member]}))
    held = smalti("run", "stated.jsonld", *asks, *TOGETHER, cwd=begun)
    assert held.code == 1
    assert "a promise is broken" in held.message


def test_levels_are_not_passed_over_where_nothing_has_levels(begun: Path) -> None:
    words = ("algorithm: incognito", "k: 2", "l: 2", "quasi-identifiers: [zip]", "sensitive: [disease]")
    masked = POLICY.format(algorithm="incognito").replace("l-diversity", "masking")
    for word in words:
        masked = masked.replace(f"{word}\n", "")
    masked += "algorithm: generalization\nreleased: [disease]\nper-column: {zip: {level: 1}}\n"
    (begun / "masked.yaml").write_text(masked.replace("policy/stays", "policy/masked"))
    refused = run(begun, "second", *TOGETHER, policy="masked.yaml")
    assert refused.code == 2
    assert "none of --first-cuts, --cut-threshold and --recoding-of" in refused.message
    assert run(begun, "second", policy="masked.yaml").code != 2


def test_who_keeps_a_value_is_not_told_by_those_whose_value_changes(begun: Path) -> None:
    place = begun / "stays.csv"
    place.write_text(place.read_text().replace(",flu", ",cold"))
    refused = run(begun, "second", *TOGETHER)
    assert refused.code == 1
    assert "of those whose `disease` is the same in several releases" in refused.message
    place.write_text(place.read_text().replace(",gout", ",ague"))
    assert run(begun, "second", *TOGETHER).code == 0, "nobody kept one"


def test_a_value_that_stays_is_not_told_by_columns_outside_of_a_promise(begun: Path) -> None:
    place = begun / "stays.csv"
    place.write_text(place.read_text().replace(",flu", ",cold"))
    policy = POLICY.format(algorithm="mondrian").replace("sensitive: [disease]", "released: [disease]")
    policy = policy.replace("policy/stays", "policy/beside").replace("stays-published", "beside")
    without = "\n".join(line for line in policy.splitlines() if line[:2] not in {"k:", "l:"})
    masking = without.replace("l-diversity", "masking").replace("mondrian", "generalization")
    masking = masking.replace("quasi-identifiers: [zip]", "per-column: {zip: {level: 1}}")
    classes = policy.replace("l: 2\n", "").replace("l-diversity", "k-anonymity")
    for text in (masking, classes):
        (begun / "beside.yaml").write_text(text)
        refused = run(begun, "second", "--earlier-data", "first.csv", policy="beside.yaml")
        assert refused.code == 1, refused
        assert "published` version 1, of those whose `disease` is the same in several" in refused.message


def test_a_code_that_stays_is_not_told_by_those_that_change(tmp_path: Path) -> None:
    coded = POLICY.format(algorithm="[mondrian, top-coding]")
    coded = f"{coded}per-column: {{disease: {{top-code: 3}}}}\n"
    (tmp_path / "stays.yaml").write_text(coded)
    for name, diseases, code in (("first.csv", "4141", 0), ("stays.csv", "5252", 1)):
        rows = [f"{who},10041,{disease}\n" for who, disease in zip("abcd", diseases, strict=True)]
        (tmp_path / name).write_text("who,zip,disease\n" + "".join(rows))
        earlier = ("--earlier-data", "first.csv")
        ended = smalti("run", "stays.yaml", "--data", f"{STAYS}={name}", "--as", HOSPITAL, "--purpose",
                       "statistical", "--out", name[:5], *earlier, cwd=tmp_path)  # fmt: skip
        assert ended.code == code, ended
    assert "of those whose `disease` is the same in several releases" in ended.message
