"""A count looks the same from the server and from a live change, and seven digits fit a phone."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.browser.canvas import NOTE_TEXTS, texts
from tests.browser.site import Site, manage, open_job

pytestmark = [pytest.mark.browser, pytest.mark.timeout(180)]

MANY = 1_234_567
WRITE = "from tests.support.large import write_large; write_large(3, 4, uid='numbers', name='numbers')"
# As the watcher does it: the row, then the number up to which rows are known.
COUNT = """
from jobs.models import Job, Sequence
seq = Sequence.objects.get().value + 1
Job.objects.filter(uid="numbers").update(seq=seq, true_restarts={0}, kubectl_restarts={0} - 1, hidden_restarts={0} - 2)
Sequence.objects.update(value=seq)
"""
STREAM = f"""
from jobs.models import Cluster, Stream
numbers = dict.fromkeys(("events", "changes", "unchanged", "per_minute"), {MANY})
cluster = Cluster.objects.get(name="large")
Stream.objects.create(cluster=cluster, resource="pods", state="watching", last_event_at=1.0, skipped=numbers, **numbers)
"""


@pytest.fixture(scope="module")
def job(site: Site) -> Iterator[str]:
    manage(site.env, "shell", "-c", WRITE)
    manage(site.env, "shell", "-c", STREAM)
    yield f"{site.address}jobs/numbers/"


def count(site: Site, number: int) -> None:
    manage(site.env, "shell", "-c", COUNT.format(number))


def speak(site: Site, page: Any, language: str) -> None:
    page.context.add_cookies([{"name": "django_language", "value": language, "url": site.address}])


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_a_live_change_of_the_list_looks_as_the_server_writes_it(
    site: Site, job: str, page: Any, language: str
) -> None:
    speak(site, page, language)
    count(site, 998)
    page.goto(f"{site.address}?q=numbers")
    cells = page.locator("#jobs tbody [data-value]:not([data-value=podgroup])")
    assert cells.all_inner_texts() == ["998", "997", "996"]
    # Each change by itself, not the row that the server writes a second later.
    page.evaluate("document.body.append(Object.assign(document.createElement('p'), { id: 'seen' }))")
    page.evaluate("""() => new MutationObserver(() => {
        const texts = [...document.querySelectorAll('#jobs tbody [data-value]')].map((one) => one.textContent);
        document.getElementById('seen').textContent += texts.slice(0, 3).join(' ') + '; ';
    }).observe(document.getElementById('jobs'), { subtree: true, childList: true, characterData: true })""")
    count(site, MANY)
    expected = ["1,234,567", "1,234,566", "1,234,565"]
    page.wait_for_function("all => document.getElementById('seen').textContent.includes(all)", arg=" ".join(expected))
    assert not page.evaluate("document.getElementById('seen').textContent.includes('1234')")
    page.reload()
    assert cells.all_inner_texts() == expected


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_a_live_change_of_a_job_looks_as_the_server_writes_it(site: Site, job: str, page: Any, language: str) -> None:
    speak(site, page, language)
    count(site, 9998)
    open_job(page, job)
    numbers = page.locator("[data-number]")
    assert numbers.all_inner_texts() == ["9,998", "9,997", "9,996"]
    page.evaluate("document.getElementById('job-header').removeAttribute('hx-get')")  # what comes is the delta alone
    count(site, 12345)
    page.wait_for_function(
        "() => document.querySelector('[data-number=true]').textContent === '12,345'", timeout=60_000
    )
    assert numbers.all_inner_texts() == ["12,345", "12,344", "12,343"]
    title = page.title()
    assert title == "12,345 · numbers · Restartscope"
    page.reload()
    page.locator("#timeline[data-ready]").wait_for()
    assert numbers.all_inner_texts() == ["12,345", "12,344", "12,343"]
    assert page.title() == title


def test_seven_digits_fit_a_phone(site: Site, job: str, page: Any) -> None:
    count(site, MANY)
    page.set_viewport_size({"width": 390, "height": 844})
    for path in ("", "jobs/facets/", "exit-codes/", "watchers/", "jobs/numbers/", "jobs/numbers/?tab=replicas"):
        page.goto(site.address + path)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, path
    # Not cut, either: what is wider than the page is in a region of its own that scrolls.
    for path, numbers in (("", ".sums strong"), ("jobs/numbers/", "#job-header [data-number]")):
        page.goto(site.address + path)
        shown = page.locator(numbers)
        assert sum(len(text) >= len("1,234,567") for text in shown.all_inner_texts()) == 3, "they are long"
        edges = shown.evaluate_all(
            "all => all.map((one) => [one.getBoundingClientRect(), one.scrollWidth - one.clientWidth])"
        )
        assert all(box["left"] >= 0 and box["right"] <= 390 and cut <= 0 for box, cut in edges), (path, edges)


def test_names_give_way_to_numbers_of_seven_digits(site: Site, job: str, page: Any) -> None:
    count(site, MANY)
    page.set_viewport_size({"width": 1280, "height": 800})
    page.goto(site.address)
    width, room = page.evaluate("""() => {
        // Ages grow with the years; the numbers are what is looked at.
        for (const cell of document.querySelectorAll("#jobs .time")) cell.textContent = "8 h ago";
        const region = document.getElementById("jobs").parentElement;
        return [region.scrollWidth, region.clientWidth];
    }""")
    assert width <= room, "nothing is cut, and nothing must be scrolled to"
    assert page.locator("#jobs tbody th a").first.bounding_box()["width"] >= 80


def test_long_counts_and_names_share_the_gutter(site: Site, job: str, page: Any) -> None:
    page.add_init_script(NOTE_TEXTS)
    page.set_viewport_size({"width": 390, "height": 844})
    open_job(page, job)
    page.evaluate("""() => {
        const { timeline } = window.restartscope;
        timeline.update({ seq: timeline.model.seq, replicas: [{ key: "worker/0/0", true: 1234567 }] });
    }""")
    found = texts(page)
    assert "1,234,567" in found
    assert "worker 0" in found or any(text.startswith("work") and text.endswith("…") for text in found), found
    boxes = page.evaluate("""() => {
        const pen = window.restartscope.timeline.pen;
        const named = pen.noted.filter((one) => /^.?work/.test(one.text)).map((one) => one.y);
        const count = pen.noted.find((one) => one.text === "1,234,567");
        const name = pen.noted.find((one) => /^.?work/.test(one.text) && one.y === count.y);
        pen.font = `400 13px ${window.restartscope.timeline.palette.font}`;
        const end = name.x + pen.measureText(name.text).width;
        pen.font = `700 14px ${window.restartscope.timeline.palette.font}`;
        return { rows: named.length, end, begin: count.x - pen.measureText(count.text).width };
    }""")
    assert boxes["rows"] == 3
    assert boxes["end"] <= boxes["begin"], boxes
