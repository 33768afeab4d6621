"""All streams of one cluster: a reader thread each, one bounded queue, batches for a single consumer."""

import logging
import random
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping

from jobs.ingest.listwatch import follow
from jobs.ingest.messages import Listed, Message, State, Status, cursor_after
from jobs.ingest.streams import StreamKey, StreamSpec
from jobs.ingest.timing import Random, Timing
from jobs.ingest.transport import Clock, Stop, SystemClock, Transport

log = logging.getLogger(__name__)

CAPACITY = 4000  # events that may wait: a second of the busiest cluster, some 10 MB
STOP_TIMEOUT = 2.0  # seconds that ``stop`` waits for the readers
BROKEN_PAUSE = 30.0  # seconds before a stream that failed by a fault of ours is started again

Keyed = tuple[StreamKey, Message]


class Session:
    """Follows ``streams`` until ``stop``; the consumer takes ``batches`` and stores them.

    ``resume``: the stored resourceVersion of each stream; a stream that is not in it begins with a list. A message that
    was not yet taken when the session stops is lost, which is right: the stored cursor is before it.
    """

    def __init__(
        self,
        connection: Transport,
        streams: Iterable[StreamSpec],
        resume: Mapping[StreamKey, int] | None = None,
        *,
        timing: Timing | None = None,
        clock: Clock | None = None,
        rng: Random | None = None,
        capacity: int = CAPACITY,
        streaming_lists: bool = False,
    ) -> None:
        self._connection = connection
        self._resume = dict(resume or {})
        self._timing = timing or Timing()
        self._clock = clock or SystemClock()
        self._rng = rng or random.Random()  # noqa: S311 - spreads reconnects, no secret
        self._streaming_lists = streaming_lists
        self._queue = _Queue(capacity)
        self._readers = [_Reader(self, stream) for stream in streams]

    def start(self) -> None:
        """Start the reader threads."""
        for reader in self._readers:
            reader.start()

    def batches(self, max_events: int = 200, max_wait: float = 0.05, idle: float = 1.0) -> Iterator[list[Keyed]]:
        """What the streams say, in each stream's order, in lists of about ``max_events`` or ``max_wait`` seconds.

        Empty lists come every ``idle`` seconds of silence, so that the consumer can look at its lease and its clock.
        Ends at ``stop``.
        """
        while not self._queue.closed:
            yield self._queue.take(max_events, max_wait, idle)

    def stop(self) -> None:
        """End the readers and the batches; returns within two seconds. Safe from any thread, and twice.

        A reader that is just connecting to an address that does not answer ends with its connect timeout, without
        delivering anything.
        """
        self._queue.close()
        for reader in self._readers:
            reader.stop.set()
        deadline = time.monotonic() + STOP_TIMEOUT
        for reader in self._readers:
            if reader.is_alive() and reader is not threading.current_thread():
                reader.join(max(0.0, deadline - time.monotonic()))

    def alive(self) -> int:
        """How many reader threads run."""
        return sum(reader.is_alive() for reader in self._readers)

    def read(self, stream: StreamSpec, stop: Stop) -> None:
        """A reader thread's work."""
        version = self._resume.get(stream.key)
        while not stop.is_set():
            try:
                for message in self._follow(stream, stop, version):
                    if not self._queue.put((stream.key, message)):
                        return
                    version = cursor_after(message) or version
            except Exception:
                log.exception("the reader of %s failed; it starts again in %.0f s", stream.key, BROKEN_PAUSE)
                sentence = f"Reading {stream.key} failed by a fault of this program; see the log. It is tried again."
                self._queue.put((stream.key, Status(State.BROKEN, sentence, self._clock.now())))
                self._clock.pause(BROKEN_PAUSE, stop)

    def _follow(self, stream: StreamSpec, stop: Stop, version: int | None) -> Iterator[Message]:
        return follow(
            stream,
            self._connection,
            clock=self._clock,
            rng=self._rng,
            stop=stop,
            resume_rv=version,
            timing=self._timing,
            streaming_lists=self._streaming_lists,
        )


class _Reader(threading.Thread):
    def __init__(self, session: Session, stream: StreamSpec) -> None:
        super().__init__(name=f"watch {stream.key}", daemon=True)
        self.stop = Stop()
        self._session = session
        self._stream = stream

    def run(self) -> None:
        self._session.read(self._stream, self.stop)


def _weight(message: Message) -> int:
    return len(message.items) if isinstance(message, Listed) else 1


class _Queue:
    """Bounded by events rather than messages; the consumer takes many with one lock."""

    def __init__(self, capacity: int) -> None:
        self.closed = False
        self._capacity = capacity
        self._entries: deque[Keyed] = deque()
        self._events = 0
        self._wanted = 1  # how many events wake the consumer: waking it for each one would cost more than its work
        lock = threading.Lock()
        self._filled = threading.Condition(lock)
        self._drained = threading.Condition(lock)

    def put(self, entry: Keyed) -> bool:
        """Wait for room and append; False if the queue is closed."""
        with self._drained:
            while self._events >= self._capacity and not self.closed:
                self._drained.wait()
            if self.closed:
                return False
            self._entries.append(entry)
            self._events += _weight(entry[1])
            if self._events >= self._wanted:
                self._filled.notify()
            return True

    def take(self, max_events: int, max_wait: float, idle: float) -> list[Keyed]:
        """What is there, after waiting ``idle`` seconds for the first entry and ``max_wait`` more for others."""
        with self._filled:
            self._wait_for(1, idle)
            if not self._entries or self.closed:
                return []
            self._wait_for(min(max_events, self._capacity), max_wait)
            return self._pop(max_events)

    def _wait_for(self, events: int, seconds: float) -> None:
        self._wanted = events
        self._filled.wait_for(lambda: self._events >= events or self.closed, timeout=seconds)

    def close(self) -> None:
        with self._filled:
            self.closed = True
            self._filled.notify_all()
            self._drained.notify_all()

    def _pop(self, max_events: int) -> list[Keyed]:
        taken: list[Keyed] = []
        events = 0
        while self._entries and not self.closed:
            weight = _weight(self._entries[0][1])
            if taken and events + weight > max_events:
                break
            taken.append(self._entries.popleft())
            events += weight
        self._events -= events
        self._drained.notify_all()
        return taken
