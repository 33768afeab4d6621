"""A job's sums, kept up to date replica by replica: what an event costs does not grow with the job."""

from dataclasses import dataclass, field
from typing import Any

from jobs.domain.creations import proven_creations
from jobs.domain.marks import Marks, all_marks, note_changes
from jobs.domain.state import RESTARTING_LANE, JobState, Replica, ReplicaKey
from jobs.domain.summary import last_restart, open_wait
from jobs.domain.totals import Numbers, add, incomplete, replica_numbers


@dataclass(slots=True)
class Rollup:
    """What the list says of a job. ``waits``: replicas that wait for their next run, and since when."""

    total: Numbers = field(default_factory=Numbers)
    numbers: dict[ReplicaKey, Numbers] = field(default_factory=dict)
    waits: dict[ReplicaKey, float] = field(default_factory=dict)
    restarts: dict[ReplicaKey, float] = field(default_factory=dict)  # the last restart of each replica
    last_restart_at: float | None = None
    marks: Marks = field(default_factory=Marks)
    marks_changed: bool = True  # since `written`
    written: tuple[Any, tuple[Any, ...]] | None = None  # the store's own: columns, and what they were made from


def roll_up(job: JobState) -> Rollup:
    """Bring the job's sums up to date with what ``changes`` names; call it before the changes are taken away."""
    rollup = job.rollup
    if rollup is None or job.changes.every_replica:
        rollup = job.rollup = Rollup(marks=all_marks(job))
        proven = proven_creations(job)
        keys = {**job.replicas, **dict.fromkeys(proven)}
    else:
        keys = dict.fromkeys(job.changes.replicas)
        proven = proven_creations(job) if keys and incomplete(job) else {}
        rollup.marks_changed |= note_changes(job, rollup.marks)
    for key in keys:
        _roll_replica(job, rollup, key, proven.get(key, 0))
    rollup.total.at_least = incomplete(job)
    return rollup


def _roll_replica(job: JobState, rollup: Rollup, key: ReplicaKey, proven: int) -> None:
    replica = job.replicas.get(key) or Replica(key)
    before = rollup.numbers.get(key)
    if before is not None:
        add(rollup.total, before, -1)
    rollup.numbers[key] = replica_numbers(job, replica, proven)
    add(rollup.total, rollup.numbers[key])
    wait = open_wait(replica)
    if wait is None:
        rollup.waits.pop(key, None)
    else:
        rollup.waits[key] = wait
    _roll_last(rollup, key, last_restart(replica))


def _roll_last(rollup: Rollup, key: ReplicaKey, at: float | None) -> None:
    before = rollup.restarts.pop(key, None)
    if at is not None:
        rollup.restarts[key] = at
    if before is not None and before == rollup.last_restart_at and (at is None or at < before):
        rollup.last_restart_at = max(rollup.restarts.values(), default=None)  # a restart turned out to be none
    elif at is not None and (rollup.last_restart_at is None or at > rollup.last_restart_at):
        rollup.last_restart_at = at


def restarting_since(job: JobState, rollup: Rollup) -> float | None:
    """Since when the job is Restarting, by its condition or by a replica's wait; None when it is not."""
    if not job.present or job.finished_at is not None:
        return None
    span = job.open_span(RESTARTING_LANE)
    starts = [*rollup.waits.values()]
    if span is not None and span.start is not None:
        starts.append(span.start)
    return min(starts, default=None)
