"""Deprecated words of ODRL mean what its ontology matches them with, or are refused as deprecated."""

import json

import pytest

from smalti.policy.document.context import shipped_terms
from smalti.policy.findings.diagnostics import Severity
from smalti.policy.read.parse import ParsedDocument, parse
from smalti.vocab import aliases, odrl
from smalti.vocab.contexts import ODRL_CONTEXT
from smalti.vocab.terms import ODRL

MATCHED = {
    "append": "modify", "appendTo": "modify", "write": "modify", "writeTo": "modify", "copy": "reproduce",
    "export": "transform", "license": "grantUse", "pay": "compensate",
}  # fmt: skip
ALONE = [
    "All",
    "AllConnections",
    "All2ndConnections",
    "AllGroups",
    "AssetScope",
    "Group",
    "Individual",
    "PartyScope",
    "UndefinedTerm",
    "adHocShare",
    "extractChar",
    "extractPage",
    "extractWord",
    "ignore",
    "inheritAllowed",
    "inheritRelation",
    "lease",
    "lend",
    "preview",
    "proximity",
    "scope",
    "secondaryUse",
    "support",
    "timedCount",
    "undefined",
]
OF_CREATIVE_COMMONS = {
    "attachPolicy": "Notice", "attachSource": "SourceCode", "commercialize": "CommercialUse",
    "share": "Sharing", "shareAlike": "ShareAlike",
}  # fmt: skip
TERMS = frozenset(shipped_terms(ODRL_CONTEXT))


def parsed(**members: object) -> ParsedDocument:
    document = {
        "@context": "http://www.w3.org/ns/odrl.jsonld", "@type": "Set", "uid": "http://example.com/policy/1",
        "profile": "https://www.mosaicrown.eu/ns/mosaicrown/1/", **members,
    }  # fmt: skip
    return parse(json.dumps(document).encode(), "a.jsonld")


def permitted(action: object, **members: object) -> ParsedDocument:
    return parsed(permission={"target": "http://example.com/a", "action": action, **members})


def test_the_tables_are_those_of_the_ontology() -> None:
    """ODRL22.ttl marks 41 terms as deprecated."""
    assert set(odrl.DEPRECATED) == {*ALONE, *OF_CREATIVE_COMMONS}
    assert len(aliases.DEPRECATED) + len(odrl.DEPRECATED) == 41
    known = {*odrl.ACTIONS, *odrl.LEFT_OPERANDS, *odrl.PARTY_FUNCTIONS}
    assert {word.removeprefix(ODRL) for word in aliases.DEPRECATED.values()} <= known


@pytest.mark.parametrize(("old", "new"), MATCHED.items())
@pytest.mark.parametrize("prefix", ["", "odrl:", ODRL])
def test_a_deprecated_action_is_the_one_that_it_matches(old: str, new: str, prefix: str) -> None:
    read = permitted(prefix + old)
    (warning,) = read.diagnostics
    assert (warning.code, warning.severity) == ("P512", Severity.WARNING)
    assert "deprecated in ODRL 2.2" in warning.message
    assert read.policies[0].rules[0].action == ODRL + new
    assert read.policies[0].rules[0].targets == permitted(new).policies[0].rules[0].targets


@pytest.mark.parametrize("old", ["device", "system"])
def test_a_deprecated_operand_is_the_one_that_it_matches(old: str) -> None:
    limit = {"leftOperand": old, "operator": "eq", "rightOperand": {"@id": "http://example.com/phone"}}
    new = {**limit, "leftOperand": "systemDevice"}
    read = permitted("use", constraint=limit)
    assert [found.code for found in read.diagnostics] == ["P512"]
    assert (
        read.policies[0].permissions[0].constraints
        == permitted("use", constraint=new).policies[0].permissions[0].constraints
    )


@pytest.mark.parametrize("old", [*ALONE, *OF_CREATIVE_COMMONS])
@pytest.mark.parametrize("prefix", ["", "odrl:"])
def test_other_deprecated_words_are_refused_without_a_guess(old: str, prefix: str) -> None:
    limit = {"leftOperand": prefix + old, "operator": "eq", "rightOperand": 3}
    refused = {
        "P305": permitted(prefix + old),
        "P307": permitted("use", constraint=limit),
        "P309" if prefix or old in TERMS else "P206": permitted("use", **{prefix + old: "a"}),
    }
    for code, read in refused.items():
        (error,) = read.errors
        assert (error.code, "deprecated in ODRL 2.2" in error.message) == (code, True)
        assert "did you mean" not in error.help
        match = OF_CREATIVE_COMMONS.get(old, "")
        assert (f"cc:{match}" if match else "no word in its place") in error.message


def test_a_deprecated_key_that_json_ld_drops_says_what_to_write() -> None:
    (error,) = permitted("use", payeeParty="http://example.com/b").errors
    assert (error.code, "odrl:compensatedParty" in error.message) == ("P206", True)
