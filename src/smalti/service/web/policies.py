"""An owner's policies: written and checked, put in force, replaced, tried out, revoked."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace as replace_shown
from typing import Final

from smalti.fluent import new_policy
from smalti.json.text import Json
from smalti.service.operations import JSON_LD, TURTLE, YAML
from smalti.service.parties import PARTIES, READERS
from smalti.service.problems import RefusedError
from smalti.service.received import RawBody
from smalti.service.web.drawings import marked_lines
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
from smalti.service.web.rendering import link, short

WRITINGS: Final = ((YAML, "short form (YAML)"), (JSON_LD, "JSON-LD"), (TURTLE, "Turtle"))
ROLES: Final = (
    ("", "leave it out"), ("quasi-identifier", "others may know it: generalise"),
    ("sensitive", "keep, and protect from being guessed"), ("released", "keep as it is"),
    ("identifier", "names a person: leave it out"),
)  # fmt: skip
"""What the form lets a column be."""
PURPOSES: Final = ("", "marketing", "statistical", "institutional")
_FORMS: Final = (("short", "short form"), ("json-ld", "JSON-LD"), ("stored", "as it is stored"))
_DRAFT: Final = """\
policy: http://example.com/policy/NAME
owner: {owner}
party: http://example.com/party/RECIPIENT
target: http://example.com/DATA
permit:
  method: k-anonymity
  k: 5
  quasi-identifiers: [COLUMN, COLUMN]
  sensitive: COLUMN
  output: http://example.com/OUTPUT
