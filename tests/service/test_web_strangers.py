"""Who sees what in pages: what is unknown and what is somebody else's look alike, in every page."""

from typing import Any

import pytest
from httpx2 import Response
from service_world import AUDITOR, OPERATOR, POLICY, STRANGER, World, make_market
from shell import CUSTOMER, OWNER, USER, small_document

from smalti.service.web.site import PAGES

HERE = {"origin": "http://testserver"}
UNKNOWN = "http://example.com/nothing"
TEXT = str(small_document()).replace("'", '"')
ONE_OF: dict[str, tuple[str, str, dict[str, str]]] = {
    # By page: an address about what the owner has, the same about what nobody has, and a form.
    "showDataSet": ("data/{data}", "data/none", {}),
    "showDescription": ("data/{data}/describe", "data/none/describe", {}),
    "describe": ("data/{data}/describe", "data/none/describe", {"text": "{}"}),
    "assess": ("data/{data}/assess", "data/none/assess", {}),
    "askRemoval": ("data/{data}/remove", "data/none/remove", {}),
    "removeData": ("data/{data}/remove", "data/none/remove", {}),
    "showPolicy": (f"policy?uid={POLICY}", f"policy?uid={UNKNOWN}", {}),
    "showReplacement": (f"policy/replace?uid={POLICY}", f"policy/replace?uid={UNKNOWN}", {}),
    "replacePolicy": (
        f"policy/replace?uid={POLICY}", f"policy/replace?uid={UNKNOWN}", {"text": TEXT, "tag": "*"},
    ),
    "askRevocation": (f"policy/revoke?uid={POLICY}", f"policy/revoke?uid={UNKNOWN}", {}),
    "revokePolicy": (f"policy/revoke?uid={POLICY}", f"policy/revoke?uid={UNKNOWN}", {"tag": "*"}),
    "tryPolicy": (
        f"policy/try?uid={POLICY}&target={CUSTOMER}", f"policy/try?uid={UNKNOWN}&target={UNKNOWN}", {},
    ),
    "sweepPolicy": (f"policy/sweep?uid={POLICY}", f"policy/sweep?uid={UNKNOWN}",
                    {"target": CUSTOMER, "numbers": "2,3"}),
    "showOutput": ("outputs/{run}", "outputs/none", {}),
    "downloadFile": ("outputs/{run}/files/anonCustomer.csv", "outputs/none/files/anonCustomer.csv", {}),
    "showJob": ("jobs/{job}", "jobs/none", {}),
    "followJob": ("jobs/{job}/events", "jobs/none/events", {}),
    "stopJob": ("jobs/{job}/stop", "jobs/none/stop", {}),
    "retryJob": ("jobs/{job}/retry", "jobs/none/retry", {}),
}  # fmt: skip
LISTS = {
    "showHome": "", "showData": "data", "showPolicies": "policies?state=all", "showOutputs": "outputs",
    "showBudgets": "budgets", "showJobs": "jobs", "beginPolicy": "policies/begin?data={data}",
}  # fmt: skip
OWN = {
    "showSignIn", "signIn", "signOut", "showUpload", "receiveUpload", "showEditor", "addPolicy",
    "checkText", "policyFromForm", "showNothing",
}  # fmt: skip
"""What is about the visitor's own text, file or key; what of it is foreign is tried below."""


@pytest.fixture(scope="module")
def market(tmp_path_factory: pytest.TempPathFactory) -> tuple[World, dict[str, str]]:
    """A market, and what the owner has in it."""
    world, run = make_market(tmp_path_factory.mktemp("strangers"))
    (bound,) = world.get("/v1/data").json()["items"]
    job = world.ask("POST", "/v1/jobs", json={"kind": "assess", "target": CUSTOMER}).json()
    return world, {"run": run, "data": bound["id"], "job": job["id"]}


def seen(world: World, party: str, path: str, method: str = "GET", **parts: Any) -> Response:
    """The answer to a party that has just signed in."""
    world.client.cookies.clear()
    begun = world.client.post(
        "/web/sign-in", data={"key": world.keys[party]}, headers=HERE, follow_redirects=False
    )
    assert begun.status_code == 303
    answer: Response = world.client.request(
        method, f"/web/{path}", headers=HERE, follow_redirects=False, **parts
    )
    return answer


