"""No document raises an exception, takes long, or writes to the reader's terminal."""

import copy
import json
import re
from pathlib import Path

import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from smalti.policy.findings.findings import MOST, Findings
from smalti.policy.findings.render import render_human, render_json
from smalti.policy.read.parse import MAX_BYTES, load, parse
from smalti.policy.text.json_text import read, to_plain

HERE = Path(__file__).parent
REFERENCE = (HERE / "good" / "reference.jsonld").read_text()
DOCUMENTS = [path.read_bytes() for path in sorted(HERE.glob("*/*.jsonld"))]


@pytest.mark.parametrize(
    ("document", "code"),
    [
        (b"", "P103"),
        (b" " * (MAX_BYTES + 1), "P101"),
        (b'{"a": "\xff"}', "P102"),
        (b"[" * 100_000, "P104"),
        (b'{"a":' * 100_000, "P104"),
        (b"[" * 60 + b"]" * 60, "P201"),
        (b'"' + b'\\"' * 400_000, "P103"),
        (b'"\\' * 400_000, "P103"),
        (b'{"a": ' + b"1" * 100_000 + b"}", "P106"),
        (b'{"a": -Infinity}', "P106"),
        (b"[" + b"{}," * 60_000 + b"{}]", "P108"),
        (b'{"a": 01}', "P103"),
        (b"{'a': 1}", "P103"),
        (b'{"a": 1} // why', "P103"),
        (b'{"a": "\t"}', "P103"),
        (b'{"a": "\\q"}', "P103"),
        (b"null", "P201"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_hostile_text(document: bytes, code: str) -> None:
    assert parse(document, "hostile").diagnostics[0].code == code


def test_findings_are_capped() -> None:
    keys = ",".join(f'"permissions{i}": 1' for i in range(3 * MOST))
    found = parse(
        f'{{"@context": "http://www.w3.org/ns/odrl.jsonld", {keys}}}'.encode(), "many"
    ).diagnostics
    assert len(found) == MOST + 1
    assert found[-1].code == "P599"


def test_control_characters_do_not_reach_the_terminal() -> None:
    document = REFERENCE.replace('"marketing"', '"\\u001b[31mred\\u202e"').replace("ZIP", "Z\u202eP")
    parsed = parse(document.encode(), "hostile")
    shown = render_human(parsed.diagnostics, parsed.text)
    assert parsed.diagnostics
    assert all(character.isprintable() or character == "\n" for character in shown)


@pytest.mark.parametrize(
    "text",
    [
        '{"@context": 1,\x1f}',  # found by the fuzzer
        '{"a\u202eb": 1, "a\u202eb": 2}',
        '{"@context": [\x07]}',
    ],
)
def test_control_characters_in_broken_json_are_shown_as_escapes(text: str) -> None:
    parsed = parse(text.encode(), "hostile")
    assert parsed.errors
    assert all(found.message.isprintable() and found.help.isprintable() for found in parsed.diagnostics)


def test_long_words_do_not_make_long_messages() -> None:
    key = "k" * 400_000
    found = parse(f'{{"{key}": 1, "{key}": 2}}'.encode(), "hostile").diagnostics
    assert max(len(one.message) for one in found) < 500


CONTEXT = (
    '"@context": ["http://www.w3.org/ns/odrl.jsonld", "https://www.mosaicrown.eu/ns/mosaicrown.jsonld"]'
)


def clique(number: int, size: int) -> str:
    others = ",".join(f'"_:{other}"' for other in range(size) if other != number)
    return f'{{"@id": "_:{number}", "constraint": [{others}]}}'


@pytest.mark.parametrize(
    ("nodes", "code"),
    [
        ([clique(i, 200) for i in range(200)], "P104"),
        ([f'{{"@id": "_:{i}", "refinement": "_:{i + 1}"}}' for i in range(10_000)], "P104"),
        (['{"@id": "http://example.com/p"}'] * 20_000, "P302"),
        pytest.param(['{"@id": "_:a", "@type": "Set"}'] * 10_000, "P302", marks=pytest.mark.slow),
        (['{"@id": "_:a", "partOf": "_:a"}'] * 10_000, "P310"),
        pytest.param(["{}"] * 20_000, "P302", marks=pytest.mark.slow),
    ],
    ids=range(6),
)
def test_hostile_graphs(nodes: list[str], code: str) -> None:
    document = f'{{{CONTEXT}, "@graph": [{",".join(nodes)}]}}'.encode()
    assert len(document) <= MAX_BYTES
    assert code in {found.code for found in parse(document, "hostile").errors}


def test_no_pass_over_the_text_is_made_for_each_policy_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A document of 2,048 policies took more than 20 seconds."""
    passes = []
    begin = Findings.__init__
    monkeypatch.setattr(Findings, "__init__", lambda *parts: (passes.append(1), begin(*parts))[1])
    policies = [
        REFERENCE.replace('"uid": "http', f'"uid": "http://example.com/{at}/http') for at in range(9)
    ]
    parse(f"[{','.join(policies)}]".encode(), "many")
    assert len(passes) < len(policies)


def test_a_file_that_cannot_be_read_is_a_diagnostic(tmp_path: Path) -> None:
    for path in (tmp_path / "absent.jsonld", tmp_path, "nul\0"):
        parsed = load(path)
        assert [found.code for found in parsed.diagnostics] == ["P109"]
        assert parsed.policies == ()


characters = st.characters(exclude_categories=["Cs"])
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(characters)
)
json_values = st.recursive(
    scalars,
    lambda below: st.lists(below, max_size=4) | st.dictionaries(st.text(characters), below, max_size=4),
    max_leaves=12,
)


@given(json_values, st.sampled_from([None, 1]), st.booleans())
@settings(max_examples=examples(50))
def test_reader_agrees_with_json(value: object, indent: int | None, ascii_only: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    found, faults = read(text)
    assert faults == ()
    assert found is not None
    assert to_plain(found) == value


@given(st.text(alphabet='{}[]",:\\ \n019.eE-+atrufnl', max_size=30))
@settings(max_examples=examples(200))
def test_reader_accepts_nothing_that_json_refuses(text: str) -> None:
    found, faults = read(text)
    if found is None or faults:
        return
    assert to_plain(found) == json.loads(text)


WORDS: list[object] = [
    None, True, 1, 2.5, "", "@id", "@value", "@type", "@list", "_:b", "odrl:use", "http://x/y",
    "mosaicrown:k", [], {}, "//", "a b", {"@id": "x:y"}, {"@list": [1, [2]]},
    {"@value": "1", "@type": "xsd:integer"},
    {"@set": []}, [[[]]], {"@type": "@json", "@value": {"a": 1}}, ":", "a:b:c",
]  # fmt: skip


def places(value: object, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    found = [path] if path else []
    items = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for key, below in items:
        found += places(below, (*path, key))
    return found


FLATTENED = (HERE / "good" / "form-flattened-with-context.jsonld").read_text()
PLACES = {text: places(json.loads(text)) for text in (REFERENCE, FLATTENED)}


changes_of_documents = st.sampled_from(list(PLACES)).flatmap(
    lambda text: st.tuples(
        st.just(text),
        st.lists(st.tuples(st.sampled_from(PLACES[text]), st.sampled_from(WORDS)), min_size=1, max_size=3),
    )
)


@given(changes_of_documents)
@settings(max_examples=examples(100))
def test_changed_documents_give_findings_or_a_policy(
    changed: tuple[str, list[tuple[tuple[str | int, ...], object]]],
) -> None:
    text, changes = changed
    document = json.loads(text)
    for path, word in changes:
        node = document
        try:
            for step in path[:-1]:
                node = node[step]
            node[path[-1]] = copy.deepcopy(word)
        except (LookupError, TypeError):
            continue
    parsed = parse(json.dumps(document, indent=1).encode(), "changed")
    assert parsed.is_valid == bool(parsed.policies or parsed.templates)
    render_human(parsed.diagnostics, parsed.text)


@given(st.sampled_from(DOCUMENTS), st.integers(0, 2000), st.binary(max_size=3), st.integers(0, 9))
@settings(max_examples=examples(100))
def test_changed_bytes_give_findings_or_a_policy(document: bytes, at: int, new: bytes, cut: int) -> None:
    parsed = parse(document[:at] + new + document[at + cut :], "changed")
    assert parsed.is_valid == bool(parsed.policies or parsed.templates)
    json.loads(render_json(parsed.diagnostics))


@pytest.mark.parametrize(
    "text",
    [
        "Nemesis,age\nAnna,3\n",
        '{"Nemesis" 3}',
        "Nemesis;Berta;3\n",
        "Nemesis: 3\nBerta: 4\n",
        '{"Nemesis": 3, "name": "Berta"}',
        '{"Nemesis": 3, "Nemesis": 4}',
        "Nemesis: 3\nNemesis: 4\n",
        '"\\Nemesis"\n',
        "&Nemesis{ 3\n",
        "<http://a/b> <http://a/b> Nemesis:Berta .\n",
        "%Nemesis 3\n",
    ],
    ids=[
        "CSV",
        "JSON",
        "Turtle",
        "YAML",
        "an object",
        "a key twice",
        "YAML twice",
        "escape",
        "anchor",
        "prefix",
        "directive",
    ],
)
@pytest.mark.parametrize("name", ["data.jsonld", "data.ttl", "data.yaml"])
def test_nothing_of_a_file_that_is_no_policy_is_in_a_message(text: str, name: str) -> None:
    """It may be a table, named by mistake."""
    parsed = parse(text.encode(), name)
    assert parsed.diagnostics
    said = render_human(parsed.diagnostics, parsed.text) + render_json(parsed.diagnostics)
    assert "emesis" not in said
    assert not re.search(r"[`']N[`']", said)
    assert "Berta" not in said
