"""A coverage-guided fuzzer on what reads documents and tables of others: `make fuzz` (FUZZ_SECONDS=60).

The first byte of an input says what the rest is:

| byte | what |
|---|---|
| J, T, Y, another | a policy or its envelope in JSON-LD, in Turtle, in the short form, by its text |
| A | an agreement, held against an offer |
| v, w | a vocabulary in JSON-LD, in Turtle |
| D | a description of a table |
| C | a CSV file in the canonical dialect |
| F | a CSV file in the dialect that the second byte says |
| G, Z | a CSV file that is packed by gzip, by Zstandard |
| X, S, P | a workbook, its sheet, the part of it that is named before a NUL |

None may raise an exception that is not ours, take more than `MOST_SECONDS` of a processor or much memory,
or write control characters to a terminal. A policy keeps its meaning in the canonical document and in the
short form; a table that is read is canonical afterwards; no message repeats a cell. The corpus starts from
`seeds.py`, and is kept between calls. What is found stands in `build/fuzz/`, and becomes a test.
"""

import json
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["smalti"]):
    from smalti.engine.tables import excel, foreign_csv  # noqa: F401 (loaded with their instruments)
    from smalti.engine.tables.canonical import canonical
    from smalti.engine.tables.csvw import read_metadata
    from smalti.engine.tables.dialect import check_csv
    from smalti.engine.tables.sources import bind
    from smalti.policy.document.turtle_text import read_statements  # noqa: F401 (likewise)
    from smalti.policy.findings.render import render_human, render_json
    from smalti.policy.model.meaning import meaning_digest
    from smalti.policy.read.parse import parse
    from smalti.policy.read.vocabularies import read_vocabulary
    from smalti.policy.say.agreeing import agreement_document, offered_policy
    from smalti.policy.say.format import format_document
    from smalti.policy.say.serialize import serialize
    from smalti.policy.say.short_form import short_text

from seeds import CELL, DIALECTS, ROOT, SHEET, description, dictionary, seeds, workbook

from smalti.errors import SmaltiError
from smalti.policy.model.model import Policy
from smalti.vocab.terms import IRI

SCRATCH = Path(tempfile.mkdtemp(prefix="fuzz-"))
POLICIES = {ord("J"): "fuzz.jsonld", ord("T"): "fuzz.ttl", ord("Y"): "fuzz.yaml"}
VOCABULARIES = {ord("v"): "fuzz.jsonld", ord("w"): "fuzz.ttl"}
TABLES = {ord("F"): "t.csv", ord("G"): "t.csv.gz", ord("Z"): "t.csv.zst", **dict.fromkeys(b"XSP", "t.xlsx")}
MOST_SECONDS = 2
NOW = datetime(2026, 1, 1, tzinfo=UTC)
OFFER = offered_policy((ROOT / "examples" / "negotiation" / "policy.jsonld").read_bytes(), "policy.jsonld")


def test_one_input(data: bytes) -> None:
    begun = time.process_time()
    if data:
        read(data[0], data[1:])
    seconds = time.process_time() - begun
    assert seconds < MOST_SECONDS, f"{seconds:.1f} seconds"


def read(kind: int, rest: bytes) -> None:
    if kind in VOCABULARIES:
        refusal(lambda: read_vocabulary(rest, VOCABULARIES[kind]))
    elif kind == ord("A"):
        refusal(lambda: agreement_document(rest, "fuzz.json", OFFER, now=NOW))
    elif kind in (ord("C"), ord("D")):
        place = SCRATCH / "t.csv"
        place.write_bytes(rest)
        said = refusal(lambda: check_csv(place) if kind == ord("C") else read_metadata(place))
        assert kind == ord("D") or CELL not in said, "a cell in a message"
    elif kind in TABLES:
        a_table(kind, rest)
    else:
        a_policy(rest, POLICIES.get(kind, "fuzz"))


def refusal(reading: Callable[[], object]) -> str:
    """What is not understood is an error of ours, and printable."""
    said = ""
    try:
        reading()
    except SmaltiError as error:
        said = str(error)
    assert said.replace("\n", "").isprintable(), "unprintable"
    return said


def a_table(kind: int, rest: bytes) -> None:
    folder = SCRATCH / "table"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    place = folder / TABLES[kind]
    if kind == ord("F"):
        number, rest = (rest or b"\0")[0], rest[1:]
        dialect = DIALECTS[number // 2 % len(DIALECTS)]
        stated = description(dialect, has_formats=number % 2 == 1)
        (folder / "t.csv-metadata.json").write_bytes(stated)
    elif kind in b"SP":
        name, _, part = rest.partition(b"\0") if kind == ord("P") else (SHEET.encode(), b"", rest)
        rest = workbook({name.decode(errors="replace"): part})
    place.write_bytes(rest)

    def bring() -> None:
        brought = canonical(bind(IRI("urn:fuzz:t"), place), folder / "input")
        check_csv(brought.path)

    assert CELL not in refusal(bring), "a cell in a message"
    copy = folder / "input" / place.name
    assert kind == ord("F") or not copy.exists() or copy.stat().st_size < 1 << 26, "a bomb"


def a_policy(data: bytes, name: str) -> None:
    parsed = parse(data, name)
    whole = bool(parsed.policies) != bool(parsed.templates)
    assert parsed.is_valid == whole, "a document counts as a whole or not at all"
    shown = render_human(parsed.diagnostics, parsed.text)
    assert all(character.isprintable() or character == "\n" for character in shown), "unprintable"
    json.loads(render_json(parsed.diagnostics))
    format_document(parsed.text, name)
    for policy in parsed.policies:
        keeps(serialize(policy), "again.jsonld", policy)
    if len(parsed.policies) == 1:
        (policy,) = parsed.policies
        short = short_text(policy)
        if short.text is not None:
            keeps(short.text.encode(), "again.yaml", policy)


def keeps(document: bytes, name: str, policy: Policy) -> None:
    again = parse(document, name)
    assert again.is_valid, f"{name} is not valid"
    (same,) = again.policies
    assert meaning_digest(same) == meaning_digest(policy), f"another meaning in {name}"


def main() -> None:
    work = ROOT / "build" / "fuzz"
    corpus = work / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(seeds()):
        (corpus / f"seed-{number:04}").write_bytes(seed)
    (work / "dictionary").write_text("\n".join(dictionary()) + "\n", encoding="ascii")
    options = ["-timeout=60", "-rss_limit_mb=1024", "-max_len=16384", f"-dict={work / 'dictionary'}"]
    atheris.Setup([*sys.argv, *options, f"-artifact_prefix={work}/", str(corpus)], test_one_input)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
