"""The columns that a permission needs: those that it publishes, and those that it computes with."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace

from smalti.policy.decide.facts import comparisons
from smalti.policy.decide.transformations import Parameters
from smalti.policy.model.column_iris import normalised_column
from smalti.policy.model.model import (
    Anonymization,
    Comparison,
    Duty,
    Named,
    Permission,
    Text,
    Training,
)
from smalti.vocab.terms import DIFFERENTIAL_PRIVACY, GROUP_BY, IRI, MEASURE, STATISTIC
from smalti.vocab.words import BY_IRI, Range

_COLUMNS = frozenset({Range.COLUMN, Range.COLUMNS})
_COUNT = Text("count")


@dataclass(frozen=True, slots=True)
class ColumnUses:
    """The columns that a permission uses, without those that it only drops."""

    columns: frozenset[IRI]
    """As `normalised_column` spells them."""
    others_than: frozenset[IRI] | None = None
    """Not None: it also uses all columns except these, whatever columns there are."""
    says_how: bool = False
    """Whether it drops the columns that it does not use."""

    def needs(self, some: Collection[IRI], named: Collection[IRI] = ()) -> bool:
        """Whether it needs one of some columns.

        Args:
            some: as `normalised_column` spells them.
            named: those IRIs that a prohibition names; others of `some` may be of the same columns, so that
                who drops a column drops it by any of them. Whatever it is called, the data tell in the end.
        """
        if not self.columns.isdisjoint(some):
            return True
        return self.others_than is not None and not self.others_than.issuperset(
            [column for column in some if column in named] or some
        )

    def reaches(self, column: IRI) -> bool:
        """Whether it is about a column, if it is about the table.

        Args:
            column: as `normalised_column` spells it.
        """
        return not self.says_how or self.needs((column,))

    def also(self, columns: frozenset[IRI]) -> "ColumnUses":
        """The same, with additional columns."""
        return replace(self, columns=self.columns | columns) if columns else self


def column_uses(
    permission: Permission, obligations: Iterable[Duty] = (), parameters: Parameters | None = None
) -> ColumnUses:
    """The columns that a permission and its obligations use.

    A respondent's column is used: without it, respondents cannot be counted. To read a table, or to use it
    as it is in any other way, uses no column in particular.

    Args:
        permission: the rule, or the permission that is equivalent to a duty.
        obligations: what whoever uses it must do; what is anonymized so is all that they may have.
        parameters: of the requested action, where they are known; they say which statistics are meant.
    """
    owed = frozenset(
        column
        for duty in obligations
        if duty.anonymization is not None
        for column in _of_anonymization(duty.anonymization, {})
    )
    if permission.training is not None:
        return _of_training(permission.training).also(owed)
    if permission.anonymization is not None:
        used = frozenset(_of_anonymization(permission.anonymization, parameters or {}))
        return ColumnUses(used | owed, says_how=True)
    return ColumnUses(owed)


def _of_training(training: Training) -> ColumnUses:
    named = (training.label_column, training.respondent)
    used = frozenset(normalised_column(column.iri) for column in named if column is not None)
    dropped = frozenset(normalised_column(column.iri) for column in training.identifiers)
    return ColumnUses(used, dropped - used, says_how=True)


def _of_anonymization(way: Anonymization, parameters: Parameters) -> Iterator[IRI]:
    respondent = () if way.respondent is None else (way.respondent,)
    for reference in (*way.quasi_identifiers, *way.sensitive, *way.released, *respondent):
        yield normalised_column(reference.iri)
    for comparison in comparisons(way.parameters):
        is_chosen = way.method == DIFFERENTIAL_PRIVACY and comparison.operand in (MEASURE, GROUP_BY)
        yield from _requested_columns(comparison, parameters) if is_chosen else _named(comparison)


def _named(comparison: Comparison) -> Iterator[IRI]:
    word = BY_IRI.get(comparison.operand)
    if word is None or word.range in _COLUMNS:
        yield from (normalised_column(value.iri) for value in comparison.values if isinstance(value, Named))


def _requested_columns(comparison: Comparison, parameters: Parameters) -> Iterator[IRI]:
    """The columns that a request asks for, of those that statistics may be about."""
    stated = parameters.get(comparison.operand)
    if stated is not None and all(isinstance(value, Named) for value in stated):
        yield from (normalised_column(value.iri) for value in stated if isinstance(value, Named))
        return
    statistics = parameters.get(STATISTIC)
    is_grouped_by_none = comparison.operand == GROUP_BY and statistics is not None
    measures_none = statistics is not None and set(statistics) == {_COUNT}
    if stated is not None or not (is_grouped_by_none or measures_none):
        yield from _named(comparison)
