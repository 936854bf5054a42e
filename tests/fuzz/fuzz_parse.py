"""A coverage-guided fuzzer on the parser: `make fuzz` (FUZZ_SECONDS=60).

No document may raise an exception, hang, take much memory, or write control characters to a terminal. The
corpus starts from the good and bad documents of the tests, as JSON-LD and as Turtle, and is kept between
calls. What is found stands in `build/fuzz/`, and becomes a test in `test_hostile_documents.py`.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["smalti"]):
    from smalti.policy.document.turtle_text import read_statements  # noqa: F401 (loaded with its instruments)
    from smalti.policy.findings.render import render_human, render_json
    from smalti.policy.read.parse import parse

from pyld import ContextResolver, FrozenDocumentLoader, jsonld
from rdflib import Graph

from smalti.vocab.aliases import WORDS as ALIASES
from smalti.vocab.contexts import ADDRESSES
from smalti.vocab.odrl import PROPERTIES
from smalti.vocab.words import WORDS

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
FORMS = {ord("J"): "fuzz.jsonld", ord("T"): "fuzz.ttl"}
"""The first byte of an input says in which form the rest is read."""


def test_one_input(data: bytes) -> None:
    if not data:
        return
    parsed = parse(data[1:], FORMS.get(data[0], "fuzz"))
    whole = bool(parsed.policies) != bool(parsed.templates)
    assert parsed.is_valid == whole, "a document counts as a whole or not at all"
    shown = render_human(parsed.diagnostics, parsed.text)
    assert all(character.isprintable() or character == "\n" for character in shown), "unprintable"
    json.loads(render_json(parsed.diagnostics))


def seeds() -> Iterator[bytes]:
    folders = (ROOT / "tests" / "policy" / "good", ROOT / "tests" / "policy" / "bad")
    for path in sorted(path for folder in folders for path in folder.glob("*.jsonld")):
        yield b"J" + path.read_bytes()
        if path.parent.name == "good":
            yield from other_forms(json.loads(path.read_text(encoding="utf-8-sig")))
    others = (ROOT / "tests" / "policy" / "templates", ROOT / "examples" / "negotiation")
    for path in sorted(path for folder in others for path in folder.glob("*.json*")):
        yield b"J" + path.read_bytes()
    for path in sorted(path for folder in folders for path in folder.glob("*.ttl")):
        yield b"T" + path.read_bytes()


def other_forms(document: object) -> Iterator[bytes]:
    loader = FrozenDocumentLoader(documents=dict(ADDRESSES))
    options = {"documentLoader": loader, "contextResolver": ContextResolver({}, loader)}
    yield b"J" + json.dumps(jsonld.expand(document, options)).encode()
    yield b"J" + json.dumps(jsonld.flatten(document, None, options)).encode()
    quads = jsonld.to_rdf(document, {**options, "format": "application/n-quads"})
    yield b"T" + Graph().parse(data=quads, format="nt").serialize(format="turtle").encode()


def dictionary() -> Iterator[str]:
    """The vocabulary's words and the marks of both syntaxes, as libFuzzer reads them."""
    names = {word.name for word in WORDS} | {word.iri for word in WORDS} | set(ALIASES) | set(PROPERTIES)
    marks = ["@context", "@graph", "@id", "@type", "@value", "@list", "@set", "@language", "@reverse"]
    marks += ["_:b0", '"@id":', "{}", "[]", "null", "1e9"]
    marks += ["@prefix odrl: <http://www.w3.org/ns/odrl/2/> .", "[ ]", "( )", '"""', "^^", "a", "PREFIX"]
    for word in sorted(names | set(marks)):
        yield '"' + "".join(c if c.isalnum() else f"\\x{ord(c):02x}" for c in word) + '"'


def main() -> None:
    work = ROOT / "build" / "fuzz"
    corpus = work / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(seeds()):
        (corpus / f"seed-{number:04}").write_bytes(seed)
    (work / "dictionary").write_text("\n".join(dictionary()) + "\n", encoding="ascii")
    options = ["-timeout=10", "-rss_limit_mb=1024", "-max_len=16384", f"-dict={work / 'dictionary'}"]
    atheris.Setup([*sys.argv, *options, f"-artifact_prefix={work}/", str(corpus)], test_one_input)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
