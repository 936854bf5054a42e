"""The audit that the duties of a permission require, and the duties that no audit could decide."""

from decimal import Decimal
from typing import Final

from smalti.engine.registry.attempts import HIGHEST_CONFIDENCE
from smalti.engine.training.attacks import (
    FIGURES,
    MOST_STEPS,
    MOST_WORK,
    SINGLING_OUT,
    TRAININGS,
    WITH_POOL,
    WITH_SHADOWS,
    family_of,
    has_figure,
    of_family,
)
from smalti.engine.training.attainable import never_exceeded, never_met, undecided_by_trainings
from smalti.engine.training.plan import Audit, CategoryFeature, Feature, FigureBound, PrivateSteps
from smalti.errors import PlanError, SmaltiError, raise_all
from smalti.policy.model.model import Audit as AuditDuty
from smalti.policy.model.model import Permission
from smalti.transforms.membership.registry import named
from smalti.vocab.attacks import Family

_SHADOWS: Final = 16


def audit_of(permission: Permission) -> Audit | None:
    """The audit that the duties of a permission require: all attacks, the lowest of each bound."""
    duties = [duty.audit for duty in permission.duties if duty.audit is not None]
    if not duties:
        return None
    least: dict[tuple[str, Decimal | None], Decimal] = {}
    for duty in duties:
        for bound in _bounds(duty):
            key = bound.figure, bound.false_positive_rate
            least[key] = min(bound.most, least.get(key, bound.most))
    attacks = tuple(sorted({name for duty in duties for name in duty.attacks}))
    return Audit(
        attacks,
        tuple(FigureBound(figure, most, rate) for (figure, rate), most in sorted(least.items(), key=str)),
        max(duty.confidence for duty in duties),
        0 if WITH_SHADOWS.isdisjoint(attacks) else _SHADOWS,
    )


def problems_of(permission: Permission, features: tuple[Feature, ...]) -> list[SmaltiError]:
    """Why a duty could not be decided: bounds and attacks that do not suit each other or the training.

    Args:
        permission: to train.
        features: that the model sees.
    """
    duties = [duty.audit for duty in permission.duties if duty.audit is not None]
    idle = [problem for duty in duties for problem in _without_bounds(duty, str(duty.where))]
    idle += [problem for duty in duties for problem in _without_limits(duty, str(duty.where))]
    wanted, audit = permission.training, audit_of(permission)
    if wanted is None or audit is None:
        return idle
    check_implemented(audit)
    if audit.confidence <= HIGHEST_CONFIDENCE:
        idle += [_never_met(bound, duties) for bound in never_met(audit)]
    families = {family_of(name) for name in audit.attacks}
    where = str(wanted.where)
    if Family.IDENTIFIABILITY in families and not wanted.is_private:
        idle.append(
            PlanError(
                where,
                "the attack `differential-identifiability` tests the noise of training, and the training"
                " has none",
                "a private training",
                "bound its loss (`smalti:epsilon`, `smalti:posteriorBelief`, ...), or leave the attack out",
            )
        )
    compared = [name for name in of_family(audit.attacks, Family.RISKS) if name != SINGLING_OUT]
    if compared and len(features) < 2:
        idle.append(
            PlanError(
                where,
                f"the attack `{compared[0]}` compares columns, and there is a single one",
                "two columns that are learned and published",
                "leave the attack out",
            )
        )
    if Family.INVERSION in families and not guessable(features):
        idle.append(
            PlanError(
                where,
                "the attack `model-inversion` guesses categories, and the model has none as a feature",
                "a column with at least two public values (`csvw-eo:keyValues`)",
                "state the values of a column, or leave the attack out",
            )
        )
    return idle


def guessable(features: tuple[Feature, ...]) -> tuple[CategoryFeature, ...]:
    """The attributes that model inversion guesses: all categories with two values at least."""
    return tuple(
        feature for feature in features if isinstance(feature, CategoryFeature) and feature.size > 1
    )


def _without_bounds(duty: AuditDuty, where: str) -> list[SmaltiError]:
    """A duty decides by an attack only through a figure that the attack has and the duty bounds."""
    bounded = {bound.figure for bound in _bounds(duty)}
    idle = [name for name in duty.attacks if not any(has_figure(name, figure) for figure in bounded)]
    vain = sorted(
        figure for figure in bounded if not any(has_figure(name, figure) for name in duty.attacks)
    )
    return [
        *(
            PlanError(
                where,
                f"the attack `{name}` has none of the figures that the duty bounds",
                "a bound of"
                f" {' or '.join(f'`smalti:{figure}`' for figure in sorted(FIGURES[family_of(name)]))}",
                "add such a bound, or leave the attack out",
            )
            for name in idle
        ),
        *(
            PlanError(
                where,
                f"no attack of the duty has the figure `smalti:{figure}`",
                "an attack that can be judged by each bound",
                "add one, such as `loss`, or leave the bound out",
            )
            for figure in vain
        ),
    ]


