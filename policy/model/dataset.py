"""The description of a table without its data, as far as a policy is compared with it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from smalti.policy.model.column_iris import column_iri, normalised_column, parts_of_others
from smalti.policy.model.model import Policy
from smalti.vocab.terms import IRI

ORDERED: Final = frozenset({"integer", "decimal", "double", "date", "dateTime"})
"""Datatypes whose values have an order."""


@dataclass(frozen=True, slots=True)
class ColumnFacts:
    """The description of one column."""

    name: str
    """As the table's header writes it."""
    iri: IRI | None = None
    """None: the target's IRI, a slash and the name."""
    datatype: str | None = None
    """`string`, or one of `ORDERED`; None: not declared."""
    is_key: bool = False
    """Its value alone identifies a row."""
    most_values: int | None = None
    """It has at most so many different values."""
    hierarchy: str | None = None
    """The kind of the hierarchy that is declared; `ordered`: a list of its values."""


@dataclass(frozen=True, slots=True)
class DatasetFacts:
    """The description of one table."""

    columns: tuple[ColumnFacts, ...]
    source: str
    """The description's name, for messages."""
    target: IRI | None = None
    """The asset that it describes; None: not declared."""
    respondent: str | None = None
    """The name of the column that identifies respondents."""
    one_row_each: bool = False
    most_rows: int | None = None
    """It has at most so many rows, and so at most so many respondents."""

    def renamed_of(self, target: IRI) -> frozenset[tuple[IRI, IRI]]:
        """The columns with IRIs of their own (`Request.renamed`), as the table of a target."""
        return frozenset(
            (normalised_column(column_iri(target, column.name)), normalised_column(column.iri))
            for column in self.columns
            if column.iri is not None
        )

    def columns_of(self, target: IRI) -> Mapping[IRI, ColumnFacts]:
        """The columns by their IRIs, as the table of a target."""
        return {
            normalised_column(column.iri or column_iri(target, column.name)): column
            for column in self.columns
        }

    def describes(self, policy: Policy) -> IRI | None:
        """The target of a policy that the description is about; None where it is ambiguous.

        Its own target, or the one target of the policy, or the one under which a described column stands.
        """
        stated = [column.iri for column in self.columns if column.iri is not None]
        described = set(map(normalised_column, stated))
        parts = parts_of_others(policy.targets)
        tables = [
            target
            for target in policy.targets
            if normalised_column(target) not in described and target not in parts
        ]
        if self.target is not None or len(tables) == 1:
            return self.target or tables[0]
        matching = [
            target
            for target in sorted(policy.targets)
            if any(iri.startswith(f"{target}/") for iri in stated)
        ]
        return matching[0] if len(matching) == 1 else None
