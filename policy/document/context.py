"""What the words of one document mean: its `@context`, checked against the shipped contexts."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, Final

from smalti.policy.findings.findings import Findings, quoted
from smalti.policy.model.iris import SCHEMES, iri_problem
from smalti.policy.text.json_text import (
    JsonArray,
    JsonNamed,
    JsonNumber,
    JsonObject,
    JsonString,
    JsonValue,
    Member,
    Place,
)
from smalti.vocab.contexts import (
    ADDRESSES,
    BASES,
    CATENAX_CONTEXT,
    CATENAX_ODRL,
    DATASPACE_ODRL,
    FAMILIES,
    MOSAICROWN_CONTEXT,
    ODRL_CONTEXT,
    ORDER,
    PREFERRED,
    RANKS,
)
from smalti.vocab.terms import EDC, EDC_CREATED, ODRL

_PREFIX_ENDS: Final = (":", "/", "?", "#", "[", "]", "@")
_PREFIX_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*")
_DEFAULTS: Final = frozenset({EDC_CREATED})
"""The words that a policy may use under a default vocabulary."""


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms that a document may use, with the IRI or keyword of each."""

    meanings: Mapping[str, str] = field(default_factory=dict)
    contexts: tuple[Path, ...] = ()
    """The shipped contexts that define them, in their order."""
    vocabulary: str = ""
    """The namespace of words that no context defines (`@vocab`); empty: they have no meaning."""
    ranks: Mapping[str, int] = field(default_factory=dict, compare=False)
    """Of each term, the rank of the context that defines it."""
    protected: frozenset[str] = frozenset()
    """The terms that no later context may give another meaning (JSON-LD 1.1, 4.1.11)."""

    @property
    def has_mosaicrown(self) -> bool:
        return MOSAICROWN_CONTEXT in self.contexts

    def expand(self, word: str) -> str | None:
        """The absolute IRI or keyword of a word; None when no context defines it (JSON-LD 1.1 API, 5.2)."""
        if word.startswith("@"):
            return word
        if word in self.meanings:
            return self.meanings[word] or None
        prefix, colon, suffix = word.partition(":")
        if not colon:
            return self.vocabulary + word if self.vocabulary else None
        namespace = self.meanings.get(prefix, "")
        if namespace.endswith(_PREFIX_ENDS) and not suffix.startswith("//"):
            return namespace + suffix
        return word

    def is_by_default(self, word: str) -> bool:
        """Whether a word has its meaning from the default vocabulary alone, and policies do not use it."""
        is_bare = bool(self.vocabulary) and not word.startswith("@") and ":" not in word
        return is_bare and word not in self.meanings and self.vocabulary + word not in _DEFAULTS

    def shorten(self, iri: str) -> str:
        """A word as the document would write it: `mosaicrown:k` for its IRI."""
        for prefix in ("odrl", "mosaicrown", "smalti", "dct", "rdf", "xsd"):
            namespace = self.meanings.get(prefix)
            if namespace and iri.startswith(namespace):
                name = iri.removeprefix(namespace)
                return name if prefix == "odrl" and name in self.meanings else f"{prefix}:{name}"
        for prefix, namespace in self.meanings.items():
            if namespace.endswith(_PREFIX_ENDS) and iri.startswith(namespace) and iri != namespace:
                return f"{prefix}:{iri.removeprefix(namespace)}"
        return iri


NO_TERMS: Final = Terms()
"""The words of an expanded document: none, since it writes all IRIs in full."""


@cache
def shipped_terms(context: Path) -> dict[str, str]:
    """The terms of a shipped context, with their IRIs in full; without its scoped contexts."""
    return _terms_in(_table(context))


@cache
def _table(context: Path) -> Mapping[str, Any]:
    table: Mapping[str, Any] = json.loads(context.read_text(encoding="utf-8"))["@context"]
    return table


def _terms_in(table: Mapping[str, Any]) -> dict[str, str]:
    flat = {
        term: value["@id"] if isinstance(value, dict) else value or ""
        for term, value in table.items()
        if not term.startswith("@")
    }
    return {term: _in_full(iri, flat) for term, iri in flat.items()}


