"""Try a policy out on data: the one driver, stopped before anything is charged, published or recorded.

What a try shows is for the data's owner: figures, and rows of a result that passed verification. So only a
party that fully owns the data tries it out; what no registry knows is owned by whoever binds it. The
request is decided as a run's is, and prohibitions, withdrawals and records of a registry hold. Kinds of
runs that draw at random are not carried out: looking at a draw without a charge would give it away.
"""

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from smalti.engine.backends.base import Backend
from smalti.engine.binding.capability import Capability, capability_of
from smalti.engine.binding.run_inputs import Granted
from smalti.engine.binding.run_record import RunUnder
from smalti.engine.binding.run_request import Planned, RunRequest, Watch, counted_columns
from smalti.engine.binding.withheld_columns import DeclaresMoreError, DeniedOnDataError
from smalti.engine.plan.any_plan import AnyPlan
from smalti.engine.plan.kinds import granted_kind
from smalti.engine.plan.known_columns import KnownColumns
from smalti.engine.plan.notices import Notice
from smalti.engine.plan.plan import OutputFormat
from smalti.engine.plan.published_columns import LabelForm
from smalti.engine.plan.reports import RowsReport
from smalti.engine.registry.authority import deny_afterwards
from smalti.engine.registry.commit import scratch_stage
from smalti.engine.registry.registry import Registry
from smalti.engine.run.driver import try_production
from smalti.engine.run.grants import (
    binds_as_owner,
    decided,
    described_columns,
    in_words_for,
    resolved_request,
)
from smalti.engine.run.own_words import in_own_words
from smalti.engine.run.plans import planned_under
from smalti.errors import GuaranteeError, InternalError, PlanError, UsageError, for_owner, only_ours
from smalti.policy.decide.decision import Decision, Reason
from smalti.policy.findings.html import table

ROWS_SHOWN: Final = 5
VARIABLE: Final = ("k", "l")
"""What can be varied."""
_BEGINS_SEVERAL: Final = ("[", "{")
"""How labels of ranges and sets begin; a text that begins so has a backslash before it."""


@dataclass(frozen=True, slots=True)
class Varied:
    """Another number in the place of one of the policy's."""

    word: str
    """One of `VARIABLE`."""
    number: int
    """Above 0."""

    @property
    def is_asked(self) -> bool:
        """Whether it asks for anything: an l of 1 does not."""
        return (self.word, self.number) != ("l", 1)

    def __str__(self) -> str:
        return f"{self.word} = {self.number}"


@dataclass(frozen=True, slots=True)
class ExactShare:
    """How much of a generalised column is published as single values."""

    column: str
    rows: int
    """Of the output, those that show one value; neither a range nor a set, nor a missing value."""


@dataclass(frozen=True, slots=True)
class Tried:
    """A result that passed verification, and is gone; for the data's owner."""

    plan: AnyPlan
    report: RowsReport
    exact: tuple[ExactShare, ...]
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...] = field(repr=False)
    """A few of the output's, spread over it; for the owner's terminal, and no file."""


