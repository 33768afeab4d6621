"""A newcomer's walk through a running demo: from the list to what failed first, and to a link for a colleague."""

import re
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.canvas import CANVAS, NOTE_TEXTS, texts
from tests.browser.site import open_job

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

RANGE = "() => window.restartscope.timeline.range"
NAMESPACE = "oom-killed"


def rows(page: Any) -> int:
    return int(page.locator("#jobs tbody tr").count())


def facet(page: Any, name: str, value: str) -> Any:
    return page.locator(f"[data-facet={name}] a[title='{value}']")


def number_beside(link: Any) -> int:
    found = re.findall(r"\d+", link.locator(".count").inner_text())
    return int(found[0])


def test_from_the_list_to_a_link_for_a_colleague(demo: Any, page: Any, browser: Any) -> None:
    page.add_init_script(NOTE_TEXTS)
    page.goto(demo.address)

    # Which jobs restart behind kubectl's back: the numbers stand side by side, the newest restart first.
    live = page.locator("#jobs tbody tr", has_text="TFJob · demo · demo")
    assert live.locator("[data-value=kubectl]").inner_text() == "0"
    expect(live.locator("[data-value=hidden]")).to_have_text(re.compile(r"[1-9]\d*"), timeout=60_000)

    # Two clicks; what stands beside each is how many rows it leaves.
    for name, value in (("exit", "137"), ("namespace", NAMESPACE)):
        link = facet(page, name, value)
        promised = number_beside(link)
        link.click()
        page.wait_for_function("wanted => document.querySelectorAll('#jobs tbody tr').length === wanted", arg=promised)
    assert rows(page) == 1
    assert "exit:137" in page.url and f"ns:{NAMESPACE}" in page.url

    # The job says who failed first, and the bars say with which code, with the pointer anywhere.
    page.locator("#jobs tbody a").first.click()
    page.locator("#timeline[data-ready]").wait_for()
    header = page.locator("#job-header").inner_text()
    assert re.search(r"Master \d", header) and "137 OOM" in header
    page.mouse.move(0, 0)
    assert any(text.startswith("137") for text in texts(page)), "the code is read off the bar"

    # A link shows a colleague the same range and the same choice.
    page.locator(CANVAS).focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("+")
    page.wait_for_function("() => location.search.includes('from=') && location.search.includes('pick=')")
    said = page.locator("[data-status]").inner_text()
    assert said
    context = browser.new_context(locale="en-GB", timezone_id="UTC", viewport={"width": 1024, "height": 700})
    colleague = context.new_page()
    open_job(colleague, page.url)
    colleague.wait_for_function("() => document.querySelector('[data-status]').textContent !== ''")
    assert colleague.locator("[data-status]").inner_text() == said
    theirs, mine = colleague.evaluate(RANGE), page.evaluate(RANGE)
    for end in ("start", "end"):
        assert theirs[end] == pytest.approx(mine[end], abs=0.000_01)
    context.close()
