"""Audits of models: what may be attacked and how, studies of model files, and reports, for people too."""

from collections.abc import Sequence
from typing import Final

from smalti import auditing
from smalti.auditing import Audited
from smalti.engine.jobs import queue
from smalti.engine.jobs.requests import page_of
from smalti.service.operations import (
    JSON_LD,
    Answer,
    AnyOperation,
    Call,
    NoQuery,
    Operation,
    answered,
    having,
    listing,
)
from smalti.service.pages import Paged, page
from smalti.service.parties import READERS, Asker
from smalti.service.problems import not_found
from smalti.service.routes.jobs import JOB, job_of, queued
from smalti.service.studies import STUDIES, StudyOrdered, study_for
from smalti.study_choices import attacks_json, is_model, recipes_json

HTML: Final = "text/html"
_ALONE: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'none'; base-uri 'none';"
        " frame-ancestors 'none'; sandbox"
    )
}
"""Of a report that a browser shows: nothing in it runs, and it asks for nothing."""
_AUDIT: Final = having("run", "model", "data", "policy", "state", "number", "begun", "ended", "hasFigures")


def list_choices(call: Call[NoQuery, None]) -> Answer:
    """What a study can be asked to do."""
    del call
    studies = [kind.to_json() for kind in STUDIES]
    return answered({"attacks": attacks_json(), "recipes": recipes_json(), "studies": studies})


def list_auditable(call: Call[Paged, None]) -> Answer:
    """The targets that models and tables are bound to, without their files and what is in them."""
    registry, asker = call.service.registry, call.asker
    seen = [
        bound
        for bound in registry.bindings.in_force()
        if asker.audits or asker.party in registry.full_owners(bound.target)
    ]
    return answered(
        page(
            seen, call.query, lambda bound: f"{bound.target} {bound.id}",
            lambda bound: {
                "target": bound.target, "isModel": is_model(bound.name),
                "owners": sorted(registry.full_owners(bound.target)),
            },
        )
    )  # fmt: skip


def order_study(call: Call[NoQuery, StudyOrdered]) -> Answer:
    """Queue a study."""
    registry, asker, order = call.service.registry, call.asker, call.body.root
    return queued(call, lambda folder: study_for(registry, asker, order, folder))


def read_study_page(call: Call[NoQuery, None]) -> Answer:
    """The report of a study as a page, for whoever ordered it."""
    job = job_of(call)
    place = page_of(queue.request_of(job))
    if job.party != call.asker.party or place is None:
        raise not_found()
    text = auditing.written_page(place)
    if text is None:
        raise not_found()
    return Answer(text, HTML, headers=_ALONE)


def list_audits(call: Call[Paged, None]) -> Answer:
    """The audits that trainings had."""
    return answered(
        page(_seen(call), call.query, lambda audited: f"{audited.attempt.begun_at.isoformat()}"
             f" {audited.attempt.run}", auditing.row)
    )  # fmt: skip


def read_audit(call: Call[NoQuery, None]) -> Answer:
    """The quality certificate of an audit."""
    certificate = auditing.to_json((_audited(call),))
    return Answer(answered(certificate).content, JSON_LD)


def read_audit_page(call: Call[NoQuery, None]) -> Answer:
    """The report of an audit, as a page."""
    return Answer(auditing.to_page(_audited(call)).encode(), HTML, headers=_ALONE)


def _seen(call: Call[Paged, None] | Call[NoQuery, None]) -> Sequence[Audited]:
    asker: Asker = call.asker
    return auditing.every_audit(call.service.registry, owner=None if asker.audits else asker.party)


def _audited(call: Call[NoQuery, None]) -> Audited:
    for audited in _seen(call):
        if audited.attempt.run == call.path["run"]:
            return audited
    raise not_found()


OPERATIONS: Final[tuple[AnyOperation, ...]] = (
    Operation(
        method="GET", path="/v1/audit-choices", name="listAuditChoices", tag="audits",
        summary="List attacks, recipes with their hyperparameters, and studies with what they ask.",
        roles=READERS, handler=list_choices, query=NoQuery, body=type(None),
        gives=having("attacks", "recipes", "studies"),
    ),
    Operation(
        method="GET", path="/v1/auditable", name="listAuditable", tag="audits",
        summary="List targets with models and tables that the asker may study; of auditors, all.",
        roles=READERS, handler=list_auditable, query=Paged, body=type(None),
        gives=listing(having("target", "isModel", "owners")),
    ),
    Operation(
        method="POST", path="/v1/studies", name="orderStudy", tag="audits",
        summary="Queue attacks on a model, a release or samples, or another study; nothing is registered.",
        roles=READERS, handler=order_study, query=NoQuery, body=StudyOrdered, gives=JOB, status=202,
        refuses=(404, 409),
    ),
    Operation(
        method="GET", path="/v1/jobs/{id}/page", name="readStudyPage", tag="audits",
        summary="Read the report of a study as a page, as whoever ordered it.",
        roles=READERS, handler=read_study_page, query=NoQuery, body=type(None), media_types=(HTML,),
        refuses=(404,),
    ),
    Operation(
        method="GET", path="/v1/audits", name="listAudits", tag="audits",
        summary="List audits of trained models, for owners of the training data and for auditors.",
        roles=READERS, handler=list_audits, query=Paged, body=type(None), gives=listing(_AUDIT),
    ),
    Operation(
        method="GET", path="/v1/audits/{run}", name="readAudit", tag="audits",
        summary="Read the quality certificate of an audit.",
        roles=READERS, handler=read_audit, query=NoQuery, body=type(None), media_types=(JSON_LD,),
        refuses=(404,),
    ),
    Operation(
        method="GET", path="/v1/audits/{run}/page", name="readAuditPage", tag="audits",
        summary="Read the report of an audit as a page, with curves.",
        roles=READERS, handler=read_audit_page, query=NoQuery, body=type(None), media_types=(HTML,),
        refuses=(404,),
    ),
)  # fmt: skip