"""
_NUMBER: Final = re.compile("[2-9]|[1-9][0-9]{1,8}")
_MOST_NUMBERS: Final = 20
"""Of a sweep, as its job takes them."""
_MOST_WAITED_FOR: Final = 12
"""Likewise of a sweep that its owner waits for."""
_PLACES: Final = {"invalid": "text"}
NOTICES.update({
    "in-force": "The policy is in force.",
    "replaced": "The new text is in force in the place of the earlier one.",
    "revoked": "The policy is revoked. What it permitted is permitted no more.",
})  # fmt: skip


def show_all(visit: Visit) -> Response:
    """The policies that the visitor may see: its own, and those about what it owns."""
    state = visit.query.get("state", "in force")
    listed = visit.asking.items("listPolicies", state=None if state == "all" else state)
    return Shown("policies/all.html", {"policies": listed, "state": state})


def begin(visit: Visit) -> Response:
    """How to write one: the form, for data of the visitor, or the text."""
    items = [bound for bound in visit.asking.items("listData") if not bound["isModel"]]
    chosen = next((bound for bound in items if bound["id"] == visit.query.get("data")), None)
    if chosen is None:
        return Shown("policies/begin.html", {"items": items})
    columns = _columns(visit, chosen)
    return _form_page(chosen, columns, Form())


def from_form(visit: Visit) -> Response:
    """The text of a policy that the form describes, to be looked at before it is in force."""
    form, owner = visit.form, visit.asking.asker.party
    bound = visit.asking.read("readData", path={"id": form.text("data")})
    columns = _columns(visit, bound)
    roles: dict[str, list[str]] = {}
    for number, name in enumerate(columns):
        roles.setdefault(form.text(f"role-{number}"), []).append(name)
    problems = tuple(_missing(form, roles))
    if problems:
        return _form_page(bound, columns, form, problems)
    parties = form.text("party").split()
    party = parties[0] if len(parties) == 1 else parties
    policy = new_policy(
        policy=form.text("uid"), owner=owner, party=party, target=bound["target"]
    ).anonymize(
        k=int(form.text("k")), l=int(form.text("l")) if form.text("l") else None,
        quasi_identifiers=roles.get("quasi-identifier"), sensitive=roles.get("sensitive"),
        released=roles.get("released"), identifiers=roles.get("identifier"),
        purpose=form.text("purpose") or None, output=form.text("output"),
        one_row_each=True if form.text("respondent") == "each" else None,
    )  # fmt: skip
    return _editor(visit, policy.to_short(), YAML)


def show_editor(visit: Visit) -> Response:
    """An empty text, or an example of one."""
    return _editor(visit, _DRAFT.format(owner=visit.asking.asker.party), YAML)


def check(visit: Visit) -> Response:
    """What is wrong with a text, as a part of a page: for the script that asks while somebody writes."""
    checked = _checked(visit)
    return Shown(
        "policies/findings.html",
        {"checked": checked, "text": visit.form.raw("text"), "writing": _writing(visit.form)},
    )


def add(visit: Visit) -> Response:
    """Put a text in force, or only check it."""
    if visit.form.text("do") == "check":
        return _editor(visit, visit.form.raw("text"), _writing(visit.form))
    done = visit.tried(
        lambda: visit.asking.read(
            "addPolicies", body=_body(visit.form), once=visit.form.text("once") or None
        )
    )
    if isinstance(done, RefusedError):
        return _refused(visit, done)
    uids = [policy["uid"] for policy in done["policies"]]
    return Moved(link("policy", uid=uids[0]) if len(uids) == 1 else f"{HOME}policies", "in-force")


def show(visit: Visit) -> Response:
    """One policy."""
    return _policy_page(visit)


def _policy_page(visit: Visit, problems: tuple[Problem, ...] = ()) -> Response:
    """One policy, with what is wrong with the numbers of a sweep."""
    policy, tag = _read(visit)
    owned = {bound["target"]: bound for bound in visit.asking.items("listData")} if _is_party(visit) else {}
    targets = [owned[target] for target in policy["targets"] if target in owned]
    is_own = policy["issuer"] == visit.asking.asker.party
    written = policy.get("mediaType", "")
    values = {
        "policy": policy, "tag": tag, "targets": targets, "is_own": is_own, "problems": problems,
        "forms": _FORMS, "written": written, "text": _laid_out(policy.get("document", ""), written),
        "form": visit.query.get("form") or _form_of(policy["name"]),
        "swept": visit.form.text("target"), "numbers": visit.form.text("numbers"),
    }  # fmt: skip
    return Shown("policies/one.html", values, 422 if problems else 200)


def show_replacement(visit: Visit) -> Response:
    """The text of a policy, to be changed."""
    policy, tag = _read(visit)
    writing = policy.get("mediaType", YAML)
    return _editor(visit, _laid_out(policy.get("document", ""), writing), writing, replaced=(policy, tag))


def replace(visit: Visit) -> Response:
    """Put a text in the place of a policy, if that is still as it was shown."""
    policy, _ = _read(visit)
    seen = (policy, visit.form.text("tag"))
    if visit.form.text("do") == "check":
        return _editor(visit, visit.form.raw("text"), _writing(visit.form), replaced=seen)
    done = visit.tried(
        lambda: visit.asking.read(
            "replacePolicy", path={"uid": policy["uid"]}, body=_body(visit.form),
            headers={"if-match": visit.form.text("tag")},
        )
    )  # fmt: skip
    if isinstance(done, RefusedError):
        return _refused(visit, done, seen)
    return Moved(link("policy", uid=policy["uid"]), "replaced")


def ask_revocation(visit: Visit) -> Response:
    """Ask whether to revoke a policy, and say what was made under it."""
    policy, tag = _read(visit)
    versions = [
        version for version in visit.asking.items("listVersions") if version["policy"] == policy["uid"]
    ]
    return Shown(
        "policies/revoke.html", {"policy": policy, "tag": tag, "versions": versions, "problems": ()}
    )


def revoke(visit: Visit) -> Response:
    """Revoke a policy, if it is still as it was shown."""
    policy, tag = _read(visit)
    done = visit.tried(
        lambda: visit.asking.ask(
            "revokePolicy", path={"uid": policy["uid"]}, headers={"if-match": visit.form.text("tag")}
        )
    )
    if isinstance(done, RefusedError):
        values = {"policy": policy, "tag": tag, "versions": (), "problems": problems_of(done, {})}
        return Shown("policies/revoke.html", values, done.status)
    return Moved(f"{HOME}policies", "revoked")


def try_out(visit: Visit) -> Response:
    """What a policy would do to each column of the visitor's data, and what it would cost."""
    uid, target = visit.query.get("uid", ""), visit.query.get("target", "")
    tried = visit.asking.read("tryPolicy", body={"policy": uid, "target": target})
    return Shown("policies/try.html", {"uid": uid, "target": target, "tried": tried, "draft": None})


