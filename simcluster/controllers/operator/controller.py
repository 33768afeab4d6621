"""One work queue and one worker per kind of job: what belongs to a job and changes makes the job be looked at."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from simcluster.clock import Clock, Timer
from simcluster.controllers.delays import CONTROLLER_RETRY_BASE, CONTROLLER_RETRY_MAX, NOTICE
from simcluster.controllers.follower import Follower
from simcluster.controllers.operator.job import Job, Reconciliation
from simcluster.controllers.operator.kinds import KINDS, JobKind
from simcluster.controllers.operator.limiter import RateLimiter
from simcluster.controllers.operator.reconcile import reconcile, seconds_to_live
from simcluster.controllers.podgroup import VOLCANO
from simcluster.controllers.recorder import EventRecorder
from simcluster.errors import ApiError
from simcluster.resources import PODS, SCHEDULER_PODGROUPS, SERVICES, VOLCANO_PODGROUPS, Resource
from simcluster.store import Store

Obj = dict[str, Any]
Key = tuple[str, str]

_DEPENDENTS = (PODS, SERVICES, VOLCANO_PODGROUPS, SCHEDULER_PODGROUPS)


class TrainingOperator(Follower):
    """All kinds of training job on one store."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        rng: random.Random,
        *,
        gang_scheduler: str = VOLCANO,
        busy: bool = False,
        restricted_init: bool = False,
    ) -> None:
        """`gang_scheduler`: whose PodGroups, "" for none. `busy`: many other jobs make each request wait.
        `restricted_init`: the init containers that it adds may run where "restricted" is enforced."""
        super().__init__(store)
        self._owned = OwnedIndex()
        limiter = RateLimiter(clock, rng, busy)
        self.controllers = {
            kind.name: JobController(
                kind,
                store,
                clock,
                rng,
                gang_scheduler=gang_scheduler,
                owned=self._owned,
                limiter=limiter,
                restricted_init=restricted_init,
            )
            for kind in KINDS
        }

    def start(self) -> None:
        for resource in _DEPENDENTS:
            for obj in self._store.list(resource):
                self._owned.note("ADDED", resource, obj)
        super().start()
        for controller in self.controllers.values():
            for job in self._store.list(controller.kind.resource):
                controller.notice(job["metadata"]["namespace"], job["metadata"]["name"])

    def stop(self) -> None:
        super().stop()
        for controller in self.controllers.values():
            controller.stop()

    def _on_change(self, change: str, resource: Resource, obj: Obj, _old: Obj | None) -> None:
        metadata = obj["metadata"]
        if resource in _DEPENDENTS:
            self._owned.note(change, resource, obj)
            owner = _controller_of(obj)
            controller = self.controllers.get(owner["kind"]) if owner else None
            if owner and controller and owner.get("apiVersion") == controller.kind.resource.api_version:
                controller.notice(metadata["namespace"], owner["name"])
            return
        controller = self.controllers.get(resource.kind)
        if controller and controller.kind.resource is resource:
            controller.notice(metadata["namespace"], metadata["name"])


class OwnedIndex:
    """Pods, services and PodGroups by the UID of the job that controls them."""

    def __init__(self) -> None:
        self._by_owner: dict[tuple[str, Resource], dict[str, Obj]] = {}

    def note(self, change: str, resource: Resource, obj: Obj) -> None:
        owner = _controller_of(obj)
        if owner is None:
            return
        key, uid = (owner["uid"], resource), obj["metadata"]["uid"]
        if change != "DELETED":
            self._by_owner.setdefault(key, {})[uid] = obj
        elif key in self._by_owner:
            self._by_owner[key].pop(uid, None)
            if not self._by_owner[key]:
                del self._by_owner[key]

    def of(self, owner_uid: str, resource: Resource) -> list[Obj]:
        """In order of creation."""
        return list(self._by_owner.get((owner_uid, resource), {}).values())


