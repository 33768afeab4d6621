"""Bytes from a cluster to identity and facts: watch lines, list pages, recorded lines.

Each line is decoded in one pass into the struct of its resource's family. The only exception that leaves this module is
``DecodeError``, whose reason comes from a small vocabulary, so that the caller can count by it.
"""

import re
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import msgspec

from jobs.domain.facts import ADDED, DELETED, MODIFIED, Facts
from jobs.domain.kinds import EVENTS, KINDS, PODGROUP_RESOURCES, PODS, JobKind
from jobs.ingest import wire, wire_jobs, wire_pods, wire_related
from jobs.ingest.objects import event_facts, job_facts, podgroup_facts, volcano_job_facts
from jobs.ingest.pods import pod_facts
from jobs.ingest.values import WORD_LIMIT, bounded, resource_version, word

BOOKMARK: Final = "BOOKMARK"
ERROR: Final = "ERROR"
UID_LIMIT: Final = 64  # a UUID has 36 characters; two that differ behind a cut would be taken for one
_CHANGES: Final = frozenset((ADDED, MODIFIED, DELETED))


class DecodeError(Exception):
    """A line or object that cannot be used.

    ``reason``: "not JSON", "too deep", "wrong type: <path>", "no metadata", "no name", "no uid", "uid too long",
    "no resourceVersion", "unreadable resourceVersion", "unknown event type", "unknown resource" or "no received_at".
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class ObjectMeta(NamedTuple):
    """Which object it is, and at which version."""

    namespace: str  # "" for objects without one
    name: str
    uid: str
    resource_version: int


class ApiStatus(NamedTuple):
    """The API server's word for what is wrong (``kind: Status``)."""

    code: int | None = None
    reason: str | None = None
    message: str | None = None
    retry_after: int | None = None  # seconds


class WatchEvent(NamedTuple):
    """One line of a watch.

    ADDED, MODIFIED, DELETED have ``meta`` and ``facts``; BOOKMARK has only ``resource_version``; ERROR has ``error``.
    """

    type: str
    resource_version: int = 0
    meta: ObjectMeta | None = None
    facts: Facts | None = None
    error: ApiStatus | None = None
    initial_events_end: bool = False  # a BOOKMARK that ends a streaming list


class ListPage(NamedTuple):
    """One page of a list. ``continue_token`` None: it is the last one."""

    resource_version: int
    continue_token: str | None
    items: list[msgspec.Raw]  # each for ``decode_object``, so that one bad item spoils no other


class RecordedLine(NamedTuple):
    """One line of a recording."""

    received_at: float  # epoch seconds
    resource: str
    type: str
    event: WatchEvent | None  # None for resources that are not understood


class _Family(NamedTuple):
    """How one resource is read: decoders for a watch line and for a bare object, and the way to its facts."""

    line: msgspec.json.Decoder[Any]
    object: msgspec.json.Decoder[Any]
    facts: Callable[[Any, Any], Facts]


def _family(type_: Any, facts: Callable[[Any, Any], Facts]) -> _Family:
    fields: list[Any] = [("type", str | None, None), ("object", type_ | None, None)]
    line = msgspec.defstruct("Line", fields, gc=False)
    return _Family(msgspec.json.Decoder(line), msgspec.json.Decoder(type_), facts)


def _job_family(kind: JobKind) -> _Family:
    build: Callable[..., Facts] = job_facts if kind.conditions else volcano_job_facts
    return _family(wire_jobs.job_type(kind), lambda job, metadata: build(kind, job, metadata))


_FAMILIES: Final[dict[str, _Family]] = {
    PODS: _family(wire_pods.Pod, pod_facts),
    EVENTS: _family(wire_related.Event, lambda event, _metadata: event_facts(event)),
    **{resource: _family(wire_related.PodGroup, podgroup_facts) for resource in PODGROUP_RESOURCES},
    **{kind.resource: _job_family(kind) for kind in KINDS},
}

_ERROR_LINE: Final = msgspec.json.Decoder(wire.ErrorLine)
_BOOKMARK_LINE: Final = msgspec.json.Decoder(wire.BookmarkLine)
_STATUS: Final = msgspec.json.Decoder(wire.Status)
_LIST: Final = msgspec.json.Decoder(wire.ObjectList)
_IDENTITY: Final = msgspec.json.Decoder(wire.IdentifiedObject)
_RAW_LINE: Final = msgspec.json.Decoder(wire.RawLine)
_RECORDED: Final = msgspec.json.Decoder(wire.RecordedLine)


def understands(resource: str) -> bool:
    """Whether there is a decoder for the resource (``tfjobs.kubeflow.org``)."""
    return resource in _FAMILIES


def decode_line(resource: str, line: bytes) -> WatchEvent:
    """One line of a watch on ``resource``. Raises ``DecodeError``."""
    family = _family_of(resource)
    try:
        decoded = _decode(family.line, line)
    except DecodeError:
        error = _error_event(line)  # a Status has its own shape: its "status" is a word
        if error is not None:
            return error
        raise
    type_ = decoded.type
    if type_ in _CHANGES:
        meta, facts = _identify(family, decoded.object)
        return WatchEvent(type_, meta.resource_version, meta, facts)
    if type_ == BOOKMARK:
        return _bookmark(line)
    error = _error_event(line)
    if error is None:
        raise DecodeError("unknown event type")
    return error


