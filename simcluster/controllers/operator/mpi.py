"""MPIJob: workers first, then one launcher without an index; what has failed is never made anew.

Beside the pods the operator keeps a ConfigMap and the launcher's ServiceAccount, and tells of them at every
reconciliation, which soon uses up the Events of the job.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from simcluster.controllers.delays import REQUEST
from simcluster.controllers.operator import replicas
from simcluster.controllers.operator.conditions import FAILED, RUNNING, SUCCEEDED
from simcluster.controllers.operator.master_worker import succeed
from simcluster.controllers.operator.xgboost import note_failures
from simcluster.errors import ApiError
from simcluster.resources import CONFIGMAPS, PODS, SERVICEACCOUNTS

if TYPE_CHECKING:
    from simcluster.controllers.operator.job import Job, Reconciliation, ReplicaSpec

Obj = dict[str, Any]
Steps = Iterator[float]

LAUNCHER, WORKER = "Launcher", "Worker"
EVICTED = "MPIJobEvicted"
_CONFIG_MOUNT = {"name": "mpi-job-config", "mountPath": "/etc/mpi"}
_KUBECTL_MOUNT = {"name": "mpi-job-kubectl", "mountPath": "/opt/kube"}
_DELIVERY_LIMITS = {"cpu": "100m", "ephemeral-storage": "5Gi", "memory": "512Mi"}


def reconcile_pods(work: Reconciliation, _replica_type: str, _spec: ReplicaSpec, gang: str) -> Steps:
    """Called for each replica type, as the common controller does, and looks at the whole job each time."""
    work.status.setdefault("startTime", work.now)
    launcher = _find(work, f"{work.job.name}-launcher")
    if launcher is None or (launcher.get("status") or {}).get("phase") not in ("Failed", "Succeeded"):
        yield from _keep_helpers(work)
        yield from _keep_workers(work, gang)
        if launcher is None:
            yield from _create_launcher(work, gang)
    _count(work)


def _find(work: Reconciliation, name: str) -> Obj | None:
    pod = work.store.find(PODS, work.job.namespace, name)
    owners = (pod or {}).get("metadata", {}).get("ownerReferences") or []
    return pod if any(owner.get("uid") == work.job.uid for owner in owners) else None


def _keep_helpers(work: Reconciliation) -> Steps:
    """The ConfigMap, and the launcher's account and role; those that are there already are told of."""
    job = work.job
    account, config = f"{job.name}-launcher", f"{job.name}-config"
    is_new = work.store.find(SERVICEACCOUNTS, job.namespace, account) is None
    for resource, name, body in (
        (CONFIGMAPS, config, {"data": _config(job)}),
        (SERVICEACCOUNTS, account, {}),
    ):
        if work.store.find(resource, job.namespace, name) is None:
            yield REQUEST.draw(work.rng)
            metadata = {"name": name, "labels": {"app": job.name}, "ownerReferences": [job.owner_reference]}
            work.store.create(resource, {"metadata": metadata, **body}, job.namespace)
    if not is_new:
        for what in ("ServiceAccount", "LauncherRole", "RoleBinding"):
            work.tell(f"{what} is exist", f"{what}: {account}")


def _config(job: Job) -> dict[str, str]:
    slots = job.spec.get("slotsPerWorker") or 1
    count = job.replicas[WORKER].replicas if WORKER in job.replicas else 0
    names = [job.replica_name(WORKER, index) for index in range(count)]
    return {
        "hostfile": "".join(f"{name} slots={slots}\n" for name in names),
        "kubexec.sh": '#!/bin/sh\nset -x\nPOD_NAME=$1\nshift\n/opt/kube/kubectl exec ${POD_NAME} -- /bin/sh -c "$*"',
        "discover_hosts.sh": "#!/bin/sh\n" + "".join(f"echo {name}:{slots}\n" for name in names),
    }


def _keep_workers(work: Reconciliation, gang: str) -> Steps:
    """Creates the workers that are missing and deletes those that are too many."""
    spec = work.job.replicas.get(WORKER)
    count = spec.replicas if spec else 0
    for pod in list(work.pods):
        labels = pod["metadata"]["labels"]
        index = labels.get("training.kubeflow.org/replica-index", "")
        if index.isdecimal() and int(index) >= count:
            yield from replicas.delete_pod(work, pod)
    for index in range(count):
        if spec is not None and _find(work, work.job.replica_name(WORKER, index)) is None:
            _warn_of_scheduler(work, spec, gang)
            yield from _create_worker(work, index, spec, gang)


