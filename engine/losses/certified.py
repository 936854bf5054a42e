"""Check whether a certificate follows from its record and from the charges of the ledger.

A certificate that the registry has word for word may still be wrong: both come from the same writer.
Here it is made again from the plan, and what earlier releases add to it from their charges.
"""

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Final, TypeVar

from smalti.engine.binding.checks import ReleaseCheck
from smalti.engine.binding.stated import Published, Stated
from smalti.engine.losses.charging import loss_to_charge
from smalti.engine.plan.any_plan import AnyPlan
from smalti.engine.plan.files import Composition
from smalti.engine.plan.guarantees import AnyGuarantee, Json
from smalti.engine.plan.losses import PlannedLoss, StatedLoss
from smalti.engine.plan.recorded import names_kind
from smalti.engine.plan.serialize import recorded_digest
from smalti.engine.registry.budget import Budget, Charge, ChargedLoss, EpsilonDelta, compose, covers
from smalti.engine.registry.certificate import Certificate
from smalti.engine.registry.entries import TargetVersion
from smalti.errors import GuaranteeError
from smalti.transforms.loss.privacy_loss import PrivacyLoss

P = TypeVar("P", bound=AnyPlan)
G = TypeVar("G", bound=AnyGuarantee)
ROUNDING: Final = 1e-12
"""Of a belief or an advantage: other machines may compute the last digits of an exponential otherwise."""
_CAUTION: Final = 1e-9
"""Relative; many times the error of what is computed with floats from a scale."""
_LATER_TERMS: Final = frozenset({"generalised", "form"})
"""Terms that certificates without a kind may define or not: each certificate has come to define them."""
SENTENCES: Final = "the sentences of the certificate match its figures"
"""What `check_own_sentences` has shown, for people."""
NOT_REMADE: Final = "wasGeneratedBy/qualifiedAssociation/agent/softwareVersion"
"""The path of the version of smalti that wrote a certificate, which nothing else says."""


def check_certified(  # noqa: PLR0913, PLR0917 (what is known of an output, and what makes it again)
    published: Published,
    stated: Stated[G],
    seen: tuple[ReleaseCheck, ReleaseCheck],
    plan_class: type[P],
    guarantee_of: Callable[[P], G],
    check_noise: Callable[[Path, P], ReleaseCheck] | None = None,
    attested: tuple[str, ...] = (),
) -> ReleaseCheck:
    """What the bytes and the certificate show, and where the output is recorded, the record too.

    There the certificate is made again: from the record, the noise of the plan, and the charges of the
    ledger.

    Args:
        published: the output.
        stated: in its certificate.
        seen: what the bytes show, and what the certificate shows by itself.
        plan_class: of the plan that has to be in the record.
        guarantee_of: the guarantee that follows from a plan.
        check_noise: refuses a plan whose noise loses more than it says; before anything else of it.
        attested: what is taken on trust beside a record.

    Raises:
        GuaranteeError: they contradict each other, or a field says something else than follows: it is
            named, and no value.
    """
    of_bytes, alone = seen
    version = published.version
    if version is None:
        return of_bytes + alone
    place, plan = published.certificate, published.recorded_plan(version, plan_class)
    of_noise = ReleaseCheck((), ()) if check_noise is None else check_noise(place, plan)
    _check_record(published, version, plan, guarantee_of(plan), stated.composition)
    of_record = ReleaseCheck(("every field of the certificate follows from its plan and record",), ())
    if stated.composition is not None:
        of_record += _composed_again(published, stated.composition, version, plan)
    return of_bytes + ReleaseCheck(alone.recounted, attested) + of_noise + of_record


def check_charged(place: Path, said: PlannedLoss, loss: PrivacyLoss, selection_delta: Fraction) -> None:
    """Refuse a plan of which less would be added up with other releases than its noise loses.

    Args:
        place: of the certificate, for messages.
        said: in the plan.
        loss: of its noise.
        selection_delta: likewise, of its private selections.

    Raises:
        GuaranteeError: it says less, or nothing that a noise can lose; no value is named.
    """
    try:
        charged = said.noise
    except (ValueError, ArithmeticError):
        raise broken(place, "the plan states an impossible loss of its noise") from None
    rest = 1 - Fraction(_CAUTION)
    if (
        charged.pure < loss.pure * rest
        or charged.mu_squared < loss.mu_squared * rest
        or Fraction(said.selection_delta) < selection_delta * rest
    ):
        raise broken(place, "the noise of the plan loses more than the plan states")


def least_belief(noise: PrivacyLoss, delta: Fraction) -> float:
    """The belief that a composition states at least, once it contains this noise.

    Args:
        noise: some of what the composition contains. Whatever else it contains makes its belief larger, and
            a larger delta makes it smaller (`belief.largest_loss`).
        delta: the greatest part of the composition's delta that its Gaussian noise may have.
    """
    chance = float(delta)
    if noise.mu_squared and chance <= 0:
        return 1.0
    return (noise if chance < 1 else PrivacyLoss(noise.pure)).belief(chance)


