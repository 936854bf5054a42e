"""Turtle text to statements, by Oxigraph's parser, offline and within bounds (W3C RDF 1.1 Turtle).

The text is tokenised once before it is parsed. That bounds the document, refuses what only RDF 1.2 has, and
finds prefixes that are defined twice, which a parser does not tell.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from smalti.policy.document.context import shipped_terms
from smalti.policy.findings.findings import Findings, quoted
from smalti.policy.text.json_text import MAX_DEPTH, MAX_VALUES, Place
from smalti.policy.text.kinds import is_policy_text
from smalti.vocab.aliases import canonical
from smalti.vocab.contexts import ORDER
from smalti.vocab.terms import XSD

if TYPE_CHECKING:
    from pyoxigraph import BlankNode, NamedNode, QuadParser, Triple
    from pyoxigraph import Literal as ParsedLiteral

BASE: Final = "smalti-unresolved://policy/document/"
"""The base of relative IRIs, as in `expansion`."""
_MAX_WORD: Final = 65_536
_MAX_NUMBER: Final = 64
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
_SURROGATE: Final = re.compile(r"(?<!\\)(?:\\\\)*\\(?:u|U0000)[dD][89a-fA-F][0-9a-fA-F]{2}")
_LINE_END: Final = re.compile(r"\r\n?|\n")
_STRING: Final = XSD + "string"
_WELL_KNOWN: Final = frozenset({"odrl", "mosaicrown", "smalti", "dpv", "dct", "rdf", "rdfs", "xsd"})
_QUOTING: Final = frozenset({"P205", "P217"})
"""Codes of messages that quote the text."""


@dataclass(frozen=True, slots=True)
class Blank:
    """A blank node, by its number in the document."""

    number: int


@dataclass(frozen=True, slots=True)
class Written:
    """A literal, as it is written."""

    text: str
    datatype: str | None
    """None for a text: a literal without a datatype is a string (RDF 1.1 Concepts, 3.3)."""
    has_language: bool


class Reference(str):
    """An absolute IRI; under `BASE` when the document writes a relative one."""

    __slots__ = ()


Subject = Reference | Blank
Object = Reference | Blank | Written


@dataclass(slots=True)
class Statements:
    """The statements of a document, in its order; repeated ones once."""

    triples: dict[tuple[Subject, Reference, Object], None] = field(default_factory=dict)
    prefixes: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Problem:
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    place: Place


class _RefusedError(Exception):
    """The document is not Turtle, or exceeds a bound."""

    def __init__(self, code: str, message: str, place: Place) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.place = place


def read_statements(text: str, findings: Findings) -> Statements | None:
    """The statements of a Turtle document; None after an error."""
    try:
        prefix_places = _bounded_prefixes(text)
        return _parsed(text, prefix_places)
    except _RefusedError as error:
        may_quote = error.code not in _QUOTING or is_policy_text(text)
        message = error.message if may_quote else "the text is not Turtle here, and has no word of ODRL"
        findings.error(error.code, error.place, message)
        return None


def _bounded_prefixes(text: str) -> dict[str, Place]:
    """The place of each prefix's definition, once the whole text is known to be within bounds."""
    definitions: dict[str, tuple[str, Place]] = {}
    prefix: _Token | None = None
    before = _Token("", "", Place(0, 0, ""))
    bases = depth = 0
    for count, token in enumerate(_tokens(text), start=1):
        depth += (token.kind == "open") - (token.kind == "close")
        _check_bounds(token, depth, count)
        problem = _token_problem(token, before.kind)
        if problem is not None:
            raise _RefusedError(problem.code, problem.message, token.place)
        bases += _is_directive(token, "base")
        if prefix is not None and token.kind == "iri":
            _define(definitions, prefix, token.text if ":" in token.text else f"{bases} {token.text}")
        prefix = token if _is_directive(before, "prefix") and token.text.endswith(":") else None
        before = token
    return {name: place for name, (_, place) in definitions.items()}


def _tokens(text: str) -> Iterator[_Token]:
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            message = f"{quoted(text[at])} has no meaning in Turtle here, or is not closed"
            raise _RefusedError("P217", message, Place(at, at + 1, ""))
        if match.lastgroup != "space":
            yield _Token(match.lastgroup or "", match[0], Place(at, match.end(), ""))
        at = match.end()


def _check_bounds(token: _Token, depth: int, count: int) -> None:
    if depth > MAX_DEPTH:
        raise _RefusedError("P104", f"brackets are nested more than {MAX_DEPTH} deep", token.place)
    if count > MAX_VALUES:
        message = f"the document has more than {MAX_VALUES} words and marks"
        raise _RefusedError("P108", message, token.place)


