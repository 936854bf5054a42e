"""The refinements of an `smalti:train` action: the model, or its records, and the bounds on its loss."""

from typing import Final

from smalti.policy.document.nodes import Property
from smalti.policy.findings.findings import quoted
from smalti.policy.model.model import Condition, Operator, Training
from smalti.policy.read.combinations import LOSSES, check_budget, check_losses, report_two_roles, shown_word
from smalti.policy.read.reading_refinements import check_needs, read_plain_refinement, read_refinements
from smalti.policy.read.stated_refinements import Refinements, decimal_bound, stated_respondent, whole_bound
from smalti.policy.read.values import Scope
from smalti.policy.text.json_text import Place
from smalti.vocab.terms import (
    CLIPPING_NORM,
    DELTA,
    EPOCHS,
    EPSILON,
    IDENTIFIER,
    IRI,
    LABEL_COLUMN,
    MEMBERSHIP_ADVANTAGE,
    NEIGHBORS,
    NOISE_MULTIPLIER,
    POSTERIOR_BELIEF,
    RECIPE,
    RESPONDENT,
    ROWS_PER_RESPONDENT,
    SAMPLING_RATE,
    SYNTHETIC_RECORDS,
    TRAIN,
)

_OF_PRIVACY: Final = (CLIPPING_NORM, DELTA, NEIGHBORS, ROWS_PER_RESPONDENT, SAMPLING_RATE)
"""Words that promise nothing, and have no effect, where no noise is added."""
_OF_ANY_NOISE: Final = (CLIPPING_NORM, SAMPLING_RATE, DELTA)
"""Words that private training requires; with a stated noise, the loss also depends on the epochs."""


def read_training(
    prop: Property,
    targets: tuple[IRI, ...],
    place: Place,
    scope: Scope,
    constraints: tuple[Condition, ...] = (),
) -> Training | None:
    """Read and check all refinements of a train action; None after an error.

    Args:
        prop: the property that holds the refinements.
        targets: of the rule; a bare name of a column stands for one of its one target.
        place: of the action.
        scope: where findings go.
        constraints: of the rule.
    """
    refinements = Refinements(place, targets, constraints)
    read_refinements(
        prop, refinements, lambda value: read_plain_refinement(value, TRAIN, targets, scope), scope
    )
    _check_label(refinements, scope)
    _check_published(refinements, scope)
    check_losses(refinements, scope)
    _check_noise_and_bound(refinements, scope)
    _check_delta(refinements, scope)
    check_budget(refinements, scope)
    check_needs(TRAIN, refinements, scope)
    if refinements.is_whole:
        _check_privacy(refinements, scope)
    return _assemble(refinements, scope) if refinements.is_whole and not scope.findings.has_errors else None


def _check_label(refinements: Refinements, scope: Scope) -> None:
    """The label column is neither dropped nor the respondent."""
    label = {column.iri for column in refinements.columns.get(LABEL_COLUMN, ())}
    for role in (IDENTIFIER, RESPONDENT):
        for column in refinements.columns.get(role, ()):
            if column.iri in label:
                report_two_roles(column, LABEL_COLUMN, role, scope)


def _check_published(refinements: Refinements, scope: Scope) -> None:
    """A model is published, or records of one; a record is not predicted."""
    label, records = refinements.get(LABEL_COLUMN), refinements.get(SYNTHETIC_RECORDS)
    if label is not None and records is not None:
        message = f"{quoted(records.shown)} publishes records, and {quoted(label.shown)} a model"
        help_ = "keep one of the two: synthetic records have all columns that are not dropped"
        scope.findings.error("P443", records.place, message, help_)


def _check_noise_and_bound(refinements: Refinements, scope: Scope) -> None:
    noise, bound = refinements.get(NOISE_MULTIPLIER), refinements.first(*LOSSES)
    if noise is None or bound is None or noise.comparison.operator is Operator.EQ:
        return
    message = (
        f"{quoted(noise.shown)} bounds the noise and {quoted(bound.shown)} the loss: "
        "it is ambiguous which of them determines the noise"
    )
    help_ = "write `eq` for the noise, whose loss must then meet the bound, or keep one of the two"
    scope.findings.error("P439", noise.written.operator_name.place, message, help_)


def _check_delta(refinements: Refinements, scope: Scope) -> None:
    delta = refinements.get(DELTA)
    if delta is not None and delta.number == 0:
        message = "private training adds Gaussian noise, which cannot have a delta of 0"
        scope.findings.error("P435", delta.value_place, message, "write a delta above 0")


def _check_privacy(refinements: Refinements, scope: Scope) -> None:
    noise = refinements.get(NOISE_MULTIPLIER)
    if noise is None and refinements.first(*LOSSES) is None:
        _check_without_noise(refinements, scope)
        return
    needed = (*_OF_ANY_NOISE, *((EPOCHS,) if noise is not None else ()))
    lacking = [shown_word(iri, scope) for iri in needed if refinements.get(iri) is None]
    if lacking:
        what = "training with a stated noise" if noise is not None else "private training"
        message = f"{what} requires a refinement with {' and '.join(lacking)}"
        scope.findings.error("P411", refinements.place, message)


def _check_without_noise(refinements: Refinements, scope: Scope) -> None:
    """Words of private training without noise would look like a promise."""
    ways = " or ".join(shown_word(iri, scope) for iri in (NOISE_MULTIPLIER, *LOSSES))
    for operand in _OF_PRIVACY:
        refinement = refinements.get(operand)
        if refinement is not None:
            message = f"{quoted(refinement.shown)} requires a bound on the noise or the loss"
            scope.findings.error("P411", refinement.place, message, f"add {ways}, or remove it")


_FIELDS: Final = frozenset(
    {
        RECIPE,
        LABEL_COLUMN,
        SYNTHETIC_RECORDS,
        IDENTIFIER,
        RESPONDENT,
        NOISE_MULTIPLIER,
        CLIPPING_NORM,
        SAMPLING_RATE,
        EPOCHS,
        DELTA,
        NEIGHBORS,
    }
    | {ROWS_PER_RESPONDENT, *LOSSES}
)
"""The words that have fields of their own in `Training`."""


def _assemble(refinements: Refinements, scope: Scope) -> Training:
    respondent, one_row_each = stated_respondent(refinements, scope)
    return Training(
        recipe=refinements.name(RECIPE) or "",
        label_column=next(iter(refinements.references(LABEL_COLUMN, scope)), None),
        synthetic_records=whole_bound(refinements, SYNTHETIC_RECORDS, scope),
        identifiers=refinements.references(IDENTIFIER, scope),
        respondent=respondent,
        one_row_each=one_row_each,
        noise_multiplier=decimal_bound(refinements, NOISE_MULTIPLIER, scope),
        clipping_norm=decimal_bound(refinements, CLIPPING_NORM, scope),
        sampling_rate=decimal_bound(refinements, SAMPLING_RATE, scope),
        epochs=whole_bound(refinements, EPOCHS, scope),
        epsilon=decimal_bound(refinements, EPSILON, scope),
        posterior_belief=decimal_bound(refinements, POSTERIOR_BELIEF, scope),
        membership_advantage=decimal_bound(refinements, MEMBERSHIP_ADVANTAGE, scope),
        delta=decimal_bound(refinements, DELTA, scope),
        neighbors=refinements.name(NEIGHBORS),
        rows_per_respondent=whole_bound(refinements, ROWS_PER_RESPONDENT, scope),
        parameters=refinements.others(_FIELDS),
        where=scope.findings.where(refinements.place),
    )
