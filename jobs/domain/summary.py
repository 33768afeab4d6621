"""What a replica's newest pods say: whether it waits for its next run, and when it last restarted."""

from jobs.domain.intervals import wait_start
from jobs.domain.state import Replica


def open_wait(replica: Replica) -> float | None:
    """Start of a replica's wait that has not ended, None if its newest pod runs, ended or is the first."""
    pods = replica.incarnations
    if not pods:
        return None
    newest = pods[-1]
    if newest.main_ended_seen_at is not None and newest.ended_at is None and newest.deleting_at is None:
        return newest.main_ended_seen_at
    if newest.running_at is not None or newest.gone:
        return None
    return newest.waited_since


def last_restart(replica: Replica) -> float | None:
    """End of the run before the replica's newest true restart, None if there was none that was seen."""
    for pod in reversed(replica.incarnations):
        if pod.counts and wait_start(pod) is not None:
            return wait_start(pod)
        if pod.in_place:
            return pod.in_place[-1].ended_at or pod.in_place[-1].running_at
    return None
