"""Finds the policies inside a document of a data space, and what it says about their target and parties.

| member | of | holds |
|---|---|---|
| `edc:policy` | EDC's `PolicyDefinition`, `ContractRequest`, `ContractAgreement` | a policy |
| `dspace:offer`, `dspace:agreement` | messages of the Dataspace Protocol | a policy |
| `odrl:hasPolicy` | a dataset of a catalogue (DCAT) | policies about the dataset |
| `dcat:dataset`, `dcat:catalog` | a catalogue | datasets, other catalogues |

Of the rest of an envelope, the members of `_STATED` name the target or a party of its policies; all
else has no part in their meaning.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from smalti.policy.document.context import (
    Scoped,
    Terms,
    contexts_of,
    extended,
    scoped,
)
from smalti.policy.document.expansion import BASE
from smalti.policy.document.nodes import Name
from smalti.policy.findings.findings import Findings, quoted
from smalti.policy.text.json_text import JsonArray, JsonObject, JsonString, JsonValue, Member
from smalti.vocab.terms import (
    ASSIGNEE,
    ASSIGNER,
    DCAT,
    DSPACE,
    EDC,
    EDC_POLICY,
    HAS_POLICY,
    IRI,
    OBLIGATION,
    PERMISSION,
    PROHIBITION,
    TARGET,
)

_POLICIES: Final = frozenset({EDC_POLICY, DSPACE + "offer", DSPACE + "agreement", HAS_POLICY})
_CONTAINERS: Final = frozenset({DCAT + "dataset", DCAT + "catalog"})
_RULES: Final = frozenset({PERMISSION, PROHIBITION, OBLIGATION})
_STATED: Final[dict[str, IRI]] = {
    EDC + "providerId": ASSIGNER,
    EDC + "consumerId": ASSIGNEE,
    EDC + "assetId": TARGET,
    EDC + "participantId": ASSIGNER,
    DSPACE + "participantId": ASSIGNER,
}
"""What members of an envelope say about the rules of its policies."""
_REQUEST: Final = EDC + "ContractRequest"
_COUNTER_PARTY: Final = EDC + "counterPartyId"
"""Of a request for a contract, the provider."""
_NAMING: Final = frozenset({"@id", "@value", "@set", "@list"})
"""Keywords of a value under which its name may stand."""
_ELSEWHERE: Final = frozenset({"@nest", "@included", "@graph", "@reverse"})
"""Keywords under which members of an envelope may stand as well."""
_MOST_DEEP: Final = 8
"""Catalogues inside catalogues."""


@dataclass(frozen=True, slots=True)
class Stated:
    """What an envelope says about one part of every rule of its policies."""

    part: IRI
    """`odrl:target`, `odrl:assigner` or `odrl:assignee`."""
    name: Name


@dataclass(frozen=True, slots=True)
class Enclosed:
    """A policy in its envelope."""

    policy: JsonObject
    terms: Terms
    """The meanings of words around the policy."""
    contexts: tuple[JsonValue, ...]
    """Those in force around it, in order."""
    stated: tuple[Stated, ...]


@dataclass(frozen=True, slots=True)
class _Around:
    terms: Terms
    contexts: tuple[JsonValue, ...] = ()
    stated: tuple[Stated, ...] = ()

    def within(self, inner: Scoped | None) -> "_Around":
        if inner is None:
            return self
        return replace(self, terms=inner.terms, contexts=(*self.contexts, *inner.contexts))


def enclosed_policies(source: JsonObject, findings: Findings) -> list[Enclosed] | None:
    """The policies inside an envelope; None where the object is no envelope.

    Args:
        source: an object at the top of a document.
        findings: where problems go; the list is empty after an error.
    """
    quiet = Findings(findings.document, findings.text)
    around = _entered(source, _Around(Terms()), quiet)
    if around is None or not _is_envelope(source, around[0]):
        return None
    return list(_enclosed(source, _Around(Terms()), findings, 0))


@dataclass(frozen=True, slots=True)
class Message:
    """What an object at the top of a document is, and what it and the policies in it say."""

    types: frozenset[str]
    """Of the object, as IRIs."""
    members: tuple[tuple[str, JsonValue], ...]
    """Of the object and of the policies, by the IRI or keyword of the word."""


def message_of(source: JsonObject, findings: Findings) -> Message | None:
    """What the object at the top of a document says; None after an error in its contexts."""
    entered = _entered(source, _Around(Terms()), findings)
    if entered is None:
        return None
    terms = entered[0].terms
    types = frozenset(filter(None, (terms.expand(name.text) for name in _types(source, terms))))
    members = [*_meanings(source, terms)]
    for each in enclosed_policies(source, findings) or ():
        context = each.policy.find("@context")
        own = each.terms if context is None else extended(each.terms, context.value, findings)
        members += _meanings(each.policy, own or each.terms)
    return Message(types, tuple(members))


def _meanings(source: JsonObject, terms: Terms) -> Iterator[tuple[str, JsonValue]]:
    for member in source.members:
        meaning = terms.expand(member.key.text)
        if meaning is not None:
            yield meaning, member.value


def _entered(source: JsonObject, around: _Around, findings: Findings) -> tuple[_Around, _Around] | None:
    """What holds for the members of an object, and inside them; None after an error."""
    member = source.find("@context")
    terms = around.terms if member is None else extended(around.terms, member.value, findings)
    if terms is None:
        return None
    here = inside = replace(around, terms=terms, contexts=(*around.contexts, *contexts_of(source)))
    for type_ in sorted(_types(source, terms), key=lambda name: name.text):  # JSON-LD 1.1 API, 5.1.2, 11
        inner = scoped(terms, type_.text, type_.place)
        here = here.within(inner)
        if inner is not None and inner.is_propagated:
            inside = inside.within(inner)
    return here, inside


def _types(source: JsonObject, terms: Terms) -> Iterator[JsonString]:
    for member in source.members:
        if terms.expand(member.key.text) == "@type":
            yield from (value for value in _items(member.value) if isinstance(value, JsonString))


def _items(value: JsonValue) -> tuple[JsonValue, ...]:
    return value.items if isinstance(value, JsonArray) else (value,)


def _is_envelope(source: JsonObject, here: _Around) -> bool:
    meanings = {here.terms.expand(member.key.text) for member in source.members}
    if meanings & _RULES:
        return False
    return any(
        here.terms.expand(member.key.text) in _POLICIES | _CONTAINERS and any(_described(member))
        for member in source.members
    )


def _described(member: Member) -> Iterator[JsonObject]:
    """The objects of a member that say more than a name."""
    for value in _items(member.value):
        if isinstance(value, JsonObject) and any(inner.key.text != "@id" for inner in value.members):
            yield value


def _enclosed(source: JsonObject, around: _Around, findings: Findings, depth: int) -> Iterator[Enclosed]:
    entered = _entered(source, around, findings)
    if entered is None:
        return
    here, inside = entered
    stated = (*around.stated, *_stated(source, here.terms, findings))
    for member in source.members:
        meaning = here.terms.expand(member.key.text)
        inner = replace(inside, stated=stated).within(scoped(here.terms, member.key.text, member.key.place))
        if meaning in _POLICIES:
            about = _dataset(source, here.terms, findings) if meaning == HAS_POLICY else ()
            for policy in _described(member):
                yield Enclosed(policy, inner.terms, inner.contexts, (*stated, *about))
        elif meaning in _CONTAINERS:
            yield from _in_container(member, inner, findings, depth)


def _in_container(member: Member, around: _Around, findings: Findings, depth: int) -> Iterator[Enclosed]:
    if depth == _MOST_DEEP:
        message = f"catalogues stand in each other more than {_MOST_DEEP} deep"
        findings.error("P104", member.key.place, message, "split the document")
        return
    for source in _described(member):
        yield from _enclosed(source, around, findings, depth + 1)


def _stated(source: JsonObject, terms: Terms, findings: Findings) -> Iterator[Stated]:
    """What the members of an envelope state; an error for each that states nothing that can be read.

    A party that is left out would be anybody, and a target anything.
    """
    is_request = _REQUEST in {terms.expand(name.text) for name in _types(source, terms)}
    for member in source.members:
        meaning = terms.expand(member.key.text) or ""
        part = ASSIGNER if is_request and meaning == _COUNTER_PARTY else _STATED.get(meaning)
        if part is not None:
            yield from _stated_part(part, member, terms, findings)
        elif meaning in _ELSEWHERE:
            message = f"{quoted(member.key.text)} is not understood around a policy"
            findings.error("P340", member.key.place, message, "write its members beside the policy")


def _dataset(source: JsonObject, terms: Terms, findings: Findings) -> Iterator[Stated]:
    """The dataset is the target of its policies (ODRL IM 2.2.4)."""
    for member in source.members:
        if terms.expand(member.key.text) == "@id":
            yield from _stated_part(TARGET, member, terms, findings)


def _stated_part(part: IRI, member: Member, terms: Terms, findings: Findings) -> Iterator[Stated]:
    written = _written(member.value, terms)
    if written is not None:
        yield Stated(part, _name(written, terms))
        return
    word = part.rpartition("/")[2]
    message = f"{quoted(member.key.text)} states the {word} of the policy, and does not name exactly one"
    findings.error("P340", member.value.place, message, "write the IRI of one, or leave the member out")


def _written(value: JsonValue, terms: Terms) -> JsonString | None:
    """The one name that a value gives, in any way in which JSON-LD may write it; None: there is no such."""
    if isinstance(value, JsonArray):
        return _written(value.items[0], terms) if len(value.items) == 1 else None
    if isinstance(value, JsonObject):
        named = [member for member in value.members if terms.expand(member.key.text) in _NAMING]
        return _written(named[0].value, terms) if len(named) == 1 else None
    return value if isinstance(value, JsonString) and value.text.strip() else None


def _name(written: JsonString, terms: Terms) -> Name:
    text = written.text
    iri = terms.expand(text) if ":" in text else None
    return Name(iri or BASE + text, text, written.place)
