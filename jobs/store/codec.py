"""Facts and state as JSON text and back. Field names are written out, so that old rows stay readable."""

from dataclasses import fields
from typing import Any

import msgspec

from jobs.domain.facts import (
    Condition,
    ContainerFacts,
    EventFacts,
    Facts,
    JobFacts,
    PodFacts,
    PodGroupFacts,
    ReplicaSpec,
    ReplicaStatus,
    Terminated,
)
from jobs.domain.state import Break, Creations, Incarnation, JobState, Refusal, Unobserved

NESTED: dict[tuple[type, str], type] = {
    (PodFacts, "containers"): ContainerFacts,
    (ContainerFacts, "terminated"): Terminated,
    (ContainerFacts, "last_terminated"): Terminated,
    (JobFacts, "replicas"): ReplicaSpec,
    (JobFacts, "conditions"): Condition,
    (JobFacts, "statuses"): ReplicaStatus,
    (PodGroupFacts, "conditions"): Condition,
}
FACTS: tuple[Any, ...] = (
    PodFacts,
    JobFacts,
    PodGroupFacts,
    EventFacts,
    Terminated,
    ContainerFacts,
    ReplicaSpec,
    Condition,
    ReplicaStatus,
)
PARTS: dict[type, tuple[str, ...]] = {kind: tuple(n for k, n in NESTED if k is kind) for kind in FACTS}
RECORDS: dict[type, type[msgspec.Struct]] = {
    kind: msgspec.defstruct(
        kind.__name__,
        [(name, Any, kind._field_defaults.get(name)) for name in kind._fields],
        omit_defaults=True,
        gc=False,
    )
    for kind in FACTS
}
ELSEWHERE = ("replicas", "pods", "pods_left", "spans", "changes", "rollup")  # rows of their own, or derived from them
RECORD_FIELDS = tuple(f.name for f in fields(JobState) if f.name not in ELSEWHERE)

_incarnation = msgspec.json.Decoder(Incarnation)
_encode = msgspec.json.Encoder().encode


def facts_record(facts: Any) -> msgspec.Struct:
    """The facts as a struct that is encoded by name, without what is as the class's default says."""
    kind = type(facts)
    record = RECORDS[kind](*facts)
    for name in PARTS[kind]:
        value = getattr(record, name)
        if value:
            plural = type(value) is tuple  # a part itself is a tuple of its own class
            setattr(record, name, [facts_record(part) for part in value] if plural else facts_record(value))
    return record


def facts_text(facts: Facts | None) -> str:
    """JSON of :func:`facts_record`; ``{}`` where there are no facts."""
    return _encode(facts_record(facts)).decode() if facts is not None else "{}"


def facts_from(kind: type, values: dict[str, Any]) -> Any:
    """The facts of class ``kind`` from :func:`facts_record`, decoded; names that are no longer known are left out."""
    known = {}
    for name, value in values.items():
        if name not in kind._fields:  # type: ignore[attr-defined]
            continue
        part = NESTED.get((kind, name))
        if part is not None and isinstance(value, list):
            known[name] = tuple(facts_from(part, v) for v in value)
        elif part is not None:
            known[name] = facts_from(part, value)
        elif isinstance(value, list):
            known[name] = tuple(tuple(v) if isinstance(v, list) else v for v in value)
        else:
            known[name] = value
    return kind(**known)


def incarnation_text(pod: Incarnation) -> str:
    """JSON of the whole incarnation."""
    return _encode(pod).decode()


def incarnation_from(text: str) -> Incarnation:
    """The incarnation of :func:`incarnation_text`. Raises ``msgspec.DecodeError``."""
    return _incarnation.decode(text)


def job_text(job: JobState) -> str:
    """The job's own state; incarnations and spans are rows of their own."""
    record = {name: getattr(job, name) for name in RECORD_FIELDS}
    record["facts"] = facts_record(job.facts) if job.facts is not None else None
    record["podgroup"] = facts_record(job.podgroup) if job.podgroup is not None else None
    return _encode(record).decode()


def job_from(text: str) -> JobState:
    """The state that :func:`job_text` wrote, still without incarnations and spans."""
    record = {name: value for name, value in msgspec.json.decode(text).items() if name in RECORD_FIELDS}
    if record["facts"] is not None:
        record["facts"] = facts_from(JobFacts, record["facts"])
    if record["podgroup"] is not None:
        record["podgroup"] = facts_from(PodGroupFacts, record["podgroup"])
    record["vanished"] = tuple(record["vanished"]) if record["vanished"] else None
    record["late"] = [(start, end) for start, end in record.get("late", ())]
    record["breaks"] = msgspec.convert(record["breaks"], list[Break])
    record["unobserved"] = msgspec.convert(record["unobserved"], list[Unobserved])
    record["creations"] = msgspec.convert(record["creations"], dict[str, Creations])
    record["refusals"] = msgspec.convert(record.get("refusals", {}), dict[str, Refusal])  # younger than some rows
    return JobState(**record)
