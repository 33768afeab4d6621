"""ResourceQuota: how many pods, jobs and other objects a namespace may hold."""

from typing import Any

from simcluster.actors import Actor
from simcluster.errors import ApiError
from simcluster.resources import PODS, REGISTRY, RESOURCEQUOTAS, Resource
from simcluster.store import Store

Obj = dict[str, Any]
_CONTROLLER = Actor("system:serviceaccount:kube-system:resourcequota-controller", "kube-controller-manager")


class QuotaAdmission:
    """Refuses what is one too many, and keeps the quotas' status."""

    def __init__(self, store: Store) -> None:
        self._store = store.acting_as(_CONTROLLER)
        store.admissions.append(self._admit)
        self._stop = store.subscribe(self._follow)

    def close(self) -> None:
        self._stop()
        self._store.admissions.remove(self._admit)

    def _admit(self, resource: Resource, obj: Obj) -> None:
        """Raises ApiError 403 when a quota of the namespace is used up."""
        if not resource.namespaced or not self._store.count(RESOURCEQUOTAS):
            return
        namespace = obj["metadata"]["namespace"]
        names = _names(resource)
        for quota in self._store.list(RESOURCEQUOTAS, namespace):
            hard = _hard(quota)
            over = [name for name in names if name in hard and self._used(name, namespace) + 1 > hard[name]]
            if over:
                raise self._exceeded(resource, obj, quota, over)

    def _exceeded(self, resource: Resource, obj: Obj, quota: Obj, over: list[str]) -> ApiError:
        namespace, hard = obj["metadata"]["namespace"], _hard(quota)
        requested = ",".join(f"{name}=1" for name in over)
        used = ",".join(f"{name}={self._used(name, namespace)}" for name in over)
        limited = ",".join(f"{name}={hard[name]}" for name in over)
        text = f"requested: {requested}, used: {used}, limited: {limited}"
        name = obj["metadata"]["name"]
        group = {"group": resource.group} if resource.group else {}
        message = f'{resource.qualified} "{name}" is forbidden: exceeded quota: {quota["metadata"]["name"]}, {text}'
        return ApiError(403, "Forbidden", message, {"name": name, **group, "kind": resource.plural})

    def _used(self, name: str, namespace: str) -> int:
        resource = _BY_NAME.get(name)
        if resource is None:
            return 0
        found = self._store.list(resource, namespace)
        if name == "pods":  # pods that have ended use nothing, but count/pods counts them
            return sum((pod.get("status") or {}).get("phase") not in ("Failed", "Succeeded") for pod in found)
        return len(found)

    def _follow(self, kind: str, resource: Resource, obj: Obj, old: Obj | None) -> None:
        if not resource.namespaced or not self._store.count(RESOURCEQUOTAS):
            return
        if resource is not RESOURCEQUOTAS and kind == "MODIFIED" and resource is not PODS:
            return
        namespace = obj["metadata"]["namespace"]
        for quota in self._store.list(RESOURCEQUOTAS, namespace):
            names = (quota.get("spec") or {}).get("hard") or {}
            used = {name: str(self._used(name, namespace)) for name in names}
            self._store.update(RESOURCEQUOTAS, {**quota, "status": {"hard": names, "used": used}}, "status")


def _hard(quota: Obj) -> dict[str, int]:
    limits = (quota.get("spec") or {}).get("hard") or {}
    return {name: int(value) for name, value in limits.items() if str(value).isdigit()}


def _names(resource: Resource) -> list[str]:
    counted = f"count/{resource.qualified}"
    return [resource.plural, counted] if not resource.group else [counted]


_BY_NAME = {name: resource for resource in REGISTRY for name in _names(resource)}
