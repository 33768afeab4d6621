"""A job's true restarts in order of time, read once from its incarnations."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from jobs.domain.causes import final_end, in_place_cause
from jobs.domain.intervals import wait_start
from jobs.domain.lengths import TOGETHER
from jobs.domain.state import End, Incarnation, JobState, Replica
from jobs.domain.thresholds import WAVE_ENOUGH, WAVE_GAP, WAVE_LONGEST, WAVE_REPLICAS

TOLD_LATE = 5.0  # seconds: a kubelet tells of a beginning or an end within three, unless its node was lost


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


def lived(pod: Incarnation, number: int) -> float | None:
    """Seconds for which the run before a restart of ``pod`` lasted (``number``: 0 for its recreation); None if unknown.

    As it was watched; by the container's own whole seconds where its beginning or end was not watched, or told late.
    """
    restart = next((one for one in pod.in_place if one.number == number), None)
    if number and restart is None:
        return None
    ended = restart.ended_at if restart is not None else pod.ended_at
    began = _began(pod, number - 1 if number else pod.restarts)
    watched = ended - began if ended is not None and began is not None and ended > began else None
    end = final_end(pod) if restart is None else _end_at(pod, restart.ended_at)
    if end is None or end.at is None or end.started_at is None:
        return watched
    own = max(0.0, end.at - end.started_at)
    return own if watched is None or watched < TOGETHER or abs(watched - own) > TOLD_LATE else watched


def _began(pod: Incarnation, run: int) -> float | None:
    """When a run of the main container was seen to begin; runs are numbered as restartCount does."""
    if run == 0:
        return pod.running_at
    return next((one.running_at for one in reversed(pod.in_place) if one.number == run), None)


def _end_at(pod: Incarnation, at: float | None) -> End | None:
    return next((end for end in pod.ends if at is not None and at in (end.seen_at, end.at)), None)


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
