"""Why an incarnation ended: the first rule that applies (restart facts, section 5), as a code and in words."""

from jobs.domain.codes import meaning
from jobs.domain.state import Incarnation

STATUS_REASONS = {
    "Evicted": ("evicted-kubelet", "evicted by the kubelet"),
    "Preempting": ("preempted", "preempted by the kubelet"),
    "Terminated": ("node-lost", "node {node} shut down"),
    "NodeShutdown": ("node-lost", "node {node} shut down"),
    "NodeLost": ("node-lost", "node {node} lost"),
    "DeadlineExceeded": ("deadline", "deadline exceeded"),
    "UnexpectedAdmissionError": ("unknown", "refused by the kubelet: UnexpectedAdmissionError"),
}
DISRUPTIONS = {
    "PreemptionByScheduler": ("preempted", "preempted by the scheduler"),
    "PreemptionByKubeScheduler": ("preempted", "preempted by the scheduler"),
    "DeletionByTaintManager": ("node-lost", "node {node} lost"),
    "EvictionByEvictionAPI": ("evicted-api", "evicted by the API"),
    "DeletionByPodGC": ("pod-gc", "removed by pod garbage collection"),
    "TerminationByKubelet": ("evicted-kubelet", "terminated by the kubelet"),
}
START_ERRORS = ("StartError", "ContainerCannotRun", "RunContainerError", "CreateContainerError")


def cause_of(pod: Incarnation) -> tuple[str | None, str | None]:
    """(code, words) for a pod that ended or is being deleted; (None, None) while nothing ended."""
    if pod.ended_at is None and pod.deleting_at is None and pod.vanished is None:
        return None, None
    return _disruption(pod) or _deleted_first(pod) or _main(pod) or _others(pod) or _unseen(pod)


def _disruption(pod: Incarnation) -> tuple[str, str] | None:
    found = STATUS_REASONS.get(pod.status_reason or "") or DISRUPTIONS.get(pod.disruption or "")
    return (found[0], found[1].format(node=pod.node or "unknown")) if found else None


def _deleted_first(pod: Incarnation) -> tuple[str, str] | None:
    if not pod.deleted_first:
        return None
    code = last_code(pod)
    return "deleted", "deleted" if code is None else f"deleted, exit {code}"


def _main(pod: Incarnation) -> tuple[str, str] | None:
    if not pod.ends:
        return None
    end = pod.ends[-1]
    if end.reason == "OOMKilled":
        return "oom", f"OOM killed (exit {end.exit_code})"
    if end.reason in START_ERRORS:
        return "start-error", f"container never started: {end.reason}"
    if end.exit_code == 0:
        return _sidecar(pod) if pod.phase == "Failed" and pod.sidecar_failure else ("completed", "completed")
    return "exit", f"exit {end.exit_code} ({meaning(end.exit_code or 0)})"


def _others(pod: Incarnation) -> tuple[str, str] | None:
    if pod.init_failure:
        return "init", f"init container {pod.init_failure.name} exited {pod.init_failure.exit_code}"
    return _sidecar(pod)


def _sidecar(pod: Incarnation) -> tuple[str, str] | None:
    if pod.sidecar_failure is None:
        return None
    return "sidecar", f"sidecar {pod.sidecar_failure.name} exited {pod.sidecar_failure.exit_code}"


def _unseen(pod: Incarnation) -> tuple[str, str]:
    if pod.deleting_at is not None or pod.deleted_at is not None:
        return "unknown", "deleted, no exit code seen"
    return "unknown", "no exit code seen"


def last_code(pod: Incarnation) -> int | None:
    """The main container's last known exit code."""
    return pod.ends[-1].exit_code if pod.ends else None
