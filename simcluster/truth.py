"""What really happened, in the form of the recordings' truth.json: read from the writes, not from a watch.

Every write is known here together with who made it, so that any report about a run can be judged.
"""

import copy
import itertools
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from simcluster.actors import Actor
from simcluster.clock import rfc3339_micro
from simcluster.history import Change
from simcluster.resources import PODS, TRAINING_JOBS, VOLCANO_JOBS, Resource
from simcluster.store import Store

Obj = dict[str, Any]
_PREFIX = "training.kubeflow.org/replica-"
_AT_ONCE = 6.0  # seconds within which a controller follows its spec
_EVICTED = "EvictionByEvictionAPI"
_MAIN_CONTAINERS = {
    "TFJob": "tensorflow",
    "PyTorchJob": "pytorch",
    "MPIJob": "mpi",
    "XGBoostJob": "xgboost",
    "PaddleJob": "paddle",
    "JAXJob": "jax",
}


@dataclass
class _Pod:
    uid: str
    created_at: float
    created_by: str
    main: str = ""
    exits: dict[str, Obj] = field(default_factory=dict)  # by run of the container
    other_exits: dict[str, Obj] = field(default_factory=dict)
    restarts: int = 0
    shown_restarts: int = 0
    status_reason: str | None = None
    disruption: str | None = None
    deletes: list[Obj] = field(default_factory=list)
    told_to_go_at: float | None = None

    def told(self) -> Obj:
        return {
            "uid": self.uid,
            "created_at": rfc3339_micro(self.created_at),
            "created_by": self.created_by,
            "exits": list(self.exits.values()),
            "other_exits": list(self.other_exits.values()),
            "restart_count": self.restarts,
            "status_reason": self.status_reason,
            "disruption": self.disruption,
            "deletes": self.deletes,
        }


@dataclass
class _Job:
    resource: Resource
    name: str
    namespace: str
    uid: str
    deleted_by: str | None = None
    spans: list[list[float | None]] = field(default_factory=list)
    conditions: list[str] = field(default_factory=list)
    suspended_at: list[float] = field(default_factory=list)
    scaled: list[tuple[float, dict[str, int]]] = field(default_factory=list)
    restarts: int = 0
    replicas: dict[tuple[str, int], list[_Pod]] = field(default_factory=dict)


class TruthLog:
    """Follows a store from its construction on."""

    def __init__(self, store: Store | None = None) -> None:
        self._jobs: dict[str, _Job] = {}
        self._pods: dict[str, _Pod] = {}
        self._stop = store.subscribe_changes(self.note) if store is not None else None

    def close(self) -> None:
        if self._stop is not None:
            self._stop()

    def note(self, change: Change) -> None:
        if change.resource is PODS:
            self._note_pod(change)
        elif change.resource in TRAINING_JOBS or change.resource is VOLCANO_JOBS:
            self._note_job(change)

    def told(self, scenario: str = "") -> Obj:
        """The document: {"scenario", "jobs": [...]}, jobs in the order of their creation."""
        return {"scenario": scenario, "jobs": [_told(job) for job in self._jobs.values()]}

    def _note_job(self, change: Change) -> None:
        obj = change.object
        metadata, status = obj["metadata"], obj.get("status") or {}
        job = self._jobs.get(metadata["uid"])
        if job is None:
            job = _Job(change.resource, metadata["name"], metadata["namespace"], metadata["uid"])
            self._jobs[job.uid] = job
        if change.type == "DELETED":
            job.deleted_by = job.deleted_by or _who(change.actor)
            return
        if "deletionTimestamp" in metadata and job.deleted_by is None:
            job.deleted_by = _who(change.actor)
        wanted = _wanted_replicas(obj)
        if not job.scaled or job.scaled[-1][1] != wanted:
            job.scaled.append((change.at, wanted))
        retries = status.get("retryCount")
        job.restarts = max(job.restarts, retries if isinstance(retries, int) else 0)
        self._note_conditions(job, status.get("conditions") or [], change.at)

    @staticmethod
    def _note_conditions(job: _Job, conditions: Iterable[Any], at: float) -> None:
        if job.resource is VOLCANO_JOBS:
            return
        found = [f"{item.get('type')}={item.get('status')}" for item in conditions if isinstance(item, dict)]
        if "Suspended=True" in found and "Suspended=True" not in job.conditions:
            job.suspended_at.append(at)
        is_open = bool(job.spans) and job.spans[-1][1] is None
        if "Restarting=True" in found and not is_open:
            job.spans.append([at, None])
        elif "Restarting=True" not in found and is_open:
            job.spans[-1][1] = at
        job.conditions = found

    def _note_pod(self, change: Change) -> None:
        obj = change.object
        metadata = obj["metadata"]
        pod = self._pods.get(metadata["uid"])
        if pod is None:
            pod = _Pod(metadata["uid"], change.at, change.actor.user)
            self._pods[pod.uid] = pod
            self._assign(pod, obj)
        if change.verb == "delete":
            pod.told_to_go_at = pod.told_to_go_at or change.at
            self._note_delete(pod, change)
        status = obj.get("status") or {}
        pod.status_reason = status.get("reason") or pod.status_reason
        for condition in status.get("conditions") or []:
            if condition.get("type") == "DisruptionTarget" and condition.get("status") == "True":
                pod.disruption = pod.disruption or condition.get("reason")
        _note_containers(pod, status)
        if change.type == "DELETED":
            del self._pods[pod.uid]

    @staticmethod
    def _note_delete(pod: _Pod, change: Change) -> None:
        """One entry per request: the removal that follows a mark at once is part of the same one."""
        who = _who(change.actor)
        if pod.disruption == _EVICTED and change.type == "MODIFIED" and who == "person":
            who = "person (eviction)"
        entry = {"at": rfc3339_micro(change.at), "by": who}
        if change.type != "DELETED" or not pod.deletes or pod.deletes[-1] != entry:
            pod.deletes.append(entry)

    def _assign(self, pod: _Pod, obj: Obj) -> None:
        """Puts a new pod under its job's replica; pods of no job are none of this log's business."""
        metadata = obj["metadata"]
        owners = [owner["uid"] for owner in metadata.get("ownerReferences") or []]
        job = next((self._jobs[uid] for uid in owners if uid in self._jobs), None)
        if job is None:
            return
        labels = metadata.get("labels") or {}
        if job.resource is VOLCANO_JOBS:
            kind, index = labels.get("volcano.sh/task-spec", ""), labels.get("volcano.sh/task-index", "0")
        else:
            kind, index = labels.get(f"{_PREFIX}type", ""), labels.get(f"{_PREFIX}index", "0")
        names = [str(item.get("name")) for item in (obj.get("spec") or {}).get("containers") or []]
        wanted = _MAIN_CONTAINERS.get(job.resource.kind, "")
        pod.main = wanted if wanted in names else (names or [""])[0]
        replica = str(kind).lower(), int(index) if str(index).isdigit() else 0
        job.replicas.setdefault(replica, []).append(pod)


