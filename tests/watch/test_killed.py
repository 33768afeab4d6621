"""A watcher that is killed in the middle of its work, and the next one."""

import subprocess
import time
from typing import Any

import pytest

from jobs import models
from tests.watch.live import STREAMS, Follower, LiveCluster, wait_until
from tests.watch.reading import counts, database_url, missed, told

pytestmark = pytest.mark.django_db(transaction=True)

KILLS = 2


def start(processes: Any, cluster: LiveCluster) -> "subprocess.Popen[bytes]":
    env = {"DATABASE_URL": database_url(), "RESTARTSCOPE_CLUSTERS": f"killed={cluster.kubeconfig}"}
    env |= {"RESTARTSCOPE_DATA_DIR": str(processes.folder)}
    child: subprocess.Popen[bytes] = processes.python("manage.py", "watch", env=env, name="watch")
    return child


def changes() -> int:
    return models.Observation.objects.filter(object__cluster__name="killed").count()


def grows(child: "subprocess.Popen[bytes]", processes: Any) -> None:
    """Waits until a watcher has stored enough to be in the middle of its work."""
    before = changes()
    processes.wait_for(lambda: changes() > before + 30, child, seconds=20)


def test_nothing_is_lost_with_a_killed_watcher(cluster: LiveCluster, processes: Any) -> None:
    """Another watcher, under a name of its own, sees all of it without interruption."""
    with Follower(cluster.source("steady")):
        for kill in range(KILLS):
            child = start(processes, cluster)
            processes.wait_for(lambda child=child: "watching with" in processes.log_of(child), child)
            if kill == 0:
                processes.wait_for(lambda: len(cluster.watched()) == 2 * STREAMS, child)
                for name in ("first", "second", "third"):
                    cluster.run(name)
            grows(child, processes)
            child.kill()
            child.wait()
            # As if the lease's time had passed: nobody gave it back.
            assert models.Lease.objects.get(cluster__name="killed").expires_at > time.time()
            models.Lease.objects.filter(cluster__name="killed").update(expires_at=0)
        with Follower(cluster.source("killed")):
            truth = cluster.freeze()
            for name in ("steady", "killed"):
                wait_until(lambda name=name: counts(name) == truth, what=lambda name=name: (counts(name), truth))
            wait_until(lambda: told("killed") == told("steady"))
    assert missed("killed") == []
    assert models.Lease.objects.get(cluster__name="killed").epoch == KILLS + 1