def _create_worker(work: Reconciliation, index: int, spec: ReplicaSpec, gang: str) -> Steps:
    try:
        yield from replicas.create(work, _worker(work, index, spec, gang))
    except ApiError as error:
        work.tell("FailedCreatePod", "Created worker pod: ", "Warning")  # the operator's own words, and all of them
        work.tell(f"MPIJob{FAILED}", f"worker pod created failed: {error.message}", "Warning")
        raise
    work.tell("SuccessfulCreatePod", f"Created worker pod: {work.job.replica_name(WORKER, index)}")


def _create_launcher(work: Reconciliation, gang: str) -> Steps:
    spec = work.job.replicas.get(LAUNCHER)
    if spec is not None:
        _warn_of_scheduler(work, spec, gang)
        try:
            yield from replicas.create(work, _launcher(work, spec, gang))
        except ApiError as error:
            work.tell(f"MPIJob{FAILED}", f"launcher pod created failed: {error.message}", "Warning")
            raise
        work.tell(f"MPIJob{RUNNING}", f"launcher pod created success: {work.job.name}-launcher")


def _warn_of_scheduler(work: Reconciliation, spec: ReplicaSpec, gang: str) -> None:
    """The operator's own test is the wrong way round: it warns when no scheduler is named."""
    if gang and not spec.template["spec"].get("schedulerName"):
        text = "Another scheduler is specified when gang-scheduling is enabled and it will not be overwritten"
        work.tell("SettedPodTemplateSchedulerName", text, "Warning")


def _worker(work: Reconciliation, index: int, spec: ReplicaSpec, gang: str) -> Obj:
    pod = replicas.pod_for(work, WORKER, index, spec, gang)
    main = pod["spec"]["containers"][0]
    if not main.get("command") and not main.get("args"):
        main["command"] = ["sleep"]
        main["args"] = ["365d"]
    main["volumeMounts"] = [*(main.get("volumeMounts") or []), _CONFIG_MOUNT]
    items = [{"key": "kubexec.sh", "path": "kubexec.sh", "mode": 365}]
    pod["spec"]["volumes"] = [*(pod["spec"].get("volumes") or []), _config_volume(work, items)]
    return pod


def _launcher(work: Reconciliation, spec: ReplicaSpec, gang: str) -> Obj:
    job = work.job
    pod = replicas.pod_for(work, LAUNCHER, 0, spec, gang)
    pod["metadata"]["name"] = f"{job.name}-launcher"
    labels = pod["metadata"]["labels"]
    labels.pop("training.kubeflow.org/replica-index")
    labels["training.kubeflow.org/job-role"] = "master"
    pod["metadata"]["labels"] = dict(sorted(labels.items()))
    inner = pod["spec"]
    inner["serviceAccountName"] = inner["serviceAccount"] = f"{job.name}-launcher"
    main = inner["containers"][0]
    main["env"] = [*(main.get("env") or []), *_launcher_environment()]
    main["volumeMounts"] = [*(main.get("volumeMounts") or []), _KUBECTL_MOUNT, _CONFIG_MOUNT]
    inner["initContainers"] = [*(inner.get("initContainers") or []), _delivery(job)]
    items = [
        {"key": "kubexec.sh", "path": "kubexec.sh", "mode": 365},
        {"key": "hostfile", "path": "hostfile", "mode": 292},
        {"key": "discover_hosts.sh", "path": "discover_hosts.sh", "mode": 365},
    ]
    kubectl: Obj = {"name": "mpi-job-kubectl", "emptyDir": {}}
    inner["volumes"] = [*(inner.get("volumes") or []), kubectl, _config_volume(work, items)]
    return pod


