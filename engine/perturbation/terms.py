"""The terms of a permission for a local perturbation: the refinements of its action as typed values."""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from smalti.engine.losses.allowed import (
    LOSSES,
    AllowedLoss,
    epsilon_within_advantage,
    epsilon_within_belief,
)
from smalti.engine.losses.refinements import Said, columns_of_rows, iris, least, numbers, texts
from smalti.engine.perturbation.plan import GAUSSIAN, LAPLACE, PIXELATION, RANDOMIZED_RESPONSE
from smalti.engine.plan.reads import Mechanism
from smalti.errors import InternalError, PlanError, SmaltiError, raise_all
from smalti.policy.decide.comparing import SATISFIED
from smalti.policy.decide.decision import Fact
from smalti.policy.decide.transformations import judged_parameters, transformation
from smalti.policy.model.model import (
    Anonymization,
    ColumnReference,
    Comparison,
    Condition,
    Named,
)
from smalti.vocab import terms
from smalti.vocab.terms import IRI

_DEFAULT: Final = frozenset({RANDOMIZED_RESPONSE, LAPLACE, GAUSSIAN})
_USABLE: Final = _DEFAULT | {PIXELATION}
_PIXELS: Final = (terms.PIXEL_SIZE, terms.PIXEL_NEIGHBORHOOD)
_KNOWN: Final = frozenset({*LOSSES, terms.DELTA, terms.MEASURE, terms.MECHANISM, *_PIXELS})
_RANGES: Final = (
    (terms.EPSILON, Decimal(0), Decimal("Infinity")),
    (terms.POSTERIOR_BELIEF, Decimal("0.5"), Decimal(1)),
    (terms.MEMBERSHIP_ADVANTAGE, Decimal(0), Decimal(1)),
    (terms.DELTA, Decimal(0), Decimal(1)),
)
"""What a run may ask of a loss; both ends excluded."""
_COLUMNS: Final = (
    "columns that a perturbation does not publish",
    "`smalti:measure` for columns whose values are perturbed; all others are dropped",
)
"""What words of rows are about, and what is expected in their place."""


@dataclass(frozen=True, slots=True)
class PerturbationTerms:
    """What a permission allows, and what a run takes of it."""

    epsilon: Decimal
    """Of all columns of a record together; of a belief or an advantage, what keeps within it without
    Gaussian noise."""
    belief: Decimal | None
    """The largest posterior belief, where that is bounded in place of epsilon."""
    advantage: Decimal | None
    """The largest membership advantage, where that is bounded in place of epsilon."""
    delta: Decimal
    """Of all columns of a record together; 0 where Gaussian noise may not be used."""
    columns: tuple[ColumnReference, ...]
    """That are perturbed and published; at least one."""
    mechanisms: frozenset[str]
    """That may be used; at least one."""
    cell: int | None = None
    neighborhood: int | None = None
    """Of pixelation, where it may be used."""

    @property
    def is_of_person(self) -> bool:
        """Whether a belief or an advantage is bounded, which is about all that a respondent reports."""
        return self.belief is not None or self.advantage is not None

    @property
    def with_gaussian(self) -> AllowedLoss:
        """What a record may lose where some of its columns have Gaussian noise."""
        epsilon = None if self.is_of_person else self.epsilon
        mechanisms = frozenset({Mechanism.GAUSSIAN})
        return AllowedLoss(epsilon, self.belief, self.advantage, self.delta, mechanisms)


def read_terms(wanted: Anonymization, asks: Iterable[Fact]) -> PerturbationTerms:
    """What a permission allows, or less where a run asks for less: of epsilon, columns, mechanisms.

    Args:
        wanted: of method local-differential-privacy.
        asks: by the run, under the operands of refinements.

    Raises:
        PlanError: it says something that has no meaning here, or does not allow what is asked for; all
            problems at once.
    """
    asked = list(asks)
    problems = [*_meaningless(wanted), *_other_words(wanted.parameters), *_not_allowed(wanted, asked)]
    refinements = {
        parameter.operand: parameter.values
        for parameter in wanted.parameters
        if isinstance(parameter, Comparison)
    }
    chosen = {**refinements, **{fact.operand: fact.values for fact in asked if fact.operand in _KNOWN}}
    if terms.MEASURE not in refinements:
        problems.append(
            PlanError(
                str(wanted.where),
                "the policy names no column to perturb and publish",
                "a refinement `smalti:measure` `isAnyOf` columns",
                "name them; all others are dropped",
            )
        )
    mechanisms = texts(chosen, terms.MECHANISM) or _DEFAULT
    delta = least(chosen, terms.DELTA) or Decimal(0)
    if not delta and mechanisms & _USABLE == {GAUSSIAN}:
        problems.append(
            PlanError(
                str(wanted.where),
                f"`{GAUSSIAN}` is the only permitted mechanism, and no delta is stated",
                "a refinement `smalti:delta` above 0",
                f"state one, or allow `{LAPLACE}`",
            )
        )
    problems += _pixels_lack(wanted, refinements) if PIXELATION in mechanisms else ()
    if not mechanisms & _USABLE:
        listed = ", ".join(f"`{name}`" for name in sorted(mechanisms))
        problems.append(
            PlanError(
                str(wanted.where),
                f"the mechanism {listed} is not implemented for records",
                f"`{RANDOMIZED_RESPONSE}` for public values, `{LAPLACE}` or `{GAUSSIAN}` for numbers"
                f" between public bounds, `{PIXELATION}` for images",
                "name one of these, or none",
            )
        )
    raise_all(problems)
    usable = mechanisms & _USABLE - (frozenset() if delta else {GAUSSIAN})
    epsilon, belief, advantage = _bounded_loss(chosen)
    cell, neighborhood = (_whole(chosen, operand) for operand in _PIXELS)
    return PerturbationTerms(
        epsilon,
        belief,
        advantage,
        delta if GAUSSIAN in usable else Decimal(0),
        _columns(wanted, chosen),
        usable,
        cell,
        neighborhood,
    )


