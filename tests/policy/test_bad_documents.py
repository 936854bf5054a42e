"""Each bad document gives exactly the expected errors, at their lines and columns."""

import re
from pathlib import Path

import pytest

from smalti.policy.findings.codes import BY_CODE, RETIRED, TABLE
from smalti.policy.findings.diagnostics import Severity
from smalti.policy.read.parse import load

BAD = Path(__file__).parent / "bad"

EXPECTED: dict[str, list[tuple[str, int, int]]] = {
    "action-included-in": [("P390", 9, 51)],
    "action-included-in-an-unknown-one": [("P341", 12, 17)],
    "action-missing": [("P303", 6, 17)],
    "action-misspelt": [("P305", 12, 28)],
    "action-misspelt-and-more": [("P305", 12, 28), ("P404", 15, 77)],
    "action-term-misspelt": [("P305", 8, 15)],
    "action-typed-otherwise": [("P320", 9, 25)],
    "action-without-value": [("P303", 9, 15)],
    "actions-anonymize-twice": [("P333", 16, 8)],
    "actions-times-duties": [("P108", 1, 1)],
    "algorithm-of-another-method": [("P431", 15, 96)],
    "algorithm-one-diversity": [("P402", 15, 96)],
    "anonymize-bare": [("P411", 8, 15)],
    "audit-as-permission": [("P440", 10, 15)],
    "audit-attack-unknown": [("P402", 23, 84)],
    "audit-bare": [("P411", 19, 24)],
    "audit-bound-of-zero": [("P424", 24, 89)],
    "audit-bounded-from-below": [("P406", 24, 65)],
    "audit-bounds-nothing": [("P424", 24, 89)],
    "audit-of-another-asset": [("P440", 20, 7)],
    "audit-rate-alone": [("P411", 24, 27)],
    "audit-without-bound": [("P411", 20, 17)],
    "collection-of-parties-as-target": [("P320", 8, 25)],
    "collection-with-uid": [("P326", 10, 14)],
    "collection-without-source": [("P327", 8, 15)],
    "column-alone": [("P425", 16, 25)],
    "column-in-two-roles": [("P407", 19, 99)],
    "column-number": [("P416", 19, 89)],
    "column-ordered-by-text": [("P427", 10, 107)],
    "column-relative": [("P209", 19, 97)],
    "column-undefined-prefix": [("P211", 19, 89)],
    "compact-constraint": [("P309", 7, 3)],
    "compact-empty-list": [("P421", 10, 5)],
    "compact-output": [("P418", 7, 3)],
    "compact-purpose": [("P309", 7, 3)],
    "compact-rule-only-named": [("P311", 9, 17)],
    "compact-too-much": [("P108", 1, 1)],
    "conflict-twice": [("P304", 7, 3)],
    "conflict-unknown": [("P315", 7, 15)],
    "consequence-of-consequence": [("P322", 9, 41)],
    "consequence-of-remedy": [("P322", 10, 36)],
    "consequence-on-permission": [("P322", 10, 5)],
    "constraint-incomplete": [("P308", 10, 19)],
    "constraint-logical": [("P311", 22, 36)],
    "constraint-status": [("P390", 10, 83)],
    "constraint-unit": [("P434", 15, 81)],
    "constraints-misspelt": [("P206", 22, 5)],
    "context-flips-gteq": [("P205", 4, 17)],
    "context-missing": [("P202", 1, 1)],
    "context-nested": [("P205", 12, 7)],
    "context-nulls-refinement": [("P205", 4, 17)],
    "context-order": [("P204", 3, 16)],
    "context-swaps-k-for-l": [("P205", 4, 17)],
    "context-takes-urn": [("P205", 4, 17)],
    "context-unknown": [("P203", 3, 16)],
    "context-vocab": [("P205", 4, 17)],
    "count-is-text": [("P433", 10, 80)],
    "coverage": [("P390", 7, 3)],
    "date-ill-typed": [("P426", 10, 92)],
    "delta-beyond-budget": [("P438", 15, 94)],
    "delta-of-one": [("P424", 15, 94)],
    "delta-without-budget": [("P438", 15, 94)],
    "duty-anonymize-bare": [("P411", 10, 24)],
    "duty-anonymize-without-output": [("P414", 10, 13)],
    "duty-is-number": [("P314", 10, 24)],
    "duty-is-permission": [("P320", 10, 23)],
    "duty-on-policy": [("P322", 7, 3)],
    "duty-on-prohibition": [("P322", 10, 5)],
    "duty-only-named": [("P311", 10, 13)],
    "duty-without-action": [("P303", 10, 13)],
    "epsilon-and-belief": [("P428", 15, 25)],
    "epsilon-not-positive": [("P424", 14, 96)],
    "failure": [("P390", 10, 5)],
    "fig-2.6-as-printed": [("P103", 61, 11)],
    "fragment-column-not-generalised": [("P436", 16, 101)],
    "function": [("P390", 10, 5)],
    "gaussian-without-delta": [("P411", 16, 96)],
    "graph-named": [("P390", 7, 3)],
    "has-policy-of-another": [("P390", 8, 67)],
    "informed-party": [("P390", 10, 5)],
    "inherit-agreement-without-assignee": [("P316", 7, 3)],
    "inherit-described": [("P328", 7, 26), ("P309", 7, 57)],
    "inherit-from-itself": [("P329", 7, 18)],
    "inherit-from-offer": [("P331", 7, 18)],
    "inherit-in-a-circle": [("P329", 7, 18), ("P329", 19, 18)],
    "inherit-nowhere": [("P328", 7, 18)],
    "inherit-outlives-parent": [("P332", 7, 3)],
    "inherit-offer-without-assigner": [("P324", 7, 3)],
    "inherit-relative": [("P209", 7, 18)],
    "inherit-too-deep": [("P330", 27, 159)],
    "k-as-text": [("P403", 15, 77)],
    "k-below-two": [("P404", 15, 77)],
    "k-boolean": [("P403", 15, 77)],
    "k-contradictory": [("P412", 16, 25)],
    "k-fraction": [("P403", 15, 77)],
    "k-greater-than": [("P405", 15, 53)],
    "k-ill-typed": [("P403", 15, 88)],
    "k-missing": [("P411", 11, 16)],
    "k-negative": [("P404", 15, 77)],
    "k-nothing": [("P421", 15, 61)],
    "k-null": [("P208", 15, 77)],
    "k-repeated": [("P412", 16, 25)],
    "k-too-large": [("P403", 15, 77)],
    "k-two-operators": [("P304", 15, 41)],
    "k-two-values": [("P304", 15, 82)],
    "k-upper-bound": [("P406", 15, 53)],
    "key-twice-by-alias": [("P213", 22, 5)],
    "key-twice": [("P105", 22, 5)],
    "keyword-unknown": [("P207", 7, 3)],
    "l-above-k": [("P410", 16, 77)],
    "l-missing": [("P411", 11, 16)],
    "l-with-k-anonymity": [("P409", 16, 25)],
    "l-without-sensitive": [("P408", 11, 16)],
    "laplace-with-delta": [("P435", 15, 25)],
    "list-beside-key": [("P210", 10, 17)],
    "local-delta-without-budget": [("P438", 17, 94)],
    "local-gaussian-without-delta": [("P411", 16, 96)],
    "local-laplace-with-delta": [("P435", 16, 25)],
    "list-empty": [("P201", 1, 1)],
    "logical-text": [("P308", 10, 28)],
    "logical-twice-the-same": [("P432", 10, 94)],
    "logical-two-operators": [("P432", 10, 94)],
    "measure-missing": [("P411", 15, 102)],
    "membership-of-refined": [("P390", 11, 17)],
    "method-misspelt": [("P401", 14, 80)],
    "missing-brace": [("P103", 24, 3)],
    "mosaicrown-prefix-undefined": [("P211", 7, 15)],
    "nan": [("P106", 15, 77)],
    "no-quasi-identifier": [("P417", 11, 16)],
    "no-rules": [("P302", 1, 1)],
    "obligation-anonymize-without-target": [("P303", 7, 17)],
    "obligation-on-permission": [("P322", 10, 5)],
    "offer-and-agreement": [("P323", 4, 22)],
    "operand-misspelt": [("P307", 15, 25)],
    "operator-makes-no-sense": [("P405", 18, 68)],
    "operator-misspelt": [("P306", 15, 53)],
    "output-is-collection": [("P309", 22, 15)],
    "output-is-target": [("P413", 22, 15)],
    "output-missing": [("P414", 7, 18)],
    "output-name-too-long": [("P442", 22, 15)],
    "outputs-in-a-circle": [("P413", 17, 15), ("P413", 28, 15)],
    "outputs-several": [("P304", 22, 5)],
    "overflow": [("P106", 15, 77)],
    "part-of-text": [("P314", 8, 78)],
    "partitioning-number": [("P422", 16, 99)],
    "partitioning-unknown": [("P402", 16, 99)],
    "permission-misspelt": [("P206", 7, 3)],
    "prefix-undefined": [("P211", 22, 5)],
    "presence-out-of-order": [("P429", 17, 97)],
    "profile-unknown": [("P317", 6, 14)],
    "prohibition-with-output": [("P418", 10, 5)],
    "pseudonym-key-is-a-key": [("P430", 17, 99)],
    "purpose-unknown": [("P415", 23, 16)],
    "purpose-without-context": [
        ("P211", 13, 25),
        ("P211", 14, 25),
        ("P211", 15, 25),
        ("P211", 16, 25),
        ("P211", 17, 25),
        ("P211", 18, 25),
        ("P309", 22, 5),
    ],
    "rdf-value-is-text": [("P313", 12, 20)],
    "read-with-output": [("P418", 9, 5)],
    "reference-to-fetch": [("P321", 15, 61)],
    "refined-read": [("P419", 8, 81)],
    "refinement-misspelt": [("P206", 13, 7)],
    "refinement-on-named-action": [("P312", 11, 16)],
    "relation": [("P390", 10, 5)],
    "remedy-on-permission": [("P322", 10, 5)],
    "replaced": [("P318", 7, 3)],
    "replaces": [("P390", 7, 3)],
    "reverse": [("P390", 7, 3)],
    "rule-only-named": [("P311", 7, 18)],
    "sequence-without-list": [("P432", 10, 20)],
    "single-and-relaxed": [("P437", 17, 99)],
    "statistic-missing": [("P411", 10, 15)],
    "surrogate": [("P107", 17, 90)],
    "t-of-k-anonymity": [("P423", 16, 25)],
    "t-too-large": [("P424", 17, 90)],
    "target-file": [("P211", 10, 15)],
    "target-number": [("P314", 10, 15)],
    "target-protocol-relative": [("P209", 10, 15)],
    "target-space": [("P212", 10, 15)],
    "target-twice-refined": [("P304", 10, 17)],
    "target-without-name": [("P314", 8, 15)],
    "targets-of-one-output": [("P333", 10, 5)],
    "text-only": [("P201", 1, 1)],
    "trailing-comma": [("P103", 23, 27)],
    "train-as-obligation": [("P441", 11, 15)],
    "train-bare": [("P411", 10, 15)],
    "train-clipping-alone": [("P411", 16, 25)],
    "train-label-dropped": [("P407", 16, 99)],
    "train-loss-bounded-twice": [("P428", 19, 25)],
    "train-model-and-records": [("P443", 16, 25)],
    "train-noise-and-bound": [("P439", 16, 63)],
    "train-recipe-is-a-path": [("P422", 14, 76)],
    "train-records-attacked-as-a-model": [("P443", 18, 5)],
    "train-repeated": [("P412", 17, 25)],
    "train-sampling-alone": [("P411", 16, 25)],
    "train-with-k": [("P419", 16, 25)],
    "train-without-delta": [("P411", 11, 15)],
    "train-without-label": [("P411", 11, 15)],
    "train-without-output": [("P414", 8, 17)],
    "two-policies-share-a-rule": [("P310", 33, 12)],
    "type-assertion": [("P390", 4, 12)],
    "type-misspelt": [("P301", 4, 12)],
    "type-privacy": [("P390", 4, 12)],
    "type-request": [("P390", 4, 12)],
    "type-ticket": [("P390", 4, 12)],
    "uid-blank": [("P319", 5, 10)],
    "uid-of-smalti": [("P319", 5, 10)],
    "uid-twice": [("P319", 6, 23)],
    "uid-used-twice": [("P310", 8, 12)],
    "unclosed": [("P103", 25, 1)],
    "valid-backwards": [("P325", 7, 16)],
    "valid-datatype": [("P325", 7, 27)],
    "valid-duration": [("P325", 7, 16)],
    "valid-no-such-day": [("P325", 7, 16)],
    "valid-nothing": [("P325", 7, 16)],
    "valid-number": [("P325", 7, 16)],
    "valid-one-day": [("P325", 7, 16)],
    "valid-period-scheme": [("P325", 7, 16)],
    "valid-period-unknown": [("P325", 7, 16)],
    "valid-twice": [("P304", 7, 3)],
    "valid-without-zone": [("P325", 7, 16)],
    "word-out-of-place": [("P309", 22, 5)],
}
"""The errors of each document, at line and column."""

