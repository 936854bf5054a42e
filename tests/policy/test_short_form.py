"""The short form of policies: what it means, what is wrong with it and where, and the way back."""

import json
import time
from decimal import Decimal
from importlib.resources import files
from pathlib import Path

import jsonschema
import pytest
import yaml
from effort import every, examples
from hypothesis import given, settings
from short_forms import short_forms
from strategies import policies

from smalti.policy.findings.render import render_human
from smalti.policy.model.meaning import meaning_digest
from smalti.policy.model.model import ConflictStrategy, Operator, Policy
from smalti.policy.read.parse import ParsedDocument, json_ld_document, load, parse
from smalti.policy.say.format import format_document
from smalti.policy.say.short_form import short_text, to_json_ld, to_short
from smalti.policy.text.json_text import JsonArray, JsonObject, JsonValue, to_plain
from smalti.policy.text.yaml_layout import lay_out_yaml
from smalti.policy.text.yaml_text import MAX_CHARACTERS, read_yaml

HERE = Path(__file__).parent
BAD, GOOD = HERE / "bad", sorted((HERE / "good").glob("*.jsonld"))
EXAMPLES = sorted((HERE.parents[1] / "examples" / "policies").glob("*.jsonld"))

EXPECTED: dict[str, list[tuple[str, int, int]]] = {
    "action-missing": [("P303", 4, 3)],
    "alias": [("P110", 3, 20)],
    "billion-laughs": [("P110", 1, 4)],
    "colon-in-text": [("P110", 2, 13)],
    "column-in-two-roles": [("P407", 6, 12)],
    "column-is-a-number": [("P112", 5, 21), ("P112", 5, 27)],
    "columns-of-two-targets": [("P112", 3, 12)],
    "condition-is-a-text": [("P112", 4, 15)],
    "conflict-unknown": [("P315", 4, 11)],
    "directive": [("P110", 1, 1)],
    "duty-of-a-prohibition": [("P113", 5, 3)],
    "empty": [("P112", 1, 1)],
    "k-at-most": [("P406", 4, 5)],
    "k-is-a-list": [("P112", 4, 4)],
    "k-missing": [("P411", 3, 1)],
    "k-of-one": [("P404", 4, 4)],
    "key-is-a-list": [("P110", 1, 3)],
    "key-twice": [("P105", 3, 1)],
    "list": [("P112", 1, 1)],
    "merge-key": [("P111", 1, 1)],
    "misspelt": [("P111", 3, 1)],
    "no-rules": [("P302", 1, 1)],
    "nothing-after-the-colon": [("P112", 2, 8)],
    "number-too-large": [("P106", 4, 23)],
    "number-with-underscore": [("P403", 4, 4)],
    "one-row-each-and-respondent": [("P112", 5, 1)],
    "one-row-each-as-column": [("P112", 5, 13)],
    "one-row-each-no": [("P112", 5, 15)],
    "parameter-without-column": [("P113", 5, 1)],
    "permission-at-the-top-and-listed": [("P113", 3, 1)],
    "policy-word-in-a-rule": [("P113", 3, 5)],
    "presence-without-operator": [("P112", 4, 11)],
    "rows-of-a-misspelt-operator": [("P111", 4, 14)],
    "several-errors": [
        ("P401", 3, 9), ("P403", 4, 4), ("P404", 5, 4), ("P112", 6, 26), ("P112", 6, 29),
        ("P415", 7, 10), ("P111", 8, 20), ("P111", 9, 14), ("P426", 10, 34), ("P307", 10, 49),
    ],
    "tab": [("P110", 2, 1)],
    "tag": [("P110", 1, 9)],
    "target-missing": [("P421", 2, 9)],
    "two-documents": [("P110", 3, 1)],
    "unclosed": [("P110", 3, 1)],
    "valid-without-zone": [("P325", 4, 15), ("P111", 4, 33)],
    "words-of-odrl": [("P111", 1, 1), ("P111", 3, 1)],
}  # fmt: skip
"""The errors of each document, at line and column of the short form."""


def read(text: str) -> ParsedDocument:
    return parse(text.encode(), "p.yaml")


def policy_of(text: str) -> Policy:
    parsed = read(text)
    assert parsed.errors == (), render_human(parsed.errors, parsed.text)
    return parsed.policies[0]


# --- Bad documents


