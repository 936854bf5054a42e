"""What the single techniques do not protect from, and which of them stand beside a privacy model.

None of them is a privacy model. Checks, plans, certificates and the documentation say what they do not
protect from in these words.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from smalti.vocab.terms import (
    ANATOMY,
    ATTRIBUTE_SUPPRESSION,
    BOTTOM_CODE,
    BOTTOM_CODING,
    CELL_SUPPRESSION,
    DISTANCE,
    GENERALIZATION,
    GLOBAL_RECODING,
    INCOGNITO,
    INTERVAL_WIDTH,
    INTERVALS,
    IRI,
    K_ANONYMITY,
    L_DIVERSITY,
    LEVEL,
    MDAV,
    MINIMUM_FREQUENCY,
    MONDRIAN,
    NOISE_ADDITION,
    NOISE_DISTRIBUTION,
    NOISE_SCALE,
    OUTPUT_FORM,
    PSEUDONYMIZATION,
    QUASI_IDENTIFIER,
    RECORD_SUPPRESSION,
    SAMPLING,
    SENSITIVE,
    T_CLOSENESS,
    TOP_CODE,
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


_MEANT: Final = {
    "bucketization": (ANATOMY,),
    "bucketisation": (ANATOMY,),
    "microaggregation": (MDAV,),
    "suppression": (CELL_SUPPRESSION, RECORD_SUPPRESSION, ATTRIBUTE_SUPPRESSION),
    "recoding": (GENERALIZATION, GLOBAL_RECODING),
    "coding": (TOP_CODING, BOTTOM_CODING),
    "noise": (NOISE_ADDITION,),
    "additive-noise": (NOISE_ADDITION,),
    "perturbation": (NOISE_ADDITION, MDAV),
    "hashing": (PSEUDONYMIZATION,),
}
MEANT: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(_MEANT)
"""What the literature calls techniques whose algorithms have other names here, with these."""

CODING: Final = "top- or bottom-coding"
TECHNIQUE_OF: Final[Mapping[IRI, str]] = MappingProxyType({
    TOP_CODE: CODING,
    BOTTOM_CODE: CODING,
    LEVEL: GENERALIZATION,
    INTERVAL_WIDTH: GLOBAL_RECODING,
    INTERVALS: GLOBAL_RECODING,
    NOISE_SCALE: NOISE_ADDITION,
    NOISE_DISTRIBUTION: NOISE_ADDITION,
    OUTPUT_FORM: MDAV,
    DISTANCE: MDAV,
    MINIMUM_FREQUENCY: CELL_SUPPRESSION,
})  # fmt: skip
"""What each parameter of a column is for."""

CLASS_MAKERS: Final = frozenset({MONDRIAN, INCOGNITO, MDAV})
"""The algorithms that make classes beside which single techniques may stand."""
MODELS_BESIDE: Final = frozenset({K_ANONYMITY, L_DIVERSITY, T_CLOSENESS})
"""The methods of such classes."""


@dataclass(frozen=True, slots=True)
class Beside:
    """What a single technique may change beside classes."""

    roles: frozenset[IRI] = frozenset()
    """Of the columns, beside those that have no role: these are published outside of the promise."""
    is_of_columns: bool = True
    """Whether it changes columns, and not which of the rows or columns are there."""


_KEPT: Final = frozenset({SENSITIVE})
_CODED: Final = frozenset({SENSITIVE, QUASI_IDENTIFIER})
BESIDE: Final[Mapping[str, Beside]] = MappingProxyType({
    SAMPLING: Beside(is_of_columns=False),
    ATTRIBUTE_SUPPRESSION: Beside(is_of_columns=False),
    CELL_SUPPRESSION: Beside(_KEPT),
    GENERALIZATION: Beside(_KEPT),
    GLOBAL_RECODING: Beside(_KEPT),
    TOP_CODING: Beside(_CODED),
    BOTTOM_CODING: Beside(_CODED),
    CODING: Beside(_CODED),
    NOISE_ADDITION: Beside(),
    PSEUDONYMIZATION: Beside(),
})  # fmt: skip
"""The techniques that stand beside classes; all others are refused there by name."""