def check_stated(place: Path, stated: StatedLoss, loss: PrivacyLoss, selection_delta: Fraction) -> None:
    """Refuse a stated loss that is smaller than that of its noise.

    Args:
        place: of the certificate, for messages.
        stated: what is stated.
        loss: of the noise; of what is known of it at least.
        selection_delta: the part of the stated delta that private selection takes.

    Raises:
        GuaranteeError: a stated figure is smaller; the message names the figure, not its value.
    """
    account = compose(EpsilonDelta(stated.epsilon, stated.delta), loss, selection_delta)
    smaller = {
        "epsilon or delta": not covers(stated.epsilon, Fraction(stated.delta) - selection_delta, loss),
        "posteriorBelief": stated.belief < account.belief - ROUNDING,
        "membershipAdvantage": stated.advantage < account.advantage - ROUNDING,
    }
    if any(smaller.values()):
        listed = ", ".join(name for name, is_so in smaller.items() if is_so)
        raise broken(place, f"the noise loses more than is stated: {listed}")


def stated_composition(place: Path, stated: Stated[G]) -> Composition:
    """The composition that a certificate of a loss states, beside sentences that match its figures.

    Raises:
        GuaranteeError: it states none, or other sentences.
    """
    if stated.composition is None:
        raise broken(place, "it states no composition with other releases")
    check_own_sentences(place, stated)
    return stated.composition


def check_own_sentences(place: Path, stated: Stated[G]) -> None:
    """Raise GuaranteeError where the sentences of a certificate are not those of its figures."""
    if not stated.has_own_sentences:
        raise broken(place, "its sentences do not match its figures")


def attested_of(composition: Composition) -> tuple[str, ...]:
    """What of a composition nobody can see in a certificate alone."""
    return () if composition.releases == 1 else ("what earlier releases lost",)


def check_alone(place: Path, own: StatedLoss, composition: Composition, belief: float) -> None:
    """Refuse a composition of all releases that is less than the one release of its certificate.

    The belief of a composition is one that holds but for a larger probability, so that it may be below that
    of a release with Gaussian noise, and not below that of its noise at this probability.

    Args:
        place: of the certificate, for messages.
        own: the loss of the release by itself, as it adds up.
        composition: as it is stated.
        belief: that the release leaves at least, but for the delta of the composition (`least_belief`).

    Raises:
        GuaranteeError: something of it is less; or it is of one release, and another one.
    """
    together = composition.loss
    if composition.releases == 1:
        agrees = _agree(own, together)
    else:
        agrees = (
            together.epsilon > own.epsilon
            and together.delta >= own.delta
            and together.advantage >= own.advantage - ROUNDING
            and together.belief >= belief - ROUNDING
        )
    if not agrees:
        raise broken(place, "the composition of all releases does not contain the loss of this one")


def _check_record(
    published: Published,
    version: TargetVersion,
    plan: AnyPlan,
    guarantee: AnyGuarantee,
    composition: Composition | None,
) -> None:
    """Make the certificate again, with the composition that it states, and compare it field by field."""
    expected = Certificate(
        version=version.iri,
        output=plan.write.output,
        issued=version.created_at,
        guarantee=guarantee,
        composition=composition,
        respondent=plan.read.respondent,
        inputs=tuple(entry.iri for entry in version.inputs),
        policy_uid=version.policy_uid,
        policy_digest=version.policy_digest,
        rule_uid=version.rule_uid,
        plan_digest=recorded_digest(version.plan),
        files=version.files,
        names_kind=names_kind(version.plan),
    ).to_json()
    said, remade = json.loads(published.text), json.loads(expected)
    if not names_kind(version.plan):
        for term in _LATER_TERMS - said["@context"].keys():
            del remade["@context"][term]
    unlike = [path for path in _unlike(said, remade) if path != NOT_REMADE]
    if unlike:
        listed = ", ".join(f"`{path}`" for path in unlike)
        problem = f"{listed} does not follow from the plan and the record of this output"
        raise broken(published.certificate, problem)


def _composed_again(
    published: Published, stated: Composition, version: TargetVersion, plan: AnyPlan
) -> ReleaseCheck:
    """What the charges of the ledger show of a composition."""
    subject = "the composition with earlier releases"
    ledger = published.registry.ledger.budget(plan.read.target)
    if _check_composition(published.certificate, stated, version, plan, ledger):
        return ReleaseCheck((f"{subject}, by the charges of this registry",), ())
    return ReleaseCheck((), (f"{subject}: other data has joined their ledger since",))


