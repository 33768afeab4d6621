"""What deserves attention in a job, each with what it rests on: patterns of restarts, and contradictions in the spec.

What is stuck or left behind is in :mod:`jobs.domain.stuck`. Everything is derived when a job is read; ``now`` is the
last moment of which something is known.
"""

from collections import Counter
from collections.abc import Iterable, Iterator

from jobs.domain.ending import deciding_pod
from jobs.domain.gang import first_cause
from jobs.domain.phases import phases
from jobs.domain.replicas import crash_looping, created_after_failed, gang_restarts, restart_policy
from jobs.domain.restarts import Restart, replica_restarts, replicas_in, restarts, waves
from jobs.domain.said import (
    NAMED,
    SHOWN,
    Evidence,
    Finding,
    Value,
    finding,
    merged,
    of_replica,
    pod_evidence,
    pod_words,
    replica_words,
    seconds_words,
)
from jobs.domain.state import PODGROUP_LANE, Incarnation, JobState, Replica
from jobs.domain.stuck import job_resource, podgroup_resource, stuck
from jobs.domain.thresholds import FLAP_UNEXPLAINED, RUNAWAY_RESTARTS, RUNAWAY_WINDOW

ORDER = ("error", "warning", "info")


def findings(job: JobState, now: float) -> list[Finding]:
    """The worst first, then the oldest."""
    found = merged([*_restart_findings(job, now), *stuck(job, now), *_spec(job), *_podgroup(job)])
    return sorted(found, key=lambda one: (ORDER.index(one.severity), one.at if one.at is not None else now, one.code))


def _restart_findings(job: JobState, now: float) -> Iterator[Finding]:
    found = restarts(job)
    told = waves(found, len(job.replicas)) if not gang_restarts(job) else []
    patterns = [*(_wave(wave) for wave in told), *_gang(job)]
    yield from patterns or _first_failure(job, found)
    for replica in job.replicas.values():
        yield from _replica_findings(job, replica, now)


def _wave(wave: list[Restart]) -> Finding:
    """``wave``: oldest first."""
    first = wave[0]
    nodes = sorted({one.pod.node for one in wave if one.cause_code == "node-lost" and one.pod.node})
    params: dict[str, Value] = {
        "count": len(wave),
        "replicas": len(replicas_in(wave)),
        "time": seconds_words(wave[-1].at - first.at),
        "replica": pod_words(first.pod),
        "cause": first.cause,
        "nodes": ", ".join(nodes[:NAMED]),
    }
    code = "restart-wave-node" if nodes else "restart-wave"
    return finding(code, first.at, _evidence(wave), **params)


def _evidence(found: Iterable[Restart]) -> list[Evidence]:
    return [pod_evidence(one.pod, one.at) for one in found][:SHOWN]


def _first_failure(job: JobState, found: list[Restart]) -> Iterator[Finding]:
    """Which replica of several was the first to fail."""
    if len(job.replicas) <= 1:
        return
    failed = next((one for one in found if one.cause_code not in ("completed", "gang")), None)
    ended = deciding_pod(job)
    if ended is not None and ended.ended_at is not None and (failed is None or ended.ended_at < failed.at):
        words = {"replica": pod_words(ended), "cause": ended.cause or ""}
        yield finding("first-failure", ended.ended_at, [pod_evidence(ended)], **words)
    elif failed is not None:
        words = {"replica": pod_words(failed.pod), "cause": failed.cause}
        yield finding("first-failure", failed.at, _evidence([failed]), **words)


def _gang(job: JobState) -> Iterator[Finding]:
    """The controller restarted all replicas because one failed."""
    firsts: dict[str, Incarnation] = {}
    for pod in job.pods.values():
        if pod.cause_code == "gang":
            first = first_cause(job, pod)
            firsts[first.uid] = first
    if not firsts:
        return
    ordered = sorted(firsts.values(), key=lambda pod: pod.ended_at if pod.ended_at is not None else pod.first_seen_at)
    counted = Counter(f"{pod_words(pod)}, {pod.cause}" for pod in ordered)
    causes = "; ".join(f"{text} ×{n}" if n > 1 else text for text, n in counted.most_common(NAMED))
    evidence = [pod_evidence(pod) for pod in ordered][:SHOWN]
    yield finding("gang-restarted", ordered[0].ended_at, evidence, count=len(ordered), causes=causes)


