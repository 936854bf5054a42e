"""What keeps a policy from being added: targets of others, and uids that are taken."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection, select

from smalti.engine.registry import _tables as db
from smalti.engine.registry._assets import Facts
from smalti.engine.registry._policy_documents import Claims, NewPolicies, Reader, in_force
from smalti.engine.registry._recorded_columns import tables_with_column
from smalti.engine.registry.entries import VERSION_PREFIX
from smalti.errors import PolicyError, UsageError
from smalti.policy.decide.table_columns import tables_of
from smalti.policy.lint.check_dataset import all_rules
from smalti.policy.model.column_iris import normalised_column
from smalti.policy.model.model import Policy, PolicyType, Rule
from smalti.vocab.terms import IRI

_MAX_PARAMETERS: Final = 500
"""In one statement."""


@dataclass(frozen=True, slots=True)
class TakenUid:
    """A uid that another document in force uses."""

    uid: IRI
    is_own: bool
    """Whether that document is of the same issuer, who alone replaces it."""

    @property
    def problem(self) -> str:
        """For messages."""
        whose = "" if self.is_own else " of another owner"
        return f"the uid `{self.uid}` is used by another document{whose}"

    def way_out(self, replacing: str) -> str:
        """How the issuer gets on.

        Args:
            replacing: what the issuer of both documents does to put the new one in the other's place.
        """
        if self.is_own:
            return f"{replacing}, or use another uid"
        return "owners replace only their own documents: use another uid, or ask the other owner to end it"


def check_new(
    connection: Connection, reader: Reader, facts: Facts, new: NewPolicies, ending: Collection[int]
) -> None:
    """Refuse policies that the issuer may not add.

    Args:
        connection: of the transaction.
        reader: of stored policies.
        facts: about the assets, with the memberships in force.
        new: what would be added.
        ending: the entries that it would replace.

    Raises:
        PolicyError: a rule names an assigner who is no owner.
        UsageError: the issuer does not own a target, a uid is taken, or a parent has ended.
    """
    facts.fetch(new.targets)
    for policy in new.policies:
        for target in sorted(policy.targets):
            _check_target(connection, facts, policy, target, new.issuer)
    for uid, parent in new.parents.items():
        stands = connection.execute(in_force().where(db.policies.c.id == parent)).first() is not None
        if parent in ending or not stands:
            raise UsageError(new.name, f"its parent `{uid}` has ended", "a parent in force", "try again")
    if (taken := uid_conflict(connection, reader, facts, new, ending)) is not None:
        raise _taken(taken, new)


def _taken(taken: TakenUid, new: NewPolicies) -> UsageError:
    is_agreement = any(policy.type is PolicyType.AGREEMENT for policy in new.policies)
    return UsageError(
        str(new.policies[0].where),
        taken.problem,
        "uids that no other document in force uses, of this issuer or about these targets",
        OTHER_UID
        if is_agreement
        else taken.way_out("replace the other document with `smalti policy add --replace`"),
    )


def _check_target(connection: Connection, facts: Facts, policy: Policy, target: IRI, issuer: IRI) -> None:
    for whole in (target, *tables_of(target)):
        _check_is_no_version(connection, policy, whole)
    owners = frozenset({issuer}) if facts.is_open(target) else facts.full_owners_or(target, issuer)
    for table in tables_of(target):
        # Whoever owns a table says what is forbidden of its columns, whatever else their IRIs stand for.
        if facts.is_known(table) or table in policy.targets:
            owners |= facts.full_owners_or(table, issuer)
    if all(target not in {asset.iri for asset in rule.targets} for rule in _granting(policy)):
        owners |= _owners_of_tables_with(connection, facts, target)
    if issuer not in owners:
        raise UsageError(
            str(policy.where),
            f"{issuer} does not own `{target}`",
            "a policy about targets that its issuer owns",
            "ask an owner of the target to add it",
        )
    for rule, nested, assigner in assigned(policy):
        if assigner not in owners and target in {asset.iri for asset in rule.targets}:
            raise PolicyError(
                str(nested.where),
                f"the assigner `{assigner}` does not own `{target}`",
                "an owner of the target, or no assigner",
                "correct the assigner, or ask an owner to add it as an owner",
            )


def _granting(policy: Policy) -> tuple[Rule, ...]:
    return (*policy.permissions, *policy.obligations)


def _owners_of_tables_with(connection: Connection, facts: Facts, column: IRI) -> frozenset[IRI]:
    """Who owns a table that has a column of that IRI: they may forbid its use, whoever owns the IRI.

    Nobody, where it may be a column of somebody's table by its IRI: descriptions and vocabularies of other
    people's tables have nothing to say about it. A request about the IRI itself is none about their table,
    so that such a policy has no say in it.
    """
    if facts.tables(column):
        return frozenset()
    name = normalised_column(column)
    declaring = [table for table, declared in facts.columns if normalised_column(declared) == name]
    tables = (*declaring, *tables_with_column(connection, column))
    return frozenset[IRI]().union(*map(facts.full_owners, tables))


def assigned(policy: Policy) -> Iterator[tuple[Rule, Rule, IRI]]:
    """Each assigner of a rule, or of what is nested in it, who must own what the outer rule is about.

    Yields:
        The outer rule, the one that names the assigner (it, or a duty or a remedy of it), and the assigner.
    """
    for rule in policy.rules:
        yield from (
            (rule, nested, party.iri) for nested in all_rules((rule,)) for party in nested.assigners
        )


def _check_is_no_version(connection: Connection, policy: Policy, target: IRI) -> None:
    if not target.startswith(VERSION_PREFIX):
        return
    run = target.removeprefix(VERSION_PREFIX)
    version = connection.execute(select(db.versions.c.target).where(db.versions.c.run == run)).first()
    if version is not None:
        raise UsageError(
            str(policy.where),
            f"`{target}` is one version of `{version.target}`",
            "policies about an output, which hold for all of its versions",
            "use the output's IRI",
        )


def uid_conflict(
    connection: Connection,
    reader: Reader,
    facts: Facts,
    new: "NewPolicies | Claims",
    ending: Collection[int] = (),
) -> TakenUid | None:
    """A uid of the document that another one in force uses so that the two could be taken for each other.

    That is so when both are by one issuer, or when both issuers own a target that both are about. A uid
    is all that a request or a revocation names, and each looks only at such policies. Nobody else's
    document stands in an owner's way: a stranger who uses the owner's uid first keeps nothing from them.
    Nor does a policy that says the same and was only laid out otherwise: it is the same one. Nor do entries
    that are `ending`.
    """
    targets = set(new.targets)
    same = {row.id for policy in new.policies for row in reader.twins(connection, policy)}.union(ending)
    for entry, issuer, taken in _users_of(connection, sorted(new.uids), new.digest):
        if entry in same:
            continue
        if issuer == new.issuer:
            return TakenUid(taken, is_own=True)
        about = select(db.policy_targets.c.target).where(db.policy_targets.c.policy == entry)
        for target in targets & set(connection.execute(about).scalars()):
            owners = facts.without_members().owners(IRI(target)) or {new.issuer}
            if {issuer, new.issuer} <= owners:
                return TakenUid(taken, is_own=False)
    return None


def _users_of(connection: Connection, uids: list[IRI], digest: str) -> Iterator[tuple[int, IRI, IRI]]:
    """The entries of other documents in force that use one of some uids: entry, issuer and uid."""
    query = (
        select(db.policies.c.id, db.policies.c.issuer, db.policy_uids.c.uid.label("taken"))
        .join(db.policy_uids, db.policies.c.id == db.policy_uids.c.policy)
        .where(db.policies.c.revoked_at.is_(None), db.policies.c.digest != digest)
        .order_by(db.policy_uids.c.uid, db.policies.c.id)
    )
    for start in range(0, len(uids), _MAX_PARAMETERS):
        some = uids[start : start + _MAX_PARAMETERS]
        for row in connection.execute(query.where(db.policy_uids.c.uid.in_(some))).all():
            yield row.id, IRI(row.issuer), IRI(row.taken)


OTHER_UID: Final = "agree under another uid, which the other side may choose, and nothing in force has"
