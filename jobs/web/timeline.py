"""The timeline of a job as the browser takes it: one shape for the first answer, for rows and for each later delta.

Times are epoch seconds. Every item has a key of its own (a pod's UID, a span's lane and number, …), so that the browser
merges what it is told again without harm; ``seq`` says which of two tellings is the newer one.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from django.utils.translation import get_language

from jobs import models
from jobs.domain.intervals import hazy
from jobs.domain.state import JobState, ReplicaKey
from jobs.models import Job, Restart
from jobs.store.pages import timeline as store
from jobs.store.pages.changes import JobChanges, RestartSum, proven
from jobs.store.pages.jobs import shown_state
from jobs.store.pages.timeline import Bar, RestartTime
from jobs.web.detail import Heap, begin, thinned, thinned_marks
from jobs.web.experiments.marks import marks
from jobs.web.jobpage.story import kubectl_story, story
from jobs.web.lanes import span_json, told_pixel, told_spans

Json = dict[str, Any]

# Seconds without a sign of life after which a cluster is stale; a watcher gives one every 5 s, also when all is quiet.
STALE_AFTER = 20.0
AFTERGLOW = 0.04  # share of a finished job's life that is shown after its end


WHOLE = 1500  # pods up to which all are told at once …
WHOLE_ROW = 150  # … if no replica has more of them: they would be narrower than what is drawn on them
SMALL = 4.0  # pixels: on a narrower bar nothing can be told, and several of them are a heap
FIRST_ROWS = 30  # replicas told at once of a larger job: those that are in sight at first
BUCKETS = 240  # of a job's life, in which its restarts are counted
STRIP_ROWS = 24  # parts of a type's replicas, whose restarts are counted apart
ORDERS = ("index", "worst")


@dataclass(frozen=True)
class Wanted:
    """What the browser asks for. ``range``: epoch seconds. ``pixel``: seconds that one covers, 0 for every detail.
    ``rows``: None for the first answer."""

    range: tuple[float, float] = (0.0, 0.0)
    pixel: float = 0.0
    order: str = "index"
    rows: tuple[ReplicaKey, ...] | None = None


def overview(row: Job, seq: int, now: float, wanted: Wanted) -> Json:
    """The first answer: everything of a job of up to WHOLE pods; of a larger one all replicas' numbers, where in time
    and among the replicas its restarts lie, and the first rows. Raises ``Job.DoesNotExist``.

    ``seq``: the append up to which this is known, read before the rows.
    """
    job = store.job_alone(row.id)
    sizes = store.replica_keys(row.id)
    times = store.restart_times(row.id)
    creations = proven(row.id, job)
    trues = true_restarts(((key, inside, 1) for key, inside, *_ in times), creations)
    keys = sorted({**sizes, **dict.fromkeys(trues)}, key=_order)
    whole = sum(sizes.values()) <= WHOLE and max(sizes.values(), default=0) <= WHOLE_ROW
    shown = keys if wanted.order == "index" else sorted(keys, key=lambda key: -trues.get(key, 0))
    start, end = start_of(job), end_of(row, job, now)
    found: Json = {
        "uid": row.uid,
        "seq": seq,
        "now": now,
        "start": start,
        "end": end,
        "job": header(row, job),
        "lanes": {"pixel": told_pixel(job.spans.values(), wanted.pixel)},
        "spans": told_spans(job.spans.values(), wanted.pixel),
        "unobserved": _unobserved(job),
        "marks": marks(row.cluster.name, row.uid),
        "replicas": [_replica(key, trues.get(key, 0)) for key in keys],
        "whole": whole,
        "heat": heat(times, keys, start, end if end is not None else now),
        "bands": [] if whole else bands(times, row.finished_at or row.deleted_at),
        **rows(row, None if whole else shown[:FIRST_ROWS], 0.0 if whole else wanted.pixel),
    }
    if not whole:
        found["story"] = {get_language(): words(row, _sums(times), creations)}
    return found


def words(row: Job, sums: Iterable[RestartSum], creations: Mapping[ReplicaKey, int]) -> str:
    """The sentence beside the numbers, in the current language."""
    return f"{story(row, sums, creations)} {kubectl_story(row)}".strip()


def _sums(times: Iterable[RestartTime]) -> list[RestartSum]:
    counted = Counter((key, inside, end) for key, inside, _at, _until, end in times)
    return [RestartSum(key, inside, *end, number) for (key, inside, end), number in counted.items()]


def rows(row: Job, keys: Collection[ReplicaKey] | None, pixel: float) -> Json:
    """The bars of some replicas, or of all (None). ``pixel`` > 0: what is narrower than so many seconds is in heaps."""
    found = store.bars(row.id, keys)
    marks = store.restarts_of(row.id, None if keys is None else [bar.uid for one in found.values() for bar in one])
    pods: list[Bar] = []
    heaps: list[Json] = []
    for key, bars in found.items():
        kept, piled = thinned(bars, SMALL * pixel) if pixel else (bars, [])
        pods.extend(kept)
        heaps.extend(_heap(key, heap) for heap in piled)
    if pixel:
        shown = {bar.uid: bar.key for bar in pods}
        in_place, piled = thinned_marks((m for m in marks if m.pod_uid in shown and m.number), pixel)
        heaps.extend(_heap(shown[heap.first], heap) for heap in piled)
        marks = [*in_place, *(m for m in marks if m.pod_uid in shown and not m.number)]
    return {
        "rows": [replica_key(key) for key in (keys if keys is not None else found)],
        "pixel": pixel,
        "pods": [_pod(bar) for bar in pods],
        "restarts": [_restart(mark) for mark in marks],
        "heaps": heaps,
    }


def some_rows(row: Job, seq: int, now: float, wanted: Wanted) -> Json:
    """The rows that the browser asks for by their keys."""
    return {"seq": seq, "now": now, **rows(row, wanted.rows or (), wanted.pixel)}


def true_restarts(
    counted: Iterable[tuple[ReplicaKey, bool, int]], creations: Mapping[ReplicaKey, int]
) -> dict[ReplicaKey, int]:
    """True restarts by replica. ``counted``: a replica, whether in place, how often; ``creations``: what Events prove
    where something was missed (jobs.domain.totals)."""
    recreations: dict[ReplicaKey, int] = {}
    in_place: dict[ReplicaKey, int] = {}
    for key, inside, times in counted:
        sums = in_place if inside else recreations
        sums[key] = sums.get(key, 0) + times
    for key, number in creations.items():
        recreations[key] = max(recreations.get(key, 0), number - 1)
    return {key: recreations.get(key, 0) + in_place.get(key, 0) for key in {**recreations, **in_place}}


def heat(times: Iterable[RestartTime], keys: Iterable[ReplicaKey], start: float | None, end: float) -> Json:
    """Restarts counted by replica type, part of the type's replicas and part of the job's life.

    ``{"start", "step" (seconds), "types": {type: {"rows": n, "of": replicas, "cells": [[row, bucket, restarts]]}}}``:
    the n-th row holds the n-th part of the type's replicas, in their order.
    """
    start = start if start is not None else end - 1
    step = max((end - start) / BUCKETS, 0.001)
    places: dict[ReplicaKey, tuple[str, int]] = {}
    parts: dict[str, tuple[int, int]] = {}
    for kind, group in groupby(keys, key=lambda key: key[0]):
        those = list(group)
        parts[kind] = min(STRIP_ROWS, len(those)), len(those)
        places |= {key: (kind, n * parts[kind][0] // len(those)) for n, key in enumerate(those)}
    counted = Counter(
        (places[key], int((at - start) / step))
        for key, _inside, at, _until, _end in times
        if at is not None and key in places
    )
    cells: dict[str, list[list[int]]] = {kind: [] for kind in parts}
    for ((kind, line), bucket), count in counted.items():
        cells[kind].append([line, max(0, bucket), count])
    types = {kind: {"rows": n, "of": of, "cells": cells[kind]} for kind, (n, of) in parts.items()}
    return {"start": start, "step": step, "types": types}


def bands(times: Iterable[RestartTime], over: float | None) -> list[Json]:
    """When at least one replica waited for its next run: [{start, end}], end None while one waits."""
    found: list[Json] = []
    last = float("-inf")
    for at, until in sorted(
        (at, over if until is None else until) for _key, _inside, at, until, _end in times if at is not None
    ):
        if at <= last:
            found[-1]["end"] = None if until is None or found[-1]["end"] is None else max(found[-1]["end"], until)
        else:
            found.append({"start": at, "end": until})
        last = max(last, until if until is not None else float("inf"))
    return found


def delta(changes: JobChanges, job: JobState, trues: Mapping[ReplicaKey, int], now: float) -> Json:
    """What changed of a job, in the same shape. ``trues``: true restarts of the replicas that are told of."""
    result: Json = {
        "seq": changes.job.seq,
        "end": end_of(changes.job, job, now),
        "job": header(changes.job, job),
        "pods": [_pod(store.bar_from(row.record, row.seq)) for row in changes.incarnations],
        "spans": [span_json(span) for span in changes.spans],
        "restarts": [_restart(restart) for restart in changes.restarts],
        "replicas": [_replica(key, trues[key]) for key in sorted(trues, key=_order)],
    }
    result["marks"] = marks(changes.job.cluster.name, changes.job.uid)
    # Told even where there is none: an interval that was open may have turned out to be none.
    return {name: value for name, value in result.items() if value != []} | {"unobserved": _unobserved(job)}


def _unobserved(job: JobState) -> list[Json]:
    """What is drawn hatched."""
    return [{"start": start, "end": end} for start, end in hazy(job)]


def touched(changes: JobChanges) -> set[ReplicaKey]:
    """The replicas whose rows changed."""
    rows: list[models.Incarnation | Restart] = [*changes.incarnations, *changes.restarts]
    return {(row.replica_type, row.replica_index, row.job_index) for row in rows}


def header(row: Job, job: JobState) -> Json:
    """The numbers above the timeline. ``over``: when nothing more can restart; open bands end there.
    ``finished``: the cluster's own date of its end."""
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
        "finished": row.finished_at,
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


