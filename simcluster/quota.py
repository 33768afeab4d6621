"""ResourceQuota: how many pods, jobs and other objects a namespace may hold, and how much cpu and memory its pods."""

from collections.abc import Iterable
from typing import Any

from simcluster.actors import Actor
from simcluster.controllers import quantity
from simcluster.errors import refused
from simcluster.resources import PODS, REGISTRY, RESOURCEQUOTAS, Resource
from simcluster.store import Store

Obj = dict[str, Any]
Amounts = dict[str, int]  # thousandths by the name that a quota uses
_CONTROLLER = Actor("system:serviceaccount:kube-system:resourcequota-controller", "kube-controller-manager")
_ONE = 1000
_UNPREFIXED = ("cpu", "memory", "ephemeral-storage")  # such a name in a quota means what is requested
# What every container must name if a quota limits it.
_REQUIRED = ("cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory")


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
        """Raises ApiError 403 when a quota of the namespace is used up, or a pod does not say what it needs."""
        if not resource.namespaced or not self._store.count(RESOURCEQUOTAS):
            return
        namespace = obj["metadata"]["namespace"]
        wanted = usage(resource, obj)
        for quota in self._store.list(RESOURCEQUOTAS, namespace):
            hard, name = _hard(quota), quota["metadata"]["name"]
            if resource is PODS and (missing := _unnamed(obj, hard)):
                raise refused(resource, obj["metadata"]["name"], f"failed quota: {name}: must specify {missing}")
            used = self._used(namespace, hard)
            over = sorted(each for each in wanted if each in hard and used[each] + wanted[each] > hard[each])
            if over:
                told = (f"{word}: {_told(amounts, over)}" for word, amounts in
                        (("requested", wanted), ("used", used), ("limited", hard)))  # fmt: skip
                raise refused(resource, obj["metadata"]["name"], f"exceeded quota: {name}, {', '.join(told)}")

    def _used(self, namespace: str, names: Iterable[str]) -> Amounts:
        total = dict.fromkeys(names, 0)
        for resource in {_BY_NAME.get(name, PODS) for name in total}:
            for obj in self._store.list(resource, namespace):
                for name, amount in usage(resource, obj).items():
                    if name in total and _BY_NAME.get(name, PODS) is resource:
                        total[name] += amount
        return total

    def _follow(self, kind: str, resource: Resource, obj: Obj, old: Obj | None) -> None:
        if not resource.namespaced or not self._store.count(RESOURCEQUOTAS):
            return
        if resource is not RESOURCEQUOTAS and kind == "MODIFIED" and resource is not PODS:
            return
        namespace = obj["metadata"]["namespace"]
        for quota in self._store.list(RESOURCEQUOTAS, namespace):
            hard = (quota.get("spec") or {}).get("hard") or {}
            used = {name: quantity.printed(name, amount) for name, amount in self._used(namespace, hard).items()}
            self._store.update(RESOURCEQUOTAS, {**quota, "status": {"hard": hard, "used": used}}, "status")


def usage(resource: Resource, obj: Obj) -> Amounts:
    """What an object uses, by the names that quotas know. A pod that has ended counts as an object only."""
    used = dict.fromkeys(_names(resource), _ONE)
    if resource is not PODS:
        return used
    if (obj.get("status") or {}).get("phase") in ("Failed", "Succeeded"):
        return {name: amount for name, amount in used.items() if name != "pods"}
    spec = obj.get("spec") or {}
    requests, limits = quantity.pod_total(spec), quantity.pod_total(spec, "limits")
    used |= {f"requests.{name}": amount for name, amount in requests.items()}
    used |= {name: requests[name] for name in _UNPREFIXED if name in requests}
    return used | {f"limits.{name}": amount for name, amount in limits.items()}


def _unnamed(pod: Obj, hard: Iterable[str]) -> str:
    """What the quota limits and some containers do not name, in the server's words; "" if nothing."""
    spec = pod.get("spec") or {}
    containers = [*(spec.get("containers") or []), *(spec.get("initContainers") or [])]
    missing: dict[str, list[str]] = {}
    for name in sorted(set(hard) & set(_REQUIRED)):
        part, _, what = name.rpartition(".")
        for container in containers:
            resources = container.get("resources") or {}
            named = resources.get("limits") if part == "limits" else quantity.requests(container)
            if what not in (named or {}):
                missing.setdefault(name, []).append(str(container.get("name")))
    return "; ".join(f"{name} for: {','.join(sorted(set(names)))}" for name, names in missing.items())


def _told(amounts: Amounts, names: Iterable[str]) -> str:
    return ",".join(f"{name}={quantity.printed(name, amounts[name])}" for name in names)


def _hard(quota: Obj) -> Amounts:
    return quantity.amounts((quota.get("spec") or {}).get("hard"))


def _names(resource: Resource) -> list[str]:
    counted = f"count/{resource.qualified}"
    return [resource.plural, counted] if not resource.group else [counted]


_BY_NAME = {name: resource for resource in REGISTRY for name in _names(resource)}
