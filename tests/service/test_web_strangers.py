"""Who sees what in pages: what is unknown and what is somebody else's look alike, in every page."""

import re
from typing import Any

import pytest
from httpx2 import Response
from service_world import (
    AUDITOR,
    MEMBERS,
    MODEL,
    OPERATOR,
    OTHERS,
    POLICY,
    STRANGER,
    World,
    add_audit,
    add_study,
    make_market,
)
from shell import CUSTOMER, OWNER, USER, small_document

from smalti.engine.jobs.requests import JobKind
from smalti.service.web.jobs import TITLES
from smalti.service.web.site import PAGES

HERE = {"origin": "http://testserver"}
UNKNOWN = "http://example.com/nothing"
RULE = "http://example.com/policy/small/1"
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
    "showRequest": (f"ask/new?policy={POLICY}&rule={RULE}&target={CUSTOMER}", "ask/new?policy=none", {}),
    "downloadCertificate": ("outputs/{run}/certificate", "outputs/none/certificate", {}),
    "showAudit": ("audits/{audit}", "audits/none", {}),
    "showAuditReport": ("audits/{audit}/report", "audits/none/report", {}),
    "downloadQualityCertificate": ("audits/{audit}/certificate", "audits/none/certificate", {}),
    "showOwned": (f"owners/of?target={CUSTOMER}", f"owners/of?target={UNKNOWN}", {}),
    "addOwner": (
        f"owners/of?target={CUSTOMER}", f"owners/of?target={UNKNOWN}", {"party": STRANGER},
    ),
    "askOwnerRemoval": (
        f"owners/remove?target={CUSTOMER}&party={OWNER}", f"owners/remove?target={UNKNOWN}&party={OWNER}",
        {},
    ),
    "removeOwner": (
        f"owners/remove?target={CUSTOMER}&party={OWNER}", f"owners/remove?target={UNKNOWN}&party={OWNER}",
        {},
    ),
    "withdraw": (
        f"owners/withdraw?target={CUSTOMER}", f"owners/withdraw?target={UNKNOWN}",
        {"respondents": "p1", "column": "who"},
    ),
    "showStudyReport": ("jobs/{study}/report", "jobs/none/report", {}),
}  # fmt: skip
LISTS = {
    "showOwners": "owners",
    "showHome": "", "showData": "data", "showBinding": "data/bind",
    "showPolicies": "policies?state=all", "showOutputs": "outputs",
    "showPermissions": "ask", "showAudits": "audits", "showStudyForm": "audits/new",
    "showBudgets": "budgets", "showJobs": "jobs", "beginPolicy": "policies/begin?data={data}",
}  # fmt: skip
OWN = {
    "showSignIn", "signIn", "signOut", "showUpload", "receiveUpload", "showEditor", "addPolicy",
    "checkText", "tryDraft", "bindFile", "policyFromForm",
    "showNothing", "askFor", "startStudies", "showOtherStudyForm", "startStudy", "showHealth",
}  # fmt: skip
"""What is about the visitor's own text, file or key; what of it is foreign is tried below."""


@pytest.fixture(scope="module")
def market(tmp_path_factory: pytest.TempPathFactory) -> tuple[World, dict[str, str]]:
    """A market, and what the owner has in it."""
    world, run = make_market(tmp_path_factory.mktemp("strangers"))
    (bound,) = world.get("/v1/data").json()["items"]
    job = world.ask("POST", "/v1/jobs", json={"kind": "assess", "target": CUSTOMER}).json()
    has = {"run": run, "data": bound["id"], "job": job["id"], "study": add_study(world)}
    return world, has | {"audit": add_audit(world)}


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
    assert {*TITLES} == {*JobKind}, "each kind of jobs has a name for people"


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
    assert len(list((world.folder / "uploads").iterdir())) == 4


def test_recipients_see_what_was_made_for_them_and_no_figures(
    market: tuple[World, dict[str, str]],
) -> None:
    world, has = market
    page = seen(world, USER, f"outputs/{has['run']}")
    assert page.status_code == 200
    assert "Figures for owners" not in page.text
    assert "Figures for owners" in seen(world, OWNER, f"outputs/{has['run']}").text
    assert not re.search("<a [^>]*download[ >=]", page.text), (
        "a browser shows nothing of a refusal of such a link"
    )
    certificate = seen(world, USER, f"outputs/{has['run']}/certificate")
    assert certificate.headers["content-disposition"] == 'attachment; filename="certificate.jsonld"'
    file = seen(world, USER, f"outputs/{has['run']}/files/anonCustomer.csv")
    assert file.headers["content-disposition"].startswith("attachment")
    assert file.text.startswith("age,city,illness")
    policy = seen(world, USER, f"policy?uid={POLICY}")
    assert (policy.status_code, "k-anonymity" in policy.text) == (200, False)


