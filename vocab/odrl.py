"""The names of ODRL 2.2's vocabulary, by kind (ODRL Vocabulary & Expression 2.2, sections 3 and 4).

Each is a local name in `http://www.w3.org/ns/odrl/2/`. Not every name is implemented: with these tables a
diagnostic says "not implemented yet" of a word of ODRL, and "did you mean" of a misspelt one.
"""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from smalti.vocab.terms import CATENAX, IRI, MOSAICROWN, ODRL, SMALTI


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


ACTIONS: Final = _names(
    """
    acceptTracking aggregate annotate anonymize archive attribute compensate concurrentUse delete derive
    digitize display distribute ensureExclusivity execute extract give grantUse include index inform install
    modify move nextPolicy obtainConsent play present print read reproduce reviewPolicy sell stream
    synchronize textToSpeech transfer transform translate uninstall use watermark"""
)

CORE_ACTIONS: Final = frozenset({"use", "transfer"})
"""The actions of the core vocabulary; a policy with another one names a profile (ODRL IM 2.1)."""

_PARENTS_OTHER_THAN_USE: Final = {
    "display": "play",
    "extract": "reproduce",
    "give": "transfer",
    "sell": "transfer",
}


def _action_parents() -> Mapping[IRI, tuple[IRI, ...]]:
    parents: dict[IRI, tuple[IRI, ...]] = {
        IRI(ODRL + name): (IRI(ODRL + _PARENTS_OTHER_THAN_USE.get(name, "use")),)
        for name in sorted(ACTIONS - CORE_ACTIONS)
    }
    parents[IRI(ODRL + "use")] = parents[IRI(ODRL + "transfer")] = ()
    parents[IRI(SMALTI + "train")] = (IRI(ODRL + "derive"),)
    parents[IRI(SMALTI + "audit")] = (IRI(ODRL + "use"),)
    parents[IRI(MOSAICROWN + "write")] = (IRI(ODRL + "use"),)
    parents[IRI(MOSAICROWN + "sell")] = (IRI(ODRL + "transfer"),)
    parents[IRI(MOSAICROWN + "sellreport")] = (IRI(MOSAICROWN + "sell"),)
    parents[IRI(CATENAX + "access")] = (IRI(ODRL + "use"),)
    return MappingProxyType(parents)


ACTION_PARENTS: Final = _action_parents()
"""The actions that each known action is directly included in (`odrl:includedIn`; ODRL IM 2.4).

MOSAICrOWN's `use` and `read` are aliases of ODRL's; its `write` stands under `use` as there. Its `sell`
stands under `transfer` here, as ODRL's does, since each action leads up to `use` or `transfer`. Catena-X's
`access`, to see an offer, stands under `use` as there.
"""


class Measured(StrEnum):
    """The kind of value that a left operand of ODRL is compared with."""

    WHOLE_NUMBER = "a whole number"
    NUMBER = "a number"
    PERCENTAGE = "a number from 0 to 100"
    MOMENT = "a date or a date with time"
    DURATION = "a duration"
    IDENTIFIED = "an IRI"
    NAMED = "an IRI or a text"
    TEXT = "a text"
    VERSION = "a number or a text"
    EVENT = "an IRI, a date or a date with time"
    PURPOSE = "a purpose"
    TRUTH = "true or false"
    CONCEPT = "a concept of its scheme"
    ANY = "a value"


_EQUALITY: Final = frozenset({"eq", "neq", "isAnyOf", "isNoneOf"})
_ORDER: Final = frozenset({"gt", "gteq", "lt", "lteq"})
_CONCEPTS: Final = _EQUALITY | {"isA", "isPartOf", "isAllOf"}

OPERATORS_OF: Final[Mapping[Measured, frozenset[str]]] = MappingProxyType({
    Measured.WHOLE_NUMBER: _EQUALITY | _ORDER,
    Measured.NUMBER: _EQUALITY | _ORDER,
    Measured.PERCENTAGE: _EQUALITY | _ORDER,
    Measured.MOMENT: _EQUALITY | _ORDER,
    Measured.DURATION: frozenset({"eq", "gt", "gteq", "lt", "lteq"}),
    Measured.IDENTIFIED: _CONCEPTS | {"hasPart"},
    Measured.NAMED: _CONCEPTS | {"hasPart"},
    Measured.TEXT: _EQUALITY | {"isAllOf"},
    Measured.VERSION: _EQUALITY | _ORDER | {"isAllOf"},
    Measured.EVENT: _EQUALITY | _ORDER | {"isA", "isPartOf"},
    Measured.PURPOSE: _CONCEPTS,
    Measured.TRUTH: frozenset({"eq", "neq"}),
    Measured.CONCEPT: _CONCEPTS,
    Measured.ANY: _EQUALITY | _ORDER | {"isA", "isPartOf", "hasPart", "isAllOf"},
})  # fmt: skip
"""The operators that are allowed with each kind of value."""

