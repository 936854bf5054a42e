"""IRIs have one spelling that smalti accepts; what may be encoded or not is respelled where it is read."""

import json
from collections.abc import Iterator
from copy import deepcopy
from itertools import chain, product
from pathlib import Path
from typing import Any

import pytest
from effort import examples, is_full
from hypothesis import given, settings
from hypothesis import strategies as st

from smalti.policy.model.column_iris import column_iri, normalised_column
from smalti.policy.model.iris import (
    accepted_spelling,
    iri_problem,
    is_plain,
    misspelt_iri,
    normalised_iri,
    respelled,
)
from smalti.policy.read.parse import parse
from smalti.vocab.terms import IRI

HOSTS = [
    "example.com",
    "EXAMPLE.com",
    "example.com:8080",
    "gr\u00f6\u00dfe.example",
    "xn--gre-6ka8i.example",
    "xn--GRE-6ka8i.example",
    "gro\u0308\u00dfe.example",
    "gr%C3%B6%c3%9fe.example",
    "xn--a.example",
    "u@example.com",
    "o\u0308" * 40 + ".example",
    "example.com.",
    "127.0.0.1",
    "127.1",
    "[::1]",
    "[0:0:0:0:0:0:0:1]",
    "ex\u3002com",
]
PARTS = [
    "a",
    "B",
    "%41",
    "%3A",
    "%3a",
    ":",
    "@",
    "%40",
    "%2F",
    "/",
    "%",
    "%25",
    "\u00f6",
    "o",
    "\u0308",
    "%CC%88",
    "%C3%B6",
    "%c3%b6",
    "%C3",
    "\u0301",
    "\ud800",
    "\u200b",
    "%E2%80%8B",
    "[",
    "%5B",
    "?",
    "#",
    "=",
    "%3D",
]
IRIS = st.builds(
    lambda root, parts: f"{root}/{''.join(parts)}",
    st.sampled_from([*map("http://".__add__, HOSTS), "urn:x:a", "urn:EX:a", "did:web:a"]),
    st.lists(st.sampled_from(PARTS), max_size=5),
)


@given(IRIS)
@settings(max_examples=examples(500))
def test_normal_spellings_are_stable_and_the_proposed_one_is_accepted(iri: str) -> None:
    problem = iri_problem(iri)
    assert problem == misspelt_iri(iri) or "\ud800" in iri
    if "another spelling" in problem:
        proposed = problem.rpartition("write `")[2].removesuffix("`")
        assert iri_problem(proposed) == ""
        assert normalised_column(proposed) == normalised_column(iri)
        assert respelled(iri) in {iri, proposed}
    elif problem:
        assert respelled(iri) == iri
    else:
        assert respelled(iri) == accepted_spelling(iri) == iri
    assert not is_plain(iri) or not problem
    if "\ud800" in iri:
        assert "character" in problem
        return
    assert normalised_iri(normalised_iri(iri)) == normalised_iri(iri)
    assert normalised_column(normalised_column(iri)) == normalised_column(iri)
    assert normalised_column(normalised_iri(iri)) == normalised_column(iri)
    assert normalised_column(accepted_spelling(iri)) == normalised_column(iri)


def test_no_two_accepted_iris_are_spellings_of_one() -> None:
    """What ledgers, owners and prohibitions rely on: whatever is compared, texts are enough.

    With a host and without one, three parts in all ways; under other roots so many in the full suite only.
    """
    roots = ("http://example.com/", "urn:x:")
    others = ("http://gr\u00f6\u00dfe.example/", "did:web:a/", "http://[::1]/")
    accepted: dict[str, str] = {}
    for root, parts in chain(
        product(roots, product(PARTS, repeat=3)),
        product(others, product(PARTS, repeat=3 if is_full() else 2)),
    ):
        iri = respelled(root + "".join(parts))
        if not iri_problem(iri):
            assert accepted.setdefault(normalised_column(iri), iri) == iri
    assert len(accepted) > (10_000 if is_full() else 8_000)


