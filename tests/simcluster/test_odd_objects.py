"""Objects that are valid and make little sense: no controller may stop because of them. Virtual time."""

import itertools
from typing import Any

import pytest

from simcluster import manifests
from simcluster.cluster import Cluster
from simcluster.controllers.podgroup import COSCHEDULING, VOLCANO
from simcluster.errors import ApiError
from simcluster.resources import NODES, PODDISRUPTIONBUDGETS, PODS, REGISTRY, Resource
from tests.simcluster.simulation import Simulation, counted

Obj = dict[str, Any]
# Who seems to own it, and what it seems to belong to.
CLAIMS: list[Obj] = [
    {},
    {
        "labels": {
            "training.kubeflow.org/job-name": "tftest",
            "training.kubeflow.org/operator-name": "tfjob-controller",
            "training.kubeflow.org/replica-type": "worker",
            "training.kubeflow.org/replica-index": "x",
            "volcano.sh/job-name": "tftest",
        },
        "annotations": {"scheduling.k8s.io/group-name": "nobody", "sim.restartscope.dev/plan": "{"},
        "ownerReferences": [{"apiVersion": "kubeflow.org/v1", "kind": "TFJob", "name": "tftest", "uid": "no-such"}],
    },
    {"ownerReferences": [{"apiVersion": "x/v1", "kind": "X", "name": "x", "uid": "x", "controller": True}]},
]
CONTAINERS: Obj = {"containers": [{"name": "c", "image": "busybox", "resources": {"limits": {"cpu": "1"}}}]}
BODIES: list[Obj] = [{}, {"spec": None}, {"spec": {}}, {"spec": CONTAINERS}]


def created(cluster: Cluster, resource: Resource, body: Obj) -> bool:
    try:
        cluster.store.create(resource, body)
    except ApiError:
        return False
    return True


def made(resource: Resource) -> list[Obj]:
    """Objects with next to nothing in them, one of them of the name of the job that is to run."""
    bodies = []
    for number, (claim, body) in enumerate(itertools.product(CLAIMS, BODIES)):
        if resource is PODS and body.get("spec") != CONTAINERS:
            continue  # over HTTP a pod without containers is refused
        name = "tftest" if number == 0 and resource.kind != "TFJob" else f"odd-{number}"
        bodies.append({**body, "metadata": {"name": name, **claim}})
    return bodies


@pytest.mark.parametrize("gang", [VOLCANO, COSCHEDULING, ""])
@pytest.mark.parametrize("resource", REGISTRY, ids=lambda resource: resource.qualified)
def test_a_job_runs_and_restarts_beside_odd_objects(resource: Resource, gang: str) -> None:
    simulation = Simulation(gang_scheduler=gang)
    simulation.store.serve()
    stored = sum(created(simulation.cluster, resource, body) for body in made(resource))
    assert stored > 0
    simulation.run(5)
    assert created(simulation.cluster, NODES, {"metadata": {"name": "bare"}})
    assert created(simulation.cluster, PODDISRUPTIONBUDGETS, {"metadata": {"name": "bare"}})
    simulation.cluster.apply(manifests.seed_experiment("default", "tftest", failing_after=4, others_run=500))
    simulation.run(90)
    lives = [line for line in simulation.lines if line.resource != "pods" or "tftest-" in line.name]
    assert counted(lives)["worker", 0]["recreations"] >= 2
