"""The room of runs that are about to publish, and become versions; used by `commit`."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from sqlalchemy import Connection, select

from smalti.engine.arguments import public_methods
from smalti.engine.registry import (
    _assets,
    _budgets,
    _keys,
    _policies,
    _policy_documents,
    _versions,
    _withdrawals,
)
from smalti.engine.registry import _tables as db
from smalti.engine.registry._claims import check_binds, check_still_binds
from smalti.engine.registry._database import unchecked
from smalti.engine.registry._shared import Shared
from smalti.engine.registry.entries import Intent, NewVersion, TakenOver, TargetVersion
from smalti.errors import PolicyError, RegistryError, UsageError
from smalti.policy.model.meaning import meaning_digest


@dataclass(frozen=True, slots=True)
class _Submitted:
    """The policy of a run that its issuer submitted with it, and may put in force."""

    new: _policy_documents.NewPolicies
    signed: tuple[str, bytes] | None
    ending: tuple[int, ...]
    """The entries of which it takes the place."""


@dataclass(frozen=True, slots=True)
class _Recordable:
    """What is recorded with a version that may be."""

    submitted: _Submitted | None
    """None: its issuer has its policy in force already."""


@public_methods
@dataclass(frozen=True, slots=True)
class Intents:
    """Runs that began to publish and have not ended."""

    _shared: Shared

    def begin(self, intent: Intent) -> None:
        """Record that a run is about to publish; durable when this returns."""

        def write(connection: Connection, _: None) -> None:
            _versions.begin(connection, intent)

        self._shared.database.change(unchecked, write)

    def pending(self) -> tuple[Intent, ...]:
        """All of them, oldest first."""
        query = select(db.intents).order_by(db.intents.c.created_at, db.intents.c.run)
        with self._shared.database.reading() as connection:
            return tuple(_versions.to_intent(row) for row in connection.execute(query).all())

    def is_pending(self, run: str) -> bool:
        """True if a run began to publish and has not been ended, by itself or by somebody else."""
        with self._shared.database.reading() as connection:
            return _is_pending(connection, run)

    def places(self) -> frozenset[Path]:
        """The folders in which outputs were published, or were about to be."""
        published, begun = select(db.versions.c.path), select(db.intents.c.out)
        with self._shared.database.reading() as connection:
            paths = connection.execute(published.union(begun)).scalars().all()
        return frozenset(Path(path).parent for path in paths)

    def abandon(self, run: str) -> None:
        """Forget an intent whose files have been removed."""

        def write(connection: Connection, _: None) -> None:
            _versions.end_intent(connection, run)

        self._shared.database.change(unchecked, write)

    def abandon_beside(self, run: str, moved: TakenOver) -> None:
        """The same, where it moved the folder of a version that cannot be put back."""

        def write(connection: Connection, _: None) -> None:
            _versions.end_intent(connection, run)
            _versions.set_place(connection, moved)

        self._shared.database.change(unchecked, write)

    def check(self, record: NewVersion) -> None:
        """Check before publishing that a run can be recorded; `finish` checks it again.

        Raises:
            UsageError: the output's IRI is taken, the policy no longer counts, or somebody withdrew.
        """
        with self._shared.database.reading() as connection:
            self._check_record(connection, record)

    def finish(self, intent: Intent, check: Callable[[NewVersion], None]) -> TargetVersion | None:
        """Turn an intent into a version, in one transaction: owners, policy, certificate, lineage.

        Args:
            intent: of the run.
            check: asked inside of the transaction, in which nobody else writes; raises what keeps the run
                from being recorded (`still_permitted.check_still_permitted`).

        Returns:
            The version; None if somebody else ended the intent.

        Raises:
            UsageError: it may not be recorded (see `check`); nothing was changed.
        """
        record = intent.record

        def checked(connection: Connection) -> _Recordable | None:
            if not _is_pending(connection, intent.run):
                return None
            submitted = self._check_record(connection, record)
            check(record)
            return _Recordable(submitted)

        def write(connection: Connection, recordable: _Recordable | None) -> TargetVersion | None:
            if recordable is None:
                return None
            _versions.end_intent(connection, intent.run)
            _assets.claim_sources(connection, [source.iri for source in record.inputs], record.bound_by)
            for output in (record.target, *(table.iri for table in record.tables)):
                _assets.admit_output(connection, output)
            if recordable.submitted is not None:
                new, signed = recordable.submitted.new, recordable.submitted.signed
                for entry in recordable.submitted.ending:
                    _policies.end(connection, entry)
                _policies.store(connection, new, new.policies[0], dict(new.parents), signed)
            inputs = [digest for file in record.report.inputs for digest in file.digests]
            read = [source.iri for source in record.inputs]
            _budgets.note_read(connection, [*read, *record.same_people], inputs)
            if record.takes_over is not None:
                _versions.set_place(connection, record.takes_over)
            return _versions.insert_version(connection, intent)

        return self._shared.database.change(checked, write, looks_first=False)

    def _check_record(self, connection: Connection, record: NewVersion) -> _Submitted | None:
        """What the policy brings; None where its issuer has it in force already."""
        if _policy_documents.digest_of(record.document) != record.policy_digest:
            raise RegistryError(record.document_name, "the document is not the one that permitted the run")
        facts = self._shared.facts(connection)
        for source in record.inputs:
            check_binds(facts, source.iri, record.bound_by)
        check_still_binds(connection, facts, record)
        _versions.check_record(connection, facts, record)
        _check_nobody_withdrew(connection, record)
        if self._is_still_in_force(connection, record):
            return None
        new = self._read_anew(connection, record)
        ending = _policies.replaced(connection, self._shared.reader, new) if record.replaces else ()
        _versions.check_may_be_stored(connection, self._shared.reader, facts, record, new, ending)
        key = _keys.check_signature(
            connection, record.issuer, record.document, record.signature, record.document_name
        )
        return _Submitted(new, _keys.signed(key, record.signature), ending)

    def _is_still_in_force(self, connection: Connection, record: NewVersion) -> bool:
        """Whether the issuer has the policy of a run in force, and it says what it said when it ran."""
        query = _policy_documents.in_force().where(
            db.policies.c.digest == record.policy_digest,
            db.policies.c.uid == record.policy_uid,
            db.policies.c.issuer == record.issuer,
        )
        return any(
            self._shared.reader.meaning(connection, row.id) == record.policy_meaning
            and _policies.parents_stand(connection, row.id)
            and _policies.key_stands(connection, row.id)
            for row in connection.execute(query).all()
        )

    def _read_anew(self, connection: Connection, record: NewVersion) -> _policy_documents.NewPolicies:
        """The policy of a run, which its issuer submitted, if it says what it said when it ran."""
        reader = self._shared.reader
        try:
            new = reader.new(connection, record.document, record.document_name, record.issuer)
        except PolicyError:  # a parent has ended
            new = None
        policies = () if new is None else new.policies
        policy = next((candidate for candidate in policies if candidate.uid == record.policy_uid), None)
        is_its_own = record.issuer == record.bound_by
        if (
            new is None
            or policy is None
            or not is_its_own
            or meaning_digest(policy) != record.policy_meaning
        ):
            raise UsageError(
                str(record.policy_uid),
                "the policy was revoked, or what it inherits was replaced",
                "a policy with the same meaning as when the run began",
                "add it again, as an owner, and run it again",
            )
        return replace(new, policies=(policy,))


def _is_pending(connection: Connection, run: str) -> bool:
    query = select(db.intents.c.run).where(db.intents.c.run == run)
    return connection.execute(query).first() is not None


def _check_nobody_withdrew(connection: Connection, record: NewVersion) -> None:
    """Refuse a run during which respondents withdrew: it would publish them, unnoticed."""
    if record.started_at is None:
        return
    window = _withdrawals.Window(since=_assets.to_text(record.started_at))
    for source in record.inputs:
        if _withdrawals.listed(connection, source.iri, source.version, window).digests:
            raise UsageError(
                str(source.iri),
                "respondents withdrew during the run",
                "a run that leaves them out",
                "run it again",
            )
