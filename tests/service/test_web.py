"""Pages without a browser: sessions, forms, who sees which page, and what is refused."""

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from httpx2 import Response
from service_world import AUDITOR, MODEL, OPERATOR, POLICY, STRANGER, World, make_world
from shell import CUSTOMER, OWNER, USER, small_document

from smalti.engine.registry.access import Role
from smalti.engine.registry.registry import Registry
from smalti.fluent import new_policy
from smalti.service.application import OPERATIONS
from smalti.service.asking import Asking
from smalti.service.authentication import Authentication
from smalti.service.parties import Asker
from smalti.service.problems import RefusedError
from smalti.service.web.drawings import steps
from smalti.service.web.page import Form
from smalti.service.web.sessions import LONGEST, MOST_OF_KEY, QUIET, Sessions
from smalti.service.web.site import PAGES
from smalti.vocab.terms import IRI

DATA = "http://example.com/Data"
HERE = {"origin": "http://testserver"}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return make_world(tmp_path_factory.mktemp("web"))


LATER = time.time() + 10 * LONGEST
"""When sessions of other tests have ended."""


def page(world: World, path: str, **parts: Any) -> Response:
    answer: Response = world.client.get(path, follow_redirects=False, **parts)
    return answer


def send(world: World, path: str, headers: dict[str, str] | None = None, **fields: Any) -> Response:
    answer: Response = world.client.post(
        path, data=fields, headers=HERE if headers is None else headers, follow_redirects=False
    )
    return answer


def sign_in(world: World, party: str) -> Response:
    world.client.cookies.clear()
    return send(world, "/web/sign-in", key=world.keys[party])


def test_a_browser_is_led_to_the_pages_and_a_program_is_not(world: World) -> None:
    world.client.cookies.clear()
    led = page(world, "/", headers={"accept": "text/html,*/*"})
    assert (led.status_code, led.headers["location"]) == (303, "/web/")
    assert page(world, "/").json()["openapi"] == "/openapi.json"
    asked = page(world, "/web/")
    assert (asked.status_code, asked.headers["location"]) == (303, "/web/sign-in?next=%2Fweb%2F")


def test_pages_have_no_script_or_style_inside_and_no_other_host() -> None:
    """Their security policy refuses these; no page may need them."""
    folder = Path(__file__).parents[2] / "src" / "smalti" / "service" / "web"
    for template in folder.glob("templates/**/*.html"):
        text = template.read_text(encoding="utf-8")
        assert re.findall(r"style=|<style|\son\w+=|javascript:|<script(?! src)|=\"https?://", text) == [], (
            template
        )
        assert re.findall(r"\|\s*safe|Markup|autoescape false", text) == [], template


def test_a_session_is_a_cookie_that_scripts_and_other_sites_do_not_see(world: World) -> None:
    begun = sign_in(world, OWNER)
    assert (begun.status_code, begun.headers["location"]) == (303, "/web/")
    cookie = begun.headers["set-cookie"]
    assert {part.strip() for part in cookie.split(";")} >= {"HttpOnly", "SameSite=strict", "Path=/"}
    assert world.keys[OWNER] not in cookie
    home = page(world, "/web/")
    assert OWNER in home.text
    policy = home.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; style-src 'self'; script-src 'self'")
    assert "frame-ancestors 'none'" in policy
    assert home.headers["cache-control"] == "no-store"
    assert send(world, "/web/sign-out").headers["location"] == "/web/sign-in"
    world.client.cookies.set("smalti", cookie.partition("=")[2].partition(";")[0])
    assert page(world, "/web/").status_code == 303, "the token itself has ended, not only the cookie"


def test_behind_tls_the_cookie_is_for_this_host_alone(tmp_path: Path) -> None:
    world = make_world(tmp_path, behind_proxy=True)
    cookie = sign_in(world, OWNER).headers["set-cookie"]
    assert cookie.startswith("__Host-smalti=")
    assert "Secure" in cookie


def test_a_wrong_key_is_refused_at_its_field(world: World) -> None:
    world.client.cookies.clear()
    for key in ("", "smalti_0_wrong", "eyJhbGciOiJub25lIn0.e30."):
        refused = send(world, "/web/sign-in", key=key)
        assert refused.status_code == 401
        assert "set-cookie" not in refused.headers
        assert 'aria-invalid="true"' in refused.text
        assert key == "" or key not in refused.text


