"""What restarts cost: each replica's waits between two runs, and how long the gang was not complete for them."""

from dataclasses import dataclass, field

from jobs.domain.intervals import OPEN, job_end, replica_waits, segments
from jobs.domain.state import JobState, Replica, ReplicaKey

Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds. ``incomplete``: at least one replica waited for its next run. ``life``: without suspensions.

    ``waited``: by replica, the sum of its own waits; ``replica_seconds``: the sum of those. ``gang_lost``:
    replica-seconds if every replica idles while one waits. ``productive``: share of the life in which nobody waited
    for a restart, None without a life.
    """

    life: float
    incomplete: float
    gang_lost: float
    replica_seconds: float
    productive: float | None
    waited: dict[ReplicaKey, float] = field(default_factory=dict)


def cost(job: JobState, now: float) -> Cost:
    """The cost until ``now``, or until the job was over."""
    over = job_end(job)
    end = now if over is None else min(now, over)
    waits = {key: replica_intervals(replica, end) for key, replica in job.replicas.items()}
    incomplete = sum(b - a for a, b in _union([one for own in waits.values() for one in own]))
    waited = {key: sum(b - a for a, b in _union(own)) for key, own in waits.items() if own}
    life = _life(job, end)
    productive = max(0.0, 1.0 - incomplete / life) if life > 0 else None
    return Cost(life, incomplete, incomplete * len(job.replicas), sum(waited.values()), productive, waited)


def replica_intervals(replica: Replica, end: float) -> list[Interval]:
    """From the end of each run to Running of the next, cut at ``end``."""
    cut = ((start, min(stop if stop is not None else OPEN, end)) for start, stop in replica_waits(replica))
    return [(start, stop) for start, stop in cut if stop > start]


def _union(intervals: list[Interval]) -> list[Interval]:
    merged: list[Interval] = []
    for start, stop in sorted(intervals):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], stop))
        else:
            merged.append((start, stop))
    return merged


def _life(job: JobState, end: float) -> float:
    """Seconds in which the job was meant to run: from its creation or resume to its end or suspension."""
    first = job.created_at if job.created_at is not None else job.first_observed_at
    total = 0.0
    for start, stop in segments(job):
        begun = start if start is not None else first
        if begun is not None:
            total += max(0.0, (end if stop is None else min(stop, end)) - begun)
    return total
