"""Looks up the recoding of an earlier release, for a further batch of the same shape."""

from typing import Final

from smalti.engine.binding.capability import capability_of
from smalti.engine.binding.kept_recoding import KeptRecoding
from smalti.engine.binding.run_request import RunRequest
from smalti.engine.plan.recorded import plan_from_json
from smalti.engine.registry.registry import Registry
from smalti.errors import UsageError

_WHERE: Final = "recoding (--recoding-of)"


def kept_recoding(request: RunRequest, registry: Registry) -> KeptRecoding | None:
    """The recoding that a request names; None where it names none.

    Raises:
        UsageError: no such release stands, the submitter does not own it, or it has no levels.
    """
    if request.recoding_of is None:
        return None
    versions = registry.outputs.of(request.recoding_of)
    owned = [
        version
        for version in versions
        if version.discarded_at is None and request.submitter in registry.ownership.full(version.target)
    ]
    if not owned:
        raise UsageError(
            _WHERE,
            f"{request.submitter} owns no release `{request.recoding_of}`",
            "the IRI of a version, or of an output, of the same owner",
            "`smalti targets` lists them",
        )
    version = owned[-1]
    plan, name = plan_from_json(version.plan), f"`{version.target}` version {version.number}"
    levels = capability_of(plan.kind).published_levels(plan, version.report)
    if not levels:
        raise UsageError(
            _WHERE,
            f"{name} has no one level of each column: where values of another batch belong is not said",
            "a release by the algorithm incognito",
            "run its policy with that algorithm",
        )
    return KeptRecoding(name, levels)
