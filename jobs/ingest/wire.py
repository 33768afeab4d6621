"""The parts of Kubernetes objects that are read, as typed structs: what is not named here is skipped, not built.

Real objects hold an explicit null where the API documents a string or a list, so every field, list element and map
value may be null. Numbers are bounded to what a database column holds.
"""

from typing import Annotated

import msgspec
from msgspec import UNSET, Struct, UnsetType, field

Int = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]  # what Kubernetes calls int32
Long = Annotated[int, msgspec.Meta(ge=-(2**53), le=2**53)]

# Struct options: gc=False because these trees hold no cycles; "camel" because that is how Kubernetes writes names.


class OwnerReference(Struct, gc=False, rename="camel"):
    api_version: str | None = None
    kind: str | None = None
    name: str | None = None
    uid: str | None = None
    controller: bool | None = None


class Metadata(Struct, gc=False, rename="camel"):
    """What every object's metadata holds; labels and annotations differ by family."""

    name: str | None = None
    namespace: str | None = None
    uid: str | None = None
    resource_version: str | None = None
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: Long | None = None
    owner_references: list[OwnerReference | None] | None = None


class ListMetadata(Struct, gc=False, rename="camel"):
    resource_version: str | None = None
    continue_: str | None = field(name="continue", default=None)


class ObjectList(Struct, gc=False):
    metadata: ListMetadata | None = None
    items: list[msgspec.Raw] | None = None


class StatusDetails(Struct, gc=False, rename="camel"):
    retry_after_seconds: Int | None = None


class Status(Struct, gc=False):
    """The API server's answer when something is wrong, alone or inside an ERROR event."""

    message: str | None = None
    reason: str | None = None
    code: Int | None = None
    details: StatusDetails | None = None


class ErrorLine(Struct, gc=False):
    type: str | None = None
    object: Status | None = None


class BookmarkAnnotations(Struct, gc=False):
    initial_events_end: str | None = field(name="k8s.io/initial-events-end", default=None)


class BookmarkMetadata(Struct, gc=False, rename="camel"):
    resource_version: str | None = None
    annotations: BookmarkAnnotations | None = None


class BookmarkObject(Struct, gc=False):
    metadata: BookmarkMetadata | None = None


class BookmarkLine(Struct, gc=False):
    type: str | None = None
    object: BookmarkObject | None = None


class Identity(Struct, gc=False):
    """The least of an object that did not decode: enough to name it."""

    name: str | None = None
    namespace: str | None = None
    uid: str | None = None


class IdentifiedObject(Struct, gc=False):
    metadata: Identity | None = None


class RawLine(Struct, gc=False):
    object: msgspec.Raw | UnsetType = UNSET


class RecordedLine(Struct, gc=False):
    """One line of a recording."""

    received_at: float | None = None
    resource: str | None = None
    type: str | None = None
    object: msgspec.Raw | UnsetType = UNSET
