"""The request of a run, its outcome, and a watch on its phases."""

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, Self, Unpack

from smalti.engine.arguments import public
from smalti.engine.binding.circumstances import Options, ShowValues
from smalti.engine.plan.any_plan import AnyPlan
from smalti.engine.plan.examination import Examination
from smalti.engine.plan.files import Composition, Timing
from smalti.engine.plan.html import ShownInNotebooks
from smalti.engine.plan.kinds import Kind
from smalti.engine.plan.notices import Notice, sentences
from smalti.engine.plan.plan import OutputFormat, Respondent
from smalti.engine.plan.published_columns import PublishedColumn
from smalti.engine.plan.reading import ReadingChoices, reading_of
from smalti.engine.plan.reports import Report
from smalti.engine.registry.entries import TargetVersion
from smalti.engine.registry.submissions import Submission
from smalti.engine.tables.addresses import Location
from smalti.errors import InternalError, SmaltiError, UsageError
from smalti.policy.decide.decision import Decision, Fact, Reason, Stated
from smalti.policy.findings.diagnostics import Diagnostic
from smalti.policy.findings.html import table
from smalti.policy.model.model import Policy
from smalti.vocab.terms import IRI

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from smalti.engine.plan.values import NoisyValue

_LOG: Final = logging.getLogger("smalti.run")
_FEW: Final = 3
"""Files that a notebook names."""


@dataclass(frozen=True, slots=True)
class PolicyDocument:
    """A policy with the document that it came from."""

    policy: Policy
    document: bytes
    name: str
    """As the user gave it, for messages."""
    signature: bytes | None = None
    """A detached JWS of the document (see `signatures`), where there is one."""
    warnings: tuple[Diagnostic, ...] = ()
    """What was found that is no error, as far as it was looked for."""
    is_short: bool = False
    """Whether it is written in the short form: messages use its words then."""
    issuer: IRI | None = None
    """The owner whose word the policy is, once it is resolved (`submissions`); None: not resolved yet."""


class Query(Protocol):
    """The statistics that a request asks for (`releases.query`)."""

    @property
    def name(self) -> str:
        """As the user gave it, for messages."""
        ...

    def facts(self, target: IRI) -> tuple[Fact, ...]:
        """What it asks for, by the operands of refinements: what the decision is made on."""
        ...

    def stands_for(self, policy: Policy, target: IRI, rule: IRI | None) -> tuple[str, ...]:
        """That something is held against the policy in another word than it is asked for in."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """A request of a run. `party` and `owner` are asserted by the caller and trusted."""

    document: PolicyDocument
    target: IRI
    data: Location
    """A file, a folder of files that are one table, CSVW metadata of either, or a table somewhere else."""
    party: IRI | None
    """On whose behalf; None where nothing is to be decided (`plan_undecided`)."""
    purpose: IRI | None
    owner: IRI | None = None
    """Who submits the policy and binds the data; None: the party itself."""
    rule: IRI | None = None
    """The uid of the permission to use, where several match."""
    asks: tuple[Fact, ...] = ()
    """A stronger guarantee than the policy's, by the operands of refinements: `mosaicrown:k` is 20."""
    stated: Stated = field(default_factory=Stated)
    """Facts, accepted clauses and the date of the agreement."""
    respondent: Respondent | None = None
    """Who respondents are, where policy and description do not say it; only an owner's word counts."""
    query: Query | None = None
    """What is asked of a release; None: the one release that the policy permits, where it permits one."""
    options: Options = field(default_factory=Options)
    population: Location | None = None
    """The data of the population table that the policy names."""
    earlier_data: tuple[Location, ...] = ()
    """The data of earlier releases about the same respondents, where that was other data than this."""
    recoding_of: IRI | None = None
    """An earlier release, at whose levels of hierarchies this data is published, too."""
    checkpoint: Path | None = None
    """A private folder in which a training keeps what it has done, for a later run that takes it up."""
    show_values: ShowValues | None = None
    """As `Circumstances.show_values`; only for a party that owns all of the data."""
    examines: bool = False
    """Whether the owner asks what attacks on the output achieve (`Outcome.examination`)."""
    replaces: bool = False
    """Whether policy and output take the place of the owner's earlier ones (`commit.taken_over`)."""
    workspace: Path | None = None
    """Where a plan is worked out, privately; None: in the system's folder for temporary files."""

    @property
    def asker(self) -> IRI:
        """The party; a fault of ours where a decision is asked for without one."""
        if self.party is None:
            raise InternalError("a decision was asked for without a party")
        return self.party

    @property
    def parameters(self) -> tuple[Fact, ...]:
        """Everything that is asked of the action."""
        if self.query is None:
            return self.asks
        return (*self.asks, *self.query.facts(self.target))

    @property
    def stands_for(self) -> tuple[str, ...]:
        """That the query's loss is held against the policy in another word than it is asked for in."""
        if self.query is None:
            return ()
        return self.query.stands_for(self.document.policy, self.target, self.rule)

    @property
    def submitter(self) -> IRI:
        return self.owner or self.asker

    @property
    def submission(self) -> Submission:
        """The policy, as whoever submits it does."""
        submitted = self.document
        return Submission(
            submitted.policy, self.submitter, submitted.document, submitted.signature, self.replaces
        )


