"""Charges of releases about a target's respondents, and what is left: for its owners."""

from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from fractions import Fraction

from smalti.deciding import DEFAULT_REGISTRY, AnyPath, using
from smalti.engine.arguments import public
from smalti.engine.losses.stated_ceilings import StatedCeiling, stated_ceilings
from smalti.engine.registry.budget import Budget, Charge, ComposedLoss, EpsilonDelta, compose
from smalti.engine.registry.registry import Registry
from smalti.errors import SmaltiError, UsageError, raise_all
from smalti.policy.decide import fact_text
from smalti.policy.decide.names import iri
from smalti.policy.model.model import Number
from smalti.transforms.identifiability import mu_for_epsilon
from smalti.transforms.loss.privacy_loss import PrivacyLoss
from smalti.transforms.sensitivity import NeighboringRelation
from smalti.vocab.terms import IRI

_MOST_EPSILON = 10**9
"""Images lose that much as a whole; see `transforms.noise.pixelation`."""
_MOST_RELEASES = 10**9


@dataclass(frozen=True, slots=True)
class CeilingLeft:
    """A ceiling in force, and what is left under it of the one sum of all charges."""

    stated: StatedCeiling
    left: EpsilonDelta | None
    """None: the rule permits no release. Nothing where charges are about another relation than its own."""


@dataclass(frozen=True, slots=True)
class ShownCharge:
    """A charge, as shown to an owner."""

    time: datetime
    spent: EpsilonDelta
    charge: Charge | None
    """None: it is about other data of the same respondents, which the party does not own."""


@dataclass(frozen=True, slots=True)
class BudgetReport:
    """The charges about a target's respondents; for its owners alone."""

    target: IRI
    relations: tuple[NeighboringRelation, ...]
    """What the charges are about. Where they are about both, what follows is about changing one respondent,
    an upper bound (`engine.budget.Budget`), and nothing more is ever admitted."""
    spent: EpsilonDelta
    account: ComposedLoss
    """The composition of all releases."""
    ceilings: tuple[CeilingLeft, ...]
    charges: tuple[ShownCharge, ...]
    """Oldest first."""


@dataclass(frozen=True, slots=True)
class Fit:
    """How many more releases fit under a ceiling."""

    stated: StatedCeiling
    number: int


@dataclass(frozen=True, slots=True)
class Forecast:
    """The loss after more releases of one kind; for the target's owners alone."""

    target: IRI
    relations: tuple[NeighboringRelation, ...]
    """What the charges so far are about; see `BudgetReport`."""
    each: EpsilonDelta
    """The charge of each further release."""
    releases: int
    """The number of further releases that `spent` and `account` include."""
    spent: EpsilonDelta
    """After them, with all that was charged before."""
    account: ComposedLoss
    """After them; where they have a delta, that of the worse one of Gaussian noise, and of Laplace noise
    with a private selection that takes all of delta."""
    fits: tuple[Fit, ...]
    """None fit under a rule that is about another neighbouring relation than some charge."""


@public
def budget(target: str, *, party: str, registry: Registry | AnyPath = DEFAULT_REGISTRY) -> BudgetReport:
    """The charges about a target's respondents, and what is left of each ceiling.

    All releases about the same respondents that this registry recorded count; other registries do not.

    Args:
        target: the IRI of a source, of an output, or of one of its versions.
        party: an owner of it, an IRI that is trusted.
        registry: that recorded the releases.

    Raises:
        UsageError: the registry has no record of the target, or the party owns no part of it.
    """
    about, owner = iri(target, "target"), iri(party, "party (--as)")
    with using(registry) as opened:
        charged = opened.owners_budget(about, by=owner)
        spent, owned = charged.spent, {charge.target for charge in charged.charges}
        owned = {asset for asset in owned if owner in opened.owners(asset)}
        return BudgetReport(
            about,
            charged.relations,
            spent,
            charged.account,
            tuple(
                _left(_with_charges(ceiling, charged), spent) for ceiling in stated_ceilings(opened, about)
            ),
            tuple(
                ShownCharge(charge.time, charge.spent, charge if charge.target in owned else None)
                for charge in charged.charges
            ),
        )


