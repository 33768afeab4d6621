"""The kubelet of one node: runs what is bound to it, one worker per pod."""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from simcluster.clock import Clock, rfc3339
from simcluster.controllers import delays
from simcluster.controllers.checks import pod_problem
from simcluster.controllers.follower import Follower
from simcluster.controllers.logs import Logs
from simcluster.controllers.plan import Programs
from simcluster.controllers.pod_worker import PodWorker
from simcluster.controllers.recorder import EventRecorder
from simcluster.resources import NODES, PODS, Resource
from simcluster.store import Store

Obj = dict[str, Any]


@dataclass(frozen=True)
class NodeSpec:
    """A node as it is to be registered; quantities as the API prints them."""

    name: str = "las1"
    address: str = "192.0.2.2"
    cpu: str = "2"
    memory: str = "24684092Ki"
    allocatable_memory: str = "24581692Ki"
    pods: str = "200"
    storage: str = ""  # ephemeral-storage; the recorded nodes report none


class Kubelet:
    """Registers its node and follows the pods bound to it."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        rng: random.Random,
        *,
        node: NodeSpec,
        programs: Programs,
        logs: Logs,
        cluster_dns: bool = False,
        subnet: int = 0,
    ) -> None:
        """`cluster_dns` False: warns about it at every pod, as the recorded kubelet did. `subnet`: 10.244.<it>.0,
        from 256 on 10.245 and so on."""
        self.store, self.clock, self.rng, self.programs, self.logs = store, clock, rng, programs, logs
        self.node = node
        self.cluster_dns = cluster_dns
        self.recorder = EventRecorder(store, clock, rng, "kubelet", host=node.name)
        self.is_silent = False
        self._missed: list[Callable[[], None]] = []
        self._free_at = 0.0
        self._subnet = subnet
        self._addresses = 5
        self._workers: dict[str, PodWorker] = {}
        self._refused: set[str] = set()

    def start(self) -> None:
        self.store.create(NODES, node_object(self.node, rfc3339(self.clock.now())))
        for pod in self.store.list(PODS):
            if (pod.get("spec") or {}).get("nodeName") == self.node.name:
                self.note("ADDED", pod)

    def stop(self) -> None:
        for worker in self._workers.values():
            worker.stop()
        self._workers.clear()

    def fall_silent(self) -> None:
        """Says and does nothing from now on; the containers go on by themselves."""
        self.is_silent = True

    def return_(self) -> None:
        """Is back: looks at every pod of its node again, one shortly after the other."""
        if not self.is_silent:
            return
        self.is_silent = False
        for uid in list(self._workers):
            self.clock.call_later(delays.NODE_SYNC.draw(self.rng), self._look_again, uid)
        missed, self._missed = self._missed, []
        for fn in missed:
            self.clock.call_later(delays.NODE_SYNC.high + delays.EXIT_NOTICED.draw(self.rng), fn)

    def when_back(self, fn: Callable[[], None]) -> None:
        """Calls `fn` once the kubelet is back."""
        self._missed.append(fn)

    def _look_again(self, uid: str) -> None:
        worker = self._workers.get(uid)
        if worker is None:
            return
        pod = worker.pod()
        if pod is None:
            worker.stop()
            del self._workers[uid]
        elif "deletionTimestamp" in pod["metadata"]:
            worker.terminate(pod["metadata"].get("deletionGracePeriodSeconds", 0))
        else:
            worker.resync()

    def fail_pod(self, uid: str, reason: str, message: str, disruption: str = "") -> bool:
        """Ends a pod with a reason of the kubelet's own; False if it does not run here."""
        worker = self._workers.get(uid)
        if worker is None:
            return False
        worker.fail(reason, message, disruption)
        return True

    def busy_until(self, delay: float) -> float:
        """Seconds until a start that takes `delay` is done: the node starts one thing after the other."""
        now = self.clock.now()
        self._free_at = max(self._free_at, now) + delays.NODE_WORK_SECONDS
        return max(delay, self._free_at - now)

    def next_address(self) -> str:
        """An address for a pod; they are handed out in turn and come round again after 64,000."""
        self._addresses += 1
        high, low = divmod(self._addresses % 64_000, 250)
        above, third = divmod(self._subnet + high, 256)
        return f"10.{244 + above % 12}.{third}.{low + 1}"

    def note(self, change: str, pod: Obj) -> None:
        """Something has happened to a pod of this node."""
        uid = pod["metadata"]["uid"]
        worker = self._workers.get(uid)
        if self.is_silent:
            self._missed.append(lambda: self._catch_up(pod["metadata"]))
            return
        if change == "DELETED":
            self._refused.discard(uid)
            if worker is not None:
                worker.stop()
                del self._workers[uid]
            return
        if worker is None:
            problem = pod_problem(pod.get("spec"))
            if problem:
                self._refuse(pod, problem)
                return
            worker = self._workers[uid] = PodWorker(self, pod)
            worker.start()
        if "deletionTimestamp" in pod["metadata"]:
            worker.terminate(pod["metadata"].get("deletionGracePeriodSeconds", 0))

    def _catch_up(self, metadata: Obj) -> None:
        """What has become of a pod while the kubelet was away."""
        uid = metadata["uid"]
        pod = self.store.find(PODS, metadata["namespace"], metadata["name"])
        if pod is not None and pod["metadata"]["uid"] == uid:
            self.note("MODIFIED", pod)
        elif uid in self._workers:
            self._workers.pop(uid).stop()

    def _refuse(self, pod: Obj, problem: str) -> None:
        """A pod that cannot be read never runs; one that is to be deleted goes at once."""
        uid, metadata = pod["metadata"]["uid"], pod["metadata"]
        if uid not in self._refused:
            self._refused.add(uid)
            self.recorder.event(pod, "Warning", "InvalidPod", problem)
        if "deletionTimestamp" in metadata and metadata.get("deletionGracePeriodSeconds"):
            self.store.delete(PODS, metadata["namespace"], metadata["name"], grace_seconds=0, uid=uid)


