"""The refinements of an `smalti:train` action: which model is trained, and how privately."""

from typing import Final

from smalti.policy.document.nodes import Property
from smalti.policy.findings.findings import quoted
from smalti.policy.model.model import Condition, Operator, Training
from smalti.policy.read.combinations import (
    LOSSES,
    Found,
    check_budget,
    check_losses,
    decimal_bound,
    report_two_roles,
    shown_word,
    stated_respondent,
    whole_bound,
)
from smalti.policy.read.reading_refinements import check_needs, read_each, read_plain
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
    TRAIN,
)

_OF_PRIVACY: Final = (CLIPPING_NORM, DELTA, NEIGHBORS, ROWS_PER_RESPONDENT, SAMPLING_RATE)
"""What promises nothing, and is heeded by nobody, where no noise is added."""
_OF_ANY_NOISE: Final = (CLIPPING_NORM, SAMPLING_RATE, DELTA)
"""What private training needs; where the noise is given, its loss depends on the epochs, too."""


def read_training(
    refinements: Property,
    targets: tuple[IRI, ...],
    place: Place,
    scope: Scope,
    constraints: tuple[Condition, ...] = (),
) -> Training | None:
    """Read and check all refinements of a train action; None after an error.

    Args:
        refinements: the property that holds them.
        targets: of the rule; a bare name of a column stands for one of its one target.
        place: of the action.
        scope: where findings go.
        constraints: of the rule.
    """
    found = Found(place, targets, constraints)
    read_each(refinements, found, lambda value: read_plain(value, TRAIN, targets, scope), scope)
    _check_label(found, scope)
    check_losses(found, scope)
    _check_noise_and_bound(found, scope)
    _check_delta(found, scope)
    check_budget(found, scope)
    check_needs(TRAIN, found, scope)
    if found.is_whole:
        _check_privacy(found, scope)
    return _assemble(found, scope) if found.is_whole and not scope.findings.has_errors else None


def _check_label(found: Found, scope: Scope) -> None:
    """What a model predicts is neither dropped nor the name of a person."""
    label = {column.iri for column in found.columns.get(LABEL_COLUMN, ())}
    for role in (IDENTIFIER, RESPONDENT):
        for column in found.columns.get(role, ()):
            if column.iri in label:
                report_two_roles(column, LABEL_COLUMN, role, scope)


def _check_noise_and_bound(found: Found, scope: Scope) -> None:
    noise, bound = found.get(NOISE_MULTIPLIER), found.first(*LOSSES)
    if noise is None or bound is None or noise.comparison.operator is Operator.EQ:
        return
    message = (
        f"{quoted(noise.shown)} bounds the noise and {quoted(bound.shown)} the loss: "
        "which of them the noise comes from is not said"
    )
    help_ = "write `eq` for the noise, whose loss must meet the bound then, or keep one of the two"
    scope.findings.error("P439", noise.written.operator_name.place, message, help_)


def _check_delta(found: Found, scope: Scope) -> None:
    delta = found.get(DELTA)
    if delta is not None and delta.number == 0:
        message = "no noise of private training, which is Gaussian, has a delta of 0"
        scope.findings.error("P435", delta.value_place, message, "write a delta above 0")


def _check_privacy(found: Found, scope: Scope) -> None:
    noise = found.get(NOISE_MULTIPLIER)
    if noise is None and found.first(*LOSSES) is None:
        _check_without_noise(found, scope)
        return
    needed = (*_OF_ANY_NOISE, *((EPOCHS,) if noise is not None else ()))
    lacking = [shown_word(iri, scope) for iri in needed if found.get(iri) is None]
    if lacking:
        what = "training with a given noise" if noise is not None else "private training"
        message = f"{what} needs a refinement with {' and '.join(lacking)}"
        scope.findings.error("P411", found.place, message)


def _check_without_noise(found: Found, scope: Scope) -> None:
    """What belongs to private training and stands alone would look like a promise."""
    ways = " or ".join(shown_word(iri, scope) for iri in (NOISE_MULTIPLIER, *LOSSES))
    for operand in _OF_PRIVACY:
        stated = found.get(operand)
        if stated is not None:
            message = f"{quoted(stated.shown)} belongs to private training, and nothing says how private"
            scope.findings.error("P411", stated.place, message, f"add {ways}, or leave it out")


_FIELDS: Final = frozenset(
    {
        RECIPE,
        LABEL_COLUMN,
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


def _assemble(found: Found, scope: Scope) -> Training:
    respondent, one_row_each = stated_respondent(found, scope)
    return Training(
        recipe=found.name(RECIPE) or "",
        label_column=found.references(LABEL_COLUMN, scope)[0],
        identifiers=found.references(IDENTIFIER, scope),
        respondent=respondent,
        one_row_each=one_row_each,
        noise_multiplier=decimal_bound(found, NOISE_MULTIPLIER, scope),
        clipping_norm=decimal_bound(found, CLIPPING_NORM, scope),
        sampling_rate=decimal_bound(found, SAMPLING_RATE, scope),
        epochs=whole_bound(found, EPOCHS, scope),
        epsilon=decimal_bound(found, EPSILON, scope),
        posterior_belief=decimal_bound(found, POSTERIOR_BELIEF, scope),
        membership_advantage=decimal_bound(found, MEMBERSHIP_ADVANTAGE, scope),
        delta=decimal_bound(found, DELTA, scope),
        neighbors=found.name(NEIGHBORS),
        rows_per_respondent=whole_bound(found, ROWS_PER_RESPONDENT, scope),
        parameters=found.others(_FIELDS),
        where=scope.findings.where(found.place),
    )
