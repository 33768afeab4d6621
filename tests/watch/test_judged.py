"""``manage.py watch`` beside a simulated cluster that plays scenarios: its report against the cluster's own truth.

The cluster runs faster than the watcher's clock, so the moments of a span are not compared, only how many there were.
"""

import json
import math
import signal
from pathlib import Path
from typing import Any

import pytest

from simcluster.scenarios import SCENARIOS
from tests.support.truth import differences
from tests.watch.conftest import StartCluster
from tests.watch.live import wait_until
from tests.watch.reading import database_url, missed, report

pytestmark = pytest.mark.django_db(transaction=True)

SPEED = 20.0
# Together: restarts in place and anew, by code, by OOM, by a deleted pod; a job suspended, one of a name used before.
TOGETHER = [
    ("seed-exitcode-138", "tf-onfailure-one-worker", "mixed-codes", "name-reuse", "delete-pod-exitcode"),
    ("oom-killed", "suspend-resume", "xgboost-exitcode", "sidecar-restarts", "bad-command", "volcano-job"),
    ("evict-exitcode", "completed-pod-deleted", "tf-ps-fails", "active-deadline", "backoff-zero", "exit-sweep-0"),
]


@pytest.mark.parametrize("scenarios", TOGETHER, ids=lambda names: names[0])
def test_the_report_is_the_truth(
    start_cluster: StartCluster, processes: Any, tmp_path: Path, scenarios: tuple[str, ...]
) -> None:
    cluster = start_cluster(speed=SPEED)
    env = {
        "DATABASE_URL": database_url(),
        "RESTARTSCOPE_CLUSTERS": f"demo={cluster.kubeconfig}",
        "RESTARTSCOPE_DATA_DIR": str(processes.folder),
    }
    watcher = processes.python("manage.py", "watch", "--quiet", env=env)
    processes.wait_for(cluster.is_watched, watcher)
    plays = [cluster.call(cluster.cluster.play, name) for name in scenarios]
    lasts = max(SCENARIOS[name].seconds for name in scenarios)
    end = cluster.clock.now() + lasts
    wait_until(lambda: cluster.clock.now() >= end and all(play.is_over for play in plays), seconds=60)
    cluster.freeze()
    truth = json.loads(cluster.get("/sim/truth").body)
    assert len(truth["jobs"]) >= len(scenarios)
    assert sum(job["true_restarts"] for job in truth["jobs"]) >= 5
    wait_until(
        lambda: differences(report(), truth, math.inf) == [], what=lambda: differences(report(), truth, math.inf)
    )
    assert missed() == []
    watcher.send_signal(signal.SIGINT)
    assert watcher.wait(30) == 0
