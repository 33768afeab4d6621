"""A job's true restarts in order of time, read once from its incarnations."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from jobs.domain.causes import in_place_cause
from jobs.domain.intervals import wait_start
from jobs.domain.state import Incarnation, JobState, Replica
from jobs.domain.thresholds import WAVE_ENOUGH, WAVE_GAP, WAVE_LONGEST, WAVE_REPLICAS


@dataclass(frozen=True, slots=True)
class Restart:
    """A run that ended and was followed by another. ``number``: 0 for a recreation, n for the n-th restart in place."""

    at: float
    pod: Incarnation
    number: int
    cause_code: str
    cause: str


def restarts(job: JobState) -> list[Restart]:
    """The restarts that count and whose time is known, oldest first."""
    found = [one for replica in job.replicas.values() for one in replica_restarts(replica)]
    return sorted(found, key=lambda one: (one.at, one.pod.first_version))


def replica_restarts(replica: Replica) -> Iterable[Restart]:
    """Those of one replica, oldest first."""
    for pod in replica.incarnations:
        for restart in pod.in_place:
            at = restart.ended_at if restart.ended_at is not None else restart.running_at
            if at is not None:
                yield Restart(at, pod, restart.number, *in_place_cause(restart))
        start = wait_start(pod)
        if pod.counts and start is not None:
            yield Restart(start, pod, 0, pod.cause_code or "unknown", pod.cause or "")


def replicas_in(found: Iterable[Restart]) -> set[tuple[str, int, int]]:
    """Which replicas restarted: (type, index, job index)."""
    return {(one.pod.type, one.pod.index, one.pod.job_index) for one in found}


def waves(found: Sequence[Restart], replicas: int) -> list[list[Restart]]:
    """Restarts that belong together: many replicas, each soon after the one before. ``replicas``: those of the job."""
    enough = max(WAVE_REPLICAS, min(WAVE_ENOUGH, (replicas + 1) // 2))
    chains: list[list[Restart]] = []
    for one in found:
        last = chains[-1] if chains else None
        if last and one.at - last[-1].at <= WAVE_GAP and one.at - last[0].at <= WAVE_LONGEST:
            last.append(one)
        else:
            chains.append([one])
    return [chain for chain in chains if len(replicas_in(chain)) >= enough]
