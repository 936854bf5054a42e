"""The attacks on generative models; without the libraries that they need."""

from enum import StrEnum


class GenerativeAttack(StrEnum):
    """What is tried, as options name it."""

    MONTE_CARLO = "monte-carlo"
    """Median heuristic: MC-epsilon, equal to MC-d in whom it names (D5.2, 4.4.2)."""
    MC_DISTANCE = "mc-distance"
    """Median heuristic, weighed by distances (4.4)."""
    MC_PERCENTILE = "mc-percentile"
    """MC-epsilon with a percentile of distances."""
    KERNEL_DENSITY = "kernel-density"
    NEAREST_RECORD = "nearest-record"
    """By the distance to the closest sample."""
    SINGLING_OUT = "singling-out"
    """Of a table, as the two that follow (`table_audit`): they say nothing about membership."""
    LINKABILITY = "linkability"
    ATTRIBUTE_INFERENCE = "attribute-inference"
    LOGAN_BLACK_BOX = "logan-black-box"
    RECONSTRUCTION = "reconstruction"
    """Of an autoencoder of ours."""
    LOGAN_WHITE_BOX = "logan-white-box"
    """Of adversarial networks of ours."""

    @property
    def needs_model(self) -> bool:
        """Whether samples are not enough."""
        return self in {GenerativeAttack.RECONSTRUCTION, GenerativeAttack.LOGAN_WHITE_BOX}

    @property
    def has_distance(self) -> bool:
        """Whether it compares samples and records by a distance."""
        return not self.needs_model and not self.is_risk and self is not GenerativeAttack.LOGAN_BLACK_BOX

    @property
    def is_risk(self) -> bool:
        """Whether it is one of the risks of a table."""
        return self in {
            GenerativeAttack.SINGLING_OUT,
            GenerativeAttack.LINKABILITY,
            GenerativeAttack.ATTRIBUTE_INFERENCE,
        }
