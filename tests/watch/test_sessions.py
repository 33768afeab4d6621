"""Watch sessions against a simulated cluster: hand-over, take-over, and what each costs."""

import threading
import time

import pytest
from django.db import DatabaseError

from jobs import models
from jobs.ingest.client import ConnectionSettingError
from jobs.sessions import Busy, run_session
from jobs.store import leases
from jobs.store.streams import cluster_named
from tests.support.database import refusing
from tests.watch.live import FAST, Follower, LiveCluster, wait_until
from tests.watch.reading import counts, missed, report, told

pytestmark = pytest.mark.django_db(transaction=True)


def wait_for_the_truth(cluster: LiveCluster, *names: str) -> None:
    """The cluster stands still; each name's report comes to hold all that happened in it."""
    truth = cluster.freeze()
    for name in names:
        wait_until(lambda name=name: counts(name) == truth, what=lambda name=name: (counts(name), truth))


def epoch(name: str) -> int:
    row = models.Lease.objects.filter(cluster__name=name).first()
    return row.epoch if row else 0


def watching(cluster: LiveCluster, name: str) -> bool:
    rows = models.Stream.objects.filter(cluster__name=name, state="watching")
    return rows.count() == models.Stream.objects.filter(cluster__name=name).count() > 0


def test_a_session_sees_what_happens(cluster: LiveCluster) -> None:
    changes = []
    with Follower(cluster.source("one"), on_change=changes.append) as follower:
        wait_until(lambda: watching(cluster, "one"))
        cluster.run("tftest")
        wait_until(lambda: cluster.pods() > 6)
        wait_for_the_truth(cluster, "one")
        assert follower.end() < 1.5
    assert missed("one") == []
    assert len(changes) == models.Observation.objects.count()
    (job,) = report("one")
    assert job["true_restarts"] == job["hidden_restarts"] + job["kubectl_restarts"] >= 3
    assert models.Lease.objects.get().expires_at == 0
    assert cluster.watched() == []


def test_two_watchers_of_one_cluster_say_the_same(cluster: LiveCluster) -> None:
    """Under names of their own, so that both may write."""
    with Follower(cluster.source("one")), Follower(cluster.source("two")):
        wait_until(lambda: watching(cluster, "one") and watching(cluster, "two"))
        cluster.run("tftest")
        cluster.experiment("pt-exitcode-worker")
        wait_until(lambda: cluster.pods() > 12)
        wait_for_the_truth(cluster, "one", "two")
        wait_until(lambda: told("one") == told("two"))
    assert missed("one") == []
    assert missed("two") == []


def test_hand_overs_by_time_cost_no_event_and_wait_for_no_lease(cluster: LiveCluster) -> None:
    """Sessions of a second each call their successor; the cluster restarts its workers all the while."""
    sessions: list[Follower] = []
    over = threading.Event()

    def successor() -> bool:
        if not over.is_set():
            sessions.append(begin())
        return True

    def begin() -> Follower:
        return Follower(cluster.source("one"), seconds=1.0, take_over=True, on_end_near=successor).start()

    sessions.append(begin())
    wait_until(lambda: watching(cluster, "one"))
    for name in ("first", "second", "third"):
        cluster.run(name)
    wait_until(lambda: len(sessions) > 4, seconds=20)
    over.set()
    wait_until(lambda: all(session.ended() for session in list(sessions)))
    with Follower(cluster.source("one")):
        wait_for_the_truth(cluster, "one")
    assert [session.error for session in sessions] == [None] * len(sessions)
    assert missed("one") == []
    rows = models.Observation.objects.filter(object__resource="pods").values_list("resource_version", "observed_at")
    delays = [observed_at - cluster.written[version] for version, observed_at in rows]
    assert len(delays) > 100
    assert max(delays) < leases.LEASE_SECONDS / 2  # a successor that waited for the lease to end would be later
    assert list(models.Gap.objects.all()) == []
    assert epoch("one") == len(sessions) + 1


def test_a_session_without_a_successor_goes_on(cluster: LiveCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jobs.sessions.POSTPONED_SECONDS", 0.3)
    answers = [False, False, True]
    with Follower(cluster.source("one"), seconds=0.3, on_end_near=lambda: answers.pop(0)) as follower:
        assert follower.ended(10)
    assert answers == []


def test_who_is_taken_over_writes_nothing_more_and_ends(cluster: LiveCluster) -> None:
    with Follower(cluster.source("one")) as first:
        wait_until(lambda: watching(cluster, "one"))
        cluster.run("tftest")
        wait_until(lambda: cluster.pods() > 5)
        with Follower(cluster.source("one"), take_over=True):
            assert first.ended(10)
            assert first.error is None
            wait_until(lambda: cluster.pods() > 8)
            wait_for_the_truth(cluster, "one")
            assert models.Lease.objects.get().expires_at > time.time()  # the first did not give back what was not its
    assert missed("one") == []
    assert epoch("one") == 2


def test_a_cluster_that_is_watched_is_left_alone(cluster: LiveCluster) -> None:
    lease = leases.acquire(cluster_named("one"), "another", time.time())
    assert lease is not None
    with pytest.raises(Busy, match="one is watched by another"):
        run_session(cluster.source("one"), threading.Event(), seconds=5)
    leases.release(lease)
    run_session(cluster.source("one"), threading.Event(), seconds=0.2, timing=FAST)
    assert epoch("one") == 2


def test_a_source_that_cannot_be_read_takes_no_lease(cluster: LiveCluster) -> None:
    cluster.kubeconfig.write_text("{ no yaml")
    with pytest.raises(ConnectionSettingError):
        run_session(cluster.source("one"), threading.Event())
    assert models.Lease.objects.count() == 0


def test_what_the_database_refused_is_read_again(cluster: LiveCluster) -> None:
    with Follower(cluster.source("one")):
        wait_until(lambda: watching(cluster, "one"))
        cluster.run("tftest")
        wait_until(lambda: cluster.pods() > 5)
    with refusing("jobs_observation"):
        session = Follower(cluster.source("one")).start()
        assert session.ended(10)
        assert isinstance(session.error, DatabaseError)
        assert models.Lease.objects.get().expires_at == 0
    with Follower(cluster.source("one")):
        wait_for_the_truth(cluster, "one")
    assert missed("one") == []


def test_an_idle_session_keeps_its_lease(cluster: LiveCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jobs.watcher.TICK_SECONDS", 0.3)
    monkeypatch.setattr(leases, "LEASE_SECONDS", 1.0)
    with Follower(cluster.source("one")):
        wait_until(lambda: watching(cluster, "one"))
        until = time.monotonic() + 2.5
        while time.monotonic() < until:
            assert leases.acquire(cluster_named("one"), "greedy", time.time()) is None
            time.sleep(0.05)
