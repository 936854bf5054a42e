"""Traps of JSON-LD and of other ODRL engines, each of which a naive implementation falls into.

Nine findings changed the design of the parser and of decisions. Each has a test here that fails on the
naive implementation, which its docstring describes.
"""

import json
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyld import ContextResolver, FrozenDocumentLoader, jsonld

from smalti.policy.decide.authorize import authorize
from smalti.policy.decide.decision import Effect, Fact, Request
from smalti.policy.model.model import Comparison, Number, Operator, Policy
from smalti.policy.read.parse import load, parse
from smalti.vocab import terms
from smalti.vocab.contexts import ADDRESSES, ODRL_CONTEXT
from smalti.vocab.terms import IRI

HERE = Path(__file__).parent
REFERENCE = (HERE / "good" / "reference.jsonld").read_text()


def codes(old: str, new: str) -> set[str]:
    assert old in REFERENCE
    return {found.code for found in parse(REFERENCE.replace(old, new, 1).encode(), "p").diagnostics}


def expanded(text: str, **options: Any) -> Any:
    """What JSON-LD makes of a document: the naive implementation begins here."""
    loader = FrozenDocumentLoader(documents=dict(ADDRESSES))
    resolver = ContextResolver({}, loader)
    return jsonld.expand(
        json.loads(text), {"documentLoader": loader, "contextResolver": resolver, **options}
    )


# --- Finding 1: JSON-LD deletes what it does not know


def test_a_misspelt_refinement_is_not_a_bare_permission() -> None:
    """Naive: expand, and read the properties that are left. They permit to anonymize, with no k."""
    misspelt = REFERENCE.replace('"refinement"', '"refinements"')
    (rule,) = expanded(misspelt)[0][terms.PERMISSION]
    assert rule[terms.ACTION] == [{terms.RDF_VALUE: [{"@id": terms.ANONYMIZE}]}]
    assert codes('"refinement"', '"refinements"') == {"P206"}


# --- Finding 2: unknown values become relative IRIs, which no hook reports


def test_an_unknown_value_is_no_iri_under_some_base() -> None:
    """Naive: expand with the hook for dropped properties. It reports none, and the purpose is a new IRI."""
    dropped: list[str | None] = []
    naive = expanded(
        REFERENCE.replace('"marketing"', '"markketing"'), base="http://example.org/base/",
        on_property_dropped=dropped.append,
    )  # fmt: skip
    (rule,) = naive[0][terms.PERMISSION]
    assert (dropped, rule[terms.PURPOSE]) == ([], [{"@id": "http://example.org/base/markketing"}])
    assert codes('"marketing"', '"markketing"') == {"P415"}
    assert codes("odrl:anonymize", "anonymise") == {"P305"}
    assert codes('"http://example.com/Customer"', '"/Customer"') == {"P209"}
    assert codes('"http://example.com/Customer"', '"Customer"') == {"P520"}, (
        "a template, which grants nothing"
    )


def test_the_authors_own_sentinel_is_no_way_in() -> None:
    assert "P209" in codes('"http://example.com/Customer"', '"smalti-unresolved://policy/document/x"')


# --- Finding 3: the W3C's context had `neg` in place of `neq`


NOT_MARKETING = (
    '"constraint": {"leftOperand": "odrl:purpose", "operator": "OPERATOR", '
    '"rightOperand": {"@id": "mosaicrown:marketing"}}'
)


@pytest.mark.parametrize(
    "operator",
    ["neq", "odrl:neq", "odrl:neg", "http://www.w3.org/ns/odrl/2/neg", "https://www.w3.org/ns/odrl/2/neq"],
)
def test_neq_of_old_contexts_is_known(operator: str) -> None:
    """Naive: an old copy of the context is vendored, or `odrl:neg` is an unknown operator."""
    text = REFERENCE.replace('"purpose": "marketing"', NOT_MARKETING.replace("OPERATOR", operator))
    (limit,) = parse(text.encode(), "p").policies[0].permissions[0].constraints
    assert isinstance(limit, Comparison)
    assert (limit.operand, limit.operator) == (terms.ODRL_PURPOSE, Operator.NEQ)


def test_the_shipped_context_has_neq() -> None:
    shipped = json.loads(ODRL_CONTEXT.read_text())["@context"]
    assert (shipped["neq"], "neg" in shipped) == ("odrl:neq", False)


# --- Finding 4: contexts and their order change the meaning of words


@pytest.mark.parametrize("inline", ['{"gteq": "odrl:lteq"}', '{"refinement": null}', '{"purpose": null}'])
def test_a_context_cannot_change_the_meaning_of_words(inline: str) -> None:
    """Naive: any `@context` is processed. `{"gteq": "odrl:lteq"}` makes k at least 10 into at most 10."""
    assert codes('mosaicrown.jsonld"]', f'mosaicrown.jsonld", {inline}]') == {"P205"}


def test_contexts_out_of_order_are_refused() -> None:
    """Naive: contexts are processed as they come. With ODRL's last, the limit to a purpose is lost."""
    swapped = json.loads(REFERENCE)
    swapped["@context"].reverse()
    (rule,) = expanded(json.dumps(swapped))[0][terms.PERMISSION]
    assert terms.PURPOSE not in rule
    assert {found.code for found in parse(json.dumps(swapped).encode(), "p").diagnostics} == {"P204"}


