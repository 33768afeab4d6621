"""Watches: one dispatcher that encodes a change once for all, and a bounded queue per watcher."""

import asyncio
import itertools
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

from starlette.types import Message, Receive, Scope, Send

from simcluster.forms import Form, plain
from simcluster.history import Change
from simcluster.resources import Resource
from simcluster.selectors import Selector
from simcluster.store import Store

Obj = dict[str, Any]
QUEUE_LIMIT = 10_000  # lines a watcher may lag behind before it is dropped
_CHUNK_BYTES = 256 * 1024
_EARLY = 0.001  # seconds; a timer may fire a little before its time
_BACKLOG_LINES = 200  # encoded in one go before the rest of the server has its turn


class Watcher:
    """One stream's filter and its lines that are not sent yet."""

    def __init__(
        self,
        resource: Resource,
        namespace: str | None,
        selector: Selector,
        after: int,
        *,
        form: Form | None = None,
        queue_limit: int = QUEUE_LIMIT,
    ) -> None:
        """Gets changes with a version above `after`, in this form."""
        self.resource = resource
        self.after = after
        self.form: Form = form or plain(resource)
        self.backlog: Iterator[bytes] = iter(())
        self.wake = asyncio.Event()
        self.dropped = asyncio.Event()
        self.ended: str | None = None  # None, "close", "abort", "overflow" or "gone"
        self._prefix = f"{namespace}/" if namespace else ""
        self._selector = selector
        self._is_selective = bool(self._prefix or selector)
        self._queue: deque[bytes] = deque()
        self._queue_limit = queue_limit
        self._has_backlog = False
        self._is_fresh = self.form.opens_differently

    def opens(self) -> bool:
        """Whether the next line is the first of a form whose first line differs; asked once for each line."""
        is_fresh, self._is_fresh = self._is_fresh, False
        return is_fresh

    def line(self, kind: str, obj: Obj) -> bytes:
        """A line for this watcher alone."""
        return self.form.line(kind, obj, self.opens())

    def start_with(self, lines: Iterable[bytes]) -> None:
        """Lines to send before everything else; encoded as they are needed."""
        self.backlog = iter(lines)
        self._has_backlog = True
        self.wake.set()

    def event_type(self, change: Change) -> str | None:
        """What this watcher is told of a change: an object that begins or ceases to match is ADDED or DELETED."""
        if change.version <= self.after:
            return None
        if not self._is_selective:
            return change.type
        if not change.key.startswith(self._prefix):
            return None
        if not self._selector:
            return change.type
        before = change.old is not None and self._selector.matches(change.old)
        now = change.type != "DELETED" and self._selector.matches(change.object)
        if not (before or now):
            return None
        return "MODIFIED" if before and now else "ADDED" if now else "DELETED"

    def matches(self, obj: Obj) -> bool:
        return self._selector.matches(obj)

    def push(self, line: bytes) -> None:
        if self.ended is not None:
            return
        if len(self._queue) >= self._queue_limit:
            self.end("overflow")
            return
        self._queue.append(line)
        self.wake.set()

    def end(self, why: str) -> None:
        """Ends the stream: "close" after what is queued, otherwise at once."""
        if self.ended is None:
            self.ended = why
            if why != "close":
                self._queue.clear()
                self.backlog, self._has_backlog = iter(()), False
                self.dropped.set()
            self.wake.set()

    @property
    def has_more(self) -> bool:
        """Whether something is left to send."""
        return self._has_backlog or bool(self._queue)

    def take(self) -> bytes:
        """What to send next; empty when there is nothing."""
        if self._has_backlog:
            lines = list(itertools.islice(self.backlog, _BACKLOG_LINES))
            if lines:
                return b"".join(lines)
            self._has_backlog = False
        lines, size = [], 0
        while self._queue and size < _CHUNK_BYTES:
            lines.append(self._queue.popleft())
            size += len(lines[-1])
        return b"".join(lines)


