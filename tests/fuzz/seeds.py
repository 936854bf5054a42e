"""What the fuzzer begins with: documents and tables of tests and examples; and the words in them."""

import gzip
import io
import json
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

import openpyxl
import pyarrow as pa
from pyld import ContextResolver, FrozenDocumentLoader, jsonld
from rdflib import Graph

from smalti.vocab.aliases import WORDS as ALIASES
from smalti.vocab.contexts import ADDRESSES
from smalti.vocab.odrl import PROPERTIES
from smalti.vocab.words import WORDS

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
CELL = "Qz7mark"
"""A text that stands in cells of data, and so in no message."""
SHEET = "xl/worksheets/sheet1.xml"
DIALECTS: tuple[dict[str, object], ...] = (
    {"delimiter": ";"},
    {"delimiter": "\t", "quoteChar": None},
    {"encoding": "windows-1252", "skipRows": 1, "trim": True},
    {"delimiter": ";", "doubleQuote": False, "skipBlankRows": True},
    {"header": False, "commentPrefix": "#"},
    {"quoteChar": "'", "encoding": "iso-8859-1", "trim": "start"},
    {"delimiter": " ", "commentPrefix": None},
)
"""The second byte of a table under a dialect says which one, and whether its columns have formats."""


def description(dialect: dict[str, object], *, has_formats: bool) -> bytes:
    """CSVW metadata of a table in a dialect, with columns of three datatypes."""
    number = {"base": "decimal", "format": {"decimalChar": ",", "groupChar": "."}}
    columns = [
        {"name": "name", "datatype": "string", "null": ["-"]},
        {"name": "amount", "datatype": number if has_formats else "string"},
        {"name": "day", "datatype": {"base": "date", "format": "dd.MM.yyyy"} if has_formats else "string"},
    ]
    return json.dumps(
        {
            "@context": "http://www.w3.org/ns/csvw",
            "url": "t.csv",
            "dialect": dialect,
            "tableSchema": {"columns": columns},
        }
    ).encode()


def seeds() -> Iterator[bytes]:
    yield from policies()
    yield from vocabularies()
    yield from tables()


def policies() -> Iterator[bytes]:
    folders = (ROOT / "tests" / "policy" / "good", ROOT / "tests" / "policy" / "bad")
    for path in sorted(path for folder in folders for path in folder.glob("*.jsonld")):
        yield b"J" + path.read_bytes()
        if path.parent.name == "good":
            yield from other_forms(json.loads(path.read_text(encoding="utf-8-sig")))
    negotiation = ROOT / "examples" / "negotiation"
    others = (ROOT / "tests" / "policy" / "templates", ROOT / "tests" / "policy" / "w3c", negotiation)
    for path in sorted(path for folder in others for path in folder.glob("*.json*")):
        yield b"J" + path.read_bytes()
    for path in sorted(negotiation.glob("*.json*")):
        yield b"A" + path.read_bytes()
    for path in sorted(path for folder in folders for path in folder.glob("*.ttl")):
        yield b"T" + path.read_bytes()
    short = (*folders, ROOT / "tests" / "policy" / "short", ROOT / "examples" / "policies", HERE)
    for path in sorted(path for folder in short for path in folder.glob("*.yaml")):
        yield b"Y" + path.read_bytes()


def other_forms(document: object) -> Iterator[bytes]:
    loader = FrozenDocumentLoader(documents=dict(ADDRESSES))
    options = {"documentLoader": loader, "contextResolver": ContextResolver({}, loader)}
    yield b"J" + json.dumps(jsonld.expand(document, options)).encode()
    yield b"J" + json.dumps(jsonld.flatten(document, None, options)).encode()
    quads = jsonld.to_rdf(document, {**options, "format": "application/n-quads"})
    yield b"T" + Graph().parse(data=quads, format="nt").serialize(format="turtle").encode()


def vocabularies() -> Iterator[bytes]:
    paths = [*(ROOT / "vocab").rglob("*.ttl"), *(ROOT / "tests" / "policy").rglob("*.ttl")]
    for path in sorted(paths):
        yield b"w" + path.read_bytes()
        if path.stat().st_size < 8192 and path.parent.name != "bad":
            graph = Graph().parse(data=path.read_bytes(), format="turtle")
            yield b"v" + graph.serialize(format="json-ld", auto_compact=True).encode()


