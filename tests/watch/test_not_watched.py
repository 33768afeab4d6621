"""What is said of a job while its pods, or it itself, are not watched and the rest of the cluster is."""

from typing import Any

import pytest
from django.test import Client

from jobs import models
from jobs.absence import LATE_SECONDS, SILENT_SECONDS
from jobs.domain.report import rfc3339
from jobs.ingest.messages import Bookmark, Expired, State, Status
from jobs.ingest.streams import StreamKey
from jobs.store.pages.changes import last_sequence
from jobs.watcher import TICK_SECONDS
from jobs.web.live.reading import read_delta
from tests.watch.reading import only_job, report, stream
from tests.watch.scripted import (
    CLUSTER,
    CREATED,
    JOB_EVENTS,
    KEYS,
    PODGROUP_EVENTS,
    PODGROUPS,
    PODS,
    TFJOBS,
    VOLCANO_PODS,
    Rig,
    goes_on,
    job,
    pod,
    still_open,
    watched_from_the_start,
)

pytestmark = pytest.mark.django_db(transaction=True)


OTHERS = PODGROUP_EVENTS


def cut(rig: Rig, *keys: StreamKey, seconds: float = LATE_SECONDS, others: StreamKey = OTHERS) -> None:
    """These streams are forbidden, and others go on for so long."""
    rig.watching(others)
    for key in keys:
        rig.take(key, Status(State.FORBIDDEN, "The cluster forbids it.", rig.now))
    rig.now += seconds
    rig.take(TFJOBS)


def said() -> tuple[Any, bool]:
    told = only_job()
    assert all(replica["at_least"] == told["at_least"] for replica in told["replicas"])
    assert models.Job.objects.get().at_least == told["at_least"]
    return told["unobserved"], told["at_least"]


@pytest.mark.parametrize("state", [State.FORBIDDEN, State.UNREACHABLE, State.BROKEN, State.THROTTLED, State.LISTING])
@pytest.mark.parametrize("key", [PODS, TFJOBS])
def test_a_stream_that_is_cut_for_long_leaves_an_open_interval(key: StreamKey, state: State) -> None:
    rig = watched_from_the_start()
    alive = rig.now
    rig.now += 5
    rig.take(key, Status(state, "", rig.now))
    rig.now += LATE_SECONDS - 0.1
    rig.take(TFJOBS)
    assert said() == ([], False)
    rig.now += 5
    rig.take(TFJOBS)
    assert said() == (still_open(alive), True)
    assert stream(key, CLUSTER).gap_open


@pytest.mark.parametrize("key", [PODS, TFJOBS])
def test_a_watch_that_goes_on_from_where_it_was_has_missed_nothing(key: StreamKey) -> None:
    rig = watched_from_the_start()
    alive = rig.now
    cut(rig, key, seconds=500)
    rig.watching(key)
    assert said() == (still_open(alive), True), "its version may be forgotten"
    rig.see(key, pod("uid-a", 5, "Failed") if key == PODS else job(5, "Created", "Running"))
    assert said() == (still_open(alive), True), "more may come"
    rig.now += TICK_SECONDS
    rig.take(key)
    assert said() == ([], False)
    rig.see(PODS, pod("uid-a", 6, "Failed"))
    rig.see(PODS, pod("uid-b", 7), type_="ADDED")
    assert said() == ([], False)
    assert only_job()["replicas"][0]["incarnations"] == 2


LATE = LATE_SECONDS + 1


def drawn(client: Client) -> list[tuple[float | None, float | None]]:
    """The intervals that the timeline hatches."""
    found = client.get(f"/api/jobs/{models.Job.objects.get().uid}/timeline/").json()["unobserved"]
    return [(one["start"], one["end"]) for one in found]


