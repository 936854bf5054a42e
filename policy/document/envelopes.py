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
from smalti.policy.document.nodes import Name, Stated
from smalti.policy.document.unread import items_of, report_look_alikes, report_unread
from smalti.policy.findings.findings import Findings, quoted
from smalti.policy.model.iris import respelled
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
    UID,
)

_POLICIES: Final = frozenset({EDC_POLICY, DSPACE + "offer", DSPACE + "agreement", HAS_POLICY})
_CATALOGUE: Final = DCAT + "catalog"
_CONTAINERS: Final = frozenset({DCAT + "dataset", _CATALOGUE})
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
_NAMES: Final = frozenset({"@id", UID})
_NAMING: Final = frozenset({"@id", "@value", "@set", "@list"})
"""Keywords of a value under which its name may stand."""
_ELSEWHERE: Final = frozenset({"@nest", "@included", "@graph", "@reverse"})
"""Keywords under which members of an envelope may stand as well."""
_MOST_DEEP: Final = 8
"""Catalogues inside catalogues."""


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
    """The policies inside an envelope; None where the object is no envelope, and does not look like one.

    Args:
        source: an object at the top of a document.
        findings: where problems go, a policy at a place where none is read among them.
    """
    quiet = findings.apart()
    around = _entered(source, _Around(Terms()), quiet)
    if around is None:
        return None
    if not _is_envelope(source, around[0]):
        return [] if report_look_alikes(source, findings) else None
    enclosed = list(_enclosed(source, _Around(Terms()), findings, 0))
    stated = {(each.part, each.name.written) for policy in enclosed for each in policy.stated}
    report_unread(source, [each.policy for each in enclosed], stated, findings)
    return enclosed


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
            yield from (value for value in items_of(member.value) if isinstance(value, JsonString))


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
    for value in items_of(member.value):
        if isinstance(value, JsonObject) and any(inner.key.text != "@id" for inner in value.members):
            yield value


def _enclosed(
    source: JsonObject, around: _Around, findings: Findings, depth: int, *, is_catalogue: bool = False
) -> Iterator[Enclosed]:
    """The policies of an envelope; a catalogue in another one says itself whose its policies are."""
    entered = _entered(source, around, findings)
    if entered is None:
        return
    here, inside = entered
    own = tuple(_stated(source, here.terms, findings))
    parts = {each.part for each in own} if is_catalogue else set()
    outer = tuple(each for each in around.stated if each.part not in parts)
    stated = _joined(outer, own, findings)
    for member in source.members:
        meaning = here.terms.expand(member.key.text)
        inner = replace(inside, stated=stated).within(scoped(here.terms, member.key.text, member.key.place))
        if meaning in _POLICIES:
            about = tuple(_dataset(source, here.terms, findings)) if meaning == HAS_POLICY else ()
            all_stated = _joined(stated, about, findings)
            policies = [*_described(member)]
            if meaning != HAS_POLICY and len(policies) > 1:
                message = f"{quoted(member.key.text)} contains {len(policies)} policies, where one is meant"
                help_ = "write each policy into a document of its own"
                findings.error("P342", policies[1].place, message, help_)
            for policy in policies:
                yield Enclosed(policy, inner.terms, inner.contexts, all_stated)
        elif meaning in _CONTAINERS:
            yield from _in_container(member, inner, findings, depth, is_catalogue=meaning == _CATALOGUE)


def _in_container(
    member: Member, around: _Around, findings: Findings, depth: int, *, is_catalogue: bool
) -> Iterator[Enclosed]:
    if depth == _MOST_DEEP:
        message = f"catalogues stand in each other more than {_MOST_DEEP} deep"
        findings.error("P104", member.key.place, message, "split the document")
        return
    for source in _described(member):
        yield from _enclosed(source, around, findings, depth + 1, is_catalogue=is_catalogue)


def _joined(around: tuple[Stated, ...], own: tuple[Stated, ...], findings: Findings) -> tuple[Stated, ...]:
    """What both places state; an error where they name two for one part."""
    joined = {each.part: each for each in around}
    for each in own:
        first = joined.setdefault(each.part, each)
        if first.name.iri != each.name.iri:
            word = each.part.rpartition("/")[2]
            line = findings.where(first.name.place).line
            message = (
                f"{quoted(each.name.written)} is not the {word} that the document states at line {line},"
                f" {quoted(first.name.written)}"
            )
            help_ = f"name the same {word} at both places, or at one of them alone"
            findings.error("P340", each.name.place, message, help_)
    return tuple(joined.values())


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
        if terms.expand(member.key.text) in _NAMES:
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
    return Name(respelled(iri) if iri else BASE + text, text, written.place)
