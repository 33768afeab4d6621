"""What does not go on, and what is left behind: gangs that wait, pods that hang, resources that stay reserved."""

from collections.abc import Iterator

from jobs.domain.conditions import FINISHED
from jobs.domain.kinds import EVENTS, PLUGINS_PODGROUPS, VOLCANO_PODGROUPS, kind_of
from jobs.domain.phases import Phase, phases
from jobs.domain.refusals import refused
from jobs.domain.said import (
    SHOWN,
    Evidence,
    Finding,
    Value,
    finding,
    of_replica,
    pod_evidence,
    pod_words,
    replica_words,
    seconds_words,
)
from jobs.domain.state import PODGROUP_LANE, STATE_LANE, Incarnation, JobState
from jobs.domain.thresholds import AFTER_END, GANG_WAITING, GRACE_DEFAULT, NO_PODS, PENDING, REFUSED, TERMINATING

WAITING_PHASES = ("", "Pending")
RELEASED_PHASES = ("", "Pending", "Completed", "Finished", "Failed")  # a PodGroup in one of these reserves nothing
NAMED = 5  # pods named in a sentence
MESSAGE_LIMIT = 300


def job_resource(job: JobState) -> str:
    """The job's resource as in observations; "" for a kind that is not known."""
    kind = kind_of(job.api_version, job.kind)
    return kind.resource if kind else ""


def podgroup_resource(job: JobState) -> str:
    """The resource of the job's PodGroup as in observations; Volcano's where none was seen."""
    plugins = job.podgroup is not None and (job.podgroup.api_version or "").startswith("scheduling.x-k8s.io")
    return PLUGINS_PODGROUPS if plugins else VOLCANO_PODGROUPS


def stuck(job: JobState, now: float) -> Iterator[Finding]:
    """Findings of a job as it stands at ``now``."""
    for replica in job.replicas.values():
        for position, pod in enumerate(replica.incarnations):
            if not pod.gone:
                yield from _pod(pod, now, again=position > 0 and replica.incarnations[position - 1].counts)
            elif pod.pull_failure:
                yield _pull_failure(pod)
    if job.present and job.state not in FINISHED:
        yield from _refused(job, now)
        yield from _gang(job, now)
    elif job.present:
        yield from _left_behind(job, now)


def _refused(job: JobState, now: float) -> Iterator[Finding]:
    """Pods that the API server does not take."""
    for one in refused(job):
        if now - one.since < REFUSED:
            continue
        evidence = [Evidence(EVENTS, one.event)]
        if one.replica is None:
            yield finding("pods-refused", one.since, evidence, words=one.words)
        else:
            yield of_replica("replica-refused", one.since, evidence, replica_words(one.replica), words=one.words)


def _gang(job: JobState, now: float) -> Iterator[Finding]:
    """A job that waits for its PodGroup, or whose PodGroup waits for its pods."""
    told = phases(job.spans.get(PODGROUP_LANE, ()))
    if job.podgroup is None or not told or told[-1].end is not None:
        return
    since = _waiting_since(told)
    if since is not None and now - since >= GANG_WAITING and not _any_runs(job):
        yield _said_of_group(job, "gang-waits", since, time=seconds_words(now - since))
    if told[-1].value in WAITING_PHASES or job.pods:
        return
    admitted = _admitted_since(told)
    if admitted is not None and now - admitted >= NO_PODS:
        yield _said_of_group(job, "admitted-without-pods", admitted, time=seconds_words(now - admitted))


def _said_of_group(job: JobState, code: str, since: float, **params: Value) -> Finding:
    evidence = [Evidence(podgroup_resource(job), job.podgroup_uid, since), Evidence(job_resource(job), job.uid)]
    return finding(code, since, evidence, **params)


def _waiting_since(told: list[Phase]) -> float | None:
    """Since when the PodGroup has waited without being admitted; None if it is admitted."""
    since = None
    for phase in reversed(told):
        if phase.value not in WAITING_PHASES:
            break
        since = phase.start
    return since


def _admitted_since(told: list[Phase]) -> float | None:
    since = None
    for phase in reversed(told):
        if phase.value in WAITING_PHASES:
            break
        since = phase.start
    return since


def _any_runs(job: JobState) -> bool:
    return any(pod.phase == "Running" and not pod.gone for pod in job.pods.values())


def _pod(pod: Incarnation, now: float, *, again: bool) -> Iterator[Finding]:
    """``again``: the pod follows a restart that counts."""
    asked = pod.deletion_at if pod.deletion_at is not None else pod.deleting_at
    if asked is not None:
        grace = pod.deletion_grace if pod.deletion_grace is not None else GRACE_DEFAULT
        if now - asked >= grace + TERMINATING:
            yield _terminating(pod, asked, now)
    elif pod.pull_failure:
        yield _pull_failure(pod)
    elif pod.phase == "Pending" and pod.ended_at is None:
        since = pod.created_at if pod.created_at is not None else pod.first_seen_at
        if now - since >= PENDING:
            yield _pending(pod, since, now, again=again)


def _terminating(pod: Incarnation, asked: float, now: float) -> Finding:
    params: dict[str, Value] = {
        "time": seconds_words(now - asked),
        "node": pod.node or "-",
        "finalizers": ", ".join(pod.finalizers[:NAMED]),
    }
    code = "terminating-finalizer" if pod.finalizers else "terminating"
    return of_replica(code, asked, [pod_evidence(pod, pod.deleting_at)], pod_words(pod), **params)


def _pull_failure(pod: Incarnation) -> Finding:
    params: dict[str, Value] = {"image": pod.image or "-", "reason": pod.pull_failure or ""}
    at = pod.first_seen_at
    return of_replica("image-not-pulled", at, [pod_evidence(pod, at)], pod_words(pod), **params)


def _pending(pod: Incarnation, since: float, now: float, *, again: bool) -> Finding:
    params: dict[str, Value] = {
        "time": seconds_words(now - since),
        "message": (pod.unschedulable or pod.waiting_reason or "no reason given")[:MESSAGE_LIMIT],
    }
    code = "pending-since-restart" if again else "pending"
    return of_replica(code, since, [pod_evidence(pod, pod.first_seen_at)], pod_words(pod), **params)


def _left_behind(job: JobState, now: float) -> Iterator[Finding]:
    """A finished job: what still runs, what still reserves."""
    spans = job.spans.get(STATE_LANE, ())
    over = spans[-1].start if spans and spans[-1].start is not None else job.finished_at
    if over is None or now - over < AFTER_END:
        return
    running = [pod for pod in job.pods.values() if _still_runs(pod)]
    if running:
        names = [pod.name for pod in running[:NAMED]] + (["…"] if len(running) > NAMED else [])
        evidence = [pod_evidence(pod, pod.last_seen_at) for pod in running[:SHOWN]]
        params: dict[str, Value] = {"count": len(running), "names": ", ".join(names), "state": job.state}
        yield finding("pods-left-running", over, evidence, **params)
    phase = job.podgroup.phase or "" if job.podgroup is not None else ""
    if phase not in RELEASED_PHASES:
        yield _said_of_group(job, "podgroup-reserves", over, phase=phase, time=seconds_words(now - over))


def _still_runs(pod: Incarnation) -> bool:
    waits = pod.phase == "Running" and pod.ended_at is None
    return waits and not pod.gone and pod.deleting_at is None
