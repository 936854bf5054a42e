"""From scores of records to what an attack achieved: record by record, or by attacks on many of them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Final

import numpy as np

from smalti.engine.training.attacks import SET_SIZE
from smalti.engine.training.figures import AttackResult, Detail, Figure
from smalti.engine.training.plan import Audit
from smalti.transforms.auditing.curves import FALSE_POSITIVE_RATES, RocCurve, thinned
from smalti.transforms.auditing.epsilon_bounds import (
    EpsilonBound,
    Method,
    clopper_pearson_by_ranks,
    reach_by_ranks,
)
from smalti.transforms.auditing.limits import Figure as Limits
from smalti.transforms.auditing.limits import Outcomes, advantage, of_two, true_positive_rate
from smalti.transforms.auditing.scores import Scores
from smalti.transforms.membership.planted_leak import detection
from smalti.transforms.membership.scored import Scored
from smalti.transforms.membership.set_membership import (
    SUBSETS,
    AttackType,
    disjoint,
    divided,
    repeated,
)


@dataclass(frozen=True, slots=True)
class Reached:
    """A lower bound on epsilon, and what it would be for an attack that is never wrong."""

    shown: EpsilonBound
    reach: float


@dataclass(frozen=True, slots=True)
class Judge:
    """Judges the scores of membership attacks, and of the same attacks on a planted leak, alike."""

    audit: Audit
    delta: float
    """Of the lower bounds on epsilon."""
    confidence: float
    """Of each limit alone."""
    seed: int
    """Draws halves, disjoint sets and coins."""

    def by_record(
        self,
        attack: str,
        scored: Scored,
        leak: Scored,
        canaries: Reached | None,
        control: Scored | None = None,
    ) -> AttackResult:
        """Every figure of an attack on single records.

        Args:
            attack: its name.
            scored: of the model.
            leak: of the planted leak, by the same attack on the same records.
            canaries: what one-run auditing shows at `confidence_of_each`; None where it is not valid.
            control: of a network that was overfitted on purpose, which decides nothing; None where there is
                none.
        """
        scores = scored.split()
        curve = RocCurve.of(scores)
        detected = detection(leak, self.confidence)
        bounds = self._bounds(scores, canaries)
        return AttackResult(
            attack=attack,
            members=curve.members,
            non_members=curve.non_members,
            area=curve.area,
            curve=thinned(curve),
            figures=(*self._rates(scores), self.lower_bound(bounds)),
            finds_leak=detected.is_detected,
            leak_advantage=detected.advantage.lower,
            details=(
                *(() if control is None else (self._on_control(control),)),
                *(() if canaries is None else map(_detail_of, bounds)),
            ),
        )

    def repeatedly(self, attack: str, kind: AttackType, scored: Scored, leak: Scored) -> AttackResult:
        """The figures of attack type 1 or 2, on disjoint records; the protocol of D5.2 is shown beside.

        Args:
            attack: its name.
            kind: 1 (single) or 2 (set membership).
            scored: of the model.
            leak: of the planted leak, by the same attack on the same records.

        Raises:
            DataError: fewer members or others than one attack takes.
        """
        attacks = disjoint(kind, scored, self._draw(4), SET_SIZE)
        planted = disjoint(kind, leak, self._draw(5), SET_SIZE).advantage(self.confidence)
        parts = min(
            SUBSETS, int(scored.is_member.sum()) // SET_SIZE, int((~scored.is_member).sum()) // SET_SIZE
        )
        again = repeated(kind, divided(scored, self._draw(6), parts), self._draw(7), SET_SIZE)
        records = attacks.accuracies.size * attacks.size
        return AttackResult(
            attack=attack,
            members=records,
            non_members=records,
            area=None,
            curve=(),
            figures=(
                upper("attackAdvantage", attacks.advantage(self.confidence)),
                upper("attackPrecision", attacks.accuracy(self.confidence)),
            ),
            finds_leak=planted.lower > 0,
            leak_advantage=planted.lower,
            details=(
                Detail(
                    name=f"attacks, each on {SET_SIZE} members and {SET_SIZE} others",
                    value=attacks.accuracies.size,
                ),
                Detail(
                    name=f"accuracy by the protocol of D5.2, over {parts} subsets", value=again.accuracy
                ),
                Detail(
                    name="its standard deviation over subsets, which is no limit",
                    value=again.standard_deviation if parts > 1 else None,
                ),
            ),
        )

    @property
    def confidence_of_each(self) -> float:
        """Of each of two lower bounds on epsilon, of which the greater one is taken."""
        return of_two(self.confidence)

    def lower_bound(self, bounds: Sequence[Reached]) -> Figure:
        """The greatest of some lower bounds on epsilon, where one of them could show what a duty excludes.

        They are no upper limits: the fewer records, the lower they are. So low ones tell something only if
        a perfect attack would exceed the duty's bound by one of them.

        Args:
            bounds: valid together, at the confidence; at least one.
        """
        excluded = [float(bound.most) for bound in self.audit.bounds if bound.figure == "epsilonLowerBound"]
        reach = max(bound.reach for bound in bounds)
        shown = max((bound.shown for bound in bounds), key=lambda bound: bound.epsilon)
        limit = None if excluded and reach <= max(excluded) else shown.epsilon
        return Figure(
            figure="epsilonLowerBound", value=shown.epsilon, limit=limit, method=str(shown.method)
        )

    def _bounds(self, scores: Scores, canaries: Reached | None) -> tuple[Reached, ...]:
        """By ranks, which takes scores for independent; and by the coins, which does not."""
        if canaries is None:
            return (self._by_ranks(scores, self.confidence),)
        return self._by_ranks(scores, self.confidence_of_each), canaries

    def _by_ranks(self, scores: Scores, confidence: float) -> Reached:
        """Coins order equal scores: ranks alone see little of many that a model is sure of."""
        shown = clopper_pearson_by_ranks(scores.untied(self._draw(8)), self.delta, confidence)
        most = reach_by_ranks(scores.members.size, scores.non_members.size, self.delta, confidence)
        return Reached(shown, most)

    def _rates(self, scores: Scores) -> tuple[Figure, ...]:
        """Advantage, precision, and true positive rates at what is asked for and at the usual rates."""
        bounded_rates = {
            bound.false_positive_rate
            for bound in self.audit.bounds
            if bound.false_positive_rate is not None
        }
        usual = dict.fromkeys(map(str, FALSE_POSITIVE_RATES))
        rates = sorted({*bounded_rates, *map(Decimal, usual)}, reverse=True)
        return (
            upper("attackAdvantage", advantage(scores, self.confidence)),
            upper("attackPrecision", self._precision(scores)),
            *(
                replace(
                    upper("truePositiveRate", self._true_positive_rate(scores, float(rate))),
                    false_positive_rate=rate,
                )
                for rate in rates
            ),
        )

    def _true_positive_rate(self, scores: Scores, rate: float) -> Limits:
        """The same coins order equal scores at all rates."""
        return true_positive_rate(scores, rate, self.confidence, self._draw(8))

    def _on_control(self, control: Scored) -> Detail:
        """How well the attack reads a network, which tells more of its power than a planted leak."""
        limits = advantage(control.split(), self.confidence)
        name = "advantage on a network of this form that is overfitted on purpose"
        return Detail(name=name, value=limits.value, lower=limits.lower, upper=limits.upper)

    def _precision(self, scores: Scores) -> Limits:
        """At the threshold that is best on one half, judged on the other one."""
        first, rest = scores.halves(self._draw(3))
        curve = RocCurve.of(first)
        best = int(np.argmax(curve.true_positive_rates - curve.false_positive_rates))
        threshold = curve.thresholds[max(best, 1)]
        return Outcomes.at(rest, float(threshold)).precision(self.confidence)

    def _draw(self, purpose: int) -> np.random.Generator:
        return np.random.default_rng((self.seed, purpose))


def upper(figure: str, limits: Limits) -> Figure:
    """A figure whose upper limit is compared with a bound."""
    return Figure(figure=figure, value=limits.value, limit=limits.upper)


_ASSUMED: Final = {
    Method.CLOPPER_PEARSON: "if scores of records are independent",
    Method.ONE_RUN: "whatever scores depend on",
}


def _detail_of(bound: Reached) -> Detail:
    method = bound.shown.method
    name = f"epsilon is at least, {_ASSUMED[method]} ({method}; a perfect attack: {bound.reach:.4g})"
    return Detail(name=name, value=bound.shown.epsilon)
