"""Offers to other connectors, and the agreements that come back: files, and policies of a registry."""

import os
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path

from smalti.binding import WHERE, binding_of
from smalti.checking import hierarchies_with
from smalti.errors import UsageError
from smalti.policy.decide.hierarchies import STANDARD, Hierarchies
from smalti.policy.decide.names import iri
from smalti.policy.model.binding import Binding
from smalti.policy.model.iris import iri_problem, respelled
from smalti.policy.model.model import Policy
from smalti.policy.read.inheritance import Stored, nothing_stored
from smalti.policy.say.agreeing import agreement_document, offered_policy
from smalti.policy.say.offer import offer_document


def agreed_document(
    offer: str,
    agreement: str | PathLike[str],
    binding: Binding,
    stored: Stored = nothing_stored,
    hierarchies: Hierarchies = STANDARD,
) -> bytes:
    """The policy document of an agreement, which says no more than its offer.

    Args:
        offer: the path of the owner's policy, template or Offer; or the uid of one in force.
        agreement: the path of the message that a negotiation ended with.
        binding: the base of names without a scheme; and what of a template is offered for one target or
            party alone, which the agreement must name, too.
        stored: gives the policies in force.
        hierarchies: the profiles, actions and operands that both may use.

    Raises:
        UsageError: a file cannot be read, or parts are bound of a policy in force, which is bound.
        SmaltiError: see `agreement_document`.
    """
    name, content = os.fspath(agreement), _content(agreement)
    policy = _offered(offer, binding, stored, hierarchies)
    return agreement_document(content, name, policy, hierarchies, binding.base)


def offer_text(
    path: str | PathLike[str], bound: Mapping[str, str], vocabularies: Sequence[Path] = ()
) -> str:
    """The public part of a policy as an offer of the Dataspace Protocol.

    Args:
        path: of the document.
        bound: IRIs for what the policy leaves open, by part.
        vocabularies: declare words that it uses.

    Raises:
        UsageError: a file cannot be read, or a part cannot be bound.
        PolicyError: the document has errors, or is nothing to offer.
    """
    hierarchies = hierarchies_with(vocabularies)
    policy = offered_policy(
        _content(path), os.fspath(path), hierarchies=hierarchies, binding=binding_of(bound)
    )
    return offer_document(policy, hierarchies).decode()


def _offered(offer: str, binding: Binding, stored: Stored, hierarchies: Hierarchies) -> Policy:
    if not Path(offer).is_file() and not iri_problem(respelled(offer)):
        if binding.parts:
            raise UsageError(WHERE, "a policy in force is bound already", "base=IRI alone")
        policy = stored(iri(offer, "the offer"))
        if policy is None:
            raise UsageError(offer, "it is neither a file nor the uid of the issuer's policy in force",
                             "the owner's policy, template or Offer")  # fmt: skip
        return policy
    return offered_policy(_content(offer), offer, stored, hierarchies, binding)


def _content(path: str | PathLike[str]) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError:
        raise UsageError(
            os.fspath(path), "the file cannot be read", "a document", "check the path"
        ) from None
