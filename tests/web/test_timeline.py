"""The timeline of large jobs: rows in sight, level of detail, and that no restart is lost."""

import json
import random
import re
import time
from html import unescape
from typing import Any

import pytest
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from jobs.models import Job, Restart
from jobs.store.pages.changes import JobChanges, restart_sums
from jobs.store.pages.timeline import Bar, BarEnd, job_alone
from jobs.web import lanes, timeline
from jobs.web.detail import begin, thinned, thinned_marks
from jobs.web.timeline import key_from, replica_key
from jobs.web.views import job as job_views
from tests.support.large import BEGIN, LIFE, write_large

REPLICAS, RESTARTS = 80, 20


@pytest.fixture
def large(db: None) -> Job:
    return write_large(REPLICAS, RESTARTS)


def get(client: Client, job: Job, **query: Any) -> dict[str, Any]:
    return client.get(f"/api/jobs/{job.uid}/timeline/", query).json()


def test_a_large_job_tells_all_numbers_and_the_first_rows(client: Client, large: Job) -> None:
    found = get(client, large)
    assert found["whole"] is False
    assert [replica["true"] for replica in found["replicas"]] == [RESTARTS] * REPLICAS
    assert len(found["rows"]) == timeline.FIRST_ROWS
    assert len(found["pods"]) == timeline.FIRST_ROWS * (RESTARTS + 1)
    (strip,) = found["heat"]["types"].values()
    assert sum(count for _, _, count in strip["cells"]) == REPLICAS * RESTARTS
    assert all(line < strip["rows"] for line, _, _ in strip["cells"])
    assert found["bands"]


def test_the_others_come_when_asked_for(client: Client, large: Job) -> None:
    found = get(client, large, rows="worker/70/0,worker/7/0")
    assert set(found) == {"seq", "now", "rows", "pixel", "pods", "restarts", "heaps"}
    assert {pod["replica"] for pod in found["pods"]} == {"worker/70/0", "worker/7/0"}
    assert len(found["restarts"]) == 2 * RESTARTS
    assert get(client, large, rows="worker/9999/0")["pods"] == []


def test_seen_from_far_a_row_is_heaps_and_loses_no_restart(client: Client, large: Job) -> None:
    end = BEGIN + (RESTARTS + 1) * LIFE
    far = get(client, large, rows="worker/3/0", **{"from": BEGIN, "to": BEGIN + 400 * (end - BEGIN), "width": 1000})
    assert len(far["pods"]) < 5
    assert restarts_in(far) == RESTARTS
    assert sum(sum(heap["codes"].values()) for heap in far["heaps"]) + len(far["restarts"]) == RESTARTS
    near = get(client, large, rows="worker/3/0", **{"from": BEGIN, "to": end, "width": 1000})
    assert get(client, large, rows="worker/3/0", **{"from": BEGIN, "to": 15 * end - 14 * BEGIN, "width": 1000})["heaps"]
    assert near["heaps"] == [] and restarts_in(near) == RESTARTS


def restarts_in(found: dict[str, Any]) -> int:
    """Restarts that the drawing shows: of bars, of marks in them, of heaps."""
    return sum(r["counts"] for r in found["restarts"]) + sum(heap["restarts"] for heap in found["heaps"])


def test_the_worst_come_first_where_they_are_asked_for(client: Client, large: Job) -> None:
    Restart.objects.filter(job=large, replica_index__lt=60).delete()
    found = get(client, large, order="worst")
    assert found["rows"][:20] == [f"worker/{index}/0" for index in range(60, 80)]


