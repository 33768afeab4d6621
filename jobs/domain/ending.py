"""Why a job is over, in one sentence."""

from collections.abc import Iterable

from jobs.domain.causes import deleted_between_runs, final_end
from jobs.domain.codes import retried
from jobs.domain.conditions import FINISHED, condition
from jobs.domain.facts import JobFacts
from jobs.domain.kinds import JobKind, kind_of
from jobs.domain.replicas import created_after_failed, gang_restarts, restart_policy
from jobs.domain.said import Evidence, Said, Value, job_evidence, pod_evidence, pod_words
from jobs.domain.state import STATE_LANE, End, Incarnation, JobState, Span

SLACK = 2.0  # seconds by which the job's stream may be read before the pods': a failure so much later may be its cause
MESSAGE_LIMIT = 300
NAMED = 3  # replicas named in a sentence
MAIN_REPLICAS = (("chief", 0), ("master", 0), ("launcher", 0), ("worker", 0))  # whose completion is the job's success

# code -> (template, template for a count other than 1)
ENDINGS: dict[str, tuple[str, str]] = {
    "succeeded": ("Succeeded.", ""),
    "main-completed": ("Succeeded: %(replica)s completed.", ""),
    "failed-after-success": ("Failed, although the main replica had succeeded: %(message)s", ""),
    "backoff-limit": (
        "Failed: backoffLimit %(limit)d was reached by %(count)s restart in place (%(replicas)s).",
        "Failed: backoffLimit %(limit)d was reached by %(count)s restarts in place (%(replicas)s).",
    ),
    "backoff-zero": ("Failed: with backoffLimit 0 the first failure ends the job (%(replica)s: %(cause)s).", ""),
    "backoff-unseen": ("Failed: backoffLimit %(limit)d was reached; by which failures was not seen.", ""),
    "deadline": ("Failed: activeDeadlineSeconds (%(seconds)d s) passed.", ""),
    "deadline-unknown": ("Failed: it was active for longer than its deadline.", ""),
    "permanent-exit": (
        "Failed: %(replica)s exited %(exit)d, and under ExitCode a code below 128 is not retried.",
        "",
    ),
    "exit-before-sidecar": (
        "Failed: %(replica)s exited 0, but its pod failed (%(cause)s), and under ExitCode that is not retried.",
        "",
    ),
    "pod-deleted": (
        "Failed: the pod of %(replica)s was deleted while it ran (%(cause)s), which fails a %(kind)s.",
        "",
    ),
    "policy-never": ("Failed: %(replica)s failed under restart policy Never (%(cause)s).", ""),
    "not-recreated": ("Failed: %(replica)s failed (%(cause)s), and a %(kind)s does not recreate a failed pod.", ""),
    "replica-failed": ("Failed: %(replica)s failed (%(cause)s).", ""),
    "max-retry": (
        "Failed: maxRetry %(limit)d was reached by %(count)s restart of the gang.",
        "Failed: maxRetry %(limit)d was reached by %(count)s restarts of the gang.",
    ),
    "failed": ("Failed: %(message)s", ""),
    "failed-unknown": ("Failed; no reason was seen.", ""),
    "job-deleted": ("Deleted while it was %(state)s.", ""),
    "job-vanished": ("Gone while nobody watched; it was last seen %(state)s.", ""),
}

DECIDED_BY_A_POD = (
    "backoff-zero",
    "permanent-exit",
    "exit-before-sidecar",
    "pod-deleted",
    "policy-never",
    "not-recreated",
    "replica-failed",
    "max-retry",
)


def ended(job: JobState) -> Said | None:
    """Why the job is over; None while it goes on, and where only its pods were seen."""
    if job.facts is None:
        return None
    if job.state == "Succeeded":
        return _succeeded(job)
    if job.state == "Failed":
        return _failed(job, job.facts)
    if job.present:
        return None
    code = "job-vanished" if job.deleted_at is None else "job-deleted"
    at = job.deleted_at if job.deleted_at is not None else job.vanished[1] if job.vanished else None
    return _said(job, code, at, (), state=job.state)


def deciding_pod(job: JobState) -> Incarnation | None:
    """The pod whose failure ended the job; None where a limit, a deadline or something unseen did."""
    if job.facts is None or job.state != "Failed":
        return None
    code = _failed(job, job.facts).code
    if code not in DECIDED_BY_A_POD:
        return None
    return next(iter(_suspects(job, job.facts)), None) if code == "backoff-zero" else _decisive(job, job.facts)


