"""Binds the pods that name no other scheduler, one by one; a pod group of scheduler-plugins only as a whole."""

import random
from typing import Any

from simcluster.clock import Clock, rfc3339
from simcluster.controllers import delays
from simcluster.controllers.binding import bind, refuse
from simcluster.controllers.capacity import Capacity
from simcluster.controllers.follower import Follower
from simcluster.controllers.podgroup import GROUP_LABEL, spec_of
from simcluster.controllers.recorder import SeriesRecorder
from simcluster.resources import NODES, PODS, SCHEDULER_PODGROUPS, Resource
from simcluster.store import Store

Obj = dict[str, Any]

NAME = "default-scheduler"
RETRY_SECONDS = 1.0


class DefaultScheduler(Follower):
    def __init__(self, store: Store, clock: Clock, rng: random.Random) -> None:
        super().__init__(store)
        self._clock, self._rng = clock, rng
        self._recorder = SeriesRecorder(store, clock, rng, NAME)
        self._capacity = Capacity(store)

    def _on_change(self, change: str, resource: Resource, pod: Obj, _old: Obj | None) -> None:
        if resource is not PODS:
            return
        self._capacity.note(change, pod)
        scheduler = pod["spec"].get("schedulerName") or NAME
        if change == "ADDED" and scheduler == NAME and not pod["spec"].get("nodeName"):
            self._clock.call_later(delays.BIND.draw(self._rng), self._try, pod)

    def _try(self, pod: Obj) -> None:
        namespace, name = pod["metadata"]["namespace"], pod["metadata"]["name"]
        current = self._store.find(PODS, namespace, name)
        if current is None or current["metadata"]["uid"] != pod["metadata"]["uid"] or "nodeName" in current["spec"]:
            return
        node = self._capacity.node_for(current)
        now = rfc3339(self._clock.now())
        if node is not None and self._gang_fits(current):
            if bind(self._store, current, node, now):
                text = f"Successfully assigned {namespace}/{name} to {node}"
                self._recorder.event(current, "Normal", "Scheduled", text, "Binding")
            return
        text = f"0/{self._store.count(NODES)} nodes are available: {self._capacity.refusal(current)}."
        if node is not None:
            text = f"optimistic rejection in PostFilter: the pod group of {name} does not fit"
        if refuse(self._store, current, text, now):
            self._recorder.event(current, "Warning", "FailedScheduling", text, "Scheduling")
        self._clock.call_later(RETRY_SECONDS, self._try, pod)

    def _gang_fits(self, pod: Obj) -> bool:
        """Whether what the pod's group still asks for is free, as scheduler-plugins looks at the cluster as a whole."""
        namespace = pod["metadata"]["namespace"]
        name = (pod["metadata"].get("labels") or {}).get(GROUP_LABEL)
        group = self._store.find(SCHEDULER_PODGROUPS, namespace, name) if name else None
        if group is None:
            return True
        pods = self._store.list(PODS, namespace, f"{GROUP_LABEL}={name}")
        missing = int(spec_of(group).get("minMember") or 1) - sum("nodeName" in each["spec"] for each in pods)
        waiting = [each for each in pods if "nodeName" not in each["spec"]][: max(0, missing)]
        planned: dict[str, dict[str, int]] = {}
        return all(self._capacity.place(each, planned) is not None for each in waiting)
