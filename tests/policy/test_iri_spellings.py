"""IRIs have one spelling that smalti accepts, up to what percent-encodings leave open."""

import json
from collections.abc import Iterator
from copy import deepcopy
from itertools import product
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from smalti.policy.model.iris import iri_problem, misspelt_iri, normalised_column, normalised_iri
from smalti.policy.read.parse import parse

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
]
IRIS = st.builds(
    lambda host, parts: f"http://{host}/{''.join(parts)}",
    st.sampled_from(HOSTS),
    st.lists(st.sampled_from(PARTS), max_size=5),
)


@given(IRIS)
@settings(max_examples=examples(500))
def test_normal_spellings_are_stable_and_the_proposed_one_is_accepted(iri: str) -> None:
    problem = iri_problem(iri)
    assert problem == misspelt_iri(iri)
    if "another spelling" in problem:
        proposed = problem.rpartition("write `")[2].removesuffix("`")
        assert iri_problem(proposed) == ""
        assert normalised_iri(proposed) == normalised_iri(iri)
    if "\ud800" in iri:
        assert "character" in problem
        return
    assert normalised_iri(normalised_iri(iri)) == normalised_iri(iri)
    assert normalised_column(normalised_column(iri)) == normalised_column(iri)
    assert normalised_column(normalised_iri(iri)) == normalised_column(iri)


def test_an_accepted_iri_is_found_by_its_other_accepted_spellings() -> None:
    """What `spelled_otherwise` relies on: it looks for two texts, and among assets with an encoding."""
    hosts = ("example.com", "xn--gre-6ka8i.example", "gr\u00f6\u00dfe.example")
    texts = ("".join(parts) for parts in product(PARTS, repeat=3) if "\ud800" not in parts)
    spellings: dict[str, list[str]] = {}
    for host, text in product(hosts, texts):
        if not iri_problem(iri := f"http://{host}/{text}"):
            spellings.setdefault(normalised_column(iri), []).append(iri)
    assert max(map(len, spellings.values())) > 4
    for normal, iris in spellings.items():
        assert all("%" in iri or iri in {normal, unquote(normal)} for iri in iris)


def test_the_spellings_that_are_accepted() -> None:
    for iri in (
        "http://example.com/gr\u00f6\u00dfe",
        "http://example.com/gr%C3%B6%C3%9Fe",
        "http://example.com/a%2Fb",
        "http://xn--gre-6ka8i.example/C",
        "http://example.com/a:b",
        "http://example.com/a%3Ab",
        "urn:x:\u00e4",
        "did:web:Example.com",
    ):
        assert iri_problem(iri) == ""


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
