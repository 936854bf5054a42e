"""The inputs of a registered network, in order, and its classes.

It stands in the header of the network's file. All of it is public: the policy and the description say it,
and the plan shows it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
from pydantic import TypeAdapter, ValidationError

from smalti.engine.losses.readings import in_units
from smalti.engine.training.plan import CategoryFeature, Feature, NumberFeature, Train
from smalti.engine.training.records import grid_of, shown
from smalti.errors import DataError
from smalti.transforms.base import Datatype
from smalti.transforms.learning.model_files import header
from smalti.transforms.learning.networks import Floats
from smalti.transforms.problem import Integers

ENTRY: Final = "smalti.inputs.1"
"""Of the header; a later form gets another number."""


@dataclass(frozen=True, slots=True)
class Inputs:
    """How a row becomes what the network sees, and what its outputs stand for."""

    features: tuple[Feature, ...]
    """Each gives as many numbers as its `size`, one after the other."""
    label: CategoryFeature
    """Its values are the classes, in the order of the outputs."""

    def encoded(self, columns: Mapping[str, Sequence[str | None]]) -> Floats:
        """What the network sees of records, as it saw those that it was trained on.

        What is missing, no number or no public value is taken for what the feature says. Numbers may have
        any form, also where the type of the column would not take it, such as `1e9` for a decimal.

        Args:
            columns: the texts of each record, by the names of columns; all as long. Others are left alone.

        Returns:
            Shape (records, width): each number from 0 to 1.

        Raises:
            DataError: a column is not there; it names columns and no value.
        """
        missing = [feature.column for feature in self.features if feature.column not in columns]
        if missing:
            raise DataError(
                "the records",
                f"the network requires the missing columns {', '.join(missing)}",
                "all columns of its features",
                "add them; unknown values may be None",
            )
        codes = [_codes(feature, columns[feature.column]) for feature in self.features]
        return np.concatenate(
            [shown(feature, code) for feature, code in zip(self.features, codes, strict=True)], 1
        )


def read_inputs(path: Path) -> Inputs:
    """The inputs of a network that `smalti run` registered.

    Raises:
        DataError: the file is none of those.
    """
    try:
        inputs = _ADAPTER.validate_json(header(path)[ENTRY])
        for feature in inputs.features:
            if isinstance(feature, NumberFeature):
                grid_of(feature)
        return inputs
    except (KeyError, ValidationError, ValueError, ArithmeticError):
        raise DataError(
            str(path),
            "the file does not name the columns that the network takes",
            f"a network that `smalti run` registered, with the entry {ENTRY}",
            "train it again; networks of earlier versions have no such entry",
        ) from None


def header_of(train: Train) -> dict[str, str]:
    """The entry of the header, for `model_files.save`."""
    return {ENTRY: _ADAPTER.dump_json(Inputs(train.features, train.label)).decode()}


_ADAPTER: Final = TypeAdapter(Inputs)


def _codes(feature: Feature, texts: Sequence[str | None]) -> Integers:
    if isinstance(feature, NumberFeature):
        present = pa.array([text or "" for text in texts], pa.string())
        units = in_units(present, feature.measure, Datatype.DOUBLE)
        return np.array([number for some in units for number in some], np.int64)
    places = {text: place for place, text in enumerate(feature.values, int(feature.has_missing))}
    return np.array([places.get(text or "", 0) for text in texts], np.int64)
