"""A coverage-guided fuzzer on what reads documents of others: `make fuzz` (FUZZ_SECONDS=60).

Policies in JSON-LD, Turtle and the short form, vocabularies, descriptions of tables, and CSV. None of them
may raise an exception that is not ours, hang, take much memory, or write control characters to a terminal;
a policy in the short form means what it meant. The corpus starts from documents of the tests and the
examples, and is kept between calls. What is found stands in `build/fuzz/`, and becomes a test in
`test_hostile_documents.py`.
"""

import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["smalti"]):
    from smalti.engine.tables.csvw import read_metadata
    from smalti.engine.tables.dialect import check_csv
    from smalti.policy.document.turtle_text import read_statements  # noqa: F401 (loaded with its instruments)
    from smalti.policy.findings.render import render_human, render_json
    from smalti.policy.model.meaning import meaning_digest
    from smalti.policy.read.parse import parse
    from smalti.policy.read.vocabularies import read_vocabulary
    from smalti.policy.say.short_form import short_text

from pyld import ContextResolver, FrozenDocumentLoader, jsonld
from rdflib import Graph

from smalti.errors import SmaltiError
from smalti.vocab.aliases import WORDS as ALIASES
from smalti.vocab.contexts import ADDRESSES
from smalti.vocab.odrl import PROPERTIES
from smalti.vocab.words import WORDS

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
SCRATCH = Path(tempfile.mkdtemp(prefix="fuzz-")) / "fuzz.csv"
FORMS = {ord("J"): "fuzz.jsonld", ord("T"): "fuzz.ttl", ord("Y"): "fuzz.yaml"}
"""Policies: the first byte of an input says in which form the rest is read."""
VOCABULARIES = {ord("v"): "fuzz.jsonld", ord("w"): "fuzz.ttl"}
DESCRIPTION, TABLE = ord("D"), ord("C")


def test_one_input(data: bytes) -> None:
    if not data:
        return
    kind, rest = data[0], data[1:]
    if kind in VOCABULARIES:
        refused(lambda: read_vocabulary(rest, VOCABULARIES[kind]))
    elif kind in (DESCRIPTION, TABLE):
        SCRATCH.write_bytes(rest)
        refused(lambda: read_metadata(SCRATCH) if kind == DESCRIPTION else check_csv(SCRATCH))
    else:
        a_policy(rest, FORMS.get(kind, "fuzz"))


def refused(read: Callable[[], object]) -> None:
    """What is not understood is an error of ours, and printable."""
    said = ""
    try:
        read()
    except SmaltiError as error:
        said = str(error)
    assert said.replace("\n", "").isprintable(), "unprintable"


def a_policy(data: bytes, name: str) -> None:
    parsed = parse(data, name)
    whole = bool(parsed.policies) != bool(parsed.templates)
    assert parsed.is_valid == whole, "a document counts as a whole or not at all"
    shown = render_human(parsed.diagnostics, parsed.text)
    assert all(character.isprintable() or character == "\n" for character in shown), "unprintable"
    json.loads(render_json(parsed.diagnostics))
    if len(parsed.policies) == 1:
        (policy,) = parsed.policies
        short = short_text(policy)
        if not short.problems:
            (again,) = parse(short.text.encode(), "again.yaml").policies
            assert meaning_digest(again) == meaning_digest(policy), "another meaning in the short form"


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
        yield b"w" + path.read_bytes()
    short = (*folders, ROOT / "tests" / "policy" / "short", ROOT / "examples" / "policies", HERE)
    for path in sorted(path for folder in short for path in folder.glob("*.yaml")):
        yield b"Y" + path.read_bytes()
    for path in sorted((ROOT / "vocab").rglob("*.ttl")):
        yield b"w" + path.read_bytes()
    for path in sorted((ROOT / "examples").rglob("*-metadata.json")):
        yield b"D" + path.read_bytes()
    for path in sorted((ROOT / "examples" / "data").glob("*.csv")):
        yield b"C" + path.read_bytes()[:2048]


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
