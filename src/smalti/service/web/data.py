"""An owner's data: uploaded, described, assessed, removed."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from smalti.json.text import Json
from smalti.service.parties import PARTIES
from smalti.service.problems import RefusedError, not_found
from smalti.service.received import RawBody
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

DATATYPES: Final = (
    ("", "as the values look"), ("string", "text"), ("integer", "whole number"), ("decimal", "number"),
    ("date", "date"), ("dateTime", "date and time"),
)  # fmt: skip
"""What the form offers; others are written as text."""
_CSVM: Final = "application/csvm+json"
_PREFIX: Final = "https://w3id.org/smalti#"
_ONE_ROW_EACH: Final = "smalti:oneRowEach"
_RESPONDENTS: Final = (f"{_PREFIX}respondent", "s:respondent", "smalti:respondent")
NOTICES.update({
    "uploaded": "The file was received. Say what its columns are: then policies can use them.",
    "model-uploaded": "The model was received. Upload the records that it is to be audited with, too.",
    "file-replaces": "The file replaced the earlier one. Say what its columns are.",
    "file-replaces-described": "The file replaced the earlier one. Its description was kept.",
    "file-replaces-unfit": (
        "The file replaced the earlier one. The earlier description does not fit this file, and was"
        " removed: say what its columns are."
    ),
    "model-replaces": "The model replaced the earlier file.",
    "described": "The description was kept.",
    "file-bound": "The data is bound to the file, which stays where it is.",
    "removed": "The data was removed.",
})  # fmt: skip


def show_all(visit: Visit) -> Response:
    """The data of the visitor."""
    has_files = bool(visit.asking.items("listFiles", most=1))
    return Shown("data/all.html", {"items": visit.asking.items("listData"), "has_files": has_files})


def show_upload(visit: Visit) -> Response:
    """Ask for a file."""
    return Shown("data/upload.html", {"form": visit.form, "problems": (), "most": _limit(visit)})


def admit(visit: Visit) -> None:
    """Refuse a file before it is received."""
    visit.asking.admit("upload", _uploaded(visit.form))


def receive(visit: Visit) -> Response:
    """Bind a target to the file that was received."""
    done = visit.tried(lambda: visit.asking.read("upload", query=_uploaded(visit.form), body=visit.upload))
    if isinstance(done, RefusedError):
        return refuse_upload(visit, done)
    place = f"{HOME}data/{done['id']}"
    if done["isModel"]:
        return Moved(place, "model-replaces" if done["replaces"] else "model-uploaded")
    if done["described"]:
        return Moved(place, "file-replaces-described")
    notice = "file-replaces" if done["replaces"] else "uploaded"
    return Moved(f"{place}/describe", "file-replaces-unfit" if done["earlierDescription"] else notice)


def refuse_upload(visit: Visit, refusal: RefusedError) -> Response:
    """The form again, with what is wrong; the file has to be chosen anew."""
    places = {
        "target": "target", "file": "file", "name": "file", "too-large": "file", "conflict": "target",
        "invalid": "file", visit.form.text("target"): "target",
    }  # fmt: skip
    values = {"form": visit.form, "problems": problems_of(refusal, places), "most": _limit(visit)}
    return Shown("data/upload.html", values, refusal.status)


def show_binding(visit: Visit) -> Response:
    """Ask which file of the visitor's folder data is."""
    return _binding_form(visit, ())


def bind(visit: Visit) -> Response:
    """Bind a target to a file that lies with the service."""
    form = visit.form
    body = {"target": form.text("target"), "file": form.text("file")}
    done = visit.tried(lambda: visit.asking.read("bindFile", body=body, once=form.text("once") or None))
    if isinstance(done, RefusedError):
        places = {"target": "target", "file": "file", "conflict": "target", "not-found": "file"}
        return _binding_form(visit, problems_of(done, places), done.status)
    return Moved(f"{HOME}data/{done['id']}", "file-bound")


def _binding_form(visit: Visit, problems: tuple[Problem, ...], status: int = 200) -> Response:
    files = [item["file"] for item in visit.asking.items("listFiles")]
    values = {"files": files, "form": visit.form, "problems": problems}
    return Shown("data/bind.html", values, status)


