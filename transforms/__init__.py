"""The algorithms that sanitize a table; they know no policy and no backend."""

from smalti.transforms.base import Transform
from smalti.transforms.lattice.population import FullDomainKMap, FullDomainPresence
from smalti.transforms.lattice.transform import (
    FullDomainKAnonymity,
    FullDomainLDiversity,
    FullDomainTCloseness,
)
from smalti.transforms.microaggregation.transform import (
    MicroaggregatedKAnonymity,
    MicroaggregatedLDiversity,
    MicroaggregatedTCloseness,
)
from smalti.transforms.mondrian.population import MondrianKMap, MondrianPresence
from smalti.transforms.mondrian.transform import (
    MondrianKAnonymity,
    MondrianLDiversity,
    MondrianTCloseness,
)

ALL_TRANSFORMS: tuple[type[Transform], ...] = (
    MondrianKAnonymity,
    MondrianLDiversity,
    MondrianTCloseness,
    FullDomainKAnonymity,
    FullDomainLDiversity,
    FullDomainTCloseness,
    MondrianKMap,
    MondrianPresence,
    FullDomainKMap,
    FullDomainPresence,
    MicroaggregatedKAnonymity,
    MicroaggregatedLDiversity,
    MicroaggregatedTCloseness,
)
"""Every transform that a policy can select by `m:method` and `s:algorithm`."""


def transform_class(method: str, algorithm: str) -> type[Transform]:
    """The transform that a policy selects.

    Raises:
        KeyError: there is none.
    """
    for kind in ALL_TRANSFORMS:
        if (kind.method, kind.algorithm) == (method, algorithm):
            return kind
    raise KeyError(method)


if __name__ != "smalti.transforms":
    raise ImportError("import smalti.transforms, not transforms")
