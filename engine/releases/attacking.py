"""Attacks on the statistics of a release: tracing of its respondents, and reconstruction of a column.

Whoever attacks is taken to have the release, the data of the person in question, a reference of the
population, and to know how many respondents there are. Members are the respondents; the others are people
of the population. A half of these is the attacker's reference, and the other half are tested.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Final

import numpy as np
from scipy import sparse

from smalti.engine.backends.staged import StagedTable
from smalti.engine.losses.readings import key_labels
from smalti.engine.releases.attack_results import (
    AttackedStatistic,
    Control,
    NotRun,
    Reconstructed,
    Thresholds,
    Traced,
)
from smalti.engine.releases.coordinates import Linear, figures_of, is_sum, matrix
from smalti.engine.releases.participation import Keys
from smalti.engine.releases.people import Contributions, Labels, People
from smalti.engine.releases.plan import Quantity, ReleasePlan, Statistic
from smalti.errors import DataError, GuaranteeError, UsageError
from smalti.transforms.auditing.curves import RocCurve, thinned
from smalti.transforms.auditing.limits import advantage, true_positive_rate
from smalti.transforms.auditing.scores import Floats, Scores
from smalti.transforms.problem import Integers
from smalti.transforms.tracing.membership import SCORES, Tracing
from smalti.transforms.tracing.power import (
    best_advantage,
    mean_error,
    power,
    sampling_error,
    signal,
    tracing_error,
)
from smalti.transforms.tracing.reconstruction import ESTIMATES, Reconstruction, SubsetSums, least_sums
from smalti.transforms.tracing.statistics import Background, ReleasedSums

LEAST_RESPONDENTS: Final = 20
LEAST_OTHERS: Final = 100
MOST_STATISTICS: Final = 100_000
MOST_PROGRAMMED: Final = 500
"""People up to whom reconstruction solves a linear program; above, least squares."""
MOST_RECONSTRUCTED: Final = 20_000
_MOST_PEOPLE: Final = 5_000
"""Of each kind whose scores are computed."""
_MOST_NUMBERS: Final = 10_000_000
"""In one table of contributions."""
Published = Mapping[str, Mapping[Labels, str]]
"""By name of a statistic, by labels of a group, the published figure."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How statistics are attacked."""

    false_positive_rate: float
    confidence: float
    seed: int
    secret: str | None = None
    """The column to reconstruct; None: each that a statistic of numbers counts by."""


@dataclass(frozen=True, slots=True)
class Attacks:
    """What was tried, and what not."""

    thresholds: Thresholds
    traced: tuple[Traced, ...]
    controls: tuple[Control, ...]
    reconstructed: tuple[Reconstructed, ...]
    not_run: tuple[NotRun, ...]
    statistics: tuple[AttackedStatistic, ...]


def attackable(plan: ReleasePlan) -> tuple[Statistic, ...]:
    """The statistics that attacks use.

    Raises:
        DataError: there are none.
    """
    chosen = tuple(statistic for statistic in plan.statistics if is_sum(statistic))
    if not chosen:
        raise DataError(
            str(plan.write.output),
            "none of its statistics is a sum over people",
            "a count, sum, mean, variance, histogram or contingency table",
            "attacks on quantiles, modes and distinct counts are not built",
        )
    return chosen


