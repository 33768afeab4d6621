"""PyTorchJob: the launcher's environment, the init container of workers, success and failure by the master."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simcluster.controllers.operator.conditions import FAILED, RESTARTING, RUNNING, SUCCEEDED

if TYPE_CHECKING:
    from simcluster.controllers.operator.job import Job, Reconciliation, ReplicaSpec

Obj = dict[str, Any]

# How the recorded operator was set up; the real default waits for the master's DNS name.
INIT_CONTAINER = {
    "name": "init-pytorch",
    "image": "alpine:3.10",
    "command": ["sh", "-c", "sleep 2"],
    "resources": {
        "limits": {"cpu": "100m", "memory": "20Mi"},
        "requests": {"cpu": "50m", "memory": "10Mi"},
    },
    "imagePullPolicy": "IfNotPresent",
}


def set_cluster_spec(job: Job, template: Obj, replica_type: str, index: int) -> None:
    """Adds the environment to every container, and the init container to workers of a job with a master."""
    environment = [{"name": name, "value": value} for name, value in _environment(job, replica_type, index).items()]
    for container in template["spec"]["containers"]:
        container["env"] = [*(container.get("env") or []), *environment]
    if job.has_master and replica_type == "Worker":
        template["spec"]["initContainers"] = [*(template["spec"].get("initContainers") or []), dict(INIT_CONTAINER)]


def _environment(job: Job, replica_type: str, index: int) -> dict[str, str]:
    found = {"PYTHONUNBUFFERED": "1"}
    rank = index
    if job.has_master:
        port, address = str(job.port("Master")), job.replica_name("Master", 0)
        found |= {"MASTER_PORT": port, "PET_MASTER_PORT": port, "MASTER_ADDR": address, "PET_MASTER_ADDR": address}
        rank = index + 1 if replica_type == "Worker" else index
    processes = str(job.spec.get("nprocPerNode") or "auto")
    world = job.total_replicas * (int(processes) if processes.isdigit() else 1)
    return found | {
        "WORLD_SIZE": str(world),
        "RANK": str(rank),
        "PET_NODE_RANK": str(rank),
        "PET_NPROC_PER_NODE": processes,
        "PET_NNODES": str(job.total_replicas),
    }


def update_status(work: Reconciliation) -> None:
    """Reads the conditions from the counted replicas, type by type in any order: which comes last decides whether a
    worker's restart shows beside a running master."""
    for replica_type, spec in work.in_random_order():
        selector = {**work.job.labels, "training.kubeflow.org/replica-type": replica_type.lower()}
        work.replica_status(replica_type)["selector"] = ",".join(f"{key}={selector[key]}" for key in sorted(selector))
        done = spec.replicas == work.count(replica_type, "succeeded")
        if work.job.has_master:
            if replica_type == "Master" and work.count(replica_type, "active"):
                work.set_condition(RUNNING, f"PyTorchJob {work.job.name} is running.")
            if replica_type == "Master" and done:
                _succeed(work, f"PyTorchJob {work.job.name} is successfully completed.")
                return
        elif done or (work.job.spec.get("elasticPolicy") and work.count(replica_type, "succeeded")):
            _succeed(work, f"PyTorchJob {work.job.namespace}/{work.job.name} successfully completed.")
        elif work.count(replica_type, "active"):
            work.set_condition(RUNNING, f"PyTorchJob {work.job.namespace}/{work.job.name} is running.")
        _note_failures(work, replica_type, spec)


def _succeed(work: Reconciliation, message: str) -> None:
    work.tell("PyTorchJobSucceeded", message)
    work.complete()
    work.set_condition(SUCCEEDED, message)


def _note_failures(work: Reconciliation, replica_type: str, spec: ReplicaSpec) -> None:
    failed = work.count(replica_type, "failed")
    if not failed or spec.replicas <= work.count(replica_type, "succeeded") + work.count(replica_type, "active"):
        return
    if spec.restart_policy != "Never":
        message = f"PyTorchJob {work.job.name} is restarting because {failed} {replica_type} replica(s) failed."
        work.tell("PyTorchJobRestarting", message, "Warning")
        work.set_condition(RESTARTING, message)
        return
    message = f"PyTorchJob {work.job.name} is failed because {failed} {replica_type} replica(s) failed."
    work.tell("PyTorchJobFailed", message)
    work.complete()
    work.set_condition(FAILED, message)
