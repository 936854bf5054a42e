"""The privacy loss that releases about an owner's respondents have had, over time, and what is left."""

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from smalti.json.text import Json
from smalti.service.parties import PARTIES
from smalti.service.web.drawings import Chart, steps
from smalti.service.web.page import Entry, Page, Response, Shown, Visit
from smalti.service.web.rendering import moment


def show(visit: Visit) -> Response:
    """The budget of each target of the visitor, or of one."""
    stated = visit.query.get("target")
    targets = [stated] if stated else [bound["target"] for bound in visit.asking.items("listData")]
    budgets = [visit.asking.read("readBudget", query={"target": target}) for target in targets]
    shown = [{"budget": budget, "chart": _chart(budget)} for budget in budgets]
    return Shown("budgets/all.html", {"budgets": shown, "target": stated})


def _chart(budget: Json) -> Chart | None:
    """The sum of epsilon over time, with each ceiling; None where nothing was charged."""
    charges = budget["charges"]
    if not charges:
        return None
    times = [datetime.fromisoformat(charge["time"]) for charge in charges]
    spent, points = 0.0, []
    for time, charge in zip(times, charges, strict=True):
        spent += float(charge["epsilon"])
        points.append((time.timestamp(), spent))
    levels = dict(_ceilings(budget))
    return steps(
        points, x="time", y="sum of epsilon", labels=[moment(time) for time in times], levels=levels
    )


def _ceilings(budget: Json) -> Iterator[tuple[str, float]]:
    for number, ceiling in enumerate(budget["ceilings"], 1):
        if ceiling["ceiling"] is not None:
            yield f"ceiling {number}: {ceiling['ceiling']['epsilon']}", float(ceiling["ceiling"]["epsilon"])


ENTRIES: Final = (Entry("1As owner", "Budgets", "budgets", PARTIES),)
PAGES: Final = (Page(method="GET", path="budgets", name="showBudgets", roles=PARTIES, handler=show),)
