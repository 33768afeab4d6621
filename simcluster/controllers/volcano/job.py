"""A Volcano Job as its controller reads it: tasks, policies, and the objects that belong to it. Pure functions."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from simcluster.controllers import quantity
from simcluster.controllers.checks import template_problem
from simcluster.controllers.podgroup import GROUP_ANNOTATION
from simcluster.resources import VOLCANO_JOBS

Obj = dict[str, Any]

DEFAULT_MAX_RETRY = 3
SYNC = "SyncJob"
OUT_OF_SYNC = "volcano.sh/controller-out-of-sync"
_PREFIX = "volcano.sh"


@dataclass(frozen=True)
class Task:
    name: str
    replicas: int
    min_available: int
    template: Obj
    policies: list[Obj]


@dataclass(frozen=True)
class Happening:
    """What has happened to a pod of a job: PodFailed, PodEvicted, TaskCompleted; or "" for any other change."""

    event: str = ""
    task: str = ""
    pod: str = ""
    exit_code: int | None = None
    version: int = 0


class VolcanoJob:
    """Read access to a job object, with the defaults of Volcano's admission."""

    def __init__(self, obj: Obj) -> None:
        self.object = obj
        metadata, spec = obj["metadata"], obj.get("spec") or {}
        self.name: str = metadata["name"]
        self.namespace: str = metadata["namespace"]
        self.uid: str = metadata["uid"]
        self.spec: Obj = spec
        self.tasks = [_task(each, index) for index, each in enumerate(spec.get("tasks") or [])]
        self.min_available = _count(spec.get("minAvailable"), sum(task.replicas for task in self.tasks))
        self.max_retry = _count(spec.get("maxRetry"), DEFAULT_MAX_RETRY)
        self.queue = str(spec.get("queue") or "default")
        self.status: Obj = obj.get("status") or {}

    @property
    def phase(self) -> str:
        return str((self.status.get("state") or {}).get("phase") or "")

    @property
    def version(self) -> int:
        return _count(self.status.get("version"), 0)

    @property
    def retries(self) -> int:
        return _count(self.status.get("retryCount"), 0)

    @property
    def group_name(self) -> str:
        return f"{self.name}-{self.uid}"

    @property
    def total(self) -> int:
        return sum(task.replicas for task in self.tasks)

    @property
    def problem(self) -> str:
        """Why this job cannot be run; "" if it can."""
        if not self.tasks:
            return "No task specified in job spec"
        for task in self.tasks:
            problem = template_problem(task.template)
            if problem:
                return f"spec.task[{task.name}].{problem}"
        return ""

    @property
    def owner_reference(self) -> Obj:
        return {
            "apiVersion": VOLCANO_JOBS.api_version,
            "kind": VOLCANO_JOBS.kind,
            "name": self.name,
            "uid": self.uid,
            "controller": True,
            "blockOwnerDeletion": True,
        }

    def action_for(self, happening: Happening) -> str:
        """What the policies, the task's before the job's, say about an event; SyncJob if nothing.

        What belongs to an earlier version of the job is over already.
        """
        if not happening.event or happening.version < self.version:
            return SYNC
        own = next((task.policies for task in self.tasks if task.name == happening.task), [])
        for policy in (*own, *(self.spec.get("policies") or [])):
            events = [policy.get("event"), *(policy.get("events") or [])]
            if happening.event in events or "*" in events:
                return str(policy.get("action") or SYNC)
            code = policy.get("exitCode")
            if code is not None and happening.event == "PodFailed" and code == happening.exit_code:
                return str(policy.get("action") or SYNC)
        return SYNC

    # Objects

    def group(self) -> Obj:
        metadata = {
            "name": self.group_name,
            "annotations": self.object["metadata"].get("annotations") or {},
            "ownerReferences": [self.owner_reference],
        }
        spec: Obj = {
            "minMember": self.min_available,
            "minResources": self._min_resources(),
            "minTaskMember": {task.name: task.min_available for task in self.tasks},
        }
        if self.spec.get("priorityClassName"):
            spec["priorityClassName"] = self.spec["priorityClassName"]
        return {"metadata": metadata, "spec": {**spec, "queue": self.queue}, "status": {}}

    def _min_resources(self) -> dict[str, str]:
        """What the first `minAvailable` pods ask for, with their number and limits as a quota counts them."""
        left = self.min_available
        total: dict[str, int] = {}
        for task in self.tasks:
            count = min(left, task.replicas)
            left -= count
            for container in (task.template.get("spec") or {}).get("containers") or []:
                resources = container.get("resources") or {}
                limits, requests = (quantity.amounts(resources.get(part)) for part in ("limits", "requests"))
                quantity.add(total, {f"limits.{name}": amount for name, amount in limits.items()}, count)
                quantity.add(total, {f"requests.{name}": amount for name, amount in requests.items()}, count)
                quantity.add(total, requests, count)
        pods = str(self.min_available)
        shown = {name: quantity.printed(name.rpartition(".")[2], amount) for name, amount in total.items()}
        return dict(sorted({**shown, "count/pods": pods, "pods": pods}.items()))

    def pod_name(self, task: Task, index: int) -> str:
        return f"{self.name}-{task.name}-{index}"

    def pod(self, task: Task, index: int) -> Obj:
        """A task's pod, before the API server's defaults."""
        template = copy.deepcopy(task.template)
        metadata = template.get("metadata") or {}
        spec = template["spec"]
        spec.setdefault("schedulerName", self.spec.get("schedulerName") or "volcano")
        spec.setdefault("restartPolicy", "OnFailure")
        common = {f"{_PREFIX}/job-name": self.name, f"{_PREFIX}/queue-name": self.queue}
        common |= {f"{_PREFIX}/task-index": str(index), f"{_PREFIX}/task-spec": task.name}
        labels = {**(metadata.get("labels") or {}), **common, f"{_PREFIX}/job-namespace": self.namespace}
        annotations = {
            **(metadata.get("annotations") or {}),
            **common,
            GROUP_ANNOTATION: self.group_name,
            f"{_PREFIX}/job-retry-count": str(self.retries),
            f"{_PREFIX}/job-version": str(self.version),
            f"{_PREFIX}/template-uid": f"{self.name}-{task.name}",
        }
        return {
            "metadata": {
                "name": self.pod_name(task, index),
                "labels": dict(sorted(labels.items())),
                "annotations": dict(sorted(annotations.items())),
                "ownerReferences": [self.owner_reference],
                "finalizers": list(metadata.get("finalizers") or []),
            },
            "spec": spec,
        }


