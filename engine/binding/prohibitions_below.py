"""Prohibitions on IRIs below a table's IRI that name no column of the table."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import unquote

from smalti.engine.plan.known_columns import NO_COLUMNS, KnownColumns
from smalti.engine.registry.entries import StoredPolicy
from smalti.engine.registry.registry import Registry
from smalti.engine.registry.snapshot import Snapshot
from smalti.policy.decide.decision import Request
from smalti.policy.decide.table_columns import Requested, tables_of
from smalti.policy.lint.check_dataset import outputs
from smalti.policy.model.column_iris import is_below
from smalti.policy.model.model import Policy
from smalti.policy.model.suggest import did_you_mean
from smalti.vocab.terms import IRI, USE


@dataclass(frozen=True, slots=True)
class _Table:
    """A table, as a registry and a description know it."""

    snapshot: Snapshot
    iri: IRI
    owners: frozenset[IRI]
    """Whose prohibitions count."""
    requested: Requested
    wholes: frozenset[IRI]
    """The table, and the collections that it belongs to: a column of one is a column of each member."""

    def lacked(self, iri: IRI) -> IRI | None:
        """The whole that an IRI lies below, where it strikes nothing of the table and is no other table."""
        whole = next((candidate for candidate in sorted(self.wholes) if is_below(candidate, iri)), None)
        if whole is None or self.requested.touched(self.iri, iri).is_anything:
            return None
        others = (iri, *(table for table in tables_of(iri) if table not in self.wholes))
        return None if any(map(self._is_another, others)) else whole

    def is_about(self, iri: IRI) -> bool:
        """Whether a prohibition on an IRI is about the table, a column of it, or a whole that it is in."""
        return self.requested.touched(self.iri, iri).is_anything

    def _is_another(self, iri: IRI) -> bool:
        """Whether it is another member, or has data of its own by the word of the table's owners."""
        if not self.wholes.isdisjoint(self.snapshot.wholes(iri)):
            return True
        is_of_one = len(self.owners) == 1 and self.snapshot.owners(iri) == self.owners
        return is_of_one and self.snapshot.has_data(iri)


def forbidden_below(
    registry: Registry,
    table: IRI,
    submitted: Policy | None = None,
    *,
    binder: IRI | None = None,
    columns: KnownColumns = NO_COLUMNS,
) -> tuple[str, ...]:
    """Warn of such prohibitions: each may be meant for a column, but withholds none.

    Whether it applies to a request is not checked.

    Args:
        registry: knows what owners of the table prohibit, and what is a table of its own.
        table: the target of a run.
        submitted: the policy of the run.
        binder: the party that counts as the table's owner, if the table is not registered yet.
        columns: what the description tells of columns.

    Returns:
        A warning for each IRI, sorted. None for data of the same owners that the registry knows, for what
        may be a column of that, or for an output of the policy itself.
    """
    with registry.snapshot() as snapshot:
        described = _table(registry, snapshot, table, binder, columns)
        policies = (*(() if submitted is None else (submitted,)), *_of_owners(registry, described))
        lacked = {iri: described.lacked(iri) for policy in policies for iri in _forbidden(policy)}
        unknown = [
            iri
            for iri in sorted(_forbidden(submitted) if submitted is not None else ())
            if lacked[iri] is None and not described.is_about(iri) and _is_unknown(snapshot, iri)
        ]
    return (
        *(
            f"a policy prohibits the use of `{iri}`, which names no column of `{whole}`: no column is"
            f" withheld; a column is named `{whole}/NAME`"
            for iri, whole in sorted(lacked.items())
            if whole is not None
        ),
        *map(_holds_for_nothing, unknown),
    )


def _is_unknown(snapshot: Snapshot, iri: IRI) -> bool:
    """Whether no asset, no collection with members, and no column of a known table has an IRI."""
    has_members = len(snapshot.related(iri)) > 1
    return not (snapshot.is_known(iri) or has_members or snapshot.tables(iri))


