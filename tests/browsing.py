"""A real browser for tests of pages: windows that notice what is wrong in them, and what tests look at.

Screenshots are taken where `SMALTI_SCREENSHOTS` names a folder.
"""

import io
import os
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from conftest import chromium
from PIL import Image

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

ARGUMENTS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip
MOST_BYTES, TALLEST = 100_000, 1200
"""Of a screenshot, which shows the beginning of a long page."""


@pytest.fixture(scope="module")
def browser() -> "Iterator[Browser]":
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 (absent where it is skipped)

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=chromium.find(), args=ARGUMENTS)
        yield opened
        opened.close()


def watched(browser: "Browser", address: str, **choices: Any) -> "tuple[BrowserContext, list[str]]":
    """A window, and what is wrong in it: errors of scripts, refusals by the policy, requests elsewhere."""
    context = browser.new_context(viewport={"width": 1200, "height": 800}, base_url=address, **choices)
    context.set_default_timeout(8_000)
    wrong: list[str] = []
    context.on("weberror", lambda error: wrong.append(str(error.error)))
    context.on(
        "console",
        lambda line: (
            wrong.append(line.text) if "Refused" in line.text or "Content Security" in line.text else None
        ),
    )
    context.on("request", lambda sent: None if sent.url.startswith(address) else wrong.append(sent.url))
    return context, wrong


def sign_in(page: "Page", key: str) -> None:
    page.goto("/")
    page.get_by_label("Key").fill(key)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/web/")


def shot(page: "Page", name: str) -> None:
    """Write a screenshot, where that is wanted, of a page that keeps the rules for accessibility."""
    if folder := os.environ.get("SMALTI_SCREENSHOTS"):
        check_accessible(page)
        place = Path(folder) / f"web-{name}.png"
        whole = page.screenshot(full_page=True, animations="disabled")
        with Image.open(io.BytesIO(whole)) as taken:
            top = taken.convert("RGB").crop((0, 0, taken.width, min(taken.height, TALLEST)))
        top.quantize(64).save(place, optimize=True)
        assert place.stat().st_size < MOST_BYTES, place


def tree(page: "Page", selector: str = "main") -> str:
    return page.locator(selector).aria_snapshot()


def heading(page: "Page") -> str:
    return page.get_by_role("heading", level=1).inner_text()


def check_fits(page: "Page") -> None:
    """A page needs no scrolling sideways, has one title, and a name for each field."""
    assert page.get_by_role("heading", level=1).count() == 1, page.url
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), page.url
    nameless = page.evaluate(
        "[...document.querySelectorAll('input:not([type=hidden]), select, textarea')]"
        ".filter(field => !field.labels.length && !field.getAttribute('aria-labelledby')).length"
    )
    assert nameless == 0, page.url


def check_accessible(page: "Page") -> None:
    """A page keeps axe-core's rules (WCAG 2.2 A and AA, best practices), reports in frames aside."""
    script = files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
    page.evaluate(f"() => {{ {script} }}")
    found_there = page.evaluate("axe.run(document, {iframes: false, resultTypes: ['violations']})")
    wrong = [
        (rule["id"], rule["help"], [node["html"][:200] for node in rule["nodes"]])
        for rule in found_there["violations"]
    ]
    assert not wrong, (page.url, wrong)


def row_of(page: "Page", table: str, first: str) -> str:
    """The cells of a row of a table, by what its first one begins with."""
    rows = page.get_by_role("region", name=table, exact=True).get_by_role("row")
    return rows.filter(has_text=first).first.inner_text()
