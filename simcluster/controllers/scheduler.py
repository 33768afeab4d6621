"""Volcano's scheduler: once a second it admits, binds and describes the gangs that have changed or still wait.

A group is admitted (Inqueue) when what it asks for fits beside what is taken and promised; its pods are bound when
enough of them for its minMember fit. A group that does not fit stays Pending, says so in an Event each cycle, and
is tried again. Pods of other schedulers are bound one by one by DefaultScheduler.
"""

import random
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from simcluster.clock import Clock, Timer, rfc3339
from simcluster.controllers import delays, quantity
from simcluster.controllers.podgroup import (
    GROUP_ANNOTATION,
    Gang,
    counts_shown,
    says_the_same,
    task_status,
    with_condition,
)
from simcluster.controllers.recorder import EventRecorder
from simcluster.errors import ApiError
from simcluster.resources import NODES, PODS, VOLCANO_PODGROUPS, Resource
from simcluster.store import Store

Obj = dict[str, Any]
Key = tuple[str, str]

VOLCANO = "volcano"
PERIOD_SECONDS = 1.0
OVERCOMMIT = 1.2  # what may be promised to admitted groups, as a factor of what the nodes have
_DISCARDED = ("Failed", "Succeeded")


class Capacity:
    """What the nodes have and what the pods on them ask for."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._pods: dict[str, tuple[str, dict[str, int]]] = {}
        self.used: dict[str, dict[str, int]] = {}

    def note(self, change: str, pod: Obj) -> None:
        uid, node = pod["metadata"]["uid"], pod["spec"].get("nodeName")
        ended = (pod.get("status") or {}).get("phase") in _DISCARDED
        if change == "DELETED" or ended or not node:
            self._release(uid)
        elif uid not in self._pods:
            self.take(uid, node, pod)

    def take(self, uid: str, node: str, pod: Obj) -> None:
        wanted = {**quantity.pod_total(pod["spec"]), "pods": 1000}
        self._pods[uid] = (node, wanted)
        quantity.add(self.used.setdefault(node, {}), wanted)

    def _release(self, uid: str) -> None:
        if uid in self._pods:
            node, wanted = self._pods.pop(uid)
            quantity.add(self.used[node], wanted, -1)

    def node_for(self, pod: Obj, planned: dict[str, dict[str, int]] | None = None) -> str | None:
        """The node with the most free cpu that a pod fits on; `planned`: what is to be taken as well."""
        wanted = {**quantity.pod_total(pod["spec"]), "pods": 1000}
        best: tuple[int, str] | None = None
        for node in self._store.list(NODES):
            name = node["metadata"]["name"]
            if not is_schedulable(node):
                continue
            free = quantity.amounts(node["status"].get("allocatable"))
            for taken in (self.used.get(name, {}), (planned or {}).get(name, {})):
                quantity.add(free, taken, -1)
            fits = all(amount <= free.get(resource, 0) for resource, amount in wanted.items())
            if fits and (best is None or free.get("cpu", 0) > best[0]):
                best = (free.get("cpu", 0), name)
        return best[1] if best else None

    def idle(self) -> dict[str, int]:
        """What may still be promised to gangs, over all nodes."""
        total: dict[str, int] = {}
        for node in filter(is_schedulable, self._store.list(NODES)):
            free = quantity.amounts(node["status"].get("allocatable"))
            quantity.add(total, {name: int(amount * OVERCOMMIT) for name, amount in free.items()})
        for used in self.used.values():
            quantity.add(total, used, -1)
        return total


def is_schedulable(node: Obj) -> bool:
    conditions = (node.get("status") or {}).get("conditions") or []
    ready = any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
    return ready and not (node.get("spec") or {}).get("unschedulable")


class VolcanoScheduler:
    def __init__(self, store: Store, clock: Clock, rng: random.Random, period: float = PERIOD_SECONDS) -> None:
        self._store, self._clock, self._rng, self._period = store, clock, rng, period
        self._recorder = EventRecorder(store, clock, rng, VOLCANO, burst=None)
        self._capacity = Capacity(store)
        self._pods: dict[Key, dict[str, Obj]] = {}  # group -> pod name -> pod
        self._waiting: dict[Key, None] = {}  # groups to look at in the next cycle, in order
        self._promised: dict[Key, dict[str, int]] = {}  # admitted groups whose pods are not all bound
        self._timer: Timer | None = None
        self._unsubscribe: Callable[[], None] | None = None

    def start(self) -> None:
        self._unsubscribe = self._store.subscribe(self._on_change)
        self._timer = self._clock.call_later(self._rng.uniform(0.0, self._period), self._cycle)

    def stop(self) -> None:
        if self._unsubscribe is not None:
            self._unsubscribe()
        if self._timer is not None:
            self._timer.cancel()

    def _on_change(self, change: str, resource: Resource, obj: Obj, _old: Obj | None) -> None:
        if resource is PODS:
            self._capacity.note(change, obj)
            self._note_pod(change, obj)
        elif resource is VOLCANO_PODGROUPS:
            key = _key(obj)
            if change == "DELETED":
                self._waiting.pop(key, None)
                self._promised.pop(key, None)
            else:
                self._waiting[key] = None

    def _note_pod(self, change: str, pod: Obj) -> None:
        group = (pod["metadata"].get("annotations") or {}).get(GROUP_ANNOTATION)
        if not group or pod["spec"].get("schedulerName") != VOLCANO:
            return
        key = (pod["metadata"]["namespace"], group)
        pods = self._pods.setdefault(key, {})
        if change == "DELETED":
            pods.pop(pod["metadata"]["name"], None)
            if not pods:
                del self._pods[key]
        else:
            pods[pod["metadata"]["name"]] = pod
        self._waiting[key] = None

    # A cycle

    def _cycle(self) -> None:
        keys, self._waiting = self._waiting, {}
        groups = [group for key in keys if (group := self._store.find(VOLCANO_PODGROUPS, *key)) is not None]
        admitted = {_key(group) for group in groups if self._admit(group)}
        planned: dict[str, dict[str, int]] = {}
        for group in groups:
            self._schedule(group, _key(group) in admitted, planned)
        wait = self._period + delays.CYCLE_OVERHEAD.draw(self._rng)
        self._timer = self._clock.call_later(wait, self._cycle)

    def _admit(self, group: Obj) -> bool:
        """Whether the group is past Pending, or becomes so now because what it asks for can be promised."""
        key, phase = _key(group), _phase(group)
        if phase not in ("", "Pending"):
            return True
        wanted = quantity.amounts(group["spec"].get("minResources"))
        idle = self._capacity.idle()
        for other, promised in self._promised.items():
            if other != key:
                quantity.add(idle, promised, -1)
        held = self._held_by(key)
        lacking = [name for name, amount in sorted(wanted.items()) if amount - held.get(name, 0) > idle.get(name, 0)]
        if lacking:
            text = f"resource in cluster is overused: {', '.join(f'overused {name}' for name in lacking)}"
            self._recorder.event(group, "Normal", "Unschedulable", text)
            return False
        self._promised[key] = wanted
        return True

    def _held_by(self, key: Key) -> dict[str, int]:
        """What the group's own pods have taken already."""
        held: dict[str, int] = {}
        for pod in self._pods.get(key, {}).values():
            if task_status(pod) in ("Bound", "Running", "Releasing"):
                quantity.add(held, quantity.pod_total(pod["spec"]))
        return held

    def _schedule(self, group: Obj, admitted: bool, planned: dict[str, dict[str, int]]) -> None:
        key, current = _key(group), _phase(group)
        pods = list(self._pods.get(key, {}).values())
        counts = Counter(task_status(pod) for pod in pods)
        minimum = int(group["spec"].get("minMember") or 1)
        if current in ("", "Pending") and admitted:
            current = "Inqueue"
        chosen = (
            self._chosen([pod for pod in pods if task_status(pod) == "Pending"], counts, minimum, planned)
            if admitted
            else {}
        )
        gang = Gang(counts, minimum, len(chosen))
        phase = gang.phase(current)
        group = self._describe(group, gang, phase)
        if gang.is_ready and not gang.after["Pending"]:
            self._promised.pop(key, None)
        if phase in ("Pending", "Inqueue", "Unknown") or gang.after["Pending"]:
            self._waiting[key] = None
        for pod in pods:
            if task_status(pod) == "Pending" and pod["metadata"]["uid"] not in chosen:
                self._refuse(pod, gang.fit_text())
        for node, pod in self._rng.sample(list(chosen.values()), len(chosen)):
            self._clock.call_later(delays.BIND.draw(self._rng), self._bind, pod, node)

    def _chosen(
        self, pending: Iterable[Obj], counts: Counter[str], minimum: int, planned: dict[str, dict[str, int]]
    ) -> dict[str, tuple[str, Obj]]:
        """Pods to bind now, by UID, with their node: all that fit, if that makes the gang ready; else none."""
        trial = {node: dict(taken) for node, taken in planned.items()}
        chosen: dict[str, tuple[str, Obj]] = {}
        for pod in pending:
            node = self._capacity.node_for(pod, trial)
            if node is not None:
                chosen[pod["metadata"]["uid"]] = (node, pod)
                quantity.add(trial.setdefault(node, {}), {**quantity.pod_total(pod["spec"]), "pods": 1000})
        if not Gang(counts, minimum, len(chosen)).is_ready:
            return {}
        planned.update(trial)
        return chosen

    def _describe(self, group: Obj, gang: Gang, phase: str) -> Obj:
        """Writes phase, counts and condition where they say something new, and the Event of the cycle."""
        old = group.get("status") or {}
        now, transition = rfc3339(self._clock.now()), self._store.new_uid()
        conditions = with_condition(old.get("conditions") or [], gang.condition(), now, transition)
        shown = {"phase": phase, **counts_shown(gang.before)}
        same = {key: value for key, value in old.items() if key != "conditions"} == shown
        written = not same or not says_the_same(old.get("conditions") or [], conditions)
        if written:
            status = {"conditions": conditions, **shown} if conditions else shown
            try:
                group = self._store.update(VOLCANO_PODGROUPS, {**group, "status": dict(sorted(status.items()))})
            except ApiError:  # written by somebody else meanwhile: the next cycle sees it
                return group
        if phase in ("Pending", "Inqueue", "Unknown"):
            self._recorder.event(group, "Warning", "Unschedulable", gang.event_text())
        elif written:
            self._recorder.event(group, "Normal", "Scheduled", "pod group is ready")
        return group

    def _refuse(self, pod: Obj, text: str) -> None:
        """Notes on the pod why it waits; a reason that stands there already is not written again."""
        if refuse(self._store, pod, text, rfc3339(self._clock.now())):
            self._recorder.event(pod, "Warning", "FailedScheduling", text)

    def _bind(self, pod: Obj, node: str) -> None:
        if bind(self._store, pod, node, rfc3339(self._clock.now())):
            namespace, name = pod["metadata"]["namespace"], pod["metadata"]["name"]
            bound = self._store.find(PODS, namespace, name) or pod
            text = f"Successfully assigned {namespace}/{name} to {node}"
            self._recorder.event(bound, "Normal", "Scheduled", text)


