"""The records that a policy permits to train on, for a study by the owner of the data.

The same way as that of a run, up to what a model would see: decision, plan, admission, one row of each
respondent. Nothing is trained, recorded, charged or logged, and nobody but the owner is shown anything.
"""

from dataclasses import dataclass

from smalti.engine.backends.base import Backend
from smalti.engine.binding.capability import capability_of
from smalti.engine.binding.run_inputs import admit, check_unchanged
from smalti.engine.binding.run_request import RunRequest
from smalti.engine.binding.withheld_columns import DeclaresMoreError, DeniedOnDataError
from smalti.engine.plan.kinds import granted_kind
from smalti.engine.plan.known_columns import KnownColumns
from smalti.engine.registry.authority import deny_afterwards
from smalti.engine.registry.commit import scratch
from smalti.engine.registry.registry import Registry
from smalti.engine.run.driver import compiled_for
from smalti.engine.run.grants import decided, described_columns, resolved_request
from smalti.engine.run.own_words import in_own_words
from smalti.engine.run.trial import check_owner
from smalti.engine.tables.reading import file_digest
from smalti.errors import InternalError, PlanError, only_ours
from smalti.policy.decide.decision import Decision


@dataclass(frozen=True, slots=True)
class PermittedRecords:
    """The decision; where it permits, what its capability lets a study look at. Private."""

    decision: Decision
    studied: object = None


@only_ours()
@in_own_words
def permitted_records(
    request: RunRequest, registry: Registry, backend: Backend, what: str
) -> PermittedRecords:
    """What a run of the request would train on.

    Args:
        request: of a run.
        registry: only read; one that logs no decisions (`registry.without_log`).
        backend: where rows are staged.
        what: shows something of the records, such as "a study".

    Raises:
        UsageError: the submitter does not fully own the data.
        PlanError: what is permitted is no training.
        SmaltiError: as `engine.run.run.run`, as far as it gets.
    """
    if registry.decision_log is not None:
        raise InternalError("a study would be logged")
    check_owner(request, registry, what)
    request = resolved_request(request, registry)
    columns = described_columns(request)
    try:
        return _permitted(request, registry, backend, columns)
    except DeclaresMoreError as more:
        return _permitted(request, registry, backend, more.columns)


def _permitted(
    request: RunRequest, registry: Registry, backend: Backend, columns: KnownColumns
) -> PermittedRecords:
    decision, granted = decided(request, registry, columns)
    if granted is None:
        return PermittedRecords(decision)
    capability = capability_of(granted_kind(granted.permission))
    with (
        scratch(request.workspace) as place,
        compiled_for(capability, request, registry, backend, granted, place / "spill") as (
            compiled,
            table,
        ),
    ):
        try:
            admit(request, registry, compiled.run_input, compiled.source, table, compiled.plan)
        except DeniedOnDataError as refused:
            return PermittedRecords(deny_afterwards(registry, decision, refused.reason))
        studied, source = capability.studied(compiled.plan, table), compiled.source
        if studied is None:
            raise PlanError(
                str(granted.permission.where),
                "what the policy permits is no training",
                "a permission to train (smalti:train)",
                "name a rule that permits it with --rule",
            )
        check_unchanged(source, [file_digest(path) for path in source.paths], compiled.contents)
        return PermittedRecords(decision, studied)
