"""The attacks that audits can try: names, what each is about, and the shadow models that it asks."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Family(StrEnum):
    """What an attack is about, and so how it is judged."""

    RECORDS = "records"
    """Single records of the one model: each has a score."""
    REPEATED = "repeated"
    """Scores too, judged as D5.2, section 4.2 does: by attacks on M members and M others."""
    IDENTIFIABILITY = "identifiability"
    """The noise of training: repeated trainings with and without one record (arXiv 2103.02913)."""
    INVERSION = "inversion"
    """Hidden attributes of records of the one model."""
    SAMPLES = "samples"
    """Single records, by nothing but the synthetic records that are published: each has a score."""
    RISKS = "risks"
    """The same, by attacks that succeed or fail: the risks of the Article 29 Working Party."""

    @property
    def is_of_samples(self) -> bool:
        """Whether its attacks are on synthetic records; all others are attacks on a model."""
        return self in {Family.SAMPLES, Family.RISKS}

    @property
    def has_scores(self) -> bool:
        """Whether its attacks score records by a model's answers (`smalti.transforms.membership`)."""
        return self in {Family.RECORDS, Family.REPEATED}


class Shadows(StrEnum):
    """The shadow models that an attack compares with."""

    NONE = "none"
    AUDITED = "audited"
    """Trained on halves of the audited records."""
    POOL = "pool"
    """Trained on a pool: records that the target was not trained on."""


@dataclass(frozen=True, slots=True)
class Attack:
    """An attack that a policy can name."""

    name: str
    family: Family
    shadows: Shadows = Shadows.NONE


TABLE: Final = (
    Attack("shokri", Family.RECORDS, Shadows.POOL),
    Attack("loss", Family.RECORDS),
    Attack("lira-online", Family.RECORDS, Shadows.AUDITED),
    Attack("lira-offline", Family.RECORDS, Shadows.AUDITED),
    Attack("rmia", Family.RECORDS, Shadows.AUDITED),
    Attack("single-membership", Family.REPEATED),
    Attack("set-membership", Family.REPEATED),
    Attack("differential-identifiability", Family.IDENTIFIABILITY),
    Attack("model-inversion", Family.INVERSION),
    Attack("nearest-record", Family.SAMPLES),
    Attack("singling-out", Family.RISKS),
    Attack("linkability", Family.RISKS),
    Attack("attribute-inference", Family.RISKS),
)
"""Every attack that an audit can try. Those with scores of a model's answers are implemented in
`smalti.transforms.membership.registry`; a test compares the two."""

OF_SAMPLES: Final = frozenset(attack.name for attack in TABLE if attack.family.is_of_samples)
"""The attacks on synthetic records; all others are attacks on a model."""
