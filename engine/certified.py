"""Whether a certificate of what was charged says what follows from its record and from the ledger.

A certificate that the registry has word for word may still be wrong: whoever wrote the record wrote both.
Here it is made again from the plan, and what earlier releases add to it from their charges.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Final

from smalti.engine.audits.report import TrainingReport
from smalti.engine.budget import Budget, Charge, Spent, compose, covers
from smalti.engine.certificate import AnyGuarantee, Certificate, Composition, Json
from smalti.engine.charging import Losing, LosingPlan, losing
from smalti.engine.entries import TargetVersion
from smalti.engine.releases.guarantee import Loss
from smalti.engine.releases.recheck import ReleaseCheck
from smalti.engine.serialize import plan_digest
from smalti.errors import GuaranteeError
from smalti.transforms.privacy_loss import PrivacyLoss

ROUNDING: Final = 1e-12
"""Of a belief or an advantage: other machines may compute the last digits of an exponential otherwise."""
NOT_REMADE: Final = "wasGeneratedBy/qualifiedAssociation/agent/softwareVersion"
"""The path of the version of smalti that wrote a certificate, which nothing else says."""


def check_record(
    place: Path,
    text: str,
    version: TargetVersion,
    plan: LosingPlan,
    guarantee: AnyGuarantee,
    composition: Composition | None,
) -> None:
    """Make the certificate again, and compare it field by field.

    Args:
        place: of the certificate, for messages.
        text: of the certificate.
        version: what was recorded beside it.
        plan: that was recorded.
        guarantee: that follows from the plan.
        composition: as the certificate states it; `check_composition` looks at it. None where nothing was
            charged.

    Raises:
        GuaranteeError: a field says something else; its path is named, and no value.
    """
    made = Certificate(
        version=version.iri,
        output=plan.write.output,
        issued=version.created_at,
        guarantee=guarantee,
        composition=composition,
        respondent=plan.read.respondent,
        inputs=tuple(one.iri for one in version.inputs),
        policy_uid=version.policy_uid,
        policy_digest=version.policy_digest,
        rule_uid=version.rule_uid,
        plan_digest=plan_digest(plan),
        files=version.files,
    ).to_json()
    unlike = [path for path in _unlike(json.loads(text), json.loads(made)) if path != NOT_REMADE]
    if unlike:
        listed = ", ".join(f"`{path}`" for path in unlike)
        raise broken(place, f"{listed} is not what follows from the plan and the record of this output")


def check_made_again(  # noqa: PLR0913, PLR0917 (a certificate, and all that it follows from)
    place: Path,
    text: str,
    version: TargetVersion,
    plan: LosingPlan,
    guarantee: AnyGuarantee,
    composition: Composition | None,
    ledger: Budget,
) -> ReleaseCheck:
    """Make a certificate again: from the record, and from the charges of the ledger.

    Args:
        place: of the certificate, for messages.
        text: of the certificate.
        version: the record.
        plan: in the record.
        guarantee: that follows from the plan.
        composition: as the certificate states it; None where nothing was charged.
        ledger: all charges about the same respondents.

    Raises:
        GuaranteeError: a field says something else than follows; it is named, and no value.
    """
    check_record(place, text, version, plan, guarantee, composition)
    seen = ReleaseCheck(("every field of the certificate follows from its plan and record",), ())
    if composition is None:
        return seen
    told = "the composition with earlier releases"
    if check_composition(place, composition, version, plan, ledger):
        return seen + ReleaseCheck((f"{told}, by the charges of this registry",), ())
    return seen + ReleaseCheck((), (f"{told}: other data has joined their ledger since",))


def check_stated(place: Path, stated: Loss, loss: PrivacyLoss, selection_delta: Fraction) -> None:
    """Refuse a stated loss that is smaller than that of its noise.

    Args:
        place: of the certificate, for messages.
        stated: what is stated.
        loss: of the noise; of what is known of it at least.
        selection_delta: the part of the stated delta that private selection takes.

    Raises:
        GuaranteeError: something of it is smaller; it is named, and no value.
    """
    account = compose(Spent(stated.epsilon, stated.delta), loss, selection_delta)
    smaller = {
        "epsilon or delta": not covers(stated.epsilon, Fraction(stated.delta) - selection_delta, loss),
        "posteriorBelief": stated.belief < account.belief - ROUNDING,
        "membershipAdvantage": stated.advantage < account.advantage - ROUNDING,
    }
    if any(smaller.values()):
        listed = ", ".join(name for name, is_so in smaller.items() if is_so)
        raise broken(place, f"the stated noise loses more than is stated: {listed}")


def check_alone(
    place: Path, own: Loss, composition: Composition, *, is_pure: bool, is_whole: bool = True
) -> None:
    """Refuse a composition of all releases that is less than the one release of its certificate.

    The belief of a composition is one that holds but for a larger probability, so that it may be below that
    of a release with Gaussian noise.

    Args:
        place: of the certificate, for messages.
        own: the loss of the release by itself.
        composition: as it is stated.
        is_pure: whether the release has no Gaussian noise.
        is_whole: whether what adds up tells all of its loss. Of sampled training it is more than that.

    Raises:
        GuaranteeError: something of it is less; or it is of one release, and another one.
    """
    together = composition.loss
    if composition.releases == 1 and is_whole:
        agrees = _agree(own, together)
    else:
        agrees = (
            together.epsilon >= own.epsilon
            and (together.epsilon > own.epsilon or composition.releases == 1)
            and together.delta >= own.delta
            and together.advantage >= own.advantage - ROUNDING
            and together.belief >= 0.5
            and (together.belief >= own.belief - ROUNDING or not is_pure)
        )
    if not agrees:
        raise broken(place, "the composition of all releases does not contain the loss of this one")


def check_composition(
    place: Path,
    stated: Composition,
    version: TargetVersion,
    plan: LosingPlan,
    ledger: Budget,
) -> bool:
    """Compose the charges up to this release again.

    Charges of other targets may have joined the ledger later: then those that had certainly been in it are
    the least that the certificate may state.

    Args:
        place: of the certificate, for messages.
        stated: the composition that it states.
        version: that it is about.
        plan: of it.
        ledger: all charges about the same respondents, as they are known now.

    Returns:
        Whether the composition is exactly that of some charges; otherwise it lies between the least and
        the greatest possible one.

    Raises:
        GuaranteeError: the ledger has no charge for this release, or another one than its plan's, or the
            composition is none of charges.
    """
    charges = ledger.charges
    run = _charged_run(version)
    place_of_own = next((n for n, one in enumerate(charges) if one.run == run), None)
    if place_of_own is None:
        raise broken(place, "this registry has no charge for the release")
    before, own = charges[: place_of_own + 1], charges[place_of_own]
    if _told_of(own) != losing(plan) or own.plan_digest != plan_digest(plan):
        raise broken(place, "the charge for the release is not that of its plan")
    after = [one for one in charges[place_of_own + 1 :] if one.time <= version.created_at]
    known = _connected(before, own)
    for more in range(len(after) + 1):
        then = (*before, *after[:more])
        for these in (then, _connected(then, own)):
            if len(these) == stated.releases and _agree(stated.loss, _together(these)):
                return True
    least, greatest = _together(known), _together((*before, *after))
    is_between = (
        len(known) < len(before)
        and len(known) <= stated.releases <= len(before) + len(after)
        and least.epsilon <= stated.loss.epsilon <= greatest.epsilon
        and least.delta <= stated.loss.delta <= greatest.delta
        and least.advantage - ROUNDING <= stated.loss.advantage <= greatest.advantage + ROUNDING
    )
    if not is_between:
        raise broken(place, "the composition of all releases is not that of their charges")
    return False


def _charged_run(version: TargetVersion) -> str:
    """The run that was charged for a version: itself, or the one whose training it took up."""
    report = version.report
    return (report.charged_as if isinstance(report, TrainingReport) else "") or version.run


def broken(place: Path, problem: str) -> GuaranteeError:
    """That a certificate does not say what follows."""
    return GuaranteeError(
        str(place),
        problem,
        "what this version of smalti makes of the record",
        "rely on none of its figures; ask whoever runs the registry how it came about",
    )


def _agree(one: Loss, other: Loss) -> bool:
    return (
        one.epsilon == other.epsilon
        and one.delta == other.delta
        and math.isclose(one.belief, other.belief, rel_tol=0, abs_tol=ROUNDING)
        and math.isclose(one.advantage, other.advantage, rel_tol=0, abs_tol=ROUNDING)
    )


def _told_of(charge: Charge) -> Losing:
    selection = Decimal(0) if charge.selection_delta is None else charge.selection_delta
    return Losing(charge.epsilon, charge.delta, charge.loss, charge.neighbors, selection)


def _together(charges: Sequence[Charge]) -> Loss:
    found = Budget(tuple(charges))
    account = compose(found.spent, found.loss, found.selection_delta)
    return Loss(found.epsilon, found.delta, account.belief, account.advantage)


def _connected(charges: Sequence[Charge], own: Charge) -> tuple[Charge, ...]:
    """Those that share their target or a file with this one, or with another such one."""
    found, marks = {own.run}, _marks(own)
    while more := [one for one in charges if one.run not in found and marks & _marks(one)]:
        found.update(one.run for one in more)
        marks |= frozenset[str]().union(*map(_marks, more))
    return tuple(one for one in charges if one.run in found)


def _marks(charge: Charge) -> frozenset[str]:
    return frozenset((charge.target, *charge.inputs))


def _unlike(said: Json, made: Json, path: str = "") -> Iterator[str]:
    """Where two JSON values differ, as paths."""
    if isinstance(said, Mapping) and isinstance(made, Mapping):
        for key in sorted({*said, *made}):
            where = f"{path}/{key}" if path else key
            if key in said and key in made:
                yield from _unlike(said[key], made[key], where)
            else:
                yield where
    elif isinstance(said, list) and isinstance(made, list) and len(said) == len(made):
        for number, (one, other) in enumerate(zip(said, made, strict=True)):
            yield from _unlike(one, other, f"{path}/{number}")
    elif said != made:
        yield path
