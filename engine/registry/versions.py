"""The room of outputs: their versions, plans and inputs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Select, select

from smalti.engine.arguments import public_methods
from smalti.engine.registry import _policies, _versions
from smalti.engine.registry import _tables as db
from smalti.engine.registry._shared import Shared
from smalti.engine.registry.entries import VERSION_PREFIX, Input, RecordedPlan, TargetVersion
from smalti.engine.registry.snapshot import VersionEntry
from smalti.errors import UsageError
from smalti.vocab.terms import IRI


@public_methods
@dataclass(frozen=True, slots=True)
class Versions:
    """What runs have published."""

    _shared: Shared

    def of(self, target: IRI) -> tuple[TargetVersion, ...]:
        """The versions of an output, or the one version that the IRI names; oldest first."""
        of_target = db.versions.c.target == target
        if target.startswith(VERSION_PREFIX):
            of_target |= db.versions.c.run == target.removeprefix(VERSION_PREFIX)
        return self._versions(select(db.versions).where(of_target))

    def all(self) -> tuple[TargetVersion, ...]:
        """The versions of all outputs, sorted by output and number."""
        return self._versions(select(db.versions))

    def affected_by(self, policy: IRI) -> tuple[TargetVersion, ...]:
        """See `Registry.affected_by`."""
        with self._shared.database.reading() as connection:
            if not _policies.is_known(connection, policy):
                raise UsageError(
                    str(policy),
                    "no such policy was ever put in force",
                    "the uid of a stored policy",
                    "`smalti policy list` shows them",
                )
        versions = self.all()
        affected = {version.iri: version for version in versions if version.policy_uid == policy}
        while True:
            read = {(version.target, version.number) for version in affected.values()}
            new = [
                version
                for version in versions
                if version.iri not in affected
                and any((source.iri, source.version) in read for source in version.inputs)
            ]
            if not new:
                return tuple(version for version in versions if version.iri in affected)
            affected |= {version.iri: version for version in new}

    def discard(self, version: TargetVersion) -> None:
        """Record that nobody has a version any more; who may is for the caller to say.

        Raises:
            UsageError: it was discarded before, or another version that stands was made from it.
        """

        def check(connection: Connection) -> None:
            stored = _versions.versions(connection, select(db.versions))
            if version.whole is not None:
                raise UsageError(
                    f"{version.target} version {version.number}",
                    f"it is one of several tables of `{version.whole}`",
                    "a whole output",
                    "discard that one, with all of its tables",
                )
            if next(each for each in stored if each.run == version.run).discarded_at is not None:
                raise UsageError(str(version.iri), "it was discarded before", "a version that stands")
            runs = _versions.runs_of(connection, version.run)
            read = {Input(each.target, each.number) for each in stored if each.run in runs}
            derived = [
                each for each in stored if read.intersection(each.inputs) and each.discarded_at is None
            ]
            if derived:
                listed = ", ".join(f"{each.target} version {each.number}" for each in derived)
                raise UsageError(
                    f"{version.target} version {version.number}",
                    f"outputs were made from it: {listed}",
                    "a version that nothing was made from",
                    "discard these first",
                )

        def write(connection: Connection, _: None) -> None:
            _versions.discard(connection, version.run)

        self._shared.database.change(check, write, looks_first=False)

    def plan_of(self, version: VersionEntry) -> RecordedPlan | None:
        """The plan of a version, as it was recorded."""
        with self._shared.database.reading() as connection:
            return _versions.recorded_plan(connection, version.target, version.number)

    def check_output(
        self,
        output: IRI,
        inputs: Sequence[IRI],
        bound_by: IRI,
        issuer: IRI,
        tables: Sequence[IRI] = (),
    ) -> None:
        """Check, before any work, whether an output may have this IRI.

        Args:
            output: the IRI.
            inputs: what it will be made from.
            bound_by: who says what data the inputs are.
            issuer: the owner whose word the policy is that names the output.
            tables: its tables, where it will have several.

        Raises:
            UsageError: it stands for its input, for a source in use, or for other people's data; or no
                input is named.
        """
        if not inputs:
            raise UsageError(str(output), "no input is named", "what the output will be made from")
        speakers = _versions.Speakers(issuer, bound_by)
        with self._shared.database.reading() as connection:
            facts = self._shared.facts(connection)
            _versions.check_output_iri(connection, facts, output, inputs, speakers)
            for table in tables:
                _versions.check_output_iri(connection, facts, table, inputs, speakers, output)

    def _versions(self, query: Select[tuple[Any, ...]]) -> tuple[TargetVersion, ...]:
        with self._shared.database.reading() as connection:
            return _versions.versions(connection, query)
