"""What is known of the columns of a table: from its description, from a recorded plan, of an output."""

from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import unquote

from smalti.policy.iris import column_iri, is_column_of, normalised_column
from smalti.vocab.terms import IRI


@dataclass(frozen=True, slots=True)
class KnownColumns:
    """Columns of one table, as `policy.iris.normalised_column` spells their IRIs."""

    iris: frozenset[IRI] = frozenset()
    """As `Request.columns`."""
    renamed: frozenset[tuple[IRI, IRI]] = frozenset()
    """As `Request.renamed`."""
    is_whole: bool = False
    """Whether all columns are among them that the table had at some time."""

    def __or__(self, other: "KnownColumns") -> "KnownColumns":
        is_whole = self.is_whole or other.is_whole
        return KnownColumns(self.iris | other.iris, self.renamed | other.renamed, is_whole)

    def lacks(self, column: IRI) -> bool:
        """Whether it is told that the table has no such column.

        Args:
            column: as `normalised_column` spells it.
        """
        names = {unquote(iri) for pair in self.renamed for iri in pair}.union(map(unquote, self.iris))
        return self.is_whole and unquote(column) not in names

    def __le__(self, other: "KnownColumns") -> bool:
        """Whether everything that is known here is known there."""
        return self.iris <= other.iris and self.renamed <= other.renamed


NO_COLUMNS = KnownColumns()


def known_columns(
    table: IRI, columns: Iterable[tuple[str, IRI]], *, is_whole: bool = False
) -> KnownColumns:
    """What some columns tell of their table.

    Args:
        table: their table's IRI.
        columns: the name of each in the header, and its IRI.
        is_whole: these are all columns of the table. Otherwise columns whose IRIs say it are left out: not
            to know others is not to have none.
    """
    iris, renamed = set(), set()
    for name, iri in columns:
        own, default = normalised_column(iri), normalised_column(column_iri(table, name))
        if is_whole or not is_column_of(table, own):
            iris.add(own)
        if own != default:
            renamed.add((default, own))
    return KnownColumns(frozenset(iris), frozenset(renamed), is_whole)
