"""The attacks that a duty can name: what each is about, and which of the figures that a duty bounds it has.

How often each is repeated belongs to what its name means: other numbers would be another attack.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from smalti.vocab.attacks import TABLE, Family, Shadows

FAMILIES: Final[Mapping[str, Family]] = MappingProxyType({attack.name: attack.family for attack in TABLE})
"""Every attack that an audit of a duty can try."""

WITH_SHADOWS: Final = frozenset(attack.name for attack in TABLE if attack.shadows is not Shadows.NONE)
"""Those that compare with shadow models."""
WITH_POOL: Final = frozenset(attack.name for attack in TABLE if attack.shadows is Shadows.POOL)
"""Those whose shadow models need records that the target was not trained on."""

_OF_SINGLE_RECORDS: Final = frozenset(
    {"attackAdvantage", "attackPrecision", "truePositiveRate", "epsilonLowerBound"}
)
FIGURES: Final[Mapping[Family, frozenset[str]]] = MappingProxyType({
    Family.RECORDS: _OF_SINGLE_RECORDS,
    Family.SAMPLES: _OF_SINGLE_RECORDS,
    Family.REPEATED: frozenset({"attackAdvantage", "attackPrecision"}),
    Family.IDENTIFIABILITY: frozenset({"attackAdvantage", "epsilonLowerBound"}),
    Family.INVERSION: frozenset({"attackAdvantage"}),
    Family.RISKS: frozenset({"attackAdvantage"}),
})  # fmt: skip
"""What each is bounded by. An attack of M records decides for the M highest scores, so it has no other rate
of false positives; and sets of M records tell nothing about the loss of one."""

SINGLE: Final = (Family.RECORDS, Family.SAMPLES)
"""The families whose attacks score single records, each by itself."""
SINGLING_OUT: Final = "singling-out"
"""Of the family of risks the one whose attacks are guesses about a whole table, and not about records."""
SET_SIZE: Final = 100
"""M of single and set membership (D5.2, section 4.4)."""
TRAININGS: Final = 400
"""Of differential identifiability, with the plan's noise, and as many with hardly any. Each limit of the
advantage is then 0.1 from what was measured, at a confidence of 0.975."""
MOST_RECORDS: Final = 100
"""Of each of these trainings, beside the record in question; the paper's number (section 6.1)."""
LEAK_NOISE: Final = 0.01
"""The noise multiplier of the leak that is planted for it."""
MOST_STEPS: Final = 2000
"""Of each of these trainings."""
MOST_WORK: Final = 10**7
"""Steps times parameters of each. Within both limits an audit took half an hour of one thread at most, as
measured: a step takes 0.7 ms with 3,000 parameters."""


def family_of(attack: str) -> Family:
    """What an attack is about; KeyError for one that no duty can try."""
    return FAMILIES[attack]


def has_figure(attack: str, figure: str) -> bool:
    """Whether an attack has a figure that a duty bounds; KeyError for one that no duty can try."""
    return figure in FIGURES[FAMILIES[attack]]


def of_family(attacks: tuple[str, ...], *families: Family) -> tuple[str, ...]:
    """Those of the attacks that are of these families, in their order; none that is not known."""
    return tuple(name for name in attacks if FAMILIES.get(name) in families)