def try_draft(visit: Visit) -> Response:
    """What a text would do to each column of the visitor's data, before it is in force."""
    form = visit.form
    replaced = _replaced(visit)
    target, numbers = form.text("target"), form.text("numbers")
    problems = () if not numbers else tuple(_wrong_numbers(numbers, _MOST_WAITED_FOR))
    if not target:
        return _draft_refused(visit, replaced, (Problem("Choose the data to try it on.", "target"),), 422)
    vary = [f"k={_numbers_of(numbers)}"] if numbers and not problems else []
    body = {"document": form.raw("text"), "mediaType": _writing(form), "target": target, "vary": vary}
    tried = visit.tried(lambda: visit.asking.read("tryPolicy", body=body))
    if isinstance(tried, RefusedError):
        if tried.more.get("findings"):
            return _refused(visit, tried, replaced)
        return _draft_refused(visit, replaced, problems_of(tried, {"vary": "numbers"}), tried.status)
    values = {
        "uid": "", "target": target, "tried": tried, "draft": form, "problems": problems,
        "numbers": numbers, "chart": sweep_chart(tried["sweep"]["points"]) if "sweep" in tried else None,
        "replaced": None if replaced is None else replaced[0], "tag": form.text("tag"),
    }  # fmt: skip
    return Shown("policies/try.html", values, 422 if problems else 200)


def _replaced(visit: Visit) -> tuple[Json, str] | None:
    """The policy whose text is changed, as its editor has shown it; None: the text is a new one."""
    if not visit.form.text("replaced"):
        return None
    policy = visit.asking.read("readPolicy", path={"uid": visit.form.text("replaced")})
    return policy, visit.form.text("tag")


def _draft_refused(
    visit: Visit, replaced: tuple[Json, str] | None, problems: tuple[Problem, ...], status: int
) -> Response:
    """The text again, with why it cannot be tried out."""
    form = visit.form
    shown = _written(visit, form.raw("text"), _writing(form), replaced, _checked(visit), problems, status)
    return replace_shown(shown, values={**shown.values, "heading": "It cannot be tried out"})


def _numbers_of(written: str) -> str:
    return ",".join(text.strip() for text in written.split(","))


def _wrong_numbers(written: str, most: int) -> Iterator[Problem]:
    numbers = _numbers_of(written).split(",")
    if not all(_NUMBER.fullmatch(text) for text in numbers) or len(numbers) > most:
        sentence = f"Write whole numbers from 2 with commas between them, at most {most}."
        yield Problem(sentence, "numbers")


def sweep(visit: Visit) -> Response:
    """Order a sweep, and go where it is followed."""
    numbers = visit.form.text("numbers")
    if problems := tuple(_wrong_numbers(numbers, _MOST_NUMBERS)):
        return _policy_page(visit, problems)
    order = {
        "kind": "sweep", "policy": visit.query.get("uid", ""), "target": visit.form.text("target"),
        "vary": [f"k={_numbers_of(numbers)}"],
    }  # fmt: skip
    job = visit.asking.read("orderJob", body=order, once=visit.form.text("once") or None)
    return Moved(f"{HOME}jobs/{job['id']}")