LEFT_OPERAND_KINDS: Final[Mapping[str, Measured]] = MappingProxyType({
    "absolutePosition": Measured.ANY,
    "absoluteSize": Measured.NUMBER,
    "absoluteSpatialPosition": Measured.ANY,
    "absoluteTemporalPosition": Measured.ANY,
    "count": Measured.WHOLE_NUMBER,
    "dateTime": Measured.MOMENT,
    "delayPeriod": Measured.DURATION,
    "deliveryChannel": Measured.NAMED,
    "elapsedTime": Measured.DURATION,
    "event": Measured.EVENT,
    "fileFormat": Measured.NAMED,
    "industry": Measured.NAMED,
    "language": Measured.NAMED,
    "media": Measured.NAMED,
    "meteredTime": Measured.DURATION,
    "payAmount": Measured.NUMBER,
    "percentage": Measured.PERCENTAGE,
    "product": Measured.NAMED,
    "purpose": Measured.PURPOSE,
    "recipient": Measured.IDENTIFIED,
    "relativePosition": Measured.ANY,
    "relativeSize": Measured.NUMBER,
    "relativeSpatialPosition": Measured.ANY,
    "relativeTemporalPosition": Measured.ANY,
    "resolution": Measured.NUMBER,
    "spatial": Measured.IDENTIFIED,
    "spatialCoordinates": Measured.TEXT,
    "systemDevice": Measured.NAMED,
    "timeInterval": Measured.DURATION,
    "unitOfCount": Measured.NAMED,
    "version": Measured.VERSION,
    "virtualLocation": Measured.NAMED,
})  # fmt: skip
"""What each left operand is compared with (ODRL Vocabulary & Expression 2.2, section 4.4)."""

OPERATORS_OF_PERIODS: Final[Mapping[str, frozenset[str]]] = MappingProxyType({
    "delayPeriod": frozenset({"eq", "gt", "gteq"}),
    "elapsedTime": frozenset({"eq", "lt", "lteq"}),
    "meteredTime": frozenset({"eq", "lt", "lteq"}),
    "timeInterval": frozenset({"eq"}),
})  # fmt: skip
"""The only operators that the vocabulary gives a meaning with these operands."""

LEFT_OPERANDS: Final = frozenset(LEFT_OPERAND_KINDS)

OPERATORS: Final = _names("eq gt gteq lt lteq neq isA hasPart isPartOf isAllOf isAnyOf isNoneOf")

LOGICAL_OPERANDS: Final = frozenset({"and", "or", "xone", "andSequence"})

POLICY_TYPES: Final = frozenset(
    {"Policy", "Set", "Offer", "Agreement", "Assertion", "Privacy", "Request", "Ticket"}
)

DEPRECATED: Final[Mapping[str, str]] = MappingProxyType({
    **dict.fromkeys(_names("""
        All AllConnections All2ndConnections AllGroups AssetScope Group Individual PartyScope UndefinedTerm
        adHocShare extractChar extractPage extractWord ignore inheritAllowed inheritRelation lease lend
        preview proximity scope secondaryUse support timedCount undefined"""), ""),
    "attachPolicy": "cc:Notice",
    "attachSource": "cc:SourceCode",
    "commercialize": "cc:CommercialUse",
    "share": "cc:Sharing",
    "shareAlike": "cc:ShareAlike",
})  # fmt: skip
"""The deprecated words that smalti does not know, with the word of Creative Commons that ODRL's ontology
matches; empty where it matches none. `aliases.DEPRECATED` has those with a match in ODRL."""

CONFLICT_STRATEGIES: Final = frozenset({"perm", "prohibit", "invalid"})

PARTY_FUNCTIONS: Final = _names(
    """
    attributedParty attributingParty compensatedParty compensatingParty consentedParty consentingParty
    contractedParty contractingParty informedParty informingParty trackedParty trackingParty"""
)

POLICY_PROPERTIES: Final = _names("uid profile inheritFrom conflict permission prohibition obligation")

RULE_PROPERTIES: Final = (
    _names("uid action target assignee assigner output relation function constraint")
    | _names("duty remedy consequence failure")
    | PARTY_FUNCTIONS
)

CONSTRAINT_PROPERTIES: Final = (
    _names("uid leftOperand operator rightOperand rightOperandReference unit dataType datatype status")
    | LOGICAL_OPERANDS
)

ASSET_AND_PARTY_PROPERTIES: Final = _names("uid partOf source refinement hasPolicy assignerOf assigneeOf")

ACTION_PROPERTIES: Final = _names("refinement includedIn implies")

PROPERTIES: Final = (
    POLICY_PROPERTIES
    | RULE_PROPERTIES
    | CONSTRAINT_PROPERTIES
    | ASSET_AND_PARTY_PROPERTIES
    | ACTION_PROPERTIES
)
