"""The streams of a cluster: their cursors, their state for the watcher page, their gaps."""

from dataclasses import dataclass, field
from typing import Protocol

from jobs import models


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
    events: int = 0
    changes: int = 0
    unchanged: int = 0
    skipped: dict[str, int] = field(default_factory=dict)
    gaps: list[tuple[float, float, str]] = field(default_factory=list)  # start, end, reason


def cluster_named(name: str) -> models.Cluster:
    return models.Cluster.objects.get_or_create(name=name)[0]


def stream_for(cluster: models.Cluster, key: Key) -> models.Stream:
    return models.Stream.objects.get_or_create(
        cluster=cluster, resource=key.resource, namespace=key.namespace, selector=key.selector
    )[0]


def save_update(stream: models.Stream, update: StreamUpdate) -> None:
    """Write what changed of a stream; ``stream`` is the watcher's own copy and stays true."""
    for name in ("resource_version", "state", "detail", "state_since", "listed_at", "last_event_at", "alive_at"):
        value = getattr(update, name)
        if value is not None:
            setattr(stream, name, value)
    stream.events += update.events
    stream.changes += update.changes
    stream.unchanged += update.unchanged
    for reason, count in update.skipped.items():
        stream.skipped[reason] = stream.skipped.get(reason, 0) + count
    stream.save()
    for start, end, reason in update.gaps:
        models.Gap.objects.create(
            cluster_id=stream.cluster_id,
            resource=stream.resource,
            namespace=stream.namespace,
            start=start,
            end=end,
            reason=reason,
        )
