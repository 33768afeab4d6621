"""The job list."""

import re
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from jobs.models import Job
from jobs.web.rows import STRIP_WIDTH, TICK, strip
from tests.support.recorded import replay, replay_changed

HOSTILE = "<img src=x onerror=alert(1)>\u202e{{7*7}}"


def test_the_true_count_stands_beside_kubectls(client: Client, seed: Job) -> None:
    page = client.get("/").content.decode()
    row = re.search(rf'<tr id="job-{seed.id}".*?</tr>', page, re.S)
    assert row
    assert re.search(r'data-value="true">\s*6<', row[0])
    assert re.search(r'data-value="kubectl">1<', row[0])
    assert "138 <small>×5</small>" in row[0]
    (ticks,) = re.findall(r'<path class="tick" d="([^"]*)"', row[0])
    assert ticks.count("M") == 6


def test_a_job_that_is_gone_is_not_restarting(client: Client, seed: Job) -> None:
    assert seed.state == "Restarting"
    page = client.get("/").content.decode()
    assert 'data-state="Deleted"' in page
    assert "was Restarting" in page
    assert 'data-state="Restarting"' not in page


@pytest.mark.django_db
def test_an_empty_list_says_what_to_do(client: Client) -> None:
    page = client.get("/").content.decode()
    assert "manage.py watch" in page
    assert "make demo" in page


def test_a_filter_that_nothing_matches_leads_back(client: Client, seed: Job) -> None:
    page = client.get("/?q=nothing-like-that").content.decode()
    assert "No job matches" in page
    assert "make demo" not in page


@pytest.mark.django_db
@pytest.mark.parametrize("query", ["exit=abc", "sort=colour", "after=garbage"])
def test_a_wrong_address_is_told_and_leads_on(client: Client, query: str) -> None:
    response = client.get(f"/?{query}")
    assert response.status_code == 400
    assert 'href="/"' in response.content.decode()


@pytest.mark.django_db
def test_questions_to_the_database_do_not_grow_with_the_rows(
    client: Client, django_assert_max_num_queries: Any
) -> None:
    replay("seed-exitcode-138", "oom-killed", "wave-60", "name-reuse")
    with django_assert_max_num_queries(11):
        page = client.get("/").content.decode()
    assert page.count("<tr id=") == 5


@pytest.mark.django_db
def test_names_from_the_cluster_are_text(client: Client, tmp_path: Path) -> None:
    escaped = HOSTILE.replace("\u202e", "\\u202e").encode()
    replay_changed(tmp_path, "seed-exitcode-138", lambda text: text.replace(b'"tftest"', b'"' + escaped + b'"'))
    job = Job.objects.get()
    assert job.name == HOSTILE
    for address in ("/", f"/jobs/{job.uid}/", *(f"/jobs/{job.uid}/?tab={tab}" for tab in ("facts", "events"))):
        page = client.get(address).content.decode()
        assert "<img src=x" not in page
        assert "&lt;img src=x onerror=alert(1)&gt;" in page
        assert "49" not in re.findall(r"<bdi[^>]*>(.*?)</bdi>", page, re.S), "a template in a name was run"


def test_no_page_has_inline_scripts_or_styles(client: Client, seed: Job) -> None:
    for address in ("/", f"/jobs/{seed.uid}/", "/watchers/", "/nothing/"):
        response = client.get(address)
        page = response.content.decode()
        assert not re.search(r"\sstyle=", page)
        assert not re.search(r"\son\w+=", page)
        assert not re.search(r"<script(?![^>]*(src=|application/json))", page)
        assert "unsafe" not in response["Content-Security-Policy"]


def test_rows_can_be_fetched_by_id(client: Client, seed: Job) -> None:
    page = client.get(f"/jobs/rows/?ids={seed.id},999&totals=1").content.decode()
    assert page.count("<tr id=") == 1
    assert 'id="sums"' in page
    assert client.get("/jobs/rows/?ids=x").status_code == 400


class TestStrip:
    def job(self, **more: Any) -> Job:
        return Job(**{"created_at": 0.0, "state": "Running", **more})

    def test_each_restart_is_a_tick_inside_of_the_strip(self) -> None:
        ticks = strip(self.job(), [0.0, 50.0, 100.0], 100.0).ticks
        assert len(ticks) == 3
        assert all(tick.x >= 0 and tick.x + tick.width <= STRIP_WIDTH + 1e-9 for tick in ticks)

    def test_restarts_closer_than_a_tick_are_drawn_as_one(self) -> None:
        found = strip(self.job(), [n * 0.01 for n in range(300)], 100.0)
        assert len(found.ticks) == 1
        assert found.ticks[0].width >= TICK
        assert found.restarts == 300

    def test_a_job_without_a_beginning_has_no_ticks(self) -> None:
        assert strip(self.job(created_at=None), [5.0], 10.0).ticks == []
        assert strip(self.job(), [5.0], None).ticks == []