def _check_composition(
    place: Path,
    stated: Composition,
    version: TargetVersion,
    plan: AnyPlan,
    ledger: Budget,
) -> bool:
    """Compose the charges up to this release again.

    Charges of other targets may have joined the ledger later: then those that had certainly been in it are
    the least that the certificate may state. When they joined is not recorded, so a composition that leaves
    them out is never said to be recounted.

    Args:
        place: of the certificate, for messages.
        stated: the composition that it states.
        version: that it is about.
        plan: of it.
        ledger: all charges about the same respondents, as they are known now.

    Returns:
        Whether the composition is exactly that of all charges of the ledger, up to this release or to some
        moment before its output was registered. Otherwise it lies between the least and the greatest
        possible one; its belief is not below the least.

    Raises:
        GuaranteeError: the ledger has no charge for this release, or another one than its plan's, or the
            composition is none of charges.
    """
    charges = ledger.charges
    run = charged_run(version)
    place_of_own = next((n for n, charge in enumerate(charges) if charge.run == run), None)
    if place_of_own is None:
        raise broken(place, "this registry has no charge for the release")
    before, own = charges[: place_of_own + 1], charges[place_of_own]
    if _told_of(own) != loss_to_charge(plan) or own.plan_digest != recorded_digest(version.plan):
        raise broken(place, "the charge for the release differs from its plan")
    after = [charge for charge in charges[place_of_own + 1 :] if charge.time <= version.created_at]
    for more in range(len(after) + 1):
        then = (*before, *after[:more])
        if len(then) == stated.releases and _agree(stated.loss, _together(then)):
            return True
    certain, everything = _connected(before, own), (*before, *after)
    has_joined = len(certain) < len(before) or len(_connected(everything, own)) < len(everything)
    if not has_joined or not _is_between(stated, certain, everything):
        raise broken(place, "the composition of all releases does not match their charges")
    return False


def _is_between(stated: Composition, certain: Sequence[Charge], everything: Sequence[Charge]) -> bool:
    """Whether a composition may be that of the charges that are known to be in it, and some of all."""
    least, greatest, budget = _together(certain), _together(everything), Budget(tuple(certain))
    chance = Fraction(stated.loss.delta) - budget.selection_delta
    return (
        len(certain) <= stated.releases <= len(everything)
        and least.epsilon <= stated.loss.epsilon <= greatest.epsilon
        and least.delta <= stated.loss.delta <= greatest.delta
        and least.advantage - ROUNDING <= stated.loss.advantage <= greatest.advantage + ROUNDING
        and stated.loss.belief >= least_belief(budget.loss, chance) - ROUNDING
    )


def charged_run(version: TargetVersion) -> str:
    """The run that was charged for a version: itself, or the one whose training it took up."""
    return version.report.charged_as or version.run


def broken(place: Path, problem: str) -> GuaranteeError:
    """That a certificate does not say what follows."""
    return GuaranteeError(
        str(place),
        problem,
        "the content that follows from the record",
        "do not rely on its figures; ask the registry's operator to investigate",
    )


def _agree(left: StatedLoss, right: StatedLoss) -> bool:
    return (
        left.epsilon == right.epsilon
        and left.delta == right.delta
        and math.isclose(left.belief, right.belief, rel_tol=0, abs_tol=ROUNDING)
        and math.isclose(left.advantage, right.advantage, rel_tol=0, abs_tol=ROUNDING)
    )


def _told_of(charge: Charge) -> ChargedLoss:
    selection = Decimal(0) if charge.selection_delta is None else charge.selection_delta
    return ChargedLoss(charge.epsilon, charge.delta, charge.loss, charge.neighbors, selection)


def _together(charges: Sequence[Charge]) -> StatedLoss:
    budget = Budget(tuple(charges))
    account = budget.account
    return account.stated(budget.epsilon)


def _connected(charges: Sequence[Charge], own: Charge) -> tuple[Charge, ...]:
    """Those that share their target or a file with this one, or with another such one."""
    runs, marks = {own.run}, _marks(own)
    while more := [charge for charge in charges if charge.run not in runs and marks & _marks(charge)]:
        runs.update(charge.run for charge in more)
        marks |= frozenset[str]().union(*map(_marks, more))
    return tuple(charge for charge in charges if charge.run in runs)


def _marks(charge: Charge) -> frozenset[str]:
    return frozenset((charge.target, *charge.inputs))


def _unlike(said: Json, expected: Json, path: str = "") -> Iterator[str]:
    """Where two JSON values differ, as paths."""
    if isinstance(said, Mapping) and isinstance(expected, Mapping):
        for key in sorted({*said, *expected}):
            where = f"{path}/{key}" if path else key
            if key in said and key in expected:
                yield from _unlike(said[key], expected[key], where)
            else:
                yield where
    elif isinstance(said, list) and isinstance(expected, list) and len(said) == len(expected):
        for number, (left, right) in enumerate(zip(said, expected, strict=True)):
            yield from _unlike(left, right, f"{path}/{number}")
    elif said != expected:
        yield path