def test_auditors_see_reports_and_operators_jobs_and_neither_data(
    market: tuple[World, dict[str, str]],
) -> None:
    world, has = market
    assert "Figures for owners" in seen(world, AUDITOR, f"outputs/{has['run']}").text
    navigation = seen(world, AUDITOR, "").text.partition("<main")[0]
    assert "Policies and outputs" in navigation
    assert not re.search("As owner|My policies", navigation)
    for path in ("data", f"outputs/{has['run']}/files/anonCustomer.csv", "budgets", "ask"):
        assert seen(world, AUDITOR, path).status_code == 403
    assert has["job"] in seen(world, OPERATOR, "jobs").text
    assert seen(world, OPERATOR, f"jobs/{has['job']}").status_code == 200
    about = {
        party: {job["id"]: job["about"] for job in world.get("/v1/jobs", party).json()["items"]}
        for party in (OWNER, OPERATOR)
    }
    assert (about[OWNER][has["job"]], about[OWNER][has["study"]]) == (CUSTOMER, MODEL)
    assert set(about[OPERATOR].values()) == {None}
    assert CUSTOMER in seen(world, OWNER, f"jobs/{has['job']}").text
    assert CUSTOMER not in seen(world, OPERATOR, f"jobs/{has['job']}").text
    for path in ("data", "policies", "outputs", f"outputs/{has['run']}"):
        assert seen(world, OPERATOR, path).status_code == 403


def test_numbers_of_a_sweep_are_refused_at_their_field(market: tuple[World, dict[str, str]]) -> None:
    world, _ = market
    before = len(world.get("/v1/jobs").json()["items"])
    for numbers in ("2;3", "1", "2,", "two", "k=2", ",".join(map(str, range(2, 23)))):
        fields = {"target": CUSTOMER, "numbers": numbers}
        refused = seen(world, OWNER, f"policy/sweep?uid={POLICY}", "POST", data=fields)
        assert (refused.status_code, 'aria-invalid="true"' in refused.text) == (422, True), numbers
        assert "--vary" not in refused.text
    assert len(world.get("/v1/jobs").json()["items"]) == before


def test_rows_are_shown_to_the_owner_alone(market: tuple[World, dict[str, str]]) -> None:
    world, _ = market
    path = f"policy/try?uid={POLICY}&target={CUSTOMER}"
    assert "Ten rows of the data" in seen(world, OWNER, path).text
    for party in (USER, STRANGER):
        assert seen(world, party, path).status_code == 404


def test_a_text_is_tried_on_the_visitors_own_data_and_stays_out_of_force(
    market: tuple[World, dict[str, str]],
) -> None:
    world, _ = market
    before = world.registry.list_policies()
    text = str(small_document(k=("eq", 2))).replace("'", '"').replace("None", "null")
    fields = {"text": text, "writing": "application/ld+json", "replaced": POLICY, "tag": "*"}
    tried = seen(world, OWNER, "policies/try", "POST", data=fields | {"target": CUSTOMER, "numbers": "2,3"})
    assert tried.status_code == 200
    assert "Ten rows of the data" in tried.text
    assert 'aria-label="Points"' in tried.text
    answers = [
        seen(world, STRANGER, "policies/try", "POST", data=fields | {"replaced": "", "target": target})
        for target in (CUSTOMER, UNKNOWN)
    ]
    assert [answer.status_code for answer in answers] == [404, 404]
    assert "<h2>Figures" not in answers[0].text
    foreign = seen(world, STRANGER, "policies/try", "POST", data=fields | {"target": CUSTOMER})
    assert foreign.status_code == 404
    many = seen(world, OWNER, "policies/try", "POST", data=fields | {"target": CUSTOMER, "numbers": "2;3"})
    assert (many.status_code, 'id="wrong-numbers"' in many.text) == (422, True)
    assert world.registry.list_policies() == before


