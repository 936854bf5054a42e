"""The known columns of a table: from its description, a recorded plan, or an output.

A column goes by its name in the header. What other IRI it has is somebody's word: whoever says it, a
prohibition on that IRI reaches the column. That the prohibition means no other column is believed of the
table's one owner only: of several owners none says which column another one has prohibited.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import unquote

from smalti.policy.model.column_iris import column_iri, is_column_of, normalised_column
from smalti.vocab.terms import IRI


@dataclass(frozen=True, slots=True)
class DescribedColumns:
    """All columns of a table as one run found them, each with its name in the header and its IRI."""

    columns: tuple[tuple[str, IRI], ...]
    said_by: IRI | None
    """Who bound the table to data, and described it; None: it was recorded by an earlier smalti."""

    def is_believed(self, owners: frozenset[IRI]) -> bool:
        """Whether the IRIs count for everything, where these parties own the table or a part of it."""
        return self.said_by is not None and owners == {self.said_by}

    def certain(
        self, table: IRI, owners: frozenset[IRI], believed: frozenset[tuple[IRI, IRI]] = frozenset()
    ) -> frozenset[IRI]:
        """The IRIs that name a column of the table beyond doubt, as `known_spelling` has them.

        Args:
            table: its IRI.
            owners: who owns the table or a part of it.
            believed: as `KnownColumns.believed`: who described it as its one owner did, is believed, too.
        """
        is_believed = self.is_believed(owners)
        pairs = [
            (known_spelling(column_iri(table, name)), known_spelling(iri)) for name, iri in self.columns
        ]
        own = {iri for name, iri in pairs if is_believed or (name, iri) in believed}
        return frozenset(name for name, _ in pairs).union(own)


@dataclass(frozen=True, slots=True)
class KnownColumns:
    """Columns of one table, as `policy.model.column_iris.normalised_column` spells their IRIs."""

    iris: frozenset[IRI] = frozenset()
    """As `Request.columns`."""
    renamed: frozenset[tuple[IRI, IRI]] = frozenset()
    """As `Request.renamed`."""
    headers: frozenset[frozenset[IRI]] = frozenset()
    """Of each table that was read whole: its columns by their names, as `known_spelling` has them."""
    believed: frozenset[tuple[IRI, IRI]] = frozenset()
    """Of `renamed`, what the one owner of the table says, in that spelling."""

    @property
    def is_whole(self) -> bool:
        """Whether all columns are known that the table had at some time."""
        return bool(self.headers)

    def __or__(self, other: "KnownColumns") -> "KnownColumns":
        return KnownColumns(
            self.iris | other.iris,
            self.renamed | other.renamed,
            self.headers | other.headers,
            self.believed | other.believed,
        )

    def lacks(self, column: IRI) -> bool:
        """Whether the table is known to have had no such column at some time.

        One run that found it does not tell what is meant in another one, which did not.

        Args:
            column: as `normalised_column` spells it.
        """
        spelled = known_spelling(column)
        names = {spelled, *(name for name, own in self.believed if own == spelled)}
        return any(names.isdisjoint(header) for header in self.headers)

    def __le__(self, other: "KnownColumns") -> bool:
        """Whether the other one includes all columns and names of this one."""
        return self.iris <= other.iris and self.renamed <= other.renamed


NO_COLUMNS = KnownColumns()


def known_spelling(column: IRI) -> IRI:
    """A column's IRI without percent-encodings, by which the IRIs of columns are compared."""
    return IRI(unquote(normalised_column(column)))


def known_columns(
    table: IRI, columns: Iterable[tuple[str, IRI]], *, is_believed: bool = True
) -> KnownColumns:
    """What is known from some columns of a table, which may have others.

    Columns whose IRIs say it are left out: not to know others is not to have none.

    Args:
        table: their table's IRI.
        columns: the name of each in the header, and its IRI.
        is_believed: whether what is no IRI of a column otherwise becomes one.
    """
    iris, renamed = set(), set()
    for name, iri in columns:
        own, default = normalised_column(iri), normalised_column(column_iri(table, name))
        if is_believed and not is_column_of(table, own):
            iris.add(own)
        if own != default:
            renamed.add((default, own))
    return KnownColumns(frozenset(iris), frozenset(renamed))


def columns_of_table(table: IRI, described: DescribedColumns, owners: frozenset[IRI]) -> KnownColumns:
    """What is known from a run that read all columns of a table.

    Args:
        table: its IRI.
        described: its columns.
        owners: who owns the table or a part of it.
    """
    is_believed = described.is_believed(owners)
    pairs = [
        (normalised_column(column_iri(table, name)), normalised_column(iri))
        for name, iri in described.columns
    ]
    renamed = frozenset(pair for pair in pairs if pair[0] != pair[1] and described.said_by in owners)
    believed = renamed if is_believed else frozenset()
    return KnownColumns(
        frozenset(own if is_believed else default for default, own in pairs),
        renamed,
        frozenset((frozenset(known_spelling(default) for default, _ in pairs),)),
        frozenset((known_spelling(default), known_spelling(own)) for default, own in believed),
    )
