"""What the list says of a job at a glance, read from each replica's newest pods only."""

from jobs.domain.intervals import wait_start
from jobs.domain.state import RESTARTING_LANE, Incarnation, JobState, Replica


def restarting_since(job: JobState) -> float | None:
    """Since when the job is Restarting, by its condition or by a replica's wait; None when it is not."""
    if not job.present or job.finished_at is not None:
        return None
    span = job.open_span(RESTARTING_LANE)
    starts = [span.start] if span is not None else []
    starts.extend(_open_wait(replica) for replica in job.replicas.values())
    known = [at for at in starts if at is not None]
    return min(known) if known else None


def _open_wait(replica: Replica) -> float | None:
    """Start of a replica's wait that has not ended, None if its newest pod runs, ended or is the first."""
    pods = replica.incarnations
    newest = pods[-1]
    if newest.main_ended_seen_at is not None and newest.ended_at is None and newest.deleting_at is None:
        return newest.main_ended_seen_at
    if newest.running_at is not None or newest.gone:
        return None
    start = None
    for position in range(len(pods) - 2, -1, -1):
        if not pods[position].counts:
            break
        start = wait_start(pods[position])
        if pods[position].running_at is not None:
            break
    return start


def last_restart_at(job: JobState) -> float | None:
    """End of the run before the job's newest true restart, None if there was none that was seen."""
    latest: float | None = None
    for replica in job.replicas.values():
        at = _last_restart(replica.incarnations)
        if at is not None and (latest is None or at > latest):
            latest = at
    return latest


def _last_restart(pods: list[Incarnation]) -> float | None:
    for pod in reversed(pods):
        if pod.counts and wait_start(pod) is not None:
            return wait_start(pod)
        if pod.in_place:
            return pod.in_place[-1].ended_at or pod.in_place[-1].running_at
    return None