def _note_containers(pod: _Pod, status: Obj) -> None:
    containers = status.get("containerStatuses") or []
    for container in containers:
        is_main = container.get("name") == pod.main
        if is_main:
            pod.restarts = max(pod.restarts, container.get("restartCount") or 0)
        runs = pod.exits if is_main else pod.other_exits
        for state in (container.get("lastState") or {}, container.get("state") or {}):
            ended = state.get("terminated")
            if not ended:
                continue
            run = f"{container.get('name')} {ended.get('containerID') or ended.get('finishedAt')}"
            runs[run] = {
                "container": container.get("name"),
                "exit_code": ended.get("exitCode"),
                "reason": ended.get("reason"),
            }
    shown = _initialising(status) or containers
    if shown:
        pod.shown_restarts = sum(item.get("restartCount") or 0 for item in shown)


def _initialising(status: Obj) -> list[Obj]:
    """The init containers, while one of them has not ended well yet: kubectl then shows their restarts."""
    containers = status.get("initContainerStatuses") or []
    done = [((item.get("state") or {}).get("terminated") or {}).get("exitCode") == 0 for item in containers]
    return [] if all(done) else containers


def _who(actor: Actor) -> str:
    """Whoever came over HTTP is a person; everybody else is named."""
    return "person" if actor.agent else actor.user


def _wanted_replicas(obj: Obj) -> dict[str, int]:
    spec = obj.get("spec") or {}
    specs = next((value for key, value in spec.items() if key.endswith("ReplicaSpecs")), None)
    if not isinstance(specs, dict):
        specs = {str(task.get("name")): task for task in spec.get("tasks") or [] if isinstance(task, dict)}
    wanted = {}
    for kind, replica in specs.items():
        count = replica.get("replicas") if isinstance(replica, dict) else None
        wanted[kind.lower()] = count if isinstance(count, int) else 1
    return wanted


def _told(job: _Job) -> Obj:
    replicas = [_replica_told(job, key, pods) for key, pods in sorted(job.replicas.items())]
    told: Obj = {
        "kind": job.resource.kind,
        "name": job.name,
        "namespace": job.namespace,
        "uid": job.uid,
        "deleted_by": job.deleted_by,
    }
    if job.resource is VOLCANO_JOBS:
        told |= {"api_group": job.resource.group, "job_restarts": job.restarts}
    else:
        told["restarting_condition_spans"] = [
            [rfc3339_micro(moment) if moment is not None else None for moment in span] for span in job.spans
        ]
        told["final_conditions"] = copy.copy(job.conditions)
    told["true_restarts"] = sum(replica["true_restarts"] for replica in replicas)
    return {**told, "replicas": replicas}


def _replica_told(job: _Job, key: tuple[str, int], pods: list[_Pod]) -> Obj:
    recreations = sum(not _is_explained(job, key, old, new) for old, new in itertools.pairwise(pods))
    in_place = sum(pod.restarts for pod in pods)
    last = pods[-1]
    return {
        "type": key[0],
        "index": key[1],
        "incarnations": len(pods),
        "recreations": recreations,
        "in_place_restarts": in_place,
        "true_restarts": recreations + in_place,
        "kubectl_restarts": last.shown_restarts,
        "hidden_restarts": max(0, recreations + in_place - last.restarts),
        "pods": [pod.told() for pod in pods],
    }


def _is_explained(job: _Job, key: tuple[str, int], old: _Pod, new: _Pod) -> bool:
    """Whether a pod's successor is no restart: the job was suspended in between, or scaled down below this index."""
    if any(old.created_at < at <= new.created_at for at in job.suspended_at):
        return True
    kind, index = key
    return any(
        old.created_at < at <= new.created_at
        and wanted.get(kind, index + 1) <= index < before.get(kind, 0)
        and not _was_spared(job, key, old, at)
        for (_, before), (at, wanted) in itertools.pairwise(job.scaled)
    )


def _was_spared(job: _Job, key: tuple[str, int], pod: _Pod, scaled_at: float) -> bool:
    """Whether a scale-down had been undone for so long when the pod was told to go that it cannot be the reason."""
    kind, index = key
    undone = next((at for at, wanted in job.scaled if at > scaled_at and wanted.get(kind, 0) > index), None)
    return undone is not None and pod.told_to_go_at is not None and pod.told_to_go_at > undone + _AT_ONCE