def _token_problem(token: _Token, kind_before: str) -> _Problem | None:
    text = token.text
    if len(text) > _MAX_WORD:
        return _Problem("P108", f"the word has more than {_MAX_WORD} characters")
    if token.kind in {"string", "iri"} and _SURROGATE.search(text):
        return _Problem("P107", "the text holds half of a surrogate pair")
    if token.kind == "at" and kind_before != "string" and text not in {"@prefix", "@base"}:
        return _Problem("P217", f"{quoted(text)} has no meaning in Turtle")
    return _word_problem(text) if token.kind == "word" and ":" not in text else None


def _word_problem(word: str) -> _Problem | None:
    """What is wrong with a word that is no name: a number or a keyword, or neither."""
    if word[0] in "+-.0123456789":
        if len(word) > _MAX_NUMBER:
            return _Problem("P106", f"a number has at most {_MAX_NUMBER} characters")
        is_number = _NUMBER.fullmatch(word)
        return None if is_number else _Problem("P217", f"{quoted(word)} is not a number of Turtle")
    if _KEYWORD.fullmatch(word):
        return None
    message = f"{quoted(word)} has no meaning in Turtle: a name has a prefix, as in `ex:{word}`"
    return _Problem("P217", message)


def _is_directive(token: _Token, name: str) -> bool:
    return token.text == f"@{name}" or (token.kind == "word" and token.text.lower() == name)


def _define(definitions: dict[str, tuple[str, Place]], prefix: _Token, namespace: str) -> None:
    first, _ = definitions.setdefault(prefix.text.removesuffix(":"), (namespace, prefix.place))
    if first != namespace:
        raise _RefusedError("P205", f"the prefix {quoted(prefix.text)} is defined twice", prefix.place)


def _parsed(text: str, prefix_places: dict[str, Place]) -> Statements:
    # Imported here: most documents are JSON-LD.
    from pyoxigraph import RdfFormat, parse  # noqa: PLC0415

    parser = parse(text, format=RdfFormat.TURTLE, base_iri=BASE)
    statements, terms = Statements(), _Terms()
    try:
        for quad in parser:
            subject, object_ = terms.node(quad.subject), terms.term(quad.object)
            statements.triples.setdefault((subject, Reference(quad.predicate.value), object_))
    except SyntaxError as error:
        raise _RefusedError("P217", f"not Turtle: {_reason(error)}", _place(error, text)) from None
    statements.prefixes = _checked_prefixes(parser, prefix_places)
    return statements


def _checked_prefixes(parser: "QuadParser", places: dict[str, Place]) -> dict[str, str]:
    prefixes: dict[str, str] = parser.prefixes
    for prefix, namespace in prefixes.items():
        usual = _usual_namespace(prefix)
        if usual and canonical(namespace + "x") != canonical(usual + "x"):
            message = f"the prefix {quoted(prefix + ':')} stands for another namespace than everywhere"
            raise _RefusedError("P205", message, places[prefix])
    return prefixes


def _usual_namespace(prefix: str) -> str:
    tables = (shipped_terms(context) for context in reversed(ORDER))
    return next((table[prefix] for table in tables if prefix in table), "") if prefix in _WELL_KNOWN else ""


class _Terms:
    """Makes our terms of the parser's; blank nodes are numbered, since the parser draws their names."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def term(self, term: "NamedNode | BlankNode | ParsedLiteral | Triple") -> Object:
        from pyoxigraph import Literal  # noqa: PLC0415

        if not isinstance(term, Literal):
            return self.node(term)
        has_language, datatype = term.language is not None, term.datatype.value
        return Written(term.value, None if has_language or datatype == _STRING else datatype, has_language)

    def node(self, node: "NamedNode | BlankNode | Triple") -> Subject:
        from pyoxigraph import BlankNode, NamedNode  # noqa: PLC0415

        match node:
            case NamedNode():
                return Reference(node.value)
            case BlankNode():
                return Blank(self.numbers.setdefault(node.value, len(self.numbers) + 1))
            case _:  # the tokens leave out what RDF 1.2 adds
                raise _RefusedError("P217", "a statement about a statement is not RDF 1.1", Place(0, 0, ""))


def _reason(error: SyntaxError) -> str:
    """The parser's reason in one short line, without its own words for the place."""
    reason = re.sub(r"\AParser error at [^:]*: ", "", error.msg or "malformed")
    line = "".join(c if c.isprintable() else " " for c in reason.splitlines()[0][:120])
    return (line[:1].lower() + line[1:]).strip().rstrip(".")


def _place(error: SyntaxError, text: str) -> Place:
    """Where the parser stopped; it counts lines and characters from 1."""
    start = _offset(text, error.lineno or 1, error.offset or 1)
    end = _offset(text, error.end_lineno or 1, error.end_offset or 1)
    return Place(start, max(start + 1, end), "")


def _offset(text: str, line: int, column: int) -> int:
    starts = [0, *(match.end() for match in _LINE_END.finditer(text))]
    return min(starts[min(line, len(starts)) - 1] + column - 1, max(len(text) - 1, 0))
