"""Who owns an asset, from facts about it: one rule for decisions in memory and for writes in a transaction.

A source has the owners that are on record. An output is owned through what it was made from, and a
collection through its members besides its own owners. What may be a column of a known table, by its IRI, is
owned through the table; where somebody registered it as an asset of its own, both own a part of it. What
nobody registered, and is only another spelling of an asset, is owned as that. Whoever owns all of it may
permit; whoever owns a part of it may prohibit.
"""

from collections.abc import Callable
from typing import Protocol

from smalti.engine.registry.entries import AssetKind
from smalti.policy.decide.table_columns import tables_of
from smalti.policy.model.column_iris import normalised_column
from smalti.vocab.terms import IRI


class Facts(Protocol):
    """What is on record about assets."""

    def kind(self, iri: IRI) -> AssetKind | None:
        """None: the registry does not know the asset."""

    def direct_owners(self, iri: IRI) -> frozenset[IRI]:
        """Of a source."""

    def inputs(self, output: IRI) -> frozenset[IRI]:
        """What the versions of an output were made from."""

    def members(self, collection: IRI) -> frozenset[IRI]:
        """By the hierarchies in force."""

    def encoded(self, spelled: IRI) -> frozenset[IRI]:
        """The known assets with that spelling (`normalised_column`), but those that are surely in it."""


def owners(facts: Facts, iri: IRI) -> frozenset[IRI]:
    """Who owns an asset or a part of it; empty for what is not known."""
    return frozenset[IRI]().union(*_owner_sets(facts, iri))


def full_owners(facts: Facts, iri: IRI) -> frozenset[IRI]:
    """Who owns an asset and each part of it; empty for what is not known."""
    return _of_each(_owner_sets(facts, iri))


def owners_on_record(facts: Facts, iri: IRI) -> frozenset[IRI]:
    """The same as `owners`, whatever has been registered above an asset, of which it may be a column.

    Anybody may register an IRI above somebody's asset. That keeps others from permitting (`full_owners`),
    and lets nobody see the owners' figures, nor end what they said.
    """
    return frozenset[IRI]().union(*_owner_sets(facts, iri, is_above=False))


def full_owners_on_record(facts: Facts, iri: IRI) -> frozenset[IRI]:
    """The same as `full_owners`, likewise."""
    return _of_each(_owner_sets(facts, iri, is_above=False))


def _of_each(sets: list[frozenset[IRI]]) -> frozenset[IRI]:
    return frozenset.intersection(*sets) if sets else frozenset()


def tables(facts: Facts, iri: IRI) -> frozenset[IRI]:
    """The known tables that an IRI may name a column of."""
    near = tables_of(iri)
    registered = {table for table in near if facts.kind(table) is not None or facts.members(table)}
    return frozenset(registered).union(*(spelled_otherwise(facts, table) for table in near))


def spelled_otherwise(facts: Facts, iri: IRI) -> frozenset[IRI]:
    """The known assets of which an IRI is another spelling (`normalised_column`)."""
    spelled = normalised_column(iri)
    near = facts.encoded(spelled).union((spelled,)) - {iri}
    return frozenset(
        spelling
        for spelling in near
        if facts.kind(spelling) is not None and normalised_column(spelling) == spelled
    )


def sources(facts: Facts, iri: IRI) -> frozenset[IRI]:
    """The asset and everything that it comes from, through all versions of all outputs between."""
    return frozenset(_reach(facts.inputs, iri))


def _owner_sets(facts: Facts, iri: IRI, *, is_above: bool = True) -> list[frozenset[IRI]]:
    """The owners of each source that the asset comes from or consists of, itself where it is a source.

    Args:
        facts: what is on record.
        iri: the asset.
        is_above: whether what is an asset itself consists of a table, too, that it may be a column of.
    """

    def parts(current: IRI) -> frozenset[IRI]:
        kind = facts.kind(current)
        made_from = facts.inputs(current) if kind is AssetKind.OUTPUT else frozenset[IRI]()
        same = frozenset[IRI]() if kind else spelled_otherwise(facts, current)
        above = tables(facts, current) if is_above or kind is None else frozenset[IRI]()
        return made_from | facts.members(current) | above | same

    owner_sets = []
    for current in _reach(parts, iri):
        kind = facts.kind(current)
        if kind is AssetKind.SOURCE:
            owner_sets.append(facts.direct_owners(current))
        elif kind is None and not parts(current):
            owner_sets.append(frozenset[IRI]())
    return owner_sets


def _reach(step: Callable[[IRI], frozenset[IRI]], start: IRI) -> list[IRI]:
    waiting, reached = [start], {start: None}
    while waiting:
        for following in step(waiting.pop()):
            if following not in reached:
                reached[following] = None
                waiting.append(following)
    return list(reached)
