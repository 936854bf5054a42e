"""What a plan takes its input for, and whether another plan takes it for the same.

What an owner's data means follows from the owner's words and the data alone. So what is stated of a column
has to be as in an owner's run. The datatype of a column that nothing describes follows from its values: a
policy that looks at other columns of the same files than an earlier one may infer it.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import TypeAlias

from smalti.engine.plan.kinds import Kind
from smalti.transforms.base import Datatype
from smalti.vocab.terms import IRI

InputFacts: TypeAlias = frozenset[object]
"""What a plan takes its input for, the policy's roles apart; of each column, where it looks at columns."""


@dataclass(frozen=True, slots=True)
class InputColumn:
    """What a plan takes a column for."""

    name: str
    iri: IRI
    datatype: Datatype
    is_inferred: bool
    time_zone: str | None


@dataclass(frozen=True, slots=True)
class UndescribedColumn:
    """That nothing but its values says what a column of a plan is: neither a description nor its file."""

    name: str


_OfColumns = InputColumn | UndescribedColumn


def takes_alike(facts: InputFacts, earlier: Collection[InputFacts]) -> bool:
    """Whether a plan takes its input for nothing else than earlier ones on the same files did.

    Args:
        facts: of the plan.
        earlier: of each of the earlier plans.

    Returns:
        Whether all of its facts are among those of one of them, and what nothing described then is not
        described now; or it differs from one of them in columns
        alone that one of the two has inferred and nothing describes, and contradicts none of the others.
        Plans of another kind count for a table alone of which nothing is described, since what is stated
        of a column (bounds, hierarchies) means something else to each kind.
    """
    if any(facts - _undescribed(facts) <= each and _undescribed(each) <= facts for each in earlier):
        return True
    compared = [_Compared(facts, each) for each in earlier]
    return any(each.is_covered for each in compared) and not any(each.is_contradicted for each in compared)


class _Compared:
    """The facts of a plan beside those of an earlier one."""

    def __init__(self, facts: InputFacts, earlier: InputFacts) -> None:
        self._undescribed = _undescribed(facts) & earlier
        self._newly_described = _undescribed(earlier) - facts
        self._earlier = {fact.name: fact for fact in earlier if isinstance(fact, InputColumn)}
        self._columns = [fact for fact in facts if isinstance(fact, InputColumn)]
        self._others = {fact for fact in facts - earlier if not isinstance(fact, _OfColumns)}

    @property
    def is_covered(self) -> bool:
        """Whether the earlier plan took each column for the same, and all else is as it was there."""
        is_kind_alone = all(isinstance(fact, Kind) for fact in self._others)
        knows_rest = not self._others or (is_kind_alone and self._nothing_is_described)
        return knows_rest and all(
            column.name in self._earlier and self._agree(column) for column in self._columns
        )

    @property
    def is_contradicted(self) -> bool:
        """Whether the earlier plan took a column of both for something else."""
        return any(column.name in self._earlier and not self._agree(column) for column in self._columns)

    @property
    def _nothing_is_described(self) -> bool:
        return len(self._columns) == len(self._undescribed)

    def _agree(self, column: InputColumn) -> bool:
        """Whether both are the same, or one plan has inferred what the other one did not look at."""
        earlier = self._earlier[column.name]
        mark = UndescribedColumn(column.name)
        if column == earlier:
            return mark not in self._newly_described
        is_same = (column.iri, column.time_zone) == (earlier.iri, earlier.time_zone)
        return mark in self._undescribed and is_same and column.is_inferred != earlier.is_inferred


def _undescribed(facts: InputFacts) -> InputFacts:
    return frozenset(fact for fact in facts if isinstance(fact, UndescribedColumn))