@pytest.mark.parametrize("key", [PODS, TFJOBS])
def test_what_was_read_late_is_counted_and_its_times_are_not_relied_on(client: Client, key: StreamKey) -> None:
    rig = watched_from_the_start()
    alive = rig.now
    cut(rig, key, seconds=500)
    rig.watching(key)
    rig.now += 2
    rig.see(key, pod("uid-b", 6) if key == PODS else job(6, "Created", "Running"))
    read = rig.now
    rig.now += TICK_SECONDS
    rig.take(key)
    assert said() == ([], False)
    assert drawn(client) == [(alive, read)]
    if key != PODS:
        return
    assert "was read late" in client.get(f"/jobs/{models.Job.objects.get().uid}/").content.decode()
    rig.see(PODS, pod("uid-b", 8, "Failed"))
    rig.now += 5
    rig.see(PODS, pod("uid-c", 9), type_="ADDED")
    assert "≈" in client.get(f"/jobs/{models.Job.objects.get().uid}/").content.decode()  # the share of lost time


@pytest.mark.parametrize(("seconds", "late"), [(LATE_SECONDS - 1, False), (LATE, True)])
def test_a_watcher_that_goes_on_for_one_that_died_reads_late(client: Client, seconds: float, *, late: bool) -> None:
    rig = watched_from_the_start()
    alive = rig.now
    rig.take(PODS)  # says that it lives
    next_one = Rig(now=rig.now + seconds)
    opened = next_one.now
    goes_on(next_one, *KEYS)
    assert said() == ([], False)
    assert drawn(client) == ([(alive, opened)] if late else [])


def test_a_successor_reads_nothing_late_however_quiet_its_streams_were(client: Client) -> None:
    rig = watched_from_the_start()
    rig.now += 1000
    rig.take(PODS)
    next_one = Rig(now=rig.now + 1)
    goes_on(next_one, *KEYS)
    assert drawn(client) == []
    for _ in range(20):
        next_one.now += 60
        next_one.take(PODS, Bookmark(100))
    next_one.now += 50
    next_one.take(PODS, Status(State.RECONNECTING, "", next_one.now))
    next_one.now += 2
    goes_on(next_one, PODS)
    assert drawn(client) == []


def test_a_silent_stream_was_dead_all_the_while(client: Client) -> None:
    """No bookmark for so long: what came in that time is read when the watch is opened again, a second later."""
    rig = watched_from_the_start()
    alive = rig.now
    rig.now += SILENT_SECONDS
    rig.take(PODS, Status(State.RECONNECTING, "", rig.now))
    rig.now += 1
    opened = rig.now
    goes_on(rig, PODS)
    assert drawn(client) == [(alive, opened)]


def test_an_absence_goes_on_over_many_watchers(client: Client) -> None:
    rig = watched_from_the_start()
    alive = rig.now
    rig.take(PODS, Status(State.FORBIDDEN, "", rig.now))
    for _ in range(3):
        rig = Rig(now=rig.now + LATE_SECONDS / 2)
        rig.take(PODS, Status(State.FORBIDDEN, "", rig.now))
        rig.watching(TFJOBS)
        rig.now += 1
        rig.take(TFJOBS)
    assert said() == (still_open(alive), True)


def test_while_the_whole_cluster_is_away_the_page_is_stale_and_no_job_is_marked(client: Client) -> None:
    rig = watched_from_the_start()
    alive = rig.now
    for key in KEYS:
        rig.take(key, Status(State.UNREACHABLE, "", rig.now))
    for _ in range(100):
        rig.now += TICK_SECONDS
        rig.take(PODS)
    assert said() == ([], False)
    rig.watching(TFJOBS)
    rig.now += LATE_SECONDS / 2
    rig.take(TFJOBS)
    assert said() == ([], False), "the others have come back as well by then, as a rule"
    opened = rig.now
    goes_on(rig, *KEYS)
    assert said() == ([], False)
    assert drawn(client) == [(alive, opened)]