def failures_before_end(job: JobState) -> list[Incarnation]:
    """The pods whose failure may have failed the job, the first one first."""
    limit = _end_seen(job)
    found: list[tuple[float, Incarnation]] = []
    for replica in job.replicas.values():
        successor: Incarnation | None = None
        for pod in reversed(replica.incarnations):
            if pod.counts and successor is not None and not created_after_failed(job, successor):
                break  # the job went on after this end, and so after all before it
            successor = pod
            sign = _first_sign(pod)
            if sign is not None and pod.excluded is None and (limit is None or sign <= limit + SLACK):
                found.append((sign, pod))
    return [pod for _, pod in sorted(found, key=lambda one: (one[0], one[1].version))]


def _first_sign(pod: Incarnation) -> float | None:
    """When a pod first looked failed to the operator: a failed end, or a deletionTimestamp while it ran."""
    if pod.asked_phase == "Running" and (pod.completed or deleted_between_runs(pod)):
        return pod.deleting_at  # it counts as failed from then on, whatever its container has done
    if pod.cause_code is None or pod.completed:
        return None
    if pod.asked_phase == "Pending":
        return pod.ended_at if pod.ended_at is not None else pod.deleted_at
    signs = [at for at in (pod.ended_at, pod.deleting_at, pod.deleted_at) if at is not None]
    return min(signs, default=None)


def _end_span(job: JobState) -> Span | None:
    spans = job.spans.get(STATE_LANE, ())
    return next((span for span in reversed(spans) if span.value in FINISHED), None)


def _end_seen(job: JobState) -> float | None:
    span = _end_span(job)
    return span.start if span is not None else job.finished_at


def _said(job: JobState, code: str, at: float | None, evidence: Iterable[Evidence], **params: Value) -> Said:
    one, many = ENDINGS[code]
    kind = kind_of(job.api_version, job.kind)
    own = (job_evidence(job, kind.resource if kind else "", _end_seen(job) if job.state in FINISHED else at),)
    return Said(code, one, many, params, at, (*own, *evidence))


def _succeeded(job: JobState) -> Said:
    for place in MAIN_REPLICAS:
        replica = job.replicas.get((*place, 0))
        if replica is not None and replica.incarnations:
            pod = replica.incarnations[-1]
            if pod.completed:
                return _said(job, "main-completed", job.finished_at, [pod_evidence(pod)], replica=pod_words(pod))
            break
    return _said(job, "succeeded", job.finished_at, ())


def _failed(job: JobState, facts: JobFacts) -> Said:
    message = _message(facts)
    if condition(facts, "Succeeded"):
        return _said(job, "failed-after-success", job.finished_at, (), message=message or "no reason was seen.")
    first = next(iter(_suspects(job, facts)), None)
    return _by_limit(job, facts, message, first) or _by_pod(job, _decisive(job, facts)) or _by_message(job, message)


def _suspects(job: JobState, facts: JobFacts) -> list[Incarnation]:
    """The pods that the operator may have meant: of the type that it names, and still there where one is."""
    named = _of_the_named_type(failures_before_end(job), _message(facts))
    limit = _end_seen(job)
    there = [pod for pod in named if limit is None or pod.deleted_at is None or pod.deleted_at >= limit - SLACK]
    return there or named


def _decisive(job: JobState, facts: JobFacts) -> Incarnation | None:
    """The first pod whose failure was final by a rule; where there is none, the first one that failed."""
    suspects = _suspects(job, facts)
    final = (pod for pod in suspects if _rule(job, pod) != "replica-failed")
    return next(final, next(iter(suspects), None))


def _by_limit(job: JobState, facts: JobFacts, message: str, first: Incarnation | None) -> Said | None:
    """The job was ended by a number in its spec."""
    if "backoff limit" in message:
        return _backoff(job, facts, first)
    if "longer than specified deadline" in message:
        return _deadline(job, facts)
    if gang_restarts(job) and facts.backoff_limit and (facts.retry_count or 0) >= facts.backoff_limit:
        evidence = [pod_evidence(first)] if first else []
        params: dict[str, Value] = {"limit": facts.backoff_limit, "count": facts.retry_count or 0}
        return _said(job, "max-retry", job.finished_at, evidence, **params)
    if first is None and _restarts_in_running_pods(job) >= (facts.backoff_limit or 0) > 0:
        return _backoff(job, facts, None)
    return None


