"""Masking from a policy to a recorded output: keys, respondents, prohibitions, verification, bad input."""

import csv
import hmac
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from masking_world import HEADER, KEY

import smalti
from smalti.engine.masking.plan import MaskingPlan
from smalti.engine.masking.report import ColumnError, MaskingReport
from smalti.engine.plan.plan import RespondentColumn
from smalti.errors import GuaranteeError, SmaltiError, UsageError
from smalti.vocab.terms import IRI

TARGET, OUTPUT = "http://example.com/people", "http://example.com/masked"
OWNER, USER = "http://example.com/party/owner", "http://example.com/party/user"
Refinement = dict[str, Any]
ROWS = [
    (f"p{n % 15}", str(18 + n), f"{n}.5", f"19{20 + n}-05-01", "Rome" if n % 10 else f"c{n}")
    for n in range(30)
]
DESCRIPTION = {
    "@context": ["http://www.w3.org/ns/csvw", {"smalti": "https://w3id.org/smalti#"}],
    "url": "people.csv",
    "tableSchema": {
        "columns": [
            {"name": "who", "datatype": "string"},
            {"name": "age", "datatype": {"base": "integer", "minimum": 0, "maximum": 119}},
            {"name": "pay", "datatype": "decimal"},
            {
                "name": "born",
                "datatype": "date",
                "smalti:hierarchy": {"rule": "dates", "units": ["year", "decade"]},
            },
            {"name": "city", "datatype": "string"},
        ]
    },
}


def word(name: str, value: Any, operator: str = "eq") -> Refinement:
    return {"leftOperand": f"smalti:{name}", "operator": operator, "rightOperand": value}


def columns(word_of: str, *names: str) -> Refinement:
    listed = [{"@id": f"{TARGET}/{name}"} for name in names]
    return {"leftOperand": word_of, "operator": "isAllOf", "rightOperand": listed}


def of(name: str, parameter: Refinement) -> Refinement:
    return {"and": [word("column", {"@id": f"{TARGET}/{name}"}), parameter]}


def algorithm(*names: str) -> Refinement:
    return word("algorithm", list(names), "isAllOf")


WHO = word("respondent", {"@id": f"{TARGET}/who"})
RELEASED = columns("smalti:released", "city")
PSEUDONYMS = [columns("smalti:pseudonym", "who"), word("pseudonymKey", "people")]
TOP = [algorithm("top-coding"), of("age", word("topCode", 40))]


def document(refinements: list[Refinement], more: dict[str, Any] | None = None) -> dict[str, Any]:
    method = {"leftOperand": "mosaicrown:method", "operator": "eq", "rightOperand": "masking"}
    return {
        "@context": [
            "http://www.w3.org/ns/odrl.jsonld",
            "https://www.mosaicrown.eu/ns/mosaicrown.jsonld",
            "https://w3id.org/smalti/context.jsonld",
        ],
        "@type": "Set",
        "uid": "http://example.com/policy/1",
        "profile": ["https://www.mosaicrown.eu/ns/mosaicrown/1/", "https://w3id.org/smalti#"],
        "permission": [
            {
                "uid": "http://example.com/policy/1/1",
                "target": TARGET,
                "assignee": USER,
                "action": [{"rdf:value": {"@id": "odrl:anonymize"}, "refinement": [method, *refinements]}],
                "output": OUTPUT,
            }
        ],
        **(more or {}),
    }


