"""The document of a template once its target and parties are bound."""

from smalti.policy.decide.hierarchies import STANDARD, Hierarchies
from smalti.policy.model.binding import NOTHING_BOUND, Binding
from smalti.policy.read.inheritance import Stored, nothing_stored
from smalti.policy.read.parse import parse, require_bound
from smalti.policy.say.serialize import serialize


def bound_document(
    document: bytes,
    name: str,
    binding: Binding,
    stored: Stored = nothing_stored,
    hierarchies: Hierarchies = STANDARD,
) -> bytes:
    """The canonical document of what a template says under a binding; without a binding, the document.

    It is a policy like any other: its bytes, and with them its digest and the uids that smalti derives,
    cover the binding.

    Args:
        document: the bytes of a policy document with one policy or several.
        name: of the document, for messages.
        binding: what is bound.
        stored: gives the policies in force elsewhere, from which this one may inherit.
        hierarchies: the profiles, actions and operands that it may use.

    Raises:
        PolicyError: the document has errors, contradicts the binding, or leaves something else open.
    """
    if binding == NOTHING_BOUND:
        return document
    policies = require_bound(parse(document, name, stored, hierarchies, binding))
    documents = [serialize(policy) for policy in policies]
    return documents[0] if len(documents) == 1 else b"[" + b",\n".join(documents) + b"]\n"