ALSO: dict[str, list[tuple[str, int, int]]] = {
    "inherit-from-offer": [("P506", 14, 12)],
    "inherit-offer-without-assigner": [("P506", 4, 12)],
    "offer-and-agreement": [("P506", 4, 13)],
}
"""The warnings and notes beside them."""


def test_every_bad_document_is_in_the_table() -> None:
    """Those of the forms (`form-`) have their expectations in `test_forms.py`."""
    found = {path.stem for path in BAD.glob("*.jsonld") if not path.stem.startswith("form-")}
    assert found == set(EXPECTED)
    assert set(ALSO) <= found


@pytest.mark.parametrize("name", EXPECTED)
def test_bad_document(name: str) -> None:
    parsed = load(BAD / f"{name}.jsonld")
    places = [(found.code, found.where.line, found.where.column) for found in parsed.diagnostics]
    is_error = [found.severity is Severity.ERROR for found in parsed.diagnostics]
    assert [place for place, error in zip(places, is_error, strict=True) if error] == EXPECTED[name]
    assert [place for place, error in zip(places, is_error, strict=True) if not error] == ALSO.get(name, [])
    assert parsed.policies == ()
    assert all(found.code in BY_CODE for found in parsed.diagnostics)


CODE = re.compile(r"P[1-9][0-9]{2}")


