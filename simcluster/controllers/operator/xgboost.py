"""XGBoostJob: Rabit's environment; the master decides success, and any failure outside ExitCode fails the job."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simcluster.controllers.operator.conditions import FAILED, RESTARTING, RUNNING
from simcluster.controllers.operator.master_worker import succeed

if TYPE_CHECKING:
    from simcluster.controllers.operator.job import Job, Reconciliation

Obj = dict[str, Any]


def set_cluster_spec(job: Job, template: Obj, replica_type: str, index: int) -> None:
    """Adds the environment of the tracker and the ranks to every container."""
    masters = job.replicas["Master"].replicas if job.has_master else 0
    found = {
        "MASTER_PORT": str(job.port("Master")) if job.has_master else str(job.kind.port),
        "MASTER_ADDR": job.replica_name("Master", 0),
        "WORLD_SIZE": str(job.total_replicas),
        "RANK": str(index + masters if replica_type == "Worker" else index),
        "PYTHONUNBUFFERED": "1",
    }
    if job.total_replicas > 1 and "Worker" in job.replicas:
        workers = range(job.replicas["Worker"].replicas)
        found["WORKER_PORT"] = str(job.port("Worker"))
        found["WORKER_ADDRS"] = ",".join(job.replica_name("Worker", each) for each in workers)
    environment = [{"name": name, "value": value} for name, value in found.items()]
    for container in template["spec"]["containers"]:
        container["env"] = [*(container.get("env") or []), *environment]


def update_status(work: Reconciliation) -> None:
    """Type by type in any order; a failed replica counts whatever else runs."""
    job = work.job
    for replica_type, spec in work.in_random_order():
        if replica_type == "Master":
            if work.count(replica_type, "active"):
                work.set_condition(RUNNING, f"XGBoostJob {job.name} is running.")
            if spec.replicas == work.count(replica_type, "succeeded"):
                succeed(work, f"XGBoostJob {job.name} is successfully completed.")
                return
        note_failures(work, replica_type, spec.restart_policy)


def note_failures(work: Reconciliation, replica_type: str, restart_policy: str) -> None:
    """Failed pods of one type: under ExitCode they are a restart, else the end of the job."""
    kind, failed = work.job.kind.name, work.count(replica_type, "failed")
    if not failed:
        return
    if restart_policy == "ExitCode":
        message = f"{kind} {work.job.name} is restarting because {failed} {replica_type} replica(s) failed."
        work.tell(f"{kind}{RESTARTING}", message, "Warning")
        work.set_condition(RESTARTING, message)
        return
    message = f"{kind} {work.job.name} is failed because {failed} {replica_type} replica(s) failed."
    work.tell(f"{kind}{FAILED}", message)
    work.complete()
    work.set_condition(FAILED, message)
