"""All attacks on one generative model, in one pass over its samples."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from smalti.errors import UsageError
from smalti.transforms.generative.attack_names import GenerativeAttack
from smalti.transforms.generative.distances import Distance
from smalti.transforms.generative.logan import AuxiliarySamples, auxiliary_discriminator
from smalti.transforms.generative.models import RECONSTRUCTIONS, discriminator, reconstruction
from smalti.transforms.generative.monte_carlo import (
    PERCENTILE,
    FixedEpsilon,
    KernelDensity,
    MonteCarlo,
    NearestRecord,
    Weighing,
)
from smalti.transforms.generative.protocol import Achieved, Groups, achieved
from smalti.transforms.generative.risk import Attempts
from smalti.transforms.generative.sampler import Form, Numbers, Sampler, numbers, samples
from smalti.transforms.generative.table_audit import AuditedTable, RiskAttacks, numbers_of_rows
from smalti.transforms.learning.generative_models import GenerativeModel
from smalti.transforms.learning.randomness import Randomness
from smalti.transforms.membership.confidences import Doubles

_MEDIAN: Final = {
    GenerativeAttack.MONTE_CARLO: Weighing.COUNT,
    GenerativeAttack.MC_DISTANCE: Weighing.DISTANCE,
}


@dataclass(frozen=True, slots=True, eq=False)
class Audited:
    """The records of an audit: members in front, then as many others. Private."""

    form: Form
    classes: tuple[str, ...]
    """Labels by their numbers; empty where there are none."""
    records: Numbers
    reference: Numbers
    """Others that are not audited: distances are learned from them."""
    groups: Groups
    table: AuditedTable | None = None
    """The same records as rows of a table, where an attack needs them."""
    is_mixed: bool = False
    """Whether records are compared as rows of a table alone, so that their columns may hold categories."""

    def numbers(self, where: str, block: pa.RecordBatch) -> Numbers:
        """Samples as numbers.

        Args:
            where: for messages.
            block: of the form.
        """
        if self.table is None or not self.is_mixed:
            return numbers(where, self.form, block, self.classes)
        return numbers_of_rows(self.table.columns, where, block, self.form.label, self.classes)


@dataclass(frozen=True, slots=True)
class Settings:
    """What is tried, and how much is spent on it."""

    attacks: tuple[GenerativeAttack, ...]
    distances: tuple[Distance, ...]
    """Each of the attacks by distances is made with each of them."""
    samples: int
    percentile: float = PERCENTILE
    reconstructions: int = RECONSTRUCTIONS


def attacked(
    audited: Audited,
    settings: Settings,
    sampler: Sampler,
    model: GenerativeModel | None,
    randomness: tuple[np.random.Generator, Randomness],
    phase: Callable[[str], None] = lambda _: None,
) -> "Attacked":
    """Attack one model.

    Args:
        audited: the records and the groups of attacks.
        settings: what is tried.
        sampler: the model, of which samples are taken.
        model: the model itself, for the attacks that read it.
        randomness: draws reconstructions, orders equal scores and is the coin; and that of auxiliary
            networks.
        phase: called with the name of each phase.

    Raises:
        UsageError: an attack needs a model of another kind, or a model where there are samples alone.
        DataError: samples cannot be used; see `sampler.samples`.
    """
    draw, auxiliary = randomness
    results = _of_model(audited, settings, model, draw)
    wanted = [attack for attack in settings.attacks if not attack.needs_model]
    risks = None if audited.table is None else RiskAttacks(audited.table, wanted, draw)
    if wanted:
        phase("draw samples")
        results += _of_samples(audited, settings, wanted, sampler, (auxiliary, risks))
    phase("judge")
    return Attacked(
        tuple((name, achieved(audited.groups, scores, draw)) for name, scores in results),
        {} if risks is None else risks.attempts(),
    )


@dataclass(frozen=True, slots=True, eq=False)
class Attacked:
    """What attacks achieved on one model. Private."""

    membership: tuple[tuple[str, Achieved], ...]
    """By the name of the attack, with that of its distance."""
    risks: Mapping[str, tuple[Attempts, ...]]
    """By the name of the attack."""


_Results = list[tuple[str, tuple[Doubles, ...]]]


def _of_model(
    audited: Audited, settings: Settings, model: GenerativeModel | None, draw: np.random.Generator
) -> _Results:
    results: _Results = []
    for attack in settings.attacks:
        if not attack.needs_model:
            continue
        if model is None:
            raise UsageError(
                str(attack),
                "it reads the model, and there are samples alone",
                "a model that smalti trained",
            )
        scores = (
            reconstruction(model, audited.records, draw, settings.reconstructions)
            if attack is GenerativeAttack.RECONSTRUCTION
            else discriminator(model, audited.records)
        )
        results.append((str(attack), _by_group(scores, audited.groups)))
    return results


def _of_samples(
    audited: Audited,
    settings: Settings,
    attacks: Sequence[GenerativeAttack],
    sampler: Sampler,
    others: tuple[Randomness, RiskAttacks | None],
) -> _Results:
    randomness, risks = others
    records, groups = audited.records, audited.groups
    auxiliary = AuxiliarySamples()
    median = {distance.name: MonteCarlo(distance, records, groups.all) for distance in settings.distances}
    fixed = {
        distance.name: FixedEpsilon(distance, records, audited.reference, settings.percentile)
        for distance in settings.distances
    }
    nearest = {distance.name: NearestRecord(distance, records) for distance in settings.distances}
    density = {distance.name: KernelDensity(distance, records) for distance in settings.distances}
    listening = [
        *(median.values() if {*attacks} & {*_MEDIAN} else ()),
        *(fixed.values() if GenerativeAttack.MC_PERCENTILE in attacks else ()),
        *(nearest.values() if GenerativeAttack.NEAREST_RECORD in attacks else ()),
        *(density.values() if GenerativeAttack.KERNEL_DENSITY in attacks else ()),
        *([auxiliary] if GenerativeAttack.LOGAN_BLACK_BOX in attacks else ()),
    ]
    for block in samples(sampler, audited.form, settings.samples):
        if listening:
            part = audited.numbers(sampler.name, block)
            for listener in listening:
                listener.add(part)
        if risks is not None:
            risks.add(sampler.name, block)
    results: _Results = []
    for attack in attacks:
        if attack.is_risk:
            continue
        if attack is GenerativeAttack.LOGAN_BLACK_BOX:
            scores = auxiliary_discriminator(auxiliary.kept, records, len(audited.classes), randomness)
            results.append((str(attack), _by_group(scores, groups)))
            continue
        for distance in settings.distances:
            name = f"{attack}, {distance.name}"
            if attack in _MEDIAN:
                results.append((name, median[distance.name].scores(_MEDIAN[attack])))
            elif attack is GenerativeAttack.MC_PERCENTILE:
                results.append((name, _by_group(fixed[distance.name].scores(Weighing.COUNT), groups)))
            elif attack is GenerativeAttack.NEAREST_RECORD:
                results.append((name, _by_group(nearest[distance.name].scores(), groups)))
            else:
                results.append((name, _by_group(density[distance.name].scores(), groups)))
    return results


def _by_group(scores: Doubles, groups: Groups) -> tuple[Doubles, ...]:
    return tuple(scores[group] for group in groups.all)
