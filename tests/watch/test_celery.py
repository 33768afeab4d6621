"""The tasks in real workers, over a real Valkey: who starts sessions, how many, and what a worker's end costs."""

import signal
import subprocess
import time
from collections.abc import Callable
from typing import Any

import pytest
import redis

from dashboard.brokers import celery_url
from dashboard.celery import app
from dashboard.env import ClusterSource
from jobs import models
from jobs.tasks import ensure_watchers
from tests.support.promptness import fair
from tests.watch.conftest import StartCluster
from tests.watch.live import STREAMS, Follower, LiveCluster, wait_until
from tests.watch.reading import counts, database_url, missed

pytestmark = pytest.mark.django_db(transaction=True)

WORKER = ("-A", "dashboard", "worker", "-P", "threads", "--without-gossip", "--without-mingle")
# A session of half an hour is too long for a test: the same worker, with shorter ones.
SHORT_SESSIONS = """
import django

django.setup()
import jobs.tasks
from celery.__main__ import main

jobs.tasks.SESSION_SECONDS = 1.0
main()
"""


class Workers:
    """Celery processes for some clusters, and this process as one that asks for sessions as beat does."""

    def __init__(self, processes: Any, broker: str, sources: list[ClusterSource]) -> None:
        self.processes = processes
        self.redis = redis.Redis.from_url(broker)
        self.env = {
            "DATABASE_URL": database_url(),
            "REDIS_URL": broker,
            "RESTARTSCOPE_CLUSTERS": ",".join(f"{name}={source}" for name, source in sources),
            "RESTARTSCOPE_DATA_DIR": str(processes.folder),
            "DJANGO_SETTINGS_MODULE": "dashboard.settings",
        }

    def worker(self, name: str, queues: str = "watch") -> "subprocess.Popen[bytes]":
        options = (*WORKER, "-c", "4", "-Q", queues, "--hostname", f"{name}@test")
        return self._start("-m", "celery", *options, name=name)

    def short_worker(self) -> "subprocess.Popen[bytes]":
        return self._start("-c", SHORT_SESSIONS, *WORKER, "-c", "4", "-Q", "watch", name="short")

    def beat(self) -> "subprocess.Popen[bytes]":
        return self._start("-m", "celery", "-A", "dashboard", "beat", name="beat")

    def waiting(self) -> int:
        """How many starts lie in the queue."""
        return int(self.redis.llen("watch"))

    def _start(self, *args: str, name: str) -> "subprocess.Popen[bytes]":
        child: subprocess.Popen[bytes] = self.processes.python(*args, env=self.env, name=name)
        return child

    def watched_by(self, child: "subprocess.Popen[bytes]", *clusters: str) -> bool:
        """Whether this process holds the lease of each cluster, and its streams are open."""
        leases = models.Lease.objects.filter(expires_at__gt=time.time(), holder__contains=f"/{child.pid}/")
        held = set(leases.values_list("cluster__name", flat=True))
        open_streams = models.Stream.objects.filter(cluster__name__in=clusters, state="watching").count()
        return held == set(clusters) and open_streams == STREAMS * len(clusters)


StartWorkers = Callable[..., Workers]


@pytest.fixture
def start_workers(processes: Any, valkey: str, settings: Any, monkeypatch: pytest.MonkeyPatch) -> StartWorkers:
    """Workers for some cluster sources; this process's tasks go to the same broker."""

    def start(*sources: ClusterSource) -> Workers:
        settings.RESTARTSCOPE_CLUSTERS = sources
        return Workers(processes, valkey, list(sources))

    settings.REDIS_URL = valkey
    monkeypatch.setattr(app.conf, "broker_url", celery_url(valkey))
    monkeypatch.setattr(app.amqp, "_producer_pool", None)
    return start


def epochs() -> dict[str, int]:
    return dict(models.Lease.objects.values_list("cluster__name", "epoch"))


def wait_for_the_truth(cluster: LiveCluster) -> None:
    truth = cluster.freeze()
    wait_until(lambda: counts("a") == truth, what=lambda: (counts("a"), truth))
    assert missed("a") == []