class JobController:
    def __init__(
        self,
        kind: JobKind,
        store: Store,
        clock: Clock,
        rng: random.Random,
        *,
        gang_scheduler: str,
        owned: OwnedIndex,
        limiter: RateLimiter,
        restricted_init: bool,
    ) -> None:
        self.kind = kind
        self._owned, self._limiter = owned, limiter
        self._store, self._clock, self._rng = store, clock, rng
        self._gang_scheduler, self._restricted_init = gang_scheduler, restricted_init
        self._recorder = EventRecorder(store, clock, rng, kind.controller_name)
        self._queue: dict[Key, None] = {}  # jobs to look at, in order, each once
        self._failures: dict[Key, int] = {}
        self._wakes: dict[Key, Timer] = {}
        self._busy = False
        self._stopped = False

    def stop(self) -> None:
        self._stopped = True
        for timer in self._wakes.values():
            timer.cancel()

    def notice(self, namespace: str, name: str) -> None:
        """Something of the job has changed; the controller hears of it some milliseconds later."""
        self._clock.call_later(NOTICE.draw(self._rng), self._enqueue, (namespace, name))

    def _enqueue(self, key: Key) -> None:
        self._queue[key] = None
        self._work_on()

    def _work_on(self) -> None:
        if self._busy or self._stopped or not self._queue:
            return
        pause = self._limiter.queue()
        if pause:
            self._busy = True
            self._clock.call_later(pause, self._take)
        else:
            self._take()

    def _take(self) -> None:
        """Begins with the job that has waited longest; what has happened to it meanwhile is seen in one go."""
        self._busy = False
        if self._stopped or not self._queue:
            return
        key = next(iter(self._queue))
        del self._queue[key]
        work = self._read(key)
        if work is None:
            self._forget(key)
            self._work_on()
            return
        self._busy = True
        self._step(key, work, reconcile(work, self._gang_scheduler, self._failures.get(key, 0)))

    def _read(self, key: Key) -> Reconciliation | None:
        """The job with its pods and services; None if it is gone or on its way out."""
        obj = self._store.find(self.kind.resource, *key)
        if obj is None or "deletionTimestamp" in obj["metadata"]:
            return None
        job = Job(self.kind, obj, self._restricted_init)
        pods, services = self._owned.of(job.uid, PODS), self._owned.of(job.uid, SERVICES)
        return Reconciliation(job, pods, services, self._store, self._clock, self._rng, self._recorder)

    def _step(self, key: Key, work: Reconciliation, steps: Iterator[float]) -> None:
        """Goes on to the next request; at the end, or after an error, to the next job."""
        if self._stopped:
            return
        try:
            pause = next(steps)
        except StopIteration:
            self._failures.pop(key, None)
            self._plan_wake(key, work)
        except ApiError:
            self._retry(key)
        else:
            self._clock.call_later(pause + self._limiter.reserve(), self._step, key, work, steps)
            return
        self._busy = False
        self._work_on()

    def _retry(self, key: Key) -> None:
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        wait = min(CONTROLLER_RETRY_MAX, CONTROLLER_RETRY_BASE * 2.0 ** min(failures - 1, 30))
        self._clock.call_later(wait, self._enqueue, key)

    def _plan_wake(self, key: Key, work: Reconciliation) -> None:
        """Looks at the job again when its time to live is over. For its deadline the operator sets no timer: that is
        noticed when something of the job changes."""
        old = self._wakes.pop(key, None)
        if old is not None:
            old.cancel()
        left = seconds_to_live(work)
        if left is not None and left > 0:
            self._wakes[key] = self._clock.call_later(left, self._enqueue, key)

    def _forget(self, key: Key) -> None:
        self._failures.pop(key, None)
        timer = self._wakes.pop(key, None)
        if timer is not None:
            timer.cancel()


def _controller_of(obj: Obj) -> Obj | None:
    owners = obj["metadata"].get("ownerReferences") or []
    return next((each for each in owners if each.get("controller")), None)
