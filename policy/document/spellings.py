"""How a document may write a word, for descriptions of documents (JSON Schema, SHACL).

A word has one canonical IRI; a document writes it as a term, with a prefix of the shipped contexts, as that
IRI, or as an alias of it. Prefixes that a document adds itself are for names: no description of documents
can know them.
"""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Final

from smalti.policy.document.context import shipped_terms
from smalti.policy.model.iris import SCHEMES
from smalti.vocab.aliases import NAMESPACES, WORDS, canonical
from smalti.vocab.contexts import ORDER
from smalti.vocab.terms import DPV, DPV_ODRL, MOSAICROWN, ODRL, SMALTI

VOCABULARIES: Final = (ODRL, MOSAICROWN, SMALTI, DPV, DPV_ODRL)
"""The namespaces of policies' words: an unknown name in one of them is a mistake, not a foreign word."""
_PREFIX_ENDS: Final = ("/", "#", ":")


@cache
def _meanings() -> Mapping[str, frozenset[str]]:
    """The terms of the shipped contexts, with the words that each means in one of them."""
    meanings: dict[str, set[str]] = {}
    for context in ORDER:
        for term, iri in shipped_terms(context).items():
            meanings.setdefault(term, set()).add(iri if iri.startswith("@") else canonical(iri))
    return {term: frozenset(iris) for term, iris in meanings.items()}


@cache
def prefixes() -> Mapping[str, str]:
    """The prefixes of the shipped contexts, with their namespaces."""
    namespaces = {term: iri for context in ORDER for term, iri in shipped_terms(context).items()}
    return {term: iri for term, iri in namespaces.items() if iri.endswith(_PREFIX_ENDS)}


@cache
def _terms_of(iri: str) -> tuple[str, ...]:
    return tuple(sorted(term for term, iris in _meanings().items() if iri in iris))


@cache
def iris(iri: str) -> tuple[str, ...]:
    """The IRIs that mean a word, the canonical one first.

    >>> "https://w3id.org/dpv#Anonymise" in iris("http://www.w3.org/ns/odrl/2/anonymize")
    True
    """
    same = [iri, *(alias for alias, word in WORDS.items() if word == iri)]
    others = [
        alias + name.removeprefix(namespace)
        for alias, namespace in NAMESPACES
        for name in same
        if name.startswith(namespace)
    ]
    spellings = dict.fromkeys([*same, *others])
    return (iri, *sorted(name for name in spellings if name != iri and canonical(name) == iri))


def short(iri: str) -> str:
    """A word as it is best written in a document: with its prefix.

    >>> short("https://www.mosaicrown.eu/ns/mosaicrown/1/k")
    'mosaicrown:k'
    """
    fitting = [(len(p), p, n) for p, n in prefixes().items() if iri.startswith(n) and iri != n]
    if not fitting:
        return iri
    _, prefix, namespace = max(fitting)
    return f"{prefix}:{iri.removeprefix(namespace)}"


def term(iri: str) -> str:
    """A word as it is best written where terms are read: ODRL's and MOSAICrOWN's terms stand bare."""
    bare = iri.removeprefix(ODRL) if iri.startswith(ODRL) else iri.removeprefix(MOSAICROWN)
    return bare if bare in _terms_of(iri) else short(iri)


def written(iri: str, *, with_terms: bool) -> tuple[str, ...]:
    """Every way to write a word with the shipped contexts.

    Args:
        iri: the word.
        with_terms: whether terms are read at the place (keys, and what JSON-LD calls vocabulary-relative).
    """
    full = iris(iri)
    compact = [
        f"{prefix}:{name.removeprefix(namespace)}"
        for prefix, namespace in prefixes().items()
        for name in full
        if name.startswith(namespace)
    ]
    return tuple(dict.fromkeys([*(_terms_of(iri) if with_terms else ()), *sorted(compact), *full]))


def pattern(words: Iterable[str], *, with_terms: bool) -> str:
    """A regular expression (of ECMAScript and Python) for every way to write one of some words."""
    spellings = sorted({text for iri in words for text in written(iri, with_terms=with_terms)})
    by_start: dict[str, list[str]] = {}
    for text in spellings:
        start = _start(text)
        by_start.setdefault(start, []).append(escape(text.removeprefix(start)))
    by_names: dict[str, list[str]] = {}
    for start, names in by_start.items():
        by_names.setdefault("|".join(names), []).append(escape(start))
    groups = [f"{_any(starts)}{_any(names.split('|'))}" for names, starts in by_names.items()]
    return f"^{_any(groups)}$"


def foreign_pattern() -> str:
    """A regular expression for IRIs outside of the known vocabularies, with a prefix or in full."""
    own = _any([escape(name) for name in (*VOCABULARIES, *(alias for alias, _ in NAMESPACES))])
    own_prefixes = "|".join(
        escape(prefix) for prefix, name in sorted(prefixes().items()) if name in VOCABULARIES
    )
    return f"^(?:(?!{own})https?://[^/?#@]+.*|(?!(?:https?|{own_prefixes}):){_PREFIXED})$"


_CHARACTER: Final = r'[^\s<>"{}|\\^`]'
_PREFIXED: Final = rf"[A-Za-z][A-Za-z0-9_.-]*:(?!//){_CHARACTER}+"
IRI_PATTERN: Final = rf"^(?:https?://(?![/?#@]){_CHARACTER}+|(?!https?:){_PREFIXED})$"
"""An absolute IRI, or one with a prefix: what names an asset or a party."""
PREFIX_NAME: Final = r"^(?!(?:" + "|".join(sorted(SCHEMES)) + r")$)[A-Za-z][A-Za-z0-9_.-]*$"


def escape(text: str) -> str:
    """A text as a regular expression of ECMAScript (`re.escape` escapes too much for it)."""
    return re.sub(r"[.*+?^${}()|\[\]\\]", r"\\\g<0>", text)


def _start(text: str) -> str:
    """The namespace or the prefix of a spelling; empty for a term."""
    ends = [text.rfind(end) for end in _PREFIX_ENDS]
    return text[: max(ends) + 1] if max(ends) < len(text) - 1 else ""


def _any(choices: Iterable[str]) -> str:
    listed = list(choices)
    if listed == [""]:
        return ""
    return listed[0] if len(listed) == 1 else f"(?:{'|'.join(listed)})"
