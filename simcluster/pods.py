"""Pods that clients create: what the API server checks and adds, and what an update may change."""

import random
from collections.abc import Iterator
from typing import Any

from simcluster.admission import name_fault
from simcluster.controllers.podspec import completed_pod
from simcluster.errors import cause, invalid
from simcluster.resources import PODS
from simcluster.store import Store

Obj = dict[str, Any]
_TOKEN_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"  # noqa: S105
_RESTART_POLICIES = ("Always", "OnFailure", "Never")
_PULL_POLICIES = ("Always", "IfNotPresent", "Never")
_MUTABLE = (
    "spec.containers[*].image",
    "spec.initContainers[*].image",
    "spec.activeDeadlineSeconds",
    "spec.tolerations",
    "spec.terminationGracePeriodSeconds",
)


def admitted(pod: Obj, rng: random.Random, store: Store) -> Obj:
    """A new pod with the server's defaults, its token volume and tolerations. Raises ApiError 422 with all faults."""
    spec = pod.get("spec")
    causes = list(_faults(spec if isinstance(spec, dict) else {}))
    name = pod["metadata"].get("name") or ""
    fault = None if not name and pod["metadata"].get("generateName") else name_fault(PODS, name)
    if causes:
        raise invalid(PODS, name, [*([fault] if fault else []), *causes])
    completed = completed_pod(pod, rng, store)
    if spec and _brings_its_token(spec):  # a pod that was written out in full and read in again
        spec_only = {"volumes": spec.get("volumes") or [], "containers": spec["containers"]}
        completed = {**completed, "spec": {**completed["spec"], **spec_only}}
    return completed


def check_update(old: Obj, new: Obj) -> None:
    """Raises ApiError 422 when an update changes what runs in a pod."""
    if _frozen(old.get("spec") or {}) == _frozen(new.get("spec") or {}):
        return
    fields = ",".join(f"`{name}`" for name in _MUTABLE)
    message = f"Forbidden: pod updates may not change fields other than {fields}"
    raise invalid(PODS, old["metadata"]["name"], [cause("FieldValueForbidden", message, "spec")])


def images(pod: Obj) -> list[Any]:
    """What runs in a pod; nothing else of it that its namespace is asked about can be changed."""
    spec = pod.get("spec") or {}
    containers = [*(spec.get("initContainers") or []), *(spec.get("containers") or [])]
    return [container.get("image") for container in containers if isinstance(container, dict)]


def _frozen(spec: Obj) -> Obj:
    kept = {
        key: value
        for key, value in spec.items()
        if key not in ("activeDeadlineSeconds", "tolerations", "terminationGracePeriodSeconds")
    }
    for key in ("containers", "initContainers"):
        if isinstance(kept.get(key), list):
            kept[key] = [{**item, "image": ""} if isinstance(item, dict) else item for item in kept[key]]
    return kept


def _brings_its_token(spec: Obj) -> bool:
    if spec.get("automountServiceAccountToken") is False:
        return True
    return all(
        any(mount.get("mountPath") == _TOKEN_PATH for mount in container.get("volumeMounts") or [])
        for container in spec["containers"]
    )


def _faults(spec: Obj) -> Iterator[dict[str, str]]:
    containers = spec.get("containers") or []
    if not containers:
        yield cause("FieldValueRequired", "Required value", "spec.containers")
    seen: set[str] = set()
    for field in ("initContainers", "containers"):
        for index, container in enumerate(spec.get(field) or []):
            yield from _container_faults(container, f"spec.{field}[{index}]", seen)
    policy = spec.get("restartPolicy", "Always")
    if policy not in _RESTART_POLICIES:
        yield _unsupported(policy, _RESTART_POLICIES, "spec.restartPolicy")
    grace = spec.get("terminationGracePeriodSeconds")
    if isinstance(grace, int) and grace < 0:
        message = f"Invalid value: {grace}: must be greater than or equal to 0"
        yield cause("FieldValueInvalid", message, "spec.terminationGracePeriodSeconds")


def _container_faults(container: Obj, path: str, seen: set[str]) -> Iterator[dict[str, str]]:
    name = container.get("name")
    if not name:
        yield cause("FieldValueRequired", "Required value", f"{path}.name")
    elif name in seen:
        yield cause("FieldValueDuplicate", f'Duplicate value: "{name}"', f"{path}.name")
    seen.add(str(name))
    if not container.get("image"):
        yield cause("FieldValueRequired", "Required value", f"{path}.image")
    policy = container.get("imagePullPolicy", "Always")
    if policy not in _PULL_POLICIES:
        yield _unsupported(policy, _PULL_POLICIES, f"{path}.imagePullPolicy")


def _unsupported(value: Any, supported: tuple[str, ...], path: str) -> dict[str, str]:
    known = ", ".join(f'"{item}"' for item in sorted(supported))
    return cause("FieldValueNotSupported", f'Unsupported value: "{value}": supported values: {known}', path)
