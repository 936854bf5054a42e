"""The registry: owners of assets, policies in force, versions of outputs and their inputs.

Facts go in and out as frozen values. Each policy document is stored separately, as bytes; decisions use
an index in memory that follows what is stored (`snapshot`). All claims hold within one registry that its
users trust: parties are asserted by the caller, and authentication belongs to whatever embeds this.
"""

import os
import shutil
import tempfile
import weakref
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import RLock
from typing import Final, Self

from smalti.engine.arguments import public_methods
from smalti.engine.registry._database import Database
from smalti.engine.registry._shared import Shared
from smalti.engine.registry.access import Access
from smalti.engine.registry.answers import Answers
from smalti.engine.registry.attempts import Attempt
from smalti.engine.registry.bound_data import Bindings
from smalti.engine.registry.budget import Budget
from smalti.engine.registry.columns import Columns
from smalti.engine.registry.data_flows import DataFlows
from smalti.engine.registry.decision_log import DecisionLog
from smalti.engine.registry.entries import Asset, StoredHierarchy, StoredPolicy, TargetVersion, TrustedKey
from smalti.engine.registry.hierarchies import Hierarchies
from smalti.engine.registry.intents import Intents
from smalti.engine.registry.jobs import Jobs
from smalti.engine.registry.keys import Keys
from smalti.engine.registry.ledger import Ledger
from smalti.engine.registry.owners import Owners
from smalti.engine.registry.policies import Policies
from smalti.engine.registry.sessions import StoredSessions
from smalti.engine.registry.snapshot import Snapshot
from smalti.engine.registry.trainings import Trainings
from smalti.engine.registry.versions import Versions
from smalti.engine.registry.withdrawals import Withdrawals
from smalti.errors import UsageError
from smalti.policy.model.iris import accepted_spelling, misspelt_iri
from smalti.vocab.terms import IRI

IN_MEMORY: Final = ":memory:"


def _remove(folder: Path, process: int) -> None:
    if os.getpid() == process:  # a child that was forked leaves its parent's alone
        shutil.rmtree(folder, ignore_errors=True)


def check_party(party: IRI) -> None:
    """Refuse a party that no request and no policy could name.

    Raises:
        UsageError: it is an IRI in another spelling than smalti accepts.
    """
    if problem := misspelt_iri(party):
        way_out = f"write `{accepted_spelling(party)}`"
        raise UsageError(str(party), problem, "a party as policies and requests name it", way_out)


