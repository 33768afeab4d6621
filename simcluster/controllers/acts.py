"""What people and mishaps do to a cluster: the acts of scenarios, tests and demonstrations.

Each takes keyword parameters and raises ApiError for an object that is not there, ValueError for a parameter that
makes no sense.
"""

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from simcluster.clock import rfc3339
from simcluster.controllers.binding import evict as mark_preempted
from simcluster.disruption import check_eviction
from simcluster.errors import ApiError
from simcluster.metadata import with_metadata
from simcluster.resources import NODES, PODS, REGISTRY, TRAINING_JOBS, VOLCANO_JOBS, Resource
from simcluster.store import Store

if TYPE_CHECKING:
    from simcluster.cluster import Cluster

Obj = dict[str, Any]

_JOBS = {resource.kind: resource for resource in TRAINING_JOBS} | {"VolcanoJob": VOLCANO_JOBS, "Job": VOLCANO_JOBS}
EVICTED_MESSAGE = "The node was low on resource: memory. Threshold quantity: 100Mi, available: 60488Ki. "


class Acts:
    def __init__(self, cluster: "Cluster", store: Store) -> None:
        """`store`: as which the acts' writes are made."""
        self._cluster, self._store = cluster, store

    @property
    def names(self) -> list[str]:
        return sorted(name for name in vars(type(self)) if not name.startswith("_") and name not in ("names", "do"))

    def do(self, act: str, /, **params: Any) -> Any:
        """Does an act by its name. Raises ValueError for an act or parameters there are none of, ApiError."""
        if act not in self.names:
            raise ValueError(f"there is no act {act!r}; there are {', '.join(self.names)}")
        fn: Callable[..., Any] = getattr(self, act)
        try:
            inspect.signature(fn).bind(**params)
        except TypeError as error:
            raise ValueError(f"{act}: {error}") from None
        return fn(**params)

    def play(self, scenario: str) -> None:
        """Starts a scenario by its name; its acts follow in their time."""
        self._cluster.play(scenario)

    # Jobs

    def apply(self, manifest: Obj) -> Obj:
        return self._cluster.apply(manifest)

    def delete_job(self, kind: str, namespace: str, name: str) -> Obj:
        return self._store.delete(_job_resource(kind), namespace, name)

    def suspend(self, kind: str, namespace: str, name: str) -> Obj:
        return self._set_suspend(kind, namespace, name, True)

    def resume(self, kind: str, namespace: str, name: str) -> Obj:
        return self._set_suspend(kind, namespace, name, False)

    def _set_suspend(self, kind: str, namespace: str, name: str, suspend: bool) -> Obj:
        resource = _job_resource(kind)
        if resource is VOLCANO_JOBS:
            raise ValueError("a Volcano Job cannot be suspended by its spec")
        return self._store.patch_merge(resource, namespace, name, {"spec": {"runPolicy": {"suspend": suspend}}})

    def scale(self, kind: str, namespace: str, name: str, replica_type: str, replicas: int) -> Obj:
        """Sets the replicas of one type (of one task of a Volcano Job)."""
        resource = _job_resource(kind)
        job = self._store.get(resource, namespace, name)
        if not isinstance(replicas, int) or isinstance(replicas, bool) or replicas < 0:
            raise ValueError("replicas must be a whole number, 0 or more")
        spec = dict(job["spec"])
        if resource is VOLCANO_JOBS:
            tasks = [
                {**task, "replicas": replicas} if task.get("name") == replica_type else task for task in spec["tasks"]
            ]
            return self._store.update(resource, {**job, "spec": {**spec, "tasks": tasks}})
        field = next(key for key in spec if key.endswith("ReplicaSpecs"))
        if replica_type not in spec[field]:
            raise ValueError(f"{name} has no {replica_type}, it has {', '.join(spec[field])}")
        changed = {**spec[field], replica_type: {**spec[field][replica_type], "replicas": replicas}}
        return self._store.update(resource, {**job, "spec": {**spec, field: changed}})

    # Pods

    def delete_pod(self, namespace: str, name: str, grace_seconds: int | None = None) -> Obj:
        """As `kubectl delete pod`; by default with the pod's own grace period."""
        return self._store.delete(PODS, namespace, name, grace_seconds)

    def evict(self, namespace: str, name: str) -> Obj:
        """As the eviction API does: DisruptionTarget first, then the deletion, if no disruption budget forbids it."""
        pod = self._store.get(PODS, namespace, name)
        check_eviction(self._store, pod)
        told = {
            "type": "DisruptionTarget",
            "status": "True",
            "lastProbeTime": None,
            "lastTransitionTime": rfc3339(self._cluster.clock.now()),
            "reason": "EvictionByEvictionAPI",
            "message": "Eviction API: evicting",
        }
        status = pod.get("status") or {}
        others = [each for each in status.get("conditions") or [] if each["type"] != told["type"]]
        self._store.update(PODS, {**pod, "status": {**status, "conditions": [*others, told]}}, "status")
        return self._store.delete(PODS, namespace, name)

    def preempt(self, namespace: str, name: str) -> Obj:
        """As Volcano's scheduler does for a pod of higher priority."""
        pod = self._store.get(PODS, namespace, name)
        mark_preempted(self._store, pod, rfc3339(self._cluster.clock.now()))
        return self._store.delete(PODS, namespace, name)

    def fail_pod(self, namespace: str, name: str, reason: str = "Evicted", message: str = EVICTED_MESSAGE) -> None:
        """The kubelet ends the pod with a reason of its own: Evicted, Terminated (node shutdown) and so on."""
        pod = self._store.get(PODS, namespace, name)
        kubelet = self._cluster.kubelets.get(pod["spec"].get("nodeName") or "")
        if kubelet is None:
            raise ValueError(f"pod {name} runs on no node yet")
        kubelet.fail_pod(pod["metadata"]["uid"], reason, message, "TerminationByKubelet")

    def hold_pod(self, namespace: str, name: str, finalizer: str = "sim.restartscope.dev/hold") -> Obj:
        """Adds a finalizer: the pod stays, deleted or not, until it is released."""
        pod = self._store.get(PODS, namespace, name)
        finalizers = [*(pod["metadata"].get("finalizers") or []), finalizer]
        return self._store.update(PODS, with_metadata(PODS, pod, finalizers=finalizers))

    def release_pod(self, namespace: str, name: str) -> Obj:
        """Takes the pod's finalizers away."""
        pod = self._store.get(PODS, namespace, name)
        return self._store.update(PODS, with_metadata(PODS, pod, finalizers=None))

    # Nodes

    def lose_node(self, name: str) -> None:
        """The node's kubelet falls silent; its containers go on."""
        self._node(name)
        self._cluster.nodes.lose(name)

    def return_node(self, name: str) -> None:
        if name not in self._cluster.kubelets:
            raise ValueError(f"no kubelet of a node {name!r}")
        self._cluster.nodes.take_back(name)

    def delete_node(self, name: str) -> Obj:
        return self._store.delete(NODES, None, name)

    def cordon(self, name: str) -> Obj:
        return self._store.patch_merge(NODES, None, name, {"spec": {"unschedulable": True}})

    def uncordon(self, name: str) -> Obj:
        return self._store.patch_merge(NODES, None, name, {"spec": {"unschedulable": None}})

    def drain(self, name: str) -> list[str]:
        """Cordons the node and evicts its pods; the names of those."""
        self.cordon(name)
        pods = [pod for pod in self._store.list(PODS) if pod["spec"].get("nodeName") == name]
        alive = [pod for pod in pods if (pod.get("status") or {}).get("phase") in ("Pending", "Running")]
        for pod in alive:
            self.evict(pod["metadata"]["namespace"], pod["metadata"]["name"])
        return [pod["metadata"]["name"] for pod in alive]

    # Any object

    def delete(self, kind: str, name: str, namespace: str | None = None) -> Obj:
        """Deletes an object of any kind, as `kubectl delete` does."""
        for resource in REGISTRY:
            if resource.kind == kind and self._store.find(resource, namespace, name) is not None:
                return self._store.delete(resource, namespace, name)
        raise ApiError(404, "NotFound", f'{kind} "{name}" not found')

    def _node(self, name: str) -> None:
        if name not in self._cluster.kubelets:
            known = ", ".join(self._cluster.kubelets)
            raise ValueError(f"no kubelet of a node {name!r}; there are {known}")


def _job_resource(kind: str) -> Resource:
    if kind not in _JOBS:
        raise ValueError(f"kind must be one of {', '.join(_JOBS)}")
    return _JOBS[kind]
