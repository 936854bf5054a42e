"""The interface of a requirement: its statement, and whether classes meet it."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from smalti.errors import InternalError
from smalti.transforms.base import Requirement
from smalti.transforms.partitions.held import Held, HeldOnSides, OneClass, Sampled
from smalti.transforms.partitions.incidence import Holdings
from smalti.transforms.partitions.layout import Batch
from smalti.transforms.partitions.weights import ColumnWeights
from smalti.transforms.problem import Flags


@dataclass(frozen=True, slots=True)
class ClassJudge(ABC):
    """Judges classes by one requirement.

    A subclass says what its requirement is (`meets`) and what it says to people. All else has a default
    that is right and slow: each class of each cut that is chosen is looked at by itself. A requirement
    that is decided by counts overrides `may_meet` and `may_meet_on_both_sides`.

    Contract:
        Judgements depend on what a class holds, not on how respondents and values are numbered.
    """

    requirement: Requirement

    name: ClassVar[str]
    """By which a `Requirement` asks for it."""
    examples: ClassVar[tuple[tuple[int | Fraction | str, ...], ...]] = ((),)
    """Parameters that tests try on small classes, of which some meet it and some do not.

    Each has the same number of parameters, of the same types; certificates are read by them."""
    weighs: ClassVar[bool] = False
    """Whether it asks how much each value weighs, not only who holds it."""
    limits: ClassVar[tuple[str, ...]] = ()
    """What nobody is protected against where no requirement says more, as sentences for people."""
    strength: ClassVar[int] = 1
    """Among requirements that state limits: those of a stronger one stand in place of its own."""

    def is_about(self, place: int) -> bool:
        """Whether it judges the sensitive column at this place.

        Raises:
            InternalError: it is about one column, and nobody said at which place that is.
        """
        if self.requirement.column is None:
            return True
        if self.requirement.place is None:
            raise InternalError("a requirement of one column without its place reached the kernel")
        return self.requirement.place == place

    # --- What it says

    @abstractmethod
    def statement(self, counted: str) -> str:
        """What it promises of a class, as a clause for people.

        Args:
            counted: "respondents", or "rows" where nothing tells people apart.
        """

    def addition(self, counted: str) -> str:
        """The same, behind the clause of another requirement."""
        return f", and {self.statement(counted)}"

    @property
    def parameters(self) -> str | None:
        """Its parameters, as a refusal names them; None if it has none."""
        return None

    @property
    def rule(self) -> str:
        """How a refusal names it if it has no parameters."""
        return self.statement("respondents")

    @property
    def is_possible(self) -> bool:
        """Whether its parameters, of the right types, say anything: a policy could ask for them."""
        return True

    # --- What it is like

    @property
    def fewest_respondents(self) -> int:
        """No class with fewer respondents meets it."""
        return 1

    @abstractmethod
    def is_kept_by_merging(self, *, has_respondents: bool, sensitive: int) -> bool:
        """Whether two classes without a common row that meet it meet it together, too.

        Then what is refused once stays refused, however classes around it are divided: a search prunes by
        it, and no cut is allowed in a table that does not meet it as a whole.

        Args:
            has_respondents: several rows may be about one of them; otherwise each row is about another.
            sensitive: how many sensitive columns there are.
        """

    def is_kept_by_adding(self, *, has_respondents: bool, sensitive: int) -> bool:
        """Whether a class that meets it still does with more rows, whatever they hold.

        Then a lattice with suppression is pruned by it: where a class that is suppressed joins one that is
        published, both are published. It implies `is_kept_by_merging`.
        """
        return False

    # --- Whether classes meet it

    @abstractmethod
    def meets(self, held: OneClass) -> bool:
        """Whether a class meets it."""

    def may_meet(self, held: Held) -> Flags:
        """By partition: no where counts tell that it does not meet it."""
        return held.everywhere

    def may_meet_on_both_sides(self, held: HeldOnSides) -> Flags:
        """By group of a line: as `may_meet` says of both sides of the cut after it.

        Where a side has fewer than `held.fewest` respondents, any answer will do.
        """
        return held.everywhere

    def surely_may_meet(self, sampled: Sampled) -> Flags:
        """By partition: yes where some of what it holds shows that `may_meet` says yes."""
        return np.zeros(sampled.size, np.bool_)

    def is_decided_by_counts(self, *, has_respondents: bool) -> bool:
        """Whether partitions meet it wherever `may_meet` says yes."""
        return False

    def surely_meets(
        self, batch: Batch, sensitive: tuple[Holdings, ...], weights: tuple[ColumnWeights, ...]
    ) -> Flags:
        """By partition: yes where it is quickly seen to meet it, provided that `may_meet` says yes."""
        return np.zeros(batch.size, np.bool_)