class ReleaseUnderAttack:
    """The statistics of a release beside what respondents and others contribute to them."""

    def __init__(
        self, plan: ReleasePlan, published: Published, members: StagedTable, others: StagedTable
    ) -> None:
        """Read what everybody contributes.

        Raises:
            DataError: there are too few people, or too many statistics, for an attack.
            GuaranteeError: the published table lacks a figure that the plan releases.
        """
        self.plan, self.published = plan, published
        self.members, self.others = People(plan, members), People(plan, others)
        self._check_people()
        self.statistics = [each for each in attackable(plan) if self._labels(each)]
        cells = sum(len(self._labels(each)) for each in self.statistics)
        if not 1 <= cells <= MOST_STATISTICS:
            raise DataError(
                str(plan.write.output),
                f"{cells:,} figures can be attacked",
                f"from 1 to {MOST_STATISTICS:,}",
                "audit a release with statistics of that number",
            )
        self.of_members = [self._contributions(self.members, each) for each in self.statistics]
        self.of_others = [self._contributions(self.others, each) for each in self.statistics]

    def _check_people(self) -> None:
        for where, people, least in (
            ("the data", self.members, LEAST_RESPONDENTS),
            ("the population", self.others, LEAST_OTHERS),
        ):
            if len(people) < least:
                raise DataError(
                    where,
                    f"it has {len(people)} respondent{'s' if len(people) != 1 else ''} to attack",
                    f"at least {least}, so that a share of them says anything",
                    "with fewer people no attack is measured; name a larger population"
                    if people is self.others
                    else "with fewer people no attack is measured",
                )

    def _contributions(self, people: People, statistic: Statistic) -> Contributions:
        return people.contributions(statistic, self._labels(statistic))

    def _labels(self, statistic: Statistic) -> Sequence[Labels]:
        """The groups that are released, in the order of their numbers."""
        keys = Keys.of(statistic)
        if keys.has_private:
            return tuple(self.published.get(statistic.name, {}))
        return tuple(product(*keys.public_labels))

    def _figures(self, statistic: Statistic) -> Floats:
        try:
            return figures_of(self.published[statistic.name], self._labels(statistic))
        except KeyError:
            raise GuaranteeError(
                str(self.plan.write.output),
                "the published table lacks a figure that its plan releases",
                "the table that the run wrote",
            ) from None

    # --- What was attacked

    def described(self) -> tuple[AttackedStatistic, ...]:
        """Each statistic of the release."""
        used = {each.name for each in self.statistics}
        return tuple(
            AttackedStatistic(each.name, each.kind, len(self._labels(each)))
            if each.name in used
            else AttackedStatistic(
                each.name,
                each.kind,
                0,
                "no group of it is published" if is_sum(each) else "it is no sum over people",
            )
            for each in self.plan.statistics
        )

    def attacked(self, settings: Settings, phase: Callable[[str], None]) -> Attacks:
        """Run all attacks.

        Args:
            settings: of them.
            phase: called with the name of each phase.

        Raises:
            UsageError: the column that is named is counted by no statistic.
            DataError: its values cannot be reconstructed.
        """
        self._check_secret(settings.secret)
        generator = np.random.default_rng(settings.seed)
        mixed = generator.permutation(len(self.others))
        reference, tested = np.array_split(mixed, 2)
        phase("trace")
        thresholds, traced, controls = self._traced(settings, reference, tested, generator)
        phase("reconstruct")
        reconstructed, not_run = self._reconstructed(settings)
        return Attacks(thresholds, tuple(traced), tuple(controls), reconstructed, not_run, self.described())

    def _check_secret(self, column: str | None) -> None:
        """Refuse a column that was named and cannot be attacked, before any attack."""
        if column is None:
            return
        if not _counting(self.statistics, column):
            listed = ", ".join(f"`{each}`" for each in _secrets(self.statistics))
            raise UsageError(
                f"secret `{column}`",
                "no statistic counts rows by public values of it",
                listed or "a column that statistics count by",
                "leave it out",
            )
        if reason := self._why_not(column):
            raise DataError(
                f"secret `{column}`", reason, "statistics with enough information", "leave it out"
            )

    # --- Tracing

    def _traced(
        self, settings: Settings, reference: Integers, tested: Integers, generator: np.random.Generator
    ) -> tuple[Thresholds, list[Traced], list[Control]]:
        some, people = [each.of(reference) for each in self.of_others], len(self.members)
        linear = [
            Linear.of(statistic, contributions, len(reference))
            for statistic, contributions in zip(self.statistics, some, strict=True)
        ]
        width = sum(contributions.count for contributions in some)
        most = max(LEAST_RESPONDENTS, min(_MOST_PEOPLE, _MOST_NUMBERS // width))
        of_others = list(zip(linear, self.of_others, strict=True))
        largest = np.concatenate([np.full(len(each.centres), each.largest) for each in linear])
        background = Background.of(matrix(of_others, reference[:most]), largest)
        chosen = generator.permutation(people)[:most]
        records = (
            matrix(list(zip(linear, self.of_members, strict=True)), chosen),
            matrix(of_others, tested[:most]),
        )
        noisy = ReleasedSums(
            np.concatenate([each.sums(self._figures(each.statistic), people) for each in linear]),
            np.concatenate([each.deviations() for each in linear]),
            people,
        )
        exact = ReleasedSums(self._sums_of(linear, np.arange(people)), np.zeros(width), people)
        effective = background.effective_count
        thresholds = Thresholds(
            width,
            effective,
            mean_error(noisy, background),
            tracing_error(effective, people),
            sampling_error(people),
        )
        traced = [
            _judged(attack, released, background, records, settings, generator)
            for released in (noisy, exact)
            for attack in Tracing
        ]
        inside, outside = np.array_split(generator.permutation(people), 2)
        halved = ReleasedSums(self._sums_of(linear, inside), np.zeros(width), len(inside))
        apart = matrix(list(zip(linear, self.of_members, strict=True)), outside[:most]), records[1]
        controls = [
            Control(attack, advantage(_scores(attack, halved, background, apart), settings.confidence))
            for attack in Tracing
        ]
        return thresholds, traced, controls

    def _sums_of(self, linear: Sequence[Linear], people: Integers) -> Floats:
        """The statistics of some respondents without noise."""
        return np.concatenate(
            [
                each.sums(each.exact(contributions.of(people)), len(people))
                for each, contributions in zip(linear, self.of_members, strict=True)
            ]
        )

    # --- Reconstruction

    def _reconstructed(self, settings: Settings) -> tuple[tuple[Reconstructed, ...], tuple[NotRun, ...]]:
        results: list[Reconstructed] = []
        not_run: list[NotRun] = []
        for column in _secrets(self.statistics) if settings.secret is None else (settings.secret,):
            reason = self._why_not(column)
            if reason:
                not_run.append(NotRun(f"reconstruction of {column}", reason))
            else:
                results.append(self._of_column(column))
        if not results and not not_run:
            not_run.append(NotRun("reconstruction", "no statistic counts by a column with public values"))
        return tuple(results), tuple(not_run)

    def _why_not(self, column: str) -> str:
        """Why a column is not reconstructed; empty where it is."""
        people, sums = len(self.members), self._sums_about(column)
        if self.plan.bound.rows > 1:
            return "a respondent may have several rows, and this attack is on one value of each"
        if people > MOST_RECONSTRUCTED:
            return f"{people:,} respondents are more than the {MOST_RECONSTRUCTED:,} it is built for"
        if sums < least_sums(people):
            return (
                f"too few statistics: {sums:,} released counts of each of its values, and even without"
                f" noise {least_sums(people):,} at least are needed to determine {people:,} values"
            )
        return ""

    def _sums_about(self, column: str) -> int:
        return sum(
            prod(key.size for key in each.keys if key.column != column)
            for each in _counting(self.statistics, column)
        )

    def _of_column(self, column: str) -> Reconstructed:
        truth, labels = self._values(column, self.of_members, len(self.members))
        others, _ = self._values(column, self.of_others, len(self.others))
        count = len(labels)
        attack = (
            Reconstruction.LINEAR_PROGRAM
            if len(self.members) <= MOST_PROGRAMMED
            else Reconstruction.LEAST_SQUARES
        )
        counted = truth >= 0
        frequent = int(np.bincount(others[others >= 0], minlength=count).argmax())
        shares = []
        for is_exact in (False, True):
            estimates = np.stack(
                [ESTIMATES[attack](self._subset_sums(column, value, is_exact)) for value in range(count)]
            )
            shares.append(float((estimates.argmax(axis=0) == truth)[counted].mean()))
        return Reconstructed(
            attack,
            column,
            count,
            self._sums_about(column),
            int(counted.sum()),
            shares[0],
            shares[1],
            float((truth[counted] == frequent).mean()),
        )

    def _values(
        self, column: str, contributions: Sequence[Contributions], people: int
    ) -> tuple[Integers, tuple[str, ...]]:
        """By respondent the number of the value in a column, -1 where it has no public one."""
        values = np.full(people, -1)
        labels: tuple[str, ...] = ()
        for statistic, each in zip(self.statistics, contributions, strict=True):
            if statistic in _counting(self.statistics, column):
                position = _position(statistic, column)
                values[each.people] = position.value_of(each.groups)
                labels = key_labels(statistic.keys[position.place])
        return values, labels

    def _subset_sums(self, column: str, value: int, is_exact: bool) -> SubsetSums:
        """The released counts of one value, and who would count if it had that value."""
        subsets, sums, deviations = [], [], []
        for statistic, each in zip(self.statistics, self.of_members, strict=True):
            if statistic not in _counting(self.statistics, column):
                continue
            position = _position(statistic, column)
            linear = Linear.of(statistic, each, len(self.members))
            figures = linear.exact(each) if is_exact else self._figures(statistic)
            cells = position.cells_of(value)
            places = np.searchsorted(cells, position.with_value(each.groups, value))
            shape = len(cells), len(self.members)
            subsets.append(sparse.csr_matrix((np.ones(len(places)), (places, each.people)), shape))
            sums.append(figures[cells])
            deviations.append(np.zeros(len(cells)) if is_exact else linear.deviations()[cells])
        return SubsetSums(
            sparse.vstack(subsets, format="csr"), np.concatenate(sums), np.concatenate(deviations)
        )


@dataclass(frozen=True, slots=True)
class _Position:
    """Where the value of a column stands in the number of a group."""

    place: int
    """Among the keys."""
    stride: int
    size: int
    groups: int

    def value_of(self, groups: Integers) -> Integers:
        return groups // self.stride % self.size

    def with_value(self, groups: Integers, value: int) -> Integers:
        """The groups that people would be in, had they that value."""
        return groups + (value - self.value_of(groups)) * self.stride

    def cells_of(self, value: int) -> Integers:
        """All groups with that value, ascending."""
        return np.flatnonzero(self.value_of(np.arange(self.groups)) == value)


def _position(statistic: Statistic, column: str) -> _Position:
    sizes = [key.size for key in statistic.keys]
    place = next(number for number, key in enumerate(statistic.keys) if key.column == column)
    return _Position(place, prod(sizes[place + 1 :]), sizes[place], prod(sizes))


def _counting(statistics: Sequence[Statistic], column: str) -> list[Statistic]:
    """Those that count rows by public values of a column, and all by the same."""
    counting = [
        each
        for each in statistics
        if each.measure is None
        and all(part.quantity is Quantity.ROWS for part in each.parts)
        and not any(key.is_private for key in each.keys)
        and column in {key.column for key in each.keys}
    ]
    if not counting:
        return []
    labels = _labels_of(counting[0], column)
    return [each for each in counting if _labels_of(each, column) == labels]


def _labels_of(statistic: Statistic, column: str) -> tuple[str, ...]:
    return key_labels(next(key for key in statistic.keys if key.column == column))


def _secrets(statistics: Sequence[Statistic]) -> tuple[str, ...]:
    """The columns by which statistics count, with public values."""
    columns = dict.fromkeys(key.column for each in statistics for key in each.keys)
    return tuple(column for column in columns if _counting(statistics, column))


def _judged(
    attack: Tracing,
    released: ReleasedSums,
    background: Background,
    records: tuple[Floats, Floats],
    settings: Settings,
    generator: np.random.Generator,
) -> Traced:
    scores = _scores(attack, released, background, records)
    curve, strength = RocCurve.of(scores), signal(attack, released, background)
    return Traced(
        attack,
        not released.deviations.any(),
        scores.members.size,
        scores.non_members.size,
        advantage(scores, settings.confidence),
        true_positive_rate(scores, settings.false_positive_rate, settings.confidence, generator),
        curve.area,
        best_advantage(strength),
        power(strength, settings.false_positive_rate),
        thinned(curve),
    )


def _scores(
    attack: Tracing, released: ReleasedSums, background: Background, records: tuple[Floats, Floats]
) -> Scores:
    return Scores(*(SCORES[attack](released, background, each) for each in records))
