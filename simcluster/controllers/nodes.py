"""What happens to nodes whose kubelet falls silent: Unknown, taints, evictions, and orphaned pods.

The node controller marks a silent node and its pods some 40 s after the last sign of life. The taint eviction
controller deletes pods that do not tolerate the taint, or no longer. The pods' garbage collector deletes those whose
node is gone for good.
"""

import random
from collections.abc import Callable
from typing import Any

from simcluster.clock import Clock, Timer, parse_rfc3339, rfc3339
from simcluster.controllers import delays
from simcluster.controllers.capacity import toleration_of
from simcluster.controllers.follower import Follower
from simcluster.controllers.kubelet import Kubelet, node_object
from simcluster.controllers.recorder import EventRecorder
from simcluster.errors import ApiError
from simcluster.resources import NODES, PODS, Resource
from simcluster.store import Store

Obj = dict[str, Any]

UNREACHABLE = "node.kubernetes.io/unreachable"
NOT_READY = "node.kubernetes.io/not-ready"
_ENDED = ("Failed", "Succeeded")
_HEARTBEAT_CONDITIONS = ("MemoryPressure", "DiskPressure", "PIDPressure", "Ready")


class NodeController:
    """Loses nodes and takes them back. Names a node by its kubelet's."""

    def __init__(self, store: Store, clock: Clock, rng: random.Random, kubelets: dict[str, Kubelet]) -> None:
        self._store, self._clock, self._rng, self._kubelets = store, clock, rng, kubelets
        self._recorder = EventRecorder(store, clock, rng, "node-controller")
        self._timers: dict[str, Timer] = {}

    def start(self) -> None:
        """Acts when it is told to."""

    def stop(self) -> None:
        for timer in self._timers.values():
            timer.cancel()

    def lose(self, name: str) -> None:
        """The kubelet falls silent now. Raises KeyError for a node that no kubelet runs."""
        self._kubelets[name].fall_silent()
        self._at(name, delays.NODE_MONITOR_GRACE.draw(self._rng), self._mark_unknown)

    def take_back(self, name: str) -> None:
        """The kubelet is back: registers its node anew if that was deleted, is ready a moment later.
        Raises KeyError."""
        kubelet = self._kubelets[name]
        if not kubelet.is_silent:
            return
        now = rfc3339(self._clock.now())
        if self._store.find(NODES, None, name) is None:
            fresh = node_object(kubelet.node, now)
            status = {**fresh["status"], "conditions": [_unready(each) for each in fresh["status"]["conditions"]]}
            taints = [{"key": NOT_READY, "effect": "NoSchedule"}]
            self._store.create(NODES, {**fresh, "spec": {"taints": taints}, "status": status})
        self._at(name, delays.NODE_READY.draw(self._rng), self._mark_ready)

    # The node's conditions and taints

    def _mark_unknown(self, name: str) -> None:
        node, now = self._store.find(NODES, None, name), rfc3339(self._clock.now())
        if node is None:
            return
        told = {"reason": "NodeStatusUnknown", "message": "Kubelet stopped posting node status."}
        conditions = [
            {**each, "status": "Unknown", "lastTransitionTime": now, **told}
            if each["type"] in _HEARTBEAT_CONDITIONS
            else each
            for each in node["status"]["conditions"]
        ]
        self._store.update(NODES, {**node, "status": {**node["status"], "conditions": conditions}}, "status")
        self._at(name, delays.TAINT_NO_SCHEDULE.draw(self._rng), self._taint_no_schedule)

    def _taint_no_schedule(self, name: str) -> None:
        self._add_taint(name, "NoSchedule")
        self._at(name, delays.NODE_PODS_MARKED.draw(self._rng), self._mark_pods)

    def _mark_pods(self, name: str) -> None:
        """Ready=False on every pod of the node that is ready, with an Event."""
        now = rfc3339(self._clock.now())
        for pod in self._pods_of(name):
            status = pod.get("status") or {}
            ready = next((each for each in status.get("conditions") or [] if each["type"] == "Ready"), None)
            if ready is None or ready["status"] != "True":
                continue
            changed = {**ready, "status": "False", "lastTransitionTime": now}
            conditions = [changed if each is ready else each for each in status["conditions"]]
            self._store.update(PODS, {**pod, "status": {**status, "conditions": conditions}}, "status")
            self._recorder.event(pod, "Warning", "NodeNotReady", "Node is not ready")
        self._at(name, delays.TAINT_NO_EXECUTE.draw(self._rng), self._taint_no_execute)

    def _taint_no_execute(self, name: str) -> None:
        self._add_taint(name, "NoExecute")

    def _add_taint(self, name: str, effect: str) -> None:
        node = self._store.find(NODES, None, name)
        if node is None:
            return
        taint = {"key": UNREACHABLE, "effect": effect, "timeAdded": rfc3339(self._clock.now())}
        taints = [*((node.get("spec") or {}).get("taints") or []), taint]
        self._store.update(NODES, {**node, "spec": {**(node.get("spec") or {}), "taints": taints}})

    def _mark_ready(self, name: str) -> None:
        node, kubelet = self._store.find(NODES, None, name), self._kubelets[name]
        if node is None:
            return
        conditions = node_object(kubelet.node, rfc3339(self._clock.now()))["status"]["conditions"]
        self._store.update(NODES, {**node, "status": {**node["status"], "conditions": conditions}}, "status")
        self._at(name, delays.NODE_PODS_MARKED.draw(self._rng), self._untaint)
        kubelet.return_()

    def _untaint(self, name: str) -> None:
        node = self._store.find(NODES, None, name)
        if node is None:
            return
        spec = dict(node.get("spec") or {})
        kept = [each for each in spec.pop("taints", None) or [] if each.get("key") not in (UNREACHABLE, NOT_READY)]
        self._store.update(NODES, {**node, "spec": {**spec, "taints": kept} if kept else spec})

    def _pods_of(self, name: str) -> list[Obj]:
        pods = self._store.list(PODS)
        return [pod for pod in pods if pod["spec"].get("nodeName") == name and _phase(pod) not in _ENDED]

    def _at(self, name: str, seconds: float, fn: Callable[[str], None]) -> None:
        """One thing at a time per node: what was to come for it is dropped."""
        old = self._timers.pop(name, None)
        if old is not None:
            old.cancel()
        self._timers[name] = self._clock.call_later(seconds, fn, name)