@dataclass(frozen=True, slots=True)
class Variation:
    """The same try with another number."""

    varied: Varied
    tried: Tried | None
    problem: str = ""
    """Why there is no result, where there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What a try shows the data's owner."""

    decision: Decision
    plan: AnyPlan | None = None
    """None exactly where the decision does not permit."""
    notices: tuple[Notice, ...] = ()
    tried: Tried | None = None
    """None where nothing was carried out."""
    variations: tuple[Variation, ...] = ()
    not_run: str = ""
    """Why nothing was carried out although it is permitted."""
    expected_errors: tuple[str, ...] = ()
    """What the noise of a run would do, where nothing was carried out."""
    obstacle: str | None = None
    exit_code: int = 0
    """As `Planned.exit_code`."""
    """Why a run would be denied or refused, where nothing was carried out."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """The notices as sentences."""
        return tuple(text for notice in self.notices for text in notice.sentences)

    def __repr__(self) -> str:
        """One line without a row; the attributes say the rest."""
        counts = counted_columns(self.plan, self.warnings)
        ended = "" if self.tried is None else f", achieved k = {self.tried.report.k}"
        if self.variations:
            ended += f", {len(self.variations)} variations"
        return f"<Trial: {self.decision.effect}{counts}{ended}>"

    def _repr_html_(self) -> str:
        """For notebooks, which keep what they show: the decision, warnings and figures, and no row."""
        figures = () if self.tried is None else self.tried.report.lines("respondents")
        rows = [
            *(("warning", warning) for warning in self.warnings),
            *(("owner's view", line) for line in figures),
            *(("not run", text) for text in (self.not_run, self.obstacle) if text),
        ]
        return self.decision._repr_html_() + (table(rows) if rows else "")


@only_ours()
@in_own_words
def try_out(
    request: RunRequest,
    registry: Registry,
    backend: Backend,
    vary: Sequence[Varied] = (),
    rows: int = ROWS_SHOWN,
) -> Trial:
    """Try a policy out on data; nothing is recorded, charged, logged or certified.

    Args:
        request: of a run.
        registry: only read; one that logs no decisions (`registry.without_log`).
        backend: where it works.
        vary: numbers to take in turn in the place of the policy's, whether they are stronger or weaker.
        rows: of the result, to be shown.

    Raises:
        UsageError: the submitter does not fully own the data; or `vary` is for another kind of run.
        SmaltiError: as `engine.run.run.run`, as far as it gets; not for variations, which say so.
    """
    if registry.decision_log is not None:
        raise InternalError("a try would be logged")
    check_owner(request, registry, "a try")
    request = resolved_request(request, registry)
    request = replace(
        request, options=replace(request.options, output_format=OutputFormat.CSV, rows_per_part=None)
    )
    columns = described_columns(request)
    with in_words_for(request, registry, with_figures=True):
        try:
            return _tried_out(request, registry, backend, vary, columns, rows)
        except DeclaresMoreError as more:
            return _tried_out(request, registry, backend, vary, more.columns, rows)


def check_owner(request: RunRequest, registry: Registry, what: str) -> None:
    """Refuse to show figures of data to anybody but a party that fully owns it; what nobody knows, all may.

    Args:
        request: whose submitter asks.
        registry: what is known.
        what: shows the figures, such as "a try".

    Raises:
        UsageError: the submitter does not own all of the target.
    """
    if not binds_as_owner(request, registry):
        raise UsageError(
            "owner (--owner)",
            f"{request.submitter} does not own all of `{request.target}`, and {what} shows owners figures",
            "the party that owns the data",
            "say who you are with --owner or --as; `smalti plan` shows others what a run would do",
        )


def _tried_out(
    request: RunRequest,
    registry: Registry,
    backend: Backend,
    vary: Sequence[Varied],
    columns: KnownColumns,
    rows: int,
) -> Trial:
    decision, granted = decided(request, registry, columns)
    if granted is None:
        return Trial(decision=decision)
    capability = capability_of(granted_kind(granted.permission))
    not_run = capability.untried(granted.permission)
    if not_run is not None:
        planned = planned_under(request, registry, backend, decision, granted)
        return _only_planned(capability, planned, vary, not_run)
    attempt = _Attempt(request, registry, backend, decision, capability, rows)
    try:
        tried, notices = attempt.result(granted)
    except DeniedOnDataError as refused:
        return Trial(decision=deny_afterwards(registry, decision, refused.reason))
    variations = tuple(attempt.variation(granted, varied) for varied in vary)
    return Trial(decision=decision, plan=tried.plan, notices=notices, tried=tried, variations=variations)


def nothing_to_vary(way_out: str) -> UsageError:
    """The refusal of numbers for a kind of run that has none."""
    return UsageError(
        "vary (--vary)",
        "the matching permission makes no classes of generalised rows, and has no k or l of them",
        "a permission of k-anonymity or l-diversity, by another algorithm than Anatomy",
        way_out,
    )


def _only_planned(
    capability: Capability[AnyPlan, object], planned: Planned, vary: Sequence[Varied], not_run: str
) -> Trial:
    if vary and capability.has_classes:
        raise UsageError(
            "vary (--vary)", not_run, "a permission that draws nothing at random", "leave it out"
        )
    if vary:
        raise nothing_to_vary("leave it out")
    if planned.decision is None:
        raise InternalError("a try was planned without a decision")
    if planned.plan is None:
        return Trial(decision=planned.decision)
    return Trial(
        decision=planned.decision,
        plan=planned.plan,
        notices=planned.notices,
        not_run=not_run,
        expected_errors=capability.expected_errors(planned.plan),
        obstacle=planned.obstacle,
        exit_code=planned.exit_code,
    )


@dataclass(frozen=True, slots=True)
class _Attempt:
    """What all runs of one try have in common."""

    request: RunRequest
    registry: Registry
    backend: Backend
    decision: Decision
    capability: Capability[AnyPlan, object]
    rows: int

    def result(self, granted: Granted) -> tuple[Tried, tuple[Notice, ...]]:
        """Carry out what is granted, verify it, and keep what a try shows of it."""
        with scratch_stage(self.request.workspace) as stage:
            under = RunUnder(
                self.request, self.registry, self.backend, self.decision, granted, stage, Watch(), True
            )
            plan, produced = try_production(self.capability, under)
            if isinstance(produced, Reason):
                raise DeniedOnDataError(produced)
            report = self.capability.report_of_rows(produced.report)
            output = stage.output / produced.files[0].name
            by_value = [
                column.name
                for column in self.capability.guarantee(plan).published
                if column.form in (LabelForm.RANGES, LabelForm.SETS)
            ]
            return _kept(plan, report, output, by_value, self.rows), produced.notices

    def variation(self, granted: Granted, varied: Varied) -> Variation:
        """The same with another number in what is granted; the policy itself stays as it is."""
        try:
            other = self.capability.varied(granted.permission, varied.word, varied.number)
            tried, _ = self.result(replace(granted, permission=other))
        except (PlanError, GuaranteeError) as refused:
            problem = for_owner(refused, with_figures=True).problem
            return Variation(varied, None, problem)
        except DeniedOnDataError as denied:
            return Variation(varied, None, denied.reason.text)
        return Variation(varied, tried)


# --- What is kept of an output


def _kept(plan: AnyPlan, report: RowsReport, output: Path, by_value: Sequence[str], shown: int) -> Tried:
    """What a try shows of a verified output: a few rows, and how many show single values.

    Args:
        plan: of the output.
        report: for its owner.
        output: the file.
        by_value: the columns whose labels are values, ranges or sets of them; a node may look like a value.
        shown: how many rows.
    """
    wanted = {report.rows_out * place // shown for place in range(shown)}
    records = _records(output)
    header = next(records)
    places = [header.index(name) for name in by_value]
    single, rows = dict.fromkeys(places, 0), []
    for number, record in enumerate(records):
        for place in places:
            label = record[place]
            single[place] += bool(label) and not label.startswith(_BEGINS_SEVERAL)
        if number in wanted:
            rows.append(record)
    shares = tuple(ExactShare(name, single[place]) for name, place in zip(by_value, places, strict=True))
    return Tried(plan, report, shares, header, tuple(rows))


def _records(output: Path) -> Iterator[tuple[str, ...]]:
    """The records of a file as smalti writes it."""
    with output.open(encoding="utf-8", newline="") as file:
        yield from map(tuple, csv.reader(file, strict=True))
