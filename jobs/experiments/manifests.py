"""The objects that experiments create, built from the values of their parameters."""

import copy
from collections.abc import Sequence

from jobs.domain.kinds import KINDS
from jobs.experiments.experiment import Object, Place, Values

GRACE_SECONDS = 5  # what a pod is given to end: its scripts end at once
# Kubeflow's own namespaces inject Istio's proxy into every pod: a sidecar that outlives the job and changes its exits.
NO_MESH = {"sidecar.istio.io/inject": "false"}
NOBODY = 65534  # that user's number in most images, busybox's among them; any user but root would do
RESTRICTED = "restricted"  # the pod security standard that lets no pod run as root
# What it asks of a pod as a whole, and of each of its containers.
POD_SECURITY = {
    "runAsNonRoot": True,
    "runAsUser": NOBODY,
    "runAsGroup": NOBODY,
    "seccompProfile": {"type": "RuntimeDefault"},
}
CONTAINER_SECURITY = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
BY_KIND = {kind.kind: kind for kind in KINDS}


def container(name: str, command: Sequence[str], values: Values) -> Object:
    """A container with the form's image and resources. Its environment has the pod's name in ``POD_NAME``."""
    found: Object = {
        "name": name,
        "image": values["image"],
        "imagePullPolicy": "IfNotPresent",
        "command": list(command),
        "env": [{"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
        "resources": {"limits": {"cpu": f"{values['cpu']}m", "memory": f"{values['memory']}Mi"}},
    }
    return {**found, "securityContext": copy.deepcopy(CONTAINER_SECURITY)} if values["restricted"] else found


def replica(
    kind: str,
    command: Sequence[str],
    replicas: int,
    policy: str,
    values: Values,
    *,
    beside: Sequence[Object] = (),
    before: Sequence[Object] = (),
) -> Object:
    """What a job asks for one replica type, with the main container that the kind's operator looks at.

    ``beside``: further containers; ``before``: init containers.
    """
    spec: Object = {
        "containers": [container(BY_KIND[kind].container or "main", command, values), *beside],
        "terminationGracePeriodSeconds": GRACE_SECONDS,
    }
    if values["restricted"]:
        spec["securityContext"] = copy.deepcopy(POD_SECURITY)
    if before:
        spec["initContainers"] = list(before)
    if values["scheduler"]:
        spec["schedulerName"] = values["scheduler"]
    template = {"metadata": {"annotations": dict(NO_MESH)}, "spec": spec}
    return {"replicas": replicas, "restartPolicy": policy, "template": template}


def has_operators_init(job: Object) -> bool:
    """Whether the training operator adds an init container of its own, which no option of the job reaches."""
    replicas = job["spec"][BY_KIND[job["kind"]].specs]
    return job["kind"] == "PyTorchJob" and {"Master", "Worker"} <= set(replicas)


def training_job(kind: str, place: Place, replicas: Object, values: Values, **run_policy: object) -> Object:
    """A job of a kind of the training operator; entries of ``run_policy`` that are None are left out."""
    policy = {name: value for name, value in run_policy.items() if value is not None}
    if values["queue"]:
        policy["schedulingPolicy"] = {"queue": values["queue"]}
    table = BY_KIND[kind]
    return {
        "apiVersion": table.api_version,
        "kind": kind,
        "metadata": {"name": place.name, "namespace": place.namespace},
        "spec": {"runPolicy": policy, table.specs: replicas},
    }
