"""A requester's, an auditor's and an operator's flows in a real browser, on the accessibility tree."""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
import skops.io
from browsing import browser, check_fits, heading, row_of, shot, sign_in, tree, watched
from served import served
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
    make_world,
)
from shell import CUSTOMER, OUTPUT, OWNER, USER, small_document, small_table, smalti
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from smalti.vocab.terms import IRI

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

__all__ = ["browser"]
pytestmark = pytest.mark.browser

RECORDS, FEATURES = 150, 90


@pytest.fixture(scope="module")
def market(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[World, str]]:
    """Data with a policy, from which nothing was made yet, and the address."""
    world = make_world(tmp_path_factory.mktemp("roles"))
    assert world.upload(small_table(world.folder).read_bytes()).status_code == 201
    assert world.add_policy(small_document()).status_code == 201
    with served(world) as address:
        yield world, address


def page_of(browser: "Browser", world: World, address: str, party: str) -> "tuple[Page, list[str]]":
    context, wrong = watched(browser, address)
    page = context.new_page()
    sign_in(page, world.keys[party])
    return page, wrong


def go(page: "Page", label: str) -> None:
    page.get_by_role("navigation", name="Main").get_by_role("link", name=label, exact=True).click()


def work(world: World) -> None:
    done = smalti("worker", "--drain", "--parallel", "2", cwd=world.folder)
    assert done.code == 0, done.err


def test_a_requester_asks_follows_and_downloads(browser: "Browser", market: tuple[World, str]) -> None:
    world, address = market
    page, wrong = page_of(browser, world, address, USER)
    go(page, "What may I ask")
    assert "for marketing: k at least 2" in tree(page)
    shot(page, "ask")
    page.get_by_role("link", name="Ask for it").click()
    assert heading(page) == "Ask for anonCustomer"
    page.get_by_label("k (optional)").fill("1")
    page.get_by_role("button", name="Ask for it").click()
    assert "k at least 2" in page.get_by_role("alert").inner_text()
    assert page.get_by_label("k (optional)").get_attribute("aria-invalid") == "true"
    shot(page, "ask-refused")
    page.get_by_label("k (optional)").fill("3")
    page.get_by_role("button", name="Ask for it").click()
    assert page.get_by_role("status").first.inner_text().startswith("You have asked for it.")
    assert page.get_by_role("progressbar", name="The job goes on").is_visible()
    work(world)
    page.locator("main").get_by_role("link", name="anonCustomer").click()
    assert "at least 3 respondents" in tree(page)
    assert page.get_by_role("heading", name="What it does not protect from").is_visible()
    shot(page, "certificate")
    with page.expect_download() as taken:
        page.get_by_role("link", name="anonCustomer.csv").click()
    assert Path(taken.value.path()).read_text().startswith("age,city,illness")
    place = page.url
    page.context.close()
    assert wrong == []
    page, _ = page_of(browser, world, address, STRANGER)
    go(page, "What may I ask")
    assert STRANGER in page.get_by_role("main").inner_text()
    assert CUSTOMER not in page.content()
    page.goto(place)
    assert heading(page) == "There is nothing of that name for this party"
    page.goto(f"/web/outputs?target={OUTPUT}&purpose=marketing")
    assert page.get_by_role("heading", name="Nothing of it is for you").is_visible()
    page.context.close()


def test_an_owner_sees_who_owns_what_and_withdraws_people(browser: "Browser", tmp_path: Path) -> None:
    world = make_world(tmp_path)
    assert world.upload(small_table(world.folder).read_bytes()).status_code == 201
    with served(world) as address:
        page, wrong = page_of(browser, world, address, OWNER)
        go(page, "Owners")
        assert "me" in row_of(page, "What I own", "Customer")
        page.get_by_role("link", name="Customer").click()
        assert "the last one stays" in tree(page)
        page.get_by_label("Party").fill("somebody")
        page.get_by_role("button", name="Add").click()
        assert page.get_by_label("Party").get_attribute("aria-invalid") == "true"
        page.get_by_label("Party").fill(STRANGER)
        page.get_by_role("button", name="Add").click()
        page.get_by_role("status").filter(has_text="The owner was added.").wait_for()
        assert "Remove" in row_of(page, "Owners", STRANGER)
        assert "(me)" in row_of(page, "Owners", OWNER)
        shot(page, "owners")
        page.get_by_label("People").fill("p1\np2\np1\n")
        page.get_by_label("Column of respondents").fill("who")
        page.get_by_role("button", name="Withdraw").click()
        assert heading(page) == "Withdraw 2 people from Customer?"
        assert "this cannot be taken back" in tree(page)
        assert world.registry.count_withdrawn(IRI(CUSTOMER), by=IRI(OWNER)) == 0
        shot(page, "withdraw")
        page.get_by_role("button", name="Withdraw").click()
        page.get_by_role("status").filter(has_text="They are on the list").wait_for()
        assert "2 on the list" in tree(page)
        assert world.registry.count_withdrawn(IRI(CUSTOMER), by=IRI(OWNER)) == 2
        page.get_by_role("link", name="Remove stranger").click()
        assert heading(page) == "Remove stranger as an owner of Customer?"
        page.get_by_role("button", name="Remove").click()
        page.get_by_role("status").filter(has_text="The owner was removed.").wait_for()
        assert world.registry.owners(IRI(CUSTOMER)) == {OWNER}
        page.set_viewport_size({"width": 360, "height": 700})
        for path in ("owners", f"owners/of?target={CUSTOMER}", "audits/new/compare"):
            page.goto(f"/web/{path}")
            check_fits(page)
        page.context.close()
        assert wrong == []


