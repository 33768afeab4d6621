"""Pods and services of one replica type: created, counted, deleted and made anew by the restart policy."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from simcluster.controllers.delays import REQUEST
from simcluster.controllers.operator.conditions import FAILED, RESTARTING
from simcluster.controllers.operator.job import (
    LABEL_JOB_ROLE,
    LABEL_REPLICA_INDEX,
    LABEL_REPLICA_TYPE,
    Reconciliation,
    ReplicaSpec,
)
from simcluster.controllers.podgroup import GROUP_ANNOTATION, GROUP_LABEL, VOLCANO
from simcluster.controllers.podspec import completed_pod
from simcluster.errors import ApiError
from simcluster.resources import PODS, SERVICES

Obj = dict[str, Any]
Steps = Iterator[float]  # seconds to wait before each next request to the API server

UNKNOWN_EXIT_CODE = 48879  # 0xbeef: the main container has not terminated, or is not there
RETRYABLE_FROM = 128


def reconcile_pods(work: Reconciliation, replica_type: str, spec: ReplicaSpec, gang: str) -> Steps:
    """Creates what is missing, deletes what is too many or to be restarted, and counts the rest.

    Raises ApiError when a pod cannot be created.
    """
    work.status.setdefault("replicaStatuses", {})[replica_type] = {}
    slices = _by_index(work.pods, replica_type, spec.replicas)
    for index, pods in enumerate(slices):
        if len(pods) > 1:
            continue
        if not pods:
            yield from _create_pod(work, replica_type, index, spec, gang)
            continue
        pod = pods[0]
        if index >= spec.replicas:
            yield from delete_pod(work, pod)
        code = _exit_code(work, pod)
        if (pod.get("status") or {}).get("phase") == "Failed":
            yield from _handle_failure(work, replica_type, spec, pod, code)
        _count(work.replica_status(replica_type), pod)


def _by_index(objects: list[Obj], replica_type: str, replicas: int) -> list[list[Obj]]:
    """The objects of one type by replica index, as many places as there are replicas or higher indexes."""
    mine: dict[int, list[Obj]] = {}
    for obj in objects:
        labels = obj["metadata"].get("labels") or {}
        index = labels.get(LABEL_REPLICA_INDEX, "")
        if labels.get(LABEL_REPLICA_TYPE) == replica_type.lower() and index.isdecimal():
            mine.setdefault(int(index), []).append(obj)
    return [mine.get(index, []) for index in range(max([replicas, *(index + 1 for index in mine)]))]


def _exit_code(work: Reconciliation, pod: Obj) -> int:
    """The main container's exit code, told as an Event each time it is looked at."""
    code = UNKNOWN_EXIT_CODE
    for status in (pod.get("status") or {}).get("containerStatuses") or []:
        terminated = (status.get("state") or {}).get("terminated")
        if status["name"] == work.job.kind.container and terminated:
            code = terminated["exitCode"]
            name = f"{pod['metadata']['namespace']}.{pod['metadata']['name']}"
            work.tell("ExitedWithCode", f"Pod: {name} exited with code {code}")
    return code


def _handle_failure(work: Reconciliation, replica_type: str, spec: ReplicaSpec, pod: Obj, code: int) -> Steps:
    by_code = spec.restart_policy == "ExitCode"
    if spec.restart_policy in ("OnFailure", "Always") or (by_code and code >= RETRYABLE_FROM):
        yield from delete_pod(work, pod)
        message = f"job {work.job.name} is restarting because {replica_type} replica(s) failed."
        work.tell(f"{work.job.kind.name}{RESTARTING}", message, "Warning")
        work.set_condition(RESTARTING, message)
    elif by_code:
        message = f'job "{work.job.name}" is failing because "{replica_type}" replica(s) failed.'
        work.tell(f"{work.job.kind.name}{FAILED}", message, "Warning")
        work.set_condition(FAILED, message)


def _count(status: Obj, pod: Obj) -> None:
    """Counts a pod. One that runs but is being deleted counts as failed; a pending one is not counted."""
    phase = (pod.get("status") or {}).get("phase")
    deleting = "deletionTimestamp" in pod["metadata"]
    kind = {"Running": "failed" if deleting else "active", "Succeeded": "succeeded", "Failed": "failed"}.get(
        phase or ""
    )
    if kind:
        status[kind] = status.get(kind, 0) + 1


def delete_pod(work: Reconciliation, pod: Obj) -> Steps:
    """Deletes a pod that is not being deleted yet; gone already is as good."""
    yield from _delete(work, PODS, pod, "Pod")


def delete_service(work: Reconciliation, name: str) -> Steps:
    service = work.store.find(SERVICES, work.job.namespace, name)
    if service is not None:
        yield from _delete(work, SERVICES, service, "Service")