def cards(visit: Visit) -> Iterator[Card]:
    """How many policies of the visitor's own are in force."""
    if not _is_party(visit):
        return
    own = [
        policy
        for policy in visit.asking.items("listPolicies", state="in force")
        if policy["issuer"] == visit.asking.asker.party
    ]
    text = "None in force yet. A policy says what may be done with your data."
    if own:
        text = f"{len(own)} {'policy' if len(own) == 1 else 'policies'} in force"
    yield Card("My policies", text, "Open" if own else "Write", "policies" if own else "policies/begin")


def _is_party(visit: Visit) -> bool:
    return visit.asking.asker.is_party


def _read(visit: Visit) -> tuple[Json, str]:
    """A policy and its ETag."""
    path = {"uid": visit.query.get("uid", "")}
    form = visit.query.get("form", "")
    if form not in dict(_FORMS):
        form = _form_of(visit.asking.read("readPolicy", path=path)["name"])
    answer = visit.asking.ask("readPolicy", path=path, query={"form": form})
    return visit.asking.document(answer), answer.headers["ETag"]


def _form_of(name: str) -> str:
    """The form that a document was written in: short ones are stored as JSON-LD."""
    return "short" if name.endswith((".yaml", ".yml")) else "stored"


def _columns(visit: Visit, bound: Json) -> list[str]:
    """The names of the columns of data, as they are described or proposed."""
    path = {"id": bound["id"]}
    listed: list[Json] = []
    if bound["described"]:
        listed = visit.asking.read("readDescription", path=path).get("tableSchema", {}).get("columns", [])
    if not listed:
        listed = visit.asking.read("proposeDescription", path=path)["tableSchema"]["columns"]
    return [column["name"] for column in listed]


def _form_page(bound: Json, columns: list[str], form: Form, problems: tuple[Problem, ...] = ()) -> Response:
    values = {
        "bound": bound, "columns": columns, "roles": ROLES, "form": form, "problems": problems,
        "purposes": [(name, name or "any purpose") for name in PURPOSES],
    }  # fmt: skip
    return Shown("policies/form.html", values, 422 if problems else 200)


def _missing(form: Form, roles: dict[str, list[str]]) -> Iterator[Problem]:
    for name, label in (
        ("uid", "the IRI of the policy"),
        ("party", "who may"),
        ("output", "the IRI of the result"),
    ):
        if ":" not in form.text(name):
            yield Problem(f"State {label} as an IRI, such as http://example.com/name.", name)
    for name, least in (("k", 2), ("l", 1)):
        text = form.text(name)
        if (text or name == "k") and not (text.isascii() and text.isdigit() and int(text) >= least):
            yield Problem(f"{name} is a whole number from {least}.", name)
    if not roles.get("quasi-identifier"):
        yield Problem("Choose at least one column that others may know.", "role-0")
    if form.text("l") and not roles.get("sensitive"):
        yield Problem("l counts values of a column to be protected: choose one, or leave l out.", "l")


def _writing(form: Form) -> str:
    stated = form.text("writing")
    return stated if stated in dict(WRITINGS) else YAML


def _laid_out(document: str, writing: str) -> str:
    """A document of one line of JSON as people read it; any other as it is."""
    if writing != JSON_LD or "\n" in document.strip():
        return document
    try:
        return json.dumps(json.loads(document), indent=2, ensure_ascii=False)
    except ValueError:
        return document


def _body(form: Form) -> RawBody:
    return RawBody(form.raw("text").encode("utf-8", "replace"), _writing(form))


def _checked(visit: Visit) -> Json | None:
    """What is to be said of a text; None: it is empty."""
    if not visit.form.text("text"):
        return None
    return visit.asking.read("checkPolicy", body=_body(visit.form))


def _editor(visit: Visit, text: str, writing: str, *, replaced: tuple[Json, str] | None = None) -> Response:
    """The text with what is to be said of it."""
    body = RawBody(text.encode("utf-8", "replace"), writing)
    checked = visit.asking.read("checkPolicy", body=body) if text.strip() else None
    return _written(visit, text, writing, replaced, checked)


