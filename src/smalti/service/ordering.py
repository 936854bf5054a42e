"""From what a party asks of a job to a request for a worker: names become places, and nothing else does."""

import json
import os
import secrets
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from smalti.describing import check_as_bound
from smalti.engine.jobs.requests import Assess, Audit, JobRequest, Run, Sweep
from smalti.engine.registry.bound_data import BoundData
from smalti.engine.registry.entries import StoredPolicy
from smalti.engine.registry.registry import Registry
from smalti.errors import UsageError
from smalti.permitting import data_of
from smalti.policy.decide.names import iri
from smalti.service.disclosure import governs, is_for
from smalti.service.operations import Described
from smalti.service.parties import Asker
from smalti.service.problems import RefusedError, not_found
from smalti.vocab.terms import IRI

_Iri = Annotated[str, Field(max_length=4096)]
_Text = Annotated[str, Field(max_length=4096)]
_Texts = Annotated[tuple[_Text, ...], Field(max_length=100)]
_POLICY: Final = "policy.jsonld"
_QUERY: Final = "query.json"


class PolicyJob(Described):
    """What every job about a policy and data may state."""

    policy: Annotated[
        _Iri, Field(description="the uid of a policy in force that names the asker, or its own")
    ]
    target: Annotated[_Iri, Field(description="a target that data is bound to")]
    purpose: _Text | None = None
    rule: Annotated[_Iri | None, Field(description="where several permissions match")] = None
    recipient: Annotated[
        _Iri | None, Field(description="for owners: for whom it is done; the asker when absent")
    ] = None
    respondent: Annotated[_Text | None, Field(description="for owners: a column")] = None
    one_row_each: Annotated[bool, Field(description="for owners")] = False
    population: Annotated[
        _Iri | None, Field(description="the population table that the policy names, where it is bound")
    ] = None
    query: Annotated[dict[str, Any] | None, Field(description="of a release")] = None
    parameters: Annotated[_Texts, Field(description="each `WORD=VALUE`, such as `k=20`")] = ()
    facts: Annotated[_Texts, Field(description="each `OPERAND=VALUE`, on the party's word")] = ()
    accepted: _Texts = ()
    agreed: Annotated[_Text | None, Field(description="a time with its zone")] = None


class RunJob(PolicyJob):
    """A run; `audit` where the policy demands an audit of a model."""

    kind: Literal["run", "audit"]
    output_format: Literal["csv", "parquet"] = "csv"


class SweepJob(PolicyJob):
    """Risk against loss with other numbers; for owners."""

    kind: Literal["sweep"]
    vary: Annotated[_Texts, Field(min_length=1, description="each such as `k=2,5,10`")]


class AssessJob(Described):
    """What tells people of a table apart; for owners."""

    kind: Literal["assess"]
    target: _Iri
    respondent: _Text | None = None
    one_row_each: bool = False
    quasi_identifiers: _Texts = ()
    sensitive: _Texts = ()
    identifiers: _Texts = ()
    size: Annotated[int, Field(ge=1, le=10)] = 3


Order = RunJob | SweepJob | AssessJob


def request_for(registry: Registry, asker: Asker, order: Order, folder: Path) -> JobRequest:
    """What a worker is asked to do.

    Data is what the owner bound to the target. A policy is one in force, submitted on the word of its
    issuer, as it is stored: whether it permits this to the party, the job decides.

    Args:
        registry: of policies and bindings.
        asker: who orders it.
        order: what.
        folder: a new private folder for its documents and its output.

    Raises:
        RefusedError: there is no such policy or target for the asker, or no data is bound.
        UsageError: something is stated that is an owner's to state.
    """
    target = iri(order.target, "target")
    is_owner = asker.party in registry.full_owners(target)
    if isinstance(order, AssessJob):
        if not is_owner:
            raise not_found()
        return Assess(
            data=str(bound_data(registry, target).place), respondent=order.respondent,
            one_row_each=order.one_row_each, quasi_identifiers=order.quasi_identifiers,
            sensitive=order.sensitive, identifiers=order.identifiers, size=order.size,
        )  # fmt: skip
    if isinstance(order, SweepJob):
        return Sweep(**tried_by_owner(registry, asker, order, folder), vary=order.vary)
    stored = _policy(registry, asker, iri(order.policy, "policy"), target)
    if not is_owner:
        _check_is_no_owners_word(order)
    common = _common(registry, asker, order, stored, folder)
    kind = Run if order.kind == "run" else Audit
    return kind(**common, out=str(folder / "published"), output_format=order.output_format)


