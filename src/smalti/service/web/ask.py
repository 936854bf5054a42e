"""A requester's pages: what it may ask for, and a form that asks for it."""

import json
from collections.abc import Iterator, Mapping
from typing import Final

from smalti.json.text import Json
from smalti.service.parties import PARTIES
from smalti.service.problems import RefusedError, not_found
from smalti.service.web.page import (
    HOME,
    NOTICES,
    Card,
    Entry,
    Form,
    Moved,
    Page,
    Problem,
    Response,
    Shown,
    Visit,
    problems_of,
)
from smalti.service.web.rendering import short

_MOST_CHOICES: Final = 20
"""Purposes that a list offers; of more, the name is written."""
_PLACES: Final = {
    "purpose (--purpose)": "purpose", "facts (--fact)": "facts", "accepted (--accept)": "accepted",
    "query": "query",
}  # fmt: skip
NOTICES["asked"] = "You have asked for it. This page follows the work."


def show_all(visit: Visit) -> Response:
    """What the visitor may ask for."""
    listed = visit.asking.items("listPermissions")
    return Shown(
        "ask/all.html",
        {
            "producing": [permission for permission in listed if permission["order"]],
            "others": [permission for permission in listed if not permission["order"]],
        },
    )


def show(visit: Visit) -> Response:
    """The form of a permission."""
    return _form_page(_permission(visit, visit.query), Form(), ())


def ask(visit: Visit) -> Response:
    """Ask for it, if it would be permitted."""
    form = visit.form
    permission = _permission(visit, {name: form.text(name) for name in ("policy", "rule", "target")})
    order, problems = _order(permission, form)
    decided = visit.tried(lambda: visit.asking.read("decide", body=_decision(permission, order)))
    if isinstance(decided, RefusedError):
        problems += _placed(problems_of(decided, _PLACES), permission)
    elif not decided["permitted"]:
        problems += tuple(_denials(decided, permission))
    if problems:
        return _form_page(permission, form, problems)
    once = form.text("once") or None
    job = visit.tried(lambda: visit.asking.read("orderJob", body=order, once=once))
    if isinstance(job, RefusedError):
        return _form_page(permission, form, problems_of(job, _PLACES))
    return Moved(f"{HOME}jobs/{job['id']}", "asked")


def cards(visit: Visit) -> Iterator[Card]:
    """How much the visitor may ask for."""
    if not visit.asking.may("listPermissions"):
        return
    count = len(visit.asking.items("listPermissions"))
    text = f"{count} permission{'' if count == 1 else 's'} in force for you"
    if not count:
        text = "No policy in force names you yet."
    yield Card("What may I ask", text, "Ask" if count else "Open", "ask")


def _permission(visit: Visit, stated: Mapping[str, str]) -> Json:
    """The permission that a form is about, with the target that was chosen.

    Raises:
        RefusedError: there is none for the visitor.
    """
    for permission in visit.asking.items("listPermissions"):
        if permission["order"] and all(permission[name] == stated.get(name) for name in ("policy", "rule")):
            for target in permission["targets"]:
                if target["iri"] == stated.get("target"):
                    return permission | {"target": target}
    raise not_found()


def _order(permission: Json, form: Form) -> tuple[Json, tuple[Problem, ...]]:
    """The job that a form asks for, and what of the form cannot be read."""
    problems: list[Problem] = []
    order: Json = {
        "kind": permission["order"], "policy": permission["policy"], "rule": permission["rule"],
        "target": permission["target"]["iri"], "purpose": form.text("purpose") or None,
        "parameters": [
            f"{parameter['word']}={text}"
            for parameter in permission["parameters"]
            if (text := form.text(f"with-{parameter['word']}"))
        ],
        "facts": form.text("facts").splitlines(), "accepted": form.text("accepted").splitlines(),
    }  # fmt: skip
    if statistics := form.text("query"):
        order["query"] = _read_json(statistics)
        if order["query"] is None:
            problems.append(Problem("The statistics are one object of JSON: check its brackets.", "query"))
    if form.text("output-format") == "parquet":
        order["outputFormat"] = "parquet"
    return order, tuple(problems)


def _read_json(text: str) -> Json | None:
    try:
        read = json.loads(text)
    except ValueError:
        return None
    return read if isinstance(read, dict) else None


def _decision(permission: Json, order: Json) -> Json:
    """The question whether the order would be permitted."""
    return {
        "action": permission["action"], "targets": [order["target"]], "purpose": order["purpose"],
        "rule": order["rule"], "parameters": order["parameters"], "facts": order["facts"],
        "accepted": order["accepted"], "understandsLimits": True,
    }  # fmt: skip


def _denials(decision: Json, permission: Json) -> Iterator[Problem]:
    """Why it is denied, each reason at the field that it is about."""
    for reason in decision["reasons"]:
        text = reason["text"]
        place = "purpose" if "purpose" in text else _parameter_in(text, permission)
        yield Problem(f"{text[:1].upper()}{text[1:]}.", place)


def _placed(problems: tuple[Problem, ...], permission: Json) -> tuple[Problem, ...]:
    return tuple(
        problem if problem.field else Problem(problem.text, _parameter_in(problem.text, permission))
        for problem in problems
    )


def _parameter_in(text: str, permission: Json) -> str:
    """The field of the parameter that a sentence names; empty: of none."""
    for parameter in permission["parameters"]:
        if f"`{parameter['word']} " in text or f"`{parameter['word']}`" in text:
            return f"with-{parameter['word']}"
    return ""


def _form_page(permission: Json, form: Form, problems: tuple[Problem, ...]) -> Response:
    purposes = permission["purposes"]
    values = {
        "permission": permission, "form": form, "problems": problems,
        "purposes": [(purpose, short(purpose)) for purpose in purposes]
        if purposes and len(purposes) <= _MOST_CHOICES
        else None,
        "purpose": form.text("purpose") or (purposes[0] if purposes and len(purposes) == 1 else ""),
    }  # fmt: skip
    return Shown("ask/one.html", values, 422 if problems else 200)


ENTRIES: Final = (Entry("2As requester", "What may I ask", "ask", PARTIES),)
PAGES: Final = (
    Page(method="GET", path="ask", name="showPermissions", roles=PARTIES, handler=show_all),
    Page(method="GET", path="ask/new", name="showRequest", roles=PARTIES, handler=show),
    Page(method="POST", path="ask/new", name="askFor", roles=PARTIES, handler=ask),
)