def _in_full(iri: str, flat: dict[str, str]) -> str:
    prefix, _, name = iri.partition(":")
    return flat[prefix] + name if prefix in flat and not name.startswith("//") else iri


# --- The contexts of a policy


def read_context(policy: JsonObject, around: Terms, findings: Findings) -> Terms | None:
    """Check a policy's `@context`, and return the meanings of its words; None after an error.

    Args:
        policy: the object of the policy.
        around: what words mean around it, in an envelope; they keep their meaning inside.
        findings: where problems go.
    """
    member = policy.find("@context")
    if member is None and around == NO_TERMS:
        message = "`@context` is missing, so the words of this policy have no meaning"
        findings.error("P202", policy.place, message, _wanted())
        return None
    terms = around if member is None else extended(around, member.value, findings)
    if terms is None or _has_odrl(terms) or _is_written_out(policy):
        return terms
    place = policy.place if member is None else member.value.place
    findings.error("P202", place, "ODRL's context is not listed", _odrl_wanted(terms))
    return None


def _is_written_out(policy: JsonObject) -> bool:
    """Whether all keys of a policy are whole IRIs, or keywords, and need no context."""
    keys = [member.key.text for member in policy.members if not member.key.text.startswith("@")]
    return bool(keys) and all(key.startswith(("http://", "https://")) for key in keys)


def _has_odrl(terms: Terms) -> bool:
    """Whether the words of ODRL have a meaning: by a context, or by a prefix."""
    return not BASES.isdisjoint(terms.contexts) or ODRL in terms.meanings.values()


def extended(around: Terms, value: JsonValue, findings: Findings) -> Terms | None:
    """What words mean after a `@context`; None after an error.

    Args:
        around: what they mean before it.
        value: of `@context`.
        findings: where problems go.
    """
    terms, good, here = around, True, list[Path]()
    for entry in _entries(value):
        after = _after(terms, entry, here, findings)
        good &= after is not None
        terms = after or terms
    return terms if good else None


def _entries(value: JsonValue) -> tuple[JsonValue, ...]:
    return value.items if isinstance(value, JsonArray) else (value,)


def _after(terms: Terms, entry: JsonValue, here: list[Path], findings: Findings) -> Terms | None:
    if isinstance(entry, JsonObject):
        return _with_inline(terms, entry, here, findings)
    if not isinstance(entry, JsonString):
        findings.error("P203", entry.place, "a context is named by its address", _wanted())
        return None
    return _with_shipped(terms, entry, here, findings)


def _with_shipped(terms: Terms, address: JsonString, here: list[Path], findings: Findings) -> Terms | None:
    if address.text not in ADDRESSES:
        _report_unknown(address, findings)
        return None
    context = ADDRESSES[address.text]
    own = shipped_terms(context)
    protected = sorted(term for term in terms.protected & {*own} if terms.meanings[term] != own[term])
    if protected:
        message = f"the context redefines {quoted(protected[0])}, which one before it protects"
        help_ = "name its words by their whole IRIs, or with a prefix of your own, and leave it out"
        findings.error("P205", address.place, message, help_)
        return None
    if context in here or _redefined(terms, own, RANKS[context]):
        message = "the contexts are out of order: one would redefine words of another"
        help_ = "list ODRL's context first, then MOSAICrOWN's, then smalti's, each once"
        findings.error("P204", address.place, message, help_)
        return None
    here.append(context)
    return _joined(terms, own, RANKS[context], context)


def _redefined(terms: Terms, own: Mapping[str, str], rank: int) -> bool:
    """Whether a context gives another meaning to a term of one that has its rank, or a higher one."""
    return any(
        terms.meanings.get(term, iri) != iri and terms.ranks.get(term, 0) >= rank
        for term, iri in own.items()
        if (term, iri) != ("odrl", ODRL)  # Catena-X's context gives this prefix another meaning
    )


