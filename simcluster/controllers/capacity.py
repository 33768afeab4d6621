"""What the nodes have, what the pods on them ask for, and why a pod fits on none of them."""

from collections import Counter
from typing import Any

from simcluster.controllers import quantity
from simcluster.resources import NODES
from simcluster.store import Store

Obj = dict[str, Any]
Amounts = dict[str, int]  # thousandths by resource

OVERCOMMIT = 1.2  # what may be promised to admitted groups, as a factor of what the nodes have
_DISCARDED = ("Failed", "Succeeded")


class Capacity:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._pods: dict[str, tuple[str, Amounts]] = {}
        self.used: dict[str, Amounts] = {}
        self._allocatable: dict[str, tuple[str, Amounts]] = {}  # by node, with the version it was read at

    def note(self, change: str, pod: Obj) -> None:
        uid, node = pod["metadata"]["uid"], pod["spec"].get("nodeName")
        ended = (pod.get("status") or {}).get("phase") in _DISCARDED
        if change == "DELETED" or ended or not node:
            self._release(uid)
        elif uid not in self._pods:
            wanted = wants(pod)
            self._pods[uid] = (node, wanted)
            quantity.add(self.used.setdefault(node, {}), wanted)

    def _release(self, uid: str) -> None:
        if uid in self._pods:
            node, wanted = self._pods.pop(uid)
            quantity.add(self.used[node], wanted, -1)

    def node_for(self, pod: Obj, planned: dict[str, Amounts] | None = None) -> str | None:
        """The node with the most free cpu that a pod fits on; `planned`: what is to be taken (or, negative, freed)."""
        best: tuple[int, str] | None = None
        wanted = wants(pod)
        for node in self._store.list(NODES):
            if _unfit(pod, node):
                continue
            free = self._free(node, planned)
            if not _lacking(wanted, free) and (best is None or free.get("cpu", 0) > best[0]):
                best = (free.get("cpu", 0), node["metadata"]["name"])
        return best[1] if best else None

    def place(self, pod: Obj, planned: dict[str, Amounts]) -> str | None:
        """As `node_for`, and notes in `planned` that the pod takes its place there."""
        node = self.node_for(pod, planned)
        if node is not None:
            quantity.add(planned.setdefault(node, {}), wants(pod))
        return node

    def refusal(self, pod: Obj, planned: dict[str, Amounts] | None = None) -> str:
        """Why a pod fits on no node, counted: "1 Insufficient cpu, 1 node(s) had untolerated taint(s)"."""
        reasons: Counter[str] = Counter()
        wanted = wants(pod)
        for node in self._store.list(NODES):
            unfit = _unfit(pod, node)
            for reason in [unfit] if unfit else _lacking(wanted, self._free(node, planned)):
                reasons[reason] += 1
        return ", ".join(sorted(f"{count} {reason}" for reason, count in reasons.items()))

    def _free(self, node: Obj, planned: dict[str, Amounts] | None) -> Amounts:
        name, version = node["metadata"]["name"], node["metadata"]["resourceVersion"]
        known = self._allocatable.get(name)
        if known is None or known[0] != version:
            known = (version, quantity.amounts((node.get("status") or {}).get("allocatable")))
            self._allocatable[name] = known
        free = dict(known[1])
        for taken in (self.used.get(name, {}), (planned or {}).get(name, {})):
            quantity.add(free, taken, -1)
        return free

    def idle(self) -> Amounts:
        """What may still be promised to gangs, over all nodes."""
        total: Amounts = {}
        for node in filter(is_ready, self._store.list(NODES)):
            free = quantity.amounts(node["status"].get("allocatable"))
            quantity.add(total, {name: int(amount * OVERCOMMIT) for name, amount in free.items()})
        for used in self.used.values():
            quantity.add(total, used, -1)
        return total


def wants(pod: Obj) -> Amounts:
    """What a pod takes of its node, its own place included."""
    return {**quantity.pod_total(pod["spec"]), "pods": 1000}


def is_ready(node: Obj) -> bool:
    conditions = (node.get("status") or {}).get("conditions") or []
    ready = any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
    return ready and not (node.get("spec") or {}).get("unschedulable")


def _unfit(pod: Obj, node: Obj) -> str:
    """Why the node is not for this pod, whatever room it has; "" if it is."""
    spec = node.get("spec") or {}
    if spec.get("unschedulable"):
        return "node(s) were unschedulable"
    selector = pod["spec"].get("nodeSelector") or {}
    labels = node["metadata"].get("labels") or {}
    if any(labels.get(key) != value for key, value in selector.items()):
        return "node(s) didn't match Pod's node affinity/selector"
    taints = [each for each in spec.get("taints") or [] if each.get("effect") in ("NoSchedule", "NoExecute")]
    if any(not is_tolerated(taint, pod) for taint in taints):
        return "node(s) had untolerated taint(s)"
    return "" if is_ready(node) else "node(s) were not ready"


def is_tolerated(taint: Obj, pod: Obj) -> bool:
    return toleration_of(taint, pod) is not None


def toleration_of(taint: Obj, pod: Obj) -> Obj | None:
    """The pod's toleration for a taint; None without one."""
    for toleration in pod["spec"].get("tolerations") or []:
        same_effect = toleration.get("effect") in (None, "", taint.get("effect"))
        same_key = toleration.get("key") in (None, "", taint.get("key"))
        exists = toleration.get("operator") == "Exists"
        if same_effect and same_key and (exists or toleration.get("value", "") == taint.get("value", "")):
            return dict(toleration)
    return None


def _lacking(wanted: Amounts, free: Amounts) -> list[str]:
    short = sorted(name for name, amount in wanted.items() if amount > free.get(name, 0))
    return ["Too many pods" if name == "pods" else f"Insufficient {name}" for name in short]
