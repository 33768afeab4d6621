"""PyTorchJob: the launcher's environment and the init container of workers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simcluster.controllers.operator.job import Job

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


# What an administrator's template (--pytorch-init-container-template-file of the real operator) may add to it.
RESTRICTED = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
    "runAsUser": 1000,
    "seccompProfile": {"type": "RuntimeDefault"},
}


def set_cluster_spec(job: Job, template: Obj, replica_type: str, index: int) -> None:
    """Adds the environment to every container, and the init container to workers of a job with a master."""
    environment = [{"name": name, "value": value} for name, value in _environment(job, replica_type, index).items()]
    for container in template["spec"]["containers"]:
        container["env"] = [*(container.get("env") or []), *environment]
    if job.has_master and replica_type == "Worker":
        init = {**INIT_CONTAINER, "securityContext": RESTRICTED} if job.restricted_init else dict(INIT_CONTAINER)
        template["spec"]["initContainers"] = [*(template["spec"].get("initContainers") or []), init]


def _environment(job: Job, replica_type: str, index: int) -> dict[str, str]:
    """Without a master nobody has a rank: the processes find each other by themselves."""
    found = {"PYTHONUNBUFFERED": "1"}
    processes = str(job.spec.get("nprocPerNode") or "auto")
    if job.has_master:
        port, address = str(job.port("Master")), job.replica_name("Master", 0)
        rank = str(index + 1 if replica_type == "Worker" else index)
        world = job.total_replicas * (int(processes) if processes.isdigit() else 1)
        found |= {"MASTER_PORT": port, "PET_MASTER_PORT": port, "MASTER_ADDR": address, "PET_MASTER_ADDR": address}
        found |= {"WORLD_SIZE": str(world), "RANK": rank, "PET_NODE_RANK": rank}
    return found | {"PET_NPROC_PER_NODE": processes, "PET_NNODES": str(job.total_replicas)}
