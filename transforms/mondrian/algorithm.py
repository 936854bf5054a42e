"""The interface of an algorithm: from a problem with its requirements to classes."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from smalti.transforms.problem import Integers, Problem

LEFT_OUT = -1
"""The class of rows that are not published."""


@dataclass(frozen=True, slots=True)
class Portions:
    """How the rows of atoms (the tuples of a problem) are divided between classes, by (atom, class)."""

    atoms: Integers
    """Ascending."""
    classes: Integers
    """Numbered from 0, ascending in each atom; or `LEFT_OUT`."""
    rows: Integers
    """At least one."""


@dataclass(frozen=True, slots=True)
class Generalised:
    """Which rows are in one class, and which are published alike."""

    portions: Portions
    parts: tuple[Integers, ...]
    """For each quasi-identifier, by portion: what has one label, which is one class or several."""
    levels: tuple[int, ...] = ()
    """For each quasi-identifier the level of its hierarchy that labels are of, in all rows; none: labels
    are of what each part holds."""
    minimal: tuple[tuple[int, ...], ...] = ()
    """For the owner: all levels that could not be finer."""
    has_part_at_root: bool = False
    """Whether the last part of each quasi-identifier has the label of the root in place of its level's."""
    cuts_around: tuple[Integers | None, ...] = ()
    """For each quasi-identifier that is published as regions: by class and end (low, high), the codes of
    the values on both sides of the cut there (see the module `cuts_around`)."""

    @classmethod
    def by_class(cls, portions: Portions, attributes: int) -> "Generalised":
        """Each class has labels of its own."""
        return cls(portions, (portions.classes,) * attributes)


class Algorithm(ABC):
    """Makes classes; what they must meet is the problem's to say, and its judges' to judge."""

    __slots__ = ()

    name: ClassVar[str]
    """By which a transform asks for it."""
    takes_first_cuts: ClassVar[bool] = False
    """Whether a table may be cut in SQL first, where it has more distinct tuples than the threshold: the
    classes of all pieces together are those of the whole, then. They have labels of their own."""
    divides_tuples: ClassVar[bool] = False
    """Whether rows with equal quasi-identifiers may be in different classes. Tuples then agree in all
    retained columns, too, and several may have the same codes; classes have labels of their own."""

    @abstractmethod
    def generalised(self, problem: Problem) -> Generalised | None:
        """Make classes; None if there are none that meet the problem's requirements.

        Contract:
            Each row of the problem is in one class, and each class meets all requirements. The result
            depends on the set of tuples and on what they hold, not on their order or on how respondents and
            values are numbered.
        """
