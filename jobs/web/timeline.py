"""The timeline of a job as the browser takes it: one shape for the first answer and for each later delta.

Times are epoch seconds. Every item has a key of its own (a pod's UID, a span's lane and number, …), so that the browser
merges what it is told again without harm.
"""

from collections.abc import Iterable
from typing import Any

from jobs import models
from jobs.domain.intervals import unobserved
from jobs.domain.state import Incarnation, JobState, Replica, ReplicaKey, Span
from jobs.domain.totals import proven_creations, replica_numbers
from jobs.models import Job, Restart
from jobs.store.codec import incarnation_from
from jobs.store.pages.changes import JobChanges
from jobs.store.pages.jobs import shown_state

Json = dict[str, Any]

# Seconds without a sign of life after which a cluster is stale; a watcher gives one every 5 s, also when all is quiet.
STALE_AFTER = 20.0
AFTERGLOW = 0.04  # share of a finished job's life that is shown after its end


def full(row: Job, job: JobState, restarts: Iterable[Restart], seq: int, now: float) -> Json:
    """Everything the timeline draws. ``seq``: the append up to which this is known, read before the rows."""
    proven = proven_creations(job)
    keys = sorted({**job.replicas, **dict.fromkeys(proven)}, key=_order)
    replicas = [job.replicas.get(key) or Replica(key) for key in keys]
    return {
        "uid": row.uid,
        "seq": seq,
        "now": now,
        "start": start_of(job),
        "end": end_of(row, job, now),
        "job": header(row, job),
        "spans": [_span(span) for lane in job.spans.values() for span in lane],
        "restarts": [_restart(restart) for restart in restarts],
        "unobserved": [{"start": start, "end": end} for start, end in unobserved(job)],
        "replicas": [_replica(job, replica, proven.get(replica.key, 0)) for replica in replicas],
        "pods": [_pod(pod) for replica in replicas for pod in replica.incarnations],
    }


def delta(changes: JobChanges, job: JobState, replicas: Iterable[Replica], now: float) -> Json:
    """What changed of a job, in the same shape. ``replicas``: the touched ones, whole, for their numbers."""
    proven = proven_creations(job)
    result: Json = {
        "seq": changes.job.seq,
        "end": end_of(changes.job, job, now),
        "job": header(changes.job, job),
        "pods": [_pod(incarnation_from(row.record)) for row in changes.incarnations],
        "spans": [_span(span) for span in changes.spans],
        "restarts": [_restart(restart) for restart in changes.restarts],
        "replicas": [_replica(job, replica, proven.get(replica.key, 0)) for replica in replicas],
    }
    if job.unobserved:
        result["unobserved"] = [{"start": start, "end": end} for start, end in unobserved(job)]
    return {name: value for name, value in result.items() if value != []}


def touched(changes: JobChanges) -> set[ReplicaKey]:
    """The replicas whose numbers may have changed."""
    rows: list[models.Incarnation | Restart] = [*changes.incarnations, *changes.restarts]
    return {(row.replica_type, row.replica_index, row.job_index) for row in rows}


def header(row: Job, job: JobState) -> Json:
    """The numbers above the timeline. ``over``: when nothing more can restart; open bands end there."""
    return {
        "kind": row.kind,
        "name": row.name,
        "state": row.state,
        "shown": shown_state(row),
        "present": row.present,
        "true": row.true_restarts,
        "kubectl": row.kubectl_restarts,
        "hidden": row.hidden_restarts,
        "at_least": row.at_least,
        "over": row.finished_at or row.deleted_at or (job.vanished[1] if job.vanished else None),
    }


def start_of(job: JobState) -> float | None:
    """Where the timeline begins: the creation, else the first sight."""
    known = [at for at in (job.created_at, job.first_observed_at) if at is not None]
    return min(known) if known else None


def cluster_is_live(observed_until: float | None, now: float) -> bool:
    return observed_until is not None and now - observed_until < STALE_AFTER


def end_of(row: Job, job: JobState, now: float) -> float | None:
    """Where open bars end; None while they grow with the clock.

    A job that is over does not grow, however long it stays in the cluster.
    """
    if row.finished_at is None and row.present and cluster_is_live(row.cluster.observed_until, now):
        return None
    last = max((at for at in (row.last_observed_at, row.finished_at, row.deleted_at) if at is not None), default=now)
    start = start_of(job) or last
    if row.finished_at is not None or not row.present:
        return last + (last - start) * AFTERGLOW if row.present else last
    return max(last, row.cluster.observed_until or last)


def _order(key: ReplicaKey) -> tuple[int, str, int, int]:
    """Leaders first, parameter servers last, as people read a job."""
    first = {"master": 0, "chief": 0, "launcher": 0, "worker": 1, "evaluator": 3, "ps": 4}
    kind, index, job_index = key
    return first.get(kind.lower(), 2), kind, job_index, index


def replica_key(key: ReplicaKey) -> str:
    """``worker/0/0``: type, index, job index."""
    return "/".join(map(str, key))


def _replica(job: JobState, replica: Replica, proven: int) -> Json:
    numbers = replica_numbers(job, replica, proven)
    kind, index, job_index = replica.key
    return {
        "key": replica_key(replica.key),
        "type": kind,
        "index": index,
        "job_index": job_index,
        "true": numbers.true,
        "kubectl": numbers.kubectl,
        "hidden": numbers.hidden,
        "at_least": numbers.at_least,
    }


def _pod(pod: Incarnation) -> Json:
    end = pod.ends[-1] if pod.ends else None
    return {
        "uid": pod.uid,
        "replica": replica_key((pod.type, pod.index, pod.job_index)),
        "name": pod.name,
        "node": pod.node,
        # The cluster's word is in whole seconds; a pod whose birth was watched was born when it was first seen.
        "created": pod.created_at if pod.listed else pod.first_seen_at,
        "running": pod.running_at,
        "terminating": pod.deleting_at,
        "ended": pod.ended_at,
        "deleted": pod.vanished[1] if pod.vanished else pod.deleted_at,
        "code": end.exit_code if end and pod.ended_at is not None else None,
        "reason": (end.reason if end else None) or pod.status_reason,
        "cause_code": pod.cause_code,
        "cause": pod.cause,
        "restarts": pod.restarts,
        "was_restart": pod.counts,
    }


def _span(span: Span | models.Span) -> Json:
    result: Json = {
        "lane": span.lane,
        "number": span.number,
        "value": span.value,
        "start": span.start,
        "end": span.end,
    }
    for name in ("running", "min_member", "reason"):
        if span.detail.get(name) is not None:
            result[name] = span.detail[name]
    return result


def _restart(restart: Restart) -> Json:
    return {
        "pod": restart.pod_uid,
        "number": restart.number,
        "replica": replica_key((restart.replica_type, restart.replica_index, restart.job_index)),
        "counts": restart.counts,
        "at": restart.at,
        "until": restart.running_again_at,
        "code": restart.exit_code,
        "reason": restart.reason,
    }