def test_a_revoked_key_ends_the_session_with_the_next_request(world: World) -> None:
    key, entry = world.registry.access.add_key(entry_party(), [*roles_of(world)])
    world.client.cookies.clear()
    assert send(world, "/web/sign-in", key=key).status_code == 303
    assert page(world, "/web/").status_code == 200
    world.registry.access.revoke(entry.handle)
    assert page(world, "/web/").headers["location"].startswith("/web/sign-in")
    assert send(world, "/web/sign-in", key=key).status_code == 401


def entry_party() -> Any:
    return OWNER


def roles_of(world: World) -> Any:
    return next(entry.roles for entry in world.registry.access.listed() if entry.party == OWNER)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"origin": "http://elsewhere.example"},
        {"origin": "http://testserver:81"},
        {"origin": "null"},
        {"origin": "http://testserver", "sec-fetch-site": "same-site"},
        {"origin": "http://testserver", "sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "none"},
    ],
)
def test_forms_of_other_origins_are_refused(world: World, headers: dict[str, str]) -> None:
    sign_in(world, OWNER)
    for form in (row for row in PAGES if row.method == "POST"):
        path = "/web/" + re.sub(r"\{\w+\}", "x", form.path)
        refused = send(world, path, headers=headers, key=world.keys[OWNER])
        assert refused.status_code == 403, path
        assert "set-cookie" not in refused.headers
    assert page(world, "/web/").status_code == 200, "still signed in"


@pytest.mark.parametrize(
    ("next_place", "leads_to"),
    [
        ("/web/policies?state=a%20b", "/web/policies?state=a%20b"),
        ("//elsewhere.example", "/web/"),
        ("/web/..//elsewhere", "/web/..//elsewhere"),
        ("https://elsewhere.example/web/", "/web/"),
        ("/web/\\elsewhere", "/web/"),
        ("/v1/self", "/web/"),
        ("/web/x\r\nSet-Cookie: a=b", "/web/"),
        ("", "/web/"),
    ],
)
def test_a_sign_in_leads_to_pages_of_this_site_alone(world: World, next_place: str, leads_to: str) -> None:
    world.client.cookies.clear()
    begun = send(world, "/web/sign-in", key=world.keys[OWNER], next=next_place)
    assert begun.headers["location"] == leads_to


def test_each_page_is_for_its_roles_alone(world: World) -> None:
    for party in (OWNER, AUDITOR, OPERATOR):
        roles = next(entry.roles for entry in world.registry.access.listed() if entry.party == party)
        sign_in(world, party)
        for row in (row for row in PAGES if row.method == "GET"):
            path = "/web/" + re.sub(r"\{\w+(:path)?\}", "x", row.path)
            status = page(world, path).status_code
            assert (status == 403) == (not row.is_for_anybody and not row.roles & roles), (path, party)
    world.client.cookies.clear()
    for row in (row for row in PAGES if not row.is_for_anybody):
        path = "/web/" + re.sub(r"\{\w+(:path)?\}", "x", row.path)
        if row.method == "GET":
            assert page(world, path).headers["location"].startswith("/web/sign-in?next="), path
        else:
            assert send(world, path).status_code == 401, path


def test_what_is_no_page_is_told_as_one(world: World) -> None:
    sign_in(world, STRANGER)
    for path in ("/web/nothing", "/web/sign-out"):
        answer = page(world, path)
        assert (answer.status_code, "<h1" in answer.text) == (404, True)


def test_sessions_end_by_time(world: World) -> None:
    now = [LATER]
    clock: Callable[[], float] = lambda: now[0]  # noqa: E731
    sessions = Sessions(world.service.authentication, clock)
    token = sessions.begin(world.keys[USER])
    for _ in range(int(LONGEST / (QUIET - 1))):
        now[0] += QUIET - 1
        assert sessions.asker(token).party == USER
    now[0] += QUIET - 1
    with pytest.raises(RefusedError):
        sessions.asker(token)
    token = sessions.begin(world.keys[USER])
    for _ in range(2):
        assert sessions.asker(token, renews=False).party == USER
        now[0] += QUIET / 2
    with pytest.raises(RefusedError):
        sessions.asker(token, renews=False)
    token = sessions.begin(world.keys[USER])
    now[0] += QUIET
    with pytest.raises(RefusedError):
        sessions.asker(token)


