"""How PyTorchJob, PaddleJob and JAXJob read success, failure and restart from their replicas."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simcluster.controllers.operator.conditions import FAILED, RESTARTING, RUNNING, SUCCEEDED

if TYPE_CHECKING:
    from simcluster.controllers.operator.job import Reconciliation, ReplicaSpec


def update_status(work: Reconciliation) -> None:
    """Reads the conditions from the counted replicas, type by type in any order: which comes last decides whether a
    worker's restart shows beside a running master."""
    kind, job = work.job.kind.name, work.job
    for replica_type, spec in work.in_random_order():
        set_selector(work, replica_type)
        done = spec.replicas == work.count(replica_type, "succeeded")
        if job.has_master:
            if replica_type == "Master" and work.count(replica_type, "active"):
                work.set_condition(RUNNING, f"{kind} {job.name} is running.")
            if replica_type == "Master" and done:
                succeed(work, f"{kind} {job.name} is successfully completed.")
                return
        elif done or (job.spec.get("elasticPolicy") and work.count(replica_type, "succeeded")):
            succeed(work, f"{kind} {job.namespace}/{job.name} successfully completed.")
        elif work.count(replica_type, "active"):
            work.set_condition(RUNNING, f"{kind} {job.namespace}/{job.name} is running.")
        missing = spec.replicas > work.count(replica_type, "succeeded") + work.count(replica_type, "active")
        if work.count(replica_type, "failed") and missing:
            note_failures(work, replica_type, spec, f"{kind} {job.name}")


def update_status_of_workers(work: Reconciliation) -> None:
    """JAXJob, which has workers only."""
    full_name = f"{work.job.kind.name} {work.job.namespace}/{work.job.name}"
    for replica_type, spec in work.in_random_order():
        set_selector(work, replica_type)
        if spec.replicas == work.count(replica_type, "succeeded"):
            succeed(work, f"{full_name} successfully completed.")
        elif work.count(replica_type, "active"):
            work.set_condition(RUNNING, f"{full_name} is running.")
        if work.count(replica_type, "failed"):
            note_failures(work, replica_type, spec, full_name)


def set_selector(work: Reconciliation, replica_type: str) -> None:
    selector = {**work.job.labels, "training.kubeflow.org/replica-type": replica_type.lower()}
    work.replica_status(replica_type)["selector"] = ",".join(f"{key}={selector[key]}" for key in sorted(selector))


def succeed(work: Reconciliation, message: str) -> None:
    work.tell(f"{work.job.kind.name}{SUCCEEDED}", message)
    work.complete()
    work.set_condition(SUCCEEDED, message)


def note_failures(work: Reconciliation, replica_type: str, spec: ReplicaSpec, name: str) -> None:
    """Failed pods of one type restart the job unless its policy is Never."""
    kind, failed = work.job.kind.name, work.count(replica_type, "failed")
    if spec.restart_policy != "Never":
        message = f"{name} is restarting because {failed} {replica_type} replica(s) failed."
        work.tell(f"{kind}{RESTARTING}", message, "Warning")
        work.set_condition(RESTARTING, message)
        return
    message = f"{name} is failed because {failed} {replica_type} replica(s) failed."
    work.tell(f"{kind}{FAILED}", message)
    work.complete()
    work.set_condition(FAILED, message)
