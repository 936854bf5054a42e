"""Recorded outputs, as their owners and as others may see them."""

from smalti.engine.registry.entries import TargetVersion
from smalti.engine.registry.registry import Registry
from smalti.engine.registry.review import reviews
from smalti.errors import UsageError
from smalti.json.registry import listed_json, version_json
from smalti.json.runs import report_json
from smalti.json.text import Json
from smalti.policy.decide.names import iri
from smalti.vocab.terms import IRI


def versions_of(
    registry: Registry, target: str | None, policy_uid: str | None
) -> tuple[TargetVersion, ...]:
    """The recorded versions of an output, or of all outputs.

    Args:
        registry: that recorded them.
        target: the IRI of an output, or of a version; None: all.
        policy_uid: only those that were made under this policy, and what is derived from them.

    Raises:
        UsageError: nothing of that target is recorded, or no such policy was ever put in force.
    """
    versions = registry.versions(iri(target, "IRI")) if target else registry.all_versions()
    if target and not versions:
        raise UsageError(target, "the registry records no such output", "a recorded target", "leave it out")
    if policy_uid is None:
        return versions
    affected = {version.run for version in registry.affected_by(iri(policy_uid, "--affected-by"))}
    return tuple(version for version in versions if version.run in affected)


def owns_inputs(registry: Registry, party: IRI, version: TargetVersion) -> bool:
    """Whether a party owns all that a version was made from: then its figures are for the party."""
    return all(party in registry.full_owners(source.iri) for source in version.inputs)


def review_reasons(registry: Registry) -> dict[str, tuple[str, ...]]:
    """By run, why a version needs a review."""
    return {review.version.run: review.reasons for review in reviews(registry)}


def public_version_json(version: TargetVersion, reasons: tuple[str, ...] | None) -> Json:
    """A version as everybody may see it who may see it at all."""
    return listed_json(version) | {"forReview": reasons is not None, "reviewReasons": list(reasons or ())}


def owned_version_json(version: TargetVersion, reasons: tuple[str, ...] | None) -> Json:
    """A version with its folder, its recipient and its figures, for the owner of all its inputs."""
    owned = version_json(version) | {"ownerReport": report_json(version.report)}
    return public_version_json(version, reasons) | owned