def _replica_findings(job: JobState, replica: Replica, now: float) -> Iterator[Finding]:
    newest = replica.incarnations[-1] if replica.incarnations else None
    if newest is not None and (crash_looping(newest) or (newest.crashing and not newest.gone)):
        yield _crash_loop(newest)
    yield from _runaway(replica, now)
    yield from _unexpected(job, replica)


def _crash_loop(pod: Incarnation) -> Finding:
    since = pod.main_ended_seen_at if crash_looping(pod) else pod.last_seen_at
    count = pod.restarts if crash_looping(pod) else pod.init_restarts + pod.sidecar_restarts
    code = "crash-loop" if crash_looping(pod) else "crash-loop-other"
    evidence = [pod_evidence(pod, since)]
    return of_replica(code, since, evidence, pod_words(pod), restarts=count, container=pod.crashing or "")


def _runaway(replica: Replica, now: float) -> Iterator[Finding]:
    """A rate, not a count: so many restarts in a window that nothing holds them back."""
    found = list(replica_restarts(replica))
    burst = next(
        (
            found[n : n + RUNAWAY_RESTARTS]
            for n in range(len(found) - RUNAWAY_RESTARTS + 1)
            if found[n + RUNAWAY_RESTARTS - 1].at - found[n].at <= RUNAWAY_WINDOW
        ),
        None,
    )
    if burst is None:
        return
    since = [one for one in found if one.at >= burst[0].at]
    length = since[-1].at - since[0].at
    params: dict[str, Value] = {
        "restarts": len(since),
        "time": seconds_words(length),
        "every": round(length / (len(since) - 1), 1),
    }
    code = "runaway" if now - since[-1].at <= RUNAWAY_WINDOW else "runaway-over"
    yield of_replica(code, since[0].at, _evidence(since), replica_words(replica.key), **params)


def _unexpected(job: JobState, replica: Replica) -> Iterator[Finding]:
    """Restarts that a policy or a state excludes."""
    never = restart_policy(job, replica.key[0]) == "Never" and not gang_restarts(job)
    for pod, successor in zip(replica.incarnations, replica.incarnations[1:], strict=False):
        if not pod.counts:
            continue
        evidence = [pod_evidence(pod), pod_evidence(successor, successor.first_seen_at)]
        replica_name = pod_words(pod)
        if pod.completed:
            yield of_replica("completed-run-again", successor.first_seen_at, evidence, replica_name)
        if never:
            yield of_replica("unexpected-for-policy-never", successor.first_seen_at, evidence, replica_name)
        if created_after_failed(job, successor):
            yield of_replica("created-after-failed", successor.first_seen_at, evidence, replica_name)


def _spec(job: JobState) -> Iterator[Finding]:
    """Promises of the spec that the operator does not keep."""
    facts = job.facts
    if facts is None:
        return
    evidence = [Evidence(job_resource(job), job.uid)]
    if job.state == "Failed" and facts.ttl is not None and facts.completed_at is None and facts.phase is None:
        yield finding("ttl-never-fires", job.finished_at, evidence, seconds=facts.ttl)
    limit = facts.backoff_limit
    if limit is None or limit <= 0 or gang_restarts(job):
        return
    exempt = [r for r in job.replicas.values() if restart_policy(job, r.key[0]) == "ExitCode"]
    count = sum(replica.recreations for replica in exempt)
    if count >= limit:
        pods = [pod for replica in exempt for pod in replica.incarnations if pod.counts]
        evidence += [pod_evidence(pod) for pod in pods[:SHOWN]]
        yield finding("backoff-limit-not-enforced", None, evidence, limit=limit, count=count)


def _podgroup(job: JobState) -> Iterator[Finding]:
    """PodGroup phases are recomputed at each scheduling cycle and may alternate endlessly."""
    explained = sum(replica.recreations for replica in job.replicas.values()) + FLAP_UNEXPLAINED
    for phase in phases(job.spans.get(PODGROUP_LANE, ())):
        if phase.flaps <= explained:
            continue
        evidence = [Evidence(podgroup_resource(job), job.podgroup_uid, phase.start)]
        yield finding("podgroup-flaps", phase.start, evidence, count=phase.flaps, phase=phase.value or "no phase")
