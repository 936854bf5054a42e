"""Traps of JSON-LD and of other ODRL engines, each of which a naive implementation falls into."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from smalti.policy.authorize import authorize
from smalti.policy.decision import Effect, Request
from smalti.policy.parse import load, parse
from smalti.vocab import terms
from smalti.vocab.terms import IRI

HERE = Path(__file__).parent
REFERENCE = (HERE / "good" / "reference.jsonld").read_text()


def codes(old: str, new: str) -> set[str]:
    assert old in REFERENCE
    return {found.code for found in parse(REFERENCE.replace(old, new, 1).encode(), "p").diagnostics}


def test_a_misspelt_refinement_is_not_a_bare_permission() -> None:
    assert codes('"refinement"', '"refinements"') == {"P206"}


def test_an_unknown_value_is_no_iri_under_some_base() -> None:
    assert codes('"marketing"', '"markketing"') == {"P415"}
    assert codes("odrl:anonymize", "anonymise") == {"P305"}
    assert codes('"http://example.com/Customer"', '"Customer"') == {"P209"}


def test_the_authors_own_sentinel_is_no_way_in() -> None:
    assert "P209" in codes('"http://example.com/Customer"', '"smalti-unresolved://policy/document/x"')


def test_neq_of_old_contexts_is_known() -> None:
    assert codes('"eq"', '"odrl:neg"') == {"P405", "P505"}
    assert codes('"eq"', '"neq"') == {"P405"}


@pytest.mark.parametrize("inline", ['{"gteq": "odrl:lteq"}', '{"refinement": null}', '{"purpose": null}'])
def test_a_context_cannot_change_the_meaning_of_words(inline: str) -> None:
    assert codes('mosaicrown.jsonld"]', f'mosaicrown.jsonld", {inline}]') == {"P205"}


def test_lists_are_sets_of_columns() -> None:
    shuffled = REFERENCE.replace('["ZIP", "BirthDate"]', '["BirthDate", "ZIP", "ZIP"]')
    ways = [
        parse(text.encode(), "p").policies[0].permissions[0].anonymization for text in (REFERENCE, shuffled)
    ]
    columns = [[column.iri for column in way.quasi_identifiers] for way in ways if way is not None]
    assert columns[0] == columns[1]


def test_several_targets_are_never_split() -> None:
    assert [found.code for found in load(HERE / "bad" / "targets-several.jsonld").diagnostics] == ["P390"]


def test_refinements_of_the_figure_are_seen() -> None:
    parsed = load(HERE.parents[1] / "examples" / "policies" / "fig-2.6.jsonld")
    request = Request(
        party=IRI("http://org/user"), action=terms.ANONYMIZE,
        targets=(IRI("http://example.com/Customer"),), purpose=terms.MARKETING,
    )  # fmt: skip
    decision = authorize(request, parsed.policies)
    assert decision.effect is Effect.PERMIT
    assert decision.permissions[0].anonymization is not None
    assert decision.permissions[0].anonymization.k.value == 10


def test_a_second_policy_cannot_describe_a_rule_again() -> None:
    parsed = load(HERE / "bad" / "two-policies-share-a-rule.jsonld")
    assert [found.code for found in parsed.diagnostics] == ["P310"]
    assert parsed.policies == ()


NO_NETWORK = """
import sys
opened = []
def hook(event, args):
    if event.startswith(("socket.", "urllib.", "http.")):
        raise RuntimeError("network: " + event)
    if event == "open" and isinstance(args[0], str):
        opened.append(args[0])
sys.addaudithook(hook)
from smalti.policy.parse import parse, load
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
    paths = [*(HERE / "good").glob("*.jsonld"), HERE / "bad" / "context-unknown.jsonld"]
    run = subprocess.run(
        [sys.executable, "-c", NO_NETWORK, *map(str, paths)], capture_output=True, text=True, check=False
    )
    assert (run.stdout.strip(), run.stderr) == ("done", "")


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
    "foaf:name": "x",
    "urn:x:y": {"@id": "urn:x:z"},
    "refinements": [],
    "duty": {"action": "delete"},
    "odrl:remedy": [],
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
