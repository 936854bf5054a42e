"""Turtle text to statements, by rdflib, offline and within bounds (W3C RDF 1.1 Turtle).

rdflib recurses on nested brackets, accepts words of N3, and turns numbers and XML literals into values; so
the text is guarded before, and the statements are taken from its parser as they are written.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final
from urllib.parse import unquote

from smalti.policy.document.context import shipped_terms
from smalti.policy.findings.findings import Findings, quoted
from smalti.policy.text.json_text import MAX_DEPTH, MAX_VALUES, Place
from smalti.vocab.aliases import canonical
from smalti.vocab.contexts import ORDER
from smalti.vocab.terms import RDF, XSD

BASE: Final = "smalti-unresolved://policy/document/"
"""The base of relative IRIs, as in `expansion`."""
_MAX_WORD: Final = 65_536
_MAX_NUMBER: Final = 64
_START: Final = re.compile(r"\s*(?:#[^\n]*\n\s*)*(?:@prefix\b|@base\b|(?i:prefix|base)\s|<)")
_TOKEN: Final = re.compile(
    r"""(?P<space>(?:[ \t\r\n]++|\#[^\r\n]*+)++)
    |(?P<string>\"\"\"(?:\"{0,2}(?:[^\"\\]|\\.))*+\"\"\"|'''(?:'{0,2}(?:[^'\\]|\\.))*+'''
        |"(?:[^"\\\r\n]|\\.)*+"|'(?:[^'\\\r\n]|\\.)*+')
    |(?P<iri><[^\x00-\x20<>"{}|^`]*+>)
    |(?P<open>[\[(])|(?P<close>[\])])|(?P<mark>[.;,]|\^\^)|(?P<at>@[A-Za-z]++(?:-[A-Za-z0-9]++)*+)
    |(?P<word>(?:\\[_~.\-!$&'()*+,;=/?\#@%]|[^\x00-\x20!"\#$&'()*,/;<=>?@\[\\\]^`{|}~\x7f])++)""",
    re.VERBOSE | re.DOTALL,
)
_NUMBER: Final = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\.?")
_KEYWORD: Final = re.compile(r"a|(?:true|false)\.*|(?i:prefix|base)")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_WELL_KNOWN: Final = frozenset({"odrl", "mosaicrown", "smalti", "dpv", "dct", "rdf", "rdfs", "xsd"})


@dataclass(frozen=True, slots=True)
class Blank:
    """A blank node, by its number in the document."""

    number: int


@dataclass(frozen=True, slots=True)
class Written:
    """A literal, as it is written."""

    text: str
    datatype: str | None
    has_language: bool


class Reference(str):
    """An absolute IRI; under `BASE` when the document writes a relative one."""

    __slots__ = ()


Subject = Reference | Blank
Object = Reference | Blank | Written


@dataclass(slots=True)
class Statements:
    """The statements of a document, in its order."""

    triples: dict[tuple[Subject, Reference, Object], None] = field(default_factory=dict)
    prefixes: dict[str, str] = field(default_factory=dict)


def is_turtle(name: str, text: str) -> bool:
    """Whether a document is meant as Turtle: by its name, or by how it begins."""
    return name.endswith(".ttl") or _START.match(text) is not None


def read_statements(text: str, findings: Findings) -> Statements | None:
    """The statements of a Turtle document; None after an error."""
    problem = _guard(text)
    if problem is not None:
        findings.error(*problem)
        return None
    sink = _Sink()
    _run(text, sink, findings)
    return None if findings.has_errors else sink.statements


def _guard(text: str) -> tuple[str, Place, str] | None:
    """The first thing that is no Turtle, or more than rdflib may be given."""
    at = depth = count = 0
    before = ""
    while at < len(text):
        token = _TOKEN.match(text, at)
        place = Place(at, token.end() if token else at + 1, "")
        if token is None:
            return "P217", place, f"{quoted(text[at])} has no meaning in Turtle here, or is not closed"
        at = token.end()
        if token.lastgroup == "space":
            continue
        count += 1
        depth += (token.lastgroup == "open") - (token.lastgroup == "close")
        if depth > MAX_DEPTH:
            return "P104", place, f"brackets are nested more than {MAX_DEPTH} deep"
        if count > MAX_VALUES:
            return "P108", place, f"the document has more than {MAX_VALUES} words and marks"
        problem = _token_problem(token[0], token.lastgroup or "", before)
        if problem is not None:
            return problem[0], place, problem[1]
        before = token.lastgroup or ""
    return None


def _token_problem(token: str, kind: str, before: str) -> tuple[str, str] | None:
    if len(token) > _MAX_WORD:
        return "P108", f"the word has more than {_MAX_WORD} characters"
    if kind == "at" and before != "string" and token not in {"@prefix", "@base"}:
        return "P217", f"{quoted(token)} has no meaning in Turtle"
    if kind == "word" and token[0] in "+-.0123456789" and ":" not in token:
        if len(token) > _MAX_NUMBER:
            return "P106", f"a number has at most {_MAX_NUMBER} characters"
        return None if _NUMBER.fullmatch(token) else ("P217", f"{quoted(token)} is not a number of Turtle")
    if kind == "word" and ":" not in token and not _KEYWORD.fullmatch(token):
        return "P217", f"{quoted(token)} has no meaning in Turtle: a name has a prefix, as in `ex:{token}`"
    return None


class _RefusedError(Exception):
    """A statement that Turtle does not have, or that must not be read."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def _run(text: str, sink: "_Sink", findings: Findings) -> None:
    # Imported here: rdflib takes 0.2 s, and most documents are JSON-LD.
    from rdflib.plugins.parsers.notation3 import BadSyntax, SinkParser  # noqa: PLC0415

    # A prefix for generated names is given: without one, rdflib asks for the working folder.
    make: Callable[..., SinkParser] = SinkParser
    parser = make(sink, baseURI=BASE, genPrefix="#", turtle=True)
    try:
        parser.loadBuf(text)
    except BadSyntax as error:
        _refuse("P217", f"not Turtle: {_reason(error)}", _offset(error, parser.lines, text), findings)
    except _RefusedError as error:
        _refuse(error.code, error.message, _line_start(parser.lines, text), findings)
    except Exception:  # rdflib raises whatever a broken text leads to: IndexError, AssertionError, ...
        message = "not Turtle: the text breaks off, or is malformed here"
        _refuse("P217", message, _line_start(parser.lines, text), findings)


def _reason(error: object) -> str:
    """The reason that rdflib gives, without the text that it quotes."""
    reason = getattr(error, "_why", "")
    word = reason.splitlines()[0][:80] if isinstance(reason, str) and reason else "malformed"
    return "".join(c if c.isprintable() else " " for c in word).strip().rstrip(".")


def _offset(error: object, line: int, text: str) -> int:
    at = getattr(error, "_i", -1)
    return at if isinstance(at, int) and 0 <= at < len(text) else _line_start(line, text)


def _line_start(line: int, text: str) -> int:
    start = 0
    for _ in range(line):
        end = text.find("\n", start)
        if end < 0:
            break
        start = end + 1
    return start


def _refuse(code: str, message: str, start: int, findings: Findings) -> None:
    findings.error(code, Place(start, start + 1, ""), message)


class _Sink:
    """Takes what rdflib's parser finds, without its graph: in order, and as it is written.

    The methods' names are rdflib's (`rdflib.plugins.parsers.notation3.RDFSink`).
    """

    def __init__(self) -> None:
        self.statements = Statements()
        self.blanks = 0

    def setGenPrefix(self, prefix: str) -> None:  # noqa: N802
        pass

    def startDoc(self, formula: object) -> None:  # noqa: N802
        pass

    def endDoc(self, formula: object) -> None:  # noqa: N802
        pass

    def intern(self, something: object) -> object:
        return something

    def setDefaultNamespace(self, namespace: bytes) -> None:  # noqa: N802
        self.bind("", namespace)

    def bind(self, prefix: str, namespace: bytes) -> None:
        full = unquote(namespace.decode("ascii"), errors="replace")
        first = self.statements.prefixes.setdefault(prefix, full)
        if first != full:
            raise _RefusedError("P205", f"the prefix {quoted(prefix + ':')} is defined twice")
        known = _well_known(prefix)
        if known and canonical(full + "x") != canonical(known + "x"):
            raise _RefusedError(
                "P205", f"the prefix {quoted(prefix + ':')} stands for another namespace than everywhere"
            )

    def newSymbol(self, iri: str) -> Reference:  # noqa: N802
        return Reference(_checked(iri))

    def newBlankNode(self, *_: object, **__: object) -> Blank:  # noqa: N802
        self.blanks += 1
        return Blank(self.blanks)

    def newLiteral(  # noqa: N802
        self, text: str, datatype: object = None, language: str | None = None
    ) -> Written:
        if isinstance(datatype, Blank):
            raise _RefusedError("P217", "a datatype is an IRI")
        return Written(_checked(text), None if datatype is None else str(datatype), language is not None)

    def newList(self, items: list[object], _: object) -> Subject:  # noqa: N802
        cells: list[Subject] = [self.newBlankNode() for _ in items]
        cells.append(Reference(RDF + "nil"))
        for index, item in enumerate(items):
            self.add(cells[index], Reference(RDF + "first"), item)
            self.add(cells[index], Reference(RDF + "rest"), cells[index + 1])
        return cells[0]

    def makeStatement(self, quadruple: tuple[object, ...], why: object = None) -> None:  # noqa: N802
        _, predicate, subject, object_ = quadruple
        self.add(subject, predicate, object_)

    def add(self, subject: object, predicate: object, object_: object) -> None:
        who, what = _term(subject), _term(predicate)
        if isinstance(who, Written) or not isinstance(what, Reference):
            raise _RefusedError("P217", "a statement's subject is a node, and its predicate an IRI")
        self.statements.triples.setdefault((who, what, _term(object_)))


def _well_known(prefix: str) -> str:
    tables = (shipped_terms(context) for context in reversed(ORDER))
    return next((table[prefix] for table in tables if prefix in table), "") if prefix in _WELL_KNOWN else ""


def _checked(text: str) -> str:
    if _SURROGATE.search(text):
        raise _RefusedError("P107", "the text holds half of a surrogate pair")
    return text


def _term(found: object) -> Object:
    match found:
        case Reference() | Blank() | Written():
            return found
        case (_, str(iri)):  # rdflib's `a`
            return Reference(iri)
        case bool():
            return Written(str(found).lower(), XSD + "boolean", False)
        case int():
            return Written(str(found), XSD + "integer", False)
        case Decimal():
            return Written(f"{found:f}", XSD + "decimal", False)
        case str():  # rdflib's doubles
            return Written(str(found), XSD + "double", False)
        case _:
            raise _RefusedError("P217", "not Turtle: the statement is none of RDF")
