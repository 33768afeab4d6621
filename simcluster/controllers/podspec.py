"""A pod as the API server stores it: defaults, the service account's token volume, tolerations, QoS class."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from simcluster.controllers.quantity import amounts
from simcluster.resources import PRIORITYCLASSES

if TYPE_CHECKING:
    from simcluster.store import Store

Obj = dict[str, Any]

_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
_TOKEN_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"  # noqa: S105
_TAINT_TOLERATION_SECONDS = 300


def completed_pod(pod: Obj, rng: random.Random, store: Store | None = None) -> Obj:
    """The pod with what the API server and its admission add, as a copy; a status of Pending.

    `store`: where its priority class is looked up.
    """
    spec = pod["spec"]
    volume = f"kube-api-access-{''.join(rng.choices(_LETTERS, k=5))}"
    completed: Obj = {"volumes": [*(spec.get("volumes") or []), _token_volume(volume)]}
    if spec.get("initContainers"):
        completed["initContainers"] = [_completed_container(each, volume) for each in spec["initContainers"]]
    completed["containers"] = [_completed_container(each, volume) for each in spec["containers"]]
    defaults = {
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "serviceAccountName": "default",
        "serviceAccount": "default",
        "securityContext": {},
        "schedulerName": "default-scheduler",
        "priority": _priority(spec, store),
        "enableServiceLinks": True,
        "preemptionPolicy": "PreemptLowerPriority",
    }
    rest = {key: value for key, value in spec.items() if key not in completed}
    completed |= {**defaults, **rest, "tolerations": _tolerations(spec)}
    return {**pod, "spec": completed, "status": {"phase": "Pending", "qosClass": qos_class(completed)}}


def qos_class(spec: Obj) -> str:
    """Guaranteed, Burstable or BestEffort, over init containers as well."""
    containers = [*(spec.get("initContainers") or []), *(spec.get("containers") or [])]
    resources = [each.get("resources") or {} for each in containers]
    if not any(amounts(each.get(part)) for each in resources for part in ("limits", "requests")):
        return "BestEffort"
    for each in resources:
        limits, wanted = amounts(each.get("limits")), amounts(each.get("requests"))
        if not {"cpu", "memory"} <= set(limits) or {**limits, **wanted} != limits:
            return "Burstable"
    return "Guaranteed"


def token_mount(container: Obj) -> list[Obj]:
    """The volume mounts as container statuses repeat them."""
    return [_status_mount(mount) for mount in container.get("volumeMounts") or []]


def _status_mount(mount: Obj) -> Obj:
    shown = {"name": mount.get("name", ""), "mountPath": mount.get("mountPath", "")}
    if mount.get("readOnly"):
        shown |= {"readOnly": True, "recursiveReadOnly": "Disabled"}
    return shown


def _completed_container(container: Obj, volume: str) -> Obj:
    resources = container.get("resources") or {}
    if resources.get("limits"):
        wanted = {**resources["limits"], **(resources.get("requests") or {})}
        resources = {**resources, "requests": wanted}
    completed = {
        **container,
        "resources": resources,
        "volumeMounts": [
            *(container.get("volumeMounts") or []),
            {"name": volume, "readOnly": True, "mountPath": _TOKEN_PATH},
        ],
        "terminationMessagePath": container.get("terminationMessagePath", "/dev/termination-log"),
        "terminationMessagePolicy": container.get("terminationMessagePolicy", "File"),
        "imagePullPolicy": container.get("imagePullPolicy") or _pull_policy(str(container.get("image", ""))),
    }
    if container.get("env"):
        completed["env"] = [_completed_env(each) for each in container["env"]]
    if container.get("ports"):
        completed["ports"] = [{**port, "protocol": port.get("protocol", "TCP")} for port in container["ports"]]
    return completed


def _completed_env(entry: Obj) -> Obj:
    source = entry.get("valueFrom") or {}
    if "fieldRef" not in source:
        return entry
    return {**entry, "valueFrom": {**source, "fieldRef": {"apiVersion": "v1", **source["fieldRef"]}}}


def _pull_policy(image: str) -> str:
    tag = image.rpartition("/")[2].partition(":")[2]
    return "Always" if tag in ("", "latest") and "@" not in image else "IfNotPresent"


def _priority(spec: Obj, store: Store | None) -> int:
    name = spec.get("priorityClassName")
    found = store.find(PRIORITYCLASSES, None, name) if store is not None and isinstance(name, str) else None
    value = (found or {}).get("value", 0)
    return value if isinstance(value, int) else 0


def _tolerations(spec: Obj) -> list[Obj]:
    """The pod's own, and those for a node that is lost unless it names them itself."""
    own = [each for each in spec.get("tolerations") or [] if isinstance(each, dict)]
    named = {each.get("key") for each in own}
    added = [_toleration(what) for what in ("not-ready", "unreachable")]
    return own + [each for each in added if each["key"] not in named]


def _toleration(what: str) -> Obj:
    return {
        "key": f"node.kubernetes.io/{what}",
        "operator": "Exists",
        "effect": "NoExecute",
        "tolerationSeconds": _TAINT_TOLERATION_SECONDS,
    }


def _token_volume(name: str) -> Obj:
    namespace = {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}
    sources = [
        {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {"downwardAPI": {"items": [namespace]}},
    ]
    return {"name": name, "projected": {"sources": sources, "defaultMode": 420}}
