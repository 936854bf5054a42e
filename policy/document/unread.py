"""What an envelope says of policies at places where nothing is read: each is an error.

A policy that is not read may prohibit; a party or a target that is not read would be anybody, or anything.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Final

from smalti.policy.findings.findings import Findings, quoted
from smalti.policy.model.iris import respelled
from smalti.policy.text.json_text import (
    JsonArray,
    JsonNamed,
    JsonObject,
    JsonString,
    JsonValue,
    Member,
)
from smalti.vocab.terms import (
    ASSIGNEE,
    ASSIGNEE_OF,
    ASSIGNER,
    ASSIGNER_OF,
    EDC,
    HAS_POLICY,
    INHERIT_FROM,
    IRI,
    OBLIGATION,
    ODRL,
    PERMISSION,
    PROHIBITION,
    TARGET,
    UID,
)

_HELP: Final = "write each policy in `hasPolicy` of its dataset, or in a document of its own"


def _local(word: str) -> str:
    """A word without its prefix or namespace: what stands there may be meant, whatever the context says.

    `ConsumerId` and `consumer_id` may be meant for `consumerId`: spellings are made alike.
    """
    text = respelled(word)
    return text[max(map(text.rfind, ":/#")) + 1 :].replace("_", "").replace("-", "").casefold()


_RULES: Final = frozenset(map(_local, (PERMISSION, PROHIBITION, OBLIGATION, INHERIT_FROM)))
_POLICIES: Final = _local(HAS_POLICY)
_PARTS: Final = frozenset(map(_local, (TARGET, ASSIGNER, ASSIGNEE, ASSIGNER_OF, ASSIGNEE_OF)))
_REPORTED: Final = _RULES | {_POLICIES}
_OUTSIDE: Final = frozenset({_POLICIES, _local(UID)})
"""ODRL's words that stand around policies, too."""


_NAMING: Final = {_local("consumerId"): ASSIGNEE, _local("assetId"): TARGET}
"""Words of connectors without which a policy would be for anybody, or about anything."""
_SPELLED: Final = {_local(word): f"`{word}`" for word in ("consumerId", "assetId")}


_OF_PROVIDERS: Final = {word.casefold(): word for word in ("providerId", "participantId", "counterPartyId")}
"""Words of connectors for the assigner; ids of other things are spelled like them, but for underscores."""
_HOLDERS: Final = {
    word.casefold(): word for word in ("policy", "offer", "agreement", "hasPolicy", "dataset", "catalog")
}
"""Words of envelopes in which policies stand."""


def _is_of_rules(word: str) -> bool:
    """Whether a word, by its name or by its prefix, may be ODRL's for what is said of rules."""
    is_odrl = respelled(word).startswith((ODRL, "odrl:"))
    return _local(word) in _PARTS or (is_odrl and _local(word) not in _OUTSIDE | _RULES)


def report_unread(
    envelope: JsonObject,
    read: Collection[JsonObject],
    stated: Collection[tuple[IRI, str]],
    findings: Findings,
) -> None:
    """Report each policy inside an envelope that is not read or only named, and what is said of its rules.

    Args:
        envelope: an object at the top of a document.
        read: the policies in it that are read.
        stated: the parts of rules that are read, with their names as they are written.
        findings: where errors go.
    """
    own, has_errors = frozenset(map(id, read)), findings.has_errors
    for member in _members(envelope, own):
        word = quoted(member.key.text)
        if _local(member.key.text) in _RULES:
            message = f"{word} stands at a place of this document where no rule is read"
            findings.error("P342", member.key.place, message, _HELP)
        elif _is_of_rules(member.key.text):
            message = f"{word} stands around the policies of this document, where it is not read"
            findings.error("P342", member.key.place, message, "write it in the policy that it is about")
        elif not has_errors and _is_unread_name(member, stated):
            message = f"{word} does not state whom or what the policies of this document are about, here"
            help_ = f"write {_SPELLED[_local(member.key.text)]} of `{EDC}`, beside the policy"
            findings.error("P342", member.key.place, message, help_)
        elif not has_errors and (right := _other_case(member.key.text, _OF_PROVIDERS)):
            message = f"{word} does not state whose the policies of this document are"
            findings.error("P342", member.key.place, message, f"write `{right}`")
        values = items_of(member.value)
        holds_policies = _local(member.key.text) == _POLICIES or any(id(value) in own for value in values)
        for value in values if holds_policies else ():
            if id(value) not in own:
                message = f"a policy in {word} is not read: it is only named, or no dataset has it"
                findings.error("P342", value.place, message, _HELP)


def report_look_alikes(source: JsonObject, findings: Findings) -> bool:
    """Report members that look like those of an envelope and have policies inside; whether there are any.

    Args:
        source: an object at the top of a document, which is no envelope.
        findings: where errors go.
    """
    if any(_local(member.key.text) in _RULES for member in source.members):
        return False
    alike = [
        (member.key, right)
        for member in source.members
        if (right := _other_case(member.key.text, _HOLDERS)) and _has_policies(member.value)
    ]
    for key, right in alike:
        findings.error(
            "P342", key.place, f"the policies in {quoted(key.text)} are not read", f"write `{right}`"
        )
    return bool(alike)


def _has_policies(value: JsonValue) -> bool:
    return any(_local(member.key.text) in _REPORTED for member in _members(value, frozenset()))


def _other_case(word: str, words: Mapping[str, str]) -> str | None:
    """The word among some that another is but for its case; None: it is none, or is the word itself."""
    text = word[max(map(word.rfind, ":/#")) + 1 :]
    right = words.get(text.casefold())
    return None if right == text else right


def _members(value: JsonValue, read: frozenset[int]) -> Iterator[Member]:
    """All members of a value and below, but for contexts, policies that are read, and what is reported."""
    if isinstance(value, JsonArray):
        for item in value.items:
            yield from _members(item, read)
    if not isinstance(value, JsonObject) or id(value) in read:
        return
    for member in value.members:
        if member.key.text == "@context":
            continue
        yield member
        if _local(member.key.text) not in _REPORTED:
            yield from _members(member.value, read)


def _is_unread_name(member: Member, stated: Collection[tuple[IRI, str]]) -> bool:
    """Whether a member names a party or an asset, in another namespace or at a place where none is read."""
    part = _NAMING.get(_local(member.key.text))
    return part is not None and not any((part, text) in stated for text in _texts(member.value))


def _texts(value: JsonValue) -> Iterator[str]:
    if isinstance(value, JsonString):
        yield value.text
    elif isinstance(value, JsonObject):
        for member in value.members:
            yield from _texts(member.value)
    elif isinstance(value, JsonArray):
        for item in value.items:
            yield from _texts(item)


def items_of(value: JsonValue) -> tuple[JsonValue, ...]:
    """The values of a member: one, those of a list, or those of a set that is written as an object."""
    if isinstance(value, JsonNamed) and value.value is None:
        return ()
    if isinstance(value, JsonObject) and [member.key.text for member in value.members] == ["@set"]:
        return items_of(value.members[0].value)
    return value.items if isinstance(value, JsonArray) else (value,)
