"""The numbered examples of ODRL's Information Model are accepted, or refused as the table says."""

from pathlib import Path

import pytest
from generators.odrl_examples import EXAMPLES, Example

from smalti.policy.decide.authorize import authorize
from smalti.policy.decide.decision import Effect, Request
from smalti.policy.model.model import Policy
from smalti.policy.read.parse import ParsedDocument, parse_all
from smalti.vocab.terms import IRI, ODRL

FOLDER = Path(__file__).parent / "w3c"
PARENT = 31
CHILDREN = {32, 33}
PROFILED = {example.number for example in EXAMPLES} - {1, 7}
X = "http://example.com/"


def text(number: int) -> bytes:
    return (FOLDER / f"{number:02}.jsonld").read_bytes()


def checked(*documents: tuple[int, bytes]) -> ParsedDocument:
    return parse_all([(document, f"{number:02}.jsonld") for number, document in documents])[0]


def read(number: int) -> ParsedDocument:
    numbers = (number, PARENT) if number in CHILDREN else (number,)
    return checked(*((each, text(each)) for each in numbers))


def without_profile(number: int) -> ParsedDocument:
    """The example in words that are known: its profile stands for the core's."""
    numbers = (number, PARENT) if number in CHILDREN else (number,)
    lines = {each: text(each).decode().splitlines() for each in numbers}
    kept = {each: "\n".join(line for line in lines[each] if '"profile"' not in line) for each in numbers}
    return checked(*((each, kept[each].encode()) for each in numbers))


def policies(number: int) -> tuple[Policy, ...]:
    parsed = without_profile(number)
    assert parsed.errors == ()
    return parsed.policies


def test_each_number_has_a_document_and_an_entry() -> None:
    assert [example.number for example in EXAMPLES] == list(range(1, 36))
    assert sorted(path.name for path in FOLDER.iterdir()) == [example.file for example in EXAMPLES]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: str(example.number))
def test_an_example_gets_what_the_table_says(example: Example) -> None:
    assert {error.code for error in without_profile(example.number).errors} == example.codes
    assert {error.code for error in read(example.number).errors} <= example.codes | {"P317"}
    assert bool(example.reason) == bool(example.codes)
    found = {diagnostic.code for diagnostic in read(example.number).diagnostics}
    assert ("P317" in found) == (example.number in PROFILED)


def effect(number: int, target: str, party: str, action: str) -> Effect:
    request = Request(party=IRI(X + party), action=IRI(ODRL + action), targets=(IRI(X + target),))
    return authorize(request, policies(number)).effect


def test_what_examples_permit() -> None:
    """Those whose text says so."""
    assert effect(1, "asset:9898.movie", "anybody", "play") is Effect.PERMIT
    assert effect(7, "asset:9999.movie", "anybody", "use") is Effect.PERMIT
    assert effect(6, "asset:111.doc", "anybody", "index") is Effect.PERMIT
    assert effect(3, "asset:9898.movie", "party:person:billie", "play") is Effect.PERMIT
    assert effect(3, "asset:9898.movie", "anybody", "play") is not Effect.PERMIT
    assert effect(19, "photoAlbum:55", "assignee:55", "display") is Effect.PERMIT
    assert effect(19, "photoAlbum:55", "assignee:55", "archive") is Effect.DENY
    for action in ("play", "stream"):
        assert effect(26, "music/PurpleRain.mp3", "anybody", action) is effect(
            27, "music/1999.mp3", "a", action
        )
    assert effect(28, "music/1999.mp3", "people/murphy", "play") is Effect.PERMIT
    assert effect(32, "asset:5555", "user:0001", "display") is Effect.PERMIT
    assert effect(2, "asset:9898.movie", "anybody", "play") is not Effect.PERMIT  # an Offer grants nothing


def test_an_assignee_of_a_policy_is_one_of_its_rule() -> None:
    (offer,) = policies(11)
    assert [party.iri for party in offer.rules[0].assignees] == [X + "person/billie"]


def test_what_is_inherited_is_what_the_next_example_shows() -> None:
    """Example 33 is Example 32 after the inheritance; it still names the parent, which is left out here."""
    lines = [
        line
        for line in text(33).decode().splitlines()
        if "inheritFrom" not in line and "profile" not in line
    ]
    result = checked((33, "\n".join(lines).encode())).policies[0]

    def stated(policy: Policy) -> set[object]:
        return {(rule.action, rule.targets, rule.assignees, rule.assigners) for rule in policy.rules}

    assert stated(policies(32)[0]) == stated(result)
