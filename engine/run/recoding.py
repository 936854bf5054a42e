"""Looks up the recoding of an earlier release, for a further batch of the same shape."""

from collections.abc import Sequence
from typing import Final

from smalti.engine.binding.capability import capability_of
from smalti.engine.binding.kept_recoding import KeptRecoding
from smalti.engine.binding.run_request import RunRequest
from smalti.engine.losses.charging import memberships_said
from smalti.engine.plan.recorded import plan_from_json
from smalti.engine.registry.entries import Input, TargetVersion
from smalti.engine.registry.registry import Registry
from smalti.errors import UsageError

_WHERE: Final = "recoding (--recoding-of)"


def kept_recoding(request: RunRequest, registry: Registry, inputs: Sequence[Input]) -> KeptRecoding | None:
    """The recoding that a request names; None where it names none.

    Args:
        request: of the run.
        registry: that records earlier releases.
        inputs: of the run.

    Raises:
        UsageError: no such release stands, the submitter does not own it, it has no levels, or it is about
            data that this run is not held together with.
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
    _check_same_people(request, registry, inputs, version)
    return KeptRecoding(name, levels)


def _check_same_people(
    request: RunRequest, registry: Registry, inputs: Sequence[Input], version: TargetVersion
) -> None:
    """Refuse the levels of a release that the batch would not be held together with (`joinable`)."""
    here = registry.ledger.same_respondents(
        [source.iri for source in inputs],
        memberships_said(request),
        bound_by=request.submitter,
        said_by=request.document.issuer,
    )
    there = [source.iri for source in version.inputs]
    if here & registry.ledger.same_respondents(there):
        return
    raise UsageError(
        _WHERE,
        f"`{version.target}` version {version.number} is about {' and '.join(f'`{iri}`' for iri in there)},"
        " and nothing says that the batch is about the same respondents: so the two would not be held"
        " together",
        "a further batch of that data",
        "bind the batch to the IRI of that data, or say in the policy that both are parts of one"
        " collection",
    )