def _is_known_by_its_name_alone(snapshot: Snapshot, iri: IRI, new: Collection[int]) -> bool:
    """Whether an IRI became an asset only since policies that were added now prohibit something of it."""
    if snapshot.has_data(iri) or len(snapshot.related(iri)) > 1 or snapshot.tables(iri):
        return False
    if snapshot.known_above(iri):
        return False  # told as what lies below that
    return all(keys <= {*new} for _, keys in snapshot.about((iri,)))


def _holds_for_nothing(iri: IRI) -> str:
    return f"a policy prohibits the use of `{iri}`, but this IRI is unknown: nothing is withheld"


def forbidden_below_with(registry: Registry, added: Sequence[StoredPolicy]) -> tuple[str, ...]:
    """The same, of each known table that policies prohibit something below of, once they are added.

    And which columns they prohibit that a run did not find in their table: by a slip, perhaps.

    Args:
        registry: only read.
        added: these policies.
    """
    read = [registry.policies.in_force(IRI(stored.uid), IRI(stored.issuer)) for stored in added]
    policies = [policy for policy in read if policy is not None]
    forbidden = {iri for policy in policies for iri in _forbidden(policy)}
    permitted = {
        asset.iri
        for policy in policies
        for rule in (*policy.permissions, *policy.obligations)
        for asset in rule.targets
    }
    with registry.snapshot() as snapshot:
        tables = {table for iri in forbidden for table in snapshot.known_above(iri)}
        new = {entry.key for stored in added for entry in snapshot.entries_named(IRI(stored.uid))}
        unknown = [
            iri for iri in sorted(forbidden - permitted) if _is_known_by_its_name_alone(snapshot, iri, new)
        ]
        unfound = [text for iri in sorted(forbidden) for text in _not_found(registry, snapshot, iri)]
    warnings = (warning for table in sorted(tables) for warning in forbidden_below(registry, table))
    return tuple(dict.fromkeys((*warnings, *unfound, *map(_holds_for_nothing, unknown))))


def _not_found(registry: Registry, snapshot: Snapshot, iri: IRI) -> Iterator[str]:
    for table in sorted(snapshot.tables(iri)):
        columns = registry.columns.of(snapshot, table)
        if columns.lacks(iri) and not snapshot.is_another_table(iri, table):
            names = sorted(unquote(column.rpartition("/")[2]) for column in columns.iris)
            near = did_you_mean(unquote(iri.rpartition("/")[2]), names)
            hint = f" ({near})" if near else ""
            yield (
                f"a policy prohibits the use of `{iri}`, but a run did not find this column in `{table}`:"
                f" requests that need the table are denied if its data has no such column{hint}"
            )


def _table(
    registry: Registry, snapshot: Snapshot, table: IRI, binder: IRI | None, columns: KnownColumns
) -> _Table:
    owners = snapshot.owners(table) or frozenset(() if binder is None else (binder,))
    described = columns | registry.columns.of(snapshot, table)
    asked = Request(
        party=IRI(""), action=USE, targets=(table,), columns=described.iris, renamed=described.renamed
    )
    return _Table(snapshot, table, owners, snapshot.requested(asked), snapshot.wholes(table))


def _forbidden(policy: Policy) -> Collection[IRI]:
    assets = {asset.iri for rule in policy.prohibitions for asset in rule.targets}
    return assets - outputs(policy.rules)


def _of_owners(registry: Registry, table: _Table) -> Iterator[Policy]:
    """The policies in force of owners that speak of something below the table."""
    snapshot = table.snapshot
    about = snapshot.about(snapshot.spoken_of_below(table.wholes))
    keys = {key for issuer, keys in about if issuer in table.owners for key in keys}
    registry.policies.load(snapshot, keys)
    policies = (snapshot.policy(snapshot.entry(key)) for key in sorted(keys))
    return (policy for policy in policies if policy is not None)
