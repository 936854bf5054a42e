"""Which earlier releases a reader can hold beside a new one, since they are about the same people."""

from collections.abc import Collection, Iterable, Sequence

from smalti.engine.plan.kinds import holds_beside_others
from smalti.engine.plan.recorded import recorded_kind
from smalti.engine.plan.reports import Report
from smalti.engine.registry.entries import Input, NewVersion, TargetVersion, VersionFacts
from smalti.engine.registry.registry import Registry
from smalti.errors import UsageError
from smalti.vocab.terms import IRI


def joinable(
    registry: Registry, inputs: Sequence[Input], digests: Collection[str], said: Collection[IRI] = ()
) -> tuple[TargetVersion, ...]:
    """The earlier versions that narrow down, beside a new one, who is who; oldest first.

    Each version over shared respondents counts, whatever its output, columns, technique or party; also
    over data that a collection, or a file of the same bytes, joins with these inputs. Not counted are
    outputs whose promise holds beside any other (`kinds.holds_beside_others`); what is made from published
    outputs alone, for who has these can make it, so that it adds nothing to them; and what its owner
    discarded.

    Args:
        registry: which may not be there yet.
        inputs: of the new version.
        digests: keyed, of the files that it read.
        said: the assets that share respondents with these inputs by the word of its policy.
    """
    if not registry.exists or _is_made_from_outputs(inputs):
        return ()
    waiting = [version for version in registry.outputs.all() if _counts(version)]
    people = registry.ledger.same_respondents((*(source.iri for source in inputs), *said))
    files, sharing = frozenset(digests), list[TargetVersion]()
    while True:
        new = [
            version
            for version in waiting
            if files & _files(version) or people & registry.ledger.same_respondents(_read(version))
        ]
        if not new:
            return tuple(sorted(sharing, key=lambda version: version.created_at))
        sharing += new
        waiting = [version for version in waiting if version not in new]
        files = files.union(*map(_files, new))
        people |= registry.ledger.same_respondents(iri for version in new for iri in _read(version))


def _counts(version: TargetVersion) -> bool:
    return (
        version.discarded_at is None
        and version.whole is None  # its tables were published with it
        and not _is_made_from_outputs(version.inputs)
        and not holds_beside_others(recorded_kind(version.plan))
    )


def _files(version: VersionFacts) -> frozenset[str]:
    """The keyed digests of the files that a version was made from."""
    return frozenset(digest for file in version.report.inputs for digest in file.digests)


def _read(version: TargetVersion) -> tuple[IRI, ...]:
    return tuple(source.iri for source in version.inputs)


def release_of(plan_digest: str, content: str, report: Report) -> tuple[str, ...]:
    """What is equal for releases that tell the same.

    Equal content of other data does not: who is in which of its classes may have changed. Nor does that of
    another draw: who is in the sample may have (`NewVersion.is_same_by_content`).

    Args:
        plan_digest: of the plan.
        content: its digest, whatever its format and files.
        report: names the files that were read.
    """
    return plan_digest, content, *(file.hmac for file in report.inputs)


def release_of_version(version: VersionFacts) -> tuple[str, ...]:
    """The same of a version."""
    return release_of(version.plan_digest, version.output_digest, version.report)


def check_combined(registry: Registry, record: NewVersion) -> None:
    """Refuse to record a run beside which another release was recorded since they were held together.

    Asked inside of the transaction that records it, also where somebody else ends a run that was killed.

    Raises:
        UsageError: there is such a release.
    """
    if record.combined_with is None:
        return
    new = (
        version
        for version in joinable(registry, record.inputs, record.files_with_rows, record.same_people)
        if version.run not in record.combined_with
    )
    release = release_of_version(record)
    if any(not record.is_same_by_content or release_of_version(version) != release for version in new):
        raise UsageError(
            str(record.target),
            "another release about the same respondents was recorded during the run",
            "a run that was held against all earlier releases",
            "run it again",
        )


def _is_made_from_outputs(inputs: Iterable[Input]) -> bool:
    return all(source.version is not None for source in inputs)
