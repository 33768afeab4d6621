"""The job's PodGroup: created with the job, kept in step with it, deleted when the job has ended."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from simcluster.controllers import quantity
from simcluster.controllers.delays import REQUEST
from simcluster.controllers.operator.job import Job, Reconciliation
from simcluster.controllers.podgroup import VOLCANO, spec_of
from simcluster.resources import SCHEDULER_PODGROUPS, VOLCANO_PODGROUPS, Resource

Obj = dict[str, Any]


def group_resource(gang: str) -> Resource:
    return VOLCANO_PODGROUPS if gang == VOLCANO else SCHEDULER_PODGROUPS


def sync_pod_group(work: Reconciliation, gang: str) -> Iterator[float]:
    """Creates the PodGroup or brings its spec up to date. Raises ApiError."""
    job, resource = work.job, group_resource(gang)
    wanted = _spec(job, gang)
    group = work.store.find(resource, job.namespace, job.name)
    if group is None:
        yield REQUEST.draw(work.rng)
        metadata = {
            "name": job.name,
            "annotations": job.object["metadata"].get("annotations") or {},
            "ownerReferences": [job.owner_reference],
        }
        body: Obj = {"metadata": metadata, "spec": wanted}
        if gang == VOLCANO:
            body["status"] = {}
        group = work.store.create(resource, body, job.namespace)
    elif {**spec_of(group), **wanted} != spec_of(group):
        yield REQUEST.draw(work.rng)
        group = work.store.update(resource, {**group, "spec": {**spec_of(group), **wanted}})


def pods_wait(work: Reconciliation, gang: str) -> bool:
    """Whether Volcano's PodGroup is not past Pending: the operator then looks at no pod."""
    if gang != VOLCANO:
        return False
    group = work.store.find(VOLCANO_PODGROUPS, work.job.namespace, work.job.name)
    return group is None or ((group.get("status") or {}).get("phase") or "Pending") == "Pending"


def delete_pod_group(work: Reconciliation, gang: str) -> Iterator[float]:
    """Deletes the PodGroup and says so, each time it is asked, as the operator does."""
    work.tell("JobTerminated", "Job has been terminated. Deleting PodGroup")
    yield REQUEST.draw(work.rng)
    resource = group_resource(gang)
    if work.store.find(resource, work.job.namespace, work.job.name) is not None:
        work.store.delete(resource, work.job.namespace, work.job.name)
    work.tell("SuccessfulDeletePodGroup", f"Deleted PodGroup: {work.job.name}")


def _spec(job: Job, gang: str) -> Obj:
    policy = job.policy.get("schedulingPolicy") or {}
    members = policy.get("minAvailable") or job.total_replicas
    spec = {
        "minMember": members,
        "minResources": policy.get("minResources") or _min_resources(job, members),
    }
    if gang != VOLCANO:
        timeout = policy.get("scheduleTimeoutSeconds")
        return spec if timeout is None else {**spec, "scheduleTimeoutSeconds": timeout}
    spec["queue"] = policy.get("queue") or "default"
    if policy.get("priorityClass"):
        spec["priorityClassName"] = policy["priorityClass"]
    return dict(sorted(spec.items()))


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
