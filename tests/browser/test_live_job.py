"""The whole path in a real browser: simulated cluster, watcher, database, notification, page."""

import re
from typing import Any

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

CYCLE_MS = 60_000  # worker 0 fails after 10 s and is back within 5; this is room for a busy machine


def test_worker_0s_true_restarts_rise_while_kubectl_shows_none(demo: Any, page: Any) -> None:
    page.goto(f"{demo.address}jobs/demo/demo/TFJob/tftest/")
    number = page.locator("[data-number='true']")
    before = int(number.inner_text())
    page.evaluate("window.loadedOnce = true")
    header = page.locator("#job-header")
    header.locator("[data-state='Restarting']").wait_for(timeout=CYCLE_MS)
    page.wait_for_function(
        "least => Number(document.querySelector(\"[data-number='true']\").textContent) >= least",
        arg=before + 2,
        timeout=2 * CYCLE_MS,
    )
    assert page.locator("[data-number='kubectl']").inner_text() == "0"
    assert re.search("138", header.inner_text())
    assert page.evaluate("window.loadedOnce"), "the page was loaded anew instead of growing"


def test_the_search_box_completes_as_before_after_rows_have_changed(demo: Any, page: Any) -> None:
    """Every refresh of rows once made the box listen twice, so that a key did two steps."""
    page.goto(demo.address)
    for _ in range(2):
        with page.expect_response("**/jobs/rows/**", timeout=CYCLE_MS):
            pass
    page.locator("#q").click()
    page.keyboard.type("ex")
    options = page.locator("#q-suggestions [role=option]")
    options.first.wait_for()
    page.keyboard.press("ArrowDown")
    assert page.locator("#q").get_attribute("aria-activedescendant") == options.first.get_attribute("id")


def test_the_recordings_can_be_browsed(demo: Any, page: Any) -> None:
    page.goto(demo.address)
    page.get_by_role("link", name="wave", exact=True).click()
    assert page.locator("[data-number='true']").inner_text() == "60"
    assert page.locator("[data-number='kubectl']").inner_text() == "0"
