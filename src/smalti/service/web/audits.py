"""Audits, for auditors and owners: start several, watch them in parallel, read reports."""

import json
from collections.abc import Iterator
from hashlib import sha256
from typing import Final

from smalti.json.text import Json
from smalti.service.parties import READERS
from smalti.service.problems import RefusedError
from smalti.service.web import studies
from smalti.service.web.jobs import TITLES
from smalti.service.web.page import (
    HOME,
    NOTICES,
    Card,
    Entry,
    Form,
    Framed,
    Moved,
    Page,
    Problem,
    Response,
    Shown,
    Visit,
    attached,
    problems_of,
)

_FOLLOWED: Final = 4
"""Jobs of a page that are followed by events: browsers keep few connections to a host."""
_PLACES: Final = {
    "model": "model", "members": "members", "others": "others", "label": "label", "attacks": "attack",
    "recipe": "recipe", "shadowModels": "shadow-models", "confidence": "confidence", "conflict": "members",
    "not-found": "model", "study/label": "label", "study/attacks": "attack",
    "study/shadowModels": "shadow-models", "study/confidence": "confidence",
}  # fmt: skip
NOTICES["audits-begun"] = "The audits are queued, each as a job of its own."


def show_all(visit: Visit) -> Response:
    """The visitor's studies, and the audits of trained models that it may see; the latest first."""
    jobs = [job for kind in _kinds(visit) for job in visit.asking.items("listJobs", kind=kind)]
    jobs.sort(key=lambda job: str(job["submitted"]), reverse=True)
    going_on = [job["id"] for job in jobs if job["state"] in {"queued", "running"}]
    values = {
        "jobs": jobs, "titles": TITLES, "followed": going_on[:_FOLLOWED], "goes_on": bool(going_on),
        "audits": list(reversed(visit.asking.items("listAudits"))),
    }  # fmt: skip
    return Shown("audits/all.html", values)


def show_form(visit: Visit) -> Response:
    """Choose models, data, attacks and numbers."""
    return _form_page(visit, Form(), ())


def start(visit: Visit) -> Response:
    """Order a study for each model that was chosen."""
    form = visit.form
    problems = tuple(_missing(form))
    if problems:
        return _form_page(visit, form, problems)
    once = form.text("once")
    for model in form.texts("model"):
        order = _order(form, model)
        # The same order of the same form is one study, also where another one of the form was refused.
        written = sha256(json.dumps(order, sort_keys=True).encode()).hexdigest()[:16]
        refusal = _ordered(visit, order, f"{once}-{written}" if once else None)
        if refusal is not None:
            return _form_page(visit, form, problems_of(refusal, _PLACES))
    return Moved(f"{HOME}audits", "audits-begun")


def show(visit: Visit) -> Response:
    """One audit of a trained model, with its report in a frame."""
    audit = next(
        (audit for audit in visit.asking.items("listAudits") if audit["run"] == visit.path["run"]), None
    )
    certificate = visit.asking.read("readAudit", path=visit.path)
    return Shown("audits/one.html", {"audit": audit, "certificate": certificate})


def show_report(visit: Visit) -> Response:
    """The report of an audit, alone."""
    return _framed(visit, "readAuditPage")


def download_certificate(visit: Visit) -> Response:
    """The quality certificate of an audit."""
    return attached(visit.asking.ask("readAudit", path=visit.path), "quality.jsonld")


def show_study(visit: Visit) -> Response:
    """The report of a study, alone."""
    return _framed(visit, "readStudyPage")


def cards(visit: Visit) -> Iterator[Card]:
    """How many audits there are."""
    if not visit.asking.asker.audits:
        return
    jobs = (visit.asking.items("listJobs", kind=kind) for kind in _kinds(visit))
    count = len(visit.asking.items("listAudits")) + sum(map(len, jobs))
    text = f"{count} audit{'' if count == 1 else 's'}" if count else "None yet. Choose a model and data."
    yield Card("Audits", text, "Open" if count else "Start", "audits" if count else "audits/new")


def _kinds(visit: Visit) -> list[str]:
    """The kinds of jobs that are studies or audits."""
    return [*(kind["kind"] for kind in studies.kinds(visit)), "audit"]


def _framed(visit: Visit, operation: str) -> Framed:
    content = visit.asking.ask(operation, path=visit.path).content
    return Framed(content.decode() if isinstance(content, bytes) else "")


def _order(form: Form, model: str) -> Json:
    return {
        "model": model, "members": form.text("members"), "others": form.text("others"),
        "label": form.text("label"), "attacks": list(form.texts("attack")),
        "recipe": form.text("recipe") or None,
        "shadowModels": int(form.text("shadow-models") or "16"),
        "confidence": float(form.text("confidence") or "0.95"),
        "givesLogits": bool(form.text("logits")),
    }  # fmt: skip


def _ordered(visit: Visit, order: Json, once: str | None) -> RefusedError | None:
    """Order a study; what refuses it."""
    done = visit.tried(lambda: visit.asking.read("orderStudy", body=order, once=once))
    return done if isinstance(done, RefusedError) else None


def _missing(form: Form) -> Iterator[Problem]:
    for name, sentence in (
        ("model", "Choose at least one model."),
        ("attack", "Choose at least one attack."),
        ("members", "Choose the records that the model was trained on."),
        ("others", "Choose records that it was not trained on."),
        ("label", "State the column of the classes."),
    ):
        if not form.texts(name):
            yield Problem(sentence, name)
    if form.text("members") and form.text("members") == form.text("others"):
        yield Problem("Choose other records than those that it was trained on.", "others")
    count = form.text("shadow-models") or "16"
    if not (count.isascii() and count.isdigit() and 2 <= int(count) <= 1000):
        yield Problem("Shadow models: a whole number from 2 to 1000.", "shadow-models")
    try:
        is_share = 0 < float(form.text("confidence") or "0.95") < 1
    except ValueError:
        is_share = False
    if not is_share:
        yield Problem("The confidence is a number between 0 and 1.", "confidence")


def _form_page(visit: Visit, form: Form, problems: tuple[Problem, ...]) -> Response:
    items = visit.asking.items("listAuditable")
    values = {
        **visit.asking.read("listAuditChoices"),
        "models": [bound for bound in items if bound["isModel"]],
        "tables": [bound["target"] for bound in items if not bound["isModel"]],
        "form": form, "problems": problems,
        "kinds": [kind for kind in studies.kinds(visit) if kind["kind"] != studies.OF_MODELS],
    }  # fmt: skip
    return Shown("audits/new.html", values, 422 if problems else 200)


ENTRIES: Final = (Entry("3Audits", "Audits", "audits", READERS),)
PAGES: Final = (
    Page(method="GET", path="audits", name="showAudits", roles=READERS, handler=show_all),
    Page(method="GET", path="audits/new", name="showStudyForm", roles=READERS, handler=show_form),
    Page(method="POST", path="audits/new", name="startStudies", roles=READERS, handler=start),
    Page(method="GET", path="audits/{run}", name="showAudit", roles=READERS, handler=show),
    Page(method="GET", path="audits/{run}/report", name="showAuditReport", roles=READERS,
         handler=show_report),
    Page(method="GET", path="audits/{run}/certificate", name="downloadQualityCertificate", roles=READERS,
         handler=download_certificate),
    Page(method="GET", path="jobs/{id}/report", name="showStudyReport", roles=READERS, handler=show_study),
)  # fmt: skip
