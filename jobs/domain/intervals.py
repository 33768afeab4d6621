"""Intervals that are derived when a job is read: the Restarting highlight, run segments, what was not observed."""

from collections.abc import Iterable
from dataclasses import dataclass

from jobs.domain.creations import APART, created
from jobs.domain.state import RESTARTING_LANE, Incarnation, JobState, Replica

OPEN = float("inf")


@dataclass(slots=True)
class Highlight:
    """A stretch of Restarting and who saw it (``condition``, ``pods``); ``end`` None while open."""

    start: float
    end: float | None
    seen_by: list[str]


def job_end(job: JobState) -> float | None:
    """When the highlight must close: the job finished or was deleted, as we saw it; None while it goes on."""
    ends = [job.deleted_at, job.vanished[1] if job.vanished else None]
    if job.finished_at is not None:
        state = job.open_span("state") or next(reversed(job.spans.get("state", [])), None)
        ends.append(state.start if state is not None and state.start is not None else job.finished_at)
    known = [at for at in ends if at is not None]
    return min(known) if known else None


def restarting(job: JobState) -> list[Highlight]:
    """The union of condition Restarting=True and of the replicas' waits between two runs, oldest first."""
    close = job_end(job)
    pieces = [(s.start, s.end, "condition") for s in job.spans.get(RESTARTING_LANE, ()) if s.start is not None]
    for replica in job.replicas.values():
        pieces.extend((start, end, "pods") for start, end in replica_waits(replica))
    return _union([piece for piece in (_clip(*p, close) for p in pieces) if piece is not None])


def _clip(start: float, end: float | None, who: str, close: float | None) -> tuple[float, float | None, str] | None:
    if close is None:
        return start, end, who
    if start >= close:
        return None
    return start, close if end is None else min(end, close), who


def _union(pieces: Iterable[tuple[float, float | None, str]]) -> list[Highlight]:
    merged: list[Highlight] = []
    for start, end, who in sorted(pieces, key=lambda p: (p[0], p[2])):
        last = merged[-1] if merged else None
        if last is not None and (last.end is None or start <= last.end):
            last.end = None if last.end is None or end is None else max(last.end, end)
            if who not in last.seen_by:
                last.seen_by.append(who)
        else:
            merged.append(Highlight(start, end, [who]))
    for highlight in merged:
        highlight.seen_by.sort()
    return merged


def replica_waits(replica: Replica) -> Iterable[tuple[float, float | None]]:
    """The waits of one replica: from the end of a run to Running of the next, where that restart counts."""
    pods = replica.incarnations
    for position, pod in enumerate(pods):
        yield from in_place_waits(pod)
        start = wait_start(pod)
        if not pod.counts or start is None:
            continue
        successor = pods[position + 1]
        running = successor.running_at
        end = running if running is not None else _never_ran(successor, position + 2 < len(pods))
        if may_hide_others(pod, successor):
            if _gone_at(pod, start) > start:
                yield start, _gone_at(pod, start)
            start = created(successor)
        if running is None or running > start:
            yield start, end


def may_hide_others(pod: Incarnation, successor: Incarnation) -> bool:
    """Whether others may have run in between, unwatched: the successor was created long after, and seen in a list."""
    start = wait_start(pod)
    return successor.listed and start is not None and created(successor) - _gone_at(pod, start) > APART


def _gone_at(pod: Incarnation, start: float) -> float:
    return start if pod.deleted_at is None else max(start, pod.deleted_at)


def _never_ran(pod: Incarnation, followed: bool) -> float | None:
    """A successor that ended without running closes the wait only when nothing came after it."""
    if followed:
        return pod.ended_at
    return pod.deleted_at if not pod.counts else None


def wait_start(pod: Incarnation) -> float | None:
    """The end of a run; after a completed replica it is the deletion that begins the restart, not the exit 0."""
    return (pod.deleting_at or pod.deleted_at) if pod.completed else pod.ended_at


def in_place_waits(pod: Incarnation) -> Iterable[tuple[float, float | None]]:
    """Waits between two runs of the main container inside one pod, a CrashLoopBackOff that is still open included."""
    for restart in pod.in_place:
        if restart.ended_at is not None:
            yield restart.ended_at, restart.running_at
    if pod.main_ended_seen_at is not None and pod.ended_at is None and pod.running_at is not None:
        yield pod.main_ended_seen_at, pod.deleting_at or pod.deleted_at


def segments(job: JobState) -> list[tuple[float | None, float | None]]:
    """Run segments: (start, end) from creation or resume to suspension or the job's end, None while open."""
    stops = sorted(pause.at for pause in job.breaks if pause.why == "suspended")
    starts = sorted(job.resumed)
    end = job.finished_at or job.deleted_at
    result: list[tuple[float | None, float | None]] = []
    start: float | None = job.created_at
    open_segment = not job.started_suspended
    for at, stop in sorted([(t, True) for t in stops] + [(t, False) for t in starts]):
        if stop and open_segment:
            result.append((start, at))
            open_segment = False
        elif not stop and not open_segment:
            start, open_segment = at, True
    if open_segment:
        result.append((start, end))
    return result


def unobserved(job: JobState) -> list[tuple[float | None, float | None]]:
    """The unobserved intervals of a job, merged, oldest first.

    A start of None means "from the beginning", an end of None that nobody watches now.
    """
    return _merged(_gaps(job))


def hazy(job: JobState) -> list[tuple[float | None, float | None]]:
    """Where the times that are drawn are not to be relied on: the unobserved intervals, and what was read late."""
    return _merged([*_gaps(job), *job.late])


def _gaps(job: JobState) -> list[tuple[float, float]]:
    closed = [(-OPEN if gap.start is None else gap.start, gap.end) for gap in job.unobserved]
    return [*closed, *((since, OPEN) for since in job.unwatched.values())]


def _merged(intervals: Iterable[tuple[float, float]]) -> list[tuple[float | None, float | None]]:
    merged: list[tuple[float, float]] = []
    for start, end in sorted(intervals):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return [(None if start == -OPEN else start, None if end == OPEN else end) for start, end in merged]
