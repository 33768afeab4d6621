"""One list and one watch: what goes over one or a few requests, without any retry."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from msgspec import Raw

from jobs.domain.facts import Facts
from jobs.ingest import failures
from jobs.ingest.decode import (
    BOOKMARK,
    ERROR,
    ApiStatus,
    DecodeError,
    ListPage,
    ObjectMeta,
    WatchEvent,
    decode_identity,
    decode_line,
    decode_list,
    decode_object,
    decode_watched_identity,
)
from jobs.ingest.failures import Kind
from jobs.ingest.lines import LineTooLong, split_lines
from jobs.ingest.messages import Bookmark, Changed, ListDone, Listed, Listing, Message, Skipped, State, Status
from jobs.ingest.streams import StreamSpec
from jobs.ingest.timing import Timing
from jobs.ingest.transport import Clock, Stalled, Stop, Transport, TransportError

SAMPLE_BYTES = 80


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One stream and what it is read with."""

    stream: StreamSpec
    transport: Transport
    clock: Clock
    stop: Stop
    timing: Timing = field(default_factory=Timing)


def list_pages(endpoint: Endpoint) -> Iterator[Message]:
    """A consistent list, page by page: Listing, Listed ..., ListDone. Raises ``Failure``.

    The resourceVersion is unset, so the list is what the cluster holds now. Ends early, without ListDone, when stopped.
    """
    clock = endpoint.clock
    started_at = clock.now()
    yield Listing(started_at)
    seen: set[str] = set()
    unreadable = 0
    version: int | None = None
    token: str | None = None
    while not endpoint.stop.is_set():
        page = _page(endpoint, token)
        version = page.resource_version if version is None else version
        for message in _listed(endpoint, page.items, seen):
            if isinstance(message, Skipped) and not message.uid:
                unreadable += 1
            yield message
        token = page.continue_token
        if token is None:
            yield ListDone(version, frozenset(seen), started_at, clock.now(), unreadable)
            return


def newest_version(endpoint: Endpoint) -> int:
    """The version that the cluster is at now: a consistent list tells it, however short. Raises ``Failure``."""
    return _page(endpoint, None, limit=1).resource_version


def _page(endpoint: Endpoint, token: str | None, limit: int | None = None) -> ListPage:
    stream, timing = endpoint.stream, endpoint.timing
    query = {"limit": str(limit or timing.page_limit), **stream.selectors()}
    if token is not None:
        query["continue"] = token
    try:
        with endpoint.transport.open(stream.path, query, timeout=timing.list_timeout, stop=endpoint.stop) as answer:
            if answer.status != 200:
                failure = failures.of_answer(stream, "list", answer, timing)
                if token is not None and answer.status == 400:  # the token is not understood: the list begins anew
                    failure.kind = Kind.EXPIRED
                raise failure
            return decode_list(answer.read(timing.max_page))
    except TransportError as error:
        raise failures.of_transport(error) from error
    except DecodeError as error:
        message = f"the answer is no list ({error.reason})"
        raise failures.of_status(stream, "list", ApiStatus(message=message)) from error


def _listed(endpoint: Endpoint, raws: list[Raw], seen: set[str]) -> Iterator[Listed | Skipped]:
    received_at = endpoint.clock.now()
    items: list[tuple[ObjectMeta, Facts]] = []
    for raw in raws:
        try:
            item = decode_object(endpoint.stream.resource, raw)
        except DecodeError as error:
            skipped = skipped_object(error.reason, raw)
            if skipped.uid:
                seen.add(skipped.uid)
            yield skipped
            continue
        seen.add(item[0].uid)
        items.append(item)
        if len(items) >= endpoint.timing.listed_chunk:
            yield Listed(tuple(items), received_at)
            items = []
    if items:
        yield Listed(tuple(items), received_at)


