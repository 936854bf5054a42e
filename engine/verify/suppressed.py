"""The verifier's own count of records that are suppressed and kept: they show the root in each column."""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from smalti.engine.verify.columns import broken, pc
from smalti.engine.verify.entries import Values
from smalti.engine.verify.join import Check, Joined
from smalti.engine.verify.promise import Counted
from smalti.engine.verify.stage import Part, StagedColumn


class AtRoot(Check):
    """Counts the respondents with such a record, who are held in memory."""

    def __init__(
        self, roots: Sequence[tuple[StagedColumn, str]], original: str, respondents: Values | None
    ) -> None:
        """Begin to count.

        Args:
            roots: the published quasi-identifiers, each with the label of its root.
            original: the column of the original that tells respondents apart, or any other one.
            respondents: its values; None: each row is about another person.
        """
        self.original = original
        self._roots, self._respondents = roots, respondents
        self._rows = 0
        self._people: set[object] = set()

    def look(self, rows: Joined) -> None:
        at_root = np.ones(len(rows.record), np.bool_)
        for column, label in self._roots:
            at_root &= _shows(column, label, rows.published(column.part(rows.extent.number)))
        self._rows += int(np.count_nonzero(at_root))
        if self._respondents is not None:
            people = self._respondents.of(rows.originals[self.original])
            listed = people if isinstance(people, np.ndarray) else people.to_numpy(zero_copy_only=False)
            self._people.update(listed[at_root].tolist())

    def finish(self) -> None:
        """All was counted."""

    def people_within(self, limit: Fraction, counted: Counted) -> int:
        """How many respondents are suppressed; none where the whole table is one class.

        Args:
            limit: the share of respondents that may be.
            counted: of the whole output.

        Raises:
            GuaranteeError: more are.
        """
        if counted.classes == 1:
            return 0
        suppressed = self._rows if self._respondents is None else len(self._people)
        if suppressed * limit.denominator > counted.respondents * limit.numerator:
            raise broken(
                "published output",
                "records of more respondents show nothing but roots than the plan allows",
                "no more than its limit of suppression",
            )
        return suppressed


def _shows(column: StagedColumn, label: str, part: Part) -> NDArray[np.bool_]:
    if not isinstance(part, np.ndarray):
        shown: NDArray[np.bool_] = pc.equal(part, label).to_numpy(zero_copy_only=False)
        return shown
    place = pc.index(column.values, label).as_py()
    return part == place + 1 if place >= 0 else np.zeros(len(part), np.bool_)
