"""The tasks in real workers, over a real Valkey: who starts sessions, how many, and what a worker's end costs."""

import re
import signal
import subprocess
import time
from typing import Any

import pytest
import redis

from jobs import models
from jobs.domain.kinds import KINDS
from jobs.ingest.streams import streams_for
from tests.watch.conftest import StartCluster
from tests.watch.live import Follower, LiveCluster, wait_until
from tests.watch.reading import counts, database_url, missed

pytestmark = pytest.mark.django_db(transaction=True)

STREAMS = len(streams_for(KINDS))
WORKER = ("-A", "dashboard", "worker", "-P", "threads", "--without-gossip", "--without-mingle")
ENSURE = "import django; django.setup(); from jobs.tasks import ensure_watchers; print(ensure_watchers())"
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
    """Celery processes for some clusters, named by their letters."""

    def __init__(self, processes: Any, broker: str, clusters: dict[str, LiveCluster]) -> None:
        self.processes = processes
        self.redis = redis.Redis.from_url(broker)
        self.env = {
            "DATABASE_URL": database_url(),
            "REDIS_URL": broker,
            "RESTARTSCOPE_CLUSTERS": ",".join(f"{name}={cluster.kubeconfig}" for name, cluster in clusters.items()),
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

    def ensure(self) -> list[str]:
        """What beat asks for every ten seconds; answers the clusters for which a session was enqueued."""
        child = self._start("-c", ENSURE, name="ensure")
        assert child.wait(20) == 0, self.processes.log_of(child)
        return re.findall(r"'(\w+)'", self.processes.log_of(child).splitlines()[-1])

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


def epochs() -> dict[str, int]:
    return dict(models.Lease.objects.values_list("cluster__name", "epoch"))


def test_starts_do_not_pile_up_while_no_worker_runs(start_cluster: StartCluster, processes: Any, valkey: str) -> None:
    workers = Workers(processes, valkey, {"a": start_cluster(), "b": start_cluster()})
    assert workers.ensure() == ["a", "b"]
    assert workers.ensure() == []
    assert workers.waiting() == 2
    workers.redis.delete("restartscope:starting:a", "restartscope:starting:b")  # as if their 15 s had passed
    assert workers.ensure() == []
    assert workers.waiting() == 2
    worker = workers.worker("late")
    processes.wait_for(lambda: workers.watched_by(worker, "a", "b"), worker)
    assert workers.waiting() == 0
    assert workers.redis.keys("restartscope:starting:*") == []
    assert workers.ensure() == []
    assert epochs() == {"a": 1, "b": 1}


def test_beat_starts_one_session_for_each_cluster(start_cluster: StartCluster, processes: Any, valkey: str) -> None:
    clusters = {"a": start_cluster(), "b": start_cluster()}
    workers = Workers(processes, valkey, clusters)
    worker, beat = workers.worker("all", "watch,default"), workers.beat()
    processes.wait_for(lambda: workers.watched_by(worker, "a", "b"), worker, beat)
    clusters["a"].run("tftest")
    wait_until(lambda: counts("a").get(("tftest", "worker", 0), (0, 0))[0] > 2)
    assert epochs() == {"a": 1, "b": 1}
    assert missed("a") == []
    log = processes.log_of(worker)
    assert log.count("watching with") == 2
    assert "Traceback" not in log


def test_a_worker_that_is_asked_to_end_is_followed_by_another(
    cluster: LiveCluster, processes: Any, valkey: str
) -> None:
    """No beat runs: the successor is called by the worker that ends. Another watcher sees all, without interruption."""
    workers = Workers(processes, valkey, {"a": cluster})
    first = workers.worker("first")
    assert workers.ensure() == ["a"]
    processes.wait_for(lambda: workers.watched_by(first, "a"), first)
    for name in ("one", "two"):
        cluster.run(name)
    second = workers.worker("second")
    processes.wait_for(lambda: "second@test ready" in processes.log_of(second), second)
    began = time.monotonic()
    first.send_signal(signal.SIGTERM)
    assert first.wait(10) == 0
    assert time.monotonic() - began < 5
    processes.wait_for(lambda: workers.watched_by(second, "a"), second, seconds=10)
    before = cluster.pods()
    wait_until(lambda: cluster.pods() > before + 2)
    truth = cluster.freeze()
    wait_until(lambda: counts("a") == truth, what=lambda: (counts("a"), truth))
    assert missed("a") == []
    assert epochs() == {"a": 2}
    delays = [
        observed_at - cluster.written[version]
        for version, observed_at in models.Observation.objects.filter(object__resource="pods").values_list(
            "resource_version", "observed_at"
        )
    ]
    assert max(delays) < 3
    second.send_signal(signal.SIGTERM)  # nobody is left: its successor waits for whoever comes
    assert second.wait(10) == 0
    assert workers.waiting() == 1


def test_a_session_that_ends_by_time_is_followed_in_the_same_worker(
    cluster: LiveCluster, processes: Any, valkey: str
) -> None:
    workers = Workers(processes, valkey, {"a": cluster})
    worker = workers.short_worker()
    assert workers.ensure() == ["a"]
    processes.wait_for(lambda: workers.watched_by(worker, "a"), worker)
    cluster.run("tftest")
    processes.wait_for(lambda: epochs()["a"] >= 4, worker)
    truth = cluster.freeze()
    wait_until(lambda: counts("a") == truth, what=lambda: (counts("a"), truth))
    assert missed("a") == []
    assert "another watcher has taken over" not in processes.log_of(worker)


def test_a_worker_that_is_killed_is_followed_when_its_lease_is_over(
    cluster: LiveCluster, processes: Any, valkey: str
) -> None:
    workers = Workers(processes, valkey, {"a": cluster})
    first = workers.worker("first")
    workers.ensure()
    processes.wait_for(lambda: workers.watched_by(first, "a"), first)
    cluster.run("tftest")
    wait_until(lambda: cluster.pods() > 5)
    first.kill()
    first.wait()
    assert workers.ensure() == []  # its lease goes on for half a minute
    models.Lease.objects.update(expires_at=time.time())
    assert workers.ensure() == ["a"]
    second = workers.worker("second")
    processes.wait_for(lambda: workers.watched_by(second, "a"), second)
    truth = cluster.freeze()
    wait_until(lambda: counts("a") == truth, what=lambda: (counts("a"), truth))
    assert missed("a") == []


def test_a_cluster_whose_settings_cannot_be_read_is_named_and_the_others_are_watched(
    cluster: LiveCluster, processes: Any, valkey: str
) -> None:
    workers = Workers(processes, valkey, {"a": cluster})
    workers.env["RESTARTSCOPE_CLUSTERS"] += ",lost=/no/such/kubeconfig"
    worker = workers.worker("one")
    assert workers.ensure() == ["a", "lost"]
    processes.wait_for(lambda: workers.watched_by(worker, "a"), worker)
    processes.wait_for(lambda: "/no/such/kubeconfig: there is no such file" in processes.log_of(worker), worker)
    assert "Traceback" not in processes.log_of(worker)


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
