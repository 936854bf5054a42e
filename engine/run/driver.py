"""The one driver of all kinds of runs: bind, compile, admit, take what is exact, charge, produce, publish.

The order is what protects, and it stands here alone. Nothing random happens before the ledger has taken the
charge; there is one draw for each charge; what was drawn is readable only as the one output that is
published under it. A run that dies after the charge stays charged, and publishes nothing; a repeated run
is charged again.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

from smalti.engine.backends.base import Backend
from smalti.engine.backends.staged import StagedTable
from smalti.engine.binding.binding import described_input
from smalti.engine.binding.capability import Capability, Compiled, E, P, Produced, Production
from smalti.engine.binding.known_respondents import with_respondents
from smalti.engine.binding.mixed_cells import notices_of_mixed_cells
from smalti.engine.binding.population import bound_population
from smalti.engine.binding.run_inputs import Granted, admit, bound, check_unchanged, look_up_input
from smalti.engine.binding.run_record import RunUnder, new_version
from smalti.engine.binding.run_request import Outcome, RunRequest
from smalti.engine.binding.withheld_columns import DeniedOnDataError
from smalti.engine.losses.charging import composition, refusal
from smalti.engine.plan.kinds import holds_beside_others
from smalti.engine.plan.notices import Notice, ordered
from smalti.engine.plan.phase import Phase
from smalti.engine.registry.authority import deny_afterwards
from smalti.engine.registry.commit import publish
from smalti.engine.registry.registry import Registry
from smalti.engine.run.combination import Combined, check_combination, is_held_together
from smalti.engine.run.recoding import kept_recoding
from smalti.engine.tables.reading import file_digest
from smalti.errors import InternalError
from smalti.policy.decide.decision import Reason

_ONLY_THE_RUN: Final = (
    "whether it keeps every promise together with earlier releases about the same people is told by the run"
    " alone, since it is not drawn for a look"
)


@contextmanager
def compiled_for(  # noqa: PLR0913, PLR0917 (a request, and all that it is compiled under)
    capability: Capability[P, E],
    request: RunRequest,
    registry: Registry,
    backend: Backend,
    granted: Granted,
    workspace: Path,
    phase: Phase = lambda _: None,
) -> Iterator[tuple[Compiled[P], StagedTable]]:
    """A plan for the data of a request, and its rows as they are staged; these are gone at the end.

    Raises:
        SmaltiError: as `engine.run.plans.plan`.
    """
    capability.check_request(request)
    columns = with_respondents(capability.columns_read(request, granted), request, registry)
    with bound(request, backend, workspace, phase, columns) as (source, table):
        opened = bound_population(request, registry, backend, granted.permission, workspace, phase)
        with opened as population:
            phase("plan")
            run_input = look_up_input(request, registry, granted, source, table)
            run_input = run_input.recoded(kept_recoding(request, registry, run_input.inputs))
            if population is not None:
                run_input = run_input.beside(population)
            plan = capability.compile(request, granted, source, table, run_input.circumstances)
            yield Compiled(plan, run_input, source, table.contents), table


def carry_out(capability: Capability[P, E], under: RunUnder) -> Outcome:
    """Carry out a run completely, or leave nothing but a charge and an attempt.

    Returns:
        The outcome; a denial where it does not fit into what is left of its budget, and where a duty of the
        permission is not met.

    Raises:
        SmaltiError: as `engine.run.run.run`.
    """
    with _prepared(capability, under) as (compiled, production):
        if production.charge is not None:
            under.watch.phase("charge")
            denial = refusal(under, compiled.plan, production.charge, compiled.contents)
            if denial is not None:
                return Outcome(denial, None, None, None)
        produced = production.produce()
        if isinstance(produced, Reason):
            denial = deny_afterwards(under.registry, under.decision, produced)
            return Outcome(denial, None, None, None)
        outcome = _recorded(
            capability,
            under,
            compiled,
            produced,
            check_combination(capability, under, compiled, produced),
            production.check_publication,
        )
        production.published()
        return outcome


def try_production(capability: Capability[P, E], under: RunUnder) -> tuple[P, Produced | Reason]:
    """Carry out a run up to its verified output, and stop: nothing is charged, published or recorded.

    Args:
        capability: of a kind that may be tried out (`Capability.untried`), and draws nothing at random.
        under: the run; its stage has the output, as long as that stands.

    Raises:
        SmaltiError: as `engine.run.run.run`.
    """
    if capability.untried(under.granted.permission) is not None:
        raise InternalError("what is not tried out was to be tried out without a charge")
    with _prepared(capability, under) as (compiled, production):
        if production.charge is not None:
            raise InternalError("what is charged was to be tried out")
        produced = production.produce()
        if not isinstance(produced, Reason):
            check_combination(capability, under, compiled, produced)
        return compiled.plan, produced


def check_beside_earlier(capability: Capability[P, E], under: RunUnder, plan: P) -> Notice | None:
    """Judge a run beside earlier releases about the same people as the run itself does, and record nothing.

    What is drawn at random is not drawn for it.

    Args:
        capability: of the run.
        under: the run; its stage is gone afterwards.
        plan: of the run.

    Returns:
        That only the run can tell; None: there is nothing more to tell.

    Raises:
        DeniedOnDataError: the run would be denied.
        SmaltiError: as `engine.run.run.run`, where the run would be refused.
    """
    if holds_beside_others(capability.kind) or not under.registry.exists:
        return None
    if not capability.gives_content_again(plan):
        request, spill = under.request, under.stage.spill
        with compiled_for(capability, request, under.registry, under.backend, under.granted, spill) as (
            compiled,
            _,
        ):
            is_open = is_held_together(capability, under, compiled)
        return Notice(_ONLY_THE_RUN, is_of_data=True) if is_open else None
    with _prepared(capability, under) as (compiled, production):
        if not is_held_together(capability, under, compiled):
            return None
        produced = production.produce()
        if isinstance(produced, Reason):
            raise DeniedOnDataError(produced)
        check_combination(capability, under, compiled, produced)
        return None


@contextmanager
def _prepared(capability: Capability[P, E], under: RunUnder) -> Iterator[tuple[Compiled[P], Production]]:
    """What is exact, and the way from there to the output."""
    capability.check_installed()
    compiled, exact = _exact(capability, under)
    source = compiled.source
    check_unchanged(source, [file_digest(path) for path in source.paths], compiled.contents)
    with capability.production(under, compiled, exact) as production:
        yield compiled, production


def _exact(capability: Capability[P, E], under: RunUnder) -> tuple[Compiled[P], E]:
    request, registry, watch = under.request, under.registry, under.watch
    with compiled_for(
        capability, request, registry, under.backend, under.granted, under.stage.spill, watch.phase
    ) as (compiled, table):
        admit(request, registry, compiled.run_input, compiled.source, table, compiled.plan)
        return compiled, capability.exact(under, compiled, table)


def _recorded(
    capability: Capability[P, E],
    under: RunUnder,
    compiled: Compiled[P],
    produced: Produced,
    combined: Combined | None,
    check_publication: Callable[[], None],
) -> Outcome:
    registry, watch, plan = under.registry, under.watch, compiled.plan
    watch.phase("register")
    loses = capability.loss(plan) is not None
    together = composition(registry, under.request.target) if loses else None
    report = replace(produced.report, timings=watch.timings)
    run_input = compiled.run_input
    if produced.started_at is not None:
        run_input = replace(run_input, at=produced.started_at)
    guarantee = capability.guarantee(plan)
    record = new_version(
        under,
        plan,
        run_input,
        produced.files,
        guarantee,
        together,
        produced.columns,
        produced.content,
        report,
        produced.tables,
    )
    record = replace(record, holds_records=produced.holds_records)
    if under.binds_as_owner:
        described = described_input(registry, compiled.source, compiled.contents)
        record = replace(record, input_description=described)
    if combined is not None:
        record = replace(
            record,
            combined_with=combined.runs,
            same_people=combined.same_people,
            files_with_rows=combined.files_with_rows,
            is_same_by_content=combined.is_same_by_content,
        )
    check_publication()
    version = publish(registry, under.stage, record)
    if under.request.submitter not in registry.ownership.full(version.target):
        of_plan = ordered((*produced.of_output, *capability.plan_notices(plan)))
        return Outcome(
            under.decision, plan, version, None, of_plan, together, produced.values, guarantee.published
        )
    mixed = notices_of_mixed_cells(compiled.source, plan.used_columns, with_counts=True)
    notices = ordered((*produced.of_output, *produced.notices, *mixed))
    return Outcome(
        under.decision,
        plan,
        version,
        version.report,
        notices,
        together,
        produced.values,
        guarantee.published,
        produced.examination,
    )