def counted_columns(plan: AnyPlan | None, warnings: Sequence[str]) -> str:
    """How much there is of a plan, for a line that ends with it."""
    columns = "" if plan is None else f", {plan.kind} of {len(plan.read.columns)} columns"
    return columns + (f", {len(warnings)} warning{'s' if len(warnings) > 1 else ''}" if warnings else "")


@dataclass(frozen=True, slots=True)
class Planned:
    """What would be done: a denial, or a plan."""

    decision: Decision | None
    """None: no party asked."""
    plan: AnyPlan | None
    """None exactly when the decision does not permit."""
    notices: tuple[Notice, ...] = ()
    """The warnings of the plan, whoever asks, and of an inspection of the data."""
    composition: Composition | None = None
    """Of what loses privacy: what all releases about the same respondents would have lost, this one too."""
    obstacle: str | None = None
    """The reason why a run of this plan would be denied or refused, if the data shows one."""
    exit_code: int = 0
    """The exit code of a run that this obstacle stops; 0: there is none."""

    def stopped_by(self, obstacle: Reason | SmaltiError | None) -> Self:
        """The same, where a denial or an error would stop its run; as it is, where nothing would."""
        if obstacle is None:
            return self
        if isinstance(obstacle, SmaltiError):
            return replace(self, obstacle=str(obstacle), exit_code=obstacle.exit_code)
        return replace(self, obstacle=obstacle.text, exit_code=SmaltiError.exit_code)

    @property
    def warnings(self) -> tuple[str, ...]:
        """The notices as sentences, one for each column where they are about columns."""
        return sentences(self.notices)

    def __repr__(self) -> str:
        """One line; `smalti.explain` and the attributes say the rest."""
        decided = "not decided" if self.decision is None else self.decision.effect
        counts = counted_columns(self.plan, self.warnings)
        obstacle = "" if self.obstacle is None else f", obstacle: {self.obstacle}"
        return f"<Planned: {decided}{counts}{obstacle}>"

    def _repr_html_(self) -> str:
        """For notebooks: the decision, warnings and the plan's explanation."""
        decision = "" if self.decision is None else self.decision._repr_html_()
        notes = [("warning", warning) for warning in self.warnings]
        if self.obstacle is not None:
            notes.append(("obstacle", self.obstacle))
        plan = self.plan._repr_html_() if isinstance(self.plan, ShownInNotebooks) else ""
        return decision + (table(notes) if notes else "") + plan


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was done: a denial, or a registered output."""

    decision: Decision
    plan: AnyPlan | None
    version: TargetVersion | None
    """None exactly when the decision does not permit; holds the certificate."""
    report: Report | None
    """The owner's figures; None where the submitter does not own what the output was made from."""
    notices: tuple[Notice, ...] = ()
    """Warnings: the same as the plan's, and what the labels take; for owners of all that it was made from.
    Others are told what follows from the plan alone."""
    composition: Composition | None = None
    """Of a release: what it and all earlier ones about the same respondents lose together."""
    values: "tuple[NoisyValue, ...]" = ()
    """Of a release: what was published, in the order of the table."""
    published: tuple[PublishedColumn, ...] = ()
    """What the certificate says of how columns are published."""
    examination: Examination | None = None
    """For the owner, where it was asked for; recorded nowhere."""

    @public
    def to_arrow(self, **choices: Unpack[ReadingChoices]) -> "pa.Table":
        """The published table as `smalti.read_published` reads it: labels are numbers, dates and lists.

        Args:
            **choices: see `ReadingChoices`.

        Raises:
            UsageError: nothing was published, or it is a model.
            DataError: the published files are no longer there as they were.
        """
        return self._as_frame("arrow", choices)

    @public
    def to_pandas(self, **choices: Unpack[ReadingChoices]) -> "pd.DataFrame":
        """As `to_arrow`, as a data frame of pandas.

        Raises:
            BackendError: pandas is not installed.
        """
        frame: pd.DataFrame = self._as_frame("pandas", choices)
        return frame

    @public
    def to_polars(self, **choices: Unpack[ReadingChoices]) -> Any:
        """As `to_arrow`, as a data frame of Polars.

        Raises:
            BackendError: Polars is not installed.
        """
        return self._as_frame("polars", choices)

    def _repr_html_(self) -> str:
        """For notebooks: the decision, what was published, and figures where the submitter may see them."""
        if self.version is None:
            return self.decision._repr_html_()
        figures = () if self.report is None else self.report.lines("respondents")
        rows = [
            ("target", f"{self.version.target} version {self.version.number}"),
            ("files", ", ".join(file.name for file in self.version.files[:_FEW])),
            *(("warning", warning) for warning in self.warnings),
            *(("owner's view", line) for line in figures),
        ]
        return self.decision._repr_html_() + table(rows)

    def _as_frame(self, library: str, choices: ReadingChoices) -> Any:
        if self.version is None:
            raise UsageError(
                "outcome", "nothing was published", "a permitted run", "`outcome.decision` says why not"
            )
        from smalti.engine.tables.published import published_table  # noqa: PLC0415
        from smalti.engine.tables.published_files import check_single_table, source_of  # noqa: PLC0415
        from smalti.engine.tables.published_frames import as_frame  # noqa: PLC0415 (only then)

        check_single_table(self.version.path, [table.files for table in self.version.tables])
        source, reading = source_of(self.version.path, self.version.files), reading_of(choices)
        return as_frame(library, lambda: published_table(source, self.published, reading))

    @property
    def warnings(self) -> tuple[str, ...]:
        """The notices as sentences, one for each column where they are about columns."""
        return sentences(self.notices)


