"""PaddleJob: the launcher's environment. Success and failure are read as PyTorchJob's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simcluster.controllers.operator.job import Job

Obj = dict[str, Any]


def set_cluster_spec(job: Job, template: Obj, replica_type: str, index: int) -> None:
    """Adds the environment to every container: the master's address, or worker 0's where there is no master."""
    first = "Master" if job.has_master else "Worker"
    found = {
        "PYTHONUNBUFFERED": "1",
        "PADDLE_JOB_ID": job.name,
        "PADDLE_NNODES": str(job.replicas["Worker"].replicas if "Worker" in job.replicas else 1),
        "PADDLE_MASTER": f"{job.replica_name(first, 0)}:{job.port(first)}",
        "PADDLE_TRAINER_ID": str(index),
    }
    environment = [{"name": name, "value": value} for name, value in found.items()]
    for container in template["spec"]["containers"]:
        container["env"] = [*(container.get("env") or []), *environment]