def test_a_key_has_so_many_sessions_and_the_quietest_gives_way(world: World) -> None:
    now = [LATER + 10 * LONGEST]
    sessions = Sessions(world.service.authentication, lambda: now[0])
    other = sessions.begin(world.keys[OWNER])
    tokens = []
    for _ in range(MOST_OF_KEY + 1):
        now[0] += 1
        tokens.append(sessions.begin(world.keys[USER]))
    with pytest.raises(RefusedError):
        sessions.asker(tokens[0])
    assert {sessions.asker(token).party for token in tokens[1:]} == {USER}
    assert sessions.asker(other).party == OWNER
    # Another process of the service, which has its own view of the registry, knows the same sessions.
    place = world.service.registry.path
    assert place is not None
    apart = Sessions(Authentication(Registry.open(place)), lambda: now[0])
    assert apart.asker(other).party == OWNER
    for token in (other, *tokens):
        apart.end(token)
    with pytest.raises(RefusedError):
        sessions.asker(other)


def test_what_a_page_asks_for_is_for_the_roles_of_the_operation(world: World) -> None:
    """Also where the page is for more roles than the operation."""
    named = {operation.name: operation for operation in OPERATIONS}
    auditor = Asker(IRI(OWNER), frozenset({Role.AUDITOR}))
    asking = Asking(world.service, auditor, lambda: auditor, named)
    assert "items" in asking.read("listPolicies")
    for name in ("listData", "listPermissions"):
        with pytest.raises(RefusedError) as refused:
            asking.ask(name)
        assert refused.value.status == 403


def test_texts_of_a_form_have_the_line_ends_of_documents() -> None:
    form = Form({"text": ("a\r\n b ",), "many": ("x", " ", "y")})
    assert (form.raw("text"), form.text("text"), form.text("none")) == ("a\n b ", "a\n b", "")
    assert form.texts("many") == ("x", "y")


def upload(world: World, content: bytes, name: str = "a.csv", **fields: str) -> Response:
    answer: Response = world.client.post(
        "/web/data/upload", data=fields, files={"file": (name, content, "text/csv")}, headers=HERE,
        follow_redirects=False,
    )  # fmt: skip
    return answer


def test_an_upload_of_a_form_is_a_stream_with_a_limit(tmp_path: Path) -> None:
    world = make_world(tmp_path, upload_limit=1000)
    sign_in(world, OWNER)
    target = "http://example.com/Data"
    large = upload(world, b"a\n" + b"1\n" * 1000, target=target)
    assert (large.status_code, "at most 1000 bytes" in large.text.lower()) == (413, True)
    assert upload(world, b"a\n1\n", target="no IRI").status_code == 422
    none = world.client.post(
        "/web/data/upload", data={"target": target}, files={"file": ("", b"")}, headers=HERE
    )
    assert (none.status_code, "No file was chosen" in none.text) == (422, True)
    assert send(world, "/web/data/upload", target=target).status_code == 415
    kind = {"content-type": "multipart/form-data; boundary=x"}
    named = b'--x\r\nContent-Disposition: form-data; name="target"\r\n\r\nhttp://example.com/Data\r\n'
    half = named + b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\na\n1'
    for content in (b"--y\r\nnothing", half):
        broken = world.client.post("/web/data/upload", content=content, headers=HERE | kind)
        assert broken.status_code == 400
    assert list((tmp_path / "uploads").iterdir()) == []
    assert upload(world, b"a\n" + b"1\n" * 400, target=target).status_code == 303
    (place,) = (tmp_path / "uploads").rglob("a.csv")
    assert place.read_bytes() == b"a\n" + b"1\n" * 400


def test_what_is_described_as_text_is_written_as_text(tmp_path: Path) -> None:
    """Without a datatype the values would be looked at again: postal codes became ranges of numbers."""
    world = make_world(tmp_path)
    sign_in(world, OWNER)
    described = (
        upload(world, b"code,age\n12345,1\n54321,2\n", target=DATA).headers["location"].partition("?")[0]
    )
    fields: dict[str, Any] = {"datatype-0": "string", "datatype-1": ""}
    assert send(world, described, **fields).status_code == 303
    (bound,) = world.get("/v1/data").json()["items"]
    columns = world.get(f"/v1/data/{bound['id']}/description").json()["tableSchema"]["columns"]
    assert columns == [{"name": "code", "datatype": "string"}, {"name": "age"}]
    assert '<option value="string" selected>text' in page(world, described).text


