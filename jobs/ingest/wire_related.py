"""The parts of PodGroups and Events that are read (see ``wire``)."""

from msgspec import Struct

from jobs.ingest.wire import Int, Metadata


class PodGroupSpec(Struct, gc=False, rename="camel"):
    min_member: Int | None = None
    queue: str | None = None
    priority_class_name: str | None = None


class PodGroupCondition(Struct, gc=False):
    type: str | None = None
    status: str | None = None
    reason: str | None = None


class PodGroupStatus(Struct, gc=False):
    phase: str | None = None
    running: Int | None = None
    succeeded: Int | None = None
    failed: Int | None = None
    conditions: list[PodGroupCondition | None] | None = None


class PodGroup(Struct, gc=False, rename="camel"):
    api_version: str | None = None
    metadata: Metadata | None = None
    spec: PodGroupSpec | None = None
    status: PodGroupStatus | None = None


class ObjectReference(Struct, gc=False):
    kind: str | None = None
    name: str | None = None
    uid: str | None = None


class EventSource(Struct, gc=False):
    component: str | None = None


class EventSeries(Struct, gc=False, rename="camel"):
    count: Int | None = None
    last_observed_time: str | None = None


class Event(Struct, gc=False, rename="camel"):
    metadata: Metadata | None = None
    involved_object: ObjectReference | None = None
    reason: str | None = None
    message: str | None = None
    type: str | None = None
    source: EventSource | None = None
    reporting_component: str | None = None
    count: Int | None = None
    first_timestamp: str | None = None
    last_timestamp: str | None = None
    event_time: str | None = None
    series: EventSeries | None = None