def _unready(condition: Obj) -> Obj:
    if condition["type"] != "Ready":
        return condition
    text = "container runtime status check may not have completed yet"
    return {**condition, "status": "False", "reason": "KubeletNotReady", "message": f"[{text}]"}


class TaintEviction(Follower):
    """Deletes pods from nodes with a NoExecute taint, each when its toleration is over."""

    def __init__(self, store: Store, clock: Clock, rng: random.Random) -> None:
        super().__init__(store)
        self._clock, self._rng = clock, rng
        self._recorder = EventRecorder(store, clock, rng, "taint-eviction-controller")
        self._timers: dict[str, Timer] = {}  # by pod UID

    def stop(self) -> None:
        super().stop()
        for timer in self._timers.values():
            timer.cancel()

    def _on_change(self, change: str, resource: Resource, obj: Obj, old: Obj | None) -> None:
        if resource is NODES and change != "DELETED":
            if _taints(obj) or (old is not None and _taints(old)):
                for pod in self._store.list(PODS):
                    if pod["spec"].get("nodeName") == obj["metadata"]["name"]:
                        self._consider(pod, obj)
        elif resource is PODS:
            uid, node_name = obj["metadata"]["uid"], obj["spec"].get("nodeName")
            if change == "DELETED" or "deletionTimestamp" in obj["metadata"]:
                self._cancel(uid)
            elif node_name and (old is None or not old["spec"].get("nodeName")):
                node = self._store.find(NODES, None, node_name)
                if node is not None and _taints(node):
                    self._consider(obj, node)

    def _consider(self, pod: Obj, node: Obj) -> None:
        """Plans the pod's eviction, or drops the plan when the taint is gone."""
        uid, taints = pod["metadata"]["uid"], _taints(node)
        if not taints or "deletionTimestamp" in pod["metadata"] or _phase(pod) in _ENDED:
            self._cancel(uid)
            return
        if uid in self._timers:
            return
        waits: list[float] = []
        for taint in taints:
            toleration = toleration_of(taint, pod)
            if toleration is None:
                waits.append(0.0)
            elif isinstance(toleration.get("tolerationSeconds"), int):
                since = parse_rfc3339(taint["timeAdded"]) if taint.get("timeAdded") else self._clock.now()
                waits.append(max(0.0, since + toleration["tolerationSeconds"] - self._clock.now()))
        if waits:
            self._timers[uid] = self._clock.call_later(min(waits), self._evict, pod)

    def _cancel(self, uid: str) -> None:
        timer = self._timers.pop(uid, None)
        if timer is not None:
            timer.cancel()

    def _evict(self, pod: Obj) -> None:
        metadata = pod["metadata"]
        self._timers.pop(metadata["uid"], None)
        text = f"Marking for deletion Pod {metadata['namespace']}/{metadata['name']}"
        self._recorder.event(pod, "Normal", "TaintManagerEviction", text)
        self._clock.call_later(delays.TAINT_EVICTION.draw(self._rng), self._mark, pod)

    def _mark(self, pod: Obj) -> None:
        message = "Taint manager: deleting due to NoExecute taint"
        if disrupt(self._store, pod, "DeletionByTaintManager", message, now=rfc3339(self._clock.now())):
            self._clock.call_later(delays.REQUEST.draw(self._rng), delete, self._store, pod)


