"""What a certificate says of how columns are published, for whoever reads the table."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from smalti.transforms.base import Datatype


class LabelForm(StrEnum):
    """How a generalised column is written (see `docs/labels.md`)."""

    RANGES = "ranges"
    REGIONS = "ranges between public bounds and cuts"
    SETS = "sets of exact values"
    NODES = "nodes of a hierarchy"
    """Alone or in sets, which are written as those of values."""
    PREFIXES = "common prefixes"
    MEANS = "means of classes"
    MEDIANS = "medians of classes"
    MODES = "modes of classes"
    MEDOIDS = "medoids of classes"

    @property
    def is_of_ordered_values(self) -> bool:
        """Whether labels tell numbers or times."""
        return self in (LabelForm.RANGES, LabelForm.REGIONS, LabelForm.MEANS, LabelForm.MEDIANS)

    @property
    def is_of_categories(self) -> bool:
        """Whether a label tells one value, of any datatype, that stands for those of a class."""
        return self in (LabelForm.MODES, LabelForm.MEDOIDS)


@dataclass(frozen=True, slots=True)
class DeclaredType:
    """What a description declares of an ordered column; nothing that was computed from the data."""

    column: str
    datatype: Datatype | None
    """None where it was inferred from the data."""
    time_zone: str | None = None
    """IANA name: the zone of date-times that state none."""

    def to_object(self) -> dict[str, str]:
        """In the words of a certificate."""
        datatype = {} if self.datatype is None else {"datatype": str(self.datatype)}
        zone = {} if self.time_zone is None else {"timeZone": self.time_zone}
        return {"name": self.column, **datatype, **zone}

    @classmethod
    def from_object(cls, stated: Mapping[str, Any]) -> "DeclaredType":
        """From a certificate that its schema has accepted."""
        datatype = Datatype(stated["datatype"]) if "datatype" in stated else None
        return cls(stated["name"], datatype, stated.get("timeZone"))


@dataclass(frozen=True, slots=True)
class PublishedColumn:
    """A column of a published table, as far as its certificate speaks of it."""

    name: str
    is_generalised: bool = False
    form: LabelForm | None = None
    """None: it is not generalised, or the certificate is of a version that did not say it."""
    datatype: Datatype | None = None
    """Declared; None: a kept column is text, and what a generalised one holds was inferred."""
    time_zone: str | None = None
    """As `DeclaredType.time_zone`."""
    may_be_open: bool = False
    """Whether a range may lack an end, since the column is top- or bottom-coded."""
