"""Every form of a document is read to the same policy, and nothing in it is dropped or shared."""

import json
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from pyld import ContextResolver, FrozenDocumentLoader, jsonld
from rdflib import Graph

from smalti.policy.findings.diagnostics import Severity
from smalti.policy.model.model import Logical, LogicalOperator, Policy
from smalti.policy.read.parse import ParsedDocument, load, parse
from smalti.vocab.contexts import ADDRESSES

HERE = Path(__file__).parent
GOOD = sorted(HERE.glob("good/*.jsonld"))
EXAMPLES = sorted((HERE.parents[1] / "examples" / "policies").glob("*.jsonld"))
ODRL = "http://www.w3.org/ns/odrl/2/"
TEXTS_WITH_PREFIXES = {"prefix-added", "purpose-constraint"}


def options() -> dict[str, Any]:
    loader = FrozenDocumentLoader(documents=dict(ADDRESSES))
    return {"documentLoader": loader, "contextResolver": ContextResolver({}, loader)}


def expanded(document: Any) -> Any:
    return jsonld.expand(document, options())


def flattened(document: Any) -> Any:
    return jsonld.flatten(document, None, options())


def in_graph(document: Any) -> Any:
    """Flattened, with the document's own context."""
    context = document[0]["@context"] if isinstance(document, list) else document["@context"]
    found = jsonld.flatten(document, {"@context": context}, options())
    return found if "@graph" in found else [found]


def turtle(document: Any) -> str:
    """In rdflib's own layout; N-Quads of one graph are N-Triples."""
    quads = jsonld.to_rdf(document, {**options(), "format": "application/n-quads"})
    return Graph().parse(data=quads, format="nt").serialize(format="turtle")


def comparable(value: Any) -> Any:
    """The value with its digest, and the uids that are made from it, replaced; RDF keeps no order."""
    if is_dataclass(value) and not isinstance(value, type):
        changed = {f.name: comparable(getattr(value, f.name)) for f in fields(value) if f.compare}
        if isinstance(value, Logical) and value.operator is LogicalOperator.AND_SEQUENCE:
            changed["operands"] = tuple(map(comparable, value.operands))
        return replace(value, **changed)
    if isinstance(value, tuple):
        return tuple(sorted(map(comparable, value), key=repr))
    if isinstance(value, str) and (value.startswith("sha256:") or ":sha256:" in value):
        return type(value)("made")
    return value


def meaning(parsed: ParsedDocument) -> list[Policy]:
    errors = [found for found in parsed.diagnostics if found.severity is Severity.ERROR]
    assert errors == []
    return sorted(map(comparable, parsed.policies), key=repr)


def has_form(path: Path, form: Any) -> bool:
    """Whether a document can be converted: not where prefixes that its texts need would be lost."""
    if form is in_graph:
        return "@context" in path.read_text(encoding="utf-8-sig")
    return path.stem not in TEXTS_WITH_PREFIXES


@pytest.mark.parametrize(
    ("path", "form"),
    [
        pytest.param(
            path, form, id=f"{path.stem}-{form.__name__}", marks=[pytest.mark.slow] if place % 3 else []
        )
        for place, path in enumerate([*EXAMPLES, *GOOD])
        for form in (expanded, flattened, in_graph, turtle)
        if has_form(path, form)
    ],
)
def test_every_form_means_the_same(path: Path, form: Any) -> None:
    document = form(json.loads(path.read_text(encoding="utf-8-sig")))
    text = document if isinstance(document, str) else json.dumps(document, indent=1)
    read = parse(text.encode(), "other-form")
    assert read.policies
    assert meaning(read) == meaning(load(path))


BAD: dict[str, tuple[str, int, int]] = {
    "form-expanded-action-is-text": ("P314", 6, 55),
    "form-expanded-property-is-a-word": ("P206", 7, 5),
    "form-expanded-property-misspelt": ("P309", 7, 5),
    "form-expanded-type-is-relative": ("P301", 3, 13),
    "form-graph-empty": ("P201", 4, 13),
    "form-graph-named": ("P390", 5, 3),
    "form-graph-with-contexts": ("P205", 6, 23),
    "form-graph-without-context": ("P202", 1, 1),
    "form-included": ("P390", 6, 23),
    "form-label-described-nowhere": ("P215", 5, 131),
    "form-list-of-a-text": ("P201", 1, 2),
    "form-node-described-twice": ("P310", 7, 13),
    "form-node-of-no-policy": ("P216", 7, 13),
    "form-node-says-nothing": ("P302", 7, 5),
    "form-node-used-twice": ("P214", 7, 38),
    "form-nodes-in-a-circle": ("P214", 8, 36),
    "form-nodes-linked-too-deeply": ("P104", 69, 5),
    "form-policies-share-a-description": ("P214", 8, 57),
    "form-policies-share-a-rule": ("P214", 6, 131),
    "form-refined-action-apart": ("P312", 7, 5),
    "form-value-as-policy": ("P201", 1, 2),
}


def test_every_bad_form_is_in_the_table() -> None:
    assert {path.stem for path in HERE.glob("bad/form-*.jsonld")} == set(BAD)