def test_no_page_shows_where_a_file_lies(tmp_path: Path) -> None:
    world = make_world(tmp_path)
    sign_in(world, OWNER)
    upload(world, b"x", "digits.skops", target=MODEL)
    upload(world, b"a,a\n1,2\n", target=DATA)
    bound = {item["target"]: item["id"] for item in world.get("/v1/data").json()["items"]}
    assert "to be described" in page(world, "/web/data").text
    assert page(world, "/web/data").text.count("to be described") == 1
    assert MODEL not in page(world, "/web/policies/begin").text
    refused = world.get(f"/v1/data/{bound[MODEL]}/proposal").json()
    assert "digits.skops" in str(refused)
    broken = world.ask(
        "PUT",
        f"/v1/data/{bound[DATA]}/description",
        content=b"{",
        headers={"content-type": "application/json"},
    )
    shown = [str(refused), broken.text]
    shown += [page(world, f"/web/data/{id}/describe").text for id in bound.values()]
    upload(world, b"a,a\n1,2\n", target=CUSTOMER)
    world.add_policy(small_document())
    tried = world.ask("POST", "/v1/previews", json={"policy": POLICY, "target": CUSTOMER})
    assert (tried.status_code, "a.csv" in tried.text) == (422, True)
    shown.append(tried.text)
    assert not [text for text in shown if "uploads" in text or str(tmp_path) in text]


def test_a_description_stays_with_a_file_that_it_fits(tmp_path: Path) -> None:
    world = make_world(tmp_path)
    sign_in(world, OWNER)
    described = upload(world, b"code,age\n12345,1\n", target=DATA).headers["location"].partition("?")[0]
    fields: dict[str, Any] = {"datatype-0": "string"}
    send(world, described, **fields)
    fits = page(world, upload(world, b"code,age\n2,3\n", "b.csv", target=DATA).headers["location"])
    assert "The file replaced the earlier one. Its description was kept." in fits.text
    (bound,) = world.get("/v1/data").json()["items"]
    kept = world.get(f"/v1/data/{bound['id']}/description").json()
    assert (kept["url"], kept["tableSchema"]["columns"][0]["datatype"]) == ("b.csv", "string")
    unfit = page(world, upload(world, b"age\n3\n", target=DATA).headers["location"])
    assert "The earlier description does not fit this file" in unfit.text
    (bound,) = world.get("/v1/data").json()["items"]
    assert not bound["described"]
    again = page(world, upload(world, b"age\n3\n", target=DATA).headers["location"])
    assert "The file replaced the earlier one. Say what" in again.text


@pytest.mark.parametrize(
    ("name", "content"),
    [("a.txt", b"text"), ("a.csv", b""), ("a.csv", b'a,b\n"1,2\n'), ("a.csv", b"a,a\n1,2\n")],
)
def test_a_file_that_is_no_table_is_not_praised(tmp_path: Path, name: str, content: bytes) -> None:
    world = make_world(tmp_path)
    sign_in(world, OWNER)
    for said in (
        "The file cannot be read as a table",
        "The file replaced the earlier one, and cannot be read",
    ):
        shown = page(world, upload(world, content, name, target=DATA).headers["location"]).text
        assert said in shown
        assert not re.search("Say what its|was not kept|class=.notice", shown)


def test_a_form_that_is_sent_twice_orders_one_job(tmp_path: Path) -> None:
    world = make_world(tmp_path)
    sign_in(world, OWNER)
    assert upload(world, b"a,b\n1,2\n", target="http://example.com/Data").status_code == 303
    (bound,) = world.get("/v1/data").json()["items"]
    places = {
        send(world, f"/web/data/{bound['id']}/assess", once=key).headers["location"]
        for key in ("first", "first", "second")
    }
    assert len(places) == len(world.get("/v1/jobs").json()["items"]) == 2
    place = places.pop()
    assert "The file was received." in page(world, place).text
    said = "This page follows the work"
    world.client.cookies.set("smalti-notice", "asked", domain="testserver.local", path="/")
    assert said in page(world, place).text
    assert said not in page(world, place).text, "it was said"
    assert send(world, f"{place}/stop").status_code == 303
    world.client.cookies.set("smalti-notice", "asked", domain="testserver.local", path="/")
    assert said not in page(world, place).text, "it is over"


