"""Prohibitions about what lies below a table, by its IRI, and names no column of it."""

from collections.abc import Iterator

from smalti.engine.registry.registry import Registry
from smalti.engine.registry.snapshot import Snapshot
from smalti.policy.iris import is_below
from smalti.policy.model import Policy
from smalti.vocab.terms import IRI


def forbidden_below(registry: Registry, table: IRI, submitted: Policy) -> tuple[str, ...]:
    """What to warn of: such a prohibition may be meant for a column, and strikes none.

    Args:
        registry: knows what owners of the table prohibit, and what is a table of its own.
        table: the target of a run.
        submitted: the policy of the run.

    Returns:
        A warning for each IRI, sorted. None for data that the registry knows, or for what may be a column
        of another table that it knows.
    """
    with registry.snapshot() as snapshot:
        iris = {*_forbidden(submitted), *_forbidden_by_owners(registry, snapshot, table)}
        unknown = [
            iri
            for iri in sorted(iris)
            if is_below(table, iri) and not (snapshot.has_data(iri) or snapshot.tables(iri))
        ]
    return tuple(
        f"a policy prohibits the use of `{iri}`, which names no column of `{table}`: no column is withheld"
        for iri in unknown
    )


def _forbidden(policy: Policy) -> Iterator[IRI]:
    return (asset.iri for rule in policy.prohibitions for asset in rule.targets)


def _forbidden_by_owners(registry: Registry, snapshot: Snapshot, table: IRI) -> Iterator[IRI]:
    owners = snapshot.owners(table)
    keys = {
        key
        for iri in snapshot.spoken_of()
        if is_below(table, iri)
        for issuer, keys in snapshot.about((iri,))
        if issuer in owners
        for key in keys
    }
    registry.read_policies(snapshot, keys)
    for key in sorted(keys):
        policy = snapshot.policy(snapshot.entry(key))
        yield from () if policy is None else _forbidden(policy)
