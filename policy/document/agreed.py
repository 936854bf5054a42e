"""What the message around one agreement determines of it: the protocol its type, a connector its name."""

from dataclasses import dataclass, replace
from typing import Final

from smalti.policy.document.envelopes import message_of
from smalti.policy.document.expansion import BASE
from smalti.policy.document.nodes import Name, Node
from smalti.policy.findings.findings import Findings
from smalti.policy.text.json_text import JsonObject, JsonString
from smalti.vocab.terms import AGREEMENT, DSPACE, EDC

_MESSAGE: Final = DSPACE + "ContractAgreementMessage"
_OF_CONNECTOR: Final = EDC + "ContractAgreement"


@dataclass(frozen=True, slots=True)
class Agreed:
    """What a message determines of its policy."""

    is_message: bool = False
    """Whether it is a ContractAgreementMessage of the protocol, so that the policy is an Agreement."""
    name: Name | None = None
    """Of EDC's ContractAgreement: transfers name the agreement by it. Its policy has another name, which
    the connector makes up each time that it writes the agreement."""


NOTHING_AGREED: Final = Agreed()


def agreed(source: JsonObject, findings: Findings) -> Agreed:
    """What an object at the top of a document determines of the policy in it."""
    message = message_of(source, findings.apart())
    if message is None:
        return NOTHING_AGREED
    named = (value for key, value in message.members if key == "@id" and isinstance(value, JsonString))
    written = next(named, None) if _OF_CONNECTOR in message.types else None
    if written is None or not written.text:
        return Agreed(_MESSAGE in message.types)
    iri = written.text if ":" in written.text else BASE + written.text
    return Agreed(_MESSAGE in message.types, Name(iri, written.text, written.place))


def as_agreed(policy: Node, by: Agreed, findings: Findings) -> Node:
    """A policy with the name that its message gives it; an error where it has another type."""
    if by.is_message and AGREEMENT not in {name.iri for name in policy.types}:
        place = policy.types[0].place if policy.types else policy.place
        message = "the `agreement` of a ContractAgreementMessage is not of the type Agreement"
        findings.error("P301", place, message, 'write "@type": "Agreement"')
    return policy if by.name is None else replace(policy, name=by.name)
