"""An owner's flows in a real browser, asserted on the accessibility tree.

The same tests take the screenshots of the documentation, where `SMALTI_SCREENSHOTS` names a folder.
"""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from browsing import browser, check_accessible, check_fits, row_of, shot, sign_in, tree, watched
from served import served
from service_world import POLICY, READER, World, make_market
from shell import CUSTOMER, OWNER, USER, small_rows, smalti

from smalti.engine.registry.budget import Ceiling, Charge
from smalti.engine.registry.entries import new_run
from smalti.transforms.loss.privacy_loss import PrivacyLoss
from smalti.transforms.sensitivity import NeighboringRelation
from smalti.vocab.terms import IRI

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

__all__ = ["browser"]
pytestmark = pytest.mark.browser

PEOPLE = "http://example.com/People"


@pytest.fixture(scope="module")
def market(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[World, str, str]]:
    """A world with an output and charges, its run, and its address."""
    world, run = make_market(tmp_path_factory.mktemp("browser"))
    for day, epsilon in enumerate(("0.1", "0.25", "0.03"), 1):
        charge = Charge(
            run=new_run(), target=IRI(CUSTOMER), inputs=(), epsilon=Decimal(epsilon), delta=Decimal(0),
            loss=PrivacyLoss(pure=Fraction(epsilon)), neighbors=NeighboringRelation.ADD_OR_REMOVE_ONE,
            party=IRI(USER), purpose=None, policy_uid=IRI(POLICY), rule_uid=IRI(f"{POLICY}/1"),
            plan_digest="sha256:" + "0" * 64, time=datetime(2026, 1, 2 * day, 8, 30, tzinfo=UTC),
        )  # fmt: skip
        assert world.registry.ledger.charge(charge, Ceiling(Decimal(1), Decimal(0)))
    with served(world) as address:
        yield world, run, address


@pytest.fixture(scope="module")
def signed_in(browser: "Browser", market: tuple[World, str, str]) -> Any:
    """The cookies of the owner, who has signed in."""
    world, _, address = market
    context, _ = watched(browser, address)
    sign_in(context.new_page(), world.keys[OWNER])
    state = context.storage_state()
    context.close()
    return state


@pytest.fixture
def page(browser: "Browser", market: tuple[World, str, str], signed_in: Any) -> "Iterator[Page]":
    """A page of the owner, who is signed in."""
    context, wrong = watched(browser, market[2], storage_state=signed_in)
    opened = context.new_page()
    opened.goto("/web/")
    yield opened
    context.close()
    assert wrong == []


def bound_to(world: World, target: str) -> dict[str, Any]:
    items: list[dict[str, Any]] = world.get("/v1/data").json()["items"]
    return next(bound for bound in items if bound["target"] == target)


def headed(page: "Page", title: str) -> None:
    """Wait for a page by its first heading: what was shown before counts no more."""
    page.get_by_role("heading", level=1, name=title).wait_for()


def says(page: "Page", text: str) -> None:
    """Wait for what a page says of a form that was done."""
    page.get_by_role("status").filter(has_text=text).first.wait_for()


def test_sign_in_by_keyboard_with_errors_at_the_field(
    browser: "Browser", market: tuple[World, str, str]
) -> None:
    world, _, address = market
    context, wrong = watched(browser, address, color_scheme="dark")
    page = context.new_page()
    page.goto("/")
    assert page.get_by_label("Key").evaluate("field => field === document.activeElement")
    page.keyboard.type("smalti_wrong")
    page.keyboard.press("Enter")
    page.locator("[aria-invalid=true]").wait_for()
    field = page.get_by_label("Key")
    described = [
        page.locator(f"#{name}").inner_text()
        for name in (field.get_attribute("aria-describedby") or "").split()
    ]
    assert described[1].startswith("No such key is in force.")
    shot(page, "sign-in-dark")
    field.fill(world.keys[OWNER])
    page.keyboard.press("Enter")
    headed(page, "Overview")
    assert {cookie["httpOnly"] for cookie in context.cookies()} == {True}
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    whole = tree(page, "body")
    for part in (
        "- banner:",
        '- navigation "Main":',
        "- main:",
        'heading "As owner" [level=2]',
        'link "My data"',
    ):
        assert part in whole
    shot(page, "overview-dark")
    page.get_by_role("button", name="Sign out").click()
    says(page, "You are signed out.")
    page.goto("/web/data")
    headed(page, "Sign in")
    context.close()
    assert wrong == []