@pytest.mark.parametrize("name", BAD)
def test_bad_form(name: str) -> None:
    parsed = load(HERE / "bad" / f"{name}.jsonld")
    assert [(found.code, found.where.line, found.where.column) for found in parsed.errors] == [BAD[name]]
    assert parsed.policies == ()


def test_a_shared_node_is_reported_with_both_places() -> None:
    (found,) = load(HERE / "bad" / "form-node-used-twice.jsonld").errors
    assert found.message == "`_:c` is already used at line 6"
    assert (found.where.line, found.where.pointer) == (7, "/@graph/2/constraint")


def test_places_are_those_of_the_description() -> None:
    document = (HERE / "good" / "form-flattened.jsonld").read_text()
    parsed = parse(document.replace("l-diversity", "l-diversty").encode(), "flattened")
    (found,) = parsed.errors
    assert found.code == "P401"
    line = document.splitlines()[found.where.line - 1]
    assert line[found.where.column - 1 :].startswith('"l-diversity"')


def graph(*nodes: dict[str, Any]) -> ParsedDocument:
    context = ["http://www.w3.org/ns/odrl.jsonld", "https://www.mosaicrown.eu/ns/mosaicrown.jsonld"]
    return parse(json.dumps({"@context": context, "@graph": nodes}).encode(), "graph")


def a_policy(uid: str, *rules: str) -> dict[str, Any]:
    profile = "https://www.mosaicrown.eu/ns/mosaicrown/1/"
    return {"uid": uid, "@type": "Set", "profile": profile, "permission": [{"@id": rule} for rule in rules]}


def reading(label: str, **more: Any) -> dict[str, Any]:
    return {"@id": label, "action": "odrl:read", "target": "http://example.com/Customer", **more}


def test_a_named_rule_is_put_into_its_policy() -> None:
    parsed = graph(
        a_policy("http://example.com/p", "http://example.com/r"), reading("http://example.com/r")
    )
    assert [rule.uid for rule in parsed.policies[0].permissions] == ["http://example.com/r"]


def test_labels_are_no_names_and_their_spelling_means_nothing() -> None:
    first, second = (
        graph(a_policy("http://example.com/p", label), reading(label)) for label in ("_:a", "_:b")
    )
    assert first.policies[0].permissions[0].uid.startswith("urn:smalti:rule:sha256:")
    assert meaning(first) == meaning(second)


@pytest.mark.parametrize("label", ["_:r", "http://example.com/r"])
def test_a_rule_of_another_policy_is_never_taken_over(label: str) -> None:
    attacker = {**a_policy("http://example.com/q", label), "assignee": "http://example.com/party/zoo"}
    parsed = graph(a_policy("http://example.com/p", label), attacker, reading(label))
    assert "P214" in {found.code for found in parsed.errors}
    assert parsed.policies == ()


def test_a_description_beside_a_nested_one_is_refused() -> None:
    policy = {**a_policy("http://example.com/p"), "permission": [reading("http://example.com/r")]}
    more = {"@id": "http://example.com/r", "assignee": "http://example.com/party/zoo"}
    assert [found.code for found in graph(policy, more).errors] == ["P310"]


def test_a_policy_that_is_described_again_is_refused() -> None:
    policy = {**a_policy("http://example.com/p"), "permission": [reading("http://example.com/r")]}
    again = {"@id": "http://example.com/p", "rdfs:label": "a second description"}
    assert [found.code for found in graph(policy, again).errors] == ["P310"]


def test_an_asset_may_be_named_by_all_rules_of_its_policy() -> None:
    parsed = graph(
        a_policy("http://example.com/p", "_:a", "_:b"), reading("_:a"), reading("_:b"),
        {"@id": "http://example.com/Customer", "@type": "Asset", "dct:title": "the customers"},
    )  # fmt: skip
    assert parsed.errors == ()
    assert len(parsed.policies[0].permissions) == 2


def test_titles_may_be_shared_by_policies() -> None:
    parsed = graph(
        a_policy("http://example.com/p", "_:a"), a_policy("http://example.com/q", "_:b"),
        reading("_:a"), reading("_:b"),
        {"@id": "http://example.com/Customer", "@type": "Asset", "dct:title": "the customers"},
    )  # fmt: skip
    assert parsed.errors == ()
    assert len(parsed.policies) == 2


def test_policies_of_several_forms_in_one_list_keep_their_order() -> None:
    compact = json.loads((HERE / "good" / "read.jsonld").read_text())
    compact["uid"] = "http://example.com/policy/first"
    other = json.loads((HERE / "good" / "form-expanded.jsonld").read_text())
    parsed = parse(json.dumps([compact, *other]).encode(), "mixed")
    assert [policy.uid for policy in parsed.policies] == [
        "http://example.com/policy/first",
        "http://example.com/policy/1",
    ]


@pytest.mark.slow
def test_equal_contexts_are_processed_once_and_different_ones_are_counted() -> None:
    policy = json.loads((HERE / "good" / "read.jsonld").read_text())
    text = json.dumps([{**policy, "uid": f"http://example.com/{n}", "permission": []} for n in range(2000)])
    assert "P108" not in {found.code for found in parse(text.encode(), "many").errors}
    several = [
        {**policy, "@context": [*policy["@context"], {f"p{n}": "http://example.com/"}]} for n in range(101)
    ]
    assert [found.code for found in parse(json.dumps(several).encode(), "many").errors] == ["P108"]
