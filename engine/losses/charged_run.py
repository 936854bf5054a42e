"""A run that loses privacy, from beginning to end: compile, take what is exact, charge, draw once, record.

The order is what protects, and it stands here alone. Nothing random happens before the ledger has taken the
charge, and what was drawn is readable only as the one output that is published under it. A run that dies
behind the charge has been charged, and shows nothing; whoever runs it again is charged again.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, Generic, TypeVar

from smalti.engine.backends.staged import StagedTable
from smalti.engine.binding.circumstances import Circumstances
from smalti.engine.binding.known_respondents import with_respondents
from smalti.engine.binding.run_inputs import Given, Granted, admit, bound, check_unchanged, given
from smalti.engine.binding.run_record import (
    Promised,
    RunUnder,
    digests_of_inputs,
    file_name,
    new_version,
    published_files,
)
from smalti.engine.binding.run_request import Outcome, RunRequest
from smalti.engine.losses.charging import LosingPlan, composition, refusal
from smalti.engine.perturbation.guarantee import LocalGuarantee
from smalti.engine.plan.values import NoisyValue
from smalti.engine.registry.commit import publish
from smalti.engine.registry.entries import OutputColumn
from smalti.engine.releases.guarantee import LossGuarantee
from smalti.engine.releases.report import ReleaseReport
from smalti.engine.run.explain import warnings_in
from smalti.engine.tables.description import Source
from smalti.engine.tables.reading import file_digest
from smalti.engine.tables.writing import content_digest
from smalti.engine.training.plan import TrainingPlan
from smalti.errors import InternalError, PlanError
from smalti.transforms.noise import check_available

P = TypeVar("P", bound=LosingPlan)
E = TypeVar("E")


class ChargedRun(ABC, Generic[P, E]):
    """What one kind of such runs does at each step."""

    exact_phase: ClassVar[str]
    """What the step before the charge is called."""

    def columns_read(
        self, request: RunRequest, granted: Granted
    ) -> Callable[[Source], Collection[str] | None]:
        """Which columns it looks at, by their source; None: all."""
        del request, granted
        return lambda _: None

    @abstractmethod
    def planned(
        self,
        request: RunRequest,
        granted: Granted,
        source: Source,
        table: StagedTable,
        circumstances: Circumstances,
    ) -> P:
        """What it would do, without any look at its budget but that there is one."""

    @abstractmethod
    def exact(self, plan: P, table: StagedTable) -> E:
        """What noise is added to. It may fail, and shows nothing."""

    @abstractmethod
    def drawn(self, plan: P, exact: E, path: Path) -> tuple[NoisyValue, ...]:
        """Draw the noise, and write the output to a new file; called once for each charge.

        Returns:
            The statistics of a release.
        """

    @abstractmethod
    def guarantee(self, plan: P) -> LossGuarantee | LocalGuarantee:
        """What the output promises."""

    @abstractmethod
    def output_columns(self, plan: P) -> tuple[OutputColumn, ...]:
        """The columns of the output."""


def refuse_output(source: Source, circumstances: Circumstances) -> None:
    """Refuse an output as the input of what is charged.

    Rows of an output depend on many people each: with one respondent more, all classes may be others, and
    noise that covers one row covers nothing of that.

    Raises:
        PlanError: it is an output.
    """
    if circumstances.inherited is not None:
        raise PlanError(
            str(source.target),
            "it is itself an output, in which one person can change what is said of many",
            "the original data, in which a row is about one person",
            "ask its owner for a policy about what it was made from",
        )


def carry_out(kind: ChargedRun[P, E], under: RunUnder) -> Outcome:
    """Make such a run: all of it, or nothing but a charge.

    Returns:
        The outcome; a denial where it does not fit into what is left of its budget.

    Raises:
        SmaltiError: as `engine.run.run`.
    """
    request, registry, stage, watch = under.request, under.registry, under.stage, under.watch
    check_available()
    columns = with_respondents(kind.columns_read(request, under.granted), request, registry)
    with bound(request, under.backend, stage.spill, watch.phase, columns) as (source, table):
        watch.phase("plan")
        known = given(request, registry, under.granted, source, table)
        made = kind.planned(request, under.granted, source, table, known.circumstances)
        admit(request, registry, known, source, table, made)
        watch.phase(kind.exact_phase)
        exact = kind.exact(made, table)
    digests = [file_digest(path) for path in source.paths]
    check_unchanged(source, digests, table.contents)
    report = ReleaseReport(
        engine=under.backend.name,
        inputs=digests_of_inputs(registry, source, digests),
        timings=watch.timings,
        withdrawn_at=known.at,
        respondents_listed=known.circumstances.withdrawn.count,
    )
    watch.phase("charge")
    if (denial := refusal(under, made, table.contents)) is not None:
        return Outcome(denial, None, None, None)
    watch.phase("draw")
    path = stage.output / file_name(made.write.output, made.write.format)
    values = kind.drawn(made, exact, path)
    watch.phase("register")
    return _registered(kind, under, made, known, report, path, values)


def _registered(  # noqa: PLR0913, PLR0917 (everything that is known at the end of a run)
    kind: ChargedRun[P, E],
    under: RunUnder,
    made: P,
    known: Given,
    report: ReleaseReport,
    path: Path,
    values: tuple[NoisyValue, ...],
) -> Outcome:
    registry = under.registry
    if isinstance(made, TrainingPlan):
        raise InternalError("a model is no table")
    files = published_files([path], [file_digest(path)], made.write.format)
    together = composition(registry, under.request.target)
    promised = Promised(kind.guarantee(made), composition=together)
    content = content_digest([path], made.write.format)
    report = replace(report, timings=under.watch.timings)
    record = new_version(under, made, known, files, promised, kind.output_columns(made), content, report)
    version = publish(registry, under.stage, record)
    is_owner = under.request.submitter in registry.full_owners(version.target)
    told = version.report if is_owner else None
    return Outcome(under.decision, made, version, told, warnings_in(made), together, values)