def watch_once(endpoint: Endpoint, version: int | None, server_timeout: int) -> Iterator[Message]:
    """One watch from ``version`` until the server ends it: Status(WATCHING), then Changed, Bookmark, Skipped.

    Without a version it is a streaming list: everything there is comes as ADDED, then a Bookmark that says so. Raises
    ``Failure``; also for an ERROR event, which is the last line of a watch. ``server_timeout`` in seconds.
    """
    stream, clock, timing = endpoint.stream, endpoint.clock, endpoint.timing
    query = {"watch": "1", "allowWatchBookmarks": "true", "timeoutSeconds": str(server_timeout), **stream.selectors()}
    if version is None:
        query |= {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
    else:
        query["resourceVersion"] = str(version)
    deadline = clock.monotonic() + server_timeout + timing.deadline_slack
    try:
        with endpoint.transport.open(stream.path, query, timeout=timing.request_timeout, stop=endpoint.stop) as answer:
            if answer.status != 200:
                raise failures.of_answer(stream, "watch", answer, timing)
            yield Status(State.WATCHING, "", clock.now())
            chunks = answer.chunks(_patience(stream, clock, timing, deadline))
            for line in split_lines(chunks, timing.max_line):
                yield _watched(stream, line, clock)
    except TransportError as error:
        raise failures.of_transport(error) from error


def _patience(stream: StreamSpec, clock: Clock, timing: Timing, deadline: float) -> Callable[[], float]:
    """How long the next read may take: no longer than the deadline allows, and than silence is plausible."""

    def patience() -> float:
        left = deadline - clock.monotonic()
        if left <= 0:
            raise Stalled(f"The watch of {stream.key} went on past the time it was asked for; it is opened anew.")
        return min(left, timing.read_timeout) if stream.bookmarks else left

    return patience


def _watched(stream: StreamSpec, line: bytes | LineTooLong, clock: Clock) -> Message:
    if isinstance(line, LineTooLong):
        return Skipped("line too long", _printable(line.head))
    try:
        event = decode_line(stream.resource, line)
    except DecodeError as error:
        return skipped_object(error.reason, line, watched=True)
    if event.type == ERROR:
        raise failures.of_status(stream, "watch", event.error or ApiStatus())
    if event.type == BOOKMARK:
        return Bookmark(event.resource_version, event.initial_events_end)
    return Changed(event, clock.now())


def skipped_object(reason: str, raw: bytes | Raw, *, watched: bool = False) -> Skipped:
    """Names the object if it can; never more than the first bytes of it, since a pod's environment holds secrets."""
    data = bytes(raw)
    namespace, name, uid = decode_watched_identity(data) if watched else decode_identity(data)
    sample = _printable(f"{namespace}/{name}".encode()) if name else _printable(data)
    return Skipped(reason, sample, uid)


def _printable(data: bytes) -> str:
    text = data[:SAMPLE_BYTES].decode("utf-8", errors="replace")
    return "".join(character if character.isprintable() else "\ufffd" for character in text)


class StreamingListEnded(Exception):
    """A streaming list ended before it was complete."""


def as_list(messages: Iterator[Message], clock: Clock, timing: Timing) -> Iterator[Message]:
    """A streaming list in the words of a paged one: Listing, Listed ..., ListDone, then the watch that goes on.

    Raises ``StreamingListEnded`` if the server ends it early: it may not know how to do this.
    """
    started_at = clock.now()
    yield Listing(started_at)
    seen: set[str] = set()
    items: list[tuple[ObjectMeta, Facts]] = []
    unreadable = 0
    for message in messages:
        match message:
            case Changed(WatchEvent(meta=ObjectMeta() as meta, facts=facts)) if facts is not None:
                seen.add(meta.uid)
                items.append((meta, facts))
            case Skipped():
                unreadable += not message.uid
                seen.update((message.uid,) if message.uid else ())
                yield message
            case Bookmark(initial_events_end=True):
                if items:
                    yield Listed(tuple(items), clock.now())
                yield ListDone(message.resource_version, frozenset(seen), started_at, clock.now(), unreadable)
                yield from messages
                return
            case Status():
                yield message
        if len(items) >= timing.listed_chunk:
            yield Listed(tuple(items), clock.now())
            items = []
    raise StreamingListEnded
