"""Who owns what, and who withdrew: owners are added and removed, and respondents withdrawn, by owners."""

from collections.abc import Iterator
from typing import Final

from smalti.json.text import Json
from smalti.service.parties import PARTIES
from smalti.service.problems import RefusedError, not_found
from smalti.service.web.page import (
    HOME,
    NOTICES,
    Entry,
    Moved,
    Page,
    Problem,
    Response,
    Shown,
    Visit,
    problems_of,
)
from smalti.service.web.rendering import link

_PLACES: Final = {"respondents": "respondents", "column": "column"}
NOTICES.update(
    {
        "owner-added": "The owner was added.",
        "owner-removed": "The owner was removed.",
        "withdrawn": "They are on the list, and are left out of every later run.",
    }
)


def show_all(visit: Visit) -> Response:
    """What the visitor owns, each with its owners and how many people withdrew."""
    listed = visit.asking.items("listTargets")
    owned = [target for each in listed for target in _owned(visit, each["iri"])]
    return Shown("owners/all.html", {"owned": owned})


def show(visit: Visit) -> Response:
    """One target that the visitor owns."""
    return _page(visit, ())


def add(visit: Visit) -> Response:
    """Add an owner."""
    target, party = visit.query.get("target", ""), visit.form.text("party")
    if not party:
        return _page(visit, (Problem("State the IRI of a party.", "party"),))
    body = {"target": target, "party": party}
    done = visit.tried(lambda: visit.asking.read("addOwner", body=body))
    if isinstance(done, RefusedError):
        return _page(visit, _at_party(done))
    return _moved(target, "owner-added")


def ask_removal(visit: Visit) -> Response:
    """What it means to remove an owner."""
    target, party = visit.query.get("target", ""), visit.query.get("party", "")
    if party not in visit.asking.read("listOwners", query={"target": target})["owners"]:
        raise not_found()
    values = {
        "target": target, "party": party,
        "is_own": party == visit.asking.asker.party, "policies": _policies(visit, target, party),
    }  # fmt: skip
    return Shown("owners/remove.html", values)


def remove(visit: Visit) -> Response:
    """Remove an owner."""
    target, party = visit.query.get("target", ""), visit.query.get("party", "")
    query = {"target": target, "party": party}
    done = visit.tried(lambda: visit.asking.ask("removeOwner", query=query))
    if isinstance(done, RefusedError):
        return _page(visit, _at_party(done))
    if party == visit.asking.asker.party:
        return Moved(f"{HOME}owners", "owner-removed")
    return _moved(target, "owner-removed")


def withdraw(visit: Visit) -> Response:
    """Ask whether these respondents are to be withdrawn, and once that is confirmed, withdraw them."""
    target, form = visit.query.get("target", ""), visit.form
    respondents = _respondents(form.raw("respondents"))
    if not respondents:
        return _page(visit, (Problem("State at least one respondent.", "respondents"),))
    if form.text("sure") != "yes":
        visit.asking.read("listOwners", query={"target": target})
        values = {
            "target": target, "count": len(respondents),
            "respondents": "\n".join(respondents), "column": form.text("column"),
        }  # fmt: skip
        return Shown("owners/withdraw.html", values)
    body: Json = {"target": target, "respondents": respondents, "column": form.text("column") or None}
    done = visit.tried(lambda: visit.asking.read("withdraw", body=body))
    if isinstance(done, RefusedError):
        return _page(visit, _at_field(done))
    return _moved(target, "withdrawn")


def _page(visit: Visit, problems: tuple[Problem, ...]) -> Response:
    target = visit.query.get("target", "")
    owners = visit.asking.read("listOwners", query={"target": target})["owners"]
    withdrawn = visit.asking.read("countWithdrawn", query={"target": target})["withdrawn"]
    values = {
        "target": target, "owners": owners, "withdrawn": withdrawn, "problems": problems,
        "form": visit.form,
    }  # fmt: skip
    return Shown("owners/one.html", values, 422 if problems else 200)


def _owned(visit: Visit, target: str) -> Iterator[Json]:
    """A target with its owners, where the visitor is one."""
    query = {"target": target}
    owned = visit.tried(lambda: visit.asking.read("listOwners", query=query))
    if not isinstance(owned, RefusedError):
        yield owned | visit.asking.read("countWithdrawn", query=query)


def _policies(visit: Visit, target: str, party: str) -> list[Json]:
    """The policies of an owner about a target, which end to count with it."""
    listed = visit.asking.items("listPolicies", target=target)
    return [policy for policy in listed if policy["issuer"] == party and policy["state"] == "in force"]


def _respondents(text: str) -> list[str]:
    """One of each line, as the data writes them, each once."""
    return list(dict.fromkeys(line for line in text.splitlines() if line.strip()))


def _at_party(refusal: RefusedError) -> tuple[Problem, ...]:
    return tuple(Problem(problem.text, "party") for problem in problems_of(refusal, {}))


def _at_field(refusal: RefusedError) -> tuple[Problem, ...]:
    shown = problems_of(refusal, _PLACES)
    return tuple(Problem(problem.text, problem.field or "respondents") for problem in shown)


def _moved(target: str, notice: str) -> Moved:
    return Moved(link("owners/of", target=target), notice)


ENTRIES: Final = (Entry("1As owner", "Owners", "owners", PARTIES),)
PAGES: Final = (
    Page(method="GET", path="owners", name="showOwners", roles=PARTIES, handler=show_all),
    Page(method="GET", path="owners/of", name="showOwned", roles=PARTIES, handler=show),
    Page(method="POST", path="owners/of", name="addOwner", roles=PARTIES, handler=add),
    Page(method="GET", path="owners/remove", name="askOwnerRemoval", roles=PARTIES, handler=ask_removal),
    Page(method="POST", path="owners/remove", name="removeOwner", roles=PARTIES, handler=remove),
    Page(method="POST", path="owners/withdraw", name="withdraw", roles=PARTIES, handler=withdraw),
)
