"""The words in which permissions bound what a release may lose."""

from collections.abc import Iterable

from smalti.engine.binding.candidate_permissions import candidate_permissions
from smalti.engine.losses.allowed import LOSSES
from smalti.policy.model.model import Anonymization, Comparison, Policy
from smalti.vocab.terms import IRI


def words_offered(policy: Policy, target: IRI, rule: IRI | None) -> frozenset[IRI]:
    """The words in which permissions bound what a release about a target may lose.

    Args:
        policy: that may permit it.
        target: that it is about.
        rule: that is relied on; None: any.
    """
    permitted = [
        candidate.permission.anonymization
        for candidate in candidate_permissions(policy, target)
        if rule is None or rule in candidate.names
    ]
    return frozenset[IRI]().union(*(words_of_loss(wanted) for wanted in permitted if wanted is not None))


def words_of_loss(wanted: Anonymization) -> frozenset[IRI]:
    """The words in which a permission bounds what a release may lose; of a valid one there is one."""
    operands = (parameter.operand for parameter in wanted.parameters if isinstance(parameter, Comparison))
    return bounds_of_loss(dict.fromkeys(operands))


def bounds_of_loss(operands: Iterable[IRI]) -> frozenset[IRI]:
    """Those words among operands that bound a loss."""
    return frozenset(operands) & frozenset(LOSSES)
