"""The privacy budget of releases about the same respondents: ceilings and exact sums.

A release is admitted by basic composition: the sums of all epsilons and of all deltas stay within the
ceiling. That is a proven filter also where later releases, and what they may lose, depend on the results
of earlier ones (Rogers, Roth, Ullman, Vadhan, "Privacy Odometers and Filters: Pay-as-you-Go Composition",
NeurIPS 2016, on basic composition; by induction from the last release: whatever the first one shows, the
rest is private at what it leaves). Tighter accounts are shown, and never decide. All of it holds within
one registry.
"""

import math
import sys
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from decimal import (
    MAX_EMAX,
    MAX_PREC,
    MIN_EMIN,
    ROUND_CEILING,
    Context,
    Decimal,
    DivisionByZero,
    Inexact,
    InvalidOperation,
)
from fractions import Fraction
from functools import reduce
from typing import Final

from smalti.engine.plan.losses import PlannedLoss, StatedLoss
from smalti.errors import PlanError
from smalti.transforms.identifiability import composed_advantage
from smalti.transforms.loss.privacy_loss import PrivacyLoss
from smalti.transforms.sensitivity import NeighboringRelation
from smalti.vocab.terms import IRI

_EXACT: Final = Context(
    prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[Inexact, InvalidOperation, DivisionByZero]
)
_UP: Final = Context(prec=20, rounding=ROUND_CEILING)
_MOST_PLACES: Final = 1100
"""Before and behind the point; policies write fewer, and so do binary fractions of 64 bits."""
_LARGEST_EXPONENT: Final = Decimal(4 * _MOST_PLACES)
_GREATEST_FLOAT: Final = Fraction(sys.float_info.max)
_CAUTION: Final = 1e-9
"""Many times the relative error of `identifiability`."""


@dataclass(frozen=True, slots=True)
class EpsilonDelta:
    """An exact epsilon and delta, as charged; these add up."""

    epsilon: Decimal = Decimal(0)
    delta: Decimal = Decimal(0)

    def __post_init__(self) -> None:
        _check("epsilon", self.epsilon)
        _check("delta", self.delta)

    def __add__(self, other: "EpsilonDelta") -> "EpsilonDelta":
        return EpsilonDelta(_EXACT.add(self.epsilon, other.epsilon), _EXACT.add(self.delta, other.delta))

    def times(self, number: int) -> "EpsilonDelta":
        """Of so many releases that each lose this."""
        return EpsilonDelta(_EXACT.multiply(self.epsilon, number), _EXACT.multiply(self.delta, number))


@dataclass(frozen=True, slots=True)
class Ceiling:
    """What all releases about the same respondents may lose together, for ever; both included."""

    epsilon: Decimal
    delta: Decimal

    def __post_init__(self) -> None:
        _check("a ceiling of epsilon", self.epsilon)
        _check("a ceiling of delta", self.delta)

    def admits(self, spent: EpsilonDelta) -> bool:
        """Whether sums stay within the ceiling; exact."""
        return spent.epsilon <= self.epsilon and spent.delta <= self.delta

    def left(self, spent: EpsilonDelta) -> EpsilonDelta:
        """What may still be lost; 0 where more than the ceiling was, which another ceiling let."""
        return EpsilonDelta(_rest(self.epsilon, spent.epsilon), _rest(self.delta, spent.delta))

    def fitting(self, spent: EpsilonDelta, each: EpsilonDelta) -> int | None:
        """How many more releases fit that lose the same each; None: no end, since they lose nothing."""
        if not self.admits(spent):
            return 0
        left = self.left(spent)
        pairs = ((left.epsilon, each.epsilon), (left.delta, each.delta))
        return min((int(Fraction(rest) / Fraction(loss)) for rest, loss in pairs if loss), default=None)