class PodCollector:
    """Fails and deletes pods whose node does not exist any more, 40 s after it has noticed that."""

    def __init__(self, store: Store, clock: Clock, rng: random.Random) -> None:
        self._store, self._clock, self._rng = store, clock, rng
        self._missing: dict[str, float] = {}  # node name -> since when
        self._timer: Timer | None = None

    def start(self) -> None:
        self._timer = self._clock.call_later(self._rng.uniform(0, delays.POD_GC_PERIOD), self._look)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _look(self) -> None:
        self._timer = self._clock.call_later(delays.POD_GC_PERIOD, self._look)
        now = self._clock.now()
        bound = [pod for pod in self._store.list(PODS) if pod["spec"].get("nodeName")]
        names = {pod["spec"]["nodeName"] for pod in bound}
        gone = {name for name in names if self._store.find(NODES, None, name) is None}
        self._missing = {name: self._missing.get(name, now) for name in sorted(gone)}
        for pod in bound:
            since = self._missing.get(pod["spec"]["nodeName"])
            if since is not None and now - since >= delays.POD_GC_QUARANTINE:
                self._collect(pod)

    def _collect(self, pod: Obj) -> None:
        now, message = rfc3339(self._clock.now()), "PodGC: node no longer exists"
        if _phase(pod) not in _ENDED:
            disrupt(self._store, pod, "DeletionByPodGC", message, now=now, phase="Failed")
        delete(self._store, pod, grace_seconds=0)


def disrupt(store: Store, pod: Obj, reason: str, message: str, *, now: str, phase: str = "") -> bool:
    """Appends a DisruptionTarget condition to a pod; False if the pod is gone. `phase`: set as well.

    The controllers of the control plane note the generation in the condition, the eviction API does not.
    """
    current = store.find(PODS, pod["metadata"]["namespace"], pod["metadata"]["name"])
    if current is None or current["metadata"]["uid"] != pod["metadata"]["uid"]:
        return False
    status = current.get("status") or {}
    others = [each for each in status.get("conditions") or [] if each["type"] != "DisruptionTarget"]
    made = {
        "type": "DisruptionTarget",
        "observedGeneration": current["metadata"].get("generation", 1),
        "status": "True",
        "lastProbeTime": None,
        "lastTransitionTime": now,
    }
    changes: Obj = {"conditions": [*others, {**made, "reason": reason, "message": message}]}
    if phase:
        changes["phase"] = phase
    store.update(PODS, {**current, "status": {**status, **changes}}, "status")
    return True


def delete(store: Store, pod: Obj, grace_seconds: int | None = None) -> None:
    """Deletes a pod; one that is gone, or another of its name, is left alone."""
    metadata = pod["metadata"]
    try:
        store.delete(PODS, metadata["namespace"], metadata["name"], grace_seconds=grace_seconds, uid=metadata["uid"])
    except ApiError:
        return


def _taints(node: Obj) -> list[Obj]:
    return [each for each in (node.get("spec") or {}).get("taints") or [] if each.get("effect") == "NoExecute"]


def _phase(pod: Obj) -> str:
    return str((pod.get("status") or {}).get("phase") or "")