class RunEnd(Enum):
    """How a run that had begun ended; the words are OpenLineage's."""

    COMPLETE = "COMPLETE"
    FAIL = "FAIL"
    ABORT = "ABORT"
    """It was told to stop, or denied by what the data shows, a budget or a duty."""


@dataclass(frozen=True, slots=True)
class BegunRun:
    """A run that was permitted, and begins; public facts alone."""

    run: str
    kind: Kind
    policy: IRI
    rule: IRI
    input: IRI
    output: IRI


class RunListener(Protocol):
    """Is told of runs that begin and end; raises nothing."""

    def begins(self, run: BegunRun) -> None:
        """A run begins."""

    def ends(self, run: BegunRun, how: RunEnd, version: TargetVersion | None) -> None:
        """A run has ended; the version that it recorded, where it is complete."""


class Watch:
    """Watches the phases of one run, keeps their durations, and logs them (see `docs/how-to/embed.md`)."""

    def __init__(self) -> None:
        self._phases: list[tuple[str, float]] = []
        self.listener: RunListener | None = None

    def phase(self, name: str) -> None:
        """A phase begins, and the one before it has ended."""
        now = time.perf_counter()
        if self._phases:
            ended, start = self._phases[-1]
            _LOG.info("phase %s ended after %.3f s", ended, now - start)
        self._phases.append((name, now))
        _LOG.info("phase %s begins", name)

    def rows(self, count: int) -> None:
        """The input has so many rows; called once the number is known."""

    @property
    def timings(self) -> tuple[Timing, ...]:
        """The phases that have ended, and the one under way as far as it got."""
        ends = [start for _, start in self._phases[1:]] + [time.perf_counter()]
        return tuple(
            Timing(name, round(end - start, 3))
            for (name, start), end in zip(self._phases, ends, strict=True)
        )


def refuse_options_of_rows(request: RunRequest) -> None:
    """Refuse what says how generalised rows are made and written, where none are.

    Raises:
        UsageError: something of the kind is asked for.
    """
    if (
        request.recoding_of is not None
        or replace(request.options, output_format=OutputFormat.CSV) != Options()
    ):
        raise UsageError(
            "options of the run",
            "these options apply to generalised rows only",
            "none of --parts, --rows-per-part, --first-cuts, --cut-threshold and --recoding-of",
            "leave them out",
        )
