"""The refinements of an `smalti:audit` duty: which attacks a model must withstand, and how well."""

from decimal import Decimal
from typing import Final

from smalti.policy.document.nodes import Property
from smalti.policy.model.model import CONFIDENCE, Audit
from smalti.policy.read.reading_refinements import check_needs, read_plain_refinement, read_refinements
from smalti.policy.read.stated_refinements import Refinements
from smalti.policy.read.values import Scope
from smalti.policy.text.json_text import Place
from smalti.vocab import terms
from smalti.vocab.terms import AUDIT, IRI

_FIELDS: Final = frozenset(
    {terms.ATTACK, terms.ATTACK_ADVANTAGE, terms.ATTACK_PRECISION, terms.TRUE_POSITIVE_RATE}
    | {terms.FALSE_POSITIVE_RATE, terms.EPSILON_LOWER_BOUND, terms.CONFIDENCE}
)
"""The words that have fields of their own in `Audit`."""


def read_audit(prop: Property, targets: tuple[IRI, ...], place: Place, scope: Scope) -> Audit | None:
    """Read and check all refinements of an audit action; None after an error.

    Args:
        prop: the property that holds the refinements.
        targets: of the duty.
        place: of the action.
        scope: where findings go.
    """
    refinements = Refinements(place, targets)
    read_refinements(
        prop, refinements, lambda value: read_plain_refinement(value, AUDIT, targets, scope), scope
    )
    check_needs(AUDIT, refinements, scope)
    return _assemble(refinements, scope) if refinements.is_whole and not scope.findings.has_errors else None


def _assemble(refinements: Refinements, scope: Scope) -> Audit:
    attacks, confidence = refinements.get(terms.ATTACK), _number(refinements, terms.CONFIDENCE)
    return Audit(
        attacks=tuple(sorted(attacks.names)) if attacks is not None else (),
        attack_advantage=_number(refinements, terms.ATTACK_ADVANTAGE),
        attack_precision=_number(refinements, terms.ATTACK_PRECISION),
        true_positive_rate=_number(refinements, terms.TRUE_POSITIVE_RATE),
        false_positive_rate=_number(refinements, terms.FALSE_POSITIVE_RATE),
        epsilon_lower_bound=_number(refinements, terms.EPSILON_LOWER_BOUND),
        confidence=CONFIDENCE if confidence is None else confidence,
        parameters=refinements.others(_FIELDS),
        where=scope.findings.where(refinements.place),
    )


def _number(refinements: Refinements, operand: IRI) -> Decimal | None:
    refinement = refinements.get(operand)
    return None if refinement is None else refinement.number
