"""JAXJob: the coordinator's environment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simcluster.controllers.operator.job import Job

Obj = dict[str, Any]


def set_cluster_spec(job: Job, template: Obj, replica_type: str, index: int) -> None:
    """Adds the environment to every container; worker 0 is the coordinator."""
    found = {
        "PYTHONUNBUFFERED": "1",
        "COORDINATOR_PORT": str(job.port(replica_type)),
        "COORDINATOR_ADDRESS": job.replica_name("Worker", 0),
        "NUM_PROCESSES": str(job.total_replicas),
        "PROCESS_ID": str(index),
    }
    environment = [{"name": name, "value": value} for name, value in found.items()]
    for container in template["spec"]["containers"]:
        container["env"] = [*(container.get("env") or []), *environment]
