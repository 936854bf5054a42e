"""The public part of a policy as an offer of the Dataspace Protocol 2025-1.

It is a dataset of a catalogue with its offer (`hasPolicy`), or, where the rules have several targets, the
message of an offer. What only a connector knows is left to it: distributions, process ids, addresses.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, TypeVar

from smalti.errors import PolicyError
from smalti.policy.decide.authorize import prepare
from smalti.policy.decide.hierarchies import STANDARD, Hierarchies
from smalti.policy.decide.wording import void
from smalti.policy.document.context import shipped_terms
from smalti.policy.model.binding import UNBOUND
from smalti.policy.model.meaning import is_generated, meaning_digest
from smalti.policy.model.model import Asset, Duty, Party, Policy, PolicyType, Rule, Shared
from smalti.policy.model.nesting import with_duties, with_rules
from smalti.policy.model.public_part import public_part
from smalti.policy.say.serialize import policy_object
from smalti.policy.text.json_text import (
    JsonArray,
    JsonObject,
    JsonString,
    JsonValue,
    Member,
    Place,
)
from smalti.policy.text.layout import lay_out
from smalti.vocab.contexts import DATASPACE_ODRL_CONTEXT
from smalti.vocab.terms import DPV, IRI, MOSAICROWN, ODRL, RDF, SMALTI

R = TypeVar("R", bound=Rule)

_NOWHERE: Final = Place(0, 0, "")
_CONTEXT: Final = "https://w3id.org/dspace/2025/1/context.jsonld"
_PREFIXES: Final = {"mosaicrown": MOSAICROWN, "smalti": SMALTI, "dpv": DPV, "rdf": RDF}
"""Those that the protocol's context does not define."""
_TERMS: Final = shipped_terms(DATASPACE_ODRL_CONTEXT)
_OF_WORDS: Final = frozenset({"action", "leftOperand", "operator", "@type"})
"""The keys whose texts are words."""


def offer_document(policy: Policy, hierarchies: Hierarchies = STANDARD) -> bytes:
    """The public part of a policy as a document of the Dataspace Protocol.

    Args:
        policy: of the owner; it may leave the assignee open, whom a negotiation binds.
        hierarchies: what includes what.

    Raises:
        PolicyError: the policy is an Agreement, leaves its target or assigner open, has an action that
            its own document defines, or is void.
    """
    _check(policy, hierarchies)
    offer = replace(_without_open_assignee(public_part(policy)), type=PolicyType.OFFER)
    if is_generated(offer.uid):
        offer = replace(offer, uid=IRI(f"urn:smalti:offer:{meaning_digest(offer)}"))
    body = _translated(policy_object(replace(offer, shared=_shared(offer))))
    return lay_out(_message(body, _dataset(offer))).encode()


def _check(policy: Policy, hierarchies: Hierarchies) -> None:
    where = str(policy.where)
    if policy.type is PolicyType.AGREEMENT:
        raise PolicyError(where, "an Agreement is no offer", "the owner's policy, template or Offer")
    if policy.inclusions:
        problem = "the policy defines an action, which an offer cannot carry"
        raise PolicyError(where, problem, "actions of a profile", "define the action in a vocabulary")
    for name in ("target", "assigner"):
        if any(_is_open(getattr(rule, f"{name}s"), rule, name) for rule in policy.rules):
            way_out = f"bind it: --bind {name}=IRI"
            raise PolicyError(
                where, f"the policy leaves open its {name}", f"an offer with its {name}", way_out
            )
    contradiction = prepare(policy, hierarchies).conflict
    if contradiction is not None:
        raise PolicyError(
            where,
            void(policy, contradiction),
            "a policy that grants something",
            "remove one of the two rules, or state another conflict strategy",
        )


def _is_open(parts: Sequence[Asset | Party], rule: Rule, name: str) -> bool:
    may_lack = isinstance(rule, Duty) and name == "target"
    return (not parts and not may_lack) or any(part.iri.startswith(UNBOUND) for part in parts)