def test_data_is_uploaded_described_and_removed(
    page: "Page", market: tuple[World, str, str], tmp_path: Path
) -> None:
    page.get_by_role("navigation", name="Main").get_by_role("link", name="My data").click()
    page.get_by_role("link", name="Upload a file").click()
    file = tmp_path / "people.csv"
    file.write_text("who,age,city,illness\n" + "".join(",".join(row) + "\n" for row in small_rows()))
    page.get_by_label("IRI of the data").fill("no IRI")
    page.get_by_label("File").set_input_files(file)
    page.get_by_role("button", name="Upload").click()
    page.get_by_role("alert").wait_for()
    assert page.get_by_label("IRI of the data").get_attribute("aria-invalid") == "true"
    page.get_by_label("IRI of the data").fill(PEOPLE)
    page.get_by_label("File").set_input_files(file)
    page.get_by_role("button", name="Upload").click()
    page.get_by_role("heading", name="Describe People").wait_for()
    assert page.get_by_role("combobox", name="Holds age").input_value() == "integer"
    page.get_by_role("combobox", name="Holds age").select_option("decimal")
    page.get_by_label("Who a person is").select_option(label="each row is about another person")
    shot(page, "describe")
    page.get_by_role("button", name="Keep the description").click()
    says(page, "The description was kept.")
    assert row_of(page, "Columns", "age").split("\t")[:2] == ["age", "decimal"]
    assert "each row is about another person" in tree(page)
    shot(page, "data-set")
    page.get_by_role("link", name="Remove this data").click()
    page.get_by_role("button", name="Remove").click()
    headed(page, "My data")
    assert PEOPLE not in tree(page)
    shot(page, "data")
    world = market[0]
    assert len(list((world.folder / "uploads").iterdir())) == 1


def test_a_policy_is_written_with_findings_at_their_places(page: "Page") -> None:
    page.goto("/web/policies/new")
    text = page.get_by_role("textbox", name="Text")
    written = (
        f"policy: http://example.com/policy/live\nowner: {OWNER}\nparty: {READER}\ntarget: {CUSTOMER}\n"
        "permit:\n  method: k-anonymity\n  k: 1\n  quasi-identifiers: [age, city]\n  sensitive: illness\n"
        "  one-row-each: true\n  output: http://example.com/live\n"
    )
    text.fill(written)
    findings = page.locator("[data-findings]")
    place = findings.get_by_role("link", name=re.compile("Line 7, column"))
    place.wait_for()
    assert "1 error" in findings.inner_text()
    assert findings.get_attribute("aria-live") == "polite"
    shot(page, "editor")
    check_accessible(page)
    place.click()
    at = "field.value.slice(0, field.selectionStart).split('\\n').length"
    assert text.evaluate(f"field => [field === document.activeElement, {at}]") == [True, 7]
    page.get_by_role("button", name="Put in force").click()
    assert "The text has one error" in page.get_by_role("alert").inner_text()
    text.fill(written.replace("k: 1", "k: 2"))
    page.get_by_text("Valid:").wait_for()
    page.get_by_role("button", name="Try it out").click()
    headed(page, "What this text would do to Customer")
    assert "generalised to ranges" in row_of(page, "Each column", "age")
    page.get_by_label("Risk against loss for k of").fill("2, 3, 4")
    page.get_by_role("button", name="Try these numbers").click()
    page.get_by_role("img", name="Loss over average risk").wait_for()
    assert page.get_by_role("region", name="Points").get_by_role("row").count() == 4
    shot(page, "try-first")
    page.get_by_role("button", name="Back to the text").click()
    headed(page, "Write a policy")
    assert "k: 2" in text.input_value()
    text.fill(written.replace("k: 1", "k: 3"))
    page.get_by_text("Valid:").wait_for()
    page.get_by_role("button", name="Put in force").click()
    says(page, "The policy is in force.")
    page.get_by_role("link", name="Change").click()
    text.fill(text.input_value().replace("k: 3", "k: 4"))
    page.get_by_role("button", name="Replace").click()
    says(page, "The new text is in force")
    page.get_by_role("link", name="Revoke").click()
    page.get_by_role("button", name="Revoke").click()
    headed(page, "Policies")
    assert "live" not in tree(page)
    shot(page, "policies")


def test_the_commonest_policy_comes_from_a_form(page: "Page", market: tuple[World, str, str]) -> None:
    world, _, _ = market
    bound = bound_to(world, CUSTOMER)
    page.goto(f"/web/policies/begin?data={bound['id']}")
    page.get_by_label("Who may").fill(READER)
    page.get_by_label("IRI of the policy").fill("http://example.com/policy/of-a-form")
    page.get_by_role("button", name="Show the text").click()
    assert "at least one column" in page.get_by_role("alert").inner_text()
    assert page.get_by_label("Who may").input_value() == READER
    page.get_by_role("combobox", name="age Becomes").select_option("quasi-identifier")
    page.get_by_role("combobox", name="city Becomes").select_option("quasi-identifier")
    page.get_by_role("combobox", name="illness Becomes").select_option("sensitive")
    page.get_by_label("Who a person is").select_option("each")
    shot(page, "policy-form")
    page.get_by_role("button", name="Show the text").click()
    assert "quasi-identifiers: [age, city]" in page.get_by_role("textbox", name="Text").input_value()
    page.get_by_role("button", name="Put in force").click()
    says(page, "The policy is in force.")
    world.ask("DELETE", "/v1/policies/http://example.com/policy/of-a-form")


