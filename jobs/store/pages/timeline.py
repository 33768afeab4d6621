"""Rows for the timeline of one job: all of a small one, of a large one those in sight and sums of the rest.

Nothing here loads a whole job: a job of 25,000 pods is drawn from its restarts' times, and pods are read by replica.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import msgspec
from django.db.models import Count, Q

from jobs.domain.state import JobState, ReplicaKey, Span
from jobs.models import Incarnation, Job, Restart
from jobs.models import Span as SpanRow
from jobs.store.codec import job_from
from jobs.store.sql import chunks


class BarEnd(msgspec.Struct, gc=False):
    """An end of the main container."""

    exit_code: int | None = None
    reason: str | None = None


class Bar(msgspec.Struct):
    """Of an incarnation's record only what is drawn: decoding it takes a third of the time. ``seq``: of its row."""

    uid: str
    name: str
    type: str
    index: int
    job_index: int
    created_at: float | None
    first_seen_at: float
    listed: bool
    running_at: float | None = None
    deleting_at: float | None = None
    ended_at: float | None = None
    deleted_at: float | None = None
    vanished: tuple[float, float] | None = None
    ends: list[BarEnd] = []
    restarts: int = 0
    counts: bool = False
    excluded: str | None = None
    status_reason: str | None = None
    cause_code: str | None = None
    cause: str | None = None
    node: str | None = None
    seq: int = 0

    @property
    def key(self) -> ReplicaKey:
        return self.type, self.index, self.job_index

    @property
    def gone(self) -> float | None:
        """When it was deleted, or was last missing; None while it is there."""
        return self.vanished[1] if self.vanished else self.deleted_at


End = tuple[int | None, str, str]  # exit code, cause code, cause
# (replica, whether it was in place, when it began, when the replica ran again, what ended): a plain tuple, there are
# very many.
RestartTime = tuple[ReplicaKey, bool, float | None, float | None, End]


_decode = msgspec.json.Decoder(Bar).decode


def bar_from(record: str, seq: int) -> Bar:
    """The bar of a stored incarnation. Raises ``msgspec.DecodeError``."""
    bar = _decode(record)
    bar.seq = seq
    return bar


def job_alone(job_id: int) -> JobState:
    """The job's own record and its spans, without its pods. Raises ``Job.DoesNotExist``."""
    state = job_from(Job.objects.values_list("record", flat=True).get(id=job_id))
    rows = SpanRow.objects.filter(job_id=job_id).order_by("lane", "number")
    for lane, number, value, start, end, detail in rows.values_list(
        "lane", "number", "value", "start", "end", "detail"
    ):
        state.spans.setdefault(lane, []).append(Span(lane, number, value, start, end, detail))
    return state


def spans_between(job_id: int, start: float, end: float) -> dict[str, list[Span]]:
    """The phases of each lane that touch a range, in order."""
    rows = SpanRow.objects.filter(Q(end__gte=start) | Q(end=None), Q(start__lte=end) | Q(start=None), job_id=job_id)
    found: dict[str, list[Span]] = defaultdict(list)
    for values in rows.order_by("lane", "number").values_list("lane", "number", "value", "start", "end", "detail"):
        found[values[0]].append(Span(*values))
    return dict(found)


def replica_keys(job_id: int) -> dict[ReplicaKey, int]:
    """The job's replicas, each with the number of its pods."""
    rows = Incarnation.objects.filter(job_id=job_id).values_list("replica_type", "replica_index", "job_index")
    counted = rows.annotate(pods=Count("id")).order_by()
    return {(kind, index, part): pods for kind, index, part, pods in counted}


def restart_times(job_id: int) -> list[RestartTime]:
    """The restarts that count, in no order."""
    rows = Restart.objects.filter(job_id=job_id, counts=True).values_list(
        "replica_type",
        "replica_index",
        "job_index",
        "number",
        "at",
        "running_again_at",
        "exit_code",
        "cause_code",
        "cause",
    )
    return [
        ((kind, index, part), number > 0, at, until, (code, cause_code, cause))
        for kind, index, part, number, at, until, code, cause_code, cause in rows
    ]


def bars(job_id: int, keys: Collection[ReplicaKey] | None = None) -> dict[ReplicaKey, list[Bar]]:
    """The incarnations of some replicas, or of all (None), oldest first."""
    rows = Incarnation.objects.filter(job_id=job_id)
    if keys is not None:
        rows = rows.filter(any_of(keys))
    found: dict[ReplicaKey, list[Bar]] = defaultdict(list)
    for record, seq in rows.order_by("id").values_list("record", "seq").iterator(chunk_size=2000):
        bar = bar_from(record, seq)
        found[bar.key].append(bar)
    return dict(found)


def restarts_of(job_id: int, pods: Sequence[str] | None = None) -> list[Restart]:
    """The restarts of some pods, or of all."""
    rows = Restart.objects.filter(job_id=job_id)
    if pods is None:
        return list(rows)
    return [one for part in chunks(pods) for one in rows.filter(pod_uid__in=part)]


def any_of(keys: Iterable[ReplicaKey]) -> Q:
    """Rows of one of these replicas; none where there are no keys."""
    indexes: dict[tuple[str, int], list[int]] = defaultdict(list)
    for kind, index, part in keys:
        indexes[kind, part].append(index)
    chosen: Any = Q(pk__in=[])
    for (kind, part), those in indexes.items():
        chosen |= Q(replica_type=kind, job_index=part, replica_index__in=those)
    return chosen
