"""pods/log: what a container has printed, as its kubelet tells it."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from simcluster.clock import parse_rfc3339, rfc3339_micro
from simcluster.errors import ApiError, bad_request, cause
from simcluster.requests import flag, number

Obj = dict[str, Any]
_BOUNDS = {0: "or equal to 0", 1: "0"}  # how "at least so much" is said
_PAUSE = 9  # digits after the second, as container runtimes write them


class LogSource(Protocol):
    """Where the lines come from; `simcluster.controllers.logs.Logs` is one."""

    def entries_of(self, pod_uid: str, container: str, previous: bool = False) -> Sequence[tuple[float, str]]:
        """The lines printed until now, each with its time; none for a container that has not run."""
        ...


class NoLogs:
    """The source of a cluster without kubelets."""

    def entries_of(self, pod_uid: str, container: str, previous: bool = False) -> Sequence[tuple[float, str]]:
        return ()


def container_of(pod: Obj, query: Mapping[str, str]) -> str:
    """The container that is asked for, by default the only one. Raises ApiError 400, as the server does."""
    name, spec = pod["metadata"]["name"], pod.get("spec") or {}
    containers = [str(item.get("name")) for item in spec.get("containers") or []]
    inits = [str(item.get("name")) for item in spec.get("initContainers") or []]
    wanted = query.get("container", "")
    if wanted:
        if wanted not in (*containers, *inits):
            raise bad_request(f"container {wanted} is not valid for pod {name}")
        return wanted
    if len(containers) != 1:
        text = f"a container name must be specified for pod {name}, choose one of: [{' '.join(containers)}]"
        raise bad_request(text + (f" or one of the init containers: [{' '.join(inits)}]" if inits else ""))
    return containers[0]


def check_has_run(pod: Obj, container: str, previous: bool) -> None:
    """Raises ApiError 400 for a container that has no log yet, or none of an earlier run."""
    name, status = pod["metadata"]["name"], pod.get("status") or {}
    statuses = [*(status.get("containerStatuses") or []), *(status.get("initContainerStatuses") or [])]
    found: Obj = next((item for item in statuses if item.get("name") == container), {})
    state, last = found.get("state") or {}, found.get("lastState") or {}
    if previous and not last.get("terminated"):
        raise bad_request(f'previous terminated container "{container}" in pod "{name}" not found')
    if previous or "running" in state or "terminated" in state or last.get("terminated"):
        return
    reason = (state.get("waiting") or {}).get("reason")
    why = f"is waiting to start: {reason}" if reason else "is not available"
    raise bad_request(f'container "{container}" in pod "{name}" {why}')


def _check_limits(pod: str, given: Mapping[str, tuple[int | None, int]]) -> None:
    """Each number and the least that it may be. Raises ApiError 422."""
    causes = [
        cause("FieldValueInvalid", f"Invalid value: {value}: must be greater than {_BOUNDS[least]}", name)
        for name, (value, least) in given.items()
        if value is not None and value < least
    ]
    if causes:
        texts = [f"{each['field']}: {each['message']}" for each in causes]
        text = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
        details = {"name": pod, "kind": "PodLogOptions", "causes": causes}
        raise ApiError(422, "Invalid", f'PodLogOptions "{pod}" is invalid: {text}', details)


class LogQuery:
    """tailLines, sinceSeconds, sinceTime, timestamps, limitBytes, previous, follow. Raises ApiError 400, 422."""

    def __init__(self, pod: str, query: Mapping[str, str], now: float) -> None:
        self.previous = flag(query, "previous")
        self.follow = flag(query, "follow")
        self._timestamps = flag(query, "timestamps")
        self._limit = number(query, "limitBytes")
        self._tail = number(query, "tailLines")
        seconds = number(query, "sinceSeconds")
        _check_limits(pod, {"tailLines": (self._tail, 0), "limitBytes": (self._limit, 1), "sinceSeconds": (seconds, 1)})
        self._since = now - seconds if seconds is not None else float("-inf")
        if query.get("sinceTime"):
            try:
                self._since = parse_rfc3339(query["sinceTime"])
            except ValueError:
                raise bad_request(f'sinceTime: Invalid value: "{query["sinceTime"]}"') from None

    def text(self, entries: Sequence[tuple[float, str]]) -> bytes:
        """The lines that are asked for."""
        wanted = [entry for entry in entries if entry[0] >= self._since]
        if self._tail is not None:
            wanted = wanted[len(wanted) - min(self._tail, len(wanted)) :]
        return self.lines(wanted)[: self._limit]

    def lines(self, entries: Sequence[tuple[float, str]]) -> bytes:
        return "".join(self._line(at, text) for at, text in entries).encode("utf-8", "replace")

    def _line(self, at: float, text: str) -> str:
        moment = rfc3339_micro(at).removesuffix("Z") + "0" * (_PAUSE - 6) + "Z "
        return f"{moment if self._timestamps else ''}{text}\n"