def show(visit: Visit) -> Response:
    """One of them: what is known of it, and what may be done with it."""
    bound = _bound(visit)
    policies = [
        policy
        for policy in visit.asking.items("listPolicies", state="in force", target=bound["target"])
        if policy["issuer"] == visit.asking.asker.party
    ]
    description = _description(visit) if bound["described"] else None
    columns = [] if description is None else description.get("tableSchema", {}).get("columns", [])
    values = {
        "bound": bound, "columns": columns, "policies": policies, "datatype": _datatype,
        "respondent": "" if description is None else _respondent(description),
    }  # fmt: skip
    return Shown("data/one.html", values)


def show_description(visit: Visit) -> Response:
    """Ask what the columns are, beginning with what is described, or what the values suggest."""
    bound = _bound(visit)
    read = visit.tried(lambda: _begun(visit, bound))
    if isinstance(read, RefusedError):
        start = {"@context": ["http://www.w3.org/ns/csvw", {"s": _PREFIX}], "url": bound["name"]}
        shown = _description_form(bound, start, problems_of(read, {}))
        return replace(shown, values={**shown.values, **_unreadable(visit, read)})
    return _description_form(bound, read, ())


def _unreadable(visit: Visit, refusal: RefusedError) -> Json:
    """What the form says of a file whose columns cannot be read: nothing that was done well."""
    what = "cannot be read as a table"
    if refusal.code in ("conflict", "not-found"):
        return {"heading": "The form cannot propose columns: write the description as text"}
    if visit.notice.startswith("file-replaces"):
        what = f"replaced the earlier one, and {what}"
    return {"heading": f"The file {what}", "notice": None}


def describe(visit: Visit) -> Response:
    """Keep a description, of the form's fields or of its text."""
    bound, form = _bound(visit), visit.form
    text = form.raw("text")
    if not text:
        begun = visit.tried(lambda: _begun(visit, bound))
        if isinstance(begun, RefusedError):
            raise begun
        text = json.dumps(_described(begun, form), ensure_ascii=False, indent=2)
    done = visit.tried(
        lambda: visit.asking.ask(
            "describeData", path=visit.path, body=RawBody(text.encode("utf-8", "replace"), _CSVM)
        )
    )
    if not isinstance(done, RefusedError):
        return Moved(f"{HOME}data/{bound['id']}", "described")
    try:
        shown: Json = json.loads(text)
    except ValueError:
        shown = {}
    listed = tuple(_at_columns(done, shown, "text" if form.raw("text") else ""))
    return _description_form(bound, shown, listed, text, done.status)


def assess(visit: Visit) -> Response:
    """Order an assessment, and go where it is followed."""
    bound = _bound(visit)
    stated = visit.form.text("respondent")
    who: Json = {"oneRowEach": True} if stated == _ONE_ROW_EACH else {"respondent": stated or None}
    order = {"kind": "assess", "target": bound["target"], **who}
    job = visit.asking.read("orderJob", body=order, once=visit.form.text("once") or None)
    return Moved(f"{HOME}jobs/{job['id']}")


def ask_removal(visit: Visit) -> Response:
    """Ask whether to remove data."""
    return Shown("data/remove.html", {"bound": _bound(visit)})


def remove(visit: Visit) -> Response:
    """Remove data."""
    visit.asking.ask("unbindData", path=visit.path)
    return Moved(f"{HOME}data", "removed")


def cards(visit: Visit) -> Iterator[Card]:
    """How many data sets there are."""
    if not visit.asking.asker.is_party:
        return
    count = len(visit.asking.items("listData"))
    text = f"{count} data set{'' if count == 1 else 's'}" if count else "None yet. Upload a table to begin."
    yield Card("My data", text, "Open" if count else "Upload", "data" if count else "data/upload")


def _bound(visit: Visit) -> Json:
    return visit.asking.read("readData", path=visit.path)


def _limit(visit: Visit) -> int:
    return visit.asking.service.uploads.limit


def _uploaded(form: Form) -> Json:
    return {"target": form.text("target"), "name": form.text("file")}


def _description(visit: Visit) -> Json:
    return visit.asking.read("readDescription", path=visit.path)


def _begun(visit: Visit, bound: Json) -> Json:
    """The description to begin with; one that lists no columns gets those of the data."""
    if not bound["described"]:
        return visit.asking.read("proposeDescription", path=visit.path)
    description = _description(visit)
    if not description.get("tableSchema", {}).get("columns"):
        raise not_found()
    return description