def codes_of_tests() -> set[str]:
    """The codes that tests beside this one name."""
    others = [path for path in Path(__file__).parent.glob("test_*.py") if path != Path(__file__)]
    return {code for path in others for code in CODE.findall(path.read_text(encoding="utf-8"))}


@pytest.mark.parametrize("code", [code.code for code in TABLE])
def test_every_code_is_expected_of_some_document(code: str) -> None:
    """Of a document here, or by a test of what no JSON-LD document of this folder can show."""
    here = {found for table in (EXPECTED, ALSO) for row in table.values() for found, _, _ in row}
    assert code in here | codes_of_tests()


def test_a_retired_code_is_not_used_again() -> None:
    assert not RETIRED & set(BY_CODE)


@pytest.mark.parametrize(
    ("name", "help_"),
    [
        ("action-misspelt", "did you mean `odrl:anonymize`?"),
        ("action-term-misspelt", "did you mean `read`?"),
        ("context-unknown", "did you mean `https://www.mosaicrown.eu/ns/mosaicrown.jsonld`?"),
        ("conflict-unknown", "did you mean `prohibit`?"),
        ("constraints-misspelt", "did you mean `constraint`?"),
        ("fig-2.6-as-printed", "the `}` at line 60, column 1 is probably superfluous"),
        ("k-as-text", "write 10, without quotes"),
        ("k-greater-than", "write `eq` or `gteq`"),
        ("k-upper-bound", "write `gteq` to state the minimum"),
        ("l-with-k-anonymity", "did you mean the method `l-diversity`?"),
        ("method-misspelt", "did you mean `k-anonymity`?"),
        ("operand-misspelt", "did you mean `mosaicrown:k`?"),
        ("operator-misspelt", "did you mean `gteq`?"),
        ("inherit-agreement-without-assignee", "write it once on the policy"),
        ("collection-without-source", 'write "source" instead of "uid"'),
        ("compact-purpose", "write `purpose` in each rule"),
        (
            "consequence-of-consequence",
            "a consequence belongs to a duty of a permission or to an obligation",
        ),
        ("duty-on-prohibition", "a duty belongs to a permission; a prohibition has a `remedy`"),
        ("inherit-nowhere", "supply its document too, or add it first"),
        ("inherit-outlives-parent", "limit it with `dct:valid`"),
        ("targets-of-one-output", "write one rule for each target"),
        ("valid-without-zone", "add `Z`, or an offset"),
        ("profile-unknown", "did you mean `https://www.mosaicrown.eu/ns/mosaicrown/1/`?"),
        ("purpose-unknown", "did you mean `marketing`?"),
        ("rdf-value-is-text", 'write {"@id": "odrl:anonymize"}'),
        ("refinement-misspelt", "did you mean `refinement`?"),
        ("trailing-comma", "remove the comma"),
        ("unclosed", "the `{` opened at line 1 is not closed"),
    ],
)
def test_help_names_the_way_out(name: str, help_: str) -> None:
    assert load(BAD / f"{name}.jsonld").diagnostics[0].help.startswith(help_)