class WatchHub:
    """All open watches of the server."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._watchers: dict[Resource, dict[Watcher, None]] = {}
        self._stop = store.subscribe_changes(self._dispatch)
        self._flowing = asyncio.Event()
        self._flowing.set()

    def close(self) -> None:
        self._stop()
        self.end_all("close")
        self._flowing.set()

    def add(self, watcher: Watcher) -> None:
        self._watchers.setdefault(watcher.resource, {})[watcher] = None

    def remove(self, watcher: Watcher) -> None:
        self._watchers.get(watcher.resource, {}).pop(watcher, None)

    def end_all(self, why: str, resource: Resource | None = None) -> int:
        """Ends every watch, or those of a resource: "close" (a proper end) or "abort" (the connection is cut)."""
        found = [w for w in self if resource is None or w.resource is resource]
        for watcher in found:
            watcher.end(why)
        return len(found)

    def __iter__(self) -> Iterator[Watcher]:
        return iter([watcher for watchers in self._watchers.values() for watcher in watchers])

    @property
    def stalled(self) -> bool:
        return not self._flowing.is_set()

    def stall(self, on: bool) -> None:
        """While stalled no stream sends a byte, nor ends: what a half-open connection looks like."""
        if on:
            self._flowing.clear()
        else:
            self._flowing.set()

    async def flowing(self) -> None:
        await self._flowing.wait()

    def has_reached(self, version: int) -> bool:
        """A watch from a version in the future is left in silence: it gets no bookmark that is older."""
        return version <= self._store.resource_version

    def replay(self, watcher: Watcher, changes: Iterable[Change]) -> Iterator[bytes]:
        """The lines of past changes for one watcher."""
        for change in changes:
            kind = watcher.event_type(change)
            if kind is not None:
                yield watcher.line(kind, _shown(change, kind))

    def bookmark(self, watcher: Watcher, version: int | None = None, initial_events_end: bool = False) -> bytes:
        """A BOOKMARK line, of the present version if none is given."""
        resource = watcher.resource
        metadata: Obj = {"resourceVersion": str(version or self._store.resource_version)}
        if initial_events_end:
            metadata = {**metadata, "annotations": {"k8s.io/initial-events-end": "true"}}
            if resource.custom:
                metadata = dict(sorted(metadata.items()))
        head = {"kind": resource.kind, "apiVersion": resource.api_version}
        if resource.custom:
            head = {"apiVersion": resource.api_version, "kind": resource.kind}
        return watcher.line("BOOKMARK", {**head, "metadata": metadata, **resource.bookmark})

    def _dispatch(self, change: Change) -> None:
        lines: dict[tuple[str, Form, bool], bytes] = {}
        for watcher in self._watchers.get(change.resource, ()):
            kind = watcher.event_type(change)
            if kind is None:
                continue
            opens = watcher.opens()
            key = kind, watcher.form, opens
            if key not in lines:
                lines[key] = watcher.form.line(kind, _shown(change, kind), opens)
            watcher.push(lines[key])


def _shown(change: Change, kind: str) -> Obj:
    """An object that ceased to match is shown as it was, with the version of the change."""
    if kind != "DELETED" or change.type == "DELETED" or change.old is None:
        return change.object
    return {**change.old, "metadata": {**change.old["metadata"], "resourceVersion": str(change.version)}}


class WatchResponse:
    """The ASGI response that streams a watcher until its time is over, the client leaves or the hub ends it."""

    def __init__(
        self,
        hub: WatchHub,
        watcher: Watcher,
        headers: list[tuple[bytes, bytes]],
        timeout: float,
        bookmark_every: float | None,
    ) -> None:
        """`timeout` and `bookmark_every` in real seconds; no bookmarks if None."""
        self._hub = hub
        self._watcher = watcher
        self._headers = headers
        self._timeout = timeout
        self._bookmark_every = bookmark_every

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self._headers})
        stream = asyncio.create_task(self._stream(send))
        listener = asyncio.create_task(self._listen(receive))
        try:
            await self._until_dropped(stream)
        finally:
            self._hub.remove(self._watcher)
            for task in (stream, listener):
                task.cancel()
            await asyncio.gather(stream, listener, return_exceptions=True)
        # Without the last, empty chunk the server cuts the connection: that is what an abort is meant to look like.
        if self._watcher.ended in (None, "close"):
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _until_dropped(self, stream: "asyncio.Task[None]") -> None:
        """Waits for the stream's end; one that is stuck in sending to a slow client is given up on."""
        dropped = asyncio.create_task(self._watcher.dropped.wait())
        try:
            await asyncio.wait({stream, dropped}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            dropped.cancel()
        if stream.done():
            stream.result()

    async def _listen(self, receive: Receive) -> None:
        message: Message = {"type": ""}
        while message["type"] != "http.disconnect":
            message = await receive()
        self._watcher.end("gone")

    async def _stream(self, send: Send) -> None:
        loop = asyncio.get_running_loop()
        end = loop.time() + self._timeout
        bookmark = loop.time() + self._bookmark_every if self._bookmark_every else end
        timer = loop.call_at(min(end, bookmark), self._watcher.wake.set)
        try:
            while True:
                await self._hub.flowing()
                self._watcher.wake.clear()
                now = loop.time() + _EARLY
                if now >= end:
                    return
                if self._bookmark_every and now >= bookmark:
                    bookmark = now + self._bookmark_every
                    timer = loop.call_at(min(end, bookmark), self._watcher.wake.set)
                    if self._hub.has_reached(self._watcher.after):
                        self._watcher.push(self._hub.bookmark(self._watcher))
                if chunk := self._watcher.take():
                    await send({"type": "http.response.body", "body": chunk, "more_body": True})
                    if self._watcher.has_more:
                        await asyncio.sleep(0)  # a long backlog keeps nobody else waiting
                elif self._watcher.ended is not None:
                    return
                else:
                    await self._watcher.wake.wait()
        finally:
            timer.cancel()