def _written(  # noqa: PLR0913, PLR0917 (parts of the page)
    visit: Visit, text: str, writing: str, replaced: tuple[Json, str] | None, checked: Json | None,
    problems: tuple[Problem, ...] = (), status: int = 200,
) -> Shown:  # fmt: skip
    policy, tag = replaced or (None, "")
    values = {
        "text": text, "writing": writing, "writings": WRITINGS, "checked": checked, "problems": problems,
        "replaced": policy, "tag": tag, "heading": "It is not in force",
        "tables": _tables(visit, text), "target": visit.form.text("target"),
    }  # fmt: skip
    return Shown("policies/editor.html", values, status)


def _refused(visit: Visit, refusal: RefusedError, replaced: tuple[Json, str] | None = None) -> Response:
    """The text again, with all findings at their places."""
    form, findings = visit.form, refusal.more.get("findings")
    checked = _checked(visit)
    problems = problems_of(refusal, _PLACES)
    if findings:
        errors = sum(finding["severity"] == "error" for finding in findings)
        said = "one error, which stands" if errors == 1 else f"{errors} errors, which stand"
        problems = (Problem(f"The text has {said} below it, with line and column.", "text"),)
    return _written(visit, form.raw("text"), _writing(form), replaced, checked, problems, refusal.status)


def _tables(visit: Visit, text: str) -> list[tuple[str, str]]:
    """The visitor's tables, for a choice: first those that a text names."""
    targets = [bound["target"] for bound in visit.asking.items("listData") if not bound["isModel"]]
    targets.sort(key=lambda target: target not in text)
    return [(target, f"{short(target)} ({target})") for target in targets]


def sweep_chart(points: list[Json]) -> object:
    """Risk against loss, drawn; None where no point can be met."""
    met = [point for point in points if "figures" in point]
    if not met:
        return None
    lines: dict[str, list[tuple[float, float, str]]] = {}
    for point in met:
        figures, name = point["figures"], f"l = {point['l']}" if "l" in point else "by k"
        lines.setdefault(name, []).append(
            (100 * figures["prosecutor"]["averageRisk"], 100 * figures["loss"], f"k = {point['k']}")
        )
    return marked_lines(lines, x="average risk, %", y="lost, %")


ENTRIES: Final = (
    Entry("1As owner", "My policies", "policies", READERS, also="policy", watched="Policies"),
)
PAGES: Final = (
    Page(method="GET", path="policies", name="showPolicies", roles=READERS, handler=show_all),
    Page(method="GET", path="policies/begin", name="beginPolicy", roles=PARTIES, handler=begin),
    Page(method="POST", path="policies/begin", name="policyFromForm", roles=PARTIES, handler=from_form),
    Page(method="GET", path="policies/new", name="showEditor", roles=PARTIES, handler=show_editor),
    Page(method="POST", path="policies/new", name="addPolicy", roles=PARTIES, handler=add),
    Page(method="POST", path="policies/try", name="tryDraft", roles=PARTIES, handler=try_draft),
    Page(method="POST", path="policies/check", name="checkText", roles=PARTIES, handler=check),
    Page(method="GET", path="policy", name="showPolicy", roles=READERS, handler=show),
    Page(method="GET", path="policy/replace", name="showReplacement", roles=PARTIES,
         handler=show_replacement),
    Page(method="POST", path="policy/replace", name="replacePolicy", roles=PARTIES, handler=replace),
    Page(method="GET", path="policy/revoke", name="askRevocation", roles=PARTIES, handler=ask_revocation),
    Page(method="POST", path="policy/revoke", name="revokePolicy", roles=PARTIES, handler=revoke),
    Page(method="GET", path="policy/try", name="tryPolicy", roles=PARTIES, handler=try_out),
    Page(method="POST", path="policy/sweep", name="sweepPolicy", roles=PARTIES, handler=sweep),
)  # fmt: skip
