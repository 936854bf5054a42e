"""Decide a request and hand its grant to the one driver, completely or not at all."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from smalti.engine.backends.base import Backend
from smalti.engine.binding.capability import Capability, capability_of
from smalti.engine.binding.run_inputs import Granted
from smalti.engine.binding.run_record import RunUnder
from smalti.engine.binding.run_request import (
    BegunRun,
    Outcome,
    RunEnd,
    RunListener,
    RunRequest,
    Watch,
)
from smalti.engine.binding.withheld_columns import DeclaresMoreError, DeniedOnDataError
from smalti.engine.plan.any_plan import AnyPlan
from smalti.engine.plan.kinds import granted_kind
from smalti.engine.plan.known_columns import KnownColumns
from smalti.engine.plan.notices import ordered
from smalti.engine.registry.authority import deny_afterwards
from smalti.engine.registry.commit import recover, staging, taken_over
from smalti.engine.registry.entries import TargetVersion
from smalti.engine.registry.registry import Registry
from smalti.engine.run.driver import carry_out
from smalti.engine.run.grants import (
    binds_as_owner,
    check_output,
    decided,
    described_columns,
    in_words_for,
    resolved_request,
)
from smalti.engine.run.own_words import in_own_words
from smalti.engine.run.plans import notices_below
from smalti.errors import SmaltiError, UsageError, only_ours
from smalti.policy.decide.decision import Decision

_LOG: Final = logging.getLogger("smalti.run")


@only_ours()
@in_own_words
def run(
    request: RunRequest, out: Path, registry: Registry, backend: Backend, watch: Watch | None = None
) -> Outcome:
    """Run a policy on data, completely or not at all.

    Returns:
        The decision, and where it permits, the plan and the registered version. A denial is a
        decision, never an exception; nothing is written then. So is a release that does not fit into
        its budget.

    Raises:
        UsageError: `out` exists already, or the request is invalid.
        PlanError: the data cannot be transformed as the policy requires.
        DataError: the data cannot be read.
        GuaranteeError: the data cannot meet what the policy promises.
        BackendError: the machine.
        RegistryError: the registry cannot be read or written.
        InternalError: a fault of smalti; no other exception comes out, for its message may quote data.
        In each case nothing is published and nothing registered. What a release was charged stays so.
    """
    watch = watch or Watch()
    try:
        with in_words_for(request, registry):
            outcome = _decided_and_run(request, out, registry, backend, watch)
    except SmaltiError as refused:
        _LOG.warning("run refused: %s", type(refused).__name__)
        raise
    _log_end(outcome, watch)
    return outcome


def _log_end(outcome: Outcome, watch: Watch) -> None:
    """Log what came of a run: words and sizes of what was published, and no figure of the data."""
    seconds = sum(timing.seconds for timing in watch.timings)
    if outcome.version is None:
        _LOG.info("run ended after %.3f s: %s", seconds, outcome.decision.effect)
        return
    files = outcome.version.files
    size, warnings = sum(file.size for file in files), len(outcome.warnings)
    published = "run ended after %.3f s: %s, %d files, %d bytes, %d warnings"
    _LOG.info(published, seconds, outcome.decision.effect, len(files), size, warnings)


def _decided_and_run(
    request: RunRequest, out: Path, registry: Registry, backend: Backend, watch: Watch
) -> Outcome:
    recover(registry)
    watch.phase("decide")
    request = resolved_request(request, registry)
    columns = described_columns(request)
    try:
        outcome = _run(request, out, registry, backend, watch, columns)
    except DeclaresMoreError as more:
        columns = more.columns
        outcome = _run(request, out, registry, backend, watch, columns)
    if outcome.version is None:
        return outcome
    notices = ordered((*outcome.notices, *notices_below(request, registry, columns)))
    return replace(outcome, notices=notices)


def _run(
    request: RunRequest,
    out: Path,
    registry: Registry,
    backend: Backend,
    watch: Watch,
    columns: KnownColumns,
) -> Outcome:
    decision, granted = decided(request, registry, columns)
    if granted is None:
        return Outcome(decision, None, None, None)
    try:
        return _carried_out(request, out, registry, backend, watch, decision, granted)
    except DeniedOnDataError as refused:
        return Outcome(deny_afterwards(registry, decision, refused.reason), None, None, None)


def _carried_out(  # noqa: PLR0913, PLR0917 (likewise)
    request: RunRequest,
    out: Path,
    registry: Registry,
    backend: Backend,
    watch: Watch,
    decision: Decision,
    granted: Granted,
) -> Outcome:
    check_output(request, registry, granted)
    is_owner = binds_as_owner(request, registry)
    if request.replaces and not is_owner:
        raise UsageError(
            "replace (--replace)",
            f"{request.submitter} does not own all of `{request.target}`",
            "the owner of the data",
            "leave it out, and name another folder",
        )
    capability = capability_of(granted_kind(granted.permission))
    if request.examines:
        _check_examination(request, capability, is_owner=is_owner)
    taken = taken_over(registry, out, granted.output, request.submitter) if request.replaces else None
    with _telling_of(watch.listener) as telling, staging(registry, out, taken) as stage:
        made_under = RunUnder(request, registry, backend, decision, granted, stage, watch, is_owner, taken)
        policy, rule = request.document.policy.uid, granted.permission.uid
        telling.begins(BegunRun(stage.run, capability.kind, policy, rule, request.target, granted.output))
        outcome = carry_out(capability, made_under)
        telling.version = outcome.version
        return outcome


@dataclass(slots=True)
class _Telling:
    """What a listener is told of one run."""

    listener: RunListener | None
    run: BegunRun | None = None
    version: TargetVersion | None = None

    def begins(self, run: BegunRun) -> None:
        self.run = run
        if self.listener is not None:
            self.listener.begins(run)

    def ends(self, how: RunEnd) -> None:
        if self.listener is not None and self.run is not None:
            self.listener.ends(self.run, how, self.version)


@contextmanager
def _telling_of(listener: RunListener | None) -> Iterator[_Telling]:
    """Tell of a run that begins within the block, and after it how the run ended."""
    telling = _Telling(listener)
    try:
        yield telling
    except (DeniedOnDataError, DeclaresMoreError):  # it is denied, or begins anew
        telling.ends(RunEnd.ABORT)
        raise
    except Exception:
        telling.ends(RunEnd.FAIL)
        raise
    except BaseException:
        telling.ends(RunEnd.ABORT)
        raise
    telling.ends(RunEnd.ABORT if telling.version is None else RunEnd.COMPLETE)


def _check_examination(
    request: RunRequest, capability: Capability[AnyPlan, object], *, is_owner: bool
) -> None:
    """Refuse, before any work, to examine what is not in classes, or for anybody but the owner."""
    where = "owner's report (--page, --report)"
    if not is_owner:
        raise UsageError(
            where,
            f"{request.submitter} does not own all of `{request.target}`, and it shows owners figures",
            "the party that owns the data",
            "say who you are with --owner, or leave it out",
        )
    if not capability.has_classes:
        raise UsageError(
            where,
            "the matching permission makes no classes of generalised rows, and only those are attacked",
            "a permission of k-anonymity, l-diversity or t-closeness, by another algorithm than Anatomy",
            "leave it out",
        )
