"""The job's PodGroup for Volcano: created with the job, kept in step with it, deleted when the job has ended."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from simcluster.controllers import quantity
from simcluster.controllers.delays import REQUEST
from simcluster.controllers.operator.job import Job, Reconciliation
from simcluster.resources import VOLCANO_PODGROUPS

Obj = dict[str, Any]


def sync_pod_group(work: Reconciliation) -> Iterator[float]:
    """Creates or updates the PodGroup; as a generator's value, whether the job's pods may be looked at.

    They may not while the group is Pending or has no phase yet. Raises ApiError.
    """
    job = work.job
    wanted = _spec(job)
    group = work.store.find(VOLCANO_PODGROUPS, job.namespace, job.name)
    if group is None:
        yield REQUEST.draw(work.rng)
        metadata = {
            "name": job.name,
            "annotations": job.object["metadata"].get("annotations") or {},
            "ownerReferences": [job.owner_reference],
        }
        group = work.store.create(
            VOLCANO_PODGROUPS, {"metadata": metadata, "spec": wanted, "status": {}}, job.namespace
        )
    elif {**group["spec"], **wanted} != group["spec"]:
        yield REQUEST.draw(work.rng)
        group = work.store.update(VOLCANO_PODGROUPS, {**group, "spec": {**group["spec"], **wanted}})


def pods_wait(work: Reconciliation) -> bool:
    """Whether the PodGroup is not past Pending: the operator then looks at no pod."""
    group = work.store.find(VOLCANO_PODGROUPS, work.job.namespace, work.job.name)
    return group is None or ((group.get("status") or {}).get("phase") or "Pending") == "Pending"


def delete_pod_group(work: Reconciliation) -> Iterator[float]:
    """Deletes the PodGroup and says so, each time it is asked, as the operator does."""
    work.tell("JobTerminated", "Job has been terminated. Deleting PodGroup")
    yield REQUEST.draw(work.rng)
    if work.store.find(VOLCANO_PODGROUPS, work.job.namespace, work.job.name) is not None:
        work.store.delete(VOLCANO_PODGROUPS, work.job.namespace, work.job.name)
    work.tell("SuccessfulDeletePodGroup", f"Deleted PodGroup: {work.job.name}")


def _spec(job: Job) -> Obj:
    policy = job.policy.get("schedulingPolicy") or {}
    members = policy.get("minAvailable") or job.total_replicas
    spec = {
        "minMember": members,
        "minResources": policy.get("minResources") or _min_resources(job, members),
        "queue": policy.get("queue") or "default",
    }
    if policy.get("priorityClass"):
        spec["priorityClassName"] = policy["priorityClass"]
    return spec


def _min_resources(job: Job, members: int) -> dict[str, str]:
    """What the first `members` pods ask for, masters first."""
    total: dict[str, int] = {}
    order = sorted(job.replicas.items(), key=lambda item: item[0] not in job.kind.master_types)
    for _, spec in order:
        count = min(members, spec.replicas)
        members -= count
        for container in (spec.template.get("spec") or {}).get("containers") or []:
            quantity.add(total, quantity.requests(container), count)
    return quantity.as_list(total)