def _without_limits(duty: AuditDuty, where: str) -> list[SmaltiError]:
    """A confidence that floats are too coarse for."""
    if duty.confidence <= HIGHEST_CONFIDENCE:
        return []
    return [
        PlanError(
            where,
            "no limit can be computed for the confidence of the duty",
            f"`smalti:confidence` of at most {HIGHEST_CONFIDENCE}",
            "ask for a lower confidence",
        )
    ]


def check_implemented(audit: Audit) -> None:
    """Refuse attacks that nothing implements, before anything is charged.

    Raises:
        UsageError: there is one.
    """
    for name in audit.attacks:
        if family_of(name).has_scores:
            named(name)


def _never_met(bound: FigureBound, duties: list[AuditDuty]) -> SmaltiError:
    rate = bound.false_positive_rate
    at = "" if rate is None else f" at a false positive rate of {rate}"
    return PlanError(
        next(str(duty.where) for duty in duties if bound in _bounds(duty)),
        f"a guess exceeds `smalti:{bound.figure}` at most {bound.most}{at}, with any number of records",
        "a bound that a model which reveals nothing can meet",
        "raise the bound" if rate is None else "change the bound or its rate",
    )


def check_work(where: str, audit: Audit | None, private: PrivateSteps | None, coordinates: int) -> None:
    """Refuse trainings whose repetition would take too long.

    Args:
        where: it was asked for.
        audit: that is due.
        private: the noise of the training.
        coordinates: parameters of the network.

    Raises:
        PlanError: differential identifiability would take more than `attacks.MOST_STEPS` or `MOST_WORK`.
    """
    if audit is None or private is None or not of_family(audit.attacks, Family.IDENTIFIABILITY):
        return
    if private.steps > MOST_STEPS or private.steps * coordinates > MOST_WORK:
        raise PlanError(
            where,
            "`differential-identifiability` repeats the training, which takes too many steps for that",
            f"at most {MOST_STEPS:,} steps, and {MOST_WORK:,} steps times parameters",
            "fewer epochs, a higher sampling rate or a smaller network, or leave the attack out",
        )


def check_decided(where: str, audit: Audit | None, delta: float) -> None:
    """Refuse lower bounds on epsilon that nothing could exceed.

    Args:
        where: it was asked for.
        audit: that is due.
        delta: of the bounds.

    Raises:
        PlanError: no number of records would decide one (`ProblemsError`: more than one).
    """
    raise_all([
        PlanError(
            where,
            f"no attack exceeds `smalti:{bound.figure}` at most {bound.most}, with any number of records",
            "a bound that an audit can decide",
            "lower it, or leave it out",
        )
        for bound in (() if audit is None else never_exceeded(audit, delta))
    ])  # fmt: skip


def check_trainings(
    where: str, audit: Audit | None, private: PrivateSteps | None, delta: float, attempt: int = 1
) -> None:
    """Refuse bounds that so few repeated trainings cannot decide.

    Args:
        where: it was asked for.
        audit: that is due.
        private: the noise of the training.
        delta: of lower bounds on epsilon.
        attempt: its number.

    Raises:
        PlanError: a perfect attack would not exceed a bound, or half of all guesses do; all of them at once
            (`ProblemsError`).
    """
    if audit is None or private is None:
        return
    undecided = undecided_by_trainings(
        audit, delta, is_gaussian=private.sampling_rate == 1, attempt=attempt
    )
    raise_all([_undecided(bound, where) for bound in undecided])


def _undecided(bound: FigureBound, where: str) -> SmaltiError:
    is_lower = bound.figure == "epsilonLowerBound"
    return PlanError(
        where,
        f"the {TRAININGS} trainings of `differential-identifiability` are too few to decide"
        f" `smalti:{bound.figure}` at most {bound.most}:"
        f" {'no attack could exceed it' if is_lower else 'half of all guesses exceed it'}",
        "a bound that they can decide",
        f"{'lower' if is_lower else 'raise'} it, ask for a lower confidence, or leave the attack out",
    )


def needs_pool(audit: Audit | None) -> bool:
    """Whether shadow models need records that the target was not trained on."""
    return audit is not None and not WITH_POOL.isdisjoint(audit.attacks)


def _bounds(duty: AuditDuty) -> list[FigureBound]:
    figures = [
        ("attackAdvantage", duty.attack_advantage, None),
        ("attackPrecision", duty.attack_precision, None),
        ("truePositiveRate", duty.true_positive_rate, duty.false_positive_rate),
        ("epsilonLowerBound", duty.epsilon_lower_bound, None),
    ]
    return [FigureBound(name, most, rate) for name, most, rate in figures if most is not None]
