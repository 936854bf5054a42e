"""Requirements of the distribution of each sensitive column's values, by the weights of respondents."""

from abc import abstractmethod
from collections.abc import Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import ClassVar, Final

import numpy as np

from smalti.errors import InternalError
from smalti.transforms.base import ALPHA, CLOSENESS, ENTROPY_DIVERSITY, RECURSIVE_DIVERSITY
from smalti.transforms.partitions.held import Held, HeldOnSides, OneClass
from smalti.transforms.partitions.incidence import Holdings
from smalti.transforms.partitions.layout import Batch
from smalti.transforms.partitions.weights import ColumnWeights, Distribution, Floats, ValueScale
from smalti.transforms.problem import Flags, Integers
from smalti.transforms.requirements.distributions import (
    Closeness,
    DistributionModel,
    EntropyDiversity,
    EqualDistance,
    HierarchicalDistance,
    LargestShare,
    OrderedDistance,
    RecursiveDiversity,
    tolerance,
)
from smalti.transforms.requirements.judge import ClassJudge
from smalti.transforms.values.decimal_digits import plain

DISTANCES: Final[Mapping[str, type[Closeness]]] = MappingProxyType(
    {"equal": EqualDistance, "ordered": OrderedDistance}
)
"""How far values are from each other, by name."""
HIERARCHICAL: Final = "hierarchical"
"""The distance that depends on the column's hierarchy, too."""

_ALIKE: Final = "sensitive values that differ but mean nearly the same"
_SKEWED: Final = "learning that a value which is rare in the table is frequent in a class"


class DistributionJudge(ClassJudge):
    """Each sensitive column by itself meets a model of distributions.

    All models here are kept by merging: a merged class is a convex mixture of its parts, entropy is
    concave, and largest shares and distances are convex; recursive diversity by Machanavajjhala et al.
    (TKDD 2007, 4.2).
    """

    __slots__ = ()

    weighs: ClassVar[bool] = True

    @property
    @abstractmethod
    def model(self) -> DistributionModel:
        """The model."""

    def model_along(self, tree: Integers | None) -> DistributionModel:
        """The model of a column whose values have these nodes (`ValueScale.tree`)."""
        return self.model

    def holds(self, distribution: Distribution) -> bool:
        """Whether a class with this distribution meets it, exactly."""
        model = self.model_along(distribution.tree)
        return model.holds(distribution.weights, distribution.reference)

    def is_kept_by_merging(self, *, has_respondents: bool, sensitive: int) -> bool:
        return True

    def meets(self, held: OneClass) -> bool:
        return all(
            self.holds(distribution)
            for place, distribution in enumerate(held.distributions)
            if self.is_about(place)
        )

    def may_meet(self, held: Held) -> Flags:
        allowed = held.everywhere
        for column in self._weighed(held.weights):
            for nodes, weights in column.of_nodes(held.batch):
                margins, bound = self.margins(column.scale, weights)
                allowed[nodes] &= margins > -bound
        return allowed

    def may_meet_on_both_sides(self, held: HeldOnSides) -> Flags:
        allowed = held.everywhere
        for column in self._weighed(held.weights):
            for groups, *sides in column.of_sides(held.batch, held.line):
                for weights in sides:
                    margins, bound = self.margins(column.scale, weights)
                    allowed[groups] &= margins > -bound
        return allowed

    def surely_meets(
        self, batch: Batch, sensitive: tuple[Holdings, ...], weights: tuple[ColumnWeights, ...]
    ) -> Flags:
        surely = np.ones(batch.size, np.bool_)
        for column in self._weighed(weights):
            for nodes, units in column.of_nodes(batch):
                margins, bound = self.margins(column.scale, units)
                surely[nodes] &= margins > bound
        return surely

    def _weighed(self, columns: tuple[ColumnWeights, ...]) -> list[ColumnWeights]:
        return [column for place, column in enumerate(columns) if self.is_about(place)]

    @abstractmethod
    def clause(self, counted: str) -> str:
        """What it promises of one sensitive column, as a clause for people."""

    def statement(self, counted: str) -> str:
        return f"{self._subject} {self.clause(counted)}"

    def addition(self, counted: str) -> str:
        return f"; {self.statement(counted)}"

    @property
    def _subject(self) -> str:
        column = self.requirement.column
        return "in each sensitive column by itself" if column is None else f"in the column {column}"

    @property
    def _of_column(self) -> str:
        return "" if self.requirement.column is None else f" of {self.requirement.column}"

    def margins(self, scale: ValueScale, weights: Integers) -> tuple[Floats, float]:
        """By class by how much it meets the model, and below which margin that does not decide.

        Args:
            scale: of a sensitive column.
            weights: by class and value, in its units.
        """
        sums = weights.sum(axis=1, keepdims=True)
        shares = np.divide(weights, sums, out=np.zeros(weights.shape), where=sums > 0)
        return self.model_along(scale.tree).margins(shares, scale.shares_of_table), tolerance(
            scale.error, scale.size
        )