def test_every_bad_short_form_is_in_the_table() -> None:
    assert {path.stem.removeprefix("short-") for path in BAD.glob("*.yaml")} == set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_bad_short_form(name: str) -> None:
    """All errors at once, at their places in the short form."""
    parsed = load(BAD / f"short-{name}.yaml")
    errors = [(found.code, found.where.line, found.where.column) for found in parsed.errors]
    assert errors == EXPECTED[name]
    assert parsed.policies == ()
    assert json_ld_document(b"", "p.yaml") == b""


@pytest.mark.parametrize(
    ("name", "help_"),
    [
        ("misspelt", "did you mean `method`?"),
        ("words-of-odrl", "write `policy`"),
        ("number-with-underscore", "write a number, without quotes"),
        ("k-at-most", "write `at-least` to state the minimum"),
        ("column-is-a-number", "write it in double quotes"),
        ("one-row-each-as-column", "write `one-row-each: true`"),
        ("tab", "indent with spaces, not with tabs"),
        ("alias", "write the part where it is needed"),
        ("parameter-without-column", "write `per-column: {COLUMN: {top-code: ...}}`"),
        ("policy-word-in-a-rule", "write it at the top, without indent"),
    ],
)
def test_help_is_in_the_words_of_the_short_form(name: str, help_: str) -> None:
    assert load(BAD / f"short-{name}.yaml").errors[0].help == help_


@pytest.mark.parametrize(
    ("method", "algorithm", "code", "help_"),
    [
        ("l-diversity", "bucketization", "P402", "write `anatomy`: that is bucketization here"),
        ("bucketization", "mdav", "P401", "write `anatomy` as `algorithm`, with the method `l-diversity`"),
        ("anatomy", "mondrian", "P401", "write `anatomy` as `algorithm`, with the method `l-diversity`"),
        ("masking", "anatomy", "P431", "use it with the method `l-diversity`"),
        ("l-diversity", "k-anonymity", "P402",
         "`k-anonymity` is a method: write it as `method`, and leave out the algorithm"),
        ("k-anonymity", "microaggregation", "P402", "write `mdav`: that is microaggregation here"),
        ("masking", "suppression", "P402",
         "write `cell-suppression` or `record-suppression` or `attribute-suppression`: these are"
         " suppression here"),
        ("masking", "Noise", "P402", "write `noise-addition`: that is noise here"),
    ],
)  # fmt: skip
def test_other_names_of_techniques_point_to_what_is_meant(
    method: str, algorithm: str, code: str, help_: str
) -> None:
    text = f"policy: http://x.org/p\ntarget: http://x.org/t\nmethod: {method}\nalgorithm: {algorithm}\n"
    (error,) = [found for found in read(text).errors if found.code == code]
    assert error.help == help_


def test_a_finding_shows_its_line() -> None:
    parsed = load(BAD / "short-misspelt.yaml")
    assert "    3 | methd: k-anonymity\n      | ^^^^^" in render_human(parsed.errors, parsed.text)


def test_lines_of_data_are_not_shown() -> None:
    parsed = parse(b"name: Ann\nage: 37\n", "patients.yaml")
    assert "Ann" not in render_human(parsed.errors, parsed.text)


@pytest.mark.parametrize(
    "text",
    [
        "[" * 50_000,
        "{a: " * 50_000,
        "- " * 50_000,
        "a: &x [*x, *x]",
        "a: " + "x" * (MAX_CHARACTERS + 1),
        "\x00",
        "target: \ud7ff\x85\u2028x",
        "? " * 1_000,
        "a: 'b" * 1_000,
        "target: |\n" + "  x\n" * 1_000,
        "&" * 1_000,
        ": " * 1_000,
    ],
    ids=range(12),
)
def test_hostile_yaml_is_refused_in_time(text: str) -> None:
    started = time.process_time()
    assert read(text).errors
    assert time.process_time() - started < 10


def test_nothing_is_retyped() -> None:
    text = "a: [no, yes, on, True, 1_000, 010, 0x1F, .5, 12:30, 2026-01-01, 1e3, -0.10, true, ~]"
    value, faults = read_yaml(text)
    assert faults == ()
    assert value is not None
    assert to_plain(value) == {
        "a": ["no", "yes", "on", "True", "1_000", "010", "0x1F", ".5", "12:30", "2026-01-01", 1000.0, -0.1,
              True, None]
    }  # fmt: skip


# --- What a short form means

