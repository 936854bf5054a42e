"""Columns as parts of tables: how rules about columns apply to tables, and rules about tables to columns.

A column is named by its table's IRI, a slash and a name (`column_iris.is_column_of`), or it is known of a
target (`Request.columns`). A rule about a table, or about a collection that the table belongs to, is about
each of its columns. A prohibition on a column does not apply to the rest of its table.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from smalti.policy.decide.comparing import SATISFIED, UNKNOWN, UNSATISFIED
from smalti.policy.decide.decision import Finding, Request
from smalti.policy.decide.facts import leaves
from smalti.policy.decide.hierarchies import Hierarchies
from smalti.policy.model.column_iris import normalised_column, table_of
from smalti.policy.model.iris import accepted_spelling
from smalti.policy.model.model import ColumnComparison, Condition
from smalti.vocab.terms import IRI

_NOTHING: Final[frozenset[IRI]] = frozenset()
_REMEMBERED: Final = 1 << 10
"""IRIs whose spellings are kept: each request asks for those of its targets many times."""


@dataclass(frozen=True, slots=True)
class Reached:
    """The part of the requested targets that a rule about one asset is about."""

    whole: Finding
    """Whether it is about all of a target."""
    columns: frozenset[IRI] = _NOTHING
    """Columns of targets that it is about, as `normalised_column` spells them."""

    @property
    def is_anything(self) -> bool:
        return self.whole is not UNSATISFIED or bool(self.columns)


NOT_REACHED: Final = Reached(UNSATISFIED)


@lru_cache(maxsize=_REMEMBERED)
def spellings(iri: IRI) -> tuple[IRI, ...]:
    """The distinct spellings of an IRI: as written, normalised, and as documents have it."""
    return tuple(dict.fromkeys((iri, normalised_column(iri), accepted_spelling(iri))))


@lru_cache(maxsize=_REMEMBERED)
def tables_of(iri: IRI) -> tuple[IRI, ...]:
    """The tables that an IRI may name a column of: one, in up to two spellings."""
    tables = (table_of(spelling) for spelling in spellings(iri))
    return tuple(dict.fromkeys(table for table in tables if table is not None))


def also_named(columns: Collection[IRI], renamed: frozenset[tuple[IRI, IRI]]) -> frozenset[IRI]:
    """Columns under all IRIs that they are known to have had.

    An IRI leads to the names in headers that it stood for, and a name to the IRIs that it had. One step, so
    that one wrong description does not make all columns one.

    Args:
        columns: as `normalised_column` spells them.
        renamed: which columns have IRIs of their own (`Request.renamed`).
    """
    names = frozenset(name for name, own in renamed if own in columns).union(columns)
    return names.union(own for name, own in renamed if name in names)


class Requested:
    """The targets of one request, under the hierarchies that count for a policy."""

    __slots__ = ("_assets", "_declared", "_known", "_own", "_renamed", "_sought", "_wholes", "targets")

    def __init__(self, request: Request, hierarchies: Hierarchies) -> None:
        self._assets = hierarchies.assets
        self._declared = hierarchies.columns
        self._renamed = request.renamed
        self.targets = request.targets
        parts = self._assets.narrower(*request.targets)
        names = {name for asset in (*request.targets, *parts) for name in spellings(asset)}
        wholes = (whole for target in request.targets for whole in self._assets.broader(target))
        declaring = names.union(*map(spellings, wholes))
        declared = (self._declared.get(name, _NOTHING) for name in declaring)
        recorded = (own for name, own in request.renamed if not names.isdisjoint(tables_of(name)))
        self._known = frozenset(map(normalised_column, request.columns)).union(recorded, *declared)
        self._own = request.tables
        self._wholes: dict[IRI, tuple[IRI, ...]] = {}
        self._sought: tuple[frozenset[IRI], frozenset[IRI]] | None = None

    # --- Permissions

    def covered(self, target: IRI, asset: IRI, *, reaches_columns: bool = True) -> Finding:
        """Whether a permission about an asset reaches a target.

        Args:
            target: one of the request's.
            asset: a target of the permission.
            reaches_columns: whether the permission, if it is on the table of a column, is about the column.
        """
        relation = self._assets.relation(target, asset)
        if relation is SATISFIED:
            return relation
        names = () if target in self._own or not reaches_columns else self._wholes_of(target)
        others = [self._assets.relation(name, asset) for name in names]
        if SATISFIED in others:
            return SATISFIED
        return UNKNOWN if UNKNOWN in (relation, *others) else UNSATISFIED

    def _wholes_of(self, target: IRI) -> tuple[IRI, ...]:
        """Other IRIs of a target, and of the tables that it may be a column of."""
        if (wholes := self._wholes.get(target)) is None:
            names = (*spellings(target)[1:], *tables_of(target), *self._tables_declaring(target))
            wholes = self._wholes[target] = names
        return wholes

    def _tables_declaring(self, target: IRI) -> Iterator[IRI]:
        """The tables that a vocabulary declares a target to be a column of."""
        column = normalised_column(target)
        return (table for table, columns in self._declared.items() if column in columns)

    # --- Prohibitions

    def touched(self, target: IRI, asset: IRI) -> Reached:
        """The part of a target that a prohibition about an asset is about."""
        relation = self._assets.relation(target, asset)
        if relation is SATISFIED:
            return Reached(relation)
        columns = self._columns(target, asset)
        if relation is UNKNOWN and columns and self._shares_columns(asset, target):
            relation = UNSATISFIED
        if relation is UNSATISFIED:
            relation = self._touched_as_part(target, asset)
        return Reached(relation, columns) if relation is not UNSATISFIED or columns else NOT_REACHED

    def columns_about(self, target: IRI, asset: IRI) -> frozenset[IRI]:
        """The columns of a target that a prohibition about another asset is about."""
        is_target = self._assets.concept(asset) == self._assets.concept(target)
        return _NOTHING if is_target else self._columns(target, asset)

    def _touched_as_part(self, target: IRI, asset: IRI) -> Finding:
        """Whether a prohibition is about the target in another spelling, or about the table of a column."""
        names = self._names_of(target)
        if not names.isdisjoint(self.named((asset,))):
            return SATISFIED
        for whole in (*self._wholes_of(target), *self._recorded_tables_of(target)):
            related = self._assets.relation(whole, asset)
            siblings = related is UNKNOWN and self._shares_columns(asset, whole)
            if normalised_column(asset) == whole or (related is not UNSATISFIED and not siblings):
                return SATISFIED if related is not UNKNOWN else UNKNOWN
            if not names.isdisjoint(self._columns_by_name(whole, asset)):
                return SATISFIED  # what is withheld of the table
        return UNSATISFIED

    def _recorded_tables_of(self, target: IRI) -> tuple[IRI, ...]:
        """The tables of which a run read a target as a column. Permissions on them do not reach it."""
        name = normalised_column(target)
        names = (default for default, own in self._renamed if own == name)
        return tuple(dict.fromkeys(table for default in names for table in tables_of(default)))

    def named(self, assets: Iterable[IRI]) -> frozenset[IRI]:
        """The IRIs that a rule about some assets names, by itself or by a hierarchy, in one spelling."""
        return frozenset(map(normalised_column, self._assets.narrower(*assets)))

    def _names_of(self, target: IRI) -> frozenset[IRI]:
        """A target, which may be a column, under all IRIs that it is known to have had."""
        return also_named((normalised_column(target),), self._renamed)

    def _columns_by_name(self, whole: IRI, asset: IRI) -> frozenset[IRI]:
        """The prohibited columns of a table or collection; those of its parts also by name."""
        columns = self._columns(whole, asset)
        of_parts = [
            normalised_column(f"{whole}/{column.rpartition('/')[2]}")
            for column in columns
            for table in tables_of(column)
            if self._assets.concept(whole) in self._assets.broader(table)
        ]
        return columns.union(of_parts)

    def _columns(self, target: IRI, asset: IRI) -> frozenset[IRI]:
        columns: set[IRI] = set()
        for part in self._assets.narrower(asset):
            for name in spellings(part):
                columns.update(self._column_of(target, name))
            # A column of which another column is said to be a part shows what is forbidden of the part.
            wholes = self._assets.broader(part) if _is_column(part, target) else _NOTHING
            columns.update(normalised_column(whole) for whole in wholes if _is_column(whole, target))
        return also_named(columns, self._renamed) if columns else _NOTHING

    def _column_of(self, target: IRI, name: IRI) -> Iterator[IRI]:
        """The columns of a target that a concept of a prohibition means."""
        column = normalised_column(name)
        if column in self._known and column != normalised_column(target):
            yield column
        for table in tables_of(name):
            if table in spellings(target) or self._assets.concept(target) in self._assets.broader(table):
                yield column
            elif self._shares_a_part(table, target) and table not in tables_of(target):
                # Of a collection that the target belongs to: the column of that name in each member.
                yield normalised_column(f"{target}/{column.rpartition('/')[2]}")

    def _shares_a_part(self, asset: IRI, other: IRI) -> bool:
        """Whether hierarchies say that two assets share a part, in whatever spelling."""
        return self._assets.concept(asset) in self._assets.related(other)

    def _shares_columns(self, asset: IRI, table: IRI) -> bool:
        """Whether an asset shares only columns with a table, by the hierarchies."""
        if _is_column(asset, table) and asset not in self._own:
            return True
        shared = self._assets.narrower(asset) & self._assets.narrower(table)
        return bool(shared) and all(_is_column(part, table) and part not in self._own for part in shared)

    # --- Keys of rules

    @property
    def sought(self) -> frozenset[IRI]:
        """The concepts of assets by which rules about the targets, their tables or columns are found."""
        return self._keys()[0]

    @property
    def sought_tables(self) -> frozenset[IRI]:
        """The tables by which rules about columns of the targets are found (`column_keys`)."""
        return self._keys()[1]

    def _keys(self) -> tuple[frozenset[IRI], frozenset[IRI]]:
        if self._sought is None:
            assets = self._assets
            near = assets.related_to_any(name for target in self.targets for name in spellings(target))
            tables = _NOTHING.union(*(spellings(asset) for asset in near))
            wholes = [whole for target in self.targets for whole in self._wholes_of(target)]
            wholes += [whole for target in self.targets for whole in self._recorded_tables_of(target)]
            names = _NOTHING.union(*map(self._names_of, self.targets))
            parts = [part for table in tables for part in assets.columns_of(table)]
            parts += [
                part
                for whole in wholes
                for part in assets.columns_of(whole)
                if normalised_column(part) in names
            ]
            collections = assets.related_to_any(wholes) - set(wholes)
            tables = tables.union(*(spellings(collection) for collection in collections))
            columns = also_named(self._known, self._renamed)
            sought = near | assets.related_to_any((*wholes, *parts, *columns, *names))
            self._sought = sought.union(*map(spellings, sought)), tables
        return self._sought

    def is_touched_by(self, assets: Iterable[IRI]) -> bool:
        """Whether a rule about these assets is about a target, its table, or a column of it."""
        listed = tuple(assets)
        return any(self.touched(target, asset).is_anything for target in self.targets for asset in listed)


def _is_column(asset: IRI, table: IRI) -> bool:
    return not set(tables_of(asset)).isdisjoint(spellings(table))


def column_keys(concepts: Iterable[IRI]) -> frozenset[IRI]:
    """The tables of which some concepts may be columns."""
    return frozenset(table for iri in concepts for table in tables_of(iri))


def columns_in(conditions: Iterable[Condition]) -> frozenset[IRI]:
    """The columns that limits to rows compare."""
    limits = (leaf for leaf in leaves(conditions) if isinstance(leaf, ColumnComparison))
    return frozenset(normalised_column(limit.column.iri) for limit in limits)
