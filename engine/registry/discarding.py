"""An owner's word that nobody has a version: its files are removed, and later runs need not heed it."""

import shutil
from contextlib import suppress

from smalti.engine.registry.commit import holds_version
from smalti.engine.registry.entries import TargetVersion
from smalti.engine.registry.registry import Registry
from smalti.errors import UsageError
from smalti.vocab.terms import IRI


def discard(registry: Registry, which: IRI, by: IRI) -> tuple[TargetVersion, bool]:
    """Discard a version: it stays on record as discarded, and its folder is removed.

    Later runs are held together with all earlier releases but these. Nothing shows that nobody has a copy:
    that is the word of the owner.

    Args:
        registry: where it is recorded.
        which: its IRI, or that of an output with a single version that stands.
        by: who fully owns the output; asserted by the caller.

    Returns:
        The version; and whether its folder was removed: False where it did not hold the version, whole.

    Raises:
        UsageError: there is no such version, it is somebody else's, or another one was made from it.
    """
    versions = registry.outputs.of(which)
    if any(by not in registry.ownership.full(version.target) for version in versions):
        raise UsageError(
            str(which), f"{by} does not own it", "an owner of all that it was made from", "ask its owner"
        )
    standing = [version for version in versions if version.discarded_at is None]
    if len(standing) != 1:
        problem = "no version that stands has this IRI" if not standing else "several versions stand"
        listed = ", ".join(f"{version.iri} (version {version.number})" for version in standing)
        raise UsageError(
            str(which), problem, "the IRI of a version, or of an output with one",
            f"name one: {listed}" if listed else "`smalti targets` lists them",
        )  # fmt: skip
    version = standing[0]
    registry.outputs.discard(version)
    is_whole = holds_version(version.path, version)
    if is_whole:
        with suppress(OSError):
            shutil.rmtree(version.path)
    return version, is_whole and not version.path.exists()
