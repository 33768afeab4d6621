"""What a page knows from its first answer and the deltas after it is what it would know if it were loaded now.

The page's own merging (static/js/timeline/model.js) is by key: the same is done here.
"""

from typing import Any

import pytest
from hypothesis import strategies as st

from jobs.models import Job
from jobs.store.pages.changes import last_sequence
from jobs.web import timeline
from jobs.web.live import reading
from jobs.web.timeline import Wanted
from tests.properties.recorded import Cluster, lines_of
from tests.properties.test_streams import a_batch, a_scenario, cluster, cuts, every, miss

pytestmark = pytest.mark.django_db

Json = dict[str, Any]
KEYS = {
    "pods": lambda pod: pod["uid"],
    "restarts": lambda restart: (restart["pod"], restart["number"]),
    "spans": lambda span: (span["lane"], span["number"]),
    "replicas": lambda replica: replica["key"],
}
LATER = 10_000_000_000.0


class Page:
    """What a browser holds of one job."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.loads = 0
        self.load()

    def load(self) -> None:
        self.loads += 1
        self.seq = last_sequence()
        self.known = shown(self.job)

    def hear(self) -> None:
        """The event stream's next word."""
        since, self.seq = self.seq, last_sequence()
        delta = reading.read_delta(self.job.id, since)
        if delta is None:
            self.load()
            return
        for name, key in KEYS.items():
            self.known[name] |= {key(item): item for item in delta.get(name, [])}
        self.known |= {name: delta[name] for name in ("job", "unobserved") if name in delta}


def shown(job: Job) -> Json:
    """The timeline as it is loaded now, by key."""
    row = Job.objects.select_related("cluster").get(id=job.id)
    found = timeline.overview(row, last_sequence(), LATER, Wanted())
    assert found["whole"]
    by_key = {name: {key(item): item for item in found[name]} for name, key in KEYS.items()}
    return {**by_key, "job": found["job"], "unobserved": found["unobserved"]}


def look(one: Cluster, pages: dict[int, Page]) -> None:
    """Every open page hears, and knows all; a job that is new is opened."""
    for page in pages.values():
        page.hear()
        now = shown(page.job)
        for name in now:
            assert page.known[name] == now[name], name
    for job in Job.objects.filter(cluster__name=one.name).exclude(id__in=pages):
        pages[job.id] = Page(job)


@every(quick=25, deep=200)
def test_deltas_add_up_to_a_full_load(data: st.DataObject) -> None:
    """With lines that nobody read, and lists after them, at any place."""
    lines = lines_of(a_scenario(data))
    one, pages = cluster(lines), dict[int, Page]()
    for part in cuts(data, lines, most=12):
        start = data.draw(st.integers(0, len(part)), "watched until")
        one.watch(part[:start], a_batch(data))
        look(one, pages)
        lost = data.draw(st.sets(st.sampled_from(one.keys)), "lost") if data.draw(st.booleans(), "gap") else set()
        miss(one, part[start:], lost)
        for key in sorted(lost):
            one.expire(key)
        look(one, pages)


def test_a_gap_concerns_replicas_of_which_nothing_is_told() -> None:
    """Every count of the job is "at least" then, and Events may prove more of any replica."""
    lines = lines_of("seed-exitcode-138")
    one, pages = cluster(lines), dict[int, Page]()
    one.watch(lines[: len(lines) // 2])
    look(one, pages)
    for key in one.keys:
        one.expire(key)
        look(one, pages)
    one.watch(lines[len(lines) // 2 :], batch=7)
    look(one, pages)


def test_an_event_a_time_adds_up_too() -> None:
    lines = lines_of("seed-exitcode-138")
    one, pages = cluster(lines), dict[int, Page]()
    for start in range(0, len(lines), 3):
        one.watch(lines[start : start + 3])
        look(one, pages)
    assert [page.loads for page in pages.values()] == [1], "told by deltas alone"
