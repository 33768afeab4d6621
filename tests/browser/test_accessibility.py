"""axe-core over every page, light and dark, wide and narrow; zoom; reduced motion."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import axe_playwright_python
import pytest

from tests.browser.site import Site, open_job

pytestmark = [pytest.mark.browser, pytest.mark.timeout(180)]

AXE = Path(axe_playwright_python.__file__).parent / "axe.min.js"
SERIOUS = ("serious", "critical")
JOB = "seed-exitcode-138"
TABS = ("restarts", "replicas", "phases", "podgroup", "events", "kubectl", "logs", "facts")


def pages(site: Site) -> list[str]:
    job = site.job(JOB)
    tabs = [f"{job}?tab={tab}" for tab in TABS]
    lists = [
        f"{site.address}?q=exit:138+foo:bar",
        f"{site.address}experiments/",
        f"{site.address}jobs/facets/",
        f"{site.address}exit-codes/",
    ]
    return [site.address, *lists, f"{site.address}watchers/", f"{site.address}jobs/none/", *tabs, site.job("wave-60")]


def violations(page: Any) -> list[str]:
    """One line for each serious thing that axe-core finds."""
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
    return [
        f"{one['id']}: {one['help']}: {[node['html'][:160] for node in one['nodes'][:3]]}"
        for one in found
        if one["impact"] in SERIOUS
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(site: Site, browser: Any, scheme: str) -> None:
    context = browser.new_context(color_scheme=scheme, locale="en-GB", viewport={"width": 1280, "height": 900})
    page = context.new_page()
    found = {}
    for address in pages(site):
        page.goto(address)
        page.wait_for_function("document.readyState === 'complete'")
        lines = violations(page)
        if lines:
            found[address] = lines
    context.close()
    assert not found


FOCUSED = """() => {
  const element = document.activeElement;
  const style = getComputedStyle(element);
  return { name: element.outerHTML.slice(0, 120), outline: style.outlineStyle, width: parseFloat(style.outlineWidth) };
}"""


@pytest.mark.parametrize("path", ["", "exit-codes/", "watchers/", "experiments/", "job"])
def test_the_focus_is_seen_wherever_it_goes(site: Site, page: Any, path: str) -> None:
    """Also a new kind of control gets the frame that shows the keyboard's user where he is."""
    page.goto(site.job(JOB) if path == "job" else site.address + path)
    page.wait_for_function("() => !document.querySelector('[hx-trigger=load], .htmx-request')")
    for _ in range(60):
        page.keyboard.press("Tab")
        focused = page.evaluate(FOCUSED)
        if focused["name"].startswith("<body"):
            break
        assert focused["outline"] == "solid" and focused["width"] >= 2, focused["name"]


@pytest.mark.parametrize("namespace", [JOB, "wave-60"])
def test_at_twice_the_size_nothing_is_cut(site: Site, page: Any, namespace: str) -> None:
    """A window of 1280 pixels zoomed to 200 % is one of 640."""
    page.set_viewport_size({"width": 640, "height": 450})
    for address in (site.address, site.job(namespace)):
        page.goto(address)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), address
    open_job(page, site.job(namespace))
    for name in ("[data-number=true]", "[data-act=fit]", "[data-find]", "#tabs .tab-links a"):
        box = page.locator(name).first.bounding_box()
        assert box and box["x"] >= 0 and box["x"] + box["width"] <= 640, name


def test_numbers_of_five_digits_fit_a_phone(site: Site, page: Any) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    open_job(page, site.job("seed-exitcode-138"))
    numbers = page.locator(".numbers dd")
    numbers.evaluate_all("all => all.forEach((one) => { one.textContent = '≥ 24000'; })")
    edges = numbers.evaluate_all("all => all.map((one) => one.getBoundingClientRect().right)")
    assert len(edges) == 3
    assert max(edges) <= 390


def test_the_job_page_works_from_the_keyboard_alone(site: Site, page: Any) -> None:
    open_job(page, site.job("wave-60"))
    page.locator("[data-find]").focus()
    page.keyboard.type("worker 17")
    page.keyboard.press("Enter")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    assert "wave-worker-17" in page.locator("[data-status]").inner_text()
    page.wait_for_function("() => location.search.includes('pick=worker%2F17%2F0')")
    page.locator("[data-tab=kubectl]").focus()
    page.keyboard.press("Enter")
    page.locator("#until").wait_for()
    # What was put in listens only once it has settled, 20 ms later.
    page.wait_for_function("() => !document.querySelector('.htmx-swapping, .htmx-settling, .htmx-added')")
    page.locator("#until").focus()
    page.keyboard.press("Home")
    page.locator("#until[data-chosen]").wait_for()
    page.wait_for_function("() => location.search.includes('until=')")


def test_a_selection_and_an_order_are_in_the_link(site: Site, page: Any) -> None:
    open_job(page, site.job("wave-60"))
    page.locator("[data-order]").select_option("worst")
    page.locator("[data-scroll] canvas").focus()
    page.keyboard.press("ArrowDown")
    page.wait_for_function("() => location.search.includes('pick=') && location.search.includes('order=worst')")
    said = page.locator("[data-status]").inner_text()
    open_job(page, page.url)
    page.wait_for_function("() => document.querySelector('[data-status]').textContent !== ''")
    assert page.locator("[data-status]").inner_text() == said


def test_a_range_in_the_link_stays_although_the_chosen_run_began_before_it(site: Site, page: Any) -> None:
    open_job(page, site.job(JOB))
    page.locator("[data-scroll] canvas").focus()
    page.keyboard.press("ArrowDown")
    page.wait_for_function("() => location.search.includes('pick=')")
    pod = page.evaluate("window.restartscope.timeline.selected")
    start = (pod["running"] + pod["ended"]) / 2
    range_of = "() => window.restartscope.timeline.range"
    address = (
        page.url.split("?")[0] + f"?from={moment(start)}&to={moment(start + 1)}&pick={pod['replica']}@{pod['uid']}"
    )
    open_job(page, address)
    page.wait_for_function("() => document.querySelector('[data-status]').textContent !== ''")
    shown = page.evaluate(range_of)
    assert shown == {"start": pytest.approx(start, abs=1e-5), "end": pytest.approx(start + 1, abs=1e-5)}


def moment(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def test_with_reduced_motion_nothing_moves_by_itself(site: Site, browser: Any) -> None:
    context = browser.new_context(reduced_motion="reduce")
    page = context.new_page()
    open_job(page, site.job(JOB))
    running = "document.getAnimations().filter((one) => one.playState === 'running').length"
    assert page.evaluate(running) == 0
    context.close()