def test_the_page_of_a_large_job_comes_before_its_parts(
    client: Client, large: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert 'data-tab="restarts"' in client.get(f"/jobs/{large.uid}/").content.decode(), "not large yet"
    monkeypatch.setattr(job_views, "LARGE", 1000)
    page = client.get(f"/jobs/{large.uid}/").content.decode()
    assert f'data-number="true">{REPLICAS * RESTARTS:,}<' in page
    assert page.count("data-later") == 2
    assert "kubectl shows none of it." in page
    assert f"{REPLICAS} replicas restarted" in get(client, large)["story"]["en"], "the sentence comes with the timeline"
    assert 'data-tab="restarts"' not in page
    assert 'data-tab="restarts"' in client.get(f"/jobs/{large.uid}/?whole=1").content.decode()


def test_a_lane_of_very_many_phases_comes_in_heaps_and_in_detail_where_it_is_looked_at(
    client: Client, large: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lanes, "SPANS", RESTARTS - 1)
    whole = {"from": BEGIN, "to": BEGIN + 300 * LIFE, "width": 100}
    far = get(client, large, **whole)
    heaps = [span for span in far["spans"] if span["lane"] == "restarting"]
    assert len(heaps) < RESTARTS / 2
    assert sum(span.get("times", 1) for span in heaps) == RESTARTS, "none is lost"
    assert far["lanes"]["pixel"] == pytest.approx(3 * LIFE)
    start, end = BEGIN + 2.5 * LIFE, BEGIN + 6.5 * LIFE
    near = get(client, large, lanes=1, **{"from": start, "to": end, "width": 100})
    assert set(near) == {"seq", "now", "lanes", "spans"}
    assert near["lanes"] == {"start": start, "end": end, "pixel": 0}
    shown = [span for span in near["spans"] if span["lane"] == "restarting"]
    assert [span["start"] for span in shown] == [BEGIN + n * LIFE for n in (3, 4, 5, 6)]
    assert not any("times" in span for span in shown)
    assert get(client, large)["lanes"] == {"pixel": 0}


@pytest.mark.parametrize("whole", ["", "?whole=1"])
def test_a_job_of_a_cluster_whose_clock_is_ahead_has_a_timeline(
    client: Client, db: None, monkeypatch: pytest.MonkeyPatch, whole: str
) -> None:
    monkeypatch.setattr(job_views, "LARGE", 5)
    ahead = write_large(3, 2, begin=time.time() + 3600, live=True)
    page = client.get(f"/jobs/{ahead.uid}/{whole}").content.decode()
    address = re.search(r'data-first="([^"]+)"', page)
    assert address
    assert client.get(unescape(address[1])).status_code == 200


@pytest.mark.parametrize(
    "query",
    [
        {"rows": "worker"},
        {"rows": "worker/x/0"},
        {"rows": ",".join(["worker/0/0"] * 201)},
        {"order": "best"},
        {"lanes": "1"},
        {"from": "a", "to": "b", "width": "3"},
        {"from": "5", "to": "4", "width": "100"},
        {"from": "nan", "to": "inf", "width": "100"},
        {"from": "1", "to": "4", "width": "1"},
    ],
)
def test_bad_questions_get_the_error_shape(client: Client, seed: Job, query: dict[str, str]) -> None:
    answer = client.get(f"/api/jobs/{seed.uid}/timeline/", query)
    assert answer.status_code == 400
    assert set(answer.json()["error"]) == {"code", "message"}


def test_keys_survive_odd_types() -> None:
    for key in (("worker", 0, 0), ("a/b", 12, 3)):
        assert key_from(replica_key(key)) == key


def test_the_delta_of_one_change_is_small(large: Job) -> None:
    """One pod that ended, its restart, a phase, all numbers: at most 2 kB."""
    from jobs.models import Incarnation, Span
    from jobs.web.live.reading import told

    pod = Incarnation.objects.filter(job=large, ended_at__isnull=False).first()
    restart = Restart.objects.get(job=large, pod_uid=pod.uid) if pod else None
    span = Span.objects.filter(job=large, lane="restarting").first()
    assert pod and restart and span
    changes = JobChanges(Job.objects.select_related("cluster").get(id=large.id), [pod], [restart], [span])
    trues = dict.fromkeys(timeline.touched(changes), RESTARTS)
    delta = timeline.delta(changes, job_alone(large.id), trues, time.time())
    delta |= {"story": told(changes.job, restart_sums(large.id), {})}
    text = json.dumps(delta, ensure_ascii=False, separators=(",", ":")).encode()
    assert len(text) <= 2000, f"{len(text)} bytes"


def bar(start: float, length: float | None, number: int, *, counts: bool = True) -> Bar:
    gone = None if length is None else start + length
    return Bar(
        f"u{number}", "p", "worker", 0, 0, start, start, True, start, None, gone, gone, ends=[BarEnd(1)], counts=counts
    )


@given(
    st.lists(st.tuples(st.floats(0.01, 50), st.floats(0, 20), st.booleans()), max_size=60),
    st.floats(0.001, 1000),
    st.booleans(),
)
def test_no_restart_is_lost_at_any_zoom(lives: list[tuple[float, float, bool]], pixel: float, running: bool) -> None:
    bars, at = [], 0.0
    for number, (length, pause, counts) in enumerate(lives):
        bars.append(bar(at, length, number, counts=counts))
        at += length + pause
    if running:
        bars.append(bar(at, None, len(bars), counts=False))
    kept, heaps = thinned(bars, pixel)
    assert sum(one.counts for one in kept) + sum(heap.restarts for heap in heaps) == sum(one.counts for one in bars)
    assert len(kept) + sum(heap.pods for heap in heaps) == len(bars)
    assert all(heap.pods > 1 for heap in heaps)
    assert [begin(one) for one in kept] == sorted(begin(one) for one in kept)
    if running:
        assert bars[-1] in kept, "what still runs is never in a heap"
    # So many bars and heaps at most as there are pixels: the answer is bounded by the screen, not by the job.
    assert len(heaps) + sum(one.gone is not None and one.gone - begin(one) < pixel for one in kept) <= at / pixel + 2


@given(st.lists(st.floats(0, 1000), max_size=80), st.floats(0.001, 100), st.integers(0, 5))
def test_no_restart_in_place_is_lost_either(times: list[float], pixel: float, unseen: int) -> None:
    moments: list[float | None] = [*sorted(times), *[None] * unseen]
    marks = [
        Restart(pod_uid="u", number=n + 1, counts=True, at=at, exit_code=137, replica_type="w", replica_index=0)
        for n, at in enumerate(moments)
    ]
    random.Random(len(times)).shuffle(marks)
    kept, heaps = thinned_marks(marks, pixel)
    assert len(kept) + sum(heap.restarts for heap in heaps) == len(marks)
    assert sum(one.at is None for one in kept) == unseen, "what has no time is not put anywhere"
