"""The records of a training: one row of each respondent, as numbers between public bounds.

Which row of a respondent counts depends on its own rows alone, and what the model sees of a row on its own
texts alone. No text raises an error.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from smalti.engine.backends.staged import StagedTable
from smalti.engine.losses.coded_reports import Coded, CodedCategory, CodedNumber, coded_reports
from smalti.engine.training.plan import CategoryFeature, Feature, NumberFeature, TrainingPlan
from smalti.transforms.learning.networks import Floats
from smalti.transforms.noise.numeric_perturbation import Grid
from smalti.transforms.problem import Integers
from smalti.transforms.sensitivity import Bounds


@dataclass(frozen=True, slots=True)
class TrainingRecords:
    """The records, in the order of their content. Private: they never leave the engine's driver."""

    features: Floats
    """Shape (respondents, width): each number from 0 to 1."""
    labels: Integers
    """Shape (respondents,): the classes, from 0."""

    def __len__(self) -> int:
        return len(self.labels)


def training_records(plan: TrainingPlan, table: StagedTable) -> TrainingRecords:
    """The first row of each respondent, in the order of the file, as what the model sees of it.

    Rows without a respondent are left out; with one row each, every row counts.

    Args:
        plan: says who respondents are, and what is public of the columns.
        table: without the rows of those who withdrew.

    Raises:
        BackendError: the machine. Nothing about the values is ever raised.
    """
    columns: tuple[Feature, ...] = (*plan.train.features, plan.train.label)
    reports = coded_reports(plan.read, [coded(feature) for feature in columns], table)
    codes = [np.repeat(column, reports.respondents) for column in reports.codes]
    features = [shown(feature, code) for feature, code in zip(columns[:-1], codes[:-1], strict=True)]
    return TrainingRecords(np.concatenate(features, axis=1), codes[-1])


def grid_of(feature: NumberFeature) -> Grid:
    """The units between a number's bounds; ValueError where these are no whole number of units apart."""
    return Grid(Bounds(Fraction(feature.lower), Fraction(feature.upper)), Fraction(feature.unit))


def coded(feature: Feature) -> Coded:
    """How the texts of a column are read."""
    if isinstance(feature, CategoryFeature):
        return CodedCategory(feature.column, feature.values, feature.has_missing)
    return CodedNumber(feature.measure, grid_of(feature).middle)


def shown(feature: Feature, codes: Integers) -> Floats:
    """What the model sees of a column: shape (records, size)."""
    if isinstance(feature, CategoryFeature):
        marks: Floats = (codes[:, None] == np.arange(feature.size)).astype(np.float32)
        return marks
    share: Floats = (codes / grid_of(feature).width).astype(np.float32)
    return share[:, None]
