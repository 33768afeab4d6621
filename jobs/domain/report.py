"""The machine-readable answer for one job (report format); pages show the same values."""

from datetime import UTC, datetime
from typing import Any

from jobs.domain.codes import actual_class, documented_class, signal_name
from jobs.domain.cost import cost
from jobs.domain.ending import ended
from jobs.domain.findings import findings
from jobs.domain.gang import first_cause
from jobs.domain.intervals import restarting, segments, unobserved
from jobs.domain.kinds import kind_of
from jobs.domain.replicas import flags, replica_state, restart_policy
from jobs.domain.said import Evidence, Finding, Said
from jobs.domain.state import RESTARTING_LANE, Incarnation, JobState, Replica
from jobs.domain.totals import job_numbers, proven_creations, replica_numbers

__all__ = ["flags", "job_report", "known_until", "restart_policy", "rfc3339"]

Json = dict[str, Any]


def rfc3339(at: float | None) -> str | None:
    """Whole seconds as the cluster writes them; our own clock with microseconds. None for what is no date."""
    if at is None:
        return None
    try:
        moment = datetime.fromtimestamp(at, UTC)
    except (OverflowError, ValueError, OSError):
        return None
    text = moment.strftime("%Y-%m-%dT%H:%M:%S")
    return text + (f".{moment.microsecond:06d}Z" if moment.microsecond else "Z")


def job_report(job: JobState, observed_until: float | None = None) -> Json:
    """One entry of ``jobs`` in the report. ``observed_until``: when the cluster's streams were last alive."""
    numbers = job_numbers(job)
    kind = kind_of(job.api_version, job.kind)
    last = known_until(job, observed_until)
    now = last if last is not None else 0.0
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
        "ended": _ended(ended(job)),
        "findings": [_finding(one) for one in findings(job, now)],
        "cost": _cost(job, now),
    }


def known_until(job: JobState, observed_until: float | None = None) -> float | None:
    """The last moment of which something is known of the job: "now" for its findings and its cost."""
    watched = job.present or not all(pod.gone for pod in job.pods.values())
    if watched and observed_until is not None:
        return max(job.last_observed_at or 0.0, observed_until)
    return job.last_observed_at


def _said(said: Said) -> Json:
    return {
        "code": said.code,
        "at": rfc3339(said.at),
        "sentence": said.sentence,
        "params": dict(said.params),
        "evidence": [_evidence(one) for one in said.evidence],
    }


def _evidence(evidence: Evidence) -> Json:
    return {"resource": evidence.resource, "uid": evidence.uid, "at": rfc3339(evidence.at)}


def _ended(said: Said | None) -> Json | None:
    return None if said is None else _said(said)


def _finding(found: Finding) -> Json:
    return {"severity": found.severity, **_said(found)}


def _cost(job: JobState, now: float) -> Json:
    """Seconds with a millisecond's digits; ``productive`` is a share of 1."""
    paid = cost(job, now)
    return {
        "life_seconds": round(paid.life, 3),
        "incomplete_seconds": round(paid.incomplete, 3),
        "replica_seconds_waited": round(paid.replica_seconds, 3),
        "gang_replica_seconds_lost": round(paid.gang_lost, 3),
        "productive": None if paid.productive is None else round(paid.productive, 4),
        "replicas": [
            {"type": key[0], "index": key[1], "job_index": key[2], "waited_seconds": round(seconds, 3)}
            for key, seconds in sorted(paid.waited.items())
        ],
    }


def _interval(start: float | None, end: float | None) -> Json:
    return {"start": rfc3339(start), "end": rfc3339(end)}


def _replicas(job: JobState) -> list[Json]:
    proven = proven_creations(job)
    keys = sorted({**job.replicas, **dict.fromkeys(proven)})
    return [_replica(job, job.replicas.get(key) or Replica(key), proven.get(key, 0)) for key in keys]


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
        "state": replica_state(replica),
        "flags": flags(job, replica),
        "pods": [_pod(job, pod) for pod in replica.incarnations],
    }


def _pod(job: JobState, pod: Incarnation) -> Json:
    end = pod.ends[-1] if pod.ends else None
    code = end.exit_code if end else None
    first = first_cause(job, pod)
    return {
        "uid": pod.uid,
        "name": pod.name,
        "node": pod.node,
        "created_at": rfc3339(pod.created_at),
        "running_at": rfc3339(pod.running_at),
        "ended_at": rfc3339(pod.ended_at),
        "deleted_at": rfc3339(pod.deleted_at),
        "deleted_between": [rfc3339(at) for at in pod.vanished] if pod.vanished else None,
        "exit_code": code,
        "documented_class": documented_class(code) if code else None,
        "actual_class": actual_class(code) if code else None,
        "signal": signal_name(code) if code else None,
        "reason": (end.reason if end else None) or pod.status_reason,
        "message": (end.message if end else None) or pod.status_message,
        "cause_code": pod.cause_code,
        "cause": pod.cause,
        "first_cause_uid": first.uid if pod.cause_code == "gang" else None,
        "restart_count": pod.restarts,
        "was_restart": pod.counts,
        "excluded": pod.excluded,
        "ends": [{"at": rfc3339(e.at), "exit_code": e.exit_code, "reason": e.reason} for e in pod.ends],
    }
