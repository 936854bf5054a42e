"""What the single techniques do not protect from; none of them is a privacy model.

Checks, plans, certificates and the documentation say it in these words.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from smalti.vocab.terms import (
    ATTRIBUTE_SUPPRESSION,
    BOTTOM_CODING,
    CELL_SUPPRESSION,
    GENERALIZATION,
    GLOBAL_RECODING,
    MDAV,
    NOISE_ADDITION,
    PSEUDONYMIZATION,
    RECORD_SUPPRESSION,
    SAMPLING,
    TOP_CODING,
)

NO_MODEL: Final = "masking promises no privacy model: nothing bounds what can be learned about a person"
_NOT_COVERED: Final = {
    SAMPLING: "somebody who knows that a person is in the sample: its rows are published as those of a"
    " whole table would be",
    RECORD_SUPPRESSION: "combinations of columns: a record whose values are each frequent can be the only"
    " one of its kind; and that a value is rare can be read from its absence",
    CELL_SUPPRESSION: "combinations of columns, and guesses: a suppressed cell tells that its value is"
    " rare, and other columns may tell which one it was",
    ATTRIBUTE_SUPPRESSION: "the columns that stay: together they can single out people as a name does",
    GENERALIZATION: "combinations of columns: a node that one person has, alone or with other columns,"
    " singles out that person",
    GLOBAL_RECODING: "combinations of columns: an interval that one person is in, alone or with other"
    " columns, singles out that person",
    TOP_CODING: "everybody below the threshold, whose values are published as they are; and the few above"
    " it, where other columns tell them apart",
    BOTTOM_CODING: "everybody above the threshold, whose values are published as they are; and the few"
    " below it, where other columns tell them apart",
    NOISE_ADDITION: "averages: noise on several rows or releases of one person averages out; it is not"
    " differential privacy, and large values stay recognisable",
    PSEUDONYMIZATION: "linking: one value has one pseudonym in all columns and outputs under one key, and"
    " whoever has the key can test guesses; the result is pseudonymised data (GDPR, Article 4(5)), which"
    " is personal data",
    MDAV: "other columns: groups are of one column by itself, and do not hide whom a row is about",
}
NOT_COVERED: Final[Mapping[str, str]] = MappingProxyType(_NOT_COVERED)
"""By technique, what it does not protect from."""