@public_methods
@dataclass(slots=True)
class Registry:
    """The registry at one location. Safe to use from several processes, and from several threads.

    The holder of this object is trusted: it returns everything that is recorded, including parties, paths
    and owners' figures. The caller decides what a party may see, as `smalti targets` does.

    The methods here are for programs that embed smalti. Runs and decisions use the rooms, one for each
    subject: the attributes below.
    """

    _database: Database
    decision_log: DecisionLog | None = None
    """Where each decision is logged; None: nowhere."""
    policies: Policies = field(init=False, repr=False)
    ownership: Owners = field(init=False, repr=False)
    columns: Columns = field(init=False, repr=False)
    keys: Keys = field(init=False, repr=False)
    hierarchies: Hierarchies = field(init=False, repr=False)
    outputs: Versions = field(init=False, repr=False)
    intents: Intents = field(init=False, repr=False)
    ledger: Ledger = field(init=False, repr=False)
    withdrawals: Withdrawals = field(init=False, repr=False)
    trainings: Trainings = field(init=False, repr=False)
    jobs: Jobs = field(init=False, repr=False)
    access: Access = field(init=False, repr=False)
    answers: Answers = field(init=False, repr=False)
    sessions: StoredSessions = field(init=False, repr=False)
    bindings: Bindings = field(init=False, repr=False)
    flows: DataFlows = field(init=False, repr=False)
    _shared: Shared = field(init=False, repr=False)
    _snapshot: Snapshot | None = field(default=None, repr=False)
    _lock: RLock = field(default_factory=RLock, repr=False)

    def __post_init__(self) -> None:
        self._shared = shared = Shared(self._database)
        self.policies, self.ownership, self.columns = Policies(shared), Owners(shared), Columns(shared)
        self.keys, self.hierarchies = Keys(shared), Hierarchies(shared)
        self.outputs, self.intents = Versions(shared), Intents(shared)
        self.ledger, self.withdrawals = Ledger(shared), Withdrawals(shared)
        self.trainings, self.jobs = Trainings(shared), Jobs(shared)
        self.access, self.answers, self.bindings = Access(shared), Answers(shared), Bindings(shared)
        self.sessions = StoredSessions(shared)
        self.flows = DataFlows(shared)

    @classmethod
    def open(cls, location: Path | str, *, log_decisions: bool = True) -> Self:
        """The registry at a path, or at the address of a PostgreSQL database when the text holds `://`.

        Nothing is created: a missing file reads as an empty registry, and the first write creates it. An
        older registry is migrated when it is first used.

        Args:
            location: a path, or an address such as `postgresql://host/database`; `:memory:` is `memory()`.
            log_decisions: whether each decision is logged (see `decision_log`).
        """
        if location == IN_MEMORY:
            return cls.memory()
        is_address = isinstance(location, str) and "://" in location
        database = Database(location if is_address else Path(location))
        return cls(database, DecisionLog.of(database.path) if log_decisions else None)

    @classmethod
    def memory(cls) -> Self:
        """A registry for trying: private, empty, and gone when the program ends or nobody uses it any more.

        Everything works as with a registry in a file: it is one, in a folder for temporary files that only
        this user may enter. What it recorded (versions, owners, policies, charges, the log of decisions
        and the secret that digests of inputs are keyed with) is lost, so that outputs of its runs are
        verified later by their own certificates alone, and a budget starts anew with each. Another process
        does not see it, and a process that is killed leaves the folder behind.
        """
        folder = Path(tempfile.mkdtemp(prefix="smalti-registry-"))
        database = Database(folder / "registry.sqlite")
        weakref.finalize(database, _remove, folder, os.getpid())
        return cls(database, DecisionLog.of(database.path))

    @property
    def path(self) -> Path | None:
        """The registry's file, absolute; None on a database server."""
        return self._database.path

    @property
    def name(self) -> str:
        """The location as the user gave it, without passwords; for messages."""
        return self._database.name

    @property
    def exists(self) -> bool:
        """False while nothing has been written."""
        return self._database.exists

    def close(self) -> None:
        """Close the connections to a database server; also done when the registry is no longer used."""
        self._database.close()

    # --- What decisions are made from

    @contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        """The current state of the registry, for one thread at a time.

        Raises:
            RegistryError: the registry cannot be read.
        """
        with self._lock:
            revision = self._database.revision()
            if self._snapshot is None or self._snapshot.revision != revision:
                snapshot, self._snapshot = self._snapshot, None  # what is followed in part is of no use
                with self._database.reading() as connection:
                    if snapshot is None or not snapshot.is_followed_by(connection):
                        snapshot = Snapshot(self._shared.reader, self._shared.vocabularies)
                    snapshot.follow(connection)
                self._snapshot = snapshot
            yield self._snapshot

    # --- Assets and owners

    def assets(self) -> tuple[Asset, ...]:
        """All registered assets, sorted by IRI."""
        return self.ownership.assets()

    def asset(self, iri: IRI) -> Asset | None:
        """The asset, or None if the registry does not know it."""
        return self.ownership.asset(iri)

    def owners(self, iri: IRI) -> frozenset[IRI]:
        """Who owns an asset, or any source that it was made from; they may prohibit.

        Empty for what the registry does not know. Of a collection: who owns any member, too.
        """
        return self.ownership.of(iri)

    def full_owners(self, iri: IRI) -> frozenset[IRI]:
        """Who owns an asset and, for an output, each source that it was made from; they may permit.

        Of a collection: who owns each member, too.
        """
        return self.ownership.full(iri)

    def add_owner(self, iri: IRI, new: IRI, *, by: IRI) -> None:
        """Add an owner of a source, on the word of an owner.

        Raises:
            UsageError: unknown or not a source, or `by` is no owner; nothing was changed.
        """
        check_party(new)
        self.ownership.add(iri, new, by)

    def remove_owner(self, iri: IRI, party: IRI, *, by: IRI) -> None:
        """Remove an owner of a source; their policies about it no longer count.

        Raises:
            UsageError: as `add_owner`, or `party` is no owner, or the last one; nothing was changed.
        """
        self.ownership.remove(iri, party, by)

    # --- Policies

    def add_policy(
        self,
        document: bytes,
        name: str,
        issuer: IRI,
        *,
        signature: bytes | None = None,
        replaces: bool = False,
        instead_of: str | None = None,
    ) -> tuple[StoredPolicy, ...]:
        """Put each policy of a document in force, on the word of its issuer.

        The issuer must own each target that the registry knows. A target that it does not know becomes
        known, with the issuer as its owner: within one trusted registry the first claim counts. (A
        collection of a hierarchy in force stays as it is, and may be anybody's target: policies about it
        count for those of its members that their issuer owns.) What is in force already stays as it is;
        what was revoked is put in force again. A document that says the same as one of the issuer's under
        the same uid, and was only laid out anew, takes its place. Parents must be in force, and are
        recorded: when one of them ends, the policy may prohibit only.

        Args:
            document: the bytes of the policy document; of a short form, its JSON-LD is stored.
            name: of the document, for messages; one that ends in `.yaml` or `.yml` is a short form.
            issuer: who adds it; asserted by the caller.
            signature: a detached JWS of the bytes that are stored (see `signatures`); needed once a key is
                trusted for the issuer.
            replaces: end at once what the same issuer has in force under the same policy uids. An
                Agreement replaces only an Agreement of the same parties about the same targets.
            instead_of: with `replaces`, the digest of the issuer's document that it must replace, so that
                nothing is replaced that was put in force meanwhile; None: whatever there is.

        Raises:
            PolicyError: the document has errors, or one of its rules names an assigner who is no owner.
            UsageError: the issuer does not own a target, a uid is used by another document, an Agreement
                would replace something else, a parent is not in force, what it must replace is not in
                force, or the signature is missing or wrong. Nothing was changed.
        """
        check_party(issuer)
        return self.policies.add(
            document, name, issuer, signature, replaces=replaces, instead_of=instead_of
        )

    def revoke_policy(self, uid: IRI, party: IRI) -> tuple[StoredPolicy, ...]:
        """Revoke a policy, and with it what it implied.

        Every entry under the uid that the party may end is ended: as its issuer, or as somebody who owns
        all of its targets, of each of which its issuer owns a part. Other policies under the uid stay.

        Args:
            uid: of the policy.
            party: who revokes it; asserted by the caller.

        Returns:
            The entries that were ended.

        Raises:
            UsageError: no such policy is in force, or the party may end none; nothing was changed.
        """
        return self.policies.revoke(uid, party)

    def list_policies(self) -> tuple[StoredPolicy, ...]:
        """All policies that were ever put in force, in that order."""
        return self.policies.listed()

    def policies_about(self, target: IRI) -> tuple[StoredPolicy, ...]:
        """The policies in force that have a rule about the target, whoever issued them."""
        return self.policies.about(target)

    # --- Keys that sign policies

    def trust_key(self, owner: IRI, public_key_pem: bytes, *, by: IRI) -> TrustedKey:
        """Trust a key to sign for an owner; from then on, that owner's policies must be signed.

        The first key is taken on trust: nothing proves that it is the owner's. What was in force before
        stays in force.

        Args:
            owner: whose policies it signs.
            public_key_pem: an Ed25519 public key.
            by: who says so: the owner; asserted by the caller.

        Raises:
            UsageError: `by` is somebody else, or it is no such key; nothing was changed.
        """
        check_party(owner)
        return self.keys.trust(owner, public_key_pem, by)

    def revoke_key(self, owner: IRI, thumbprint: str, *, by: IRI) -> None:
        """End the trust in a key: policies that it signed may only prohibit, until they are signed again.

        Raises:
            UsageError: `by` is somebody else, or no such key is trusted; nothing was changed.
        """
        self.keys.revoke(owner, thumbprint, by)

    def list_keys(self) -> tuple[TrustedKey, ...]:
        """All keys that were ever trusted, in that order."""
        return self.keys.listed()

    # --- The data market's own hierarchies, and whose count

    def trust_authority(self, owner: IRI, authority: IRI, *, by: IRI) -> None:
        """Let an authority's hierarchies count for what an owner owns, as if the owner had added them.

        For decisions about a target only hierarchies count that each of its owners added, or trusts: who
        belongs to a group decides who is meant by a policy.

        Args:
            owner: whose targets they count for.
            authority: who adds hierarchies, such as the operator of a data market.
            by: who says so: the owner; asserted by the caller.

        Raises:
            UsageError: `by` is somebody else; nothing was changed.
        """
        check_party(authority)
        self.hierarchies.trust(owner, authority, by)

    def distrust_authority(self, owner: IRI, authority: IRI, *, by: IRI) -> None:
        """Let an authority's hierarchies count no longer.

        Raises:
            UsageError: `by` is somebody else, or it was not trusted; nothing was changed.
        """
        self.hierarchies.distrust(owner, authority, by)

    def trusted_authorities(self, owner: IRI) -> frozenset[IRI]:
        """Whose hierarchies count for an owner's targets, besides the owner's own."""
        return self.hierarchies.trusted(owner)

    def add_hierarchy(self, document: bytes, name: str, party: IRI) -> StoredHierarchy:
        """Put a hierarchy in force, replacing the party's earlier one with that name.

        That an asset belongs to a collection is its owner's word. Groups of parties, actions and purposes
        count for targets whose owners added them, or trust the party (`trust_authority`).

        Args:
            document: Turtle or JSON-LD (see `policy.read.vocabularies`).
            name: under which it is stored and replaced.
            party: who adds it; asserted by the caller.

        Raises:
            PolicyError: something in it is not understood, or it redefines a standard term.
            UsageError: it speaks of assets that the party does not own wholly, or somebody else has a
                hierarchy of that name, or has declared a profile of it. Nothing was changed.
        """
        check_party(party)
        return self.hierarchies.add(document, name, party)

    def remove_hierarchy(self, name: str, party: IRI) -> None:
        """Take a hierarchy out of force.

        Raises:
            UsageError: there is none of that name, or somebody else added it; nothing was changed.
        """
        self.hierarchies.remove(name, party)

    def list_hierarchies(self) -> tuple[StoredHierarchy, ...]:
        """All versions of all hierarchies, in the order in which they were added."""
        return self.hierarchies.listed()

    # --- Respondents who withdrew, budgets of releases, attempts at models

    def withdraw(
        self, target: IRI, respondents: Iterable[str], *, by: IRI, column: str | None = None
    ) -> int:
        """Leave respondents out of all later runs on a target and on outputs made from it.

        Kept as keyed digests under the registry's secret, never in clear; who is on the list stays on it.

        Args:
            target: a source, or an output that still tells whom its rows are about.
            respondents: their values in the respondent column, as the data writes them. A run on data whose
                description gives that column a format is refused from then on.
            by: an owner; asserted by the caller.
            column: the name of the respondent column; None: the one that runs on the target counted by.
                A later run that counts people by another column is refused.

        Returns:
            How many are on the target's list now; for its owner.

        Raises:
            UsageError: `by` is no owner, or the target does not tell respondents; nothing was changed.
        """
        return self.withdrawals.add(target, respondents, by, column)

    def count_withdrawn(self, target: IRI, *, by: IRI) -> int:
        """How many respondents withdrew from a target itself; for its owners only.

        Raises:
            UsageError: `by` is no owner.
        """
        return self.withdrawals.count(target, by)

    def owners_budget(self, target: IRI, *, by: IRI) -> Budget:
        """All that has been charged about a target's respondents, for its owners.

        Args:
            target: a source, an output, or a version of one.
            by: an owner of it or of a part of it; asserted by the caller.

        Raises:
            UsageError: the registry does not know the target, or `by` does not own it.
        """
        return self.ledger.owners_budget(target, by)

    def attempts(self, target: IRI | None = None) -> tuple[Attempt, ...]:
        """Attempts to train on a target, or to produce it; oldest first. Figures for its owners only.

        Args:
            target: None: all of the registry.
        """
        return self.trainings.about(target)

    # --- Versions

    def versions(self, target: IRI) -> tuple[TargetVersion, ...]:
        """The versions of an output, or the one version that the IRI names; oldest first."""
        return self.outputs.of(target)

    def all_versions(self) -> tuple[TargetVersion, ...]:
        """The versions of all outputs, sorted by output and number."""
        return self.outputs.all()

    def affected_by(self, policy: IRI) -> tuple[TargetVersion, ...]:
        """The versions that were made under a policy, and all versions made from them.

        Args:
            policy: its uid, whatever its document; whether it is in force or not.

        Raises:
            UsageError: no policy with that uid was ever put in force.
        """
        return self.outputs.affected_by(policy)


def without_log(registry: Registry) -> Registry:
    """The same registry; what is decided through this object is not logged."""
    return Registry(registry._database)