@public
def forecast(
    target: str,
    *,
    party: str,
    epsilon: str | Decimal,
    delta: str | Decimal = "0",
    releases: int = 1,
    registry: Registry | AnyPath = DEFAULT_REGISTRY,
) -> Forecast:
    """How many more releases fit, and the bounds on what they reveal.

    Args:
        target: as for `budget`.
        party: likewise.
        epsilon: what each release would be charged; above 0.
        delta: likewise; in [0, 1).
        releases: how many of them belief and advantage are computed for; 1 or more.
        registry: likewise.

    Raises:
        UsageError: as `budget`; or a number is outside of its range: all problems at once.
    """
    about, owner = iri(target, "target"), iri(party, "party (--as)")
    each = _loss_of_each(str(epsilon), str(delta), releases)
    with using(registry) as opened:
        charged = opened.owners_budget(about, by=owner)
        stated = stated_ceilings(opened, about)
    more = each.times(releases)
    fits = tuple(_fit(_with_charges(ceiling, charged), charged.spent, each) for ceiling in stated)
    account = _after(charged, each, releases)
    return Forecast(about, charged.relations, each, releases, charged.spent + more, account, fits)


def _with_charges(stated: StatedCeiling, charged: Budget) -> StatedCeiling:
    """A ceiling, with the problem that admits nothing more under it, however much is left."""
    others = [relation for relation in charged.relations if relation is not stated.neighbors]
    if stated.ceiling is None or not others:
        return stated
    problem = f"earlier releases are about `{others[0]}`, and this rule is about `{stated.neighbors}`"
    return replace(stated, problem=problem)


def _left(stated: StatedCeiling, spent: EpsilonDelta) -> CeilingLeft:
    if stated.ceiling is None:
        return CeilingLeft(stated, None)
    return CeilingLeft(stated, EpsilonDelta() if stated.problem else stated.ceiling.left(spent))


def _fit(stated: StatedCeiling, spent: EpsilonDelta, each: EpsilonDelta) -> Fit:
    if stated.ceiling is None or stated.problem:
        return Fit(stated, 0)
    return Fit(stated, stated.ceiling.fitting(spent, each) or 0)


def _loss_of_each(epsilon: str, delta: str, releases: int) -> EpsilonDelta:
    problems: list[SmaltiError] = []
    loss, probability = _number(epsilon), _number(delta)
    if loss is None or not 0 < loss <= _MOST_EPSILON:
        expected = f"a number above 0 and at most {_MOST_EPSILON}"
        problems.append(UsageError("epsilon (--epsilon)", f"`{epsilon}` is not a valid epsilon", expected))
    if probability is None or not 0 <= probability < 1:
        expected = "a number of at least 0 and below 1"
        problems.append(UsageError("delta (--delta)", f"`{delta}` is not a valid delta", expected))
    if not 1 <= releases <= _MOST_RELEASES:
        expected = f"1 to {_MOST_RELEASES}"
        problems.append(UsageError("releases (--releases)", f"{releases} is out of range", expected))
    raise_all(problems)
    return EpsilonDelta(loss or Decimal(0), probability or Decimal(0))


def _number(written: str) -> Decimal | None:
    value = fact_text.value(written, "number")
    return value.value if isinstance(value, Number) else None


def _after(charged: Budget, each: EpsilonDelta, releases: int) -> ComposedLoss:
    """The account of all charges and of more releases, whose noise is not decided yet."""
    spent = charged.spent + each.times(releases)
    pure = PrivacyLoss(pure=Fraction(each.epsilon) * releases)
    deltas = Fraction(each.delta) * releases
    laplace = compose(spent, charged.loss + pure, charged.selection_delta + deltas)
    if not each.delta:
        return laplace
    mu = mu_for_epsilon(float(each.epsilon), float(each.delta))
    loss = PrivacyLoss(mu_squared=Fraction(mu) ** 2 * releases)
    gaussian = compose(spent, charged.loss + loss, charged.selection_delta)
    return ComposedLoss(
        max(laplace.epsilon, gaussian.epsilon),
        spent.delta,
        max(laplace.belief, gaussian.belief),
        max(laplace.advantage, gaussian.advantage),
    )
