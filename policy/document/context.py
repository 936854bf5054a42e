"""What the words of one document mean: its `@context`, checked against the shipped contexts."""

import json
import re
from collections.abc import Container
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from smalti.policy.findings.findings import Findings, quoted
from smalti.policy.model.iris import SCHEMES, iri_problem
from smalti.policy.text.json_text import JsonArray, JsonObject, JsonString, JsonValue, Member, Place
from smalti.vocab.contexts import ADDRESSES, MOSAICROWN_CONTEXT, ODRL_CONTEXT, ORDER, PREFERRED

_PREFIX_ENDS: Final = (":", "/", "?", "#", "[", "]", "@")
_PREFIX_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*")


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms that a document may use, with the IRI or keyword of each."""

    meanings: dict[str, str]
    has_mosaicrown: bool

    def expand(self, word: str) -> str | None:
        """The absolute IRI or keyword of a word; None when no context defines it (JSON-LD 1.1 API, 5.2)."""
        if word.startswith("@"):
            return word
        if word in self.meanings:
            return self.meanings[word]
        prefix, colon, suffix = word.partition(":")
        if not colon:
            return None
        namespace = self.meanings.get(prefix, "")
        if namespace.endswith(_PREFIX_ENDS) and not suffix.startswith("//"):
            return namespace + suffix
        return word

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


NO_TERMS: Final = Terms({}, False)
"""The words of an expanded document: none, since it writes all IRIs in full."""


@cache
def shipped_terms(context: Path) -> dict[str, str]:
    """The terms of a shipped context, with their IRIs in full."""
    table = json.loads(context.read_text(encoding="utf-8"))["@context"]
    flat = {term: value if isinstance(value, str) else value["@id"] for term, value in table.items()}
    return {term: _in_full(iri, flat) for term, iri in flat.items()}


def _in_full(iri: str, flat: dict[str, str]) -> str:
    prefix, _, name = iri.partition(":")
    return flat[prefix] + name if prefix in flat and not name.startswith("//") else iri


def read_context(policy: JsonObject, findings: Findings) -> Terms | None:
    """Check a policy's `@context`, and return the meanings of its words; None after an error."""
    member = policy.find("@context")
    if member is None:
        message = "`@context` is missing, so the words of this policy have no meaning"
        findings.error("P202", policy.place, message, _wanted())
        return None
    entries = member.value.items if isinstance(member.value, JsonArray) else (member.value,)
    contexts = [c for entry in entries if (c := _shipped(entry, findings)) is not None]
    prefixes = _prefixes(entries, findings)
    good = _check_order(contexts, member.value.place, findings)
    all_shipped = len(contexts) == sum(not isinstance(entry, JsonObject) for entry in entries)
    if not good or not all_shipped or prefixes is None:
        return None
    meanings = {term: iri for context in contexts for term, iri in shipped_terms(context).items()}
    return Terms(meanings | prefixes, MOSAICROWN_CONTEXT in contexts)


def _wanted() -> str:
    return f'write "@context": ["{PREFERRED[ODRL_CONTEXT]}", "{PREFERRED[MOSAICROWN_CONTEXT]}"]'


def _shipped(entry: JsonValue, findings: Findings) -> Path | None:
    if isinstance(entry, JsonObject):
        return None
    if not isinstance(entry, JsonString):
        findings.error("P203", entry.place, "a context is named by its address", _wanted())
        return None
    if entry.text not in ADDRESSES:
        message = f"the context {quoted(entry.text)} is not a shipped context, and smalti fetches none"
        findings.error(
            "P203", entry.place, message, findings.did_you_mean(entry.text, ADDRESSES) or _wanted()
        )
        return None
    return ADDRESSES[entry.text]


def _check_order(contexts: list[Path], place: Place, findings: Findings) -> bool:
    help_ = "list ODRL's context first, then MOSAICrOWN's, then smalti's, each once"
    if ODRL_CONTEXT not in contexts:
        if not findings.has_errors:
            findings.error("P202", place, "ODRL's context is not listed", _wanted())
        return False
    if contexts != [context for context in ORDER if context in contexts]:
        message = "the contexts are out of order: one would redefine words of another"
        findings.error("P204", place, message, help_)
        return False
    return True


def _prefixes(entries: tuple[JsonValue, ...], findings: Findings) -> dict[str, str] | None:
    """The prefixes that the document adds; None after an error."""
    prefixes: dict[str, str] = {}
    good = True
    for entry in entries:
        for member in entry.members if isinstance(entry, JsonObject) else ():
            problem = _prefix_problem(member, prefixes)
            if problem:
                help_ = 'an inline context may only add prefixes, as in {"ex": "http://example.com/"}'
                findings.error("P205", member.key.place, problem, help_)
                good = False
            elif isinstance(member.value, JsonString):
                prefixes[member.key.text] = member.value.text
    return prefixes if good else None


def _prefix_problem(member: Member, seen: Container[str]) -> str:
    name, value = member.key.text, member.value
    if name in seen or any(name in shipped_terms(context) for context in ORDER):
        return f"the inline context redefines {quoted(name)}"
    if name.casefold() in SCHEMES or not _PREFIX_NAME.fullmatch(name):
        return f"the inline context defines {quoted(name)}, which is not a valid prefix"
    if not isinstance(value, JsonString):
        return f"the inline context defines {quoted(name)} as more than a prefix"
    if iri_problem(f"{value.text}x") or not value.text.endswith(("/", "#", ":")):
        return (
            f"the prefix {quoted(name)} does not stand for an absolute IRI that ends with `/`, `#` or `:`"
        )
    return ""