@dataclass(frozen=True, slots=True)
class ChargedLoss:
    """What a ledger counts of one release, or is to count once it is charged."""

    epsilon: Decimal
    delta: Decimal
    loss: PrivacyLoss
    """From the noise that is used."""
    neighbors: NeighboringRelation
    """What epsilon and delta are about."""
    selection_delta: Decimal = Decimal(0)
    """As of a `PlannedLoss`."""

    @property
    def spent(self) -> EpsilonDelta:
        """What it adds to the sums."""
        return EpsilonDelta(self.epsilon, self.delta)


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    """What one release is charged, before anything random is drawn for it.

    Its epsilon and delta cover its loss; a ValueError says otherwise, since no less than what is lost may
    ever be charged.
    """

    run: str
    """Of the release; charged once."""
    target: IRI
    """What it is about; a version's IRI stands for its output."""
    inputs: tuple[str, ...]
    """Keyed digests (`binding.input_hmac`) of the files that were read and have rows."""
    epsilon: Decimal
    """Above 0."""
    delta: Decimal
    """In [0, 1)."""
    loss: PrivacyLoss
    """From the noise that is used."""
    neighbors: NeighboringRelation
    """What epsilon and delta are about; sums are about one relation."""
    selection_delta: Decimal | None = None
    """The part of delta that private selection of groups takes; None: unknown, which accounts read
    against the release."""
    party: IRI
    """On whose behalf; asserted by the caller."""
    purpose: IRI | None
    policy_uid: IRI
    rule_uid: IRI
    plan_digest: str
    time: datetime
    """With a time zone."""

    def __post_init__(self) -> None:
        _check("epsilon", self.epsilon)
        _check("delta", self.delta)
        if not self.epsilon or self.delta >= 1:
            raise ValueError("a release is charged an epsilon above 0 and a delta in [0, 1)")
        if self.selection_delta is not None and not 0 <= self.selection_delta <= self.delta:
            raise ValueError("private selection takes a part of delta")
        if not covers(self.epsilon, Fraction(self.delta), self.loss):
            raise ValueError("less would be charged than is lost")

    @property
    def spent(self) -> EpsilonDelta:
        """What it adds to the sums."""
        return EpsilonDelta(self.epsilon, self.delta)


@dataclass(frozen=True, slots=True)
class ComposedLoss:
    """What a composition of releases lets anybody find out about one respondent; upper bounds.

    Its epsilon is computed from the noise. A `StatedLoss` of the same releases has the exact sum instead.
    """

    epsilon: float
    """Together with delta; at most the sum of the epsilons."""
    delta: Decimal
    """The sum of the deltas."""
    belief: float
    """The posterior belief at prior one half, exceeded with a probability of delta at most by whoever sees
    what was released; `compose` says what holds for what is made from it."""
    advantage: float
    """The membership advantage, from the noise that was used."""

    def stated(self, epsilon: Decimal) -> StatedLoss:
        """What is stated of the same releases, with the sum of their epsilons."""
        return StatedLoss(epsilon, self.delta, self.belief, self.advantage)


@dataclass(frozen=True, slots=True)
class Budget:
    """All that has been charged about the respondents of a target. Figures for its owners alone.

    Releases for different neighbouring relations are never admitted together, but a run that is not charged
    may join their ledgers later. Then all figures are about changing one respondent, and count what was
    released for adding or removing one as `_changing_one` says.
    """

    charges: tuple[Charge, ...] = ()
    """In the order in which they were admitted; those of other targets with the same respondents, too."""

    @property
    def relations(self) -> tuple[NeighboringRelation, ...]:
        """What the charges are about; where it is more than one relation, nothing more is ever admitted."""
        charged = {charge.neighbors for charge in self.charges}
        return tuple(relation for relation in NeighboringRelation if relation in charged)

    @property
    def _counted(self) -> tuple[ChargedLoss, ...]:
        if len(self.relations) > 1:
            return tuple(map(_changing_one, self.charges))
        return tuple(map(_as_charged, self.charges))

    @property
    def spent(self) -> EpsilonDelta:
        """The sums of epsilons and deltas."""
        return total(charge.spent for charge in self._counted)

    @property
    def epsilon(self) -> Decimal:
        """The sum of the epsilons."""
        return self.spent.epsilon

    @property
    def delta(self) -> Decimal:
        """The sum of the deltas."""
        return self.spent.delta

    @property
    def loss(self) -> PrivacyLoss:
        """Of all releases, from the noise that they used."""
        return sum((charge.loss for charge in self._counted), PrivacyLoss())

    @property
    def selection_delta(self) -> Fraction:
        """The part of delta that private selections took, at most."""
        return sum((Fraction(charge.selection_delta) for charge in self._counted), Fraction(0))

    @property
    def account(self) -> ComposedLoss:
        """The composition of all releases."""
        return compose(self.spent, self.loss, self.selection_delta)


