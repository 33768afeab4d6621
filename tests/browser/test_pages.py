"""The pages over recordings, in a real browser: keyboard, themes, narrow screens, no scripts, hostile names."""

from typing import Any

import pytest

from tests.browser.site import HOSTILE, Site, follow, manage, open_job
from tests.support.truth import RECORDINGS

pytestmark = [pytest.mark.browser, pytest.mark.timeout(120)]


def test_the_indicator_says_live(site: Site, page: Any) -> None:
    for address in (site.address, site.job("seed-exitcode-138")):
        page.goto(address)
        page.locator("#live[data-state='live']").wait_for(timeout=5000)


def test_narrowing_takes_one_click_and_is_in_the_address(site: Site, page: Any) -> None:
    page.goto(site.address)
    follow(page, page.locator(".facets a[title='138']"))
    assert page.url.endswith("?q=exit:138")
    assert page.locator("#jobs tbody tr").count() == 1
    follow(page, page.get_by_role("link", name="Clear all"))
    assert page.locator("#jobs tbody tr").count() == 5
    page.locator("input[name=q]").fill("wave")
    page.keyboard.press("Enter")
    page.wait_for_url("**/?q=wave")
    assert page.locator("#jobs tbody tr").count() == 1


def test_keys_move_through_the_incarnations(site: Site, page: Any) -> None:
    open_job(page, site.job("seed-exitcode-138"))
    page.locator("[data-scroll] canvas").focus()
    status = page.locator("[data-status]")
    page.keyboard.press("ArrowDown")
    assert "tftest-worker-0" in status.inner_text()
    first = status.inner_text()
    page.keyboard.press("ArrowRight")
    assert "ended with 138" in status.inner_text()
    assert status.inner_text() != first
    assert page.locator("#tabs tr.lit").count() == 1
    page.keyboard.press("ArrowDown")
    assert "tftest-worker-1" in status.inner_text()
    page.keyboard.press("Escape")
    assert status.inner_text() == ""
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url("**tab=facts&object=*")


def test_the_shown_range_is_in_the_address_and_comes_back(site: Site, page: Any) -> None:
    open_job(page, site.job("seed-exitcode-138"))
    box = page.locator("[data-scroll] canvas").bounding_box()
    page.mouse.move(box["x"] + 600, box["y"] + 150)
    page.mouse.wheel(0, -400)
    page.wait_for_function("() => location.search.includes('from=')")
    shared = page.url
    open_job(page, shared)
    assert page.url == shared
    page.locator("[data-scroll] canvas").dblclick(position={"x": 600, "y": 150})
    page.wait_for_function("() => !location.search.includes('from=')")


def test_the_pointer_reads_a_bar(site: Site, page: Any) -> None:
    open_job(page, site.job("seed-exitcode-138"))
    box = page.locator("[data-scroll] canvas").bounding_box()
    card = page.locator("[data-card]")
    page.mouse.move(box["x"] + 260, box["y"] + 122)
    card.wait_for(state="visible")
    assert "tftest-worker-0" in card.inner_text()
    assert "138" in card.inner_text()
    assert page.locator("#tabs tr.lit").count() == 1


def test_tabs_are_links_and_change_in_place(site: Site, page: Any) -> None:
    open_job(page, site.job("seed-exitcode-138"))
    page.evaluate("window.same = true")
    page.locator("[data-tab=replicas]").click()
    page.locator("#tabs [data-tab=replicas][aria-current]").wait_for()
    assert page.locator("#tabs tbody tr").first.inner_text().startswith("worker 0")
    assert page.evaluate("window.same"), "the page was loaded anew"
    assert "tab=replicas" in page.url
    page.reload()
    page.locator("#tabs [data-tab=replicas][aria-current]").wait_for()


def test_the_theme_goes_round_and_is_remembered(site: Site, page: Any) -> None:
    page.goto(site.address)
    button = page.locator("#theme")
    for theme in ("light", "dark"):
        button.click()
        assert page.locator("html").get_attribute("data-theme") == theme
    page.reload()
    assert page.locator("html").get_attribute("data-theme") == "dark"
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(16, 20, 24)"


def test_names_of_the_cluster_are_never_markup(site: Site, page: Any) -> None:
    page.goto(site.address)
    row = page.locator("tr", has_text="hostile")
    assert HOSTILE[:30] in row.inner_text()
    open_job(page, site.job("hostile"))
    for tab in ("facts", "replicas"):
        page.locator(f"[data-tab={tab}]").click()
        page.locator(f"#tabs [data-tab={tab}][aria-current]").wait_for()
    page.locator("[data-scroll] canvas").hover(position={"x": 400, "y": 122})
    page.locator("[data-card]").wait_for(state="visible")
    assert page.evaluate("window.pwned") is None
    assert page.locator("img").count() == 0


@pytest.mark.parametrize("width", [390, 768, 1280])
def test_nothing_makes_the_page_wider_than_the_screen(site: Site, page: Any, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    addresses = [site.address, f"{site.address}watchers/", *(site.job(namespace) for namespace in site.jobs)]
    for address in addresses:
        page.goto(address)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), address


def test_without_scripts_the_tables_answer(site: Site, browser: Any) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(site.address)
    assert page.locator("#jobs tbody tr").count() == 5
    page.goto(site.job("seed-exitcode-138"))
    assert page.locator("[data-number=true]").inner_text() == "6"
    assert not page.locator("[data-scroll] canvas").is_visible()
    page.locator(".as-table summary").click()
    assert page.locator(".as-table tbody tr").count() == 9
    follow(page, page.get_by_role("link", name="Replicas"))
    assert page.locator("#tabs tbody tr").count() == 4
    context.close()


def test_a_job_that_comes_while_the_list_is_open_is_announced(site: Site, page: Any) -> None:
    page.goto(f"{site.address}?kind=XGBoostJob")
    page.locator("#live[data-state='live']").wait_for(timeout=5000)
    assert page.locator("#jobs tbody tr").count() == 0
    manage(site.env, "replay", str(RECORDINGS / "xgboost-exitcode"))
    news = page.locator("#news")
    news.wait_for(state="visible", timeout=8000)
    assert "1 job changed" in news.inner_text()
    assert page.locator("#jobs tbody tr").count() == 0, "nothing moves by itself"
    news.click()
    page.locator("#jobs tbody tr").wait_for()
    assert page.locator("[data-value=true]").inner_text() == "3"
