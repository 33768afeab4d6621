"""The list, its search box and its facets in a real browser."""

from typing import Any

import pytest

from tests.browser.site import Site, follow

pytestmark = [pytest.mark.browser, pytest.mark.timeout(120)]


def test_words_are_completed_from_the_keyboard(site: Site, page: Any) -> None:
    page.goto(site.address)
    box = page.locator("#q")
    box.click()
    page.keyboard.type("ex")
    options = page.locator("#q-suggestions [role=option]")
    options.first.wait_for()
    page.keyboard.press("ArrowDown")
    assert box.get_attribute("aria-activedescendant") == options.first.get_attribute("id")
    page.keyboard.press("Enter")
    assert box.input_value() == "exit:"
    page.locator("#q-suggestions [role=option]", has_text="exit:138").wait_for()
    page.keyboard.type("138")
    page.locator("#q-suggestions").wait_for(state="hidden")  # there is nothing left to complete
    page.keyboard.type(" s")
    page.locator("#q-suggestions").wait_for(state="visible")
    page.keyboard.press("Escape")
    assert not page.locator("#q-suggestions").is_visible()
    assert box.input_value() == "exit:138 s", "what was typed stays"
    page.keyboard.press("Backspace")
    page.keyboard.press("Enter")
    page.wait_for_url("**/?q=exit%3A138+")
    assert page.locator("#jobs tbody tr").count() == 1
    assert page.locator(".facets a.chosen").inner_text().split()[0] == "138"


def test_a_suggestion_is_taken_with_the_pointer(site: Site, page: Any) -> None:
    page.goto(site.address)
    page.locator("#q").click()
    page.keyboard.type("kind:Py")
    page.locator("#q-suggestions [role=option]", has_text="kind:PyTorchJob").click()
    assert page.locator("#q").input_value() == "kind:PyTorchJob "
    assert page.evaluate("document.activeElement.id") == "q"


def test_a_wrong_word_is_told_where_it_stands(site: Site, browser: Any) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{site.address}?q=exit:138+stat:Running")
    assert page.locator(".hints .echo mark").inner_text() == "stat:Running"
    assert "state:" in page.locator(".hints li").inner_text()
    assert page.locator("#q").get_attribute("aria-invalid") == "true"
    assert page.locator("#jobs tbody tr").count() == 1, "the other word applies"
    context.close()


def test_columns_sort_both_ways(site: Site, page: Any) -> None:
    page.goto(site.address)

    def counts() -> list[int]:
        return [int(text) for text in page.locator("[data-value=true]").all_inner_texts()]

    follow(page, page.locator("#jobs thead").get_by_role("link", name="Restarts", exact=True))
    assert page.locator("th[aria-sort=descending]").inner_text().startswith("Restarts")
    assert counts() == sorted(counts(), reverse=True)
    follow(page, page.locator("#jobs thead [aria-sort] a"))
    assert counts() == sorted(counts())
    assert "sort=-restarts" in page.url


def test_an_exit_code_leads_to_its_jobs(site: Site, page: Any) -> None:
    page.goto(f"{site.address}exit-codes/")
    row = page.locator(".used tbody tr", has_text="139")
    jobs = int(row.locator("td.number a").inner_text())
    follow(page, row.locator("td.number a"))
    assert page.locator("#jobs tbody tr").count() == jobs == 1


def test_the_list_works_without_scripts(site: Site, browser: Any) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(site.address)
    follow(page, page.locator(".facets a[title='138']"))
    assert page.locator("#jobs tbody tr").count() == 1
    page.locator("#q").fill("kind:PyTorchJob")
    page.locator("#q").press("Enter")
    page.wait_for_url("**kind%3APyTorchJob")
    assert page.locator("#jobs tbody tr").count() > 1
    page.goto(f"{site.address}jobs/facets/?q=kind:TFJob")
    follow(page, page.locator(".facets a[title='138']"))
    assert "exit:138" in page.url
    context.close()


def test_the_list_fits_a_phone(site: Site, page: Any) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    for path in ("", "?q=exit:138", "exit-codes/", "watchers/", "jobs/facets/"):
        page.goto(site.address + path)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, path


def test_facets_stay_as_the_reader_left_them(site: Site, page: Any) -> None:
    page.goto(site.address)
    page.locator("[data-facet=state] > summary").click()
    page.locator("[data-facet=policy] > summary").click()
    with page.expect_response("**/jobs/facets/**"):
        page.evaluate("htmx.trigger('#facets', 'refresh')")
    page.wait_for_function("() => !document.querySelector('.htmx-request')")
    assert not page.locator("[data-facet=state] ul").first.is_visible()
    assert page.locator("[data-facet=policy] ul").first.is_visible()