VISITS = """\
# A comment.
policy: http://example.com/policy/visits
owner: http://example.com/party/hospital
party: http://example.com/party/researcher
target: http://example.com/hospital/visits
purpose: statistical
method: l-diversity
k: 10
l: {exactly: 3}
respondent: PatientID
identifiers: [Name]
quasi-identifiers: [ZIP, "born: on"]
sensitive: Diagnosis
released: [no, http://example.com/other/Ward]
output: http://example.com/hospital/visits-published
valid: {from: 2026-01-01, until: 2026-12-31}
rows: {Age: {at-least: 18, below: 90.50}}
prohibit: {columns: [Name, Phone]}
"""


def test_a_permission_at_the_top_beside_a_prohibition() -> None:
    policy = policy_of(VISITS)
    (permission,) = policy.permissions
    way = permission.anonymization
    assert way is not None
    assert way.k is not None
    assert (way.k.operator, way.k.value) == (Operator.GTEQ, 10)
    assert way.l is not None
    assert way.l.operator is Operator.EQ
    visits = "http://example.com/hospital/visits"
    assert [column.iri for column in way.quasi_identifiers] == [f"{visits}/ZIP", f"{visits}/born%3A%20on"]
    assert [column.iri for column in way.released] == [f"{visits}/no", "http://example.com/other/Ward"]
    assert [target.iri for rule in policy.prohibitions for target in rule.targets] == [
        f"{visits}/Name", f"{visits}/Phone"
    ] * 2  # fmt: skip
    assert {rule.action.rpartition("/")[2] for rule in policy.prohibitions} == {"use", "transfer"}
    assert policy.conflict is ConflictStrategy.PROHIBIT
    assert {party.iri for rule in policy.rules for party in rule.assignees} == {
        "http://example.com/party/researcher"
    }
    numbers = [str(value.value) for c in permission.constraints for value in getattr(c, "values", ())
               if isinstance(getattr(value, "value", None), Decimal)]  # fmt: skip
    assert sorted(numbers) == ["18", "90.50"]


def test_places_are_those_of_the_short_form() -> None:
    policy = policy_of(VISITS)
    way = policy.permissions[0].anonymization
    assert way is not None
    assert str(way.quasi_identifiers[0].where) == "p.yaml:12:21"
    assert str(policy.prohibitions[0].where) == "p.yaml:18:11"


def test_it_is_the_json_ld_that_is_stored() -> None:
    """Digests and the uids made of them are those of the JSON-LD, as if it had been written by hand."""
    text = VISITS.replace("policy: http://example.com/policy/visits\n", "")
    json_ld = json_ld_document(text.encode(), "p.yaml")
    stored = parse(json_ld, "p.jsonld")
    assert stored.digest == read(text).digest
    assert stored.policies == read(text).policies
    assert json_ld_document(json_ld, "p.yaml") == json_ld
    again = parse(json_ld, "p.yaml").policies[0]
    assert again.where.document == "p.yaml (as JSON-LD)"


def test_the_json_ld_of_a_short_form_does_not_change() -> None:
    """The uids of stored policies without one of their own depend on it."""
    written = (HERE / "short" / "short-form.yaml").read_bytes()
    golden = (HERE / "short" / "short-form.jsonld").read_bytes()
    assert json_ld_document(written, "p.yaml") == golden


def test_standard_input_is_known_by_its_first_word() -> None:
    assert parse(VISITS.encode(), "<stdin>").policies
    assert not parse(VISITS.encode(), "p.jsonld").policies


# --- The schema

SCHEMA = json.loads(files("smalti.vocab").joinpath("short-form.schema.json").read_text())
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
ONLY_READ = {"columns-of-two-targets", "one-row-each-as-column", "one-row-each-and-respondent"}
"""What depends on two values, or on the name of a column."""


def test_the_schema_is_one() -> None:
    VALIDATOR.check_schema(SCHEMA)


@pytest.mark.parametrize("name", sorted(set(EXPECTED) - ONLY_READ))
def test_the_schema_refuses_what_the_reader_refuses(name: str) -> None:
    value, faults = read_yaml((BAD / f"short-{name}.yaml").read_text())
    codes = {code for code, _, _ in EXPECTED[name]}
    if value is not None and not faults and not codes.isdisjoint({"P111", "P112", "P113"}):
        assert not VALIDATOR.is_valid(to_plain(value))


# --- The way back


def again(text: str) -> Policy:
    return policy_of(text)


