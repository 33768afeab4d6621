"""Why an incarnation ended: the first rule that applies (restart facts, section 5), as a code and in words."""

from jobs.domain.codes import meaning, signal_name
from jobs.domain.state import End, Incarnation, InPlace

Cause = tuple[str, str]  # cause_code of the report, words

STATUS_REASONS = {
    "Evicted": ("evicted-kubelet", "evicted by the kubelet"),
    "Preempting": ("preempted", "preempted by the kubelet"),
    "Terminated": ("node-lost", "node{node} shut down"),
    "NodeShutdown": ("node-lost", "node{node} shut down"),
    "NodeLost": ("node-lost", "node{node} lost"),
    "DeadlineExceeded": ("deadline", "deadline exceeded"),
    "UnexpectedAdmissionError": ("unknown", "refused by the kubelet: UnexpectedAdmissionError"),
}
DISRUPTIONS = {
    "PreemptionByScheduler": ("preempted", "preempted by the scheduler"),
    "PreemptionByKubeScheduler": ("preempted", "preempted by the scheduler"),
    "DeletionByTaintManager": ("node-lost", "node{node} lost"),
    "EvictionByEvictionAPI": ("evicted-api", "evicted by the API"),
    "DeletionByPodGC": ("pod-gc", "removed by pod garbage collection"),
    "TerminationByKubelet": ("evicted-kubelet", "terminated by the kubelet"),
}
START_ERRORS = ("StartError", "ContainerCannotRun", "RunContainerError", "CreateContainerError")
SPECIAL_REASONS = ("OOMKilled", *START_ERRORS)
IN_PLACE_POLICIES = ("OnFailure", "Always")  # of a pod: the kubelet restarts its containers, whatever the code
UNSEEN = "no exit code seen"
WITH_THE_GANG = "restarted with the gang"


def settle_cause(pod: Incarnation) -> None:
    """Bring the pod's cause up to date with what is known of it."""
    pod.completed = _had_completed(pod)
    pod.cause_code, pod.cause = cause_of(pod)


def cause_of(pod: Incarnation) -> tuple[str | None, str | None]:
    """(code, words) for a pod that ended or is being deleted; (None, None) while nothing ended."""
    if pod.ended_at is None and pod.deleting_at is None and pod.vanished is None:
        return None, None
    return _disruption(pod) or _gang(pod) or _deleted_first(pod) or _main(pod) or _others(pod) or _unseen(pod)


def final_end(pod: Incarnation) -> End | None:
    """The end of the main container's last run; None while it runs and where that end was not seen."""
    if pod.main_state == "running" or len(pod.ends) <= pod.ends_before_run:
        return None
    return pod.ends[-1]


def last_code(pod: Incarnation) -> int | None:
    """The main container's last known exit code, of whichever run."""
    return pod.ends[-1].exit_code if pod.ends else None


def deleted_between_runs(pod: Incarnation) -> bool:
    """Whether deletion was asked while the kubelet was about to run the main container again."""
    waited = pod.pod_policy in IN_PLACE_POLICIES and pod.asked_phase in ("Pending", "Running")
    return waited and not pod.deleted_first and not pod.completed


def _had_completed(pod: Incarnation) -> bool:
    """Whether the replica was done: exit 0 before anyone asked for the pod's deletion, and nothing else failed."""
    end = final_end(pod)
    if pod.deleted_first or pod.phase == "Failed" or pod.pod_policy == "Always":  # under Always it never is done
        return False
    return pod.phase == "Succeeded" or (end is not None and end.exit_code == 0 and end.reason != "OOMKilled")


def in_place_cause(restart: InPlace) -> Cause:
    """The cause of a restart inside a pod."""
    if restart.exit_code is None:
        return "unknown", UNSEEN
    return _exit(restart.exit_code, restart.reason, classed=False)


def _disruption(pod: Incarnation) -> Cause | None:
    found = STATUS_REASONS.get(pod.status_reason or "") or DISRUPTIONS.get(pod.disruption or "")
    return (found[0], found[1].format(node=f" {pod.node}" if pod.node else "")) if found else None


def _gang(pod: Incarnation) -> Cause | None:
    """Taken along: nothing was wrong with this pod, and it came back because another one failed."""
    harmless = pod.deleted_first or pod.completed or deleted_between_runs(pod)
    taken = pod.taken_by and pod.counts and harmless
    return ("gang", WITH_THE_GANG) if taken else None


def _deleted_first(pod: Incarnation) -> Cause | None:
    if not pod.deleted_first:
        return None
    end = final_end(pod)
    what = f"deleted ({pod.disruption})" if pod.disruption else "deleted"
    if end is None:
        return "deleted", what if pod.ended_at is None else f"{what}, {UNSEEN}"
    special = f" ({end.reason})" if end.reason in SPECIAL_REASONS else ""
    return "deleted", f"{what}, exit {end.exit_code}{special}"


def _main(pod: Incarnation) -> Cause | None:
    end = final_end(pod)
    if end is None or end.exit_code is None:
        return None
    if end.exit_code == 0 and end.reason != "OOMKilled":
        failed = _others(pod) if pod.phase == "Failed" else None
        return failed or ("completed", "completed")
    classed = not pod.with_gang and pod.pod_policy not in IN_PLACE_POLICIES
    return _exit(end.exit_code, end.reason, classed=classed)


def _exit(code: int, reason: str | None, *, classed: bool) -> Cause:
    """Words for an exit. OOM is said by the reason only. ``classed``: the code's class may matter (ExitCode)."""
    if reason == "OOMKilled":
        return "oom", f"OOM killed (exit {code})"
    if reason in START_ERRORS:
        return "start-error", f"container never started: {reason}"
    if code == 0:
        return "completed", "completed"
    words = meaning(code) if classed else signal_name(code)
    return "exit", f"exit {code} ({words})" if words else f"exit {code}"


def _others(pod: Incarnation) -> Cause | None:
    if pod.init_failure:
        return "init", f"init container {pod.init_failure.name} exited {pod.init_failure.exit_code}"
    if pod.sidecar_failure:
        return "sidecar", f"sidecar {pod.sidecar_failure.name} exited {pod.sidecar_failure.exit_code}"
    return None


def _unseen(pod: Incarnation) -> Cause:
    if pod.phase == "Failed" and pod.status_reason:
        return "unknown", f"refused by the kubelet: {pod.status_reason}"
    if pod.deleting_at is not None or pod.deleted_at is not None:
        return "unknown", f"deleted, {UNSEEN}"
    return "unknown", UNSEEN
