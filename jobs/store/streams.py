"""The streams of a cluster: their cursors, their state for the watcher page, their gaps."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import exp
from typing import Protocol

from django.db.backends.utils import CursorWrapper

from jobs import models

MINUTE = 60.0
WRITTEN = (
    "resource_version",
    "state",
    "detail",
    "state_since",
    "listed_at",
    "last_event_at",
    "alive_at",
    "gap_open",
    "events",
    "changes",
    "unchanged",
    "per_minute",
)
SET = WRITTEN[: WRITTEN.index("events")]  # the others are added to
UPDATE = (
    f'UPDATE "{models.Stream._meta.db_table}" SET '  # noqa: S608 - names are ours
    + ", ".join(f'"{name}" = %s' for name in (*WRITTEN, "skipped"))
    + ' WHERE "id" = %s'
)


class Key(Protocol):
    """What a stream is within its cluster, and what its cursor belongs to."""

    @property
    def resource(self) -> str: ...
    @property
    def namespace(self) -> str: ...
    @property
    def selector(self) -> str: ...


@dataclass(slots=True)
class StreamUpdate:
    """What to write of a stream with the next append. None and zero leave the column as it is."""

    resource_version: str | None = None
    state: str | None = None
    detail: str | None = None
    state_since: float | None = None
    listed_at: float | None = None
    last_event_at: float | None = None
    alive_at: float | None = None
    gap_open: bool | None = None
    events: int = 0
    changes: int = 0
    unchanged: int = 0
    skipped: dict[str, int] = field(default_factory=dict)
    gaps: list[tuple[float, float, str]] = field(default_factory=list)  # start, end, reason


def cluster_named(name: str) -> models.Cluster:
    """The cluster's row, made if there is none."""
    return models.Cluster.objects.get_or_create(name=name)[0]


def stream_for(cluster: models.Cluster, key: Key) -> models.Stream:
    """The stream's row, made if there is none."""
    return models.Stream.objects.get_or_create(
        cluster=cluster, resource=key.resource, namespace=key.namespace, selector=key.selector
    )[0]


def faded(per_minute: float, seconds: float) -> float:
    """What is left of a rate of events after ``seconds`` without any: each event counts for a minute on average."""
    return per_minute * exp(-max(0.0, seconds) / MINUTE)


def take_update(stream: models.Stream, update: StreamUpdate) -> None:
    """Bring the watcher's own copy of a stream up to date."""
    if update.last_event_at is not None:
        quiet = update.last_event_at - stream.last_event_at if stream.last_event_at is not None else MINUTE
        stream.per_minute = faded(stream.per_minute, quiet) + update.events
    for name in SET:
        value = getattr(update, name)
        if value is not None:
            setattr(stream, name, value)
    stream.events += update.events
    stream.changes += update.changes
    stream.unchanged += update.unchanged
    for reason, count in update.skipped.items():
        stream.skipped[reason] = stream.skipped.get(reason, 0) + count


def save_updates(cursor: CursorWrapper, updates: Sequence[tuple[models.Stream, StreamUpdate]]) -> None:
    """Write streams and their gaps; part of the append's transaction."""
    rows = []
    for stream, update in updates:
        take_update(stream, update)
        values = [getattr(stream, name) for name in WRITTEN]
        rows.append((*values, json.dumps(stream.skipped), stream.pk))
        for start, end, reason in update.gaps:
            models.Gap.objects.create(
                cluster_id=stream.cluster_id,
                resource=stream.resource,
                namespace=stream.namespace,
                start=start,
                end=end,
                reason=reason,
            )
    if rows:
        cursor.executemany(UPDATE, rows)
