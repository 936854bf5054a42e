"""The refinements of an `smalti:audit` duty: which attacks a model must withstand, and how well."""

from decimal import Decimal
from typing import Final

from smalti.policy.document.nodes import Property
from smalti.policy.model.model import CONFIDENCE, Audit
from smalti.policy.read.combinations import Found
from smalti.policy.read.reading_refinements import check_needs, read_each, read_plain
from smalti.policy.read.values import Scope
from smalti.policy.text.json_text import Place
from smalti.vocab import terms
from smalti.vocab.terms import AUDIT, IRI

_FIELDS: Final = frozenset(
    {terms.ATTACK, terms.ATTACK_ADVANTAGE, terms.ATTACK_PRECISION, terms.TRUE_POSITIVE_RATE}
    | {terms.FALSE_POSITIVE_RATE, terms.EPSILON_LOWER_BOUND, terms.CONFIDENCE}
)
"""The words that have fields of their own in `Audit`."""


def read_audit(refinements: Property, targets: tuple[IRI, ...], place: Place, scope: Scope) -> Audit | None:
    """Read and check all refinements of an audit action; None after an error.

    Args:
        refinements: the property that holds them.
        targets: of the duty.
        place: of the action.
        scope: where findings go.
    """
    found = Found(place, targets)
    read_each(refinements, found, lambda value: read_plain(value, AUDIT, targets, scope), scope)
    check_needs(AUDIT, found, scope)
    return _assemble(found, scope) if found.is_whole and not scope.findings.has_errors else None


def _assemble(found: Found, scope: Scope) -> Audit:
    attacks, confidence = found.get(terms.ATTACK), _number(found, terms.CONFIDENCE)
    return Audit(
        attacks=tuple(sorted(attacks.names)) if attacks is not None else (),
        attack_advantage=_number(found, terms.ATTACK_ADVANTAGE),
        attack_precision=_number(found, terms.ATTACK_PRECISION),
        true_positive_rate=_number(found, terms.TRUE_POSITIVE_RATE),
        false_positive_rate=_number(found, terms.FALSE_POSITIVE_RATE),
        epsilon_lower_bound=_number(found, terms.EPSILON_LOWER_BOUND),
        confidence=CONFIDENCE if confidence is None else confidence,
        parameters=found.others(_FIELDS),
        where=scope.findings.where(found.place),
    )


def _number(found: Found, operand: IRI) -> Decimal | None:
    stated = found.get(operand)
    return None if stated is None else stated.number