def _delete(work: Reconciliation, resource: Any, obj: Obj, what: str) -> Steps:
    yield REQUEST.draw(work.rng)
    name = obj["metadata"]["name"]
    current = work.store.find(resource, work.job.namespace, name)
    if current is None or "deletionTimestamp" in current["metadata"]:
        return
    work.store.delete(resource, work.job.namespace, name)
    work.tell(f"SuccessfulDelete{what}", f"Deleted {what.lower()}: {name}")


def _create_pod(work: Reconciliation, replica_type: str, index: int, spec: ReplicaSpec, gang: str) -> Steps:
    """Creates a pod and says so. Raises ApiError."""
    pod = pod_for(work, replica_type, index, spec, gang)
    try:
        yield from create(work, pod)
    except ApiError as error:
        work.tell("FailedCreatePod", f"Error creating: {error.message}", "Warning")
        raise
    work.tell("SuccessfulCreatePod", f"Created pod: {pod['metadata']['name']}")


def create(work: Reconciliation, pod: Obj) -> Steps:
    """Creates a pod. Raises ApiError."""
    yield REQUEST.draw(work.rng)
    work.store.create(PODS, completed_pod(pod, work.rng, work.store), work.job.namespace)


def pod_for(work: Reconciliation, replica_type: str, index: int, spec: ReplicaSpec, gang: str) -> Obj:
    """The pod of one replica, before the API server's defaults."""
    job = work.job
    template = copy.deepcopy(spec.template)
    metadata = template.get("metadata") or {}
    labels = {**(metadata.get("labels") or {}), **job.labels}
    labels |= {LABEL_REPLICA_INDEX: str(index), LABEL_REPLICA_TYPE: replica_type.lower()}
    if job.is_master_role(replica_type, index):
        labels[LABEL_JOB_ROLE] = "master"
    annotations = dict(metadata.get("annotations") or {})
    _add_port(work, template)
    job.kind.set_cluster_spec(job, template, replica_type, index)
    template["spec"]["restartPolicy"] = "Never" if spec.restart_policy == "ExitCode" else spec.restart_policy
    if gang == VOLCANO:
        template["spec"].setdefault("schedulerName", "volcano")
        annotations |= {GROUP_ANNOTATION: job.name, "volcano.sh/task-spec": replica_type.lower()}
    elif gang:
        labels[GROUP_LABEL] = job.name
    return {
        "metadata": {
            "name": job.replica_name(replica_type, index),
            "labels": dict(sorted(labels.items())),
            "annotations": dict(sorted(annotations.items())),
            "ownerReferences": [job.owner_reference],
            "finalizers": list(metadata.get("finalizers") or []),
        },
        "spec": template["spec"],
    }


def _add_port(work: Reconciliation, template: Obj) -> None:
    """The kind's default port, where the main container does not name it."""
    kind = work.job.kind
    for container in template["spec"]["containers"] if kind.port else []:
        ports = container.get("ports") or []
        if container["name"] == kind.container and all(port.get("name") != kind.port_name for port in ports):
            container["ports"] = [*ports, {"name": kind.port_name, "containerPort": kind.port}]


def reconcile_services(work: Reconciliation, replica_type: str, spec: ReplicaSpec) -> Steps:
    """One headless service per replica; those beyond the replicas are deleted. Raises ApiError."""
    if not work.job.kind.port:
        return
    for index, services in enumerate(_by_index(work.services, replica_type, spec.replicas)):
        if not services:
            yield from _create_service(work, replica_type, index, spec)
        elif index >= spec.replicas:
            yield from delete_service(work, services[0]["metadata"]["name"])


def _create_service(work: Reconciliation, replica_type: str, index: int, spec: ReplicaSpec) -> Steps:
    yield REQUEST.draw(work.rng)
    job, kind = work.job, work.job.kind
    labels = {**job.labels, LABEL_REPLICA_INDEX: str(index), LABEL_REPLICA_TYPE: replica_type.lower()}
    name, port = job.replica_name(replica_type, index), job.port(replica_type)
    service = {
        "metadata": {
            "name": name,
            "labels": dict(sorted(labels.items())),
            "ownerReferences": [job.owner_reference],
        },
        "spec": {
            "ports": [{"name": kind.port_name, "protocol": "TCP", "port": port, "targetPort": port}],
            "selector": dict(sorted(labels.items())),
            "clusterIP": "None",
            "clusterIPs": ["None"],
            "type": "ClusterIP",
            "sessionAffinity": "None",
            "ipFamilies": ["IPv4"],
            "ipFamilyPolicy": "SingleStack",
            "internalTrafficPolicy": "Cluster",
        },
        "status": {"loadBalancer": {}},
    }
    try:
        work.store.create(SERVICES, service, job.namespace)
    except ApiError as error:
        work.tell("FailedCreateService", f"Error creating: {error.message}", "Warning")
        raise
    work.tell("SuccessfulCreateService", f"Created service: {name}")
