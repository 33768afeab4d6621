"""Volcano's scheduler: once a second it admits, binds and describes the gangs that have changed or still wait.

A group is admitted (Inqueue) when what it asks for fits beside what is taken and promised; its pods are bound when
enough of them for its minMember fit. A group that does not fit stays Pending, says so in an Event each cycle, and
is tried again. Groups of higher priority come first, and may have pods of lower ones evicted.
"""

import random
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from simcluster.clock import Clock, Timer, rfc3339
from simcluster.controllers import delays, quantity
from simcluster.controllers.binding import bind, evict, refuse
from simcluster.controllers.capacity import Amounts, Capacity, wants
from simcluster.controllers.follower import Follower
from simcluster.controllers.podgroup import (
    GROUP_ANNOTATION,
    Gang,
    counts_shown,
    says_the_same,
    spec_of,
    task_status,
    with_condition,
)
from simcluster.controllers.recorder import EventRecorder
from simcluster.errors import ApiError
from simcluster.resources import NODES, PODS, PRIORITYCLASSES, VOLCANO_PODGROUPS, Resource
from simcluster.store import Store

Obj = dict[str, Any]
Key = tuple[str, str]

VOLCANO = "volcano"
PERIOD_SECONDS = 1.0


@dataclass
class _Choice:
    """What a cycle does with a group's pending pods, by their UID."""

    bound: dict[str, tuple[str, Obj]] = field(default_factory=dict)  # with the node
    fitting: dict[str, str] = field(default_factory=dict)  # the node that a pod would fit on, did the gang
    pipelined: dict[str, str] = field(default_factory=dict)  # the node where others give way
    origin: str = ""


