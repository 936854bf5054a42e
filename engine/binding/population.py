"""The population table of a run: all persons that the respondents of its target come from."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

from smalti.engine.backends.base import Backend
from smalti.engine.binding.binding import check_named_alike
from smalti.engine.binding.bound_population import BoundPopulation
from smalti.engine.binding.run_request import RunRequest
from smalti.engine.binding.withheld_columns import DeniedOnDataError, declared_columns, described_columns
from smalti.engine.plan.known_columns import NO_COLUMNS, KnownColumns
from smalti.engine.plan.phase import Phase
from smalti.engine.registry.authority import prohibitions_on
from smalti.engine.registry.registry import Registry
from smalti.engine.tables.bringing import brought
from smalti.engine.tables.disk import private_folder
from smalti.errors import UsageError
from smalti.policy.decide.decision import Reason
from smalti.policy.decide.decision import Request as DecisionRequest
from smalti.policy.model.column_iris import normalised_column
from smalti.policy.model.model import Comparison, Named, Permission
from smalti.vocab.terms import ANONYMIZE, IRI, POPULATION

_WHERE: Final = "population (--population)"


def population_of(permission: Permission) -> IRI | None:
    """The population table that a permission names."""
    wanted = permission.anonymization
    for parameter in () if wanted is None else wanted.parameters:
        match parameter:
            case Comparison(operand=operand, values=(Named(iri),)) if operand == POPULATION:
                return iri
    return None


@contextmanager
def bound_population(
    request: RunRequest,
    registry: Registry,
    backend: Backend,
    permission: Permission,
    workspace: Path,
    phase: Phase,
) -> Iterator[BoundPopulation | None]:
    """The population table that a permission names, staged; None where it names none; gone at the end.

    Args:
        request: names its data.
        registry: knows its owners, and who withdrew.
        backend: where rows are staged.
        permission: of the run.
        workspace: a private folder beside which there is room for another one.
        phase: called at the start of each phase.

    Raises:
        UsageError: permission and request do not fit together, or the submitter may not bind it.
        DataError, BackendError: as for the target.
        DeniedOnDataError: a policy prohibits a column that only the population's description names.
    """
    iri = population_of(permission)
    if iri is None:
        if request.population is not None:
            raise UsageError(
                _WHERE,
                "the matching permission names no population table",
                "a policy with the method k-map or delta-presence",
                "leave it out",
            )
        yield None
        return
    if request.population is None:
        raise UsageError(
            _WHERE,
            f"the policy holds classes against the population `{iri}`, and no data is bound to it",
            "the file of the population table",
            "name it with --population",
        )
    if normalised_column(iri) == normalised_column(request.target):
        raise UsageError(
            str(permission.where),
            "the population is the target itself, so that all of its persons are in it",
            "the table of all persons that the respondents come from",
            "name that table, or state the method k-anonymity",
        )
    _check_authority(request, registry, iri)
    source = brought(iri, request.population, workspace.with_name("population-input"), phase)
    reason = prohibited_population(request, registry, permission, declared_columns(source))
    if reason is not None:
        raise DeniedOnDataError(reason)
    phase("read population")
    place = private_folder(workspace.with_name("population"))
    with closing(backend.open(source, place)) as table:
        if request.party is not None and registry.exists:
            check_named_alike(registry, source, table.contents, request.submitter)
        withdrawn = registry.withdrawals.of(iri, None, at=registry.withdrawals.moment())
        columns = described_columns(source, table.contents.header, request.owner or request.party)
        yield BoundPopulation(source, table, withdrawn, columns)


def _check_authority(request: RunRequest, registry: Registry, iri: IRI) -> None:
    if request.party is None or not registry.exists:
        return
    if registry.outputs.of(iri):
        raise UsageError(
            _WHERE,
            f"`{iri}` is an output, whose values are generalised",
            "the original table of all persons",
            "name another population in the policy",
        )
    if registry.ownership.is_known(iri) and request.submitter not in registry.ownership.full(iri):
        raise UsageError(
            _WHERE,
            f"{request.submitter} does not own `{iri}`, and must not bind data to it",
            "a party that owns all of the target and of the population table",
            "let an owner of both submit the policy (--owner)",
        )


def prohibited_population(
    request: RunRequest, registry: Registry, permission: Permission, columns: KnownColumns = NO_COLUMNS
) -> Reason | None:
    """A prohibition on the population table, or a part of it, that applies to a run.

    A permission of its own is not needed: who submits the policy owns the table. Its owners' prohibitions
    stand all the same (semantics of authority).

    Args:
        request: of the run.
        registry: what is known; it is only read.
        permission: names the population table.
        columns: what its description tells of its columns, where it has been read.
    """
    iri = population_of(permission)
    if iri is None or request.party is None:
        return None
    asked = DecisionRequest(
        party=request.party,
        action=ANONYMIZE,
        targets=(iri,),
        purpose=request.purpose,
        columns=columns.iris,
        renamed=columns.renamed,
    )
    return next(iter(prohibitions_on(registry, asked, request.submission)), None)
