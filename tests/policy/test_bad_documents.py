"""Each bad document gives exactly the expected errors, at their lines and columns."""

from pathlib import Path

import pytest

from smalti.policy.codes import BY_CODE
from smalti.policy.diagnostics import Severity
from smalti.policy.parse import load

BAD = Path(__file__).parent / "bad"

EXPECTED: dict[str, list[tuple[str, int, int]]] = {
    "action-later": [("P390", 8, 15)],
    "action-missing": [("P303", 6, 17)],
    "action-misspelt": [("P305", 12, 28)],
    "action-term-misspelt": [("P305", 8, 15)],
    "action-use-permitted": [("P390", 8, 15)],
    "actions-several": [("P390", 8, 5)],
    "agreement-without-assigner": [("P316", 7, 18)],
    "algorithm-later": [("P390", 16, 96)],
    "anonymize-bare": [("P411", 8, 15)],
    "assignees-several": [("P390", 9, 5)],
    "column-in-two-roles": [("P407", 19, 99)],
    "column-number": [("P416", 19, 89)],
    "column-relative": [("P209", 19, 97)],
    "column-undefined-prefix": [("P211", 19, 89)],
    "compact-form": [("P390", 7, 3)],
    "conflict-unknown": [("P315", 7, 15)],
    "constraint-count": [("P390", 22, 35)],
    "constraint-logical": [("P390", 22, 20)],
    "constraint-on-column": [("P390", 22, 35)],
    "constraint-unit": [("P390", 15, 81)],
    "constraints-misspelt": [("P206", 22, 5)],
    "context-flips-gteq": [("P205", 4, 17)],
    "context-missing": [("P202", 1, 1)],
    "context-nested": [("P205", 12, 7)],
    "context-nulls-refinement": [("P205", 4, 17)],
    "context-order": [("P204", 2, 15)],
    "context-swaps-k-for-l": [("P205", 4, 17)],
    "context-takes-urn": [("P205", 4, 17)],
    "context-unknown": [("P203", 3, 16)],
    "context-vocab": [("P205", 4, 17)],
    "duty": [("P390", 22, 5)],
    "fig-2.6-as-printed": [("P103", 61, 11)],
    "graph": [("P390", 7, 3)],
    "inherit-from": [("P390", 7, 3)],
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
    "l-above-k": [("P410", 16, 77)],
    "l-missing": [("P411", 11, 16)],
    "l-with-k-anonymity": [("P409", 16, 25)],
    "l-without-sensitive": [("P408", 11, 16)],
    "list-empty": [("P201", 1, 1)],
    "method-later": [("P390", 14, 80)],
    "method-misspelt": [("P401", 14, 80)],
    "missing-brace": [("P103", 24, 3)],
    "mosaicrown-prefix-undefined": [("P211", 7, 15)],
    "nan": [("P106", 15, 77)],
    "no-quasi-identifier": [("P417", 11, 16)],
    "no-rules": [("P302", 1, 1)],
    "obligation": [("P390", 7, 3)],
    "offer": [("P301", 4, 12)],
    "operand-later": [("P390", 15, 25)],
    "operand-misspelt": [("P307", 15, 25)],
    "operand-of-profile-later": [("P390", 15, 25)],
    "operator-makes-no-sense": [("P405", 18, 68)],
    "operator-misspelt": [("P306", 15, 53)],
    "output-is-target": [("P413", 22, 15)],
    "output-missing": [("P414", 7, 18)],
    "overflow": [("P106", 15, 77)],
    "permission-misspelt": [("P206", 7, 3)],
    "prefix-undefined": [("P211", 22, 5)],
    "profile-unknown": [("P317", 6, 14)],
    "prohibition-of-refined-action": [("P390", 13, 7)],
    "purpose-is-none-of": [("P390", 23, 63)],
    "purpose-of-dpv": [("P390", 23, 16)],
    "purpose-twice": [("P420", 24, 35)],
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
    "refined-read": [("P390", 8, 51)],
    "refinement-misspelt": [("P206", 13, 7)],
    "refinement-on-named-action": [("P312", 11, 16)],
    "remedy": [("P390", 9, 5)],
    "replaced": [("P318", 7, 3)],
    "reverse": [("P390", 7, 3)],
    "rule-only-named": [("P311", 7, 18)],
    "surrogate": [("P107", 17, 90)],
    "target-collection": [("P390", 10, 25), ("P390", 10, 44)],
    "target-file": [("P211", 10, 15)],
    "target-missing": [("P303", 7, 18)],
    "target-number": [("P314", 10, 15)],
    "target-part-of": [("P390", 10, 54)],
    "target-protocol-relative": [("P209", 10, 15)],
    "target-relative": [("P209", 10, 15)],
    "target-space": [("P212", 10, 15)],
    "targets-several": [("P390", 10, 5)],
    "text-only": [("P201", 1, 1)],
    "trailing-comma": [("P103", 23, 27)],
    "two-policies-share-a-rule": [("P310", 33, 12)],
    "type-misspelt": [("P301", 4, 12)],
    "uid-blank": [("P319", 5, 10)],
    "uid-relative": [("P209", 5, 10)],
    "uid-used-twice": [("P310", 8, 12)],
    "unclosed": [("P103", 25, 1)],
    "valid-interval": [("P390", 7, 3)],
    "word-out-of-place": [("P309", 22, 5)],
}


def test_every_bad_document_is_in_the_table() -> None:
    assert {path.stem for path in BAD.glob("*.jsonld")} == set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_bad_document(name: str) -> None:
    parsed = load(BAD / f"{name}.jsonld")
    errors = [found for found in parsed.diagnostics if found.severity is Severity.ERROR]
    assert [(found.code, found.where.line, found.where.column) for found in errors] == EXPECTED[name]
    assert parsed.policies == ()
    assert all(found.code in BY_CODE for found in parsed.diagnostics)


@pytest.mark.parametrize(
    ("name", "help_"),
    [
        ("action-misspelt", "did you mean `odrl:anonymize`?"),
        ("action-term-misspelt", "did you mean `read`?"),
        ("context-unknown", "did you mean `https://www.mosaicrown.eu/ns/mosaicrown.jsonld`?"),
        ("conflict-unknown", "did you mean `prohibit`?"),
        ("constraints-misspelt", "did you mean `constraint`?"),
        ("fig-2.6-as-printed", "the `}` at line 60, column 1 is probably one too many"),
        ("k-as-text", "write 10, without quotes"),
        ("k-greater-than", "write `eq` or `gteq`"),
        ("k-upper-bound", "write `gteq` for the least that is promised"),
        ("l-with-k-anonymity", "did you mean the method `l-diversity`?"),
        ("method-misspelt", "did you mean `k-anonymity`?"),
        ("operand-misspelt", "did you mean `mosaicrown:k`?"),
        ("operator-misspelt", "did you mean `gteq`?"),
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
        ("duty", "`duty`"),
        ("remedy", "`remedy`"),
        ("obligation", "`obligation`"),
        ("inherit-from", "`inheritFrom`"),
        ("valid-interval", "`dct:valid`"),
        ("constraint-logical", "`and`"),
        ("targets-several", "joint visibility"),
        ("compact-form", "the compact form"),
        ("method-later", "`t-closeness`"),
        ("algorithm-later", "`anatomy`"),
        ("purpose-of-dpv", "DPV"),
        ("graph", "`@graph`"),
    ],
)
def test_features_of_later_versions_are_refused_by_name(name: str, feature: str) -> None:
    message = load(BAD / f"{name}.jsonld").diagnostics[0].message
    assert feature in message
    assert message.endswith("is not implemented yet")