def test_starts_do_not_pile_up_while_no_worker_runs(cluster: LiveCluster, start_workers: StartWorkers) -> None:
    """And a cluster whose settings cannot be read is named, while the others are watched."""
    workers = start_workers(cluster.source("a"), ClusterSource("lost", "/no/such/kubeconfig"))
    assert ensure_watchers() == ["a", "lost"]
    assert ensure_watchers() == []
    assert workers.waiting() == 2
    workers.redis.delete("restartscope:starting:a", "restartscope:starting:lost")  # as if their 15 s had passed
    assert ensure_watchers() == []
    assert workers.waiting() == 2
    worker = workers.worker("late")
    workers.processes.wait_for(lambda: workers.watched_by(worker, "a"), worker)
    assert workers.waiting() == 0
    assert workers.redis.keys("restartscope:starting:*") == []
    assert ensure_watchers() == ["lost"]
    assert epochs() == {"a": 1}
    log = workers.processes.log_of(worker)
    assert "/no/such/kubeconfig: there is no such file" in log
    assert "Traceback" not in log


def test_beat_starts_one_session_for_each_cluster(start_cluster: StartCluster, start_workers: StartWorkers) -> None:
    clusters = [start_cluster(), start_cluster()]
    workers = start_workers(clusters[0].source("a"), clusters[1].source("b"))
    worker, beat = workers.worker("all", "watch,default"), workers.beat()
    workers.processes.wait_for(lambda: workers.watched_by(worker, "a", "b"), worker, beat)
    clusters[0].run("tftest")
    wait_until(lambda: counts("a").get(("tftest", "worker", 0), (0, 0))[0] > 2)
    assert epochs() == {"a": 1, "b": 1}
    assert missed("a") == []
    log = workers.processes.log_of(worker)
    assert log.count("watching with") == 2
    assert "Traceback" not in log


def test_a_worker_that_ends_is_followed_by_another(cluster: LiveCluster, start_workers: StartWorkers) -> None:
    """No beat runs: a worker that is asked to end calls the successor. Nobody does for one that is killed."""
    workers = start_workers(cluster.source("a"))
    first = workers.worker("first")
    assert ensure_watchers() == ["a"]
    workers.processes.wait_for(lambda: workers.watched_by(first, "a"), first)
    for name in ("one", "two"):
        cluster.run(name)
    second = workers.worker("second")
    workers.processes.wait_for(lambda: "second@test ready" in workers.processes.log_of(second), second)
    began = time.monotonic()
    first.send_signal(signal.SIGTERM)
    assert first.wait(60) == 0
    assert time.monotonic() - began < fair(5)
    workers.processes.wait_for(lambda: workers.watched_by(second, "a"), second, seconds=60)
    before = cluster.pods()
    wait_until(lambda: cluster.pods() > before + 2)
    wait_for_the_truth(cluster)
    assert epochs() == {"a": 2}
    second.kill()
    second.wait()
    assert ensure_watchers() == []  # its lease goes on for half a minute
    models.Lease.objects.update(expires_at=time.time())
    assert ensure_watchers() == ["a"]
    assert workers.waiting() == 1


def test_sessions_that_end_by_time_are_followed_in_the_same_worker(
    cluster: LiveCluster, start_workers: StartWorkers
) -> None:
    workers = start_workers(cluster.source("a"))
    worker = workers.short_worker()
    assert ensure_watchers() == ["a"]
    workers.processes.wait_for(lambda: workers.watched_by(worker, "a"), worker)
    cluster.run("tftest")
    workers.processes.wait_for(lambda: epochs()["a"] >= 4, worker)
    wait_for_the_truth(cluster)
    worker.send_signal(signal.SIGTERM)  # nobody is left: the successor waits for whoever comes
    assert worker.wait(60) == 0
    # A session that had just ended by time may have called one too, which the stopping worker's poll may have lost.
    assert workers.waiting() in (1, 2)
    assert "Traceback" not in workers.processes.log_of(worker)


def test_a_number_is_published_once_it_can_be_read(cluster: LiveCluster, valkey: str, settings: Any) -> None:
    settings.REDIS_URL = valkey
    with redis.Redis.from_url(valkey) as connection, connection.pubsub() as channel:
        channel.subscribe("restartscope:sequence")
        with Follower(cluster.source("one")):
            cluster.run("tftest")
            told: list[int] = []

            def hears_of_a_pod() -> bool:
                message = channel.get_message(ignore_subscribe_messages=True, timeout=0.1)
                if message is None:
                    return False
                told.append(int(message["data"]))
                assert models.Sequence.objects.get().value >= told[-1]
                return models.Job.objects.filter(seq=told[-1], replicas__gt=0).exists()

            wait_until(hears_of_a_pod)
    assert told == sorted(set(told))