def _joined(terms: Terms, own: Mapping[str, str], rank: int, *contexts: Path) -> Terms:
    return replace(
        terms,
        meanings={**terms.meanings, **own},
        contexts=(*terms.contexts, *contexts),
        ranks={**terms.ranks, **dict.fromkeys(own, rank)},
        protected=terms.protected | {*own} if any(map(_is_protected, contexts)) else terms.protected,
    )


def _is_protected(context: Path) -> bool:
    return bool(_table(context).get("@protected", False))


def _report_unknown(address: JsonString, findings: Findings) -> None:
    text = address.text
    way_out = next((advice for begin, advice in FAMILIES.items() if text.startswith(begin)), "")
    message = f"the context {quoted(text)} is not a shipped context, and smalti fetches none"
    findings.error(
        "P203", address.place, message, way_out or findings.did_you_mean(text, ADDRESSES) or _wanted()
    )


def _wanted() -> str:
    return f'write "@context": ["{PREFERRED[ODRL_CONTEXT]}", "{PREFERRED[MOSAICROWN_CONTEXT]}"]'


def _odrl_wanted(terms: Terms) -> str:
    """How to add ODRL's context to those that are listed."""
    if CATENAX_CONTEXT in terms.contexts:
        return f'write "{CATENAX_ODRL}" before the context of Catena-X'
    if terms.contexts and max(RANKS[context] for context in terms.contexts) == 0:
        return f'write "{DATASPACE_ODRL}" first in "@context"'
    return _wanted()


# --- Inline contexts


def _with_inline(terms: Terms, inline: JsonObject, here: list[Path], findings: Findings) -> Terms | None:
    """The meanings with what an inline context adds: prefixes, and what says the same again."""
    imported = inline.find("@import")
    after: Terms | None = terms if imported is None else _after(terms, imported.value, here, findings)
    seen: set[str] = set()
    good = after is not None
    after = after or terms
    for member in inline.members:
        name = member.key.text
        if name == "@import":
            continue
        problem = f"the inline context redefines {quoted(name)}" if name in seen else ""
        problem = problem or _inline_problem(member, after)
        seen.add(name)
        if problem:
            help_ = 'an inline context may only add prefixes, as in {"ex": "http://example.com/"}'
            findings.error("P205", member.key.place, problem, help_)
            good = False
        elif isinstance(member.value, JsonString):
            after = _with_member(after, name, member.value.text)
    return after if good else None


def _with_member(terms: Terms, name: str, text: str) -> Terms:
    if name == "@vocab":
        return replace(terms, vocabulary=text)
    return terms if terms.meanings.get(name) == text else _joined(terms, {name: text}, 0)


def _inline_problem(member: Member, terms: Terms) -> str:
    name, value = member.key.text, member.value
    if name.startswith("@"):
        return _keyword_problem(name, value)
    if _says_the_same(name, value, terms):
        return ""
    if name in terms.meanings or any(name in shipped_terms(context) for context in ORDER):
        return f"the inline context redefines {quoted(name)}"
    return _prefix_problem(name, value)


def _prefix_problem(name: str, value: JsonValue) -> str:
    if name.casefold() in SCHEMES or not _PREFIX_NAME.fullmatch(name):
        return f"the inline context defines {quoted(name)}, which is not a valid prefix"
    if not isinstance(value, JsonString):
        return f"the inline context defines {quoted(name)} as more than a prefix"
    if iri_problem(f"{value.text}x") or not value.text.endswith(("/", "#", ":")):
        return (
            f"the prefix {quoted(name)} does not stand for an absolute IRI that ends with `/`, `#` or `:`"
        )
    return ""


def _says_the_same(name: str, value: JsonValue, terms: Terms) -> bool:
    """Whether a definition is that of the context in force; else, of every shipped one with the name."""
    if not isinstance(value, JsonString) or not value.text:
        return False
    if (name, value.text) == ("odrl", ODRL):
        return True
    if name in terms.meanings:
        return terms.meanings[name] in {value.text, terms.expand(value.text)}
    usual = {shipped_terms(context)[name] for context in ORDER if name in shipped_terms(context)}
    return usual == {value.text}