def _described(begun: Json, form: Form) -> Json:
    """A description with what the form's fields say; what they do not ask for stays."""
    document: Json = json.loads(json.dumps(begun))
    for number, column in enumerate(document["tableSchema"]["columns"]):
        stated = form.text(f"datatype-{number}")
        if stated != _datatype(column):
            column.pop("datatype", None)
            column.update({"datatype": stated} if stated else {})
        column.pop("comment", None)
    for name in _RESPONDENTS:
        document.pop(name, None)
    if respondent := form.text("respondent"):
        document[f"{_PREFIX}respondent"] = respondent
    nulls = [text.strip() for text in form.text("nulls").split(",") if text.strip()]
    document.pop("null", None)
    return document | ({"null": ["", *nulls]} if nulls else {})


def _description_form(
    bound: Json, document: Json, problems: tuple[Problem, ...], text: str = "", status: int = 200
) -> Shown:
    columns = document.get("tableSchema", {}).get("columns", [])
    names = [column["name"] for column in columns if "name" in column]
    nulls = document.get("null", [])
    values = {
        "bound": bound, "columns": columns, "problems": problems, "datatypes": DATATYPES,
        "heading": "The description was not kept",
        "datatype": _datatype, "respondent": _respondent(document),
        "respondents": [
            ("", "not said here: the policy says it"),
            (_ONE_ROW_EACH, "each row is about another person"),
            *((name, f"the column {name}") for name in names),
        ],
        "nulls": ", ".join(filter(None, [nulls] if isinstance(nulls, str) else nulls)),
        "text": text or json.dumps(document, ensure_ascii=False, indent=2),
    }  # fmt: skip
    return Shown("data/describe.html", values, status)


def _at_columns(refusal: RefusedError, document: Json, otherwise: str) -> Iterator[Problem]:
    """What refuses a description; what is wrong with a column stands at it, if a form was sent."""
    columns = document.get("tableSchema", {}).get("columns", []) if not otherwise else []
    places = {f"column `{column.get('name')}`": f"datatype-{place}" for place, column in enumerate(columns)}
    listed = refusal.more.get("problems", ())
    for problem, shown in zip(listed, problems_of(refusal, {}), strict=False):
        named = next((place for place in places if f", {place}" in problem["where"]), "")
        if named and "is not a valid" in problem["problem"]:
            row = problem["where"].partition(named)[2]
            text = f"C{named[1:]}{row}: a value is not of this kind. Choose another, or correct the file."
        else:
            text = f"{named.capitalize() or problem['where']}: {shown.text}".removeprefix(": ")
        yield Problem(text, places.get(named, otherwise))
    if not listed:
        yield from (Problem(problem.text, otherwise) for problem in problems_of(refusal, {}))


def _datatype(column: Json) -> str:
    """The name of a column's datatype; empty: none is stated, and each run looks at the values."""
    stated = column.get("datatype", "")
    return str(stated.get("base", "string") if isinstance(stated, dict) else stated)


def _respondent(document: Json) -> str:
    stated = next((document[name] for name in _RESPONDENTS if name in document), "")
    return _ONE_ROW_EACH if str(stated).endswith("oneRowEach") else str(stated)


ENTRIES: Final = (Entry("1As owner", "My data", "data", PARTIES),)
PAGES: Final = (
    Page(method="GET", path="data", name="showData", roles=PARTIES, handler=show_all),
    Page(method="GET", path="data/upload", name="showUpload", roles=PARTIES, handler=show_upload),
    Page(
        method="POST", path="data/upload", name="receiveUpload", roles=PARTIES, handler=receive,
        admits=admit, refuses=refuse_upload,
    ),
    Page(method="GET", path="data/bind", name="showBinding", roles=PARTIES, handler=show_binding),
    Page(method="POST", path="data/bind", name="bindFile", roles=PARTIES, handler=bind),
    Page(method="GET", path="data/{id}", name="showDataSet", roles=PARTIES, handler=show),
    Page(method="GET", path="data/{id}/describe", name="showDescription", roles=PARTIES,
         handler=show_description),
    Page(method="POST", path="data/{id}/describe", name="describe", roles=PARTIES, handler=describe),
    Page(method="POST", path="data/{id}/assess", name="assess", roles=PARTIES, handler=assess),
    Page(method="GET", path="data/{id}/remove", name="askRemoval", roles=PARTIES, handler=ask_removal),
    Page(method="POST", path="data/{id}/remove", name="removeData", roles=PARTIES, handler=remove),
)  # fmt: skip