def test_the_tables_name_every_page() -> None:
    assert {page.name for page in PAGES} == {*ONE_OF, *LISTS, *OWN}


@pytest.mark.parametrize("name", ONE_OF)
def test_what_is_foreign_and_what_is_unknown_are_alike(
    market: tuple[World, dict[str, str]], name: str
) -> None:
    world, has = market
    foreign, unknown, form = ONE_OF[name]
    method = next(page.method for page in PAGES if page.name == name)
    parts = {"data": form} if method == "POST" else {}
    answers = [seen(world, STRANGER, path.format(**has), method, **parts) for path in (foreign, unknown)]
    assert [answer.status_code for answer in answers] == [404, 404]
    assert answers[0].content == answers[1].content
    assert {*answers[0].headers} == {*answers[1].headers}


@pytest.mark.parametrize("name", LISTS)
def test_lists_show_strangers_nothing(market: tuple[World, dict[str, str]], name: str) -> None:
    world, has = market
    page = seen(world, STRANGER, LISTS[name].format(**has))
    assert page.status_code == 200
    assert not {part for part in (CUSTOMER, POLICY, *has.values(), OWNER) if part in page.text}


def test_what_somebody_else_owns_cannot_be_taken(market: tuple[World, dict[str, str]]) -> None:
    world, has = market
    before = world.get("/v1/data").json(), world.get("/v1/policies").json()
    file = {"file": ("people.csv", b"a\n1\n", "text/csv")}
    refused = seen(world, STRANGER, "data/upload", "POST", data={"target": CUSTOMER}, files=file)
    assert (refused.status_code, "choose another IRI" in refused.text) == (409, True)
    added = seen(
        world, STRANGER, "policies/new", "POST", data={"text": TEXT, "writing": "application/ld+json"}
    )
    assert added.status_code == 422
    begun = seen(world, STRANGER, "policies/begin", "POST", data={"data": has["data"]})
    assert begun.status_code == 404
    assert (world.get("/v1/data").json(), world.get("/v1/policies").json()) == before
    assert len(list((world.folder / "uploads").iterdir())) == 1


def test_recipients_see_what_was_made_for_them_and_no_figures(
    market: tuple[World, dict[str, str]],
) -> None:
    world, has = market
    page = seen(world, USER, f"outputs/{has['run']}")
    assert page.status_code == 200
    assert "Figures for owners" not in page.text
    assert "Figures for owners" in seen(world, OWNER, f"outputs/{has['run']}").text
    file = seen(world, USER, f"outputs/{has['run']}/files/anonCustomer.csv")
    assert file.text.startswith("age,city,illness")
    policy = seen(world, USER, f"policy?uid={POLICY}")
    assert (policy.status_code, "k-anonymity" in policy.text) == (200, False)


def test_auditors_see_reports_and_operators_jobs_and_neither_data(
    market: tuple[World, dict[str, str]],
) -> None:
    world, has = market
    assert "Figures for owners" in seen(world, AUDITOR, f"outputs/{has['run']}").text
    for path in ("data", f"outputs/{has['run']}/files/anonCustomer.csv", "jobs", "budgets"):
        assert seen(world, AUDITOR, path).status_code == 403
    assert has["job"] in seen(world, OPERATOR, "jobs").text
    assert seen(world, OPERATOR, f"jobs/{has['job']}").status_code == 200
    for path in ("data", "policies", "outputs", f"outputs/{has['run']}"):
        assert seen(world, OPERATOR, path).status_code == 403


def test_rows_are_shown_to_the_owner_alone(market: tuple[World, dict[str, str]]) -> None:
    world, _ = market
    path = f"policy/try?uid={POLICY}&target={CUSTOMER}"
    assert "Ten rows of the data" in seen(world, OWNER, path).text
    for party in (USER, STRANGER):
        assert seen(world, party, path).status_code == 404