@given(short_forms())
@settings(max_examples=examples(12))
def test_short_form_to_json_ld_and_back_keeps_the_meaning(document: JsonObject) -> None:
    text = lay_out_yaml(document)
    parsed = read(text)
    VALIDATOR.validate(to_plain(document))
    assert parsed.errors == (), text + render_human(parsed.errors, parsed.text)
    meaning = meaning_digest(parsed.policies[0])
    json_ld = to_json_ld(text, "p.yaml").text
    assert json_ld is not None
    assert meaning_digest(parse(json_ld.encode(), "p.jsonld").policies[0]) == meaning
    assert format_document(json_ld).text == json_ld
    back = to_short(json_ld, "p.jsonld")
    assert back.text is not None, back.diagnostics
    assert meaning_digest(again(back.text)) == meaning
    assert to_short(back.text, "p.yaml").text == back.text


@given(policies())
@settings(max_examples=examples(10))
def test_any_policy_is_kept_or_refused(policy: Policy) -> None:
    short = short_text(policy)
    if short.text is not None:
        assert meaning_digest(again(short.text)) == meaning_digest(policy)
    else:
        assert short.problems


REFUSED = {
    "annotated", "annotated-parties", "collection-named-with-source", "context-catena-x",
    "party-collection", "target-collection", "target-part-of",
}  # fmt: skip
"""Documents of one policy that say something which the short form has no word for; some of them."""


@pytest.mark.parametrize("path", every(3, [*GOOD, *EXAMPLES]), ids=lambda path: path.stem)
def test_good_documents_are_kept_or_refused(path: Path) -> None:
    text = path.read_text()
    done = to_short(text, str(path))
    if done.text is None:
        assert {found.code for found in done.diagnostics} == {"P114"}
        assert path not in EXAMPLES
    else:
        parsed = load(path)
        assert meaning_digest(again(done.text)) == meaning_digest(parsed.policies[0])


def test_most_good_documents_can_be_written() -> None:
    refused = [path.stem for path in GOOD if to_short(path.read_text(), str(path)).text is None]
    assert len(refused) < len(GOOD) / 5, refused


@pytest.mark.parametrize(
    ("member", "reason"),
    [
        ('"dct:title": "Visits"', "`dct:title`"),
        ('"inheritFrom": "http://example.com/policy/2"', ""),
    ],
)
def test_what_has_no_word_is_refused_by_name(member: str, reason: str) -> None:
    text = json_ld_document(VISITS.encode(), "p.yaml").decode()
    done = to_short(text.replace('"@type": "Set"', f'"@type": "Set", {member}'), "p.jsonld")
    assert done.text is None
    if reason:
        (found,) = done.diagnostics
        assert found.message == f"this policy cannot be written in the short form: it says {reason}"
        assert found.code == "P114"


def test_several_policies_and_templates_are_refused() -> None:
    one = json_ld_document(VISITS.encode(), "p.yaml").decode()
    several = to_short(f"[{one}, {one.replace('policy/visits', 'policy/other')}]", "p.jsonld")
    assert "it contains 2 policies" in several.diagnostics[0].message
    assert (
        "template" in to_short("action: read\nparty: http://example.com/a", "p.yaml").diagnostics[0].message
    )


# --- The layout


@given(short_forms())
@settings(max_examples=examples(12))
def test_any_yaml_reader_reads_what_is_written(document: JsonObject) -> None:
    """Texts are texts and numbers are numbers, for YAML 1.1, too; but for numbers such as `1e3`."""
    text = lay_out_yaml(document)
    value, faults = read_yaml(text)
    assert faults == ()
    assert value is not None
    assert nowhere(value) == nowhere(document)
    with_exponent = {"1e1", "1e2"}  # texts for YAML 1.1
    assert [word for word in texts(yaml.safe_load(text)) if word not in with_exponent] == texts(
        to_plain(document)
    )


def nowhere(value: JsonValue) -> object:
    match value:
        case JsonObject(members=members):
            return [(member.key.text, nowhere(member.value)) for member in members]
        case JsonArray(items=items):
            return [nowhere(item) for item in items]
    return type(value), getattr(value, "text", getattr(value, "value", None))


def texts(value: object) -> list[str]:
    if isinstance(value, dict):
        return [text for key, item in value.items() for text in (key, *texts(item))]
    if isinstance(value, list):
        return [text for item in value for text in texts(item)]
    return [value] if isinstance(value, str) else []


def test_a_short_form_stays_as_people_wrote_it() -> None:
    assert format_document(VISITS, "p.yaml").text == VISITS
    assert format_document("target: [", "p.yaml").diagnostics[0].where.line == 1