def _task(task: Obj, index: int) -> Task:
    replicas = _count(task.get("replicas"), 1)
    return Task(
        str(task.get("name") or f"default{index}"),
        replicas,
        _count(task.get("minAvailable"), replicas),
        task.get("template") or {},
        [each for each in task.get("policies") or [] if isinstance(each, dict)],
    )


def _count(value: Any, default: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else default


# Pods and status


def version_of(pod: Obj) -> int:
    text = (pod["metadata"].get("annotations") or {}).get(f"{_PREFIX}/job-version", "")
    return int(text) if text.isdecimal() else 0


def task_of(pod: Obj) -> str:
    return str((pod["metadata"].get("labels") or {}).get(f"{_PREFIX}/task-spec", ""))


def is_leaving(pod: Obj) -> bool:
    return "deletionTimestamp" in pod["metadata"]


def phase_of(pod: Obj) -> str:
    return str((pod.get("status") or {}).get("phase") or "Pending")


def exit_code_of(pod: Obj) -> int | None:
    """The first exit code that is not 0."""
    for status in (pod.get("status") or {}).get("containerStatuses") or []:
        terminated = (status.get("state") or {}).get("terminated")
        if terminated and terminated.get("exitCode"):
            return int(terminated["exitCode"])
    return None


def counted(job: VolcanoJob, pods: list[Obj], phase: str, retries: int, version: int) -> Obj:
    """The status that the pods make, without conditions and times; what is 0 is left out."""
    alive = [pod for pod in pods if not is_leaving(pod)]
    phases = Counter(phase_of(pod) for pod in alive)
    status: Obj = {name.lower(): phases[name] for name in ("Pending", "Running", "Succeeded", "Failed", "Unknown")}
    status |= {"terminating": len(pods) - len(alive), "retryCount": retries, "version": version}
    status = {key: value for key, value in status.items() if value}
    status |= {"minAvailable": job.min_available, "state": {"phase": phase}}
    tasks = {task: Counter(phase_of(pod) for pod in alive if task_of(pod) == task) for task in map(task_of, alive)}
    if tasks:
        status["taskStatusCount"] = {name: {"phase": dict(sorted(counts.items()))} for name, counts in tasks.items()}
    return status


def with_times(status: Obj, before: Obj, now: str) -> Obj:
    """The status with its times and conditions: the newest last, each phase once."""
    phase = status["state"]["phase"]
    others = [each for each in before.get("conditions") or [] if each.get("status") != phase]
    conditions = [*others, {"lastTransitionTime": now, "status": phase}]
    stamped = {**status, "conditions": conditions, "state": {"lastTransitionTime": now, "phase": phase}}
    return dict(sorted(stamped.items()))


def without_times(status: Obj) -> Obj:
    shown = {key: value for key, value in status.items() if key not in ("conditions", "runningDuration")}
    return {**shown, "state": {"phase": (status.get("state") or {}).get("phase")}}


def next_phase(job: VolcanoJob, pods: list[Obj], phase: str) -> str:
    """The phase that follows from the pods, in a sync."""
    alive = [pod for pod in pods if not is_leaving(pod)]
    counts = Counter(phase_of(pod) for pod in alive)
    if phase == "Restarting":
        return _after_restart(job, len(pods) - len(alive))
    started = counts["Running"] + counts["Succeeded"] + counts["Failed"]
    if phase == "Pending":
        return "Running" if alive and started >= job.min_available else phase
    if phase != "Running":
        return phase
    min_success = job.spec.get("minSuccess")
    if isinstance(min_success, int) and counts["Succeeded"] >= min_success:
        return "Completed"
    if job.total == 0 or counts["Succeeded"] + counts["Failed"] < job.total:
        return phase
    enough = counts["Succeeded"] >= (min_success if isinstance(min_success, int) else job.min_available)
    return "Completed" if enough and all(_has_succeeded(task, alive) for task in job.tasks) else "Failed"


def _after_restart(job: VolcanoJob, terminating: int) -> str:
    if job.retries >= job.max_retry:
        return "Failed"
    return "Pending" if job.total - terminating >= job.min_available else "Restarting"


def _has_succeeded(task: Task, pods: list[Obj]) -> bool:
    succeeded = sum(task_of(pod) == task.name and phase_of(pod) == "Succeeded" for pod in pods)
    return succeeded >= task.min_available


def missing_pods(job: VolcanoJob, pods: list[Obj]) -> Iterator[tuple[Task, int]]:
    """Task and index of the pods that are to be created: those of which no pod, not even a leaving one, exists."""
    names = {pod["metadata"]["name"] for pod in pods}
    for task in job.tasks:
        for index in range(task.replicas):
            if job.pod_name(task, index) not in names:
                yield task, index