def test_a_forgotten_version_is_an_interval_and_nothing_is_late(client: Client) -> None:
    """The watch is opened all the same, and says 410 in its first line."""
    rig = watched_from_the_start()
    alive = rig.now
    cut(rig, PODS, seconds=500)
    rig.watching(PODS)
    rig.take(PODS, Expired(4, "410"))
    assert said() == (still_open(alive), True)
    rig.take(PODS, *rig.list_of(50, pod("uid-a", 4)))
    listed = rig.now
    rig.now += 60
    goes_on(rig, PODS)
    assert said() == ([{"start": rfc3339(alive), "end": rfc3339(listed)}], True)
    assert "was read late" not in client.get(f"/jobs/{models.Job.objects.get().uid}/").content.decode()


def test_many_cuts_are_few_sentences(client: Client) -> None:
    rig = watched_from_the_start()
    for _ in range(50):
        cut(rig, PODS, seconds=25)
        goes_on(rig, PODS)
        rig.now += 100
        rig.take(PODS, Bookmark(100))
    page = client.get(f"/jobs/{models.Job.objects.get().uid}/").content.decode()
    assert page.count("was read late") == 3
    assert "So were 47 earlier intervals." in page


def test_after_a_list_nothing_is_late(client: Client) -> None:
    rig = watched_from_the_start()
    alive = rig.now
    rig.now += 100
    rig.take(PODS, Status(State.UNREACHABLE, "", rig.now))
    rig.now += LATE
    rig.take(PODS, *rig.list_of(50, pod("uid-a", 4)))
    listed = rig.now
    rig.now += 1
    rig.watching(PODS)
    rig.now += 60
    goes_on(rig, PODS)
    assert drawn(client) == [(alive, listed)]
    assert said()[1] is True


def test_a_list_closes_the_interval() -> None:
    rig = watched_from_the_start()
    alive = rig.now
    cut(rig, PODS, seconds=500)
    rig.take(PODS, *rig.list_of(50, pod("uid-a", 4)))
    rig.watching(PODS)
    closed = [{"start": rfc3339(alive), "end": rfc3339(rig.now)}]
    assert said() == (closed, True)
    rig.now += 500
    rig.take(PODS)
    assert said() == (closed, True)


def test_a_job_that_comes_meanwhile_is_not_watched_from_its_beginning() -> None:
    rig = Rig()
    rig.watching(TFJOBS)
    cut(rig, PODS)
    began = rig.now
    rig.see(TFJOBS, job(2, "Created", "Running"), type_="ADDED")
    told = only_job()
    assert (told["unobserved"], told["at_least"]) == (still_open(min(began, CREATED)), True)


def test_pods_that_were_never_watched_do_not_read_as_no_restarts() -> None:
    rig = Rig()
    rig.take(TFJOBS, *rig.list_of(1))
    rig.watching(TFJOBS)
    rig.see(TFJOBS, job(2), type_="ADDED")
    cut(rig, PODS)
    assert said() == (still_open(CREATED), True)


def test_it_stays_open_over_a_restart_of_the_watcher() -> None:
    rig = watched_from_the_start()
    alive = rig.now
    cut(rig, PODS)
    next_one = Rig(now=rig.now + 1)
    next_one.watching(TFJOBS)
    next_one.see(TFJOBS, job(9, "Created", "Restarting"))
    assert said() == (still_open(alive), True)
    third = Rig(now=next_one.now + 1)
    goes_on(third, PODS)
    assert said() == ([], False)
    assert not stream(PODS, CLUSTER).gap_open


def test_two_streams_leave_one_interval_until_both_are_back() -> None:
    rig = watched_from_the_start()
    alive = rig.now
    cut(rig, PODS, TFJOBS)
    goes_on(rig, TFJOBS)
    assert said() == (still_open(alive), True)
    goes_on(rig, PODS)
    assert said() == ([], False)


