"""The frontier of risk against loss: one policy with many numbers on data that is read once.

Nothing is published, recorded, charged or logged, so a point needs no written bytes: its figures come from
the classes themselves. It has the digest of the plan that a run with the same words carries out, so that it
can be run as it stands; the run verifies.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from smalti.engine.backends.base import Backend
from smalti.engine.backends.staged import StagedTable
from smalti.engine.binding.capability import Capability, Compiled, capability_of
from smalti.engine.binding.run_inputs import Granted, admit, check_unchanged
from smalti.engine.binding.run_request import RunRequest
from smalti.engine.binding.withheld_columns import DeclaresMoreError, DeniedOnDataError
from smalti.engine.plan.any_plan import AnyPlan
from smalti.engine.plan.class_figures import ClassFigures
from smalti.engine.plan.kinds import granted_kind
from smalti.engine.plan.known_columns import KnownColumns
from smalti.engine.plan.notices import Notice, sentences
from smalti.engine.plan.plan import OutputFormat
from smalti.engine.plan.serialize import plan_digest
from smalti.engine.registry.authority import deny_afterwards
from smalti.engine.registry.commit import scratch
from smalti.engine.registry.registry import Registry
from smalti.engine.run.driver import compiled_for
from smalti.engine.run.grants import decided, described_columns, resolved_request
from smalti.engine.run.own_words import in_own_words
from smalti.engine.run.trial import Varied, check_owner, nothing_to_vary
from smalti.engine.tables.reading import file_digest
from smalti.errors import (
    GuaranteeError,
    InternalError,
    PlanError,
    ProblemsError,
    UsageError,
    for_owner,
    only_ours,
)
from smalti.policy.decide.decision import Decision, Fact
from smalti.policy.decide.fact_text import parameter

MOST_POINTS: Final = 200
"""More are not measured at once."""
Numbers: TypeAlias = tuple[Varied, ...]
"""One for each word that is varied."""
_REFUSED: Final = (PlanError, GuaranteeError, ProblemsError)


@dataclass(frozen=True, slots=True)
class Point:
    """One choice of numbers."""

    numbers: Numbers
    plan_digest: str | None = None
    """Of the plan; None where there is none."""
    figures: ClassFigures | None = None
    """None where the numbers cannot be met."""
    problem: str = ""
    """Why there are no figures; for the owner of the data."""
    refused: str = ""
    """Why `run` refuses these words under the policy as it stands; empty where it does not."""

    @property
    def words(self) -> tuple[str, ...]:
        """What `run` and `plan` take with --with."""
        return tuple(f"{varied.word}={varied.number}" for varied in self.numbers if varied.is_asked)


@dataclass(frozen=True, slots=True)
class Sweep:
    """What a sweep shows the data's owner."""

    decision: Decision
    """On the policy as it stands, without other numbers."""
    points: tuple[Point, ...] = ()
    """In the order in which they were asked for; none where the decision does not permit."""
    notices: tuple[Notice, ...] = ()
    """Of the plan that the policy has as it stands."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """The notices as sentences."""
        return sentences(self.notices)

    def __repr__(self) -> str:
        """One line; the attributes say the rest."""
        met = sum(point.figures is not None for point in self.points)
        return f"<Sweep: {self.decision.effect}, {len(self.points)} points, {met} can be met>"


@only_ours()
@in_own_words
def swept(request: RunRequest, registry: Registry, backend: Backend, points: Sequence[Numbers]) -> Sweep:
    """Measure a policy with other numbers in the place of its own; nothing is recorded, charged or logged.

    Args:
        request: of a run.
        registry: only read; one that logs no decisions (`registry.without_log`).
        backend: where it works. The frequency table of all rows has to fit in memory.
        points: at least one and at most `MOST_POINTS`; numbers stronger or weaker than the policy's.

    Raises:
        UsageError: the submitter does not fully own the data; the permission generalises no rows; or a word
            is varied and asked for, too.
        SmaltiError: as `engine.run.run.run`, as far as it gets; not for points, which say so.
    """
    if registry.decision_log is not None:
        raise InternalError("a sweep would be logged")
    if not 0 < len(points) <= MOST_POINTS:
        raise InternalError("a sweep has no points, or too many")
    check_owner(request, registry, "a sweep")
    request = resolved_request(request, registry)
    request = replace(
        request, options=replace(request.options, output_format=OutputFormat.CSV, rows_per_part=None)
    )
    columns = described_columns(request)
    try:
        return _swept(request, registry, backend, points, columns)
    except DeclaresMoreError as more:
        return _swept(request, registry, backend, points, more.columns)


def _swept(
    request: RunRequest,
    registry: Registry,
    backend: Backend,
    points: Sequence[Numbers],
    columns: KnownColumns,
) -> Sweep:
    facts = {varied: _fact(varied) for numbers in points for varied in numbers}
    _refuse_twice(request, facts.values())
    decision, granted = decided(request, registry, columns)
    if granted is None:
        return Sweep(decision)
    capability = capability_of(granted_kind(granted.permission))
    if not capability.has_classes:
        raise nothing_to_vary("`smalti plan` and `smalti try` show what a run would do")
    with (
        scratch(request.workspace) as place,
        compiled_for(capability, request, registry, backend, granted, place / "spill") as (compiled, table),
    ):
        try:
            admit(request, registry, compiled.run_input, compiled.source, table, compiled.plan)
        except DeniedOnDataError as refused:
            return Sweep(deny_afterwards(registry, decision, refused.reason))
        notices = capability.notices(compiled, table, with_counts=True)
        measurer = _Measurer(
            request, registry, columns, granted, capability, compiled, table, facts,
            capability.class_measures(compiled, table),
        )  # fmt: skip
        measured = tuple(map(measurer.point, points))
        source = compiled.source
        check_unchanged(source, [file_digest(path) for path in source.paths], compiled.contents)
        return Sweep(decision, measured, notices)


def _fact(varied: Varied) -> Fact:
    return parameter(f"{varied.word}={varied.number}", "vary (--vary)")


def _refuse_twice(request: RunRequest, facts: Iterable[Fact]) -> None:
    twice = {fact.operand for fact in facts} & {fact.operand for fact in request.asks}
    if twice:
        raise UsageError(
            "vary (--vary)",
            "a word is varied, and asked for with --with",
            "one of both",
            "leave one out",
        )


@dataclass(frozen=True, slots=True)
class _Measurer:
    """What all points have in common."""

    request: RunRequest
    registry: Registry
    columns: KnownColumns
    granted: Granted
    capability: Capability[AnyPlan, object]
    compiled: Compiled[AnyPlan]
    table: StagedTable
    facts: dict[Varied, Fact]
    measure: Callable[[AnyPlan], ClassFigures]

    def point(self, numbers: Numbers) -> Point:
        """Measure one choice of numbers."""
        plan, refused = self._as_it_stands(numbers)
        try:
            if plan is None:
                plan = self._with_other_numbers(numbers)
        except _REFUSED as problem:
            return Point(numbers, problem=_text(problem), refused=refused)
        digest = plan_digest(plan)
        try:
            return Point(numbers, digest, self.measure(plan), refused=refused)
        except _REFUSED as problem:
            return Point(numbers, digest, problem=_text(problem), refused=refused)

    def _as_it_stands(self, numbers: Numbers) -> tuple[AnyPlan | None, str]:
        """The plan of a run that asks for the numbers, or why there is none."""
        asks = tuple(self.facts[varied] for varied in numbers if varied.is_asked)
        request = replace(self.request, asks=(*self.request.asks, *asks))
        try:
            decision, granted = decided(request, self.registry, self.columns)
            if granted is None:
                return None, _denial(decision)
            plan = self._compiled(granted, request.asks)
        except _REFUSED as refused:
            return None, _text(refused)
        if not self._has(plan, numbers):
            return None, "the policy's own numbers are stronger"
        return plan, ""

    def _with_other_numbers(self, numbers: Numbers) -> AnyPlan:
        """The plan of a policy that states the numbers.

        Raises:
            PlanError: there is no such policy.
        """
        permission = self.granted.permission
        for varied in numbers:
            permission = self.capability.varied(permission, varied.word, varied.number)
        plan = self._compiled(replace(self.granted, permission=permission), self.request.asks)
        if not self._has(plan, numbers):
            raise PlanError(
                str(permission.where),
                "k is below l: a class with l different values has at least l respondents",
                "k of at least l",
                "vary larger k",
            )
        return plan

    def _compiled(self, granted: Granted, asks: tuple[Fact, ...]) -> AnyPlan:
        compiled = self.compiled
        circumstances = replace(compiled.run_input.circumstances, asks=asks)
        return self.capability.compile(self.request, granted, compiled.source, self.table, circumstances)

    def _has(self, plan: AnyPlan, numbers: Numbers) -> bool:
        """Whether a plan promises exactly these numbers."""
        figures = self.capability.figures(plan)
        promised = {"k": figures.k, "l": figures.l or 1}
        return all(promised[varied.word] == varied.number for varied in numbers)


def _denial(decision: Decision) -> str:
    """Why a decision does not permit: what it says of rules, without what holds for all points."""
    of_rules = [reason.text for reason in decision.reasons if reason.rule is not None]
    return "; ".join(of_rules or [reason.text for reason in decision.reasons])


def _text(refused: PlanError | GuaranteeError | ProblemsError) -> str:
    if isinstance(refused, GuaranteeError):
        best = "; ".join(refused.attainable)
        # Without the numbers: what is true of several points is said once.
        return f"the data cannot meet it: everything in one class has {best}" if best else refused.problem
    worded = for_owner(refused, with_figures=True)
    if isinstance(worded, ProblemsError):
        return "; ".join(problem.problem for problem in worded.problems)
    return worded.problem