# --- Finding 5: lists are sets of plain texts


def test_lists_are_sets_of_columns() -> None:
    """Naive: the columns are compared as they come, so that order and repetitions change the plan."""
    shuffled = REFERENCE.replace('["ZIP", "BirthDate"]', '["BirthDate", "ZIP", "ZIP"]')
    ways = [
        parse(text.encode(), "p").policies[0].permissions[0].anonymization for text in (REFERENCE, shuffled)
    ]
    columns = [[column.iri for column in way.quasi_identifiers] for way in ways if way is not None]
    assert columns[0] == columns[1]


def test_texts_and_iris_name_the_same_columns() -> None:
    """Naive: a column that is written as a text is another one than the same written as an IRI."""
    names = ['"ZIP"', '"http://example.com/Customer/ZIP"', '{"@id": "http://example.com/Customer/ZIP"}']
    texts = [REFERENCE.replace('"ZIP"', name) for name in names]
    ways = [parse(text.encode(), "p").policies[0].permissions[0].anonymization for text in texts]
    assert ways[0] == ways[1] == ways[2] is not None


# --- Finding 6: atomic rules lose joint visibility


def read_of(*targets: str, split: bool = False) -> bytes:
    groups = [[target] for target in targets] if split else [list(targets)]
    document = json.loads((HERE / "good" / "targets-several.jsonld").read_text())
    document["permission"] = [{"target": group, "action": "odrl:read"} for group in groups]
    return json.dumps(document).encode()


def test_several_targets_are_never_split() -> None:
    """Naive: one rule for each target (ODRL IM 2.7): nobody may see the two together, or everybody."""
    first, second = IRI("http://example.com/A"), IRI("http://example.com/B")
    together = parse(read_of(first, second), "p").policies
    apart = parse(read_of(first, second, split=True), "p").policies

    def may(targets: tuple[IRI, ...], policies: tuple[Policy, ...]) -> bool:
        request = Request(party=IRI("http://example.com/party/acme"), action=terms.READ, targets=targets)
        return authorize(request, policies).is_permitted

    assert len(together[0].permissions) == 1
    assert may((first, second), together)
    assert not may((first, second), apart)
    assert all(may((one,), policies) for one in (first, second) for policies in (together, apart))


# --- Finding 7: other engines do not see refinements of an action


def test_refinements_of_the_figure_are_seen() -> None:
    """Naive: the action is compared with `odrl:anonymize`, and `rdf:value` is passed over: a denial."""
    parsed = load(HERE.parents[1] / "examples" / "policies" / "fig-2.6.jsonld")
    request = Request(
        party=IRI("http://org/user"), action=terms.ANONYMIZE,
        targets=(IRI("http://example.com/Customer"),), purpose=terms.MARKETING,
    )  # fmt: skip
    decision = authorize(request, parsed.policies)
    assert decision.effect is Effect.PERMIT
    assert decision.permissions[0].anonymization is not None
    assert decision.permissions[0].anonymization.k.value == 10


@pytest.mark.parametrize(("k", "permitted"), [(9, False), (10, True), (20, True)])
def test_refinements_are_held_against_the_request(k: int, permitted: bool) -> None:
    """Naive: the permission is granted whatever is asked, since its refinement is not evaluated."""
    request = Request(
        party=IRI("http://example.com/party/acme"), action=terms.ANONYMIZE,
        targets=(IRI("http://example.com/Customer"),), purpose=terms.MARKETING,
        parameters=(Fact(terms.K, (Number(Decimal(k)),)),),
    )  # fmt: skip
    assert authorize(request, parse(REFERENCE.encode(), "p").policies).is_permitted is permitted


# --- Finding 8: policies in one graph describe each other's rules


def test_a_stranger_gains_nothing_by_the_uid_of_a_rule() -> None:
    """Naive: all policies are loaded into one graph, where the rule has two assignees from then on."""
    attack = json.loads((HERE / "good" / "read.jsonld").read_text())
    attack["uid"] = "http://example.com/policy/2"
    attack["permission"] = {
        "uid": "http://example.com/policy/1/a", "assignee": "http://example.com/party/mallory",
        "target": "http://example.com/Other", "action": "odrl:use",
    }  # fmt: skip
    parsed = [parse(text, "p") for text in (REFERENCE.encode(), json.dumps(attack).encode())]
    policies = [policy for one in parsed for policy in one.policies]
    assert len(policies) == 2
    for action in (terms.ANONYMIZE, terms.READ):
        request = Request(
            party=IRI("http://example.com/party/mallory"), action=action,
            targets=(IRI("http://example.com/Customer"),), purpose=terms.MARKETING,
        )  # fmt: skip
        assert not authorize(request, policies).is_permitted


def test_a_second_policy_cannot_describe_a_rule_again() -> None:
    """Naive: the second description joins the first one."""
    parsed = load(HERE / "bad" / "two-policies-share-a-rule.jsonld")
    assert [found.code for found in parsed.diagnostics] == ["P310"]
    assert parsed.policies == ()


