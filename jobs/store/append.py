"""The append: fencing check, observations, projections and cursors in one transaction."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec
from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper

from jobs import models
from jobs.domain.causes import UNSEEN, in_place_cause, last_code
from jobs.domain.intervals import wait_start
from jobs.domain.marks import Failure, end_reason, failure, search_values, spec_read
from jobs.domain.rollup import Rollup, restarting_since, roll_up
from jobs.domain.state import PODGROUP_LANE, Changes, Incarnation, InPlace, JobState, Span
from jobs.store import leases
from jobs.store.codec import facts_text, incarnation_text, job_text
from jobs.store.ledger import Ledger
from jobs.store.sql import Write
from jobs.store.streams import StreamUpdate, save_updates

APPEND_LOCK = (
    0x52455354  # PostgreSQL advisory lock: ids and sequence numbers commit in the order in which they are taken
)

MOST = 2**31 - 1  # what an integer column holds; a pod alone may claim as many restarts

JOB_KEY = ("cluster_id", "uid")
JOB_VALUES = [
    "api_group",
    "kind",
    "namespace",
    "name",
    "state",
    "present",
    "true_restarts",
    "kubectl_restarts",
    "hidden_restarts",
    "at_least",
    "created_at",
    "finished_at",
    "deleted_at",
    "last_observed_at",
    "last_restart_at",
    "restarting_since",
    "podgroup_phase",
    "replicas",
    "fail_at",
    "fail_code",
    "fail_cause",
    "fail_reason",
    "fail_pod_uid",
    "fail_node",
    "fail_image",
    "search",
    "record",
    "seq",
]
JOBS = Write(models.Job, ("id", *JOB_KEY, *JOB_VALUES), JOB_KEY, JOB_VALUES)

INCARNATION_KEY = ("job_id", "uid")
INCARNATION_VALUES = [
    "name",
    "replica_type",
    "replica_index",
    "job_index",
    "created_at",
    "ended_at",
    "node",
    "record",
    "seq",
]
INCARNATIONS = Write(models.Incarnation, (*INCARNATION_KEY, *INCARNATION_VALUES), INCARNATION_KEY, INCARNATION_VALUES)

RESTART_KEY = ("job_id", "pod_uid", "number")
RESTART_VALUES = [
    "counts",
    "at",
    "running_again_at",
    "replica_type",
    "replica_index",
    "job_index",
    "exit_code",
    "reason",
    "cause_code",
    "cause",
    "node",
    "image",
    "seq",
]
RESTARTS = Write(models.Restart, (*RESTART_KEY, *RESTART_VALUES), RESTART_KEY, RESTART_VALUES)

SPAN_KEY = ("job_id", "lane", "number")
SPAN_VALUES = ("value", "detail", "start", "end", "seq")
SPANS = Write(models.Span, (*SPAN_KEY, *SPAN_VALUES), SPAN_KEY, SPAN_VALUES)

OBJECTS = Write(
    models.KubeObject,
    ("id", "cluster_id", "resource", "uid", "namespace", "name", "stream_id", "job_id", "present"),
    ("cluster_id", "resource", "uid"),
)
OBSERVATIONS = Write(
    models.Observation,
    ("object_id", "resource_version", "verb", "occurred_at", "observed_at", "facts"),
    ("object_id", "resource_version"),
)


class StoredLog(NamedTuple):
    """The end of one run's log, or the sentence that says why there is none. ``fetched_at`` in epoch seconds."""

    job_uid: str
    pod_uid: str
    container_id: str
    text: str
    problem: str
    fetched_at: float


LOGS = Write(
    models.LogTail,
    ("job_id", "pod_uid", "container_id", "text", "problem", "fetched_at", "seq"),
    ("job_id", "pod_uid", "container_id"),
)


GONE = f'UPDATE "{models.KubeObject._meta.db_table}" SET "present" = %s WHERE "id" = %s'  # noqa: S608 - our names
OBSERVED = f'UPDATE "{models.Cluster._meta.db_table}" SET "observed_until" = %s WHERE "id" = %s'  # noqa: S608