def write(folder: Path, refinements: list[Refinement], more: dict[str, Any] | None = None) -> Path:
    place = folder / "policy.jsonld"
    place.write_text(json.dumps(document(refinements, more)), encoding="utf-8")
    if not (folder / "people.csv").exists():
        with (folder / "people.csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([HEADER, *ROWS])
        (folder / "people.csv-metadata.json").write_text(json.dumps(DESCRIPTION), encoding="utf-8")
        (folder / "r.sqlite.pseudonyms.people").write_bytes(KEY)
        (folder / "r.sqlite.pseudonyms.people").chmod(0o600)
    return place


def asked(folder: Path) -> dict[str, Any]:
    data = {TARGET: folder / "people.csv"}
    return {"data": data, "party": USER, "owner": OWNER, "registry": folder / "r.sqlite"}


def run(folder: Path, refinements: list[Refinement], name: str = "out", **more: Any) -> smalti.Outcome:
    policy = write(folder, refinements, more.pop("document", None))
    return smalti.run(policy, **asked(folder) | {"out": folder / name, "replace": True} | more)


def published(folder: Path, name: str = "out") -> list[dict[str, str]]:
    with (folder / name / "masked.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def verify(folder: Path, name: str = "out", **more: Any) -> smalti.Recheck:
    return smalti.verify(folder / name, registry=folder / "r.sqlite", **more)


# --- What is published, and what is said


def test_columns_are_dropped_kept_or_masked_as_the_policy_says(tmp_path: Path) -> None:
    outcome = run(tmp_path, [WHO, RELEASED, *TOP])
    assert outcome.version is not None
    assert {*published(tmp_path)[0]} == {"age", "city"}
    assert max(int(row["age"]) for row in published(tmp_path)) == 40
    said = [*outcome.warnings]
    assert "column pay will be dropped: the policy does not name it" in said
    assert any("promises no privacy model" in text for text in said)
    assert any("published unchanged, without any guarantee: city" in text for text in said)
    certificate = json.loads(outcome.version.certificate)
    assert certificate["guarantee"]["model"] == "masking"
    assert certificate["guarantee"]["statement"].startswith("no privacy model is promised; ")
    assert "dpv:ContextuallyAnonymisedData" not in certificate["@type"]
    limits = " ".join(certificate["doesNotProtectAgainst"])
    assert "top-coding: everybody below the threshold" in limits
    assert "bottom-coding" not in limits
    # Ages from 18 to 47, so that the oldest are 1 to 7 years above the threshold.
    assert isinstance(outcome.report, MaskingReport)
    assert outcome.report.errors == (ColumnError("age", 140 / 2247.5),)
    assert any("(SSE/SST): age 6.23%" in line for line in outcome.report.lines("rows"))
    seen = verify(tmp_path, data=tmp_path / "people.csv")
    assert seen.is_repeated
    table = smalti.read_published(tmp_path / "out")
    assert str(table.schema.field("age").type) == "int64"


@pytest.mark.parametrize("form", [{"output_format": "parquet"}, {"parts": True, "rows_per_part": 7}])
def test_other_formats_and_parts_have_the_same_content(tmp_path: Path, form: dict[str, Any]) -> None:
    plain, other = (
        run(tmp_path, [WHO, RELEASED, *TOP]),
        run(tmp_path, [WHO, RELEASED, *TOP], "other", **form),
    )
    assert plain.version is not None
    assert other.version is not None
    assert plain.version.output_digest == other.version.output_digest
    assert len(other.version.files) == (5 if "parts" in form else 1)
    assert verify(tmp_path, "other", data=tmp_path / "people.csv").is_repeated


def test_what_is_drawn_at_random_is_drawn_once_and_never_repeated(tmp_path: Path) -> None:
    noise = [algorithm("sampling", "noise-addition"), word("samplingRate", 0.9, "lteq")]
    noise += [of("age", word("noiseScale", 3)), of("age", word("noiseDistribution", "uniform"))]
    outcome = run(tmp_path, [WHO, RELEASED, *noise])
    again = run(tmp_path, [WHO, RELEASED, *noise], "again")
    assert outcome.version is not None
    assert again.version is not None
    assert outcome.version.output_digest != again.version.output_digest
    assert outcome.version.plan_digest == again.version.plan_digest
    assert "seed" not in outcome.version.plan
    assert smalti.Registry.open(tmp_path / "r.sqlite").ledger.budget(IRI(TARGET)).charges == ()
    checked = verify(tmp_path).check
    assert "how the sample was drawn" in checked.attested
    assert "how the noise was drawn" in checked.attested
    with pytest.raises(UsageError, match="depends on random numbers"):
        verify(tmp_path, data=tmp_path / "people.csv")
    trial = smalti.try_out(tmp_path / "policy.jsonld", data={TARGET: tmp_path / "people.csv"})
    assert trial.tried is None
    assert "masking promises none" in trial.not_run


def test_a_run_may_ask_for_a_smaller_sample_only(tmp_path: Path) -> None:
    sample = [WHO, RELEASED, algorithm("sampling"), word("samplingRate", 0.5, "lteq")]
    policy = write(tmp_path, sample)
    less = smalti.plan(policy, **asked(tmp_path), parameters=["samplingRate=0.25"]).plan
    assert isinstance(less, MaskingPlan)
    assert less.mask.sampling_rate == Decimal("0.25")
    assert smalti.plan(policy, **asked(tmp_path), parameters=["samplingRate=0.75"]).plan is None
    plain = write(tmp_path, [WHO, RELEASED, *TOP])
    assert smalti.plan(plain, **asked(tmp_path), parameters=["k=5"]).plan is None


def test_a_sample_of_nobody_says_so(tmp_path: Path) -> None:
    sample = [WHO, RELEASED, algorithm("sampling"), word("samplingRate", 0.000000001, "lteq")]
    for name, more in (("out", {}), ("theirs", {"owner": None, "replace": False})):
        outcome = run(tmp_path, sample, name, **more)
        assert outcome.version is not None
        assert published(tmp_path, name) == []
        assert "the output has no rows: nobody was drawn" in outcome.warnings[0]
    assert verify(tmp_path).version is not None


# --- Pseudonyms


def test_pseudonyms_are_linkable_under_one_key_and_others_under_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = [WHO, RELEASED, algorithm("pseudonymization"), *PSEUDONYMS]
    assert run(tmp_path, wanted).version is not None
    assert run(tmp_path, wanted, "again").version is not None
    one, other = ({row["who"] for row in published(tmp_path, name)} for name in ("out", "again"))
    assert one == other
    assert len(one) == 15
    monkeypatch.setenv("SMALTI_PSEUDONYM_KEY_PEOPLE", "another key of thirty-two bytes...")
    assert run(tmp_path, wanted, "rotated").version is not None
    assert not one & {row["who"] for row in published(tmp_path, "rotated")}
    with pytest.raises(GuaranteeError, match="bring back the key `people`"):
        verify(tmp_path, data=tmp_path / "people.csv")
    monkeypatch.delenv("SMALTI_PSEUDONYM_KEY_PEOPLE")
    place = tmp_path / "r.sqlite.pseudonyms.people"
    place.rename(tmp_path / "pseudonyms-elsewhere")
    with pytest.raises(UsageError, match="Bring back the key that the pseudonyms were made with"):
        verify(tmp_path, data=tmp_path / "people.csv")
    kept = [path for path in tmp_path.rglob("*") if path.is_file() and "pseudonyms" not in path.name]
    for secret in (KEY, b"another key of thirty-two bytes..."):
        assert not [path for path in kept if secret in path.read_bytes()]


@pytest.mark.parametrize(
    ("key", "problem"),
    [(None, "there is no key of this name"), ("short", "too short"), ("open", "can be read by others")],
)
def test_keys_that_cannot_be_used_end_the_run(tmp_path: Path, key: str | None, problem: str) -> None:
    wanted = [WHO, RELEASED, algorithm("pseudonymization"), *PSEUDONYMS]
    write(tmp_path, wanted)
    place = tmp_path / "r.sqlite.pseudonyms.people"
    place.unlink()
    if key is not None:
        place.write_bytes(b"short" if key == "short" else KEY)
        place.chmod(0o644 if key == "open" else 0o600)
    for asker in (USER, None):  # before any run, whether or not it is decided
        planned = smalti.plan(tmp_path / "policy.jsonld", **asked(tmp_path) | {"party": asker})
        assert problem in (planned.obstacle or "")
        assert planned.exit_code == (2 if key is None else 3)
    with pytest.raises(SmaltiError, match=problem) as caught:
        run(tmp_path, wanted)
    assert caught.value.exit_code == planned.exit_code
    assert KEY.decode() not in str(caught.value)
    assert not (tmp_path / "out").exists()
    assert smalti.Registry.open(tmp_path / "r.sqlite").versions(OUTPUT) == ()


def test_pseudonymised_respondents_are_inherited(tmp_path: Path) -> None:
    """k counts people by their pseudonyms; where the respondent was dropped, nobody can be counted."""
    wanted = [WHO, columns("smalti:released", "age", "city"), algorithm("pseudonymization"), *PSEUDONYMS]
    outcome = run(tmp_path, wanted)
    assert outcome.version is not None
    assert outcome.version.respondent == RespondentColumn("who")
    classes = json.dumps(document([])).replace(TARGET, OUTPUT).replace('"masking"', '"k-anonymity"')
    second = json.loads(classes)
    second["uid"], second["permission"][0]["uid"] = "http://example.com/policy/2", "http://example.com/2/1"
    second["permission"][0]["output"] = "http://example.com/classes"
    second["permission"][0]["action"][0]["refinement"] += [
        {"leftOperand": "mosaicrown:k", "operator": "eq", "rightOperand": 5},
        {"leftOperand": "mosaicrown:quasi-identifier", "operator": "isAllOf", "rightOperand": ["age"]},
        {"leftOperand": "mosaicrown:identifier", "operator": "isAllOf", "rightOperand": ["who"]},
    ]
    place = tmp_path / "second.jsonld"
    place.write_text(json.dumps(second), encoding="utf-8")
    made = smalti.run(
        place, **asked(tmp_path) | {"data": {OUTPUT: tmp_path / "out"}, "out": tmp_path / "classes"}
    )
    assert made.version is not None, made.decision.reasons
    assert made.version.respondent == RespondentColumn("who")
    assert made.report is not None
    assert made.report.respondents == 15  # type: ignore[attr-defined]
    smalti.Registry.open(tmp_path / "r.sqlite").withdraw(IRI(TARGET), ["p3"], by=IRI(OWNER))
    with pytest.raises(SmaltiError, match="people withdrew from it"):
        smalti.run(
            place, **asked(tmp_path) | {"data": {OUTPUT: tmp_path / "out"}, "out": tmp_path / "again"}
        )
    dropped = run(tmp_path, [WHO, columns("smalti:released", "city"), *TOP], "dropped")
    assert dropped.version is not None
    with pytest.raises(SmaltiError, match="can no longer be counted"):
        smalti.run(
            place, **asked(tmp_path) | {"data": {OUTPUT: tmp_path / "dropped"}, "out": tmp_path / "x"}
        )


# --- Beside other releases


def of_classes(folder: Path) -> Path:
    """A policy of k-anonymity on the same people."""
    classes = json.loads(json.dumps(document([])).replace('"masking"', '"k-anonymity"'))
    classes["uid"], classes["permission"][0]["uid"] = (
        "http://example.com/policy/3",
        "http://example.com/3/1",
    )
    classes["permission"][0]["output"] = "http://example.com/classes"
    classes["permission"][0]["action"][0]["refinement"] += [
        {"leftOperand": "mosaicrown:k", "operator": "eq", "rightOperand": 5},
        columns("mosaicrown:quasi-identifier", "age"),
        WHO,
    ]
    place = folder / "classes.jsonld"
    place.write_text(json.dumps(classes), encoding="utf-8")
    return place


def test_masked_rows_that_narrow_down_classes_are_refused(tmp_path: Path) -> None:
    write(tmp_path, [])
    made = smalti.run(of_classes(tmp_path), **asked(tmp_path), out=tmp_path / "classes")
    assert made.version is not None
    exact = [WHO, RELEASED, algorithm("top-coding"), of("age", word("topCode", 46))]
    with pytest.raises(GuaranteeError, match="earlier"):
        run(tmp_path, exact)
    one = [WHO, RELEASED, algorithm("bottom-coding"), of("age", word("bottomCode", 110))]
    assert run(tmp_path, one).version is not None, "it tells nothing of the age"


def test_classes_beside_earlier_masked_rows_are_held_together_or_refused(tmp_path: Path) -> None:
    one = [WHO, algorithm("bottom-coding"), of("age", word("bottomCode", 110))]
    assert run(tmp_path, one).version is not None
    made = smalti.run(of_classes(tmp_path), **asked(tmp_path), out=tmp_path / "classes")
    assert made.version is not None
    noise = [WHO, algorithm("noise-addition"), word("noiseDistribution", "uniform")]
    with pytest.raises(GuaranteeError, match="too few respondents"):
        run(tmp_path, [*noise, of("age", word("noiseScale", 3))], "noise")
    assert run(tmp_path, [*noise, of("pay", word("noiseScale", 3))], "noise").version is not None
    again = of_classes(tmp_path)
    again.write_text(again.read_text().replace('"rightOperand": 5', '"rightOperand": 6'))
    with pytest.raises(GuaranteeError, match="cannot be"):
        smalti.run(again, **asked(tmp_path), out=tmp_path / "more", replace=True)


# --- Withdrawn people and prohibitions


def test_people_who_withdrew_and_rows_that_are_not_granted_are_left_out(tmp_path: Path) -> None:
    assert run(tmp_path, [WHO, RELEASED, *TOP]).version is not None
    (tmp_path / "gone.txt").write_text("p3\np4\n")
    registry = smalti.Registry.open(tmp_path / "r.sqlite")
    registry.withdraw(TARGET, ["p3", "p4"], by=OWNER)
    rare = [algorithm("cell-suppression"), of("city", word("minimumFrequency", 3))]
    outcome = run(tmp_path, [WHO, columns("smalti:released", "age"), *rare], "second")
    assert outcome.report is not None
    assert len(published(tmp_path, "second")) == 26
    assert {row["city"] for row in published(tmp_path, "second")} == {"Rome", ""}
    assert any("4 withdrawn" in line for line in outcome.report.lines("respondents"))


def test_a_prohibited_column_may_not_be_masked_and_may_be_dropped(tmp_path: Path) -> None:
    no = {"prohibition": [{"target": f"{TARGET}/age", "action": "odrl:use"}]}
    denied = run(tmp_path, [WHO, RELEASED, *TOP], document=no)
    assert denied.version is None
    rare = [algorithm("cell-suppression"), of("city", word("minimumFrequency", 3))]
    permitted = run(tmp_path, [WHO, *rare], document=no)
    assert permitted.version is not None
    assert {*published(tmp_path)[0]} == {"city"}


# --- Bad input

NO_MODEL = [WHO, RELEASED]
BAD: dict[str, tuple[list[Refinement], str]] = {
    "text in a numeric technique": (
        [*NO_MODEL[:1], algorithm("top-coding"), of("city", word("topCode", 3))], "is for numbers, dates"
    ),
    "noise on text": (
        [WHO, algorithm("noise-addition"), of("city", word("noiseScale", 3))], "is for numbers, and"
    ),
    "noise without a scale": (
        [WHO, algorithm("noise-addition"), of("age", word("noiseScale", 3)),
         of("pay", word("noiseDistribution", "normal"))], "no scale is stated",
    ),
    "no noise scale at all": ([WHO, RELEASED, algorithm("noise-addition")], "requires a refinement with"),
    "a rate of 0": ([*NO_MODEL, algorithm("sampling"), word("samplingRate", 0, "lteq")], "above 0"),
    "a rate above 1": ([*NO_MODEL, algorithm("sampling"), word("samplingRate", 1.5, "lteq")], "at most 1"),
    "a rate of many digits": (
        [*NO_MODEL, algorithm("sampling"), word("samplingRate", 0.1234567891, "lteq")], "9 decimal places"
    ),
    "thresholds that cross": (
        [WHO, algorithm("top-coding", "bottom-coding"), of("age", word("topCode", 18)),
         of("age", word("bottomCode", 90))], "cross",
    ),
    "a threshold that is none": (
        [WHO, algorithm("top-coding"), of("age", word("topCode", 18.5))], "is no integer"
    ),
    "no key": ([WHO, RELEASED, algorithm("pseudonymization"), PSEUDONYMS[0]], "pseudonymKey"),
    "an unknown column": (
        [WHO, algorithm("top-coding"), of("agee", word("topCode", 18))], "Did you mean"
    ),
    "a level above the hierarchy": (
        [WHO, algorithm("generalization"), of("born", word("level", 4))], "above its hierarchy"
    ),
    "a level without a hierarchy": (
        [WHO, algorithm("generalization"), of("city", word("level", 1))], "has no hierarchy"
    ),
    "two techniques on a column": (
        [WHO, algorithm("top-coding", "noise-addition"), of("age", word("topCode", 18)),
         of("age", word("noiseScale", 1))], "two techniques",
    ),
    "a technique on a released column": (
        [WHO, columns("smalti:released", "age"), *TOP], "two roles"
    ),
    "a technique on a dropped column": (
        [WHO, columns("mosaicrown:identifier", "age"), *TOP], "dropped as `identifier`"
    ),
    "two suppressions": (
        [WHO, algorithm("cell-suppression", "record-suppression"), of("city", word("minimumFrequency", 3))],
        "contradict each other",
    ),
    "figures of a sample": (
        [WHO, algorithm("mdav", "sampling"), word("samplingRate", 0.5, "lteq"),
         {"leftOperand": "mosaicrown:k", "operator": "eq", "rightOperand": 3},
         of("age", word("outputForm", "mean"))], "contradict each other",
    ),
    "too few for a group": (
        [WHO, algorithm("mdav"), {"leftOperand": "mosaicrown:k", "operator": "eq", "rightOperand": 16},
         of("age", word("outputForm", "mean"))], "fewer respondents than k",
    ),
    "a mean of texts": (
        [WHO, algorithm("mdav"), {"leftOperand": "mosaicrown:k", "operator": "eq", "rightOperand": 3},
         of("city", word("outputForm", "mean"))], "the column `city` (",
    ),
    "a distance along no hierarchy": (
        [WHO, algorithm("mdav"), {"leftOperand": "mosaicrown:k", "operator": "eq", "rightOperand": 3},
         of("city", word("distance", "hierarchical"))], "the distance is `hierarchical`",
    ),
    "intervals that do not fit": (
        [WHO, algorithm("global-recoding"), of("age", word("intervals", 7))], "cannot be divided"
    ),
    "a width of half years": (
        [WHO, algorithm("global-recoding"), of("age", word("intervalWidth", 2.5))], "no whole width"
    ),
    "a form of classes": (
        [WHO, algorithm("generalization"), of("born", word("level", 1)),
         of("born", word("outputForm", "range"))], "`smalti:outputForm`",
    ),
    "quasi-identifiers": (
        [WHO, columns("mosaicrown:quasi-identifier", "age"), *TOP], "has no meaning for masking"
    ),
    "a released respondent": ([WHO, columns("smalti:released", "who"), *TOP], "would be published"),
    "nothing to publish": (
        [WHO, algorithm("attribute-suppression"), columns("mosaicrown:identifier", "age")],
        "no column would be published",
    ),
    "no respondent": ([RELEASED, *TOP], "no respondent is declared"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_input_ends_without_output_or_target(tmp_path: Path, name: str) -> None:
    refinements, problem = BAD[name]
    with pytest.raises(SmaltiError) as caught:
        run(tmp_path, refinements)
    assert problem in str(caught.value)
    assert "sk the data's owner" not in str(caught.value), "who runs it is the owner"
    if problem == "fewer respondents than k":
        assert "k = 16" in str(caught.value)
        assert "15" not in str(caught.value), "a run tells no figures"
    assert not any(value in str(caught.value) for row in ROWS for value in (row[3], row[4]))
    assert not (tmp_path / "out").exists()
    assert smalti.Registry.open(tmp_path / "r.sqlite").versions(OUTPUT) == ()


def test_text_among_numbers_is_named_with_its_place(tmp_path: Path) -> None:
    write(tmp_path, [WHO, *TOP])
    text = (tmp_path / "people.csv").read_text().replace("p4,22,", "p4,wombat,", 1)
    (tmp_path / "people.csv").write_text(text)
    with pytest.raises(SmaltiError, match="record 5") as caught:
        run(tmp_path, [WHO, *TOP])
    assert "is not a valid integer" in str(caught.value)
    assert "wombat" not in str(caught.value)


def beside_a_model(folder: Path, *refinements: Refinement) -> Path:
    place = of_classes(folder)
    policy = json.loads(place.read_text())
    policy["permission"][0]["action"][0]["refinement"] += refinements
    place.write_text(json.dumps(policy), encoding="utf-8")
    return place


def test_a_column_beside_classes_may_have_pseudonyms(tmp_path: Path) -> None:
    write(tmp_path, [])
    cities = columns("smalti:pseudonym", "city"), word("pseudonymKey", "people")
    policy = beside_a_model(tmp_path, *cities)
    made = smalti.run(policy, **asked(tmp_path), out=tmp_path / "classes")
    assert made.version is not None, made.decision.reasons
    with (tmp_path / "classes" / "classes.csv").open(encoding="utf-8", newline="") as file:
        rows = [*csv.DictReader(file)]
    rome = hmac.new(KEY, b"Rome", "sha256").hexdigest()
    assert sum(row["city"] == rome for row in rows) == 27
    assert len({row["city"] for row in rows}) == 4
    certificate = json.loads(made.version.certificate)
    assert certificate["guarantee"]["pseudonyms"] == ["city"]
    assert any(
        "linking: one value has one pseudonym" in text for text in certificate["doesNotProtectAgainst"]
    )
    assert "pseudonymised (HMAC-SHA-256 under the key `people`)" in smalti.explain(made.plan)
    data = tmp_path / "people.csv"
    assert smalti.verify(tmp_path / "classes", registry=tmp_path / "r.sqlite", data=data).is_repeated
    place = tmp_path / "r.sqlite.pseudonyms.people"
    place.write_bytes(KEY[::-1])
    with pytest.raises(GuaranteeError):
        smalti.verify(tmp_path / "classes", registry=tmp_path / "r.sqlite", data=data)


def test_what_is_no_technique_beside_a_model_is_refused_by_name(tmp_path: Path) -> None:
    """The respondent's rows could be put together across classes; other techniques are words of masking."""
    write(tmp_path, [])
    with pytest.raises(SmaltiError, match="the respondent `who` would be published"):
        smalti.run(beside_a_model(tmp_path, *PSEUDONYMS), **asked(tmp_path), out=tmp_path / "out")
    for more in (word("samplingRate", 0.5, "lteq"), of("age", word("topCode", 40))):
        with pytest.raises(SmaltiError, match="the algorithm `mondrian` has no refinement"):
            smalti.run(beside_a_model(tmp_path, more), **asked(tmp_path), out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_certificate_that_says_something_else_is_refused(tmp_path: Path) -> None:
    assert run(tmp_path, [WHO, RELEASED, *TOP]).version is not None
    place = tmp_path / "out" / "certificate.jsonld"
    unchanged = '"unchanged": [\n      "city"'
    for old, new in (('"top": "40"', '"top": "30"'), (unchanged, unchanged.replace("city", "x"))):
        whole = place.read_text()
        assert old in whole
        place.write_text(whole.replace(old, new).replace("at most 40", "at most 30"))
        with pytest.raises(GuaranteeError):
            smalti.verify(tmp_path / "out", registry=tmp_path / "other.sqlite")
        place.write_text(whole)
    smalti.verify(tmp_path / "out", registry=tmp_path / "other.sqlite")


def test_the_width_of_intervals_of_dates_is_in_days(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("who,born,age\np1,2001-02-03,20\np2,2003-04-05,30\n")
    (tmp_path / "p.yaml").write_text(
        f"policy: http://e.org/p\nowner: {USER}\nparty: {USER}\ntarget: {TARGET}\nmethod: masking\n"
        "algorithm: global-recoding\nrespondent: who\noutput: http://e.org/o\n"
        "per-column:\n  born: {interval-width: 31}\n  age: {interval-width: 5}\n"
    )
    request: dict[str, Any] = {
        "data": {TARGET: tmp_path / "t.csv"}, "party": USER, "registry": tmp_path / "r.sqlite"
    }  # fmt: skip
    said = "is recoded to intervals of width 31 days"
    planned = smalti.plan(tmp_path / "p.yaml", **request)
    assert planned.plan is not None
    lines = " ".join(smalti.explain(planned.plan).split())
    assert f"born {said}" in lines
    assert "age is recoded to intervals of width 5 " in lines, "numbers are in their column's unit"
    outcome = smalti.run(tmp_path / "p.yaml", **request, owner=USER, out=tmp_path / "out")
    assert outcome.version is not None, outcome.decision.reasons
    certificate = json.loads((tmp_path / "out" / "certificate.jsonld").read_text())
    assert f"born {said}" in certificate["guarantee"]["statement"]
    assert smalti.verify(tmp_path / "out", registry=tmp_path / "r.sqlite").check is not None