# --- Finding 9: contexts are fetched, and canonical forms of graphs take for ever


NO_NETWORK = """
import sys
opened = []
def hook(event, args):
    if event.startswith(("socket.", "urllib.", "http.")):
        raise RuntimeError("network: " + event)
    if event == "open" and isinstance(args[0], str):
        opened.append(args[0])
sys.addaudithook(hook)
from smalti.policy.read.parse import parse, load
for path in sys.argv[1:]:
    load(path)
remote = b'{"@context": ["http://www.w3.org/ns/odrl.jsonld", "http://127.0.0.1:9/x"], "permission": []}'
assert [d.code for d in parse(remote, "remote").diagnostics] == ["P203"]
local = b'{"@context": ["http://www.w3.org/ns/odrl.jsonld", "file:///etc/passwd"], "permission": []}'
assert [d.code for d in parse(local, "local").diagnostics] == ["P203"]
assert "/etc/passwd" not in opened
assert "rdflib" not in sys.modules
print("done")
"""


def test_nothing_is_fetched() -> None:
    """Naive: PyLD's or rdflib's own loader, which fetch `http:` and (rdflib) read `file:` contexts."""
    paths = [*(HERE / "good").glob("*.jsonld"), HERE / "bad" / "context-unknown.jsonld"]
    run = subprocess.run(
        [sys.executable, "-c", NO_NETWORK, *map(str, paths)], capture_output=True, text=True, check=False
    )
    assert (run.stdout.strip(), run.stderr) == ("done", "")


CLIQUE = """
import json, sys
from smalti.policy.model.meaning import meaning_digest
from smalti.policy.read.parse import parse
labels = ["_:b%d" % number for number in range(9)]
others = {label: [{"@id": other} for other in labels if other != label] for label in labels}
nodes = [{"@id": label, "odrl:partOf": others[label]} for label in labels]
policy = {"@type": "Set", "uid": "http://example.com/policy/1",
          "permission": {"target": [{"@id": label} for label in labels], "action": "odrl:read"}}
document = {"@context": "http://www.w3.org/ns/odrl.jsonld", "@graph": [policy, *nodes]}
assert not parse(json.dumps(document).encode(), "clique").is_valid
for policy in parse(open(sys.argv[1], "rb").read(), "reference").policies:
    print(meaning_digest(policy)[:7])
"""


def test_a_clique_of_blank_nodes_takes_no_time() -> None:
    """Naive: a digest of the canonical graph (RDFC-1.0); nine linked blank nodes take half an hour."""
    run = subprocess.run(
        [sys.executable, "-c", CLIQUE, str(HERE / "good" / "reference.jsonld")],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert (run.stdout.strip(), run.stderr) == ("sha256:", "")


# --- Whatever has no meaning is an error, everywhere


def objects(value: object, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """The place of every object outside of `@context`."""
    found = [path] if isinstance(value, dict) else []
    items = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for key, below in items:
        if key != "@context":
            found += objects(below, (*path, key))
    return found


STRANGERS = {
    "foaf:knows": "x",
    "urn:x:y": {"@id": "urn:x:z"},
    "refinements": [],
    "duty": {"action": "odrl:reed"},
    "odrl:remedy": {},
    "consequence": {},
    "odrl:output": {},
    "dct:valid": "2027",
    "implies": "odrl:use",
    "mosaicrown:k": 2,
    "s:epsilon": 1,
    "@index": "x",
}
FIGURES = [
    HERE / "good" / f"{name}.jsonld" for name in ("columns-by-id", "prohibition", "purpose-constraint")
]
SPOTS = [(path, spot) for path in FIGURES for spot in objects(json.loads(path.read_text()))]


@pytest.mark.parametrize("stranger", STRANGERS)
def test_nothing_is_ignored_anywhere(stranger: str) -> None:
    """A property that has no meaning is an error at every place where an object can stand."""
    for path, spot in SPOTS:
        document = json.loads(path.read_text())
        node = document
        for step in spot:
            node = node[step]
        node[stranger] = STRANGERS[stranger]
        assert not parse(json.dumps(document).encode(), "p").is_valid, (path.stem, spot)


@pytest.mark.parametrize("hung", ["refinement", "constraint"])
def test_nothing_hangs_on_a_named_node(hung: str) -> None:
    more = f'"{hung}": {{"leftOperand": "mosaicrown:k", "operator": "eq", "rightOperand": 2}}'
    assert codes('{"@id": "odrl:anonymize"}', f'{{"@id": "odrl:anonymize", {more}}}') <= {"P309", "P312"}
    assert codes('"gteq"', f'{{"@id": "odrl:gteq", {more}}}') == {"P309"}


@pytest.mark.parametrize("nobody", ["[]", "{}", '{"@set": []}', "[[]]", '"@foo"', '""', '"_:x"', "null"])
def test_no_assignee_is_not_any_assignee(nobody: str) -> None:
    assert not parse(REFERENCE.replace('"http://example.com/party/acme"', nobody).encode(), "p").is_valid