def append(
    ledger: Ledger,
    updates: Sequence[tuple[models.Stream, StreamUpdate]] = (),
    lease: leases.Lease | None = None,
    logs: Sequence[StoredLog] = (),
) -> int:
    """Store what the ledger has collected; answers the append's sequence number, to be published.

    Raises ``LeaseLost`` and ``DatabaseError``; after either the ledger must be thrown away.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [APPEND_LOCK])
        if lease is not None:
            leases.check(lease)
        seq = _next_sequence(cursor)
        _write_jobs(ledger, cursor, seq)
        _write_objects(ledger, cursor)
        _write_observations(ledger, cursor)
        _write_logs(ledger, cursor, logs, seq)
        save_updates(cursor, updates)
        if ledger.observed_until is not None:
            cursor.execute(OBSERVED, [ledger.observed_until, ledger.cluster.pk])
    ledger.settle()
    return seq


def _next_sequence(cursor: CursorWrapper) -> int:
    table = models.Sequence._meta.db_table
    cursor.execute(f'UPDATE "{table}" SET value = value + 1 WHERE id = 1 RETURNING value')  # noqa: S608 - our name
    row = cursor.fetchone()
    if row is None:
        models.Sequence.objects.create(id=1, value=1)
        return 1
    return int(row[0])


def _next_id(cursor: CursorWrapper, model: type[models.Job] | type[models.KubeObject]) -> int:
    """Ids are given out here, under the append lock, because rows of the same batch refer to them."""
    cursor.execute(f'SELECT MAX("id") FROM "{model._meta.db_table}"')  # noqa: S608 - our name
    return (cursor.fetchone()[0] or 0) + 1


def _write_jobs(ledger: Ledger, cursor: CursorWrapper, seq: int) -> None:
    new = [uid for uid in ledger.touched if uid not in ledger.job_ids]
    if new:
        first = _next_id(cursor, models.Job)
        ledger.job_ids.update({uid: first + offset for offset, uid in enumerate(new)})
    jobs: list[Any] = []
    incarnations: list[Any] = []
    restarts: list[Any] = []
    spans: list[Any] = []
    for uid, job in ledger.touched.items():
        job_id = ledger.job_ids[uid]
        jobs.append(_job_row(ledger.cluster.pk, job_id, job, seq))
        changes, job.changes = job.changes, Changes()
        incarnations.extend(_incarnation_row(job_id, pod, seq) for pod in changes.incarnations.values())
        restarts.extend(_recreation_row(job_id, *pair, seq) for pair in changes.recreations.values())
        restarts.extend(_in_place_row(job_id, *pair, seq) for pair in changes.in_place.values())
        spans.extend(_span_row(job_id, span, seq) for span in changes.spans.values())
    JOBS.run(cursor, jobs)
    INCARNATIONS.run(cursor, incarnations)
    RESTARTS.run(cursor, restarts)
    SPANS.run(cursor, spans)


def _job_row(cluster_id: int, job_id: int, job: JobState, seq: int) -> tuple[Any, ...]:
    rollup = roll_up(job)
    numbers = rollup.total
    return (
        job_id,
        cluster_id,
        job.uid,
        job.api_version.partition("/")[0],
        job.kind,
        job.namespace,
        job.name,
        job.state,
        job.present,
        min(numbers.true, MOST),
        min(numbers.kubectl, MOST),
        min(numbers.hidden, MOST),
        numbers.at_least,
        job.created_at,
        job.finished_at,
        job.deleted_at,
        job.last_observed_at,
        rollup.last_restart_at,
        restarting_since(job, rollup),
        _podgroup_phase(job),
        len(job.replicas),
        *_found_by(job, rollup),
        job_text(job),
        seq,
    )


def _found_by(job: JobState, rollup: Rollup) -> tuple[Any, ...]:
    """The columns ``fail_*`` and ``search``, worked out anew only where something in them may be different."""
    spec = spec_read(job)
    if rollup.marks_changed or job.state == "Failed" or rollup.written is None or rollup.written[0] != spec:
        failed = failure(job)
        text = msgspec.json.encode(search_values(job, rollup.marks, failed)).decode()
        rollup.written = (spec, (*_failure_columns(failed), text))
        rollup.marks_changed = False
    return rollup.written[1]


def _failure_columns(failed: Failure | None) -> tuple[Any, ...]:
    if failed is None:
        return (None, None, "", "", "", "", "")
    pod = failed.pod
    return (failed.at, failed.code, failed.cause_code, failed.reason, pod.uid, pod.node or "", pod.image or "")


def _podgroup_phase(job: JobState) -> str:
    """The phase that the PodGroup has, or had when it went with its job."""
    spans = job.spans.get(PODGROUP_LANE)
    return spans[-1].value if spans else ""


def _incarnation_row(job_id: int, pod: Incarnation, seq: int) -> tuple[Any, ...]:
    place = (pod.type, pod.index, pod.job_index)
    return (job_id, pod.uid, pod.name, *place, pod.created_at, pod.ended_at, pod.node or "", incarnation_text(pod), seq)


def _recreation_row(job_id: int, pod: Incarnation, successor: Incarnation, seq: int) -> tuple[Any, ...]:
    return (
        job_id,
        pod.uid,
        0,
        pod.counts,
        wait_start(pod),
        successor.running_at,
        pod.type,
        pod.index,
        pod.job_index,
        last_code(pod),
        end_reason(pod),
        pod.cause_code or "unknown",
        pod.cause or UNSEEN,
        pod.node or "",
        pod.image or "",
        seq,
    )


def _in_place_row(job_id: int, pod: Incarnation, restart: InPlace, seq: int) -> tuple[Any, ...]:
    return (
        job_id,
        pod.uid,
        restart.number,
        True,
        restart.ended_at,
        restart.running_at,
        pod.type,
        pod.index,
        pod.job_index,
        restart.exit_code,
        restart.reason or "",
        *in_place_cause(restart),
        pod.node or "",
        pod.image or "",
        seq,
    )


def _span_row(job_id: int, span: Span, seq: int) -> tuple[Any, ...]:
    detail = msgspec.json.encode(span.detail).decode()
    return (job_id, span.lane, span.number, span.value, detail, span.start, span.end, seq)


def _write_objects(ledger: Ledger, cursor: CursorWrapper) -> None:
    rows = []
    if ledger.new_objects:
        first = _next_id(cursor, models.KubeObject)
        for offset, new in enumerate(ledger.new_objects):
            new.known.object_id = first + offset
            seen = new.observation
            job_id = ledger.job_ids[new.known.job.uid]
            identity = (seen.resource, seen.uid, seen.namespace, seen.name)
            rows.append((new.known.object_id, ledger.cluster.pk, *identity, new.stream_id, job_id, True))
    OBJECTS.run(cursor, rows)
    if ledger.gone_objects:
        cursor.executemany(GONE, [(False, known.object_id) for known in ledger.gone_objects])


def _write_logs(ledger: Ledger, cursor: CursorWrapper, logs: Sequence[StoredLog], seq: int) -> None:
    """Logs of jobs that are known; a log that came before its job's first append has nowhere to go."""
    rows = [(ledger.job_ids[log.job_uid], *log[1:], seq) for log in logs if log.job_uid in ledger.job_ids]
    LOGS.run(cursor, rows)


def _write_observations(ledger: Ledger, cursor: CursorWrapper) -> None:
    OBSERVATIONS.run(
        cursor,
        [
            (
                row.known.object_id,
                row.observation.resource_version,
                row.observation.verb,
                row.occurred_at,
                row.observation.observed_at,
                facts_text(row.observation.facts),
            )
            for row in ledger.rows
        ],
    )