def test_a_description_that_does_not_fit_is_refused_at_its_columns(tmp_path: Path) -> None:
    world = make_world(tmp_path)
    sign_in(world, OWNER)
    upload(world, b"age,city,day\n1,x,2020-01-01\nx,y,2020-01-02\n", target=DATA)
    (bound,) = world.get("/v1/data").json()["items"]
    place = f"/web/data/{bound['id']}/describe"
    kinds = {"datatype-0": "integer", "datatype-1": "string", "datatype-2": "dateTime"}
    refused = send(world, place, **kinds)
    assert refused.status_code == 422
    assert re.findall('id="wrong-([^"]+)"', refused.text) == ["datatype-0", "datatype-2"]
    assert "Column `age`, record 2: a value is not of this kind." in refused.text
    metadata = {"@context": "http://www.w3.org/ns/csvw", "url": "a.csv"}
    columns = {"tableSchema": {"columns": [{"name": "age", "datatype": "date"}, {"name": "none"}]}}
    listed = world.ask("PUT", f"/v1/data/{bound['id']}/description", json=metadata | columns)
    assert (listed.status_code, len(listed.json()["problems"])) == (422, 2)
    assert world.get(f"/v1/data/{bound['id']}").json()["described"] is False
    assert send(world, place, **kinds | {"datatype-0": "string", "datatype-2": "date"}).status_code == 303
    assert len(list(next((tmp_path / "uploads").iterdir()).iterdir())) == 2


def test_files_of_the_visitors_folder_are_chosen_from_a_list(tmp_path: Path) -> None:
    mine, others = tmp_path / "mine", tmp_path / "others"
    for folder in (mine / "below", others):
        folder.mkdir(parents=True)
        (folder / "a.csv").write_text("a\n1\n")
    (mine / "leads-out.csv").symlink_to(others / "a.csv")
    (mine / ".hidden").write_text("")
    roots = ((OWNER, mine), (USER, others))
    world = make_world(tmp_path, roots=roots)
    sign_in(world, OWNER)
    assert world.get("/v1/files").json()["items"] == [{"file": "below/a.csv"}]
    assert world.get("/v1/files", STRANGER).json()["items"] == []
    assert "Use a file of my folder" in page(world, "/web/data").text
    assert re.findall('<option value="([^"]*)"', page(world, "/web/data/bind").text) == ["below/a.csv"]
    for wrong in ("../others/a.csv", "leads-out.csv", str(others / "a.csv"), "none.csv"):
        refused = send(world, "/web/data/bind", target=DATA, file=wrong)
        assert (refused.status_code, 'id="wrong-file"' in refused.text) == (404, True), wrong
    assert send(world, "/web/data/bind", target="no IRI", file="below/a.csv").status_code == 422
    bound = send(world, "/web/data/bind", target=DATA, file="below/a.csv")
    assert "The data is bound to the file" in page(world, bound.headers["location"]).text


def test_no_link_shows_a_notice_and_each_is_shown_once(world: World) -> None:
    sign_in(world, OWNER)
    assert "The data was removed." not in page(world, "/web/data?notice=removed").text
    ended = send(world, "/web/sign-out")
    assert "HttpOnly" in ended.headers["set-cookie"]
    seen = [page(world, ended.headers["location"], headers={"smalti-script": "1"}).text]
    seen += [page(world, ended.headers["location"]).text for _ in range(2)]
    assert ["You are signed out." in text for text in seen] == [True, True, False]
    world.client.cookies.set("smalti-notice", "<b>none</b>")
    assert "none</b>" not in page(world, "/web/sign-in").text


def test_policies_are_shown_as_they_were_written(tmp_path: Path) -> None:
    world = make_world(tmp_path)
    sign_in(world, OWNER)
    short = new_policy(
        policy="http://example.com/policy/s", owner=OWNER, party=USER, target=DATA
    ).anonymize(k=3, quasi_identifiers=["a"], output="http://example.com/out", one_row_each=True)
    assert (
        send(
            world, "/web/policies/new", text=short.to_short(), writing="application/yaml", do="add"
        ).headers["location"]
        == "/web/policy?uid=http%3A%2F%2Fexample.com%2Fpolicy%2Fs"
    )
    place = "/web/policy?uid=http://example.com/policy/s"
    assert "k: 3" in page(world, place).text
    assert "leftOperand" not in page(world, place).text
    assert "leftOperand" in page(world, f"{place}&form=json-ld").text
    changed = page(world, "/web/policy/replace?uid=http://example.com/policy/s").text
    assert "k: 3" in changed
    kept = world.get("/v1/policies/http://example.com/policy/s").json()
    assert (kept["mediaType"], "leftOperand" in kept["document"]) == ("application/ld+json", True)


def test_ticks_of_a_drawing_are_round_and_include_all_points() -> None:
    chart = steps([(0.0, 0.1), (10.0, 0.37)], x="time", y="sum", labels=["a", "b"], levels={"ceiling": 0.5})
    assert [tick.label for tick in chart.y_ticks] == ["0", "0.1", "0.2", "0.3", "0.4", "0.5"]
    assert all(chart.top <= mark.y <= chart.bottom for mark in chart.lines[0].marks)
    (level,) = chart.levels
    assert level.place == chart.top
