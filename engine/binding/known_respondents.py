"""Who the respondents are, by request or record; no run continues while nothing declares them.

A promise about people needs knowledge about people. Whoever says in a request which rows are about one
person decides what k counts, so only a party that fully owns the data may (semantics of authority).
"""

from collections.abc import Callable, Collection

from smalti.engine.binding.binding import check_binding, made_from
from smalti.engine.binding.run_request import RunRequest
from smalti.engine.plan.any_plan import AnyPlan
from smalti.engine.plan.plan import Respondent, RespondentColumn
from smalti.engine.plan.respondents import WAYS_TO_DECLARE, counts_rows
from smalti.engine.registry.registry import Registry
from smalti.engine.tables.description import Source
from smalti.engine.tables.reading import Contents
from smalti.errors import PlanError, UsageError
from smalti.vocab.terms import IRI

Columns = Callable[[Source], Collection[str] | None]


def requested_respondent(request: RunRequest, registry: Registry) -> Respondent | None:
    """The respondents that a request declares; without a party, anyone may declare them.

    Raises:
        UsageError: the request says it, and who submits it does not fully own the data.
    """
    if request.respondent is None or request.party is None or _may_say(request, registry):
        return request.respondent
    raise UsageError(
        "respondent (--respondent, --one-row-each)",
        f"{request.submitter} does not own `{request.target}`, and must not declare its respondents",
        "a declaration by a party that owns all of it",
        "leave it out: the owner's declaration applies; or let an owner submit the policy (--owner)",
    )


def _may_say(request: RunRequest, registry: Registry) -> bool:
    """Whether the submitter owns all of the target, or the target has no owner yet."""
    if not registry.ownership.is_known(request.target):
        return True
    return request.submitter in registry.ownership.full(request.target)


def recorded_respondent(request: RunRequest, registry: Registry, contents: Contents) -> Respondent | None:
    """What an owner said of respondents in the last run on this data, for those who may not say it.

    None for owners, who say it again, and where no run on the same bytes is known.
    """
    if request.party is None or not registry.exists or _may_say(request, registry):
        return None
    respondents = [version.respondent for version in made_from(registry, request.target, contents)]
    return respondents[-1] if respondents and not counts_rows(respondents[-1]) else None


def with_respondents(columns: Columns, request: RunRequest, registry: Registry) -> Columns:
    """Which columns a run looks at, with those that may tell people apart by request or record."""
    versions = made_from(registry, request.target) if registry.exists else []
    said = [request.respondent, *(version.respondent for version in versions)]
    names = {respondent.column for respondent in said if isinstance(respondent, RespondentColumn)}

    def wanted(source: Source) -> Collection[str] | None:
        names_read = columns(source)
        return None if names_read is None else {*names_read, *names}

    return wanted


def check_run(
    registry: Registry, source: Source, contents: Contents, plan: AnyPlan, submitter: IRI
) -> None:
    """Refuse data that no run may use: every kind of run calls this before anything is counted.

    Args:
        registry: what is known.
        source: the target, as it is bound.
        contents: of its files.
        plan: the plan on it.
        submitter: who binds it.

    Raises:
        UsageError: it may not be bound so (see `check_binding`).
        PlanError: nothing says which rows are about one person.
    """
    check_binding(registry, source, contents, plan, submitter)
    if not counts_rows(plan.read.respondent):
        return
    if registry.exists and registry.outputs.of(source.target):
        raise PlanError(
            str(source.target),
            "its respondents were not declared when it was made: its k counts rows, and so would the k of"
            " any output made from it",
            "an output of data whose respondents are declared",
            "declare them for the data that it was made from, make it again, and use that version",
        )
    raise PlanError(
        str(source.target),
        "no respondent is declared, and the guarantee counts people",
        "the column that identifies respondents, or a declaration of one row each",
        WAYS_TO_DECLARE,
    )