def _without_open_assignee(policy: Policy) -> Policy:
    def closed(rule: R) -> R:
        assignees = tuple(party for party in rule.assignees if not party.iri.startswith(UNBOUND))
        return with_duties(replace(rule, assignees=assignees), closed)

    return with_rules(policy, closed)


def _shared(offer: Policy) -> Shared:
    """The target and the parties that all rules have."""
    first, *others = offer.rules
    return Shared(
        targets=first.targets if all(rule.targets == first.targets for rule in others) else (),
        assigners=first.assigners if all(rule.assigners == first.assigners for rule in others) else (),
        assignees=first.assignees if all(rule.assignees == first.assignees for rule in others) else (),
    )


def _dataset(offer: Policy) -> IRI | None:
    """The one asset that all rules are about; None where it is not one."""
    targets = _shared(offer).targets
    return targets[0].iri if len(targets) == 1 and not targets[0].refinements else None


def _message(offer: JsonObject, dataset: IRI | None) -> JsonObject:
    if dataset is None:
        return _object(
            ("@context", _contexts(offer)), ("@type", _string("ContractOfferMessage")), ("offer", offer)
        )
    members = tuple(member for member in offer.members if member.key.text != "target")
    inside = JsonObject(members, _NOWHERE)  # the protocol forbids a target there: it is the dataset
    return _object(
        ("@context", _contexts(offer)),
        ("@id", _string(dataset)),
        ("@type", _string("Dataset")),
        ("hasPolicy", JsonArray((inside,), _NOWHERE)),
    )


def _contexts(offer: JsonObject) -> JsonValue:
    text = lay_out(offer)
    prefixes = [(name, _string(iri)) for name, iri in _PREFIXES.items() if f'"{name}:' in text]
    inline = (_object(*prefixes),) if prefixes else ()
    return JsonArray((_string(_CONTEXT), *inline), _NOWHERE)


# --- From the canonical document to the protocol's words


def _translated(value: JsonObject) -> JsonObject:
    members = (
        _member(member.key.text, member.value) for member in value.members if member.key.text != "@context"
    )
    return _object(*members)


def _member(key: str, value: JsonValue) -> tuple[str, JsonValue]:
    if key == "uid":
        return "@id", value
    if key == "purpose":
        return "constraint", JsonArray((_purposes(value),), _NOWHERE)
    if key in _OF_WORDS:
        return key, _each(value, _word)
    if key in _TERMS or key.startswith("@") or ":" in key:
        return key, _each(value, None)
    return f"odrl:{key}", _each(value, _reference)


def _purposes(value: JsonValue) -> JsonObject:
    items: tuple[JsonValue, ...] = value.items if isinstance(value, JsonArray) else (value,)
    return _object(
        ("leftOperand", _string("odrl:purpose")),
        ("operator", _string("isAnyOf")),
        ("rightOperand", _each(JsonArray(items, _NOWHERE), _reference)),
    )


def _each(value: JsonValue, change: Callable[[str], JsonValue] | None) -> JsonValue:
    """A value whose texts are changed, and whose objects are translated."""
    match value:
        case JsonArray(items=items):
            changed: list[JsonValue] = [_each(item, change) for item in items]
            return JsonArray(tuple(changed), _NOWHERE)
        case JsonObject():
            return _translated(value)
        case JsonString(text=text) if change is not None:
            return change(text)
    return value


def _word(text: str) -> JsonString:
    """A word as the protocol's context defines it, or with ODRL's prefix."""
    name = text.removeprefix("odrl:")
    is_term = name in _TERMS and _TERMS[name] == ODRL + name
    return _string(name if is_term or ":" in name else f"odrl:{name}")


def _reference(text: str) -> JsonObject:
    """The IRI that a text stands for, where no context says that it is one."""
    return _object(("@id", _string(text if ":" in text else f"odrl:{text}")))


def _object(*members: tuple[str, JsonValue]) -> JsonObject:
    return JsonObject(tuple(Member(_string(key), value) for key, value in members), _NOWHERE)


def _string(text: str) -> JsonString:
    return JsonString(text, _NOWHERE)