def key_from(text: str) -> ReplicaKey | None:
    """The replica of :func:`replica_key`; None for anything else. The type itself may hold a slash."""
    kind, _, rest = text.rpartition("/")
    kind, _, index = kind.rpartition("/")
    if not (kind and _is_number(index) and _is_number(rest)):
        return None
    return kind, int(index), int(rest)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 10


def _replica(key: ReplicaKey, true: int) -> Json:
    return {"key": replica_key(key), "true": true}


def _heap(key: ReplicaKey, heap: Heap) -> Json:
    return {
        "replica": replica_key(key),
        "first": heap.first,
        "start": heap.start,
        "end": heap.end,
        "pods": heap.pods,
        "restarts": heap.restarts,
        "codes": heap.codes,
    }


def _pod(pod: Bar) -> Json:
    end = pod.ends[-1] if pod.ends else None
    found: Json = {
        "uid": pod.uid,
        "replica": replica_key(pod.key),
        "name": pod.name,
        "seq": pod.seq,
        "node": pod.node,
        "created": begin(pod),
        "running": pod.running_at,
        "terminating": pod.deleting_at,
        "ended": pod.ended_at,
        "deleted": pod.gone,
        "code": end.exit_code if end and pod.ended_at is not None else None,
        "reason": (end.reason if end else None) or pod.status_reason,
        "cause_code": pod.cause_code,
        "cause": pod.cause,
        "restarts": pod.restarts,
        "was_restart": pod.counts,
        "excluded": pod.excluded,
    }
    return found


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
        "seq": restart.seq,
    }