def test_an_owner_sees_what_a_policy_would_do_to_each_column(page: "Page") -> None:
    page.goto(f"/web/policy?uid={POLICY}")
    shot(page, "policy")
    page.get_by_role("link", name="What it would do to each column").click()
    headed(page, "What small would do to Customer")
    assert row_of(page, "Each column", "who").split("\t")[:2] == ["who", "dropped"]
    assert "generalised to ranges" in row_of(page, "Each column", "age")
    for title in ("Ten rows of the data", "Ten rows of what would be published"):
        assert page.get_by_role("region", name=title).get_by_role("row").count() == 11
    shot(page, "try")


@pytest.mark.parametrize("kind", ["assess", pytest.param("sweep", marks=pytest.mark.slow)])
def test_a_job_is_followed_until_its_report(
    page: "Page", market: tuple[World, str, str], kind: str
) -> None:
    world, _, _ = market
    bound = bound_to(world, CUSTOMER)
    if kind == "assess":
        page.goto(f"/web/data/{bound['id']}")
        page.get_by_role("button", name="Assess this data").click()
    else:
        page.goto(f"/web/policy?uid={POLICY}")
        page.get_by_label("Risk against loss for k of").fill("2, 3, 4")
        page.get_by_role("button", name="Sweep").click()
    assert page.get_by_role("status").inner_text().strip() == "queued"
    assert page.get_by_role("progressbar", name="The job goes on").is_visible()
    done = smalti("worker", "--drain", cwd=world.folder)
    assert done.code == 0, done.err
    # The script saw the end, and loaded the page again.
    page.get_by_role("region", name="Columns" if kind == "assess" else "Points", exact=True).wait_for()
    assert page.get_by_role("status").inner_text().strip() == "done"
    if kind == "sweep":
        assert page.get_by_role("img", name="Loss over average risk").is_visible()
        assert page.get_by_role("region", name="Points").get_by_role("row").count() == 4
    shot(page, kind)


def test_what_was_made_is_listed_and_downloaded(page: "Page", market: tuple[World, str, str]) -> None:
    _, run, _ = market
    page.get_by_role("navigation", name="Main").get_by_role("link", name="What was made").click()
    assert "http://org/user" in row_of(page, "Outputs", "anonCustomer")
    shot(page, "outputs")
    page.get_by_role("link", name="anonCustomer, version 1").click()
    shot(page, "output")
    with page.expect_download() as taken:
        page.get_by_role("link", name="anonCustomer.csv").click()
    assert Path(taken.value.path()).read_text().startswith("age,city,illness")
    assert run in page.url


def test_budgets_are_drawn_and_listed(page: "Page") -> None:
    page.get_by_role("navigation", name="Main").get_by_role("link", name="Budgets").click()
    assert "epsilon 0.38" in tree(page)
    assert page.get_by_role("img", name="Sum of epsilon over time").is_visible()
    assert page.get_by_role("region", name="Charges of Customer").get_by_role("row").count() == 4
    shot(page, "budgets")


@pytest.mark.slow
def test_pages_work_without_scripts(browser: "Browser", market: tuple[World, str, str]) -> None:
    world, _, address = market
    context, wrong = watched(browser, address, java_script_enabled=False)
    page = context.new_page()
    sign_in(page, world.keys[OWNER])
    page.goto("/web/policies/new")
    page.get_by_role("textbox", name="Text").fill("policy: 1\n")
    page.get_by_role("button", name="Check only").click()
    assert page.get_by_role("link", name=re.compile("Line 1, column")).first.is_visible()
    context.close()
    assert wrong == []


@pytest.mark.slow
def test_pages_fit_a_narrow_window_and_have_one_heading(
    browser: "Browser", market: tuple[World, str, str]
) -> None:
    world, run, address = market
    bound = bound_to(world, CUSTOMER)
    context, wrong = watched(browser, address, color_scheme="dark")
    page = context.new_page()
    sign_in(page, world.keys[OWNER])
    page.set_viewport_size({"width": 360, "height": 700})
    of_data = f"data/{bound['id']}"
    for path in (
        "", "data", "data/upload", of_data, f"{of_data}/describe", "policies", "policies/begin",
        f"policies/begin?data={bound['id']}", "policies/new", f"policy?uid={POLICY}",
        f"policy/revoke?uid={POLICY}", "outputs", f"outputs/{run}", "budgets", "jobs",
    ):  # fmt: skip
        page.goto(f"/web/{path}")
        check_fits(page)
        check_accessible(page)
    page.set_viewport_size({"width": 1200, "height": 800})
    page.goto(f"/web/policy/try?uid={POLICY}&target={CUSTOMER}")
    shot(page, "try-dark")
    context.close()
    assert wrong == []
