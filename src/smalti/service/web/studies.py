"""Studies other than of model files: a form for each kind, made from what its order is asked for."""

from collections.abc import Iterator
from typing import Any, Final

from smalti.json.text import Json
from smalti.service.parties import READERS
from smalti.service.problems import RefusedError, not_found
from smalti.service.web.page import (
    HOME,
    NOTICES,
    Form,
    Moved,
    Page,
    Problem,
    Response,
    Shown,
    Visit,
    problems_of,
)

OF_MODELS: Final = "study"
"""The kind that has a form of its own, for several models at once."""
_MOST: Final = 100
"""Parts of a field, of which each may have a problem."""
_NUMBERS: Final[dict[str, tuple[type[int] | type[float], str]]] = {
    "integer": (int, "whole numbers"), "number": (float, "numbers"),
}  # fmt: skip
NOTICES["study-begun"] = "The study is queued as a job."


def kinds(visit: Visit) -> list[Json]:
    """The kinds of studies that the visitor may order."""
    studies: list[Json] = visit.asking.read("listAuditChoices")["studies"]
    return [kind for kind in studies if visit.asking.asker.is_party or not kind["isForOwners"]]


def show_form(visit: Visit) -> Response:
    """The form of a kind."""
    return _form_page(visit, _kind(visit), Form(), ())


def start(visit: Visit) -> Response:
    """Order a study."""
    kind, form = _kind(visit), visit.form
    problems: list[Problem] = []
    order: Json = {"kind": kind["kind"]}
    for field in kind["fields"]:
        try:
            stated = _stated(field, form)
        except ValueError:
            words = _NUMBERS[field["type"]][1]
            problems.append(
                Problem(f"{field['label']}: {words}, with commas between several.", field["name"])
            )
            continue
        if stated is not None:
            order[field["name"]] = stated
        elif field["isRequired"]:
            problems.append(Problem(f"{field['label']}: {_wanted(field)}.", field["name"]))
    if problems:
        return _form_page(visit, kind, form, tuple(problems))
    once = form.text("once") or None
    done = visit.tried(lambda: visit.asking.read("orderStudy", body=order, once=once))
    if isinstance(done, RefusedError):
        return _form_page(visit, kind, form, problems_of(done, dict(_places(kind))))
    return Moved(f"{HOME}jobs/{done['id']}", "study-begun")


def _kind(visit: Visit) -> Json:
    for kind in kinds(visit):
        if kind["kind"] == visit.path["kind"] != OF_MODELS:
            return kind
    raise not_found()


def _stated(field: Json, form: Form) -> Any:
    """What a form states of a field; None: nothing.

    Raises:
        ValueError: it is no number.
    """
    name = field["name"]
    if field["type"] == "boolean":
        return bool(form.text(name)) or None
    convert = _NUMBERS.get(field["type"], (str, ""))[0]
    if not field["isMany"]:
        return convert(form.text(name)) if form.text(name) else None
    texts = form.texts(name) if field["choices"] else form.text(name).replace(",", " ").split()
    return [convert(text) for text in texts] or None


def _wanted(field: Json) -> str:
    """What to do with a field that was left out."""
    if field["isMany"]:
        return "choose at least one"
    return "choose one" if field["choices"] or field["takes"] else "state it"


def _places(kind: Json) -> Iterator[tuple[str, str]]:
    """The field for each place that a refusal may name."""
    for field in kind["fields"]:
        name = field["name"]
        yield name, name
        yield f"{kind['kind']}/{name}", name
        if field["isMany"]:
            yield from ((f"{kind['kind']}/{name}/{number}", name) for number in range(_MOST))


def _form_page(visit: Visit, kind: Json, form: Form, problems: tuple[Problem, ...]) -> Response:
    named = {field["name"] for field in kind["fields"]}
    first = kind["fields"][0]["name"]
    shown = tuple(Problem(each.text, each.field if each.field in named else first) for each in problems)
    things = dict(_things(visit, kind))
    values = {
        "kind": kind, "form": form, "problems": shown, "things": things, "missing": _missing(kind, things),
    }  # fmt: skip
    return Shown("audits/study.html", values, 422 if problems else 200)


def _things(visit: Visit, kind: Json) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """What may be chosen of the registry, by what fields take: pairs of a value and a text."""
    taken = {field["takes"] for field in kind["fields"]}
    if taken & {"table", "model"}:
        items = visit.asking.items("listAuditable")
        for thing, is_model in (("table", False), ("model", True)):
            yield thing, [(each["target"],) * 2 for each in items if each["isModel"] is is_model]
    if "version" in taken:
        versions = [each for each in visit.asking.items("listVersions") if each["discarded"] is None]
        yield (
            "version",
            [(each["versionIri"], f"{each['target']}, version {each['version']}") for each in versions],
        )
    if "policy" in taken:
        policies = visit.asking.items("listPolicies", state="in force")
        yield "policy", [(each["uid"], each["uid"]) for each in policies]


def _missing(kind: Json, things: Json) -> str:
    """What the registry has none of and the kind needs; empty: it has all."""
    needed = {field["takes"] for field in kind["fields"] if field["isRequired"]}
    return next((thing for thing in sorted(needed) if thing in things and not things[thing]), "")


PAGES: Final = (
    Page(method="GET", path="audits/new/{kind}", name="showOtherStudyForm", roles=READERS,
         handler=show_form),
    Page(method="POST", path="audits/new/{kind}", name="startStudy", roles=READERS, handler=start),
)  # fmt: skip
