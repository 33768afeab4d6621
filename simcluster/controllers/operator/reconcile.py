"""One reconciliation of a training job, as the operator's common controller does it.

It is a generator: each value is the time in seconds that the next request to the API server takes, so that other
parts of the cluster act in between and writes appear one after the other, as they do in reality.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from simcluster.clock import parse_rfc3339
from simcluster.controllers.delays import REQUEST
from simcluster.controllers.operator import conditions, gang, replicas
from simcluster.controllers.operator.conditions import CREATED, FAILED, RUNNING, SUCCEEDED, SUSPENDED
from simcluster.controllers.operator.job import Reconciliation

Obj = dict[str, Any]
Steps = Iterator[float]

_ENDED = ("Failed", "Succeeded")


def reconcile(work: Reconciliation, gang_scheduler: str, retries: int) -> Steps:
    """Brings the job's pods, services, PodGroup and status one step on.

    `retries`: how often this job has just failed to reconcile. Raises ApiError; the job is then tried again.
    """
    kind = work.job.kind.name
    if not work.status.get("conditions"):
        work.set_condition(CREATED, f"{kind} {work.job.name} is created.")
        created = work.status["conditions"][-1]
        created["lastTransitionTime"] = created["lastUpdateTime"] = work.job.object["metadata"]["creationTimestamp"]
    if work.job.problem:
        _reject(work)
    elif conditions.is_finished(work.status):
        yield from _clean_up(work, gang_scheduler)
        _count_active_as_succeeded(work.status)
    elif work.job.is_suspended:
        yield from _suspend(work, gang_scheduler)
    else:
        if conditions.is_true(work.status, SUSPENDED):
            message = f"{kind} {work.job.name} is resumed."
            work.set_condition(SUSPENDED, message, is_on=False, reason=f"{kind}Resumed")
            work.status["startTime"] = work.now
            work.tell(f"{kind}Resumed", message)
        _tell_abnormal_pods(work)
        reason = _why_over(work, retries)
        if reason:
            yield from _fail(work, reason, gang_scheduler)
        else:
            yield from _run(work, gang_scheduler)
    if work.status != work.before:
        yield from _write_status(work)


def _run(work: Reconciliation, gang_scheduler: str) -> Steps:
    """The normal case: PodGroup, pods and services by replica type in any order, then the status."""
    if gang_scheduler:
        yield from gang.sync_pod_group(work, gang_scheduler)
        if gang.pods_wait(work, gang_scheduler):
            work.status["lastReconcileTime"] = work.now
            return
    for replica_type, spec in work.in_random_order():
        yield from work.job.kind.reconcile_pods(work, replica_type, spec, gang_scheduler)
        yield from replicas.reconcile_services(work, replica_type, spec)
    work.status.setdefault("startTime", work.now)
    work.job.kind.update_status(work)


def _reject(work: Reconciliation) -> None:
    """A job that cannot be run fails at once, and says why."""
    if not conditions.is_true(work.status, FAILED):
        kind = work.job.kind.name
        message = f"{kind} {work.job.name} is not valid because {work.job.problem}"
        work.tell(f"{kind}FailedValidation", message, "Warning")
        work.set_condition(FAILED, message, reason=f"{kind}FailedValidation")


def _suspend(work: Reconciliation, gang_scheduler: str) -> Steps:
    yield from _clean_up(work, gang_scheduler)
    for status in (work.status.get("replicaStatuses") or {}).values():
        status.pop("active", None)
    kind = work.job.kind.name
    message, reason = f"{kind} {work.job.name} is suspended.", f"{kind}Suspended"
    if conditions.is_true(work.status, RUNNING):
        work.set_condition(RUNNING, message, is_on=False, reason=reason)
    if not conditions.is_true(work.status, SUSPENDED):
        work.set_condition(SUSPENDED, message)
    work.tell(reason, message)


def _fail(work: Reconciliation, reason: str, gang_scheduler: str) -> Steps:
    """The job is over its limit or deadline: everything goes, whatever cleanPodPolicy says, then Failed."""
    work.complete()
    yield from _delete_pods(work)
    yield from _expire(work)
    if gang_scheduler:
        yield from gang.delete_pod_group(work, gang_scheduler)
    work.tell(f"{work.job.kind.name}{FAILED}", reason)
    work.set_condition(FAILED, reason)


def _clean_up(work: Reconciliation, gang_scheduler: str) -> Steps:
    yield from _delete_pods(work)
    if gang_scheduler:
        yield from gang.delete_pod_group(work, gang_scheduler)
    yield from _expire(work)


def _delete_pods(work: Reconciliation) -> Steps:
    """Pods and their services; of a finished job those that cleanPodPolicy names (Running means pending ones too)."""
    finished, policy = conditions.is_finished(work.status), work.job.clean_pod_policy
    if finished and policy == "None":
        return
    for pod in work.rng.sample(work.pods, len(work.pods)):
        if finished and policy == "Running" and pod["status"].get("phase") not in ("Running", "Pending"):
            continue
        yield from replicas.delete_pod(work, pod)
        yield from replicas.delete_service(work, pod["metadata"]["name"])


def _expire(work: Reconciliation) -> Steps:
    """Deletes the job when its time to live after completion is over."""
    left = seconds_to_live(work)
    if left is None or left > 0:
        return
    yield REQUEST.draw(work.rng)
    job = work.job
    if work.store.find(job.kind.resource, job.namespace, job.name) is not None:
        work.store.delete(job.kind.resource, job.namespace, job.name, uid=job.uid)
        work.tell(job.kind.deleted_job_reason, f"Deleted job: {job.name}")


def seconds_to_live(work: Reconciliation) -> float | None:
    """Until the job is to be deleted; None for a job without TTL, suspended, or without a completionTime."""
    ttl, completed = work.job.policy.get("ttlSecondsAfterFinished"), work.status.get("completionTime")
    if ttl is None or completed is None or work.job.is_suspended:
        return None
    return float(parse_rfc3339(completed) + ttl - work.clock.now())


def seconds_to_deadline(work: Reconciliation) -> float | None:
    """Until the job's activeDeadlineSeconds are over; None without one or before the start."""
    deadline, start = work.job.policy.get("activeDeadlineSeconds"), work.status.get("startTime")
    if deadline is None or start is None:
        return None
    return float(parse_rfc3339(start) + deadline - work.clock.now())


