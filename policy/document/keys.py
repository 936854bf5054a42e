"""Checks every key of a document before expansion, because JSON-LD deletes what it does not know."""

from collections.abc import Iterable
from typing import Final

from smalti.policy.document.context import Terms
from smalti.policy.findings.deprecated import deprecation
from smalti.policy.findings.findings import Findings, quoted
from smalti.policy.model.iris import SCHEMES
from smalti.policy.text.json_text import (
    JsonArray,
    JsonNamed,
    JsonObject,
    JsonString,
    JsonValue,
    Member,
)
from smalti.vocab.odrl import PROPERTIES
from smalti.vocab.terms import EDC

_KEYWORDS: Final = frozenset({"@context", "@id", "@type", "@value", "@list", "@set", "@language"})
_SUGGESTED: Final = PROPERTIES | {"purpose", "@id", "@type"}
_LATER: Final = frozenset({"@graph", "@included", "@reverse"})
_ENVELOPE: Final = f'add {{"@vocab": "{EDC}"}} to the context: a connector writes its policies under it'
_VALUE_KEYWORDS: Final = frozenset({"@value", "@type", "@language"})


def check_keys(policy: JsonObject, terms: Terms, findings: Findings, owns_context: bool = True) -> bool:
    """Report keys that JSON-LD would delete, misread or reject.

    Args:
        policy: the node object at the top.
        terms: the meaning of its words.
        findings: where problems go.
        owns_context: whether `@context` may stand in it.

    Returns:
        Whether the document can be expanded; an unknown key alone does not stop that.
    """
    objects = [value for value in _outside_context(policy) if isinstance(value, JsonObject)]
    good = [_check_object(source, owns_context and source is policy, terms, findings) for source in objects]
    _check_nulls(policy, findings)
    return all(good)


def is_unknown(key: str, terms: Terms) -> bool:
    """Whether expansion would drop the key, or read it as an IRI of an undefined prefix."""
    meaning = terms.expand(key)
    if terms.is_by_default(key):
        return True
    return meaning is None or (not meaning.startswith("@") and meaning.partition(":")[0] not in SCHEMES)


def is_null(value: JsonValue) -> bool:
    """Whether expansion would drop a property with this value."""
    return isinstance(value, JsonNamed) and value.value is None


def _outside_context(value: JsonValue) -> Iterable[JsonValue]:
    """The value and every value inside it that is no part of a context."""
    yield value
    match value:
        case JsonArray(items=items):
            for item in items:
                yield from _outside_context(item)
        case JsonObject(members=members):
            for member in members:
                if member.key.text != "@context":
                    yield from _outside_context(member.value)


def _check_object(source: JsonObject, owns_context: bool, terms: Terms, findings: Findings) -> bool:
    good = True
    seen: dict[str, Member] = {}
    unused = _SUGGESTED - {member.key.text for member in source.members}
    for member in source.members:
        meaning = terms.expand(member.key.text)
        if is_unknown(member.key.text, terms):
            _unknown(member, unused, findings)
        elif meaning in seen:
            first = quoted(seen[meaning].key.text)
            findings.error("P213", member.key.place, f"{quoted(member.key.text)} means the same as {first}")
            good = False
        elif meaning is not None:
            seen[meaning] = member
            good &= not meaning.startswith("@") or _check_keyword(meaning, member, owns_context, findings)
    return good and _check_value_object(source, seen, findings)


def _unknown(member: Member, unused: frozenset[str], findings: Findings) -> None:
    key = member.key.text
    prefix, colon, _ = key.partition(":")
    if colon and prefix not in SCHEMES:
        message = f"no context defines the prefix of {quoted(key)}"
        findings.error("P211", member.key.place, message, "add the context that defines it")
        return
    if reason := deprecation(key):
        findings.error("P206", member.key.place, f"{quoted(key)} is {reason}")
        return
    help_ = _ENVELOPE if key == "policy" else findings.did_you_mean(key, unused)
    findings.error("P206", member.key.place, f"unknown property {quoted(key)}", help_)


def _check_keyword(keyword: str, member: Member, owns_context: bool, findings: Findings) -> bool:
    if keyword == "@context" and not owns_context:
        message = "a context inside a policy would change the meaning of its words"
        findings.error("P205", member.key.place, message, "write one `@context` at the top")
    elif keyword in _LATER:
        findings.not_implemented(member.key.place, f"the JSON-LD keyword {quoted(keyword)}")
    elif keyword not in _KEYWORDS:
        help_ = findings.did_you_mean(keyword, _KEYWORDS)
        findings.error(
            "P207", member.key.place, f"policies do not use the JSON-LD keyword {quoted(keyword)}", help_
        )
    elif not _fits(keyword, member.value):
        what = "one text" if keyword != "@value" else "one text or number"
        findings.error("P210", member.value.place, f"the value of {quoted(member.key.text)} must be {what}")
    else:
        return True
    return False


def _fits(keyword: str, value: JsonValue) -> bool:
    match keyword:
        case "@id" | "@language":
            return isinstance(value, JsonString)
        case "@type":
            items = value.items if isinstance(value, JsonArray) else (value,)
            return all(isinstance(item, JsonString) for item in items)
        case "@value":
            return not isinstance(value, JsonArray | JsonObject)
    return True


def _check_value_object(source: JsonObject, seen: dict[str, Member], findings: Findings) -> bool:
    alone = next((keyword for keyword in ("@list", "@set") if keyword in seen), None)
    if alone is not None and len(source.members) > 1:
        findings.error("P210", source.place, f"{quoted(alone)} excludes other keys in the same object")
        return False
    if "@value" in seen:
        return _check_literal(source, seen, findings)
    if "@language" in seen:
        findings.error("P210", seen["@language"].key.place, "`@language` requires `@value`")
        return False
    return True


def _check_literal(source: JsonObject, seen: dict[str, Member], findings: Findings) -> bool:
    kind = seen.get("@type")
    if (
        len(seen) < len(source.members)
        or set(seen) - _VALUE_KEYWORDS
        or {"@type", "@language"} <= set(seen)
    ):
        findings.error(
            "P210", source.place, "`@value` allows only `@type` or `@language` beside it, not both"
        )
        return False
    if kind is not None and not isinstance(kind.value, JsonString):
        findings.error("P210", kind.value.place, "the `@type` of a value is a single datatype")
        return False
    if "@language" in seen and not isinstance(seen["@value"].value, JsonString):
        findings.error("P210", source.place, "only a text has a language")
        return False
    return True


def _check_nulls(policy: JsonObject, findings: Findings) -> None:
    for value in _outside_context(policy):
        if is_null(value):
            message = "JSON-LD deletes a property whose value is `null`"
            findings.error("P208", value.place, message, "remove it, or write a value")