def _by_message(job: JobState, message: str) -> Said:
    if message:
        return _said(job, "failed", job.finished_at, (), message=message)
    return _said(job, "failed-unknown", job.finished_at, ())


def _deadline(job: JobState, facts: JobFacts) -> Said:
    if facts.active_deadline is None:
        return _said(job, "deadline-unknown", job.finished_at, ())
    return _said(job, "deadline", job.finished_at, (), seconds=facts.active_deadline)


def _message(facts: JobFacts) -> str:
    failed = condition(facts, "Failed")
    text = (failed.message or failed.reason or "") if failed else ""
    return text[:MESSAGE_LIMIT]


def _of_the_named_type(pods: list[Incarnation], message: str) -> list[Incarnation]:
    """The operator's message names the replica type that failed, not the replica."""
    words = message.lower()
    named = [pod for pod in pods if f'"{pod.type}" replica' in words or f" {pod.type.lower()} replica" in words]
    return named or pods


def _counted(pod: Incarnation) -> int:
    """The restarts of a pod that the operator holds against backoffLimit: of all its containers."""
    return pod.restarts + pod.init_restarts + pod.sidecar_restarts


def _restarts_in_running_pods(job: JobState) -> int:
    return sum(_counted(r.incarnations[-1]) for r in job.replicas.values() if r.incarnations)


def _backoff(job: JobState, facts: JobFacts, first: Incarnation | None) -> Said:
    limit = facts.backoff_limit or 0
    newest = [r.incarnations[-1] for r in job.replicas.values() if r.incarnations]
    busy = sorted((pod for pod in newest if _counted(pod)), key=_counted, reverse=True)
    if not busy and first is not None and limit == 0:
        words = {"replica": pod_words(first), "cause": first.cause or ""}
        return _said(job, "backoff-zero", job.finished_at, [pod_evidence(first)], **words)
    if not busy:
        return _said(job, "backoff-unseen", job.finished_at, (), limit=limit)
    names = [f"{pod_words(pod)}: {_counted(pod)}" for pod in busy[:NAMED]]
    if len(busy) > NAMED:
        names.append("…")
    evidence = [pod_evidence(pod, pod.last_seen_at) for pod in busy[:NAMED]]
    params: dict[str, Value] = {"limit": limit, "count": sum(map(_counted, busy)), "replicas": ", ".join(names)}
    return _said(job, "backoff-limit", job.finished_at, evidence, **params)


def _by_pod(job: JobState, pod: Incarnation | None) -> Said | None:
    """One replica's failure ended the job."""
    if pod is None:
        return None
    end = final_end(pod)
    code = _rule(job, pod)
    params: dict[str, Value] = {"replica": pod_words(pod), "cause": pod.cause or "", "kind": job.kind}
    if end is not None and end.exit_code is not None:
        params["exit"] = end.exit_code
    return _said(job, code, job.finished_at, [pod_evidence(pod, _first_sign(pod))], **params)


def _rule(job: JobState, pod: Incarnation) -> str:
    return _why(kind_of(job.api_version, job.kind), restart_policy(job, pod.type), pod, final_end(pod))


def _why(kind: JobKind | None, policy: str | None, pod: Incarnation, end: End | None) -> str:
    """The rule of restart facts, section 1, by which the pod's failure is final."""
    exit_code = end.exit_code if end is not None else None
    permanent = exit_code is not None and not retried(exit_code)
    rules = (
        (_went_while_running(pod) and kind is not None and policy in kind.deletion_fails, "pod-deleted"),
        (policy == "Never" and not (kind is not None and kind.gang_restarts), "policy-never"),
        (kind is not None and not kind.recreates_failed, "not-recreated"),
        (policy == "ExitCode" and exit_code == 0, "exit-before-sidecar"),
        (policy == "ExitCode" and permanent, "permanent-exit"),
    )
    return next((code for applies, code in rules if applies), "replica-failed")


def _went_while_running(pod: Incarnation) -> bool:
    """Whether the pod had a deletionTimestamp while it ran, which the operator takes for a failure at once."""
    if pod.asked_phase is not None:
        return pod.asked_phase == "Running"
    ran = pod.running_at is not None or pod.listed
    return pod.deleting_at is not None and ran and (pod.deleted_first or pod.disruption is not None)