def charged_loss(planned: PlannedLoss, neighbors: NeighboringRelation) -> ChargedLoss:
    """What a plan is to be charged that states so much."""
    return ChargedLoss(planned.epsilon, planned.delta, planned.noise, neighbors, planned.selection_delta)


def other_relation(target: IRI, charged: Collection[NeighboringRelation]) -> PlanError:
    """The error of a release for another neighbouring relation than earlier ones.

    Args:
        target: of the new release.
        charged: what earlier ones are about.
    """
    return PlanError(
        str(target),
        "earlier releases about these respondents use another neighbouring relation, and losses under"
        " different relations do not add up",
        "one `smalti:neighbors` for all releases about the same respondents",
        "state the relation of the earlier releases"
        if len(charged) == 1
        else "there is none: the earlier releases use both relations, from before the registry knew that"
        " their respondents are the same",
    )


def compose(spent: EpsilonDelta, loss: PrivacyLoss, selection_delta: Fraction) -> ComposedLoss:
    """The account of releases by the noise that they used; shown, and never decides an admission.

    Pure losses and squares of mus add up, also for releases that depend on earlier ones (see
    `privacy_loss`). Private selections take their part of delta: with that probability they reveal a
    respondent, whatever noise the rest has.

    Proof (of the belief):
        The loss of all that was released is the sum of the losses of its parts, each given what came
        before. Draw on the neighbour what has no Gaussian noise as on the true data: the losses of the
        Gaussian parts stay what they are, and are now those of a whole that is mu-GDP. So their sum exceeds
        `belief.largest_loss` with at most the part of delta that is left for it. What may reveal exceeds
        its pure loss with at most its own part of delta, whatever came before. Pure losses are never
        exceeded. The probabilities add up to delta at most, and the odds, at prior one half, are the
        exponential of the loss.

    Not promised:
        Where something may reveal, that belief for what is made from it: outcomes that are put together
        have the loss of their whole (without, see `belief.largest_loss`). Say that all is revealed with
        probability s, and otherwise a coin is told, with a loss of epsilon. Who hears of what was revealed
        as of the likelier side of the coin believes that side a little more than epsilon allows, and hears
        of it most of the time. But as all of it remains (epsilon, delta)-private, a loss of epsilon + x is
        exceeded with probability delta / (1 - e^-x) at most: P(S) <= e^epsilon Q(S) + delta, and Q(S) <
        e^-(epsilon + x) P(S).
        Nor an account of Gaussian noise or of a delta where results of earlier releases decided how much
        later ones may lose (Rogers et al. 2016 on odometers). What is admitted keeps to its ceiling then,
        too, and so does the sum of pure losses.

    Args:
        spent: the sums of epsilons and deltas.
        loss: of all of them together.
        selection_delta: the part of delta that private selections take, at most; likewise the ends of the
            noise of training.
    """
    gaussian = _float_below(Fraction(spent.delta) - selection_delta)
    basic = _float_above(Fraction(spent.epsilon))
    advantage = composed_advantage((loss.advantage, min(_float_above(selection_delta), 1.0)))
    if loss.mu_squared and not 0 < gaussian < 1:
        return ComposedLoss(basic, spent.delta, 1.0, advantage)
    return ComposedLoss(min(basic, loss.epsilon(gaussian)), spent.delta, loss.belief(gaussian), advantage)


def covers(epsilon: Decimal, delta: Fraction, loss: PrivacyLoss) -> bool:
    """Whether epsilon and delta are not below what noise loses; delta may be too small for any noise."""
    if loss.pure > Fraction(epsilon):
        return False
    if not loss.mu_squared:
        return True
    rest = _float_below(delta)
    return 0 < rest < 1 and loss.epsilon(rest) <= float(epsilon) * (1 + _CAUTION)


