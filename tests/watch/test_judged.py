"""``manage.py watch`` beside a simulated cluster that plays scenarios: its report against the cluster's own truth.

The cluster runs faster than the watcher's clock, so the moments of a span are not compared, only how many there were.
"""

import json
import math
import signal
from collections.abc import Iterator
from typing import Any

import pytest

from simcluster import manifests
from simcluster.scenarios import SCENARIOS
from tests.support.truth import differences
from tests.watch.conftest import StartCluster
from tests.watch.live import LiveCluster, wait_until
from tests.watch.reading import database_url, missed, report

pytestmark = pytest.mark.django_db(transaction=True)

SPEED = 20.0
# Together: restarts in place and anew, by code, by OOM, by a deleted pod; a job suspended, one of a name used before.
TOGETHER = [
    ("seed-exitcode-138", "tf-onfailure-one-worker", "mixed-codes", "name-reuse", "delete-pod-exitcode"),
    ("oom-killed", "suspend-resume", "xgboost-exitcode", "sidecar-restarts", "bad-command", "volcano-job"),
    ("evict-exitcode", "completed-pod-deleted", "tf-ps-fails", "active-deadline", "backoff-zero", "exit-sweep-0"),
]


CONTAINERS = {
    "TFJob": "tensorflow",
    "PyTorchJob": "pytorch",
    "MPIJob": "mpi",
    "XGBoostJob": "xgboost",
    "PaddleJob": "paddle",
    "JAXJob": "jax",
}


@pytest.fixture
def watched(start_cluster: StartCluster, processes: Any) -> Iterator[LiveCluster]:
    """A cluster beside which ``manage.py watch`` runs; at the end the watcher must end as a user ends it."""
    cluster = start_cluster(speed=SPEED)
    env = {
        "DATABASE_URL": database_url(),
        "RESTARTSCOPE_CLUSTERS": f"demo={cluster.kubeconfig}",
        "RESTARTSCOPE_DATA_DIR": str(processes.folder),
    }
    watcher = processes.python("manage.py", "watch", "--quiet", env=env)
    processes.wait_for(cluster.is_watched, watcher)
    yield cluster
    watcher.send_signal(signal.SIGINT)
    assert watcher.wait(30) == 0


def wait_for_the_truth(cluster: LiveCluster) -> dict[str, Any]:
    """The cluster stands still, and the report comes to say what it says of itself; answers that."""
    cluster.freeze()
    truth: dict[str, Any] = json.loads(cluster.get("/sim/truth").body)
    wait_until(
        lambda: differences(report(), truth, math.inf) == [], what=lambda: differences(report(), truth, math.inf)
    )
    assert missed() == []
    return truth


def pass_time(cluster: LiveCluster, seconds: float) -> None:
    """Waits until so much of the cluster's own time has passed."""
    end = cluster.clock.now() + seconds
    wait_until(lambda: cluster.clock.now() >= end, seconds=60)


@pytest.mark.parametrize("scenarios", TOGETHER, ids=lambda names: names[0])
def test_the_report_is_the_truth(watched: LiveCluster, scenarios: tuple[str, ...]) -> None:
    plays = [watched.call(watched.cluster.play, name) for name in scenarios]
    pass_time(watched, max(SCENARIOS[name].seconds for name in scenarios))
    wait_until(lambda: all(play.is_over for play in plays))
    truth = wait_for_the_truth(watched)
    assert len(truth["jobs"]) >= len(scenarios)
    assert sum(job["true_restarts"] for job in truth["jobs"]) >= 5


def failing(kind: str, policy: str, code: int) -> dict[str, Any]:
    """Three workers, of which the first exits over and over."""
    container, name = CONTAINERS[kind], f"{kind}-{policy}-{code}".lower()
    plan = {"worker-0": {container: {"after": 12, "code": code}}, container: {"after": None}}
    workers = manifests.replica(container, ["train"], 3, policy, cpu="10m", plan=plan)
    return manifests.training_job(kind, name, "kinds", {"Worker": workers})


@pytest.mark.parametrize(("policy", "code"), [("ExitCode", 137), ("OnFailure", 1), ("ExitCode", 1)])
def test_every_kind_is_counted_as_it_happened(watched: LiveCluster, policy: str, code: int) -> None:
    """Kinds that no recording shows, a pod that somebody deletes, a job that is suspended and resumed."""
    for kind in CONTAINERS:
        watched.call(watched.cluster.apply, failing(kind, policy, code))
    pass_time(watched, 30)
    suffix = f"{policy}-{code}".lower()
    for kind in ("JAXJob", "PaddleJob"):
        name = f"{kind}-{suffix}".lower()
        watched.call(watched.cluster.act, "delete_pod", namespace="kinds", name=f"{name}-worker-2")
    jax = {"kind": "PyTorchJob", "namespace": "kinds", "name": f"pytorchjob-{suffix}"}
    watched.call(watched.cluster.act, "suspend", **jax)
    pass_time(watched, 20)
    watched.call(watched.cluster.act, "resume", **jax)
    pass_time(watched, 60)
    truth = wait_for_the_truth(watched)
    restarts = {job["kind"]: job["true_restarts"] for job in truth["jobs"]}
    assert set(restarts) == set(CONTAINERS)
    if code == 137:
        assert all(restarts[kind] >= 1 for kind in CONTAINERS if kind != "MPIJob")


def told(**changes: Any) -> dict[str, Any]:
    """One replica of one job, as a report and as a truth tell it: their names agree where they are compared."""
    counts = {"incarnations": 2, "recreations": 1, "in_place_restarts": 0, "true_restarts": 1}
    counts |= {"kubectl_restarts": 0, "hidden_restarts": 1}
    code = changes.pop("exit_code", 138)
    spans = changes.pop("spans", [("2026-11-29T12:00:00Z", "2026-11-29T12:00:01Z")])
    pod = {"uid": "p", "exit_code": code, "exits": [{"exit_code": code, "reason": "Error"}]}
    replica = {"type": "worker", "index": 0, **counts, "pods": [pod], **changes}
    return {
        "uid": "j",
        "name": "job",
        "replicas": [replica],
        "restarting_condition": [{"start": start, "end": end} for start, end in spans],
        "restarting_condition_spans": spans,
    }


@pytest.mark.parametrize(
    "changes",
    [
        {"true_restarts": 2},
        {"in_place_restarts": 1},
        {"incarnations": 1},
        {"kubectl_restarts": 1},
        {"exit_code": 137},
        {"spans": []},
        {"spans": [("2026-11-29T12:00:00Z", None)]},
    ],
)
def test_a_report_that_is_wrong_in_one_value_is_told_apart(changes: dict[str, Any]) -> None:
    truth = {"jobs": [told()]}
    assert differences([told()], truth, math.inf) == []
    assert len(differences([told(**changes)], truth, math.inf)) == 1