def _launcher_environment() -> list[Obj]:
    return [
        {"name": "OMPI_MCA_plm_rsh_agent", "value": "/etc/mpi/kubexec.sh"},
        {"name": "OMPI_MCA_orte_default_hostfile", "value": "/etc/mpi/hostfile"},
        {"name": "NVIDIA_VISIBLE_DEVICES"},
        {"name": "NVIDIA_DRIVER_CAPABILITIES"},
        {"name": "I_MPI_HYDRA_BOOTSTRAP", "value": "rsh"},
        {"name": "I_MPI_HYDRA_BOOTSTRAP_EXEC", "value": "/etc/mpi/kubexec.sh"},
    ]


def _delivery(job: Job) -> Obj:
    """The init container that brings kubectl, as the recorded operator was set up."""
    return {
        "name": "kubectl-delivery",
        "image": "busybox:latest",
        "imagePullPolicy": "IfNotPresent",
        "env": [{"name": "TARGET_DIR", "value": "/opt/kube"}, {"name": "NAMESPACE", "value": job.namespace}],
        "resources": {"limits": dict(_DELIVERY_LIMITS), "requests": dict(_DELIVERY_LIMITS)},
        "volumeMounts": [copy.copy(_KUBECTL_MOUNT), copy.copy(_CONFIG_MOUNT)],
    }


def _config_volume(work: Reconciliation, items: list[Obj]) -> Obj:
    source = {"name": f"{work.job.name}-config", "items": items, "defaultMode": 420}
    return {"name": "mpi-job-config", "configMap": source}


# Status


def _count(work: Reconciliation) -> None:
    """Counts launcher and workers by their phase alone, and notes what an eviction or the launcher's end means."""
    job = work.job
    full_name = f"MPIJob {job.namespace}/{job.name}"
    statuses = work.status.setdefault("replicaStatuses", {})
    statuses[LAUNCHER], statuses[WORKER] = {}, {}
    launcher = _find(work, f"{job.name}-launcher")
    workers = [pod for pod in work.pods if pod["metadata"]["labels"].get(replicas.LABEL_REPLICA_TYPE) == "worker"]
    for replica_type, pods in ((LAUNCHER, [launcher] if launcher else []), (WORKER, workers)):
        for pod in pods:
            what = {"Running": "active", "Succeeded": "succeeded", "Failed": "failed"}.get(_phase(pod))
            if what:
                statuses[replica_type][what] = statuses[replica_type].get(what, 0) + 1
    if launcher is not None and _phase(launcher) == "Succeeded":
        work.tell(f"mpijobs{SUCCEEDED}", f"{full_name} successfully completed.")
    if launcher is not None and _phase(launcher) == "Failed":
        _note_failed_launcher(work, launcher, full_name)
    evicted = [pod for pod in workers if _phase(pod) == "Failed" and pod["status"].get("reason") == "Evicted"]
    if evicted:
        message = f"{len(evicted)}/{len(workers)} workers are evicted"
        work.set_condition(FAILED, message, reason=EVICTED)
        work.tell(EVICTED, message, "Warning")
    if launcher is not None and _phase(launcher) == "Running" and statuses[WORKER].get("active", 0) == len(workers):
        work.tell(f"MPIJob{RUNNING}", f"{full_name} is running")


def _note_failed_launcher(work: Reconciliation, launcher: Obj, full_name: str) -> None:
    reason = launcher["status"].get("reason") or f"MPIJob{FAILED}"
    work.tell(reason, f"{full_name} has failed", "Warning")
    if reason == "Evicted":
        work.set_condition(FAILED, f"{full_name} has failed", reason=EVICTED)


def _phase(pod: Obj) -> str:
    return str((pod.get("status") or {}).get("phase") or "")


def update_status(work: Reconciliation) -> None:
    """The launcher alone says Running and Succeeded; a failed pod fails the job, or under ExitCode says Restarting."""
    job = work.job
    for replica_type, spec in work.in_random_order():
        if replica_type == LAUNCHER:
            if work.count(replica_type, "active"):
                work.set_condition(RUNNING, f"MPIJob {job.namespace}/{job.name} is running.")
            if spec.replicas == work.count(replica_type, "succeeded"):
                succeed(work, f"MPIJob {job.namespace}/{job.name} successfully completed.")
                return
        note_failures(work, replica_type, spec.restart_policy)


def set_cluster_spec(_job: Job, _template: Obj, _replica_type: str, _index: int) -> None:
    """MPI's processes find each other by the hostfile."""
