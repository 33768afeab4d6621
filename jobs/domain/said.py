"""What is said to a person: a code, the values in it, and what it rests on. English is one translation of it."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from jobs.domain.state import Incarnation, JobState, ReplicaKey

Value = str | int | float


class Evidence(NamedTuple):
    """An object, and the moment at which an observation of it showed what is said (None: any of it)."""

    resource: str
    uid: str
    at: float | None = None


@dataclass(frozen=True, slots=True)
class Said:
    """``one`` and ``many`` are templates for ``params``; ``many`` is for ``params["count"]`` other than 1."""

    code: str
    one: str
    many: str = ""
    params: dict[str, Value] = field(default_factory=dict)
    at: float | None = None  # since when, or when
    evidence: tuple[Evidence, ...] = ()

    @property
    def template(self) -> str:
        return self.many if self.many and self.params.get("count") != 1 else self.one

    @property
    def sentence(self) -> str:
        return self.template % self.params


def replica_words(key: ReplicaKey) -> str:
    """``worker 0``; with the job index before it where there is one."""
    kind, index, job_index = key
    return f"{kind} {job_index}/{index}" if job_index else f"{kind} {index}"


def pod_words(pod: Incarnation) -> str:
    return replica_words((pod.type, pod.index, pod.job_index))


def pod_evidence(pod: Incarnation, at: float | None = None) -> Evidence:
    return Evidence("pods", pod.uid, at if at is not None else pod.ended_at)


def job_evidence(job: JobState, resource: str, at: float | None = None) -> Evidence:
    return Evidence(resource, job.uid, at)


def seconds_words(seconds: float) -> str:
    """``105 s``, ``10 min``, ``2 h``, ``3 d``: the largest unit that keeps it at 2 or more, rounded down."""
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{int(seconds // size)} {unit}"
    return f"{int(seconds)} s"


@dataclass(frozen=True, slots=True)
class Finding(Said):
    severity: str = "info"  # error, warning, info


# code -> (severity, template, template for a count other than 1)
FINDINGS: dict[str, tuple[str, str, str]] = {
    "restart-wave": (
        "warning",
        "Restart wave: %(count)d restart of %(replicas)d replicas within %(time)s; %(replica)s was first: %(cause)s.",
        "Restart wave: %(count)d restarts of %(replicas)d replicas within %(time)s; %(replica)s was first: %(cause)s.",
    ),
    "restart-wave-node": (
        "warning",
        "Restart wave: %(count)d restart of %(replicas)d replicas within %(time)s, in which node %(nodes)s was lost; "
        "%(replica)s was first: %(cause)s.",
        "Restart wave: %(count)d restarts of %(replicas)d replicas within %(time)s, in which node %(nodes)s was lost; "
        "%(replica)s was first: %(cause)s.",
    ),
    "first-failure": ("info", "The first failure was %(replica)s: %(cause)s.", ""),
    "gang-restarted": (
        "warning",
        "The whole gang was restarted once; first cause: %(causes)s.",
        "The whole gang was restarted %(count)d times; first causes: %(causes)s.",
    ),
    "crash-loop": (
        "warning",
        "%(replica)s is crash-looping: restarted %(count)d time, now held back by the kubelet.",
        "%(replica)s is crash-looping: restarted %(count)d times, now held back by the kubelet.",
    ),
    "crash-loop-other": (
        "warning",
        "Container %(container)s of %(replica)s is crash-looping: restarted %(count)d time.",
        "Container %(container)s of %(replica)s is crash-looping: restarted %(count)d times.",
    ),
    "runaway": (
        "error",
        "%(replica)s runs away: %(count)d restarts within %(time)s, one every %(every)s s.",
        "",
    ),
    "runaway-over": (
        "warning",
        "%(replica)s ran away: %(count)d restarts within %(time)s, one every %(every)s s.",
        "",
    ),
    "completed-run-again": ("warning", "%(replica)s had completed and was run again.", ""),
    "unexpected-for-policy-never": ("warning", "%(replica)s was recreated: unexpected for policy Never.", ""),
    "created-after-failed": ("warning", "%(replica)s was created anew after the job had failed.", ""),
    "ttl-never-fires": (
        "warning",
        "The TTL (%(seconds)d s) will not fire: the job failed without a completion time.",
        "",
    ),
    "backoff-limit-not-enforced": (
        "warning",
        "backoffLimit %(limit)d is not enforced under ExitCode: %(count)d restart so far.",
        "backoffLimit %(limit)d is not enforced under ExitCode: %(count)d restarts so far.",
    ),
    "podgroup-flaps": (
        "info",
        "The PodGroup flapped %(count)d time (mostly %(phase)s).",
        "The PodGroup flapped %(count)d times (mostly %(phase)s).",
    ),
    "gang-waits": ("warning", "The gang has waited for room for %(time)s.", ""),
    "admitted-without-pods": ("error", "The gang is admitted, but pods were not created for %(time)s.", ""),
    "terminating": ("error", "%(replica)s has been terminating for %(time)s (node %(node)s).", ""),
    "terminating-finalizer": (
        "error",
        "%(replica)s has been terminating for %(time)s: held by finalizer %(finalizers)s.",
        "",
    ),
    "image-not-pulled": ("error", "The image of %(replica)s cannot be pulled (%(reason)s): %(image)s.", ""),
    "pending-since-restart": (
        "warning",
        "%(replica)s has been pending since its restart, for %(time)s: %(message)s.",
        "",
    ),
    "pending": ("warning", "%(replica)s has been pending for %(time)s: %(message)s.", ""),
    "pods-left-running": (
        "warning",
        "The job is %(state)s, but %(count)d pod is still running: %(names)s.",
        "The job is %(state)s, but %(count)d pods are still running: %(names)s.",
    ),
    "podgroup-reserves": (
        "warning",
        "The PodGroup (%(phase)s) still reserves resources, %(time)s after the job's end.",
        "",
    ),
}


def finding(code: str, at: float | None, evidence: Iterable[Evidence], **params: Value) -> Finding:
    """The finding of that code; ``params`` fill its template."""
    severity, one, many = FINDINGS[code]
    return Finding(code, one, many, params, at, tuple(evidence), severity)