def total(several: Iterable[EpsilonDelta]) -> EpsilonDelta:
    """The sum; exact, so that their order does not matter."""
    return reduce(EpsilonDelta.__add__, several, EpsilonDelta())


def _rest(ceiling: Decimal, spent: Decimal) -> Decimal:
    return max(_EXACT.subtract(ceiling, spent), Decimal(0))


def _check(name: str, value: Decimal) -> None:
    if not value.is_finite() or value < 0:
        raise ValueError(f"{name} is a number that is not negative")
    places = value.as_tuple().exponent
    if value.adjusted() > _MOST_PLACES or (isinstance(places, int) and places < -_MOST_PLACES):
        raise ValueError(f"{name} has too many digits")


def _as_charged(charge: Charge) -> ChargedLoss:
    return ChargedLoss(
        charge.epsilon, charge.delta, charge.loss, charge.neighbors, _selection_delta(charge)
    )


def _changing_one(charge: Charge) -> ChargedLoss:
    """What a release loses at most about changing one respondent.

    Of one that was made for adding or removing one: twice its pure loss and twice its mu. Where selection
    reveals with probability s, so it does with delta + s e^epsilon. It is (2 epsilon, delta + delta
    e^epsilon)-private.

    Proof:
        To change one is to remove one and to add one. Let P, R and Q be what is released with the one, with
        neither and with the other. For a set S of outcomes, P(S) <= e^epsilon R(S) + delta and R(S) <=
        e^epsilon Q(S) + delta, so P(S) <= e^(2 epsilon) Q(S) + (1 + e^epsilon) delta (Dwork and Roth 2014,
        Theorem 2.2, for a delta of 0). Pure losses add up, and mu-GDP is 2 mu-GDP (Dong, Roth, Su 2022,
        Theorem 2.14). Selection tells P from R by some A with P(A) <= s, and R from Q by some B with R(B)
        <= s. Outside of A, P and R are (epsilon, delta - s)-close, so P(A or B) <= s + e^epsilon s + delta
        - s.
    """
    lost, changed = _as_charged(charge), NeighboringRelation.CHANGE_ONE
    if lost.neighbors is changed:
        return lost
    loss, epsilon = PrivacyLoss(2 * lost.loss.pure, 4 * lost.loss.mu_squared), lost.spent.times(2).epsilon
    if not lost.delta:
        return ChargedLoss(epsilon, lost.spent.times(2).delta, loss, changed)
    factor, selection = _exponential(lost.epsilon), lost.selection_delta
    most = min((1 + Fraction(factor)) * Fraction(lost.delta), Fraction(1))
    delta = _UP.divide(Decimal(most.numerator), Decimal(most.denominator))
    revealed = _EXACT.fma(factor, selection, lost.delta) if selection else Decimal(0)
    return ChargedLoss(epsilon, delta, loss, changed, min(revealed, delta))


def _exponential(value: Decimal) -> Decimal:
    """Not below the exponential of a number, or so large that times any delta it is above 1."""
    return _UP.next_plus(_UP.exp(min(value, _LARGEST_EXPONENT)))


def _selection_delta(charge: Charge) -> Decimal:
    """The part of delta that private selection took, at most."""
    if charge.selection_delta is not None:
        return charge.selection_delta
    if not charge.loss.mu_squared:
        return charge.delta
    # The Gaussian part needs at least this much of delta to be within epsilon.
    needed = charge.loss.delta(_float_above(Fraction(charge.epsilon))) * (1 - _CAUTION)
    return max(_EXACT.subtract(charge.delta, Decimal(needed)), Decimal(0))


def _float_above(value: Fraction) -> float:
    if value > _GREATEST_FLOAT:
        return math.inf
    nearest = float(value)
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)


def _float_below(value: Fraction) -> float:
    nearest = float(value)
    return nearest if Fraction(nearest) <= value else math.nextafter(nearest, -math.inf)
