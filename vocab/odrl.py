"""The names of ODRL 2.2's vocabulary, by kind (ODRL Vocabulary & Expression 2.2, sections 3 and 4).

Each is a local name in `http://www.w3.org/ns/odrl/2/`. Knowing a name is not implementing it: these tables
let a diagnostic say "not implemented yet" of a real word, and "did you mean" of a misspelt one.
"""

from typing import Final


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


ACTIONS: Final = _names(
    """
    acceptTracking aggregate annotate anonymize archive attribute compensate concurrentUse delete derive
    digitize display distribute ensureExclusivity execute extract give grantUse include index inform install
    modify move nextPolicy obtainConsent play present print read reproduce reviewPolicy sell stream
    synchronize textToSpeech transfer transform translate uninstall use watermark"""
)

LEFT_OPERANDS: Final = _names(
    """
    absolutePosition absoluteSize absoluteSpatialPosition absoluteTemporalPosition count dateTime
    delayPeriod deliveryChannel elapsedTime event fileFormat industry language media meteredTime payAmount
    percentage product purpose recipient relativePosition relativeSize relativeSpatialPosition
    relativeTemporalPosition resolution spatial spatialCoordinates systemDevice timeInterval unitOfCount
    version virtualLocation"""
)

OPERATORS: Final = _names("eq gt gteq lt lteq neq isA hasPart isPartOf isAllOf isAnyOf isNoneOf")

LOGICAL_OPERANDS: Final = frozenset({"and", "or", "xone", "andSequence"})

POLICY_TYPES: Final = frozenset(
    {"Policy", "Set", "Offer", "Agreement", "Assertion", "Privacy", "Request", "Ticket"}
)

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
