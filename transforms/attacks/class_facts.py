"""What classes of a published table hold of one column: what attacks on tables look at.

The attacker knows the quasi-identifiers of a respondent in the table exactly, and so the respondent's
classes, and wants to learn the respondent's value in this column, which is published as it is.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from smalti.transforms.partitions.layout import order_by
from smalti.transforms.partitions.merging import distinct
from smalti.transforms.problem import Flags, Integers


@dataclass(frozen=True)
class ClassFacts:
    """Who holds which value in which class; each triple once."""

    classes: Integers
    """From 0."""
    values: Integers
    """From 0."""
    respondents: Integers
    """From 0."""

    @classmethod
    def of(
        cls, classes: Integers, values: Integers, respondents: Integers | None, rows: Integers
    ) -> "ClassFacts":
        """The facts of rows.

        Args:
            classes: of each group of rows.
            values: likewise.
            respondents: likewise; None where each row is another respondent.
            rows: how many they are.
        """
        if respondents is None:
            people = np.arange(int(rows.sum()))
            return cls(np.repeat(classes, rows), np.repeat(values, rows), people)
        return cls(*distinct(classes, values, respondents))

    @cached_property
    def class_count(self) -> int:
        return int(self.classes.max(initial=-1)) + 1

    @cached_property
    def value_count(self) -> int:
        return int(self.values.max(initial=-1)) + 1

    @cached_property
    def people(self) -> Integers:
        """By class: how many respondents it has."""
        owners, _ = distinct(self.classes, self.respondents)
        return np.bincount(owners, minlength=self.class_count)

    @cached_property
    def _held(self) -> tuple[Integers, Integers, Integers, Integers]:
        """Each value of a class once: class, value, holders; and by fact its place among these."""
        order, new = order_by(self.classes, self.values)
        first = order[new]
        places = np.empty(len(order), np.int64)
        places[order] = np.cumsum(new) - 1
        return self.classes[first], self.values[first], np.bincount(places), places

    @property
    def held_classes(self) -> Integers:
        """Of each value of a class once: the class; in ascending order."""
        return self._held[0]

    @property
    def held_values(self) -> Integers:
        """Likewise the value."""
        return self._held[1]

    @property
    def holders(self) -> Integers:
        """Likewise how many respondents of the class hold it."""
        return self._held[2]

    @property
    def place(self) -> Integers:
        """By fact: its value of a class among these."""
        return self._held[3]

    def count(self, hit: Flags) -> int:
        """How many respondents have a fact that is hit."""
        return len(np.unique(self.respondents[hit]))

    @cached_property
    def respondent_count(self) -> int:
        return len(np.unique(self.respondents))

    @cached_property
    def holders_in_table(self) -> Integers:
        """By value: how many respondents of the whole table hold it."""
        owners, _ = distinct(self.values, self.respondents)
        return np.bincount(owners, minlength=self.value_count)
