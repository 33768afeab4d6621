"""The controller of Volcano Jobs: creates their PodGroup and pods, and does what their policies say.

RestartJob deletes every pod and the PodGroup, raises retryCount and version, and begins anew; pods come back as their
predecessors are gone, sometimes (a stale cache) before the new PodGroup is there.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from simcluster.clock import Clock, Timer, parse_rfc3339, rfc3339
from simcluster.controllers.delays import NOTICE, REQUEST
from simcluster.controllers.follower import Follower
from simcluster.controllers.podspec import completed_pod
from simcluster.controllers.recorder import EventRecorder
from simcluster.controllers.volcano.job import (
    OUT_OF_SYNC,
    SYNC,
    Happening,
    VolcanoJob,
    counted,
    exit_code_of,
    is_leaving,
    missing_pods,
    next_phase,
    phase_of,
    task_of,
    version_of,
    with_times,
    without_times,
)
from simcluster.errors import ApiError, in_gos_notation
from simcluster.resources import PODS, VOLCANO_JOBS, VOLCANO_PODGROUPS, Resource
from simcluster.store import Store

Obj = dict[str, Any]
Key = tuple[str, str]
Steps = Iterator[float]

_FINISHED = ("Completed", "Terminated", "Aborted", "Failed")
_ENDING = {"Completing": "Completed", "Terminating": "Terminated", "Aborting": "Aborted"}
_ACTIONS = {"CompleteJob": "Completing", "TerminateJob": "Terminating", "AbortJob": "Aborting"}
_STALE_CACHE = 0.5  # how often the controller still sees the old PodGroup right after a restart
_RETRY_SECONDS = 0.2


class VolcanoJobController(Follower):
    def __init__(self, store: Store, clock: Clock, rng: random.Random) -> None:
        super().__init__(store)
        self._clock, self._rng = clock, rng
        self._recorder = EventRecorder(store, clock, rng, "vc-controller-manager", by_reason=True)
        self._pods: dict[str, dict[str, Obj]] = {}  # job UID -> pod UID -> pod
        self._due: dict[Key, list[Happening]] = {}
        self._busy: set[Key] = set()
        self._killed: set[str] = set()  # UIDs of pods that the controller deletes itself
        self._ttl: dict[Key, Timer] = {}

    def stop(self) -> None:
        super().stop()
        for timer in self._ttl.values():
            timer.cancel()

    # What happens

    def _on_change(self, change: str, resource: Resource, obj: Obj, old: Obj | None) -> None:
        metadata = obj["metadata"]
        if resource is VOLCANO_JOBS:
            self._notice((metadata["namespace"], metadata["name"]), Happening())
            return
        if resource not in (PODS, VOLCANO_PODGROUPS):
            return
        owner = next((each for each in metadata.get("ownerReferences") or [] if each.get("controller")), None)
        if owner is None or owner.get("kind") != "Job" or owner.get("apiVersion") != VOLCANO_JOBS.api_version:
            return
        happening = Happening()
        if resource is PODS:
            pods = self._pods.setdefault(owner["uid"], {})
            if change == "DELETED":
                pods.pop(metadata["uid"], None)
                if not pods:
                    del self._pods[owner["uid"]]
            else:
                pods[metadata["uid"]] = obj
            happening = self._happening(change, obj, old, pods)
        self._notice((metadata["namespace"], owner["name"]), happening)

    def _happening(self, change: str, pod: Obj, old: Obj | None, pods: dict[str, Obj]) -> Happening:
        uid, task = pod["metadata"]["uid"], task_of(pod)
        before = phase_of(old) if old else ""
        event, code = "", None
        if uid in self._killed:
            self._killed -= {uid} if change == "DELETED" else set()
            return Happening()
        if change == "DELETED":
            event = "" if phase_of(pod) == "Succeeded" else "PodEvicted"
        elif phase_of(pod) == "Failed" and before != "Failed" and not is_leaving(pod):
            event, code = "PodFailed", exit_code_of(pod)
        elif phase_of(pod) == "Succeeded" and before != "Succeeded":
            of_task = [each for each in pods.values() if task_of(each) == task]
            event = "TaskCompleted" if all(phase_of(each) == "Succeeded" for each in of_task) else ""
        return Happening(event, task, pod["metadata"]["name"], code, version_of(pod))

    def _notice(self, key: Key, happening: Happening) -> None:
        self._clock.call_later(NOTICE.draw(self._rng), self._enqueue, key, happening)

    def _enqueue(self, key: Key, happening: Happening) -> None:
        due = self._due.setdefault(key, [])
        if happening not in due:
            due.append(happening)
        self._work_on(key)

    def _work_on(self, key: Key) -> None:
        if key in self._busy or not self._due.get(key):
            return
        happening = self._due[key].pop(0)
        obj = self._store.find(VOLCANO_JOBS, *key)
        if obj is None or is_leaving(obj):
            self._due.pop(key, None)
            return
        self._busy.add(key)
        self._step(key, self._execute(VolcanoJob(obj), happening))

    def _step(self, key: Key, steps: Steps) -> None:
        try:
            pause = next(steps)
        except StopIteration:
            pass
        except ApiError:
            self._clock.call_later(_RETRY_SECONDS, self._enqueue, key, Happening())
        else:
            self._clock.call_later(pause, self._step, key, steps)
            return
        self._busy.discard(key)
        self._work_on(key)

    # What is done

    def _execute(self, job: VolcanoJob, happening: Happening) -> Steps:
        action = job.action_for(happening)
        if action != SYNC:
            self._recorder.event(job.object, "Normal", "ExecuteAction", f"Start to execute action {action} ")
        if job.phase in _FINISHED:
            yield from self._finish(job)
        elif job.phase in _ENDING:
            yield from self._end(job, job.phase)
        elif action in _ACTIONS:
            yield from self._end(job, _ACTIONS[action])
        elif action in ("RestartJob", "RestartTask", "RestartPod") and job.phase != "Restarting":
            yield from self._restart(job, action, happening)
        else:
            yield from self._sync(job)

    def _sync(self, job: VolcanoJob) -> Steps:
        """Creates what is missing, once the PodGroup is past Pending, and writes what the pods have become."""
        if not job.phase:
            yield from self._write(job, "Pending")
            job = self._fresh(job)
        if job.problem:
            yield from self._write(job, "Failed")
            return
        group = self._store.find(VOLCANO_PODGROUPS, job.namespace, job.group_name)
        may_create = group is not None and (group.get("status") or {}).get("phase") not in (None, "", "Pending")
        is_stale = job.phase == "Restarting" and group is None and self._rng.random() < _STALE_CACHE
        if group is None and not is_stale:
            yield REQUEST.draw(self._rng)
            self._store.create(VOLCANO_PODGROUPS, job.group(), job.namespace)
        elif group is not None:
            self._tell_unschedulable(job, group)
        if may_create or is_stale:
            yield from self._create_pods(job)
        phase = next_phase(job, self._pods_of(job), job.phase)
        yield from self._write(job, phase)
        if is_stale:
            yield REQUEST.draw(self._rng)
            if self._store.find(VOLCANO_PODGROUPS, job.namespace, job.group_name) is None:
                self._store.create(VOLCANO_PODGROUPS, job.group(), job.namespace)

    def _create_pods(self, job: VolcanoJob) -> Steps:
        """Tries all that are missing, and tells of those that were refused in one Event. Raises ApiError."""
        missing = list(missing_pods(job, self._pods_of(job)))
        refused: list[tuple[str, ApiError]] = []
        for task, index in self._rng.sample(missing, len(missing)):
            yield REQUEST.draw(self._rng)
            pod = job.pod(task, index)
            try:
                self._store.create(PODS, completed_pod(pod, self._rng, self._store), job.namespace)
            except ApiError as error:
                refused.append((pod["metadata"]["name"], error))
        told = [
            f"failed to create pod {name}, err: {in_gos_notation(error)}"
            for name, error in refused
            if error.reason != "AlreadyExists"
        ]
        if told:
            text = f"Error creating pods: [{' '.join(told)}]"
            self._recorder.event(job.object, "Warning", "FailedCreate", text)
        if refused:
            raise refused[0][1]

    def _tell_unschedulable(self, job: VolcanoJob, group: Obj) -> None:
        conditions = (group.get("status") or {}).get("conditions") or []
        if any(each.get("type") == "Scheduled" for each in conditions):
            return
        for each in conditions:
            if each.get("type") == "Unschedulable":
                text = f"PodGroup {job.namespace}:{job.name} unschedulable, reason: {each.get('message', '')}"
                self._recorder.event(job.object, "Warning", "PodGroupPending", text)

    def _restart(self, job: VolcanoJob, action: str, happening: Happening) -> Steps:
        pods = self._pods_of(job)
        if action == "RestartTask":
            pods = [pod for pod in pods if task_of(pod) == happening.task]
        elif action == "RestartPod":
            pods = [pod for pod in pods if pod["metadata"]["name"] == happening.pod]
        yield from self._kill(pods)
        whole = action == "RestartJob"
        status: Obj = {
            "minAvailable": job.min_available,
            "retryCount": job.retries + 1,
            "runningDuration": self._age(job),
            "state": {"phase": "Restarting"},
            "version": job.version + 1 if whole else job.version,
        }
        if pods:
            status["terminating"] = len(pods)
        yield REQUEST.draw(self._rng)
        self._update(job, {key: value for key, value in status.items() if value})
        if whole:
            yield from self._delete_group(job)

    def _kill(self, pods: list[Obj]) -> Steps:
        """Notes on each pod that its controller knows of its end, then deletes it."""
        self._killed |= {pod["metadata"]["uid"] for pod in pods}
        order = self._rng.sample(pods, len(pods))
        for pod in order:
            yield REQUEST.draw(self._rng)
            current = self._store.find(PODS, pod["metadata"]["namespace"], pod["metadata"]["name"])
            if current is not None and current["metadata"]["uid"] == pod["metadata"]["uid"]:
                annotations = {**(current["metadata"].get("annotations") or {}), OUT_OF_SYNC: "true"}
                metadata = {**current["metadata"], "annotations": dict(sorted(annotations.items()))}
                self._store.update(PODS, {**current, "metadata": metadata})
        for pod in order:
            yield REQUEST.draw(self._rng)
            metadata = pod["metadata"]
            try:
                self._store.delete(PODS, metadata["namespace"], metadata["name"], uid=metadata["uid"])
            except ApiError:  # gone already
                continue

    def _end(self, job: VolcanoJob, phase: str) -> Steps:
        """Completes, terminates or aborts the job: what has not ended is deleted, then the phase is final."""
        alive = [pod for pod in self._pods_of(job) if phase_of(pod) not in ("Failed", "Succeeded")]
        yield from self._kill([pod for pod in alive if not is_leaving(pod)])
        yield from self._write(job, phase if self._alive(job) else _ENDING[phase])
        yield from self._delete_group(job)

    def _finish(self, job: VolcanoJob) -> Steps:
        alive = [pod for pod in self._pods_of(job) if phase_of(pod) not in ("Failed", "Succeeded")]
        yield from self._kill([pod for pod in alive if not is_leaving(pod)])
        yield from self._write(job, job.phase)
        yield from self._delete_group(job)
        self._plan_ttl(job)

    def _plan_ttl(self, job: VolcanoJob) -> None:
        ttl = job.spec.get("ttlSecondsAfterFinished")
        key = (job.namespace, job.name)
        if not isinstance(ttl, int) or key in self._ttl:
            return
        since = parse_rfc3339(job.status["state"]["lastTransitionTime"])
        self._ttl[key] = self._clock.call_later(max(0.0, since + ttl - self._clock.now()), self._expire, job)

    def _expire(self, job: VolcanoJob) -> None:
        self._ttl.pop((job.namespace, job.name), None)
        try:
            self._store.delete(VOLCANO_JOBS, job.namespace, job.name, uid=job.uid)
        except ApiError:  # gone already, or another of its name
            return

    def _alive(self, job: VolcanoJob) -> bool:
        return any(phase_of(pod) not in ("Failed", "Succeeded") for pod in self._pods_of(job))

    def _delete_group(self, job: VolcanoJob) -> Steps:
        if self._store.find(VOLCANO_PODGROUPS, job.namespace, job.group_name) is not None:
            yield REQUEST.draw(self._rng)
            if self._store.find(VOLCANO_PODGROUPS, job.namespace, job.group_name) is not None:
                self._store.delete(VOLCANO_PODGROUPS, job.namespace, job.group_name)

    # Helpers

    def _pods_of(self, job: VolcanoJob) -> list[Obj]:
        return list(self._pods.get(job.uid, {}).values())

    def _write(self, job: VolcanoJob, phase: str) -> Steps:
        """Writes the status if it says something new."""
        pods = self._pods_of(job)
        status = counted(job, pods, phase, job.retries, job.version)
        if not job.phase or status != without_times(job.status):
            yield REQUEST.draw(self._rng)
            self._update(job, counted(job, self._pods_of(job), phase, job.retries, job.version))

    def _update(self, job: VolcanoJob, status: Obj) -> None:
        current = self._store.find(VOLCANO_JOBS, job.namespace, job.name)
        if current is None or current["metadata"]["uid"] != job.uid:
            return
        now = rfc3339(self._clock.now())
        stamped = with_times(status, current.get("status") or {}, now)
        self._store.update(VOLCANO_JOBS, {**current, "status": stamped}, "status")

    def _fresh(self, job: VolcanoJob) -> VolcanoJob:
        return VolcanoJob(self._store.get(VOLCANO_JOBS, job.namespace, job.name))

    def _age(self, job: VolcanoJob) -> str:
        """The time since the job's creation, as Go prints it."""
        age = self._clock.now() - parse_rfc3339(job.object["metadata"]["creationTimestamp"])
        minutes, seconds = divmod(age, 60)
        text = f"{seconds:.9f}".rstrip("0").rstrip(".") + "s"
        return f"{int(minutes)}m{text}" if minutes else text
