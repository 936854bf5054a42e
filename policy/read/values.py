"""Reads single values of a node: references, words, numbers, names."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Final

from smalti.policy.decide.hierarchies import STANDARD, Hierarchies
from smalti.policy.document.context import Terms
from smalti.policy.document.expansion import BASE, UNRESOLVED
from smalti.policy.document.nodes import Literal, Name, Node, Property, Value
from smalti.policy.findings.deprecated import deprecation
from smalti.policy.findings.findings import Findings, quoted
from smalti.policy.model.iris import has_forbidden, iri_problem, misspelt_iri
from smalti.policy.model.model import Inclusion
from smalti.vocab.markets import NAMESPACES
from smalti.vocab.odrl import ACTIONS, CONFLICT_STRATEGIES, LEFT_OPERANDS, OPERATORS, POLICY_TYPES
from smalti.vocab.techniques import MEANT
from smalti.vocab.terms import (
    ALGORITHM,
    DCT,
    DPV,
    DPV_ODRL,
    IRI,
    L_DIVERSITY,
    METHOD,
    MOSAICROWN,
    ODRL,
    RDF,
    RDFS,
    SMALTI,
    XSD,
)
from smalti.vocab.words import ALGORITHM_METHODS, BY_IRI, MOST_DIGITS, Range, Word, has_usable_size

WHOLE: Final = frozenset(
    XSD + name
    for name in ("integer", "int", "long", "short", "nonNegativeInteger", "positiveInteger", "unsignedInt")
)
FRACTIONAL: Final = frozenset(XSD + name for name in ("decimal", "double", "float"))
LARGEST: Final = 10**9
"""The largest whole number that a policy may name."""
_LONGEST_NAME: Final = 200
_WORDS: Final = frozenset({*ACTIONS, *CONFLICT_STRATEGIES, *LEFT_OPERANDS, *OPERATORS, *POLICY_TYPES})
"""The words of ODRL that are values."""
_VOCABULARIES: Final = (ODRL, MOSAICROWN, SMALTI, DPV, DPV_ODRL, DCT, RDF, RDFS, XSD, *NAMESPACES)
"""Namespaces in which an IRI is a word, and so never names a column or a fact about a party."""
_NAME_ALIASES: Final = {"1-diversity": L_DIVERSITY}  # as printed in D5.1, Figure 2.6


@dataclass(frozen=True, slots=True)
class Scope:
    """What reading any part of one policy needs."""

    terms: Terms
    findings: Findings
    digest: str
    """Hexadecimal SHA-256 of the document."""
    inclusions: tuple[Inclusion, ...] = ()
    """The actions that the document defines."""
    policies: frozenset[str] = frozenset()
    """The uids of its policies."""
    hierarchies: Hierarchies = STANDARD
    """What vocabularies declare: operands, actions and profiles."""
    stops_at_profiles: bool = True
    """Whether an unknown profile is an error; otherwise it is a warning, and the policy grants nothing."""
    has_unknown_profile: bool = False
    """Whether the policy names one, which may define words that nothing here does."""


def one_value(node: Node, iri: str, scope: Scope) -> Value | None:
    """The single value of a property; None when it is absent, or after an error."""
    prop = node.get(iri)
    if prop is None:
        return None
    if len(prop.values) > 1:
        message = f"{quoted(prop.word)} must have one value, not {len(prop.values)}"
        scope.findings.error("P304", prop.key, message)
        return None
    if not prop.values:
        scope.findings.error("P421", prop.key, f"{quoted(prop.word)} is an empty list")
        return None
    return prop.values[0]


def reference(value: Value, what: str, scope: Scope) -> Name | None:
    """The name of a node that is only named; None after an error."""
    name = node_name(value, what, scope)
    if name is None or iri_is_good(name, what, scope) is None:
        return None
    return name


def node_name(value: Value, what: str, scope: Scope) -> Name | None:
    """The `@id` of a node, unchecked; None after an error."""
    if isinstance(value, Literal):
        help_ = f'write {{"@id": "{value.text}"}}' if value.is_text and not iri_problem(value.text) else ""
        message = f"{what} is named by an IRI, not by the text or number {quoted(value.text)}"
        scope.findings.error("P314", value.place, message, help_)
        return None
    if value.name is None:
        scope.findings.error("P314", value.place, f"{what} has no IRI", 'name it with "uid" (or "@id")')
    return value.name


def bare_name(value: Value, what: str, scope: Scope) -> Name | None:
    """The `@id` of a node that is only named, unchecked; None after an error."""
    name = node_name(value, what, scope)
    if name is None or not isinstance(value, Node) or value.is_reference:
        return name
    for prop in value.properties.values():
        message = f"{what} is only named here: {quoted(prop.word)} would apply to it wherever it is used"
        scope.findings.error("P309", prop.key, message, "write the IRI alone")
    for kind in value.types:
        if not odrl_name(kind.iri):
            message = f"{what} is only named here: its type {quoted(kind.written)} has no meaning"
            scope.findings.error("P320", kind.place, message, "write the IRI alone")
    return name


def is_described_here(node: Node, what: str, scope: Scope) -> bool:
    """Report a node that is only named where its description is required; False for such a node."""
    if not node.is_reference or node.name is None:
        return True
    message = f"the {what} {quoted(node.name.written)} is named but not described here"
    scope.findings.error("P311", node.name.place, message, f"write the whole {what} here")
    return False


def iri_is_good(name: Name, what: str, scope: Scope, otherwise: str = "") -> IRI | None:
    """The IRI when it is absolute and may be used; None after an error.

    Args:
        name: the IRI, and where it stands.
        what: is named by it, for messages.
        scope: takes the error.
        otherwise: what to write where this cannot be an IRI.
    """
    if name.iri.startswith(UNRESOLVED):
        code, fault = "P209", "is a relative IRI, but a policy has no base IRI"
        if has_forbidden(name.written):
            code, fault = "P212", "has a character that an IRI cannot have"
        help_ = otherwise or 'write the whole IRI, as in "http://example.com/..."'
        scope.findings.error(code, name.place, f"{what} {quoted(name.written)} {fault}", help_)
        return None
    problem = iri_problem(name.iri)
    if not problem:
        return IRI(name.iri)
    undefined = "scheme that" in problem
    help_ = "add the context that defines the prefix, or write the whole IRI" if undefined else ""
    if undefined and name.iri.startswith("odrl:") and name.iri[5:] in scope.terms.meanings:
        help_ = f"write `{name.iri[5:]}`: the prefix has another meaning here"
    if not undefined and ": write `" not in problem and ": leave it out" not in problem:
        help_ = otherwise
    scope.findings.error(
        "P211" if undefined else "P212", name.place, f"{what} {quoted(name.written)} {problem}", help_
    )
    return None


def canonical_word(name: Name, scope: Scope) -> str:
    """The canonical IRI of a word; another spelling adds a note."""
    return scope.findings.word(name.iri, name.place)


def unknown_word(
    code: str, name: Name, what: str, candidates: Iterable[str], scope: Scope, otherwise: str = ""
) -> None:
    """Report a word that no vocabulary defines, with the nearest word, or another way out."""
    is_misspelt = "scheme that" in iri_problem(name.iri) or misspelt_iri(name.iri)
    if not name.iri.startswith(UNRESOLVED) and is_misspelt:
        iri_is_good(name, f"the {what}", scope)
        return
    if reason := deprecation(odrl_name(name.iri) or name.iri.removeprefix(BASE)):
        message = f"the {what} {quoted(name.written)} is {reason}"
        scope.findings.error(code, name.place, message, otherwise)  # a similar word would mislead
        return
    candidates = list(candidates)
    nearest = scope.findings.did_you_mean(name.written, candidates)
    help_ = _in_full(name, scope) if name.written in candidates else nearest or otherwise
    scope.findings.error(code, name.place, f"unknown {what} {quoted(name.written)}", help_)


def _in_full(name: Name, scope: Scope) -> str:
    """The way out for a word that means nothing only because of where it stands, or under this context."""
    local = name.written.removeprefix("odrl:")
    declared = (iri for iri in scope.hierarchies.declarations if iri.endswith((f"/{local}", f"#{local}")))
    whole = ODRL + local if local in _WORDS else next(declared, "")
    return f"here it is no word, but a relative IRI: write `{whole}`" if whole else ""


def spellings(iris: Iterable[str], scope: Scope) -> list[str]:
    """Words as this document would write them, for suggestions."""
    return [scope.terms.shorten(iri) for iri in iris]


def is_foreign_word(iri: IRI) -> bool:
    """Whether an IRI is in none of the namespaces whose words are known."""
    return not iri_problem(iri) and not iri.startswith(_VOCABULARIES)


def may_be_defined(iri: IRI, scope: Scope) -> bool:
    """Whether a word may be one of an unknown profile, in a check that goes on with everything else."""
    return scope.has_unknown_profile and not scope.stops_at_profiles and is_foreign_word(iri)


def odrl_name(iri: str) -> str:
    """The local name of a word of ODRL; empty for any other."""
    return iri.removeprefix(ODRL) if iri.startswith(ODRL) else ""


def number_in(value: Value, word: Word, shown: str, scope: Scope) -> Decimal | None:
    """A number within the limits of a word of the profile; None after an error.

    Args:
        value: what the document says.
        word: the operand's definition.
        shown: the operand, as the document writes it.
        scope: where findings go.
    """
    number = _number(value, shown, scope)
    if number is None:
        return None
    if not has_usable_size(number):
        message = f"{quoted(shown)} must have at most {MOST_DIGITS} digits before and behind its point"
        scope.findings.error("P424", value.place, message, "write the number that is meant")
        return None
    if word.range is Range.INTEGER and (number != number.to_integral_value() or abs(number) > LARGEST):
        message = f"{quoted(shown)} must be a whole number up to {LARGEST}, not {number}"
        scope.findings.error("P403", value.place, message)
        return None
    if word.limits.allow(number):
        return number
    if word.range is Range.INTEGER:
        least = word.limits.minimum
        message = (
            f"{quoted(shown)} must be at least {least}, not {number}: a smaller number promises nothing"
        )
        scope.findings.error("P404", value.place, message)
    else:
        message = f"{quoted(shown)} must be {word.limits}, not {number}"
        scope.findings.error("P424", value.place, message)
    return None


def _number(value: Value, word: str, scope: Scope) -> Decimal | None:
    number = _number_of(value)
    if number is not None:
        return number
    shown = value.text if isinstance(value, Literal) else ""
    description = (
        f"the text {quoted(shown)}" if isinstance(value, Literal) and value.is_text else quoted(shown)
    )
    if not isinstance(value, Literal):
        description = "an IRI"
    help_ = f"write {shown}, without quotes" if _is_digits(shown) else "write a number, without quotes"
    scope.findings.error("P403", value.place, f"{quoted(word)} must be a number, not {description}", help_)
    return None


def _is_digits(text: str) -> bool:
    return text.isascii() and text.strip().isdigit()


def _number_of(value: Value) -> Decimal | None:
    if not isinstance(value, Literal) or value.has_language:
        return None
    if value.datatype is None:
        return value.number
    if value.datatype not in WHOLE | FRACTIONAL:
        return None
    return value.number if value.number is not None else _typed_number(value.text, value.datatype)


def _typed_number(text: str, datatype: str) -> Decimal | None:
    stripped = text.strip()
    if datatype in WHOLE and not _is_digits(stripped.removeprefix("-").removeprefix("+")):
        return None
    try:
        number = Decimal(stripped) if stripped.isascii() and "_" not in stripped else None
    except InvalidOperation:
        return None
    return number if number is not None and number.is_finite() and len(stripped) <= 64 else None


def plain_text(value: Value) -> str | None:
    """The characters of a text without language; None for anything else."""
    if isinstance(value, Literal) and value.is_text and not value.has_language:
        return value.text if value.datatype in {None, XSD + "string"} else None
    return None


def chosen_name(value: Value, shown: str, word: Word, scope: Scope) -> str | None:
    """One of a word's closed list of names; None after an error.

    Args:
        value: what the document says.
        shown: the operand, as the document writes it.
        word: the operand's definition.
        scope: where findings go.
    """
    text = plain_text(value)
    if text is None:
        scope.findings.error(
            "P422", value.place, f"the value of {quoted(shown)} must be a name", _one_of(word.names)
        )
        return None
    if word.iri == METHOD and text in _NAME_ALIASES:
        message = f"{quoted(text)} is read as {quoted(_NAME_ALIASES[text])}"
        scope.findings.warning("P503", value.place, message, f"write `{_NAME_ALIASES[text]}`")
        return _NAME_ALIASES[text]
    if text not in word.names:
        written = text.rpartition(":")[2]
        meant = _meant(written.lower(), word)
        help_ = meant or scope.findings.did_you_mean(written, word.names) or _one_of(word.names)
        code = "P401" if word.iri == METHOD else "P402"
        scope.findings.error(code, value.place, f"unknown {word.name} {quoted(text)}", help_)
        return None
    return text


def _meant(text: str, word: Word) -> str:
    """A `help` text for the name of a technique, or of the other one of method and algorithm; or empty."""
    meant = MEANT.get(text, (text,))
    algorithms = [name for name in meant if name in ALGORITHM_METHODS]
    if word.iri == ALGORITHM and algorithms:
        return f"write {_or(algorithms)}: {'that is' if len(algorithms) == 1 else 'these are'} {text} here"
    if word.iri == ALGORITHM and text in BY_IRI[METHOD].names:
        return f"`{text}` is a method: write it as `mosaicrown:method`, and leave out the algorithm"
    if word.iri == METHOD and algorithms:
        methods = sorted({method for name in algorithms for method in ALGORITHM_METHODS[name]})
        return f"write {_or(algorithms)} as `smalti:algorithm`, with the method {_or(methods)}"
    return ""


def _or(names: Sequence[str]) -> str:
    return " or ".join(f"`{name}`" for name in names)


def open_name(value: Value, word: str, scope: Scope) -> str | None:
    """A name without a closed list: one line of text; None after an error."""
    text = plain_text(value)
    if text is None or not text.strip() or not text.isprintable() or len(text) > _LONGEST_NAME:
        message = (
            f"the value of {quoted(word)} must be a name: one line of at most {_LONGEST_NAME} characters"
        )
        scope.findings.error("P422", value.place, message)
        return None
    return text


def _one_of(names: Sequence[str]) -> str:
    return "write one of " + ", ".join(f"`{name}`" for name in names)


def values_of(prop: Property, scope: Scope) -> tuple[Value, ...]:
    """The values of a property that must not be empty."""
    if not prop.values:
        scope.findings.error("P421", prop.key, f"{quoted(prop.word)} is an empty list")
    return prop.values
