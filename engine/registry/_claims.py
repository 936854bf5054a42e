"""Who may bind a target to data, inside a transaction."""

from collections.abc import Iterable

from sqlalchemy import Connection, select

from smalti.engine.registry import _budgets, _versions
from smalti.engine.registry import _tables as db
from smalti.engine.registry._assets import Facts
from smalti.engine.registry.entries import NewVersion
from smalti.errors import UsageError
from smalti.policy.model.column_iris import is_below, is_column_of, normalised_column
from smalti.vocab.terms import IRI


def check_claim(connection: Connection, facts: Facts, source: IRI, inputs: Iterable[str], by: IRI) -> None:
    """Refuse a party who binds another owner's source to data; the first to bind an unowned one owns it.

    Raises:
        UsageError: somebody else owns it, and it was never read with these digests.
    """
    check_binds(facts, source, by)
    is_owner = by in facts.full_owners_or(source, by)
    # Others may run an owner's policy on what an owner bound (`binding`).
    if not is_owner and not _versions.was_read(connection, source, inputs):
        raise UsageError(
            str(source),
            f"{by} does not own it, and may not say what data it is",
            "the data that an owner bound to it before",
            "let an owner bind it (--owner), or run it on what an owner ran it on",
        )
    if is_owner:
        _check_not_of_others(facts, source, _budgets.known_as(connection, inputs), by)


def check_binds(facts: Facts, iri: IRI, by: IRI) -> None:
    """Refuse to make somebody the owner of a collection whose members belong to others."""
    if facts.is_open(iri) and by not in facts.full_owners(iri):
        raise UsageError(
            str(iri),
            f"{by} does not own all that belongs to it, and may not say what data it is",
            "an owner of each member",
            "let the owner bind it (--owner)",
        )


def has_others_below(connection: Connection, facts: Facts, iri: IRI, party: IRI) -> bool:
    """Whether an asset that a party does not own lies below an IRI, or is named as a column of it.

    Whoever registers the IRI would count as an owner of a part of it (`ownership.owners`). Looks at all
    assets.
    """
    stems = tuple({spelling.lower() for spelling in (iri, normalised_column(iri))})
    near = [
        IRI(asset)
        for (asset,) in connection.execute(select(db.assets.c.iri))
        if asset.lower().startswith(stems) or normalised_column(asset).lower().startswith(stems)
    ]
    below = (asset for asset in near if is_column_of(iri, asset) or is_below(iri, asset))
    return any(party not in facts.owners_on_record(asset) for asset in below)


def check_still_binds(connection: Connection, facts: Facts, record: NewVersion) -> None:
    """Refuse inputs bound by a party who no longer owns them, unless an owner bound the same data."""
    inputs = [file.hmac for file in record.report.inputs]
    for source in record.inputs:
        is_theirs = record.bound_by in facts.full_owners_or(source.iri, record.bound_by)
        if not is_theirs and (
            record.binds_as_owner or not _versions.was_read(connection, source.iri, inputs)
        ):
            raise UsageError(
                str(source.iri),
                f"{record.bound_by} bound it to data, and no longer owns it",
                "the data that an owner bound to it",
                "let an owner bind it (--owner)",
            )


def _check_not_of_others(facts: Facts, source: IRI, known_as: Iterable[IRI], by: IRI) -> None:
    """Refuse data that was learned from, or released about, under somebody else's IRI (`binding`)."""
    owned = [iri for iri in known_as if facts.is_known(iri)]
    if owned and source not in owned and not any(by in facts.full_owners(iri) for iri in owned):
        raise UsageError(
            str(source),
            "this data is known under another IRI, which somebody else owns",
            "the IRI under which its owner's policies speak of it",
            "ask its owner",
        )