@pytest.mark.parametrize(
    ("name", "feature"),
    [
        ("action-included-in", "`includedIn`"),
        ("constraint-status", "`status`"),
        ("coverage", "`dct:coverage`"),
        ("failure", "`odrl:failure`"),
        ("function", "`function`"),
        ("graph-named", "a named graph"),
        ("has-policy-of-another", "`hasPolicy`"),
        ("informed-party", "`informedParty`"),
        ("membership-of-refined", "a refined part of a collection"),
        ("relation", "`relation`"),
        ("replaces", "`dct:replaces`"),
        ("type-request", "the policy type `Request`"),
        ("type-ticket", "the policy type `Ticket`"),
    ],
)
def test_features_of_later_versions_are_refused_by_name(name: str, feature: str) -> None:
    message = load(BAD / f"{name}.jsonld").diagnostics[0].message
    assert feature in message
    assert message.endswith("is not implemented yet")


def test_what_grows_is_named() -> None:
    """The compact form is measured before it is spelled out, and the actions of a rule with its duties."""
    (shared,) = load(BAD / "compact-too-much.jsonld").diagnostics
    (actions,) = load(BAD / "actions-times-duties.jsonld").diagnostics
    assert shared.message.startswith("`action` on the policy, copied into each of its 400 rules")
    assert actions.message.startswith("the rules of the policy, copied for each of their actions")
