"""TFJob: TF_CONFIG, and success and failure by chief, or by worker 0 where there is none."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from simcluster.controllers.operator import conditions
from simcluster.controllers.operator.conditions import FAILED, RESTARTING, RUNNING, SUCCEEDED

if TYPE_CHECKING:
    from simcluster.controllers.operator.job import Job, Reconciliation

Obj = dict[str, Any]


def set_cluster_spec(job: Job, template: Obj, replica_type: str, index: int) -> None:
    """Adds TF_CONFIG to the main container of a distributed job's pod."""
    if job.total_replicas <= 1:
        return
    cluster = {
        kind.lower(): [f"{job.replica_name(kind, each)}.{job.namespace}.svc:{job.port(kind)}" for each in range(count)]
        for kind, count in sorted((kind, spec.replicas) for kind, spec in job.replicas.items())
        if kind != "Evaluator"
    }
    config = {
        "cluster": cluster,
        "task": {"type": replica_type.lower(), "index": index},
        "environment": "cloud",
    }
    for container in template["spec"]["containers"]:
        if container["name"] == job.kind.container:
            value = json.dumps(config, separators=(",", ":"))
            container["env"] = [*(container.get("env") or []), {"name": "TF_CONFIG", "value": value}]


def update_status(work: Reconciliation) -> None:
    """Reads Running, Succeeded, Restarting and Failed from the counted replicas, type by type in canonical order."""
    job = work.job
    worker_0_completed = _worker_0_completed(work)
    restarting = conditions.find(work.status, RESTARTING)
    full_name = f"TFJob {job.namespace}/{job.name}"
    for replica_type, spec in job.replicas.items():
        if job.has_master and replica_type in job.kind.master_types:
            if work.count(replica_type, "active"):
                work.set_condition(RUNNING, f"{full_name} is running.")
            if spec.replicas == work.count(replica_type, "succeeded"):
                _succeed(work, full_name)
        elif not job.has_master and replica_type == "Worker":
            done = spec.replicas == work.count(replica_type, "succeeded")
            if done or (worker_0_completed and job.spec.get("successPolicy") != "AllWorkers"):
                _succeed(work, full_name)
            elif work.count(replica_type, "active"):
                work.set_condition(RUNNING, f"{full_name} is running.")
        if work.count(replica_type, "failed"):
            _note_failures(work, replica_type, restarting, full_name)


def _succeed(work: Reconciliation, full_name: str) -> None:
    message = f"{full_name} successfully completed."
    work.tell("TFJobSucceeded", message)
    work.complete()
    work.set_condition(SUCCEEDED, message)


def _note_failures(work: Reconciliation, replica_type: str, restarting: Obj | None, full_name: str) -> None:
    """Failed pods of one type: a restart that has been noted pushes Running out again, else the job has failed."""
    if restarting is not None:
        work.set_condition(RESTARTING, restarting["message"], reason=restarting["reason"])
        return
    if work.job.spec.get("enableDynamicWorker") and replica_type == "Worker":
        return
    failed = work.count(replica_type, "failed")
    message = f"{full_name} has failed because {failed} {replica_type} replica(s) failed."
    work.tell("TFJobFailed", message)
    work.complete()
    work.set_condition(FAILED, message)


def _worker_0_completed(work: Reconciliation) -> bool:
    """Worker 0's pod has succeeded and its main container exited 0; True as well for a job without workers."""
    if "Worker" not in work.job.replicas:
        return True
    name = work.job.replica_name("Worker", 0)
    for pod in work.pods:
        if pod["metadata"]["name"] != name or (pod.get("status") or {}).get("phase") != "Succeeded":
            continue
        for status in pod["status"].get("containerStatuses") or []:
            if status["name"] == work.job.kind.container:
                return bool((status["state"].get("terminated") or {}).get("exitCode", 1) == 0)
    return False