class Entropy(DistributionJudge):
    """Entropy l-diversity (Machanavajjhala et al., TKDD 2007, Definition 4.1)."""

    __slots__ = ()

    name: ClassVar[str] = ENTROPY_DIVERSITY
    examples: ClassVar[tuple[tuple[int, ...], ...]] = ((2,), (3,))
    strength: ClassVar[int] = 2
    limits: ClassVar[tuple[str, ...]] = (_ALIKE, _SKEWED)

    @property
    def model(self) -> EntropyDiversity:
        return EntropyDiversity(int(self.requirement.parameters[0]))

    @property
    def parameters(self) -> str:
        return f"entropy l = {self.model.l}"

    @property
    def is_possible(self) -> bool:
        return self.model.l >= 2

    def clause(self, counted: str) -> str:
        return (
            f"the entropy of the values, by shares of {counted}, is at least that of {self.model.l} equally"
            " frequent values"
        )


class Recursive(DistributionJudge):
    """Recursive (c, l)-diversity (ibid., Definition 4.2)."""

    __slots__ = ()

    name: ClassVar[str] = RECURSIVE_DIVERSITY
    examples: ClassVar[tuple[tuple[int | Fraction, ...], ...]] = (
        (Fraction(2), 2), (Fraction(3, 2), 2), (Fraction(3), 3),
    )  # fmt: skip
    strength: ClassVar[int] = 2
    limits: ClassVar[tuple[str, ...]] = (_ALIKE, _SKEWED)

    @property
    def model(self) -> RecursiveDiversity:
        c, l = self.requirement.parameters  # noqa: E741 (the literature's name)
        return RecursiveDiversity(Fraction(c), int(l))

    @property
    def parameters(self) -> str:
        return f"recursive c = {shown(self.model.c)}, l = {self.model.l}"

    @property
    def is_possible(self) -> bool:
        return self.model.c > 0 and self.model.l >= 2

    def clause(self, counted: str) -> str:
        before = self.model.l - 1
        most = "the most frequent value" if before == 1 else f"the {before} most frequent values"
        return (
            f"the most frequent value has a share of {counted} below {shown(self.model.c)} times that of"
            f" all values but {most}"
        )


class Share(DistributionJudge):
    """(alpha, k)-anonymity (Wong, Li, Fu, Wang, KDD 2006), of each value."""

    __slots__ = ()

    name: ClassVar[str] = ALPHA
    examples: ClassVar[tuple[tuple[Fraction, ...], ...]] = ((Fraction(1, 2),), (Fraction(2, 3),))
    limits: ClassVar[tuple[str, ...]] = (_ALIKE, _SKEWED)

    @property
    def model(self) -> LargestShare:
        return LargestShare(Fraction(self.requirement.parameters[0]))

    @property
    def parameters(self) -> str:
        return f"alpha = {shown(self.model.alpha)}{self._of_column}"

    @property
    def is_possible(self) -> bool:
        return 0 < self.model.alpha < 1

    def clause(self, counted: str) -> str:
        return f"no value has a share of {counted} above {shown(self.model.alpha)}"


class TableCloseness(DistributionJudge):
    """t-closeness (Li, Li, Venkatasubramanian, ICDE 2007)."""

    __slots__ = ()

    name: ClassVar[str] = CLOSENESS
    examples: ClassVar[tuple[tuple[Fraction | str, ...], ...]] = (
        (Fraction(1, 4), "equal"), (Fraction(1, 4), "ordered"), (Fraction(1, 6), "equal"),
    )  # fmt: skip
    strength: ClassVar[int] = 3
    limits: ClassVar[tuple[str, ...]] = (
        "learning that a person's sensitive value is distributed as the table says",
    )

    @property
    def model(self) -> Closeness:
        t, distance = self.requirement.parameters
        return DISTANCES[str(distance)](Fraction(t))

    def model_along(self, tree: Integers | None) -> Closeness:
        t, distance = self.requirement.parameters
        if distance != HIERARCHICAL:
            return self.model
        if tree is None:
            raise InternalError("a distance along a hierarchy reached the kernel without one")
        return HierarchicalDistance(Fraction(t), tree)

    @property
    def parameters(self) -> str:
        t, distance = self.requirement.parameters
        return f"t = {shown(Fraction(t))} ({distance} distance){self._of_column}"

    @property
    def is_possible(self) -> bool:
        t, distance = self.requirement.parameters
        return 0 < Fraction(t) < 1 and distance in {*DISTANCES, HIERARCHICAL}

    def clause(self, counted: str) -> str:
        t, distance = self.requirement.parameters
        return (
            f"the earth mover's distance ({distance}) from the distribution of the values, by shares of"
            f" {counted}, to the whole table's is at most {shown(Fraction(t))}"
        )


def shown(number: Fraction) -> str:
    """A number as people write it, to its last digit: a rounded bound would promise more, or less.

    A fraction where decimals do not end.
    """
    rest = number.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    return plain(number) if rest == 1 else str(number)