def _keyword_problem(keyword: str, value: JsonValue) -> str:
    match keyword, value:
        case "@vocab", JsonString(text=text) if text == EDC:
            return ""
        case "@vocab", _:
            return f"the default vocabulary is not that of a connector, `{EDC}`"
        case "@version", JsonNumber(text="1.1"):
            return ""
        case "@version", _:
            return "the inline context is of another version of JSON-LD than 1.1"
        case (("@propagate" | "@protected"), JsonNamed(value=True)):
            return ""
    return f"the inline context has the keyword {quoted(keyword)}, which smalti does not support there"


# --- Scoped contexts of the shipped ones


@dataclass(frozen=True, slots=True)
class Scoped:
    """A context that a term brings with it (JSON-LD 1.1, 4.1.8)."""

    terms: Terms
    contexts: tuple[JsonValue, ...]
    """To be processed after those that are in force."""
    is_propagated: bool
    """Whether it holds in nodes inside, too (`@propagate`)."""


def scoped(terms: Terms, word: str, place: Place) -> Scoped | None:
    """The scoped context of a type or a property; None where it has none.

    Args:
        terms: in force.
        word: as the document writes it.
        place: of the word.
    """
    for context in reversed(terms.contexts):
        definition = _table(context).get(word)
        if isinstance(definition, dict) and "@context" in definition:
            own = definition["@context"]
            parts = own if isinstance(own, list) else [own]
            after = terms
            for part in parts:
                after = _with_part(after, part)
            propagated = all(isinstance(part, str) or part.get("@propagate", False) for part in parts)
            return Scoped(after, tuple(_as_json(part, place) for part in parts), propagated)
    return None


def _with_part(terms: Terms, part: str | Mapping[str, Any]) -> Terms:
    """The meanings after a part of a shipped context, which is not checked again."""
    if isinstance(part, str):
        context = ADDRESSES[part]
        return _joined(terms, shipped_terms(context), RANKS[context], context)
    after = _with_part(terms, part["@import"]) if "@import" in part else terms
    after = replace(after, vocabulary=part.get("@vocab", after.vocabulary))
    own = {
        name: value["@id"] if isinstance(value, dict) else value or ""
        for name, value in part.items()
        if not name.startswith("@")
    }
    return _joined(after, {name: after.expand(iri) or "" for name, iri in own.items()}, 0)


def _as_json(part: object, place: Place) -> JsonValue:
    """A part of a shipped context as if the document wrote it."""
    match part:
        case str():
            return JsonString(part, place)
        case bool() | None:
            return JsonNamed(part, place)
        case dict():
            return JsonObject(
                tuple(
                    Member(JsonString(name, place), _as_json(value, place)) for name, value in part.items()
                ),
                place,
            )
        case list():
            return JsonArray(tuple(_as_json(item, place) for item in part), place)
    return JsonNumber(str(part), place)


def without_imports(context: object) -> object:
    """A context, or a list of them, as JSON, with what it imports in place of `@import`.

    PyLD 3.3 writes the terms of a context into its copy of what that imports, so that a later document
    would have them; nothing that it processes imports anything.

    Args:
        context: of a document whose imports were checked, or a shipped one.
    """
    if isinstance(context, list):
        return [without_imports(entry) for entry in context]
    if not isinstance(context, dict):
        return context
    own = {
        name: without_imports(value) if isinstance(value, dict) else value
        for name, value in context.items()
        if name != "@import"
    }
    imported = context.get("@import")
    return {**_table(ADDRESSES[imported]), **own} if isinstance(imported, str) else own


@cache
def documents() -> Mapping[str, object]:
    """The shipped contexts by address, for PyLD, which reads them and must not change them."""
    return {
        address: {"@context": without_imports(_table(context))} for address, context in ADDRESSES.items()
    }


def contexts_of(source: JsonObject) -> Iterable[JsonValue]:
    """The entries of an object's own `@context`."""
    member = source.find("@context")
    return () if member is None else _entries(member.value)
