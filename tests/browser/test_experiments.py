"""Experiments in a real browser, on everything that ``make demo`` starts."""

import json
import re
import urllib.request
from typing import Any

import pytest
import yaml

from tests.browser.site import follow
from tests.browser.test_accessibility import violations

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

VERDICT_MS = 150_000  # four restarts of 10 s each, on a cluster whose clock is four times as fast
STEP_MS = 60_000


@pytest.fixture(scope="module")
def quick(demo: Any) -> Any:
    """The demo with a cluster whose time goes four times as fast."""
    server = yaml.safe_load(demo.kubeconfig.read_text(encoding="utf-8"))["clusters"][0]["cluster"]["server"]
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(f"{server}/sim/clock", json.dumps({"speed": 4}).encode(), headers)
    urllib.request.urlopen(request, timeout=60).close()
    return demo


def mark(page: Any, text: str) -> Any:
    """The verdict on a step of the checklist."""
    return page.locator("#checklist tr", has_text=text).locator(".mark")


def test_one_press_runs_the_seed_experiment_to_its_verdict(quick: Any, page: Any) -> None:
    page.goto(f"{quick.address}experiments/")
    page.get_by_role("button", name="Run: Restarts that kubectl does not show").focus()
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"/jobs/[0-9a-f-]+/\?cluster=demo"))
    page.evaluate("window.loadedOnce = true")
    assert page.locator("#checklist tbody tr").count() == 7
    for text in ("The PodGroup is admitted", "exits 138", "deleted and created again", "Restarting is shown"):
        mark(page, text).and_(page.locator("[data-mark=met]")).wait_for(timeout=STEP_MS)
    page.locator("#checklist [data-overall='as expected']").wait_for(timeout=VERDICT_MS)
    assert page.locator("#checklist [data-mark=met]").count() == 7
    assert page.locator("[data-number='kubectl']").inner_text() == "0"
    assert int(page.locator("[data-number='true']").inner_text()) >= 4
    page.locator("#checklist", has_text="cleaned up").wait_for(timeout=STEP_MS)
    assert page.evaluate("window.loadedOnce"), "the page was loaded anew instead of growing"
    assert not violations(page)


def test_what_the_experiment_does_is_drawn_on_the_timeline(quick: Any, page: Any) -> None:
    page.goto(f"{quick.address}experiments/")
    page.get_by_role("button", name="Run: Suspend and resume").click()
    page.locator("#timeline[data-ready]").wait_for(timeout=STEP_MS)
    page.wait_for_function("() => restartscope.timeline.model.marks.size > 0", timeout=STEP_MS)
    text = page.evaluate("() => [...restartscope.timeline.model.marks.values()][0].text")
    assert text["en"] == "Suspend the job"
    page.locator("#checklist .acts [data-done=yes]").first.wait_for(timeout=STEP_MS)
    page.get_by_role("button", name="Stop and clean up").click()
    page.locator("#checklist", has_text="stopped, cleaned up").wait_for(timeout=STEP_MS)


def test_the_manifest_follows_the_form(quick: Any, page: Any) -> None:
    page.goto(f"{quick.address}experiments/seed/")
    page.get_by_label("Workers", exact=True).fill("5")
    page.wait_for_function("() => document.querySelector('#manifest pre').textContent.includes('replicas: 5')")
    assert page.get_by_label("Workers", exact=True).evaluate("one => one === document.activeElement")
    page.get_by_label("Workers", exact=True).fill("500")
    page.locator("#manifest .problems").wait_for()
    assert "Workers: Give a whole number from 2 to 20" in page.locator("#manifest").inner_text()
    page.get_by_label("Workers", exact=True).fill("4")
    page.locator("#manifest pre").wait_for()
    with page.expect_download() as download:
        page.get_by_role("button", name="Download as YAML").click()
    manifest = yaml.safe_load(download.value.path().read_text(encoding="utf-8"))
    assert manifest["spec"]["tfReplicaSpecs"]["Worker"]["replicas"] == 4
    page.get_by_role("button", name="Dry run").click()
    page.get_by_text("its dry run found nothing wrong").wait_for()


def test_without_scripts_everything_can_be_done(quick: Any, browser: Any) -> None:
    context = browser.new_context(java_script_enabled=False, locale="en-GB")
    page = context.new_page()
    page.goto(f"{quick.address}experiments/tf-normal/")
    page.get_by_label("Workers", exact=True).fill("2")
    follow(page, page.get_by_role("button", name="Show the manifest"))
    assert "replicas: 2" in page.locator("#manifest").inner_text()
    follow(page, page.get_by_role("button", name="Launch"))
    assert page.locator("#checklist tbody tr").count() > 2
    page.get_by_role("button", name="Stop and clean up").click()
    page.locator("#checklist", has_text="cleaned up").wait_for(timeout=STEP_MS)  # the page comes again by itself
    context.close()


PAGES = ("", "seed/", "seed/?tab=why", "node-lost/", "custom/", "audit/")


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 1280), ("light", 390), ("dark", 640)])
def test_axe_finds_nothing_serious_and_nothing_is_cut(quick: Any, browser: Any, scheme: str, width: int) -> None:
    context = browser.new_context(color_scheme=scheme, locale="en-GB", viewport={"width": width, "height": 900})
    page = context.new_page()
    page.goto(f"{quick.address}experiments/")
    runs = page.locator("#runs ~ .sideways a").first.get_attribute("href")
    addresses = [f"{quick.address}experiments/{path}" for path in PAGES]
    run = f"{quick.address}{runs.lstrip('/')}"
    found = {}
    for address in (*addresses, run, f"{run}?tab=why", f"{run}?tab=manifest", f"{run}?tab=audit"):
        page.goto(address)
        lines = violations(page)
        if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
            lines.append("wider than the window")
        if lines:
            found[address] = lines
    context.close()
    assert not found


def test_a_wrong_form_is_as_usable_as_a_right_one(quick: Any, browser: Any) -> None:
    context = browser.new_context(locale="en-GB")  # the answer is a 400, which a console calls an error
    page = context.new_page()
    page.goto(f"{quick.address}experiments/seed/")
    page.get_by_label("Name", exact=True).fill("No Name")
    page.get_by_label("Exit code", exact=True).fill("7")
    page.get_by_role("button", name="Launch").click()
    wrong = page.locator("#field-code[aria-invalid=true]")
    wrong.wait_for()
    assert "Give a whole number from 128" in page.locator(f"#{wrong.get_attribute('aria-describedby')}").inner_text()
    assert page.get_by_label("Name", exact=True).input_value() == "No Name"
    found = violations(page)
    context.close()
    assert not found