def decode_object(resource: str, raw: bytes | msgspec.Raw) -> tuple[ObjectMeta, Facts]:
    """A bare object, as in a list. Raises ``DecodeError``."""
    family = _family_of(resource)
    return _identify(family, _decode(family.object, bytes(raw)))


def decode_list(body: bytes) -> ListPage:
    """One page of a list. Raises ``DecodeError`` if it is no list; its items are still to be decoded."""
    page = _decode(_LIST, body)
    if page.metadata is None:
        raise DecodeError("no metadata")
    version = _version(page.metadata.resource_version)
    return ListPage(version, page.metadata.continue_ or None, page.items or [])


def decode_status(body: bytes) -> ApiStatus:
    """The body of an answer that is not 200; empty if it is no Status (a missing group answers in plain text)."""
    try:
        return _api_status(_decode(_STATUS, body))
    except DecodeError:
        return ApiStatus()


def decode_identity(raw: bytes | msgspec.Raw) -> tuple[str, str, str]:
    """Namespace, name and UID of an object that does not decode, "" where they cannot be read either."""
    try:
        metadata = _decode(_IDENTITY, bytes(raw)).metadata or wire.Identity()
    except DecodeError:
        metadata = wire.Identity()
    return word(metadata.namespace) or "", word(metadata.name) or "", word(metadata.uid) or ""


def decode_watched_identity(line: bytes) -> tuple[str, str, str]:
    """The same of the object in a watch line that does not decode."""
    try:
        raw = _decode(_RAW_LINE, line).object
    except DecodeError:
        return "", "", ""
    return decode_identity(b"{}" if raw is msgspec.UNSET else raw)


def decode_recorded(line: bytes) -> RecordedLine:
    """One line of a recording: ``{"received_at", "resource", "type", "object"}``. Raises ``DecodeError``."""
    recorded = _decode(_RECORDED, line)
    received_at, resource, type_ = recorded.received_at, recorded.resource, recorded.type
    if received_at is None:
        raise DecodeError("no received_at")
    if resource is None:
        raise DecodeError("unknown resource")
    if type_ is None:
        raise DecodeError("unknown event type")
    if resource not in _FAMILIES:
        return RecordedLine(received_at, resource, type_, None)
    if type_ in _CHANGES:
        meta, facts = decode_object(resource, b"null" if recorded.object is msgspec.UNSET else recorded.object)
        return RecordedLine(received_at, resource, type_, WatchEvent(type_, meta.resource_version, meta, facts))
    # Bookmarks and errors are rare: the line has the members of a watch line, so it is read as one.
    return RecordedLine(received_at, resource, type_, decode_line(resource, line))


# --- parts


def _family_of(resource: str) -> _Family:
    family = _FAMILIES.get(resource)
    if family is None:
        raise DecodeError("unknown resource")
    return family


def _decode(decoder: msgspec.json.Decoder[Any], data: bytes) -> Any:
    try:
        return decoder.decode(data)
    except msgspec.ValidationError as error:
        raise DecodeError("wrong type: " + _path(str(error))) from None
    except RecursionError:
        raise DecodeError("too deep") from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise DecodeError("not JSON") from None


def _path(message: str) -> str:
    """The path in a validation error, without what varies: the same for a watch line and a bare object, no list index
    and no map key, so that the set of reasons stays small."""
    path = message.rpartition(" - at `")[2].rstrip("`") if " - at `" in message else "$"
    path = re.sub(r"\[\d+\]", "[...]", path)
    return path.removeprefix("$").removeprefix(".object").removeprefix(".") or "object"


def _identify(family: _Family, decoded: Any) -> tuple[ObjectMeta, Facts]:
    metadata: wire.Metadata | None = decoded.metadata if decoded is not None else None
    if metadata is None:
        raise DecodeError("no metadata")
    if not metadata.uid:
        raise DecodeError("no uid")
    if len(metadata.uid) > UID_LIMIT:
        raise DecodeError("uid too long")
    if not metadata.name:
        raise DecodeError("no name")
    version = _version(metadata.resource_version)
    meta = ObjectMeta(word(metadata.namespace) or "", word(metadata.name) or "", word(metadata.uid) or "", version)
    return meta, family.facts(decoded, metadata)


def _version(text: str | None) -> int:
    if not text:
        raise DecodeError("no resourceVersion")
    version = resource_version(text)
    if version is None:
        raise DecodeError("unreadable resourceVersion")
    return version


def _bookmark(line: bytes) -> WatchEvent:
    decoded = _decode(_BOOKMARK_LINE, line).object
    if decoded is None or decoded.metadata is None:
        raise DecodeError("no metadata")
    annotations = decoded.metadata.annotations
    ended = annotations is not None and annotations.initial_events_end == "true"
    return WatchEvent(BOOKMARK, _version(decoded.metadata.resource_version), initial_events_end=ended)


def _error_event(line: bytes) -> WatchEvent | None:
    try:
        decoded = _decode(_ERROR_LINE, line)
    except DecodeError:
        return None
    if decoded.type != ERROR:
        return None
    return WatchEvent(ERROR, error=_api_status(decoded.object or wire.Status()))


def _api_status(status: wire.Status) -> ApiStatus:
    retry_after = status.details.retry_after_seconds if status.details is not None else None
    return ApiStatus(status.code, word(status.reason), bounded(status.message, WORD_LIMIT * 2), retry_after)
