"""A pod's row in `kubectl get pods`: readiness, the status in one word, restarts, where it runs."""

from collections.abc import Iterable
from typing import Any

from simcluster import durations
from simcluster.clock import parse_rfc3339

Obj = dict[str, Any]
_NONE = "<none>"


def pod_cells(pod: Obj, now: float) -> list[Any]:
    """Name, ready, status, restarts, age, IP, node, nominated node, readiness gates."""
    spec, status = _dict(pod.get("spec")), _dict(pod.get("status"))
    summary = _Summary(pod, spec, status)
    gates = spec.get("readinessGates")
    return [
        pod["metadata"]["name"],
        f"{summary.ready}/{summary.total}",
        summary.reason,
        summary.restarts_text(now),
        durations.since(pod["metadata"].get("creationTimestamp"), now),
        status.get("podIP") or _NONE,
        spec.get("nodeName") or _NONE,
        status.get("nominatedNodeName") or _NONE,
        f"0/{len(gates)}" if isinstance(gates, list) and gates else _NONE,
    ]


class _Summary:
    """What a pod's containers amount to. The order of the questions is kubectl's: the first answer wins."""

    def __init__(self, pod: Obj, spec: Obj, status: Obj) -> None:
        inits = _items(spec.get("initContainers"))
        self._lasting = {item.get("name") for item in inits if item.get("restartPolicy") == "Always"}
        self._conditions = {str(item.get("type")): item for item in _items(status.get("conditions"))}
        self.total = len(_items(spec.get("containers"))) + len(self._lasting)
        self.ready = 0
        self.restarts = 0
        self._last_end: str = ""
        self.reason = str(status.get("reason") or status.get("phase") or "")
        if _dict(self._conditions.get("PodScheduled")).get("reason") == "SchedulingGated":
            self.reason = "SchedulingGated"
        initializing = self._look_at_inits(_items(status.get("initContainerStatuses")), len(inits))
        if not initializing or self._holds("Initialized"):
            self._look_at_containers(_items(status.get("containerStatuses")))
        if "deletionTimestamp" in pod["metadata"]:
            if status.get("reason") == "NodeLost":
                self.reason = "Unknown"
            elif status.get("phase") not in ("Failed", "Succeeded"):
                self.reason = "Terminating"

    def restarts_text(self, now: float) -> str:
        ended = durations.since(self._last_end, now) if self._last_end else ""
        return f"{self.restarts} ({ended} ago)" if self.restarts and ended else str(self.restarts)

    def _holds(self, condition: str) -> bool:
        return _dict(self._conditions.get(condition)).get("status") == "True"

    def _look_at_inits(self, statuses: list[Obj], count: int) -> bool:
        """Whether an init container is still at work; then its state is the pod's reason."""
        self._lasting_restarts = 0
        for index, container in enumerate(statuses):
            self._note_restarts(container)
            lasting = container.get("name") in self._lasting
            if lasting:
                self._lasting_restarts += _count(container)
            state = _dict(container.get("state"))
            ended, waiting = state.get("terminated"), _dict(state.get("waiting"))
            if isinstance(ended, dict) and ended.get("exitCode") == 0:
                continue
            if lasting and container.get("started"):
                self.ready += bool(container.get("ready"))
                continue
            if isinstance(ended, dict):
                self.reason = f"Init:{_end_text(ended)}"
            elif waiting.get("reason") not in (None, "", "PodInitializing"):
                self.reason = f"Init:{waiting['reason']}"
            else:
                self.reason = f"Init:{index}/{count}"
            return True
        return False

    def _look_at_containers(self, statuses: list[Obj]) -> None:
        self.restarts = self._lasting_restarts
        self._last_end = "" if not self._lasting_restarts else self._last_end
        has_running = False
        for container in reversed(statuses):
            self._note_restarts(container)
            state = _dict(container.get("state"))
            ended, waiting = state.get("terminated"), _dict(state.get("waiting"))
            if waiting.get("reason"):
                self.reason = str(waiting["reason"])
            elif isinstance(ended, dict):
                self.reason = _end_text(ended)
            elif container.get("ready") and "running" in state:
                has_running = True
                self.ready += 1
        if self.reason == "Completed" and has_running:
            self.reason = "Running" if self._holds("Ready") else "NotReady"

    def _note_restarts(self, container: Obj) -> None:
        self.restarts += _count(container)
        finished = _dict(_dict(container.get("lastState")).get("terminated")).get("finishedAt")
        if isinstance(finished, str) and _moment(finished) > _moment(self._last_end):
            self._last_end = finished


def _end_text(ended: Obj) -> str:
    if ended.get("reason"):
        return str(ended["reason"])
    return f"Signal:{ended['signal']}" if ended.get("signal") else f"ExitCode:{ended.get('exitCode')}"


def _count(container: Obj) -> int:
    value = container.get("restartCount")
    return value if isinstance(value, int) else 0


def _moment(timestamp: str) -> float:
    try:
        return parse_rfc3339(timestamp) if timestamp else float("-inf")
    except ValueError:
        return float("-inf")


def _dict(value: Any) -> Obj:
    return value if isinstance(value, dict) else {}


def _items(values: Any) -> list[Obj]:
    found: Iterable[Any] = values if isinstance(values, list) else ()
    return [item for item in found if isinstance(item, dict)]
