"""The data set of a study, its neighbours, and what makes a study of it impossible."""

from dataclasses import dataclass

import numpy as np

from smalti.errors import DataError
from smalti.studies.identifiability.settings import Settings
from smalti.transforms.auditing.neighbors import (
    NeighboringPair,
    ranked_records,
    ranked_replacements,
)
from smalti.transforms.auditing.network_gradients import LabelledRecords, Network
from smalti.transforms.auditing.scores import Floats
from smalti.transforms.problem import Integers
from smalti.transforms.sensitivity import NeighboringRelation

Pair = NeighboringPair[LabelledRecords]

_MOST_OTHERS = 1000
_LEAST_RECORDS = 3
_WHERE = "the records"


@dataclass(frozen=True, slots=True, eq=False)
class Subject:
    """Who is trained on, who is not, and the network. Private."""

    name: str
    network: Network
    training: LabelledRecords
    others: LabelledRecords
    """Candidates to take a record's place, and what accuracy is measured on; at most 1,000."""

    @classmethod
    def drawn(cls, name: str, records: LabelledRecords, network: Network, settings: Settings) -> "Subject":
        """Draw who is trained on; half of the records at most.

        Args:
            name: of the data.
            records: all of them; each of another respondent.
            network: for records of this width.
            settings: say how many, and the seed.

        Raises:
            DataError: nothing can be told apart: there are fewer than three respondents to train on, or all
                records are equal.
        """
        count = min(settings.records, len(records.labels) // 2)
        if count < _LEAST_RECORDS:
            raise DataError(
                _WHERE,
                "there are no neighbouring data sets to tell apart: respondents are too few",
                f"{2 * _LEAST_RECORDS} respondents at least, half of them to train on",
                "take more data",
            )
        if len(np.unique(_seen(records), axis=0)) == 1:
            raise DataError(
                _WHERE,
                "all of them are equal in all features and the class: there is nobody to tell apart",
                "records that differ",
                "name other features or another class",
            )
        order = np.random.default_rng((settings.seed, 0)).permutation(len(records.labels))
        return cls(
            name, network, _taken(records, order[:count]), _taken(records, order[count:][:_MOST_OTHERS])
        )

    def ranked(self, relation: NeighboringRelation, settings: Settings, number: int) -> tuple[Pair, ...]:
        """Neighbours from the most unlike on, then as many of the most alike.

        Args:
            relation: how they differ from the training data.
            settings: name the dissimilarity.
            number: of either; fewer where there are fewer.

        Raises:
            ValueError: the dissimilarity is none of these records.
        """
        measure, points = settings.measure(self.training.features.shape[1]), _points(self.training)
        if relation is NeighboringRelation.ADD_OR_REMOVE_ONE:
            order: list[tuple[int, int | None]] = [
                (int(record), None) for record in ranked_records(points, measure)
            ]
        else:
            order = [*ranked_replacements(points, _points(self.others), measure)]
        number = min(number, len(order) // 2)
        return tuple(self._pair(*pair) for pair in (*order[:number], *order[-number:]))

    def _pair(self, record: int, candidate: int | None) -> Pair:
        rest = np.delete(np.arange(len(self.training.labels)), record)
        replacing = None if candidate is None else _taken(self.others, np.array([candidate]))
        return NeighboringPair(
            _taken(self.training, rest), _taken(self.training, np.array([record])), replacing
        )


def _points(records: LabelledRecords) -> Floats:
    return records.features.astype(np.float64)


def _seen(records: LabelledRecords) -> Floats:
    return np.column_stack([records.features, records.labels])


def _taken(records: LabelledRecords, places: Integers) -> LabelledRecords:
    return LabelledRecords(records.features[places], records.labels[places])