def tables() -> Iterator[bytes]:
    """Descriptions, and small tables in each form."""
    for path in sorted((ROOT / "examples").rglob("*-metadata.json")):
        yield b"D" + path.read_bytes()
    for path in sorted((ROOT / "examples" / "data").glob("*.csv")):
        yield b"C" + path.read_bytes()[:2048]
    plain = f'name,amount,day\n{CELL},1,2026-01-31\n"{CELL}, ""b""",-2.5,\n'.encode()
    yield b"C" + plain
    for number, dialect in enumerate(DIALECTS):
        yield b"D" + description(dialect, has_formats=True)
        mark = str(dialect.get("delimiter", ","))
        quote = dialect.get("quoteChar", '"') or ""
        rows = (
            ("name", "amount", "day"),
            (f"{quote}{CELL}{quote}", "1.234,5", "31.01.2026"),
            (CELL, "", ""),
        )
        text = "\n".join(mark.join(row) for row in rows[0 if dialect.get("header", True) else 1 :])
        before = "exported\n" * bool(dialect.get("skipRows"))
        for formats in (0, 1):
            yield b"F" + bytes([2 * number + formats]) + f"{before}{text}\n".encode()
    yield b"G" + gzip.compress(plain, mtime=0)
    yield b"Z" + bytes(pa.compress(plain, codec="zstd", asbytes=True))
    book = workbook()
    yield b"X" + book
    with ZipFile(io.BytesIO(book)) as archive:
        yield b"S" + archive.read(SHEET)
        for part in ("xl/styles.xml", "xl/workbook.xml", "xl/sharedStrings.xml"):
            if part in archive.namelist():
                yield b"P" + part.encode() + b"\0" + archive.read(part)


def workbook(parts: dict[str, bytes] | None = None) -> bytes:
    """A small workbook, with some of its parts replaced."""
    book, written = openpyxl.Workbook(), io.BytesIO()
    sheet = book.active
    for row in (["name", "amount", "day"], [CELL, 1.5, None], ["b", True, -3], [CELL, 7, "2026-01-31"]):
        sheet.append(row)
    sheet["C2"].number_format = "yyyy-mm-dd"
    book.save(written)
    stored = io.BytesIO()
    with ZipFile(written) as archive, ZipFile(stored, "w", ZIP_STORED if parts else ZIP_DEFLATED) as again:
        for name in archive.namelist():
            again.writestr(name, (parts or {}).get(name, archive.read(name)))
    return stored.getvalue()


def dictionary() -> Iterator[str]:
    """The vocabulary's words and the marks of the syntaxes, as libFuzzer reads them."""
    names = {word.name for word in WORDS} | {word.iri for word in WORDS} | set(ALIASES) | set(PROPERTIES)
    marks = ["@context", "@graph", "@id", "@type", "@value", "@list", "@set", "@language", "@reverse"]
    marks += ["@import", "@propagate", "@nest", "@included", "@protected", "@version", "@container"]
    marks += [
        "_:b0",
        '"@id":',
        "{}",
        "[]",
        "null",
        "1e9",
        "&a",
        "*a",
        "!!",
        "---\n",
        "- ",
        ": ",
        "|\n",
        "? ",
    ]
    marks += ["@prefix odrl: <http://www.w3.org/ns/odrl/2/> .", "[ ]", "( )", '"""', "^^", "a", "PREFIX"]
    marks += ["permit:", "prohibit:", "oblige:", "rows:", "per-column:", "valid:", "purpose:", "method:"]
    marks += ["dialect", "delimiter", "quoteChar", "commentPrefix", "skipRows", "trim", "encoding", CELL]
    marks += ["<c ", 't="s"', 't="inlineStr"', "<is><t>", "<f>", "<v>", 't="e"', 'r="A1"', "<row "]
    for word in sorted(names | set(marks)):
        yield '"' + "".join(c if c.isalnum() else f"\\x{ord(c):02x}" for c in word) + '"'