@pytest.mark.parametrize(
    ("written", "accepted"),
    [
        ("http://example.com/gr%C3%B6%C3%9Fe", "http://example.com/gr\u00f6\u00dfe"),
        ("http://example.com/gr%c3%b6%C3%9Fe", "http://example.com/gr\u00f6\u00dfe"),
        ("http://example.com/a%3Ab", "http://example.com/a:b"),
        ("http://example.com/a%3Ab#T%40", "http://example.com/a:b#T@"),
        ("http://example.com/%28%29", "http://example.com/()"),
        ("http://example.com/%2f", "http://example.com/%2F"),
        ("http://example.com/", "http://example.com"),
        ("http://example.com#a", "http://example.com/#a"),
        ("http://example.com/[a]", "http://example.com/%5Ba%5D"),
        ("http://example.com/a\u200b", "http://example.com/a%E2%80%8B"),
        ("http://example.com/x\u0302", "http://example.com/x%CC%82"),
        ("urn:x:a%3Ab", "urn:x:a:b"),
    ],
)
def test_what_may_be_encoded_or_not_is_respelled(written: str, accepted: str) -> None:
    assert (respelled(written), iri_problem(accepted)) == (accepted, "")
    assert f"write `{accepted}`" in iri_problem(written)


@pytest.mark.parametrize(
    "iri",
    [
        "http://example.com/?a=%3D",
        "http://example.com/a%2Fb",
        "http://xn--gre-6ka8i.example/C",
        "urn:x:\u00e4",
        "did:web:localhost%3A8443",
        "http://127.0.0.1/a",
        "http://localhost:8000/a",
        "http://[::1]:8080/a",
    ],
)
def test_the_spellings_that_are_accepted(iri: str) -> None:
    assert (iri_problem(iri), respelled(iri)) == ("", iri)


@pytest.mark.parametrize(
    ("iri", "problem"),
    [
        ("http://example.com./T", "ends with a dot"),
        ("http://ex\u3002com/T", "not a domain name"),
        ("http://\uff45x.com/T", "not a domain name"),
        ("http://ex\u00ad.com/T", "not a domain name"),
        ("http://a..b/T", "not a domain name"),
        ("http://127.1/T", "not an address"),
        ("http://[::g]/T", "not an address"),
        ("http://[0:0:0:0:0:0:0:1]/T", "write `http://[::1]/T`"),
        ("http://example.com/%FF", "not UTF-8"),
        ("http://example.com/caf%C3%A9%FF", "not UTF-8"),
        ("http://example.com/%C0%AF", "not UTF-8"),
        ("urn:EX:T", "write `urn:ex:T`"),
        ("urn:UUID:F81D4FAE", "write `urn:uuid:f81d4fae`"),
        ("urn:example:bob?+x", "names no other thing"),
        ("mailto:bob@EX.org", "write `mailto:bob@ex.org`"),
        ("did:WEB:a", "write `did:web:a`"),
    ],
)
def test_the_spellings_that_are_refused(iri: str, problem: str) -> None:
    assert problem in iri_problem(iri)
    assert respelled(iri) == iri


NAMES = ["a:b", "gr\u00f6\u00dfe", "a b", "x\u0302", "a/b", "%", "\u200b", "@", "[x]", "?", "#"]


@pytest.mark.parametrize("name", NAMES)
def test_columns_of_headers_are_in_the_accepted_spelling(name: str) -> None:
    assert iri_problem(column_iri(IRI("http://example.com/T"), name)) == ""


POLICY = json.loads(
    (Path(__file__).parents[2] / "examples" / "policies" / "fig-2.6-canonical.jsonld").read_text()
)


def places(value: Any, way: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The way to each text of a document, its context left out."""
    if isinstance(value, str):
        yield way
    elif isinstance(value, dict | list):
        entries = value.items() if isinstance(value, dict) else enumerate(value)
        for key, inner in entries:
            if key != "@context":
                yield from places(inner, (*way, key))


@pytest.mark.parametrize("way", list(places(POLICY)), ids=str)
@pytest.mark.parametrize("spelled", ["http://EXAMPLE.com/a", "http://example.com/%61"])
def test_no_place_of_a_policy_takes_another_spelling(way: tuple[str | int, ...], spelled: str) -> None:
    document = deepcopy(POLICY)
    inner = document
    for key in way[:-1]:
        inner = inner[key]
    inner[way[-1]] = spelled
    codes = [finding.code for finding in parse(json.dumps(document).encode(), "a.jsonld").errors]
    assert codes == ["P212"] or way == ("profile",) or way[-3:] == ("refinement", 0, "rightOperand")
    assert codes