def _why_over(work: Reconciliation, retries: int) -> str:
    """Why the job is to be failed now: its backoff limit or its deadline; "" if it is not."""
    limit = work.job.policy.get("backoffLimit")
    if limit is not None and (_has_new_failure(work, retries, limit) or _restarts_reach(work, limit)):
        return f"Job {work.job.name} has failed because it has reached the specified backoff limit"
    left = seconds_to_deadline(work)
    if left is not None and left <= 0:
        return f"Job {work.job.name} has failed because it was active longer than specified deadline"
    return ""


def _has_new_failure(work: Reconciliation, retries: int, limit: int) -> bool:
    phases = [pod["status"].get("phase") for pod in work.pods]
    before = sum(status.get("failed", 0) for status in (work.status.get("replicaStatuses") or {}).values())
    is_new = phases.count("Failed") > before
    return is_new and len(_active_pods(work)) != work.job.total_replicas and retries + 1 > limit


def _restarts_reach(work: Reconciliation, limit: int) -> bool:
    """Whether in-place restarts of the running pods, init containers included, add up to the limit (0: to more)."""
    policies = {name.lower(): spec.restart_policy for name, spec in work.job.replicas.items()}
    total = 0
    for pod in work.pods:
        replica_type = pod["metadata"]["labels"].get("training.kubeflow.org/replica-type", "")
        if pod["status"].get("phase") != "Running" or policies.get(replica_type, "Never") == "Never":
            continue
        statuses = (pod["status"].get("initContainerStatuses") or []) + (pod["status"].get("containerStatuses") or [])
        total += sum(status.get("restartCount", 0) for status in statuses)
    return total > 0 if limit == 0 else total >= limit


def _active_pods(work: Reconciliation) -> list[Obj]:
    return [
        pod
        for pod in work.pods
        if pod["status"].get("phase") not in _ENDED and "deletionTimestamp" not in pod["metadata"]
    ]


def _tell_abnormal_pods(work: Reconciliation) -> None:
    """Warnings on the job about pods that are not well: a failed or waiting container, else the newest condition."""
    for pod in _active_pods(work):
        name, status = pod["metadata"]["name"], pod["status"]
        containers = status.get("containerStatuses") or status.get("initContainerStatuses") or []
        for each in containers:
            _tell_abnormal_container(work, name, each)
        known = status.get("conditions") or []
        if containers or not known:
            continue
        newest = max(known, key=lambda each: each["lastTransitionTime"])
        if newest["status"] != "True":
            message = f"Error pod {name} condition message: {newest.get('message', '')}"
            work.tell(newest.get("reason", ""), message, "Warning")


def _tell_abnormal_container(work: Reconciliation, pod: str, status: Obj) -> None:
    terminated, waiting = status["state"].get("terminated"), status["state"].get("waiting")
    about = f"Error pod {pod} container {status['name']}"
    if terminated and terminated["exitCode"] != 0:
        message = f"{about} exitCode: {terminated['exitCode']} terminated message: {terminated.get('message', '')}"
        work.tell(terminated.get("reason", ""), message, "Warning")
    if waiting and waiting.get("message"):
        work.tell(waiting.get("reason", ""), f"{about} waiting message: {waiting['message']}", "Warning")


def _count_active_as_succeeded(status: Obj) -> None:
    if not conditions.is_true(status, SUCCEEDED):
        return
    for counts in (status.get("replicaStatuses") or {}).values():
        active = counts.pop("active", 0)
        if active:
            counts["succeeded"] = counts.get("succeeded", 0) + active


def _write_status(work: Reconciliation) -> Steps:
    """Writes the status against the version the job was read at: a conflict makes the job be tried again."""
    yield REQUEST.draw(work.rng)
    job = work.job
    status = dict(sorted(work.status.items()))
    if "replicaStatuses" in status:
        status["replicaStatuses"] = dict(sorted(status["replicaStatuses"].items()))
    if work.store.find(job.kind.resource, job.namespace, job.name) is not None:
        work.store.update(job.kind.resource, {**job.object, "status": status}, "status")
