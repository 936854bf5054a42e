"""Which earlier releases a reader can hold beside a new one, since they are about the same people."""

from collections.abc import Iterable, Sequence

from smalti.engine.plan.kinds import holds_beside_others
from smalti.engine.plan.recorded import recorded_kind
from smalti.engine.registry.entries import Input, NewVersion, TargetVersion, VersionFacts
from smalti.engine.registry.registry import Registry
from smalti.errors import UsageError
from smalti.vocab.terms import IRI


def joinable(registry: Registry, inputs: Sequence[Input]) -> tuple[TargetVersion, ...]:
    """The earlier versions that narrow down, beside a new one, who is who; oldest first.

    Each version over shared respondents counts, whatever its output, columns, technique or party; also
    over data that a collection, or files of the same bytes, join with these inputs. Not counted are outputs
    whose promise holds beside any other (`kinds.holds_beside_others`); what is made from published outputs
    alone, for who has these can make it, so that it adds nothing to them; and what its owner discarded.

    Args:
        registry: which may not be there yet.
        inputs: of the new version.
    """
    if not registry.exists or _is_made_from_outputs(inputs):
        return ()
    versions = [
        version
        for version in registry.outputs.all()
        if version.discarded_at is None
        and not _is_made_from_outputs(version.inputs)
        and not holds_beside_others(recorded_kind(version.plan))
    ]
    people = registry.ledger.same_respondents(source.iri for source in inputs)
    shares = {
        read: bool(people & registry.ledger.same_respondents(read))
        for read in {_read(version.inputs) for version in versions}
    }
    sharing = (version for version in versions if shares[_read(version.inputs)])
    return tuple(sorted(sharing, key=lambda version: version.created_at))


def is_same_release(version: VersionFacts, plan_digest: str, content: str) -> bool:
    """Whether a version has the same plan and the same content: neither tells more than the other."""
    return version.plan_digest == plan_digest and version.output_digest == content


def check_combined(registry: Registry, record: NewVersion) -> None:
    """Refuse to record a run beside which another release was recorded since they were held together.

    Asked inside of the transaction that records it, also where somebody else ends a run that was killed.

    Raises:
        UsageError: there is such a release.
    """
    if record.combined_with is None:
        return
    new = (
        version for version in joinable(registry, record.inputs) if version.run not in record.combined_with
    )
    if any(not is_same_release(version, record.plan_digest, record.output_digest) for version in new):
        raise UsageError(
            str(record.target),
            "another release about the same respondents was recorded during the run",
            "a run that was held against all earlier releases",
            "run it again",
        )


def _is_made_from_outputs(inputs: Iterable[Input]) -> bool:
    return all(source.version is not None for source in inputs)


def _read(inputs: Iterable[Input]) -> tuple[IRI, ...]:
    return tuple(source.iri for source in inputs)