def tried_by_owner(registry: Registry, asker: Asker, order: PolicyJob, folder: Path) -> dict[str, Any]:
    """What a request states of a policy that the owner of its data tries, for whom it names.

    Raises:
        RefusedError: there is no such policy or target for the asker, or no data is bound.
    """
    stored, _ = bound_for_owner(registry, asker, order.policy, order.target)
    common = _common(registry, asker, order, stored, folder)
    # Without a recipient it is tried for whom the policy names, as on the command line.
    return common | ({} if order.recipient else {"party": None})


def bound_for_owner(
    registry: Registry, asker: Asker, policy: str, target: str
) -> tuple[StoredPolicy, BoundData]:
    """A policy in force and the data of its target, for whoever owns all of that.

    Raises:
        RefusedError: there is no such policy or target for the asker, or no data is bound.
    """
    bound = owned_data(registry, asker, target)
    return _policy(registry, asker, iri(policy, "policy"), iri(target, "target")), bound


def owned_data(registry: Registry, asker: Asker, target: str) -> BoundData:
    """The data of a target, for whoever owns all of that.

    Raises:
        RefusedError: there is no such target for the asker, or no data is bound.
    """
    about = iri(target, "target")
    if asker.party not in registry.full_owners(about):
        raise not_found()
    return bound_data(registry, about)


def new_folder(outputs: Path) -> tuple[str, Path]:
    """The id of a new job, and its folder, which nobody else may enter."""
    job_id = secrets.token_hex(8)
    folder = outputs / job_id
    folder.mkdir(mode=0o700)
    return job_id, folder


def _common(
    registry: Registry, asker: Asker, order: PolicyJob, stored: StoredPolicy, folder: Path
) -> dict[str, Any]:
    party = asker.party if order.recipient is None else iri(order.recipient, "recipient")
    _write(folder / _POLICY, stored.document)
    if order.query is not None:
        _write(folder / _QUERY, json.dumps(order.query).encode())
    return {
        "policy": str(folder / _POLICY),
        "target": order.target,
        "data": str(bound_data(registry, iri(order.target, "target")).place),
        "party": str(party),
        "owner": str(stored.issuer),
        "purpose": order.purpose,
        "rule": order.rule,
        "respondent": order.respondent,
        "one_row_each": order.one_row_each,
        "population": _population(registry, order, stored),
        "query": None if order.query is None else str(folder / _QUERY),
        "parameters": order.parameters,
        "facts": order.facts,
        "accepted": order.accepted,
        "on_behalf_of": str(party) if order.accepted else None,
        "agreed": order.agreed,
    }


def _policy(registry: Registry, asker: Asker, uid: IRI, target: IRI) -> StoredPolicy:
    """The policy in force under a uid, of somebody who owns all of the target."""
    owners = registry.full_owners(target)
    for stored in registry.policies_about(target):
        is_visible = is_for(asker, stored) or governs(registry, asker, stored)
        if stored.uid == uid and stored.issuer in owners and is_visible:
            return stored
    raise not_found()


def bound_data(registry: Registry, target: IRI) -> BoundData:
    """The data that is bound to a target.

    Raises:
        RefusedError: there is none.
    """
    bound = data_of(registry, target)
    if bound is None:
        raise RefusedError(409, "conflict", "no data is bound to this target: its owner uploads it first")
    check_as_bound(bound)
    return bound


def _population(registry: Registry, order: PolicyJob, stored: StoredPolicy) -> str | None:
    """The place of the population, whose owner must be the policy's issuer."""
    if order.population is None:
        return None
    population = iri(order.population, "population")
    if stored.issuer not in registry.full_owners(population):
        raise not_found()
    return str(bound_data(registry, population).place)


def _check_is_no_owners_word(order: PolicyJob) -> None:
    stated = {
        "recipient": order.recipient, "respondent": order.respondent,
        "oneRowEach": order.one_row_each or None,
    }  # fmt: skip
    for name, value in stated.items():
        if value is not None:
            raise UsageError(
                name, "only an owner of all of the target may state it", "nothing", "leave it out"
            )


def _write(place: Path, content: bytes) -> None:
    descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
