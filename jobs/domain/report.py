"""The machine-readable answer for one job (report format); pages show the same values."""

from datetime import UTC, datetime
from typing import Any

from jobs.domain.causes import had_completed
from jobs.domain.intervals import restarting, segments, unobserved
from jobs.domain.kinds import kind_of
from jobs.domain.state import RESTARTING_LANE, Incarnation, JobState, Replica
from jobs.domain.totals import job_numbers, proven_creations, replica_numbers

Json = dict[str, Any]


def rfc3339(at: float | None) -> str | None:
    """Whole seconds as the cluster writes them; our own clock with microseconds."""
    if at is None:
        return None
    moment = datetime.fromtimestamp(at, UTC)
    text = moment.strftime("%Y-%m-%dT%H:%M:%S")
    return text + (f".{moment.microsecond:06d}Z" if moment.microsecond else "Z")


def job_report(job: JobState, observed_until: float | None = None) -> Json:
    """One entry of ``jobs`` in the report. ``observed_until``: when the cluster's streams were last alive."""
    numbers = job_numbers(job)
    kind = kind_of(job.api_version, job.kind)
    last = job.last_observed_at
    if job.present and observed_until is not None:
        last = max(last or 0.0, observed_until)
    return {
        "cluster": job.cluster,
        "namespace": job.namespace,
        "api_group": job.api_version.partition("/")[0],
        "kind": job.kind,
        "name": job.name,
        "uid": job.uid,
        "state": job.state,
        "present": job.present,
        "created_at": rfc3339(job.created_at),
        "finished_at": rfc3339(job.finished_at),
        "deleted_at": rfc3339(job.deleted_at),
        "deleted_between": [rfc3339(at) for at in job.vanished] if job.vanished else None,
        "last_observed_at": rfc3339(last),
        "true_restarts": numbers.true,
        "kubectl_restarts": numbers.kubectl,
        "hidden_restarts": numbers.hidden,
        "at_least": numbers.at_least,
        "job_restarts": job.facts.retry_count if job.facts and kind and not kind.conditions else None,
        "backoff_limit": job.facts.backoff_limit if job.facts else None,
        "replicas": _replicas(job),
        "restarting_condition": [_interval(s.start, s.end) for s in job.spans.get(RESTARTING_LANE, ())],
        "restarting": [{**_interval(h.start, h.end), "seen_by": h.seen_by} for h in restarting(job)],
        "segments": [_interval(*segment) for segment in segments(job)],
        "unobserved": [_interval(*gap) for gap in unobserved(job)],
    }


def _interval(start: float | None, end: float | None) -> Json:
    return {"start": rfc3339(start), "end": rfc3339(end)}


def _replicas(job: JobState) -> list[Json]:
    proven = proven_creations(job)
    keys = sorted({**job.replicas, **dict.fromkeys(proven)})
    return [_replica(job, job.replicas.get(key) or Replica(key), proven.get(key, 0)) for key in keys]


def restart_policy(job: JobState, replica_type: str) -> str | None:
    """The policy of a replica type; the spec writes ``Worker`` where the label says ``worker``."""
    specs = job.facts.replicas if job.facts else ()
    return next((s.restart_policy for s in specs if s.type.lower() == replica_type.lower()), None)


def _replica(job: JobState, replica: Replica, proven: int) -> Json:
    numbers = replica_numbers(job, replica, proven)
    kind, index, job_index = replica.key
    return {
        "type": kind,
        "index": index,
        "job_index": job_index,
        "restart_policy": restart_policy(job, kind),
        "incarnations": len(replica.incarnations),
        "recreations": numbers.recreations,
        "in_place_restarts": numbers.in_place,
        "true_restarts": numbers.true,
        "kubectl_restarts": numbers.kubectl,
        "hidden_restarts": numbers.hidden,
        "at_least": numbers.at_least,
        "init_restarts": replica.init_restarts,
        "sidecar_restarts": replica.sidecar_restarts,
        "flags": flags(job, replica),
        "pods": [_pod(pod) for pod in replica.incarnations],
    }


def flags(job: JobState, replica: Replica) -> list[str]:
    """What is unusual about a replica's restarts."""
    found = set()
    kind = kind_of(job.api_version, job.kind)
    never = restart_policy(job, replica.key[0]) == "Never" and not (kind and kind.gang_restarts)
    failed_at = job.finished_at if job.state == "Failed" else None
    pods = replica.incarnations
    for position, pod in enumerate(pods):
        if pod.waiting_reason == "CrashLoopBackOff" and not pod.gone:
            found.add("crash-loop")
        if not pod.counts:
            continue
        if had_completed(pod):
            found.add("completed-replica-run-again")
        if never:
            found.add("unexpected-for-policy-never")
        successor = pods[position + 1].created_at
        if failed_at is not None and successor is not None and successor > failed_at:
            found.add("created-after-failed")
    return sorted(found)


def _pod(pod: Incarnation) -> Json:
    end = pod.ends[-1] if pod.ends else None
    return {
        "uid": pod.uid,
        "name": pod.name,
        "node": pod.node,
        "created_at": rfc3339(pod.created_at),
        "running_at": rfc3339(pod.running_at),
        "ended_at": rfc3339(pod.ended_at),
        "deleted_at": rfc3339(pod.deleted_at),
        "deleted_between": [rfc3339(at) for at in pod.vanished] if pod.vanished else None,
        "exit_code": end.exit_code if end else None,
        "reason": (end.reason if end else None) or pod.status_reason,
        "message": (end.message if end else None) or pod.status_message,
        "cause_code": pod.cause_code,
        "cause": pod.cause,
        "restart_count": pod.restarts,
        "was_restart": pod.counts,
        "excluded": pod.excluded,
        "ends": [{"at": rfc3339(e.at), "exit_code": e.exit_code, "reason": e.reason} for e in pod.ends],
    }