class DefaultScheduler:
    """Binds the pods that name no other scheduler, one by one; those that fit nowhere are tried each second."""

    RETRY_SECONDS = 1.0

    def __init__(self, store: Store, clock: Clock, rng: random.Random) -> None:
        self._store, self._clock, self._rng = store, clock, rng
        self._recorder = EventRecorder(store, clock, rng, "default-scheduler")
        self._capacity = Capacity(store)
        self._unsubscribe: Callable[[], None] | None = None

    def start(self) -> None:
        self._unsubscribe = self._store.subscribe(self._on_change)

    def stop(self) -> None:
        if self._unsubscribe is not None:
            self._unsubscribe()

    def _on_change(self, change: str, resource: Resource, pod: Obj, _old: Obj | None) -> None:
        if resource is not PODS:
            return
        self._capacity.note(change, pod)
        scheduler = pod["spec"].get("schedulerName") or "default-scheduler"
        if change == "ADDED" and scheduler == "default-scheduler" and not pod["spec"].get("nodeName"):
            self._clock.call_later(delays.BIND.draw(self._rng), self._try, pod)

    def _try(self, pod: Obj) -> None:
        namespace, name = pod["metadata"]["namespace"], pod["metadata"]["name"]
        current = self._store.find(PODS, namespace, name)
        if current is None or current["metadata"]["uid"] != pod["metadata"]["uid"]:
            return
        node = self._capacity.node_for(current)
        now = rfc3339(self._clock.now())
        if node is not None:
            bind(self._store, current, node, now)
            self._recorder.event(current, "Normal", "Scheduled", f"Successfully assigned {namespace}/{name} to {node}")
            return
        text = f"0/{self._store.count(NODES)} nodes are available: the pod does not fit."
        if refuse(self._store, current, text, now):
            self._recorder.event(current, "Warning", "FailedScheduling", text)
        self._clock.call_later(self.RETRY_SECONDS, self._try, pod)