def test_a_job_that_goes_meanwhile_is_told_of_when_its_pods_are_watched_again() -> None:
    rig = watched_from_the_start()
    cut(rig, PODS)
    rig.see(TFJOBS, job(40, "Created", "Running"), type_="DELETED")
    assert said()[1] is True
    next_one = Rig(now=rig.now + 1)  # which has not read the job
    goes_on(next_one, TFJOBS, PODS)
    assert said() == ([], False)


@pytest.mark.parametrize("key", [VOLCANO_PODS, PODGROUPS, JOB_EVENTS])
def test_a_stream_that_the_count_does_not_rest_on_changes_nothing(key: StreamKey) -> None:
    rig = watched_from_the_start()
    cut(rig, key, seconds=500)
    assert said() == ([], False)


def test_for_kinds_that_are_not_installed_no_job_is_read() -> None:
    watched_from_the_start()
    missing = StreamKey("mpijobs.kubeflow.org", "", "")
    rig = Rig(keys=[missing, *KEYS])
    rig.watching(*KEYS)
    rig.take(missing, Status(State.NOT_INSTALLED, "", rig.now))
    rig.now += LATE_SECONDS
    rig.take(PODS)
    assert stream(missing, CLUSTER).gap_open
    assert rig.watcher.ledger.jobs == {}


def test_another_namespace_is_watched_on() -> None:
    keys = {name: (TFJOBS._replace(namespace=name), PODS._replace(namespace=name)) for name in ("a", "b")}
    rig = Rig(keys=[key for pair in keys.values() for key in pair])
    for version, (name, (jobs, pods)) in enumerate(keys.items(), 1):
        for key in (jobs, pods):
            rig.take(key, *rig.list_of(1))
            rig.watching(key)
        rig.see(jobs, job(10 * version, uid=f"job-{name}", name=name, namespace=name), type_="ADDED")
    cut(rig, keys["a"][1], others=keys["b"][0])
    assert {job["name"]: job["at_least"] for job in report()} == {"a": True, "b": False}


def test_a_job_that_is_over_and_gone_is_left_alone() -> None:
    rig = watched_from_the_start()
    rig.see(PODS, pod("uid-a", 5, "Succeeded"))
    rig.see(TFJOBS, job(6, "Created", "Succeeded"))
    rig.see(PODS, pod("uid-a", 7, "Succeeded"), type_="DELETED")
    rig.see(TFJOBS, job(8, "Created", "Succeeded"), type_="DELETED")
    rig.now += 1
    cut(rig, PODS, TFJOBS, seconds=500)
    assert said() == ([], False)


# --- what people see


def test_the_pages_say_that_nobody_watches(client: Client) -> None:
    rig = watched_from_the_start()
    alive = rig.now
    row = models.Job.objects.get()

    def timeline() -> Any:
        return client.get(f"/api/jobs/{row.uid}/timeline/").json()

    page = client.get(f"/jobs/{row.uid}/").content.decode()
    assert "have not been watched" not in page
    cut(rig, PODS)
    page = client.get(f"/jobs/{row.uid}/").content.decode()
    assert "Its pods have not been watched since" in page
    assert "The job itself" not in page
    assert 'data-number="true">≥ 0' in page
    assert timeline()["unobserved"] == [{"start": alive, "end": None}]
    assert "≥ 0" in client.get("/").content.decode()
    (listed,) = client.get("/api/jobs/").json()["jobs"]
    assert listed["at_least"] is True
    cut(rig, TFJOBS)
    assert "The job itself has not been watched since" in client.get(f"/jobs/{row.uid}/").content.decode()


def test_open_pages_hear_that_nothing_was_missed() -> None:
    rig = watched_from_the_start()
    row = models.Job.objects.get()
    cut(rig, PODS)
    seq, opened = last_sequence(), rig.now
    goes_on(rig, PODS)
    delta = read_delta(row.id, seq)
    assert delta is not None
    assert [one["end"] for one in delta["unobserved"]] == [opened]  # what was read late stays hatched
    assert delta["job"]["at_least"] is False
