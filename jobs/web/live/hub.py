"""The hub: one subscription and one reader per process, however many pages are open.

A nudge is a sequence number. The hub waits a moment for more of them, reads the rows once, and puts ready messages into
bounded queues. It also looks by itself every few seconds, so a lost nudge costs seconds and never a change.
"""

import asyncio
import contextlib
import logging
import time
import weakref
from collections.abc import Collection
from dataclasses import dataclass, field

from jobs.notify import UnreachableError, listen
from jobs.store.pages.jobs import JobFilter
from jobs.web.live.messages import Message, change, reload, status
from jobs.web.live.reading import Json, Listed, News, in_thread, read_news
from jobs.web.timeline import cluster_is_live

log = logging.getLogger(__name__)

COALESCE = 0.12  # seconds: a burst of appends becomes one read
LOOK = 2.0  # seconds between looks of its own while nudges come
LOOK_ALONE = 1.0  # seconds between looks while the broker is down
FIRST_ANSWER = 1.0  # seconds that the first page waits for the broker's answer
QUEUE = 64  # messages that a slow page may lag behind before it has to load anew
ABANDONED = 60.0  # seconds without a sign of the page's reader


@dataclass(eq=False)
class Subscriber:
    """An open page: a job's (``job_id``), or a list with its filter and the ids of the rows that it shows."""

    job_id: int | None = None
    cluster: str | None = None
    chosen: JobFilter = field(default_factory=JobFilter)
    ids: frozenset[int] = frozenset()
    queue: asyncio.Queue[Message] = field(default_factory=lambda: asyncio.Queue(QUEUE))
    overrun: bool = False
    read_at: float = field(default_factory=time.monotonic)

    def put(self, message: Message) -> None:
        try:
            self.queue.put_nowait(message)
        except asyncio.QueueFull:
            self.overrun = True

    def message(self, news: News) -> Message | None:
        """What this page is told of the news, None if nothing."""
        if self.job_id is not None:
            if self.job_id not in news.deltas:
                return None
            delta = news.deltas[self.job_id]
            return reload(news.seq) if delta is None else change(news.seq, delta)
        if news.too_many:
            return reload(news.seq)
        jobs = list_items(news.jobs, self.chosen, self.ids)
        return change(news.seq, {"jobs": jobs}) if jobs else None


def list_items(jobs: list[Listed], chosen: JobFilter, ids: Collection[int]) -> list[Json]:
    """The changed jobs that a list shows, or would show if it were loaded now."""
    now = time.time()
    return [item.data for item in jobs if item.job.id in ids or chosen.matches(item.job, now)]


class Hub:
    """Lives while pages are open. All methods belong to one event loop."""

    def __init__(self) -> None:
        self.subscribers: set[Subscriber] = set()
        self.seq = 0
        self.push = False  # nudges come; False: the hub looks by itself
        self.observed: dict[str, float | None] = {}
        self._told_push = False
        self._ready = asyncio.Event()
        self._tried = asyncio.Event()  # the broker has answered, or has not
        self._nudge = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def subscribe(self, subscriber: Subscriber) -> None:
        """From now on the subscriber misses nothing that is committed."""
        self.subscribers.add(subscriber)
        if self._task is None or self._task.done():
            self._ready.clear()
            self._task = asyncio.create_task(self._run(), name="live-hub")
        await self._ready.wait()

    def unsubscribe(self, subscriber: Subscriber) -> None:
        self.subscribers.discard(subscriber)

    def stale_since(self, cluster: str | None = None) -> float | None:
        """Since when nobody watches a cluster that somebody should watch: the one that a page shows, or any."""
        now = time.time()
        late = [
            until
            for name, until in self.observed.items()
            if (cluster is None or name == cluster) and until is not None and not cluster_is_live(until, now)
        ]
        return min(late) if late else None

    def status_for(self, subscriber: Subscriber) -> Message:
        """How live the subscriber's stream is, now."""
        return status(time.time(), self.push, self.stale_since(subscriber.cluster))

    async def _run(self) -> None:
        listener = asyncio.create_task(self._listen(), name="live-listen")
        try:
            await self._first_look()
            while self.subscribers:
                await self._wait()
                await self._look()
                self._drop_abandoned()
        finally:
            listener.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await listener
            self._ready.clear()

    async def _first_look(self) -> None:
        """Where the news begins. A database that cannot be read is tried again: the pages say what they know."""
        with contextlib.suppress(TimeoutError):  # so that the first word to a page is not a false "delayed"
            await asyncio.wait_for(self._tried.wait(), FIRST_ANSWER)
        while self.subscribers:
            try:
                news = await in_thread(read_news, self.seq, ())
            except Exception:
                log.exception("The event streams cannot read the database")
                await asyncio.sleep(LOOK)
                continue
            self.seq, self.observed, self._told_push = news.seq, news.observed, self.push
            self._ready.set()
            return

    async def _wait(self) -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._nudge.wait(), LOOK if self.push else LOOK_ALONE)
            await asyncio.sleep(COALESCE)
        self._nudge.clear()

    async def _look(self) -> None:
        watched = {s.job_id for s in self.subscribers if s.job_id is not None}
        try:
            news = await in_thread(read_news, self.seq, watched)
        except Exception:
            log.exception("The event streams cannot read the database")
            return
        self._tell_status(news)
        if news.seq < self.seq:  # another database stands behind the same address now
            self._tell_all(reload(news.seq))
        elif news.seq > self.seq:
            for subscriber in self.subscribers:
                message = subscriber.message(news)
                if message is not None:
                    subscriber.put(message)
        self.seq = news.seq

    def _tell_status(self, news: News) -> None:
        """Tell at once what would otherwise wait for the heartbeat: the broker, or a watcher, went or came."""
        before = {subscriber: self.stale_since(subscriber.cluster) for subscriber in self.subscribers}
        self.observed = news.observed
        for subscriber, was in before.items():
            if (was is None) != (self.stale_since(subscriber.cluster) is None) or self.push != self._told_push:
                subscriber.put(self.status_for(subscriber))
        self._told_push = self.push

    def _tell_all(self, message: Message) -> None:
        for subscriber in self.subscribers:
            subscriber.put(message)

    def _drop_abandoned(self) -> None:
        """A generator's end is not certain to be told, so a page that is not read from any more is let go here."""
        oldest = time.monotonic() - ABANDONED
        self.subscribers = {s for s in self.subscribers if s.read_at > oldest}

    async def _listen(self) -> None:
        while True:
            try:
                async for _seq in listen():
                    self.push = True
                    self._tried.set()
                    self._nudge.set()
            except UnreachableError as error:
                if self.push:
                    log.warning("No nudges any more, looking every second: %s", error)
            self.push = False
            self._tried.set()
            await asyncio.sleep(LOOK)


_hubs: "weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Hub]" = weakref.WeakKeyDictionary()


def hub() -> Hub:
    """The hub of the running event loop; a server process has one loop."""
    return _hubs.setdefault(asyncio.get_running_loop(), Hub())