class PodRouter(Follower):
    """Tells each kubelet of the pods of its node, and of no other."""

    def __init__(self, store: Store, kubelets: Mapping[str, Kubelet]) -> None:
        super().__init__(store)
        self._kubelets = kubelets

    def _on_change(self, change: str, resource: Resource, pod: Obj, _old: Obj | None) -> None:
        if resource is PODS:
            kubelet = self._kubelets.get((pod.get("spec") or {}).get("nodeName") or "")
            if kubelet is not None:
                kubelet.note(change, pod)


NODE_INFO = {
    "machineID": "",
    "systemUUID": "",
    "bootID": "",
    "kernelVersion": "",
    "osImage": "Debian GNU/Linux 12 (bookworm)",
    "containerRuntimeVersion": "containerd://1.6.20",
    "kubeletVersion": "v1.36.2",
    "kubeProxyVersion": "",
    "operatingSystem": "linux",
    "architecture": "amd64",
}


def node_object(node: NodeSpec, now: str) -> Obj:
    """A Node as the recorded kubelet registered it."""
    pages = {"hugepages-1Gi": "0", "hugepages-2Mi": "0"}
    if node.storage:
        pages = {"ephemeral-storage": node.storage, **pages}
    labels = {
        "beta.kubernetes.io/arch": "amd64",
        "beta.kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/hostname": node.name,
        "kubernetes.io/os": "linux",
    }
    return {
        "metadata": {"name": node.name, "labels": labels, "annotations": {"node.alpha.kubernetes.io/ttl": "0"}},
        "spec": {},
        "status": {
            "capacity": {"cpu": node.cpu, **pages, "memory": node.memory, "pods": node.pods},
            "allocatable": {"cpu": node.cpu, **pages, "memory": node.allocatable_memory, "pods": node.pods},
            "conditions": _calm_conditions(now),
            "addresses": [
                {"type": "InternalIP", "address": node.address},
                {"type": "Hostname", "address": node.name},
            ],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
            "nodeInfo": {**NODE_INFO},
        },
    }


def _calm_conditions(now: str) -> list[Obj]:
    """Ready, and short of nothing."""
    calm = {
        "MemoryPressure": ("KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
        "DiskPressure": ("KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
        "PIDPressure": ("KubeletHasSufficientPID", "kubelet has sufficient PID available"),
        "Ready": ("KubeletReady", "kubelet is posting ready status"),
    }
    return [
        {
            "type": kind,
            "status": "True" if kind == "Ready" else "False",
            "lastHeartbeatTime": now,
            "lastTransitionTime": now,
            "reason": reason,
            "message": message,
        }
        for kind, (reason, message) in calm.items()
    ]