@pytest.mark.slow
def test_pages_of_all_roles_fit_a_narrow_window(browser: "Browser", market: tuple[World, str]) -> None:
    world, address = market
    run, job = add_audit(world), add_study(world)
    form = f"ask/new?policy={POLICY}&rule={POLICY}/1&target={CUSTOMER}"
    for party, paths in (
        (USER, ("", "ask", form, "audits", "audits/new")),
        (OWNER, ("audits", f"jobs/{job}")),
        (AUDITOR, ("", "audits", "audits/new", "audits/new/generative-audit", f"audits/{run}", "jobs")),
        (OPERATOR, ("", "health", "jobs")),
    ):
        page, wrong = page_of(browser, world, address, party)
        page.set_viewport_size({"width": 360, "height": 700})
        for path in paths:
            page.goto(f"/web/{path}")
            check_fits(page)
        if party == AUDITOR:
            page.goto(f"/web/audits/{run}")
            report = page.frame_locator("iframe[title='Report of the audit']")
            report.get_by_role("heading", level=1).wait_for()
            assert report.locator("svg").count() > 0
        if party == OPERATOR:
            page.set_viewport_size({"width": 1200, "height": 800})
            page.goto("/web/health")
            assert "works" in tree(page)
            shot(page, "health")
        page.context.close()
        assert wrong == [], party


def memorised(world: World) -> None:
    """Two estimators of nearly as many weights as records, which know these by heart, and the records."""
    draw = np.random.default_rng(7)
    features = draw.normal(size=(2 * RECORDS, FEATURES))
    labels = np.where(features[:, 0] + draw.normal(size=2 * RECORDS) > 0, "yes", "no")
    for target, part in ((MEMBERS, slice(RECORDS)), (OTHERS, slice(RECORDS, None))):
        place = world.folder / "records.csv"
        with place.open("w", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(["class", *(f"f{number}" for number in range(FEATURES))])
            rows.writerows(
                [label, *record]
                for label, record in zip(labels[part], features[part].tolist(), strict=True)
            )
        assert world.upload(place.read_bytes(), target=target, name=place.name).status_code == 201
    estimator = LinearDiscriminantAnalysis().fit(features[:RECORDS], labels[:RECORDS])
    content = skops.io.dumps(estimator)
    for target in (MODEL, f"{MODEL}/2"):
        assert world.upload(content, target=target, name="model.skops").status_code == 201


@pytest.mark.slow
def test_an_auditor_starts_several_studies_watches_them_and_reads_a_report(
    browser: "Browser", tmp_path: Path
) -> None:
    world = make_world(tmp_path)
    with served(world) as address:
        page, wrong = page_of(browser, world, address, AUDITOR)
        go(page, "Audits")
        page.get_by_role("link", name="Start an audit").click()
        assert page.get_by_role("heading", name="There is no model to attack").is_visible()
        memorised(world)
        page.reload()
        for box in page.get_by_role("group", name="Models").get_by_role("checkbox").all():
            box.check()
        page.get_by_label("Records that the models were trained on").select_option(MEMBERS)
        page.get_by_label("Records that they were not trained on").select_option(MEMBERS)
        page.get_by_label("Column of the classes").fill("class")
        page.get_by_role("button", name="Start").click()
        others = page.get_by_label("Records that they were not trained on")
        assert others.get_attribute("aria-invalid") == "true"
        others.select_option(OTHERS)
        shot(page, "audit-new")
        page.get_by_role("button", name="Start").click()
        page.wait_for_url("**/audits")
        jobs = page.get_by_role("region", name="Started by me").get_by_role("row")
        assert jobs.count() == 3
        assert "queued" in row_of(page, "Started by me", "Study")
        work(world)
        page.get_by_role("link", name="Report").nth(1).wait_for()
        shot(page, "audits")
        page.get_by_role("link", name="Report").first.click()
        report = page.frame_locator("iframe[title='Report of the study']")
        assert report.get_by_role("heading", level=1).inner_text() == "Study of model.skops"
        assert report.locator("svg").count() > 0
        shot(page, "study")
        page.goto("/web/data")
        assert heading(page) != "My data"
        page.context.close()
        assert wrong == []


@pytest.mark.slow
def test_an_auditor_has_samples_of_a_model_attacked_from_a_form(browser: "Browser", tmp_path: Path) -> None:
    world = make_world(tmp_path)
    memorised(world)
    with served(world) as address:
        page, wrong = page_of(browser, world, address, AUDITOR)
        page.goto("/web/audits/new")
        others = page.get_by_role("navigation", name="Other studies")
        assert others.get_by_role("link", name="Attack released statistics").count() == 0, "an owner's"
        others.get_by_role("link", name="Attack a generative model").click()
        assert heading(page) == "Attack a generative model"
        for label, target in (("Members", MEMBERS), ("Others", OTHERS), ("Samples", MEMBERS)):
            page.get_by_label(label, exact=True).select_option(target)
        page.get_by_label("Label").fill("class")
        page.get_by_label("Size").fill("50")
        shot(page, "study-new")
        page.get_by_role("button", name="Start").click()
        assert "Attacks: choose at least one." in page.get_by_role("alert").inner_text()
        page.get_by_role("group", name="Attacks").get_by_label("monte-carlo").check()
        page.get_by_role("button", name="Start").click()
        page.wait_for_url("**/jobs/*")
        assert page.get_by_role("progressbar", name="The job goes on").is_visible()
        work(world)
        report = page.frame_locator("iframe[title='Report of the study']")
        assert report.get_by_role("heading", level=1).inner_text().startswith("Audit of ")
        assert "right about 100.0% of single records" in report.locator("body").inner_text()
        go(page, "Audits")
        assert "done" in row_of(page, "Started by me", "Audit of a generative model")
        page.context.close()
        assert wrong == []