def bind(store: Store, pod: Obj, node: str, now: str) -> bool:
    """Sets a pod's node and PodScheduled in one write; False if it is gone, another's, or being deleted."""
    current = store.find(PODS, pod["metadata"]["namespace"], pod["metadata"]["name"])
    if current is None or current["metadata"]["uid"] != pod["metadata"]["uid"]:
        return False
    if "deletionTimestamp" in current["metadata"] or current["spec"].get("nodeName"):
        return False
    status = _with_scheduled(current, {"status": "True"}, now)
    store.update(PODS, {**current, "spec": {**current["spec"], "nodeName": node}, "status": status}, "binding")
    return True


def refuse(store: Store, pod: Obj, text: str, now: str) -> bool:
    """Writes PodScheduled=False with the reason; False if that stands there already or the pod is gone."""
    current = store.find(PODS, pod["metadata"]["namespace"], pod["metadata"]["name"])
    if current is None or current["metadata"]["uid"] != pod["metadata"]["uid"] or current["spec"].get("nodeName"):
        return False
    conditions = (current.get("status") or {}).get("conditions") or []
    if any(each["type"] == "PodScheduled" and each.get("message") == text for each in conditions):
        return False
    told = {"status": "False", "reason": "Unschedulable", "message": text}
    store.update(PODS, {**current, "status": _with_scheduled(current, told, now)}, "status")
    return True


def _with_scheduled(pod: Obj, told: Obj, now: str) -> Obj:
    status = pod.get("status") or {}
    old = next((each for each in status.get("conditions") or [] if each["type"] == "PodScheduled"), None)
    since = old["lastTransitionTime"] if old and old["status"] == told["status"] else now
    made = {"type": "PodScheduled", "status": told["status"], "lastProbeTime": None, "lastTransitionTime": since}
    made |= {key: value for key, value in told.items() if key != "status"}
    others = [each for each in status.get("conditions") or [] if each["type"] != "PodScheduled"]
    ordered = {"phase": status.get("phase", "Pending"), "conditions": [*others, made]}
    return {**ordered, **{key: value for key, value in status.items() if key not in ordered}}


def _key(group: Obj) -> Key:
    return group["metadata"]["namespace"], group["metadata"]["name"]


def _phase(group: Obj) -> str:
    return str((group.get("status") or {}).get("phase") or "")
