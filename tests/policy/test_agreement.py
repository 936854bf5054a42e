"""The parser, the JSON Schema and the SHACL shapes agree, as far as the table of codes says so."""

import re
from collections import Counter
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path

import pytest
from agreement import codes_from_shapes, is_compact, read, schema_accepts
from effort import every, examples, is_full
from generators.expressible import EXPRESSIBLE, Extent
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from strategies import policies

from smalti.policy.findings.codes import BY_CODE
from smalti.policy.model.model import Policy
from smalti.policy.read.parse import parse
from smalti.policy.say.serialize import serialize

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
BAD = read(sorted((HERE / "bad").glob("*.jsonld")))
GOOD = read(sorted([*(HERE / "good").glob("*.jsonld"), *(ROOT / "examples" / "policies").glob("*.jsonld")]))
BLOCK = re.compile(r"^```jsonld?[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SHOWN = {
    f"{path.stem}-{number}": text
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
    for number, text in enumerate(BLOCK.findall(path.read_text(encoding="utf-8")))
    if '"odrl' in text or "odrl.jsonld" in text
}
QUICK = settings(
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=(Phase.explicit, Phase.reuse, Phase.generate),  # shrinking a whole policy takes minutes
)
pytestmark = pytest.mark.filterwarnings("ignore")  # rdflib warns of ill-typed values, which are the point


@cache
def codes_of(text: str) -> frozenset[str]:
    """What the parser says."""
    return frozenset(found.code for found in parse(text.encode(), "document").errors)


@pytest.fixture(scope="module")
def shapes_say() -> Mapping[str, frozenset[str] | None]:
    """What the shapes say of good documents and of bad ones; together, since each call takes its time.

    The bad ones are two for each code that shapes always see, all for codes that they see at times, and all
    of them in `make test-full`.
    """
    texts = {f"good {name}": text for name, text in (GOOD | SHOWN).items() if not codes_of(text)}
    always = {code for code, where in EXPRESSIBLE.items() if where.shapes is Extent.FULLY}
    at_times = {code for code, where in EXPRESSIBLE.items() if where.shapes is Extent.PARTLY}
    looked_at: Counter[str] = Counter()
    for name, text in BAD.items():
        found = codes_of(text) & always
        if is_full() or codes_of(text) & at_times or any(looked_at[code] < 2 for code in found):
            looked_at.update(found)
            texts[f"bad {name}"] = text
    return codes_from_shapes(texts)


# --- Nothing that the parser accepts is refused


@pytest.mark.parametrize("name", every(3, [*GOOD, *SHOWN]))
def test_schema_accepts_what_the_parser_accepts(name: str) -> None:
    text = (GOOD | SHOWN)[name]
    assert codes_of(text) or not is_compact(text) or schema_accepts(text)


def test_shapes_accept_what_the_parser_accepts(shapes_say: Mapping[str, frozenset[str] | None]) -> None:
    wrong = {name: codes for name, codes in shapes_say.items() if name.startswith("good ") and codes}
    assert wrong == {}
    assert None not in [codes for name, codes in shapes_say.items() if name.startswith("good ")]


def test_good_documents_are_good() -> None:
    assert [name for name, text in GOOD.items() if codes_of(text)] == []


@given(policies())
@settings(QUICK, max_examples=examples(8, full=200))
def test_schema_accepts_every_policy_that_is_written_by_smalti(policy: Policy) -> None:
    text = serialize(policy).decode()
    assert codes_of(text) or schema_accepts(text)


@given(st.lists(policies(), min_size=1, max_size=3))
@settings(QUICK, max_examples=examples(2))
def test_shapes_accept_every_policy_that_is_written_by_smalti(some: list[Policy]) -> None:
    texts = {str(number): serialize(policy).decode() for number, policy in enumerate(some)}
    said = codes_from_shapes({name: text for name, text in texts.items() if not codes_of(text)})
    assert {name: codes for name, codes in said.items() if codes} == {}


# --- What is said to be seen, is seen


def seen_by_schema(code: str) -> list[tuple[str, bool]]:
    documents = [(name, text) for name, text in BAD.items() if code in codes_of(text) and is_compact(text)]
    return [(name, not schema_accepts(text)) for name, text in documents]


def check(code: str, extent: Extent, seen: list[tuple[str, bool]]) -> None:
    if extent is Extent.FULLY:
        assert [name for name, is_seen in seen if not is_seen] == []
    if extent is not Extent.NOT:
        assert any(is_seen for _, is_seen in seen), f"no document shows that {code} is seen"


@pytest.mark.parametrize(
    "code", every(4, [code for code, where in EXPRESSIBLE.items() if where.schema != Extent.NOT])
)
def test_schema_sees_what_the_table_says(code: str) -> None:
    check(code, EXPRESSIBLE[code].schema, seen_by_schema(code))


def test_shapes_see_what_the_table_says(shapes_say: Mapping[str, frozenset[str] | None]) -> None:
    for code, where in EXPRESSIBLE.items():
        documents = [name for name, text in BAD.items() if code in codes_of(text)]
        said = [(name, shapes_say[f"bad {name}"]) for name in documents if f"bad {name}" in shapes_say]
        assert len(said) >= min(len(documents), 2) or where.shapes is Extent.NOT
        check(code, where.shapes, [(name, code in codes) for name, codes in said if codes is not None])


# --- The table and the two descriptions speak of the same codes


def mentioned(file: str, pattern: str) -> frozenset[str]:
    text = files("smalti.vocab").joinpath(file).read_text(encoding="utf-8")
    return frozenset(re.findall(r"P\d{3}", " ".join(re.findall(pattern, text))))


def test_schema_mentions_no_code_that_it_cannot_see() -> None:
    codes = mentioned("policy.schema.json", r'"\$comment": "([^"]*)"')
    assert {code for code in codes if EXPRESSIBLE[code].schema is Extent.NOT} == set()
    assert len(codes) > 50


def test_shapes_mention_exactly_the_codes_that_they_can_see() -> None:
    codes = mentioned("shapes.ttl", r'sh:message "(P\d{3}):')
    assert codes == {code for code, where in EXPRESSIBLE.items() if where.shapes is not Extent.NOT}


def test_reasons_are_given_exactly_where_something_is_not_seen() -> None:
    for code, where in EXPRESSIBLE.items():
        everywhere = where.schema is Extent.FULLY and where.shapes is Extent.FULLY
        assert bool(where.reason) is not everywhere, code
        assert not where.reason.endswith("."), code
    assert set(EXPRESSIBLE) == set(BY_CODE)