def test_auditors_start_studies_of_what_belongs_to_the_same_owner(
    market: tuple[World, dict[str, str]],
) -> None:
    world, has = market
    fields = {"model": MODEL, "members": MEMBERS, "others": OTHERS, "label": "class", "attack": "loss"}
    before = len(world.get("/v1/jobs", OPERATOR).json()["items"])
    for party in (STRANGER, USER):
        refused = seen(world, party, "audits/new", "POST", data=fields)
        assert (refused.status_code, MODEL in refused.text) == (422, False)
    wrong = seen(world, AUDITOR, "audits/new", "POST", data=fields | {"attack": "", "others": MEMBERS})
    assert wrong.status_code == 422
    assert "Choose at least one attack." in wrong.text
    assert len(world.get("/v1/jobs", OPERATOR).json()["items"]) == before
    assert seen(world, AUDITOR, "audits/new", "POST", data=fields).status_code == 303
    listed = seen(world, AUDITOR, "audits").text
    assert has["audit"] in listed
    assert has["study"] not in listed
    assert seen(world, AUDITOR, f"jobs/{has['study']}").status_code == 404
    framed = seen(world, AUDITOR, f"audits/{has['audit']}/report")
    assert "sandbox" in framed.headers["content-security-policy"]
    assert "<svg" in framed.text


def test_other_studies_are_started_from_forms_of_what_they_are_asked_for(
    market: tuple[World, dict[str, str]],
) -> None:
    world, _ = market
    shown = seen(world, OWNER, "audits/new").text
    for kind in ("release-audit", "generative-audit", "identifiability", "compare"):
        assert f"audits/new/{kind}" in shown
        assert 'name="seed"' in seen(world, OWNER, f"audits/new/{kind}").text
    assert "audits/new/release-audit" not in seen(world, AUDITOR, "audits/new").text
    for kind in ("release-audit", "study", "none"):
        assert seen(world, AUDITOR, f"audits/new/{kind}").status_code == 404
    assert MEMBERS not in seen(world, STRANGER, "audits/new/generative-audit").text
    before = len(world.get("/v1/jobs", OPERATOR).json()["items"])
    place = "audits/new/generative-audit"
    fields = {"members": MEMBERS, "others": OTHERS, "samples": OTHERS, "attacks": "monte-carlo"}
    for name, stated in (
        ("members", ""), ("attacks", ""), ("attacks", "guessing"), ("size", "0"), ("size", "x"),
        ("samples", ""),
    ):  # fmt: skip
        refused = seen(world, AUDITOR, place, "POST", data=fields | {name: stated})
        assert (refused.status_code, f'id="wrong-{name}"' in refused.text) == (422, True), (name, stated)
    assert seen(world, STRANGER, place, "POST", data=fields).status_code == 422
    beliefs = seen(world, AUDITOR, "audits/new/identifiability-sample", "POST",
                   data={"sample": "digits", "beliefs": "0.9, 2"})  # fmt: skip
    assert 'id="wrong-beliefs"' in beliefs.text
    assert len(world.get("/v1/jobs", OPERATOR).json()["items"]) == before
    begun = seen(world, AUDITOR, place, "POST", data=fields)
    assert begun.headers["location"].startswith("/web/jobs/")
    assert "Audit of a generative model" in seen(world, AUDITOR, "audits").text


def test_a_requester_asks_for_what_names_it_and_errors_stand_at_the_field(
    market: tuple[World, dict[str, str]],
) -> None:
    world, _ = market
    fields = {"policy": POLICY, "rule": RULE, "target": CUSTOMER, "purpose": "marketing"}
    for party in (STRANGER, AUDITOR):
        assert seen(world, party, "ask/new", "POST", data=fields).status_code == (
            404 if party == STRANGER else 403
        )
    for name, wrong in (("purpose", "statistical"), ("purpose", "x y"), ("with-k", "1"), ("with-k", "x")):
        refused = seen(world, USER, "ask/new", "POST", data=fields | {name: wrong})
        assert refused.status_code == 422, wrong
        assert f'id="wrong-{name}"' in refused.text, wrong
    assert world.get("/v1/jobs", USER).json()["items"] == []
    places = {
        seen(world, USER, "ask/new", "POST", data=fields | {"with-k": "3", "once": "a"}).headers["location"]
        for _ in range(2)
    }
    (job,) = world.get("/v1/jobs", USER).json()["items"]
    assert places == {f"/web/jobs/{job['id']}"}


def test_operators_see_whether_the_service_works(market: tuple[World, dict[str, str]]) -> None:
    world, has = market
    page = seen(world, OPERATOR, "health").text
    assert "works" in page
    assert has["job"] in page
    assert not {part for part in (CUSTOMER, POLICY, OWNER, USER) if part in page}
