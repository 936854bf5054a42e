"""What each kind of run does at each step of the one driver (`engine.run.driver`)."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from smalti.engine.backends.base import Backend
from smalti.engine.backends.staged import StagedTable
from smalti.engine.binding.checks import ReleaseCheck
from smalti.engine.binding.circumstances import Circumstances
from smalti.engine.binding.run_inputs import Granted, RunInput
from smalti.engine.binding.run_record import RunUnder
from smalti.engine.binding.run_request import RunRequest
from smalti.engine.binding.stated import Published, Stated
from smalti.engine.plan.any_plan import AnyPlan
from smalti.engine.plan.class_figures import ClassFigures
from smalti.engine.plan.examination import Examination
from smalti.engine.plan.files import PublishedFile
from smalti.engine.plan.guarantees import AnyGuarantee
from smalti.engine.plan.kinds import Kind, action_of, capability_module
from smalti.engine.plan.lines import Line
from smalti.engine.plan.notices import Notice
from smalti.engine.plan.origins import Origins
from smalti.engine.plan.plan import Column
from smalti.engine.plan.reports import Report, RowsReport
from smalti.engine.registry.budget import ChargedLoss
from smalti.engine.registry.commit import Stage
from smalti.engine.registry.entries import OutputColumn, OutputTable
from smalti.engine.registry.kept_secret import load_secret
from smalti.engine.registry.registry import Registry
from smalti.engine.tables.description import Source
from smalti.engine.tables.reading import Contents
from smalti.engine.tables.withdrawn import NOBODY, Withdrawn
from smalti.errors import InternalError, UsageError
from smalti.policy.decide.decision import Reason
from smalti.policy.model.model import Duty, Permission
from smalti.vocab.terms import IRI

if TYPE_CHECKING:
    from smalti.engine.plan.values import NoisyValue
    from smalti.engine.verify.combined import ReleasedRows
    from smalti.engine.verify.promise import PublishedCheck

P = TypeVar("P", bound=AnyPlan)
E = TypeVar("E")


@dataclass(frozen=True, slots=True)
class Compiled(Generic[P]):
    """A plan, and the data that it was made for."""

    plan: P
    run_input: RunInput
    source: Source
    contents: Contents


@dataclass(frozen=True, slots=True, kw_only=True)
class Produced:
    """An output in the stage, and what is recorded of it."""

    files: tuple[PublishedFile, ...]
    content: str
    """The digest of its content, whatever its format and files."""
    columns: tuple[OutputColumn, ...] = ()
    tables: tuple[OutputTable, ...] = ()
    """Where the output has several; it has no columns of its own then."""
    holds_records: bool = True
    """As `OutputTable.holds_records`, of an output that has one table."""
    report: Report
    """For the owners; the driver adds the timings."""
    notices: tuple[Notice, ...] = ()
    """Warnings for owners of all inputs; others get the plan's alone."""
    of_output: tuple[Notice, ...] = ()
    """Warnings of what the output itself shows, for everybody who gets it."""
    started_at: datetime | None = None
    """When it was asked who withdrew, where an earlier run did; who withdrew since keeps it from being
    recorded."""
    values: "tuple[NoisyValue, ...]" = ()
    """The statistics of a release."""
    examination: Examination | None = None
    """For the owners, and recorded nowhere; None where it was not asked for."""


@dataclass(frozen=True, slots=True)
class OwnersData:
    """The data of a recorded plan, at hand again."""

    source: Source
    withdrawn: Withdrawn
    """Who had withdrawn when the output was made."""
    population: Source | None = None
    """The population table, where the plan names one."""
    withdrawn_from_population: Withdrawn = NOBODY
    registry: Registry | None = None
    """Which recorded the output, and knows the keys that the plan names."""

    def secret(self) -> bytes:
        """That of the registry."""
        if self.registry is None:
            raise InternalError("the secret of a registry was asked for without it")
        return load_secret(self.registry.path)


@dataclass(frozen=True, slots=True)
class PlanFigures:
    """What a test case of a policy may expect of a plan."""

    method: str
    """What cases call it."""
    has_classes: bool = False
    """Whether it has the figures below."""
    k: int | None = None
    l: int | None = None  # noqa: E741 (the literature's name)
    dropped: frozenset[str] = frozenset()
    generalised: frozenset[str] = frozenset()
    kept: frozenset[str] = frozenset()


