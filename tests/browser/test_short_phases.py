"""A Restarting of 25 ms is seen at every zoom of a job that lived for 20 days, and its true length can be read."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.browser.canvas import CANVAS, NOTE_TEXTS, runs_of, texts
from tests.browser.site import Site, manage, open_job

pytestmark = [pytest.mark.browser, pytest.mark.timeout(180)]

DAY = 86400.0
BEGIN = 1_790_000_000.0
AT = BEGIN + 5 * DAY  # of the first of three
LENGTH = 0.025
WRITE = f"from tests.support.large import write_large; write_large(4, 3, uid='long', begin={BEGIN}, life={5 * DAY})"
WRITE_UNMEASURED = f"""
from jobs.models import Span
from tests.support.large import write_large
write_large(4, 3, uid="unmeasured", name="unmeasured", begin={BEGIN}, life=600.0)
for number, dates in enumerate(({{"said_start": 5, "said_end": 5}}, {{"said_start": 5, "said_end": 19}}, {{}})):
    span = Span.objects.get(job__uid="unmeasured", lane="restarting", number=number)
    span.end, span.detail = span.start + 0.0002, dates
    span.save()
"""
KNOWN = {  # of the three: on the canvas, and on the card and in the table
    "en": [("< 1 s", "too short to measure"), ("≈ 14 s", "by the cluster's clock"), ("not measured", "")],
    "zh-hans": [("< 1 s", "太短，无法测量"), ("≈ 14 s", "按集群时钟"), ("未测得", "")],
}
ZOOMS = {
    "20 d": 20 * DAY,
    "5 d": 5 * DAY,
    "1 d": DAY,
    "1 h": 3600.0,
    "1 m": 60.0,
    "10 s": 10.0,
    "1 s": 1.0,
    "0.1 s": 0.1,
}


@pytest.fixture(scope="module")
def long_job(site: Site) -> Iterator[str]:
    manage(site.env, "shell", "-c", WRITE)
    yield f"{site.address}jobs/long/"


def moment(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def at_zoom(address: str, seconds: float) -> str:
    middle = AT + LENGTH / 2
    return f"{address}?from={moment(middle - seconds / 2)}&to={moment(middle + seconds / 2)}"


@pytest.mark.parametrize("zoom", list(ZOOMS))
def test_it_is_visible_and_says_how_long_it_was(long_job: str, page: Any, zoom: str) -> None:
    page.add_init_script(NOTE_TEXTS)
    open_job(page, at_zoom(long_job, ZOOMS[zoom]))
    runs = runs_of(page, "state", "restarting")
    assert runs and all(run["width"] >= 3 for run in runs), runs
    box = page.locator(CANVAS).bounding_box()
    middle = (150 + box["width"]) / 2
    run = min(runs, key=lambda one: abs(one["left"] + one["width"] / 2 - middle))
    assert abs(run["left"] + run["width"] / 2 - middle) < 12, "it stands where it happened"
    true_width = LENGTH / ZOOMS[zoom] * (box["width"] - 158)
    assert run["width"] == pytest.approx(max(3, true_width), abs=2), "never wider than it was, but for the least width"
    assert "25 ms" in texts(page), "its length stands above it"
    page.mouse.move(box["x"] + run["left"] + run["width"] / 2, box["y"] + 26 + 18 + 11)
    page.locator("[data-card]").wait_for(state="visible")
    card = page.locator("[data-card]").inner_text()
    assert "Restarting" in card and "25 ms" in card


def test_all_three_are_seen_in_the_whole_life(long_job: str, page: Any) -> None:
    open_job(page, long_job)
    assert len(runs_of(page, "state", "restarting")) == 3


def test_the_table_says_it_in_milliseconds(long_job: str, page: Any) -> None:
    open_job(page, f"{long_job}?tab=phases")
    rows = page.locator("#tabs tbody tr", has_text="Restarting")
    assert rows.count() == 3
    assert all("25 ms" in row for row in rows.all_inner_texts())


@pytest.fixture(scope="module")
def unmeasured_job(site: Site) -> Iterator[str]:
    """Three Restartings, the two writes of each read at once."""
    manage(site.env, "shell", "-c", WRITE_UNMEASURED)
    yield f"{site.address}jobs/unmeasured/"


@pytest.mark.parametrize("language", list(KNOWN))
def test_what_was_not_measured_is_not_told_as_0_ms(unmeasured_job: str, site: Site, page: Any, language: str) -> None:
    page.context.add_cookies([{"name": "django_language", "value": language, "url": site.address}])
    page.add_init_script(NOTE_TEXTS)
    open_job(page, f"{unmeasured_job}?tab=phases")
    written = texts(page)
    runs = runs_of(page, "state", "restarting")
    box = page.locator(CANVAS).bounding_box()
    rows = page.locator("#tabs tbody tr", has=page.locator("[data-state=Restarting]")).all_inner_texts()
    assert len(runs) == len(rows) == 3
    for run, row, (length, note) in zip(runs, rows, KNOWN[language], strict=True):
        assert run["width"] >= 3
        assert length in written
        page.mouse.move(box["x"] + run["left"] + run["width"] / 2, box["y"] + 26 + 18 + 11)
        said = f"{length} ({note})" if note else length
        page.wait_for_function("said => document.querySelector('[data-card]').innerText.includes(said)", arg=said)
        assert length in row and note in row
        assert "0 ms" not in row
    assert "0 ms" not in written


def test_without_scripts_the_table_tells_the_same(unmeasured_job: str, browser: Any) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{unmeasured_job}?tab=phases")
    rows = page.locator("#tabs tbody tr", has=page.locator("[data-state=Restarting]")).all_inner_texts()
    assert all(length in row and note in row for row, (length, note) in zip(rows, KNOWN["en"], strict=True))
    context.close()
