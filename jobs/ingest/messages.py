"""What one stream says to its consumer, in order."""

from collections.abc import Set
from enum import StrEnum
from typing import NamedTuple

from jobs.domain.facts import Facts
from jobs.ingest.decode import ObjectMeta, WatchEvent


class State(StrEnum):
    """How a stream is doing."""

    LISTING = "listing"
    WATCHING = "watching"
    RECONNECTING = "reconnecting"  # cut or stalled; goes on from where it was
    THROTTLED = "throttled"  # 429
    SERVER_ERROR = "server error"  # 5xx, or an ERROR event of that kind
    UNREACHABLE = "unreachable"
    UNAUTHORIZED = "unauthorized"  # 401
    FORBIDDEN = "forbidden"  # 403
    NOT_INSTALLED = "not installed"  # 404: the CRD is not there
    REFUSED = "refused"  # any other answer
    BROKEN = "broken"  # a fault of ours; the stream is started again


class Listing(NamedTuple):
    """A list begins: what is not in it at its end is gone."""

    started_at: float


class Listed(NamedTuple):
    """Some objects of the list under way."""

    items: tuple[tuple[ObjectMeta, Facts], ...]
    received_at: float


class ListDone(NamedTuple):
    """The list is complete: ``seen`` are the UIDs of all its objects, those that did not decode included.

    ``unreadable`` counts objects whose UID could not be read either: if it is not 0, what is missing in ``seen`` may
    still be there.
    """

    resource_version: int
    seen: Set[str]
    started_at: float
    finished_at: float
    unreadable: int = 0


class Changed(NamedTuple):
    """One watch event of type ADDED, MODIFIED or DELETED."""

    event: WatchEvent
    received_at: float


class Bookmark(NamedTuple):
    """Nothing has changed up to this version."""

    resource_version: int
    initial_events_end: bool = False  # consumed by the loop itself


class Skipped(NamedTuple):
    """One object or line that could not be used; ``reason`` is a ``DecodeError``'s, or "line too long"."""

    reason: str
    sample: str  # "namespace/name", else the first bytes; bounded, printable
    uid: str = ""


class Expired(NamedTuple):
    """The cluster no longer knows version ``since``: a gap begins there and ends with the next ``ListDone``."""

    since: int
    reason: str


class Status(NamedTuple):
    """The stream's state has changed; ``sentence`` says what is wrong and what mends it ("" when all is well)."""

    state: State
    sentence: str
    at: float


Message = Listing | Listed | ListDone | Changed | Bookmark | Skipped | Expired | Status


def cursor_after(message: Message) -> int | None:
    """The resourceVersion to resume from once ``message`` and all before it are stored; None if it sets none."""
    if isinstance(message, Changed):
        return message.event.resource_version
    if isinstance(message, ListDone | Bookmark):
        return message.resource_version
    return None
