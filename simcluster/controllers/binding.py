"""The scheduler's writes to a pod: bound, or refused with the reason."""

from typing import Any

from simcluster.resources import PODS
from simcluster.store import Store

Obj = dict[str, Any]


def bind(store: Store, pod: Obj, node: str, now: str) -> bool:
    """Sets a pod's node and PodScheduled in one write; False if it is gone, another's, or being deleted."""
    current = _current(store, pod)
    if current is None or "deletionTimestamp" in current["metadata"] or current["spec"].get("nodeName"):
        return False
    status = _with_scheduled(current, {"status": "True"}, now)
    status.pop("nominatedNodeName", None)
    store.update(PODS, {**current, "spec": {**current["spec"], "nodeName": node}, "status": status}, "binding")
    return True


def refuse(store: Store, pod: Obj, text: str, now: str, *, reason: str = "Unschedulable", nominated: str = "") -> bool:
    """Writes PodScheduled=False with the reason; False if that stands there already or the pod is gone.

    `nominated`: the node where room is being made for it.
    """
    current = _current(store, pod)
    if current is None or current["spec"].get("nodeName"):
        return False
    conditions = (current.get("status") or {}).get("conditions") or []
    if any(each["type"] == "PodScheduled" and each.get("message") == text for each in conditions):
        return False
    status = _with_scheduled(current, {"status": "False", "reason": reason, "message": text}, now)
    if nominated:
        status["nominatedNodeName"] = nominated
    store.update(PODS, {**current, "status": status}, "status")
    return True


def evict(store: Store, pod: Obj, now: str) -> bool:
    """Marks a pod as preempted by Volcano; False if it is gone or on its way already. The caller deletes it."""
    current = _current(store, pod)
    if current is None or "deletionTimestamp" in current["metadata"]:
        return False
    told = {
        "type": "DisruptionTarget",
        "status": "True",
        "lastProbeTime": None,
        "lastTransitionTime": now,
        "reason": "PreemptionByScheduler",
        "message": "volcano: preempting to accommodate a higher priority pod",
    }
    status = current.get("status") or {}
    conditions = [
        each
        if each["type"] != "Ready"
        else {
            **each,
            "status": "False",
            "lastTransitionTime": now,
            "reason": "Evict",
            "message": "Pod is evicted, because of preempt",
        }
        for each in status.get("conditions") or []
    ]
    store.update(PODS, {**current, "status": {**status, "conditions": [*conditions, told]}}, "status")
    return True


def _current(store: Store, pod: Obj) -> Obj | None:
    current = store.find(PODS, pod["metadata"]["namespace"], pod["metadata"]["name"])
    return current if current is not None and current["metadata"]["uid"] == pod["metadata"]["uid"] else None


def _with_scheduled(pod: Obj, told: Obj, now: str) -> Obj:
    status = pod.get("status") or {}
    old = next((each for each in status.get("conditions") or [] if each["type"] == "PodScheduled"), None)
    since = old["lastTransitionTime"] if old and old["status"] == told["status"] else now
    made = {"type": "PodScheduled", "status": told["status"], "lastProbeTime": None, "lastTransitionTime": since}
    made |= {key: value for key, value in told.items() if key != "status"}
    others = [each for each in status.get("conditions") or [] if each["type"] != "PodScheduled"]
    ordered = {"phase": status.get("phase", "Pending"), "conditions": [*others, made]}
    return {**ordered, **{key: value for key, value in status.items() if key not in ordered}}
