"""PodGroups of scheduler-plugins: their controller, which counts pods and goes from phase to phase.

Finished and Failed are final: a group turns Failed at its first failed pod and stays so while the job goes on.
"""

import random
from collections import Counter
from typing import Any

from simcluster.clock import Clock
from simcluster.controllers import delays
from simcluster.controllers.follower import Follower
from simcluster.controllers.podgroup import GROUP_LABEL, spec_of
from simcluster.errors import ApiError
from simcluster.resources import PODS, SCHEDULER_PODGROUPS, Resource
from simcluster.store import Store

Obj = dict[str, Any]
Key = tuple[str, str]

PENDING, SCHEDULING, RUNNING = "Pending", "Scheduling", "Running"
FINISHED, FAILED = "Finished", "Failed"


class PodGroupController(Follower):
    def __init__(self, store: Store, clock: Clock, rng: random.Random) -> None:
        super().__init__(store)
        self._clock, self._rng = clock, rng
        self._due: set[Key] = set()
        self._written_at: dict[Key, float] = {}

    def _on_change(self, change: str, resource: Resource, obj: Obj, _old: Obj | None) -> None:
        metadata = obj["metadata"]
        if resource is SCHEDULER_PODGROUPS and change != "DELETED":
            self._look_later((metadata["namespace"], metadata["name"]), delays.NOTICE)
        elif resource is PODS:
            group = (metadata.get("labels") or {}).get(GROUP_LABEL)
            if group:
                self._look_later((metadata["namespace"], group), delays.NOTICE)
        elif resource is SCHEDULER_PODGROUPS:
            self._written_at.pop((metadata["namespace"], metadata["name"]), None)

    def _look_later(self, key: Key, delay: delays.Range) -> None:
        """At once, or when the pause after its last write of this group is over."""
        if key not in self._due:
            self._due.add(key)
            pause = self._written_at.get(key, 0.0) + delays.POD_GROUP_PAUSE.draw(self._rng) - self._clock.now()
            self._clock.call_later(max(delay.draw(self._rng), pause), self._look, key)

    def _look(self, key: Key) -> None:
        self._due.discard(key)
        group = self._store.find(SCHEDULER_PODGROUPS, *key)
        if group is None:
            return
        status = group.get("status") or {}
        namespace, name = key
        pods = self._store.list(PODS, namespace, f"{GROUP_LABEL}={name}")
        new = next_status(status, pods, int(spec_of(group).get("minMember") or 1))
        if new != status:
            if status.get("phase"):
                self._written_at[key] = self._clock.now()
            try:
                self._store.update(SCHEDULER_PODGROUPS, {**group, "status": dict(sorted(new.items()))}, "status")
            except ApiError:  # gone, or written by somebody else: there will be another look
                return


def next_status(status: Obj, pods: list[Obj], minimum: int) -> Obj:
    """The status that follows from the group's pods."""
    phase = status.get("phase", "")
    if phase in (FINISHED, FAILED):
        return status
    if not phase:
        return {**status, "phase": PENDING}
    if phase == PENDING:
        return {**status, "phase": SCHEDULING, **_occupied_by(pods[0])} if len(pods) >= minimum else status
    counts = Counter((pod.get("status") or {}).get("phase") for pod in pods)
    shown = {"failed": counts["Failed"], "running": counts["Running"], "succeeded": counts["Succeeded"]}
    rest = {key: value for key, value in status.items() if key not in shown}
    return {
        **rest,
        **{key: value for key, value in shown.items() if value},
        "phase": _phase(counts, len(pods), minimum),
    }


def _phase(counts: Counter[Any], total: int, minimum: int) -> str:
    alive = counts["Running"] + counts["Succeeded"]
    if total < minimum:
        return PENDING
    if counts["Succeeded"] >= minimum:
        return FINISHED
    if counts["Failed"] and counts["Failed"] + alive >= minimum:
        return FAILED
    return RUNNING if alive >= minimum else SCHEDULING


def _occupied_by(pod: Obj) -> Obj:
    owners = pod["metadata"].get("ownerReferences") or []
    names = [f"{pod['metadata']['namespace']}/{owner['name']}" for owner in owners]
    return {"occupiedBy": ",".join(sorted(names))} if names else {}
