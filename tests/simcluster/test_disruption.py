"""PodDisruptionBudgets: their status, what they refuse and in which words; and kubectl drain beside one."""

from typing import Any

import pytest

from simcluster.resources import PODS, PYTORCHJOBS, TFJOBS
from tests.simcluster.simserver import SimServer, pod, tfjob

Obj = dict[str, Any]
BUDGETS = "/apis/policy/v1/namespaces/wire/poddisruptionbudgets"
PODS_PATH = "/api/v1/namespaces/wire/pods"
REFUSED = "Cannot evict pod as it would violate the pod's disruption budget."
OF_THE_JOB = {"matchLabels": {"job": "a"}}


def ready(server: SimServer, name: str, owner: Obj | None = None, is_ready: bool = True, **labels: str) -> None:
    def write() -> None:
        owners = {"ownerReferences": [owner]} if owner else {}
        created = server.store.create(PODS, pod(name, node="las1", labels=labels or {"job": "a"}, **owners))
        condition = {"type": "Ready", "status": "True" if is_ready else "False"}
        server.store.update(PODS, {**created, "status": {"phase": "Running", "conditions": [condition]}}, "status")

    server.call(write)


def budget(server: SimServer, name: str = "b", **spec: Any) -> None:
    body = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": name}, "spec": spec}
    answer = server.request("POST", BUDGETS, body)
    assert answer.status == 201, answer.body


def status(server: SimServer, name: str = "b") -> Obj:
    return dict(server.get(f"{BUDGETS}/{name}").json()["status"])


def counted(server: SimServer) -> dict[str, int]:
    names = ("currentHealthy", "desiredHealthy", "disruptionsAllowed", "expectedPods")
    return {name: status(server)[name] for name in names}


def evict(server: SimServer, name: str) -> Any:
    return server.request("POST", f"{PODS_PATH}/{name}/eviction", {"metadata": {"name": name}})


def test_so_many_may_go_and_no_more(server: SimServer) -> None:
    for name in ("p0", "p1", "p2"):
        ready(server, name)
    ready(server, "other", job="b")
    budget(server, minAvailable=2, selector=OF_THE_JOB)
    assert counted(server) == {"currentHealthy": 3, "desiredHealthy": 2, "disruptionsAllowed": 1, "expectedPods": 3}
    assert evict(server, "p0").status == 201
    refused = evict(server, "p1")
    assert (refused.status, refused.json()["message"], refused.json()["details"]) == (
        429,
        REFUSED,
        {
            "causes": [
                {
                    "reason": "DisruptionBudget",
                    "message": "The disruption budget b needs 2 healthy pods and has 2 currently",
                }
            ]
        },
    )
    assert "deletionTimestamp" not in server.get(f"{PODS_PATH}/p1").json()["metadata"]
    assert evict(server, "other").status == 201
    (condition,) = status(server)["conditions"]
    assert (condition["type"], condition["status"], condition["reason"]) == (
        "DisruptionAllowed",
        "False",
        "InsufficientPods",
    )
    server.request("DELETE", f"{BUDGETS}/b")
    assert evict(server, "p1").status == 201


def test_pods_that_are_not_healthy(server: SimServer) -> None:
    ready(server, "well")
    ready(server, "ill", is_ready=False)
    budget(server, minAvailable=1, selector=OF_THE_JOB)
    assert evict(server, "well").status == 429
    assert evict(server, "ill").status == 201
    server.request("PATCH", f"{BUDGETS}/b", {"spec": {"minAvailable": 5}}, "application/merge-patch+json")
    ready(server, "ill2", is_ready=False)
    assert evict(server, "ill2").status == 429
    always = {"spec": {"unhealthyPodEvictionPolicy": "AlwaysAllow"}}
    server.request("PATCH", f"{BUDGETS}/b", always, "application/merge-patch+json")
    assert evict(server, "ill2").status == 201


@pytest.mark.parametrize("spec", [{"maxUnavailable": 1}, {"minAvailable": "67%"}, {"maxUnavailable": "25%"}])
def test_shares_are_of_what_the_controller_wants(server: SimServer, spec: Obj) -> None:
    """A PyTorchJob of three workers, of which two are there."""
    worker = tfjob()["spec"]["tfReplicaSpecs"]
    body = {"metadata": {"name": "pt", "namespace": "wire"}, "spec": {"pytorchReplicaSpecs": worker}}
    job = server.call(server.store.create, PYTORCHJOBS, body)
    owner = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "name": "pt", "uid": job["metadata"]["uid"]}
    for name in ("p0", "p1"):
        ready(server, name, {**owner, "controller": True})
    budget(server, **spec, selector={})
    desired = 3 if spec == {"minAvailable": "67%"} else 2
    assert counted(server) == {
        "currentHealthy": 2,
        "desiredHealthy": desired,
        "disruptionsAllowed": 0,
        "expectedPods": 3,
    }


def test_a_kind_that_cannot_be_scaled_has_no_share(server: SimServer) -> None:
    job = server.call(server.store.create, TFJOBS, tfjob())
    owner = {"apiVersion": "kubeflow.org/v1", "kind": "TFJob", "name": "tftest", "uid": job["metadata"]["uid"]}
    ready(server, "p", {**owner, "controller": True})
    budget(server, maxUnavailable=1, selector=OF_THE_JOB)
    (condition,) = status(server)["conditions"]
    assert (condition["reason"], condition["message"]) == (
        "SyncFailed",
        "tfjobs.kubeflow.org does not implement the scale subresource",
    )
    refused = evict(server, "p")
    assert refused.json()["details"]["causes"][0]["message"] == (
        "The disruption budget b is still being processed by the server."
    )
    assert (refused.status, refused.headers["Retry-After"]) == (429, "10")


def test_several_budgets_for_one_pod(server: SimServer) -> None:
    ready(server, "p")
    for name in ("b", "c"):
        expression = {"key": "job", "operator": "In", "values": ["a"]}
        budget(server, name, minAvailable=0, selector={"matchExpressions": [expression]})
    refused = evict(server, "p")
    assert (refused.status, "more than one PodDisruptionBudget" in refused.json()["message"]) == (500, True)


@pytest.mark.parametrize(
    ("expression", "fits"),
    [
        ({"key": "job", "operator": "Exists"}, True),
        ({"key": "job", "operator": "DoesNotExist"}, False),
        ({"key": "job", "operator": "NotIn", "values": ["a"]}, False),
        ({"key": "job", "operator": "NotIn", "values": ["b"]}, True),
    ],
)
def test_selectors(server: SimServer, expression: Obj, fits: bool) -> None:
    ready(server, "p")
    budget(server, minAvailable=1, selector={"matchExpressions": [expression]})
    assert counted(server)["expectedPods"] == int(fits)
    assert evict(server, "p").status == (429 if fits else 201)
