"""PodDisruptionBudgets: their status, kept as pods come and go, and what they say to an eviction."""

import math
from typing import Any

from simcluster.actors import of_controller_manager
from simcluster.clock import rfc3339
from simcluster.errors import ApiError
from simcluster.resources import PODDISRUPTIONBUDGETS, PODS, Resource, by_kind
from simcluster.scale import scale_of
from simcluster.store import Store

Obj = dict[str, Any]
_REFUSED = "Cannot evict pod as it would violate the pod's disruption budget."
_SEVERAL = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
_BUSY_SECONDS = 10  # until a client asks again, while the budget is being worked out


class DisruptionBudgets:
    """Follows a store from its construction on."""

    def __init__(self, store: Store) -> None:
        self._store = store.acting_as(of_controller_manager("disruption-controller"))
        self._stop = store.subscribe(self._follow)

    def close(self) -> None:
        self._stop()

    def _follow(self, kind: str, resource: Resource, obj: Obj, old: Obj | None) -> None:
        if resource not in (PODS, PODDISRUPTIONBUDGETS) or not self._store.count(PODDISRUPTIONBUDGETS):
            return
        for budget in self._store.list(PODDISRUPTIONBUDGETS, obj["metadata"]["namespace"]):
            self._store.update(PODDISRUPTIONBUDGETS, {**budget, "status": self._status(budget)}, "status")

    def _status(self, budget: Obj) -> Obj:
        before = budget.get("status") or {}
        pods = [pod for pod in self._store.list(PODS, budget["metadata"]["namespace"]) if selects(budget, pod)]
        healthy = sum(_is_ready(pod) and "deletionTimestamp" not in pod["metadata"] for pod in pods)
        try:
            expected, desired = self._expected(budget.get("spec") or {}, pods)
        except _NoScaleError as error:
            return {**before, **_allowed(before, self._now(), 0, "SyncFailed", str(error))}
        allowed = max(0, healthy - desired) if expected > 0 else 0
        status = {
            "observedGeneration": budget["metadata"]["generation"],
            "currentHealthy": healthy,
            "desiredHealthy": desired,
            "expectedPods": expected,
        }
        reason = "SufficientPods" if allowed else "InsufficientPods"
        return {**status, **_allowed(before, self._now(), allowed, reason, "")}

    def _expected(self, spec: Obj, pods: list[Obj]) -> tuple[int, int]:
        """How many pods there should be, and how many of them healthy."""
        if spec.get("maxUnavailable") is not None:
            expected = self._scale_of(pods)
            return expected, max(0, expected - _share(spec["maxUnavailable"], expected))
        wanted = spec.get("minAvailable")
        if not isinstance(wanted, str):
            return len(pods), wanted if isinstance(wanted, int) else 0
        expected = self._scale_of(pods)
        return expected, _share(wanted, expected)

    def _scale_of(self, pods: list[Obj]) -> int:
        """What the pods' controllers say. Raises _NoScaleError for a kind that says nothing."""
        total = 0
        owners = {}
        for pod in pods:
            for owner in pod["metadata"].get("ownerReferences") or []:
                if owner.get("controller"):
                    owners[owner["uid"]] = owner, pod["metadata"]["namespace"]
        for owner, namespace in owners.values():
            resource = by_kind(owner.get("apiVersion", ""), owner.get("kind", ""))
            if resource is None or "scale" not in resource.subresources:
                name = resource.qualified if resource else str(owner.get("kind"))
                raise _NoScaleError(f"{name} does not implement the scale subresource")
            found = self._store.find(resource, namespace, owner["name"])
            if found is not None and found["metadata"]["uid"] == owner["uid"]:
                total += scale_of(resource, found)["spec"].get("replicas", 0)
        return total

    def _now(self) -> str:
        return rfc3339(self._store.clock.now())


class _NoScaleError(Exception):
    pass


def check_eviction(store: Store, pod: Obj) -> None:
    """Whether a pod may be evicted. Raises ApiError 429, 500 for a pod under several budgets."""
    phase = (pod.get("status") or {}).get("phase")
    if phase in ("Failed", "Succeeded", "Pending") or "deletionTimestamp" in pod["metadata"]:
        return
    found = [each for each in store.list(PODDISRUPTIONBUDGETS, pod["metadata"]["namespace"]) if selects(each, pod)]
    if len(found) > 1:
        raise ApiError(500, "", _SEVERAL)
    for budget in found:
        _check(budget, pod)


def _check(budget: Obj, pod: Obj) -> None:
    status, name = budget.get("status") or {}, budget["metadata"]["name"]
    healthy, desired = status.get("currentHealthy", 0), status.get("desiredHealthy", 0)
    if not _is_ready(pod):
        always = (budget.get("spec") or {}).get("unhealthyPodEvictionPolicy") == "AlwaysAllow"
        if always or (healthy >= desired > 0):
            return
    if status.get("observedGeneration", 0) < budget["metadata"]["generation"]:
        why = f"The disruption budget {name} is still being processed by the server."
        raise _too_many(why, _BUSY_SECONDS)
    if not status.get("disruptionsAllowed"):
        raise _too_many(f"The disruption budget {name} needs {desired} healthy pods and has {healthy} currently")


def _too_many(why: str, retry_after: int = 0) -> ApiError:
    details: Obj = {"causes": [{"reason": "DisruptionBudget", "message": why}]}
    if retry_after:
        details["retryAfterSeconds"] = retry_after
    return ApiError(429, "TooManyRequests", _REFUSED, details)


def selects(budget: Obj, pod: Obj) -> bool:
    """Whether a pod is under a budget; an empty selector means all pods, none at all means no pod."""
    selector = (budget.get("spec") or {}).get("selector")
    labels = pod["metadata"].get("labels") or {}
    if not isinstance(selector, dict):
        return False
    wanted = selector.get("matchLabels") or {}
    return all(labels.get(key) == value for key, value in wanted.items()) and all(
        _meets(labels, each) for each in selector.get("matchExpressions") or []
    )


def _meets(labels: dict[str, str], expression: Obj) -> bool:
    key, values = expression.get("key"), expression.get("values") or []
    match expression.get("operator"):
        case "In":
            return key in labels and labels[key] in values
        case "NotIn":
            return labels.get(str(key)) not in values
        case "Exists":
            return key in labels
    return key not in labels


def _allowed(before: Obj, now: str, number: int, reason: str, message: str) -> Obj:
    """disruptionsAllowed and its condition, which keeps its time while its status is the same."""
    told = "True" if number else "False"
    old: Obj = next((each for each in before.get("conditions") or [] if each.get("type") == "DisruptionAllowed"), {})
    condition = {
        "type": "DisruptionAllowed",
        "status": told,
        "lastTransitionTime": old["lastTransitionTime"] if old.get("status") == told else now,
        "reason": reason,
        "message": message,
    }
    return {"disruptionsAllowed": number, "conditions": [condition]}


def _share(value: Any, of: int) -> int:
    """A number, or a percentage rounded up."""
    text = str(value)
    if text.endswith("%") and text[:-1].isdecimal():
        return math.ceil(of * int(text[:-1]) / 100)
    return value if isinstance(value, int) else 0


def _is_ready(pod: Obj) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or []
    return any(each.get("type") == "Ready" and each.get("status") == "True" for each in conditions)
