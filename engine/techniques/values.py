"""Values of staged columns by number: whatever their spelling, equal ones have one number."""

import numpy as np
import pyarrow as pa

from smalti.engine.backends.staged import Coded
from smalti.engine.plan.plan import Column
from smalti.engine.techniques.mechanisms import codebook_of
from smalti.transforms.problem import Integers


def numbers_by_value(column: Column, coded: Coded) -> Integers:
    """By entry the number of its value, from 0 without gaps; no entry is missing."""
    present, places = np.unique(coded.codes, return_inverse=True)
    return numbers_of_texts(column, coded.texts.take(pa.array(present - 1)))[places.reshape(-1)]


def numbers_of_texts(column: Column, texts: pa.Array) -> Integers:
    """By distinct text the number of its value, from 0 without gaps."""
    if not column.datatype.is_ordered:
        return np.arange(len(texts))
    return codebook_of(column, texts).codes - 1