class Production(ABC):
    """The way of one run from what is exact to its output."""

    charge: ChargedLoss | None = None
    """What the ledger is charged before `produce`; None: nothing, or it was charged before."""

    @abstractmethod
    def produce(self) -> Produced | Reason:
        """Write the output into the stage; called once, behind the charge.

        Returns:
            What was produced; a reason where a duty of the permission is not met, so that nothing may be
            published.
        """

    def check_publication(self) -> None:  # noqa: B027 (most kinds refuse nothing more)
        """Refuse a publication that must not be; called last before it."""

    def published(self) -> None:  # noqa: B027 (most kinds have kept nothing)
        """Called after the publication, which nothing takes back."""


class Capability(ABC, Generic[P, E]):
    """What a kind of run does; one object for each kind, loaded when it is first used."""

    kind: Kind
    not_tried: str | None = (
        "it draws at random, so it is not carried out: a look at a draw would lose privacy that no ledger"
        " is charged for, and another draw would show more"
    )
    """Why a try carries nothing out; None: it does."""

    def untried(self, permission: Permission) -> str | None:
        """Why a permission of this kind is not tried out; None: it is."""
        del permission
        return self.not_tried

    def gives_content_again(self, plan: P) -> bool:
        """Whether a plan gives the same content each time: no part is drawn at random."""
        del plan
        return False

    has_classes: bool = False
    """Whether its plans divide rows into classes: permissions have numbers that `varied` changes, plans are
    measured by `class_measures`, and an output is examined where its owner asks for it."""

    def check_installed(self) -> None:
        """Raise UsageError where an optional dependency is missing."""

    @abstractmethod
    def check_request(self, request: RunRequest) -> None:
        """Raise UsageError where a request has options that mean nothing here."""

    def columns_read(
        self, request: RunRequest, granted: Granted
    ) -> Callable[[Source], Collection[str] | None]:
        """Which columns it looks at, by their source; None: all."""
        del request, granted
        return lambda _: None

    def key_named(self, plan: P) -> str | None:
        """The name of the key of pseudonyms that a run of a plan takes; None: it takes none."""
        del plan
        return None

    def tables(self, output: IRI) -> tuple[IRI, ...]:
        """The IRIs of the tables of an output, where it has several; each is a target of its own."""
        del output
        return ()

    @abstractmethod
    def compile(
        self,
        request: RunRequest,
        granted: Granted,
        source: Source,
        table: StagedTable,
        circumstances: Circumstances,
    ) -> P:
        """The plan of what a permission allows on this data; the budget is not checked here.

        Raises:
            SmaltiError: the data cannot be treated as the policy requires; all problems at once.
        """

    def fulfils(self, duty: Duty, permission: Permission, target: IRI) -> bool:
        """Whether a run under a permission does what the permission obliges to.

        Args:
            duty: what it obliges to.
            permission: of this kind.
            target: what the run is about.
        """
        return (
            duty.action == action_of(self.kind)
            and duty.anonymization == permission.anonymization
            and duty.output in (None, permission.output)
            and (not duty.targets or target in {asset.iri for asset in duty.targets})
            and not duty.constraints
        )

    def loss(self, plan: P) -> ChargedLoss | None:
        """What carrying out a plan loses of its ledger; None: nothing."""
        del plan
        return None

    @abstractmethod
    def promise(self, plan: P) -> str:
        """What the output of a plan promises, as one text for people."""

    @abstractmethod
    def lines(self, plan: P, notices: Sequence[Notice], *, in_full: bool) -> Sequence[Line]:
        """What a plan does, in words; says nothing that is not in the plan, but for the notices.

        Args:
            plan: of this kind.
            notices: all warnings, those of the plan too.
            in_full: False: many alike columns, or warnings, are one line.
        """

    @abstractmethod
    def as_object(self, plan: P) -> Mapping[str, object]:
        """The plan and its explanation for programs, in values of JSON."""

    @abstractmethod
    def figures(self, plan: P) -> PlanFigures:
        """What a test case may expect of a plan."""

    def plan_notices(self, plan: P) -> tuple[Notice, ...]:
        """What a plan warns of, whatever the data."""
        del plan
        return ()

    def notices(
        self, compiled: Compiled[P], table: StagedTable, *, with_counts: bool
    ) -> tuple[Notice, ...]:
        """The warnings before a run.

        Args:
            compiled: the plan, and what it was made for.
            table: its rows.
            with_counts: whether they are for somebody who may know figures of the data.
        """
        del table, with_counts
        return self.plan_notices(compiled.plan)

    def origins(self, plan: P, table: IRI) -> Origins:
        """Where the columns of an output come from, as far as they come from columns.

        Args:
            plan: of this kind.
            table: the output, or one of its tables.
        """
        del plan, table
        return Origins()

    def report_of_rows(self, report: Report) -> RowsReport:
        """A report of this kind as one of verified rows; an internal error where there are none."""
        del report
        raise InternalError(f"{self.kind} generalises no rows")

    def published_levels(self, plan: P, report: Report) -> tuple[tuple[Column, int], ...]:
        """The quasi-identifiers of an output with their levels, where each has one in all rows."""
        del plan, report
        return ()

    def can_have_levels(self, plan: P, columns: Sequence[Column]) -> bool:
        """Whether a plan could publish at the levels that an earlier release has of its columns."""
        del plan, columns
        return False

    def varied(self, permission: Permission, word: str, number: int) -> Permission:
        """A permission with another number in the place of one of its own, to try out what it would give.

        Args:
            permission: of this kind.
            word: such as `k`.
            number: above 0; it may be weaker than the permission's.

        Raises:
            PlanError: the permission states no such number.
        """
        del permission, word, number
        raise InternalError(f"nothing of {self.kind} can be varied")

    def class_measures(self, compiled: Compiled[P], table: StagedTable) -> Callable[[P], ClassFigures]:
        """What measures plans of one permission on one table, whose rows are counted once.

        It publishes nothing and proves nothing of bytes; asked only where the kind `has_classes`. The
        function raises GuaranteeError where a plan cannot be met, and PlanError where it is not measured.

        Args:
            compiled: one of the plans, and what it was made for.
            table: its rows.
        """
        del compiled, table
        raise InternalError(f"nothing of {self.kind} is in classes")

    def expected_errors(self, plan: P) -> tuple[str, ...]:
        """How far noise takes what is published from what was measured, as sentences; by the plan alone."""
        del plan
        return ()

    @abstractmethod
    def guarantee(self, plan: P) -> AnyGuarantee:
        """What the output of a plan promises, as its certificate states it."""

    @abstractmethod
    def guarantee_from(self, promised: Mapping[str, Any]) -> AnyGuarantee:
        """The guarantee in a certificate that its schema has accepted."""

    @abstractmethod
    def check_again(self, published: Published, stated: Stated[Any]) -> "PublishedCheck | ReleaseCheck":
        """Recount what the published bytes can show; hold the certificate against them and the record.

        Args:
            published: the output, in a private folder.
            stated: in its certificate, with a guarantee of this kind.

        Raises:
            GuaranteeError: bytes, certificate or record contradict each other; no value is named.
        """

    def content_again(self, plan: P, data: OwnersData, backend: Backend, place: Path) -> str:
        """The digest of what a recorded plan gives on this data; asked only where it `gives_content_again`.

        Args:
            plan: of this kind.
            data: the owner's.
            backend: where the plan runs.
            place: a private folder to work in.

        Raises:
            GuaranteeError, DataError: the data does not fit the plan.
        """
        del plan, data, backend, place
        raise InternalError(f"content of {self.kind} is drawn at random, and was to be made again")

    def released(self, compiled: Compiled[P], stage: Stage) -> "ReleasedRows | None":
        """The rows of a run in its stage, with the link from them to the data.

        None where they cannot be held beside other releases; not asked of kinds whose promise holds beside
        any (`kinds.holds_beside_others`).
        """
        del compiled, stage
        return None

    def released_again(
        self, plan: P, data: OwnersData, backend: Backend, place: Path
    ) -> "tuple[ReleasedRows, str] | None":
        """What a recorded plan publishes of this data, and the digest of its content.

        Arguments and errors are those of `content_again`; None where it cannot be repeated.
        """
        del plan, data, backend, place
        return None

    def studied(self, plan: P, table: StagedTable) -> object:
        """What a study by the owner of the data may look at; None where the kind has nothing to study.

        Nothing of it is published, charged or recorded.

        Args:
            plan: of a run.
            table: its rows, as they are staged.
        """
        del plan, table
        return None

    @abstractmethod
    def exact(self, under: RunUnder, compiled: Compiled[P], table: StagedTable) -> E:
        """What the output is made from. It may fail, and shows nothing.

        Where something is lost, nothing in it is random.
        """

    @abstractmethod
    def production(
        self, under: RunUnder, compiled: Compiled[P], exact: E
    ) -> AbstractContextManager[Production]:
        """The way from there to the output; entered before the charge, left after the publication."""


def capability_of(kind: Kind) -> Capability[AnyPlan, object]:
    """The capability of a kind."""
    capability = capability_module(kind).CAPABILITY
    if not isinstance(capability, Capability) or capability.kind != kind:
        raise InternalError(f"the room of {kind} has another capability")
    return capability


def refuse_query(request: RunRequest) -> None:
    """Raise UsageError where statistics are requested of what makes none."""
    if request.query is not None:
        raise UsageError(
            request.query.name or "query (--query)",
            "the matching permission does not release statistics",
            "a policy with the method differential-privacy",
            "leave out --query, or name another rule with --rule",
        )