class VolcanoScheduler(Follower):
    def __init__(self, store: Store, clock: Clock, rng: random.Random, period: float = PERIOD_SECONDS) -> None:
        super().__init__(store)
        self._clock, self._rng, self._period = clock, rng, period
        self._recorder = EventRecorder(store, clock, rng, VOLCANO, by_reason=True)
        self._capacity = Capacity(store)
        self._pods: dict[Key, dict[str, Obj]] = {}  # group -> pod name -> pod
        self._waiting: dict[Key, None] = {}  # groups to look at in the next cycle, in order
        self._promised: dict[Key, dict[str, int]] = {}  # admitted groups whose pods are not all bound
        self._timer: Timer | None = None

    def start(self) -> None:
        super().start()
        self._timer = self._clock.call_later(self._rng.uniform(0.0, self._period), self._cycle)

    def stop(self) -> None:
        super().stop()
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
        groups.sort(key=self._priority, reverse=True)
        admitted = {_key(group) for group in groups if self._admit(group)}
        planned: dict[str, Amounts] = {}
        for group in groups:
            self._schedule(group, _key(group) in admitted, planned)
        wait = self._period + delays.CYCLE_OVERHEAD.draw(self._rng)
        self._timer = self._clock.call_later(wait, self._cycle)

    def _priority(self, group: Obj) -> int:
        name = spec_of(group).get("priorityClassName")
        found = self._store.find(PRIORITYCLASSES, None, name) if isinstance(name, str) else None
        value = (found or {}).get("value", 0)
        return value if isinstance(value, int) else 0

    def _admit(self, group: Obj) -> bool:
        """Whether the group is past Pending, or becomes so now because what it asks for can be promised."""
        key, phase = _key(group), _phase(group)
        if phase not in ("", "Pending"):
            return True
        wanted = _promisable(group)
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

    def _held_by(self, key: Key) -> Amounts:
        """What the group's own pods have taken already."""
        held: Amounts = {}
        for pod in self._pods.get(key, {}).values():
            if task_status(pod) in ("Bound", "Running", "Releasing"):
                quantity.add(held, quantity.pod_total(pod["spec"]))
        return held

    def _schedule(self, group: Obj, admitted: bool, planned: dict[str, Amounts]) -> None:
        key, current = _key(group), _phase(group)
        pods = list(self._pods.get(key, {}).values())
        counts = Counter(task_status(pod) for pod in pods)
        minimum = int(spec_of(group).get("minMember") or 1)
        if current in ("", "Pending") and admitted:
            current = "Inqueue"
        choice = self._choice(group, pods, counts, minimum, planned) if admitted else _Choice()
        gang = Gang(counts, minimum, len(choice.bound), len(choice.fitting), len(choice.pipelined), choice.origin)
        phase = gang.phase(current)
        group = self._describe(group, gang, phase)
        if gang.is_ready and not gang.after["Pending"]:
            self._promised.pop(key, None)
        if phase in ("Pending", "Inqueue", "Unknown") or gang.after["Pending"] or choice.pipelined:
            self._waiting[key] = None
        self._tell_the_waiting(pods, choice, gang, planned)
        for node, pod in self._rng.sample(list(choice.bound.values()), len(choice.bound)):
            self._clock.call_later(delays.BIND.draw(self._rng), self._bind, pod, node)

    def _choice(
        self, group: Obj, pods: list[Obj], counts: Counter[str], minimum: int, planned: dict[str, Amounts]
    ) -> _Choice:
        """Binds all pending pods that fit, if that makes the gang ready; else lets others give way, or none."""
        pending = [pod for pod in pods if task_status(pod) == "Pending"]
        choice = _Choice()
        alive = sum(count for state, count in counts.items() if state != "Failed")
        if not pending or alive < minimum:  # too few tasks: not even tried
            return choice
        trial = {node: dict(taken) for node, taken in planned.items()}
        for pod in pending:
            node = self._capacity.place(pod, trial)
            if node is not None:
                choice.bound[pod["metadata"]["uid"]] = (node, pod)
        if Gang(counts, minimum, len(choice.bound)).is_ready:
            planned.update(trial)
            return choice
        missing = [pod for pod in pending if pod["metadata"]["uid"] not in choice.bound]
        choice.fitting = {uid: node for uid, (node, _) in choice.bound.items()}
        choice.bound = {}
        if self._priority(group) <= 0:  # nobody ranks below, so nobody gives way
            return choice
        lacking = minimum - sum(counts[state] for state in ("Bound", "Running", "Releasing", "Succeeded"))
        self._make_way(group, missing[: max(0, lacking - len(choice.fitting))], trial, choice)
        return choice

    # Preemption

    def _make_way(self, group: Obj, pods: list[Obj], planned: dict[str, Amounts], choice: _Choice) -> None:
        """Evicts running pods of lower priority until every one of `pods` will have room; all or none.

        Room that is being freed already counts, so nobody is evicted twice for the same pod.
        """
        freed = {node: dict(taken) for node, taken in planned.items()}
        for victim in self._running_pods(releasing=True):
            quantity.add(freed.setdefault(victim["spec"]["nodeName"], {}), wants(victim), -1)
        victims: list[Obj] = []
        candidates = self._victims(self._priority(group))
        nodes: dict[str, str] = {}
        reasons = [f"{pod['metadata']['name']}: {self._refusal(pod, planned)}" for pod in pods[:1]]
        for pod in pods:
            node = self._capacity.place(pod, freed)
            while node is None and candidates:
                victim = candidates.pop(0)
                victims.append(victim)
                quantity.add(freed.setdefault(victim["spec"]["nodeName"], {}), wants(victim), -1)
                node = self._capacity.place(pod, freed)
            if node is None:
                return
            nodes[pod["metadata"]["uid"]] = node
        if not nodes:
            return
        choice.pipelined, choice.fitting = nodes, {}
        choice.origin = reasons[0]
        for victim in victims:
            self._evict(victim)

    def _running_pods(self, releasing: bool) -> list[Obj]:
        wanted = "Releasing" if releasing else "Running"
        return [pod for pods in self._pods.values() for pod in pods.values() if task_status(pod) == wanted]

    def _victims(self, priority: int) -> list[Obj]:
        """Running pods that may go: of groups of lower priority that stay ready, or need one member only."""
        found: list[tuple[int, Obj]] = []
        for key, pods in self._pods.items():
            group = self._store.find(VOLCANO_PODGROUPS, *key)
            if group is None or self._priority(group) >= priority:
                continue
            running = [pod for pod in pods.values() if task_status(pod) == "Running"]
            minimum = int(spec_of(group).get("minMember") or 1)
            spare = len(running) if minimum == 1 else max(0, len(running) - minimum)
            found += [(self._priority(group), pod) for pod in running[:spare]]
        return [pod for _, pod in sorted(found, key=lambda item: item[0])]

    def _evict(self, pod: Obj) -> None:
        key = (pod["metadata"]["namespace"], pod["metadata"]["annotations"][GROUP_ANNOTATION])
        group = self._store.find(VOLCANO_PODGROUPS, *key)
        if not evict(self._store, pod, rfc3339(self._clock.now())):
            return
        if group is not None:
            self._recorder.event(group, "Normal", "Evict", "preempt")
        self._recorder.event(pod, "Warning", "Evict", "Pod is evicted, because of preempt")
        self._clock.call_later(delays.BIND.draw(self._rng), self._delete, pod)

    def _delete(self, pod: Obj) -> None:
        try:
            self._store.delete(PODS, pod["metadata"]["namespace"], pod["metadata"]["name"], uid=pod["metadata"]["uid"])
        except ApiError:  # gone by itself
            return

    # Writing

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

    def _tell_the_waiting(self, pods: list[Obj], choice: _Choice, gang: Gang, planned: dict[str, Amounts]) -> None:
        """Notes on each pending pod why it waits; a reason that stands there already is not written again."""
        refused = False
        for pod in pods:
            uid, name = pod["metadata"]["uid"], pod["metadata"]["name"]
            if task_status(pod) != "Pending" or uid in choice.bound:
                continue
            full_name = f"{pod['metadata']['namespace']}/{name}"
            if uid in choice.pipelined:
                node = choice.pipelined[uid]
                text = f"Pod {full_name} can possibly be assigned to {node}, once resource is released and minAvailable"
                self._refuse(pod, f"{text} is satisfied", nominated=node)
            elif uid in choice.fitting:
                text = f"Pod {full_name} can possibly be assigned to {choice.fitting[uid]}, once minAvailable"
                self._refuse(pod, f"{text} is satisfied", reason="Schedulable")
            elif choice.pipelined:
                role = (pod["metadata"].get("annotations") or {}).get("volcano.sh/task-spec", "")
                self._refuse(pod, f"Task {name} with role spec {role} has already predicated failed, skip")
            elif gang.is_ready and not refused:
                self._refuse(pod, self._refusal(pod, planned))
                refused = True
            else:
                self._refuse(pod, gang.fit_text())

    def _refusal(self, pod: Obj, planned: dict[str, Amounts]) -> str:
        total = self._store.count(NODES)
        return f"0/{total} nodes are unavailable: {self._capacity.refusal(pod, planned)}."

    def _refuse(self, pod: Obj, text: str, reason: str = "Unschedulable", nominated: str = "") -> None:
        if refuse(self._store, pod, text, rfc3339(self._clock.now()), reason=reason, nominated=nominated):
            self._recorder.event(pod, "Warning", "FailedScheduling", text)

    def _bind(self, pod: Obj, node: str) -> None:
        if bind(self._store, pod, node, rfc3339(self._clock.now())):
            namespace, name = pod["metadata"]["namespace"], pod["metadata"]["name"]
            bound = self._store.find(PODS, namespace, name) or pod
            text = f"Successfully assigned {namespace}/{name} to {node}"
            self._recorder.event(bound, "Normal", "Scheduled", text)


def _promisable(group: Obj) -> Amounts:
    """What a group asks for of the nodes: neither counts of objects nor limits."""
    wanted = quantity.amounts(spec_of(group).get("minResources"))
    return {
        name: amount
        for name, amount in wanted.items()
        if name != "pods" and not name.startswith(("count/", "limits.", "requests."))
    }


def _key(group: Obj) -> Key:
    return group["metadata"]["namespace"], group["metadata"]["name"]


def _phase(group: Obj) -> str:
    return str((group.get("status") or {}).get("phase") or "")
