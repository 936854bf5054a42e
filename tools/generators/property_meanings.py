"""The meaning of each property of a policy, in one sentence: for editors and for the documentation."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from smalti.policy.read.properties import ALL_REMARKS
from smalti.vocab.odrl import PARTY_FUNCTIONS
from smalti.vocab.terms import DCT, MOSAICROWN, ODRL, RDF_VALUE

_ODRL: Final = {
    "uid": "the IRI that names it",
    "profile": "the vocabularies whose words the policy uses",
    "inheritFrom": "the policies whose rules the policy inherits",
    "conflict": "which rule wins when a permission and a prohibition are about the same request",
    "permission": "what may be done",
    "prohibition": "what must not be done",
    "obligation": "what must be done",
    "duty": "what must be done for the permission to apply",
    "remedy": "what must be done after the prohibition was violated",
    "consequence": "what must be done when the duty was not fulfilled",
    "action": "what is done",
    "target": "the assets that the action is applied to; several are joint",
    "assignee": "the parties that may, must or must not do it; any party when absent",
    "assigner": "the parties that issue the rule",
    "output": "the asset that the action makes",
    "constraint": "what must hold for the rule to apply; several must all hold",
    "refinement": "what must hold of the action, the assets or the parties; several must all hold",
    "leftOperand": "what is compared",
    "operator": "how it is compared",
    "rightOperand": "what it is compared with",
    "rightOperandReference": "the address of the value, which is never fetched",
    "unit": "the unit of the value",
    "dataType": "the datatype of the value",
    "status": "the value so far",
    "and": "all must hold",
    "or": "at least one must hold",
    "xone": "exactly one must hold",
    "andSequence": "all must hold, in this order",
    "partOf": "the collection that it belongs to",
    "source": "the collection whose members the refinements select",
    "hasPolicy": "the policy about the asset",
    "assignerOf": "the policy whose assigner the party is",
    "assigneeOf": "the policy whose assignee the party is",
    "includedIn": "the broader action",
    "implies": "an action that is done together with it",
    "relation": "how the asset belongs to the rule",
    "function": "how the party belongs to the rule",
    "failure": "what must be done after a failure",
    **dict.fromkeys(PARTY_FUNCTIONS, "a party with another function in the rule"),
}

MEANINGS: Final[Mapping[str, str]] = MappingProxyType(
    {
        **{ODRL + name: meaning for name, meaning in _ODRL.items()},
        RDF_VALUE: "the action that is refined",
        MOSAICROWN + "purpose": "the purposes that the rule is limited to",
        MOSAICROWN + "belongsTo": "the collection that it belongs to",
        DCT + "valid": "when the policy is in force, as start/end",
        DCT + "isReplacedBy": "the policy that replaces this one, which is void",
        DCT + "replaces": "the policy that this one replaces",
        DCT + "coverage": "the jurisdiction of the policy",
        **dict.fromkeys(sorted(ALL_REMARKS), "an annotation, without effect"),
    }
)  # fmt: skip
"""By canonical IRI."""
