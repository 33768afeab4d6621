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
        """The one of the two templates that fits the count; what is looked up in the catalogue."""
        return self.many if self.many and self.params.get("count") != 1 else self.one

    @property
    def sentence(self) -> str:
        """In English."""
        return self.template % self.params


def replica_words(key: ReplicaKey) -> str:
    """``worker 0``; with the job index before it where there is one."""
    kind, index, job_index = key
    return f"{kind} {job_index}/{index}" if job_index else f"{kind} {index}"


def pod_words(pod: Incarnation) -> str:
    """The replica that the pod is of: ``worker 0``."""
    return replica_words((pod.type, pod.index, pod.job_index))


def pod_evidence(pod: Incarnation, at: float | None = None) -> Evidence:
    """The pod as it was at ``at`` (epoch seconds), by default at its end, or at any time if none was seen."""
    return Evidence("pods", pod.uid, at if at is not None else pod.ended_at)


def job_evidence(job: JobState, resource: str, at: float | None = None) -> Evidence:
    """The job as it was at ``at`` (epoch seconds); None: at any time."""
    return Evidence(resource, job.uid, at)


def seconds_words(seconds: float) -> str:
    """``105 s``, ``10 min``, ``2 h``, ``3 d``: the largest unit that keeps it at 2 or more, rounded down."""
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{int(seconds // size)} {unit}"
    return f"{int(seconds)} s"


@dataclass(frozen=True, slots=True)
class Finding(Said):
    """Something worth knowing about a job, as FINDINGS words it."""

    severity: str = "info"  # error, warning, info


# code -> (severity, template, template for a count other than 1)
FINDINGS: dict[str, tuple[str, str, str]] = {
    # of a job
    "restart-wave": (
        "warning",
        "Restart wave: %(count)s restart of %(replicas)s replicas within %(time)s; %(replica)s was first: %(cause)s.",
        "Restart wave: %(count)s restarts of %(replicas)s replicas within %(time)s; %(replica)s was first: %(cause)s.",
    ),
    "restart-wave-node": (
        "warning",
        "Restart wave: %(count)s restart of %(replicas)s replicas within %(time)s, in which node %(nodes)s was lost; "
        "%(replica)s was first: %(cause)s.",
        "Restart wave: %(count)s restarts of %(replicas)s replicas within %(time)s, in which node %(nodes)s was lost; "
        "%(replica)s was first: %(cause)s.",
    ),
    "first-failure": ("info", "The first failure was %(replica)s: %(cause)s.", ""),
    "gang-restarted": (
        "warning",
        "The whole gang was restarted once; first cause: %(causes)s.",
        "The whole gang was restarted %(count)s times; first causes: %(causes)s.",
    ),
    "ttl-never-fires": (
        "warning",
        "The TTL (%(seconds)d s) will not fire: the job failed without a completion time.",
        "",
    ),
    "backoff-limit-not-enforced": (
        "warning",
        "backoffLimit %(limit)d is not enforced under ExitCode: %(count)s restart so far.",
        "backoffLimit %(limit)d is not enforced under ExitCode: %(count)s restarts so far.",
    ),
    "podgroup-flaps": (
        "info",
        "The PodGroup flapped %(count)s time (mostly %(phase)s).",
        "The PodGroup flapped %(count)s times (mostly %(phase)s).",
    ),
    "gang-waits": ("warning", "The gang has waited for room for %(time)s.", ""),
    "admitted-without-pods": ("error", "The gang is admitted, but pods were not created for %(time)s.", ""),
    "pods-refused": ("error", "Pods could not be created: %(words)s.", ""),
    "pods-left-running": (
        "warning",
        "The job is %(state)s, but %(count)s pod is still running: %(names)s.",
        "The job is %(state)s, but %(count)s pods are still running: %(names)s.",
    ),
    "podgroup-reserves": (
        "warning",
        "The PodGroup (%(phase)s) still reserves resources, %(time)s after the job's end.",
        "",
    ),
    # of replicas: count is their number, the other values are those of the first one
    "crash-loop": (
        "warning",
        "%(replica)s is crash-looping (restarts: %(restarts)s), held back by the kubelet.",
        "%(count)s replicas are crash-looping, held back by the kubelet: %(replica)s.",
    ),
    "crash-loop-other": (
        "warning",
        "Container %(container)s of %(replica)s is crash-looping (restarts: %(restarts)s).",
        "Container %(container)s is crash-looping in %(count)s replicas: %(replica)s.",
    ),
    "runaway": (
        "error",
        "%(replica)s runs away: %(restarts)s restarts within %(time)s, one every %(every)s s.",
        "%(count)s replicas run away, one with a restart every %(every)s s: %(replica)s.",
    ),
    "runaway-over": (
        "warning",
        "%(replica)s ran away: %(restarts)s restarts within %(time)s, one every %(every)s s.",
        "%(count)s replicas ran away, one with a restart every %(every)s s: %(replica)s.",
    ),
    "completed-run-again": (
        "warning",
        "%(replica)s had completed and was run again.",
        "%(count)s replicas had completed and were run again: %(replica)s.",
    ),
    "unexpected-for-policy-never": (
        "warning",
        "%(replica)s was recreated: unexpected for policy Never.",
        "%(count)s replicas were recreated: unexpected for policy Never (%(replica)s).",
    ),
    "created-after-failed": (
        "warning",
        "%(replica)s was created anew after the job had failed.",
        "%(count)s replicas were created anew after the job had failed: %(replica)s.",
    ),
    "terminating": (
        "error",
        "%(replica)s has been terminating for %(time)s (node %(node)s).",
        "%(count)s replicas have been terminating for up to %(time)s (node %(node)s): %(replica)s.",
    ),
    "terminating-finalizer": (
        "error",
        "%(replica)s has been terminating for %(time)s: held by finalizer %(finalizers)s.",
        "%(count)s replicas have been terminating for up to %(time)s, held by finalizer %(finalizers)s: %(replica)s.",
    ),
    "replica-refused": (
        "error",
        "%(replica)s could not be created: %(words)s.",
        "%(count)s replicas could not be created (%(replica)s): %(words)s.",
    ),
    "image-not-pulled": (
        "error",
        "The image of %(replica)s cannot be pulled (%(reason)s): %(image)s.",
        "The image of %(count)s replicas (%(replica)s) cannot be pulled (%(reason)s): %(image)s.",
    ),
    "pending-since-restart": (
        "warning",
        "%(replica)s has been pending since its restart, for %(time)s: %(message)s.",
        "%(count)s replicas (%(replica)s) have been pending since their restarts, for up to %(time)s: %(message)s.",
    ),
    "pending": (
        "warning",
        "%(replica)s has been pending for %(time)s: %(message)s.",
        "%(count)s replicas (%(replica)s) have been pending for up to %(time)s: %(message)s.",
    ),
}
NAMED = 3  # replicas named where a finding has many
SHOWN = 20  # observations given as evidence


def finding(code: str, at: float | None, evidence: Iterable[Evidence], **params: Value) -> Finding:
    """The finding of that code; ``params`` fill its template."""
    severity, one, many = FINDINGS[code]
    return Finding(code, one, many, params, at, tuple(evidence), severity)


def of_replica(code: str, at: float | None, evidence: Iterable[Evidence], replica: str, **params: Value) -> Finding:
    """The finding of one replica; :func:`merged` puts those of many together."""
    return finding(code, at, evidence, replica=replica, count=1, **params)


def merged(found: Iterable[Finding]) -> list[Finding]:
    """One finding for each code of :func:`of_replica`: a thousand replicas that wait for an image are one thing."""
    single: list[Finding] = []
    by_code: dict[str, list[Finding]] = {}
    for one in found:
        if "replica" in one.params and "count" in one.params and one.params["count"] == 1:
            by_code.setdefault(one.code, []).append(one)
        else:
            single.append(one)
    return single + [_together(ones) for ones in by_code.values()]


def _together(found: list[Finding]) -> Finding:
    oldest = sorted(found, key=lambda one: one.at if one.at is not None else 0.0)
    names = list(dict.fromkeys(str(one.params["replica"]) for one in oldest))
    text = ", ".join(names[:NAMED]) + (", …" if len(names) > NAMED else "")
    evidence = [observation for one in oldest for observation in one.evidence][:SHOWN]
    first = oldest[0]
    return finding(first.code, first.at, evidence, **{**first.params, "replica": text, "count": len(names)})