def _pixels_lack(wanted: Anonymization, refinements: Said) -> Iterable[SmaltiError]:
    for operand in _PIXELS:
        if operand not in refinements:
            yield PlanError(
                str(wanted.where),
                f"`{PIXELATION}` is permitted, but `{_short(operand)}` is not stated",
                "the side of a cell, and the pixels by which neighbouring images differ",
                "state both: `smalti:pixelSize`, `smalti:pixelNeighborhood`",
            )


def _meaningless(wanted: Anonymization) -> Iterable[SmaltiError]:
    """Columns that a policy wants published otherwise: nothing but noisy values is, and no word ignored."""
    yield from columns_of_rows(wanted, *_COLUMNS)
    measured = {
        value.iri
        for parameter in wanted.parameters
        if isinstance(parameter, Comparison) and parameter.operand == terms.MEASURE
        for value in parameter.values
        if isinstance(value, Named)
    }
    for column in wanted.identifiers:
        if column.iri in measured:
            yield PlanError(
                str(column.where),
                f"`{column.iri}` is dropped as `mosaicrown:identifier`, and published by `smalti:measure`",
                "each column in one of the two",
                "keep it in one of them",
            )
    if wanted.algorithm is not None:
        yield PlanError(
            str(wanted.where),
            "an algorithm is named, but mechanisms perturb records",
            "`smalti:mechanism`, or no algorithm",
            "leave it out",
        )


def _other_words(parameters: Iterable[Condition]) -> Iterable[SmaltiError]:
    for parameter in parameters:
        operand = parameter.operand if isinstance(parameter, Comparison) else None
        if operand not in _KNOWN:
            shown = "a parameter of one column" if operand is None else f"`{_short(operand)}`"
            yield PlanError(
                str(parameter.where),
                f"{shown} has no meaning for a local perturbation",
                "a loss, `smalti:delta`, `smalti:measure`, `smalti:mechanism` and words of pixelation",
                "leave it out: anyone may estimate statistics from the noisy rows",
            )


def _not_allowed(wanted: Anonymization, asks: list[Fact]) -> Iterable[SmaltiError]:
    where, asked = str(wanted.where), {fact.operand: fact.values for fact in asks}
    if len(asked) < len(asks):
        yield PlanError(where, "the run requests a word twice", "each word once", "keep one")
    for operand in sorted(asked.keys() - _KNOWN):
        yield PlanError(
            where,
            f"a run cannot request `{_short(operand)}`",
            "a loss, `smalti:delta`, `smalti:measure`, `smalti:mechanism` or words of pixelation",
            "leave it out",
        )
    if terms.DELTA in asked and not _says(wanted, terms.DELTA):
        yield PlanError(
            where,
            "the run requests a delta, but the permission states none",
            "what its refinements allow",
            "leave it out",
        )
    for operand, lowest, most in _RANGES:
        if not all(lowest < value < most for value in numbers(asked, operand)):
            yield PlanError(
                where,
                f"the requested `{_short(operand)}` is out of range",
                f"a number above {lowest}" + (f" and below {most}" if most.is_finite() else ""),
                "request a number in this range",
            )
    for what, how in judged_parameters(transformation(wanted), asked):
        if how is not SATISFIED:
            asked_word = what.operand if isinstance(what, Comparison) else str(what)
            yield PlanError(
                where,
                f"the permission does not allow the requested `{_short(asked_word)}`",
                "what its refinements allow",
                "`smalti check` shows what a policy says",
            )


def _short(operand: str) -> str:
    return "smalti:" + operand.removeprefix(terms.SMALTI) if operand.startswith(terms.SMALTI) else operand


def _bounded_loss(chosen: Said) -> tuple[Decimal, Decimal | None, Decimal | None]:
    """Epsilon, belief and advantage as of `PerturbationTerms`: one of them is bounded."""
    epsilon, belief, advantage = (least(chosen, word) for word in LOSSES)
    if epsilon is not None:
        return epsilon, None, None
    if belief is not None:
        return epsilon_within_belief(belief), belief, None
    if advantage is not None:
        return epsilon_within_advantage(advantage), None, advantage
    raise InternalError("a permission bounds a loss as epsilon, belief or advantage")


def _says(wanted: Anonymization, operand: IRI) -> bool:
    return any(
        isinstance(parameter, Comparison) and parameter.operand == operand
        for parameter in wanted.parameters
    )


def _whole(chosen: Said, operand: IRI) -> int | None:
    """The least number that a bound from below allows."""
    return max(map(int, numbers(chosen, operand)), default=None)


def _columns(wanted: Anonymization, chosen: Said) -> tuple[ColumnReference, ...]:
    where = next(
        parameter.where
        for parameter in wanted.parameters
        if isinstance(parameter, Comparison) and parameter.operand == terms.MEASURE
    )
    return tuple(ColumnReference(iri, where) for iri in sorted(iris(chosen, terms.MEASURE)))
