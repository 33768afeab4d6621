"""The list/watch state machine of one stream: ``follow`` never ends by itself and never raises.

    Empty -> list -> Listed(version) -> Watching(version) -> Watching(later version) ...

A watch that is closed, cut or silent goes on from its version. A version that the cluster no longer knows (410) opens a
gap and empties the state. Every other failure keeps the version, is told as a Status and retried: soon with a growing
pause, or slowly where a person has to mend something. There is one policy for all of it, in ``_pause_after``.
"""

from collections.abc import Iterator

from jobs.ingest.exchanges import Endpoint, StreamingListEnded, as_list, list_pages, newest_version, watch_once
from jobs.ingest.failures import SLOW, STATES, Failure, Kind
from jobs.ingest.messages import Bookmark, Changed, Expired, ListDone, Message, Skipped, Status, cursor_after
from jobs.ingest.streams import StreamSpec
from jobs.ingest.timing import Backoff, Random, Timing
from jobs.ingest.transport import Clock, Stop, Transport


def follow(
    stream: StreamSpec,
    transport: Transport,
    *,
    clock: Clock,
    rng: Random,
    stop: Stop,
    resume_rv: int | None = None,
    timing: Timing | None = None,
    streaming_lists: bool = False,
) -> Iterator[Message]:
    """What happens on ``stream``, from ``resume_rv`` (None: from a list of what there is), until ``stop`` is set."""
    endpoint = Endpoint(stream, transport, clock, stop, timing or Timing())
    last_status: tuple[str, str] | None = None
    for message in _Follower(endpoint, rng, resume_rv, streaming_lists=streaming_lists).run():
        if isinstance(message, Status):  # said once, however often it is found again
            if (message.state, message.sentence) == last_status:
                continue
            last_status = (message.state, message.sentence)
        yield message


class _Follower:
    def __init__(self, endpoint: Endpoint, rng: Random, version: int | None, *, streaming_lists: bool) -> None:
        self._endpoint = endpoint
        self._stream = endpoint.stream
        self._clock = endpoint.clock
        self._stop = endpoint.stop
        self._timing = endpoint.timing
        self._rng = rng
        self._streaming_lists = streaming_lists
        self._backoff = Backoff(endpoint.timing, rng)
        self._version = version
        self._version_at = endpoint.clock.monotonic()  # when the cluster last told a version
        self._progress = True  # whether a watch has brought a line since the last list
        self._fruitless = 0  # watches in a row that were silent to their end
        self._errors_since: float | None = None  # when the server's errors began, None since it last answered
        self._healthy_for = 0.0  # seconds of watching since the backoff was reset
        self._was_away = False  # whether the cluster could not be reached, and nothing was read since

    def run(self) -> Iterator[Message]:
        while not self._stop.is_set():
            self._forget_aged_version()
            try:
                if self._was_away:
                    yield from self._compare_versions()
                if self._version is None and not self._streaming_lists:
                    yield from self._tracked(list_pages(self._endpoint))
                if not self._stop.is_set():
                    yield from self._watch()
            except Failure as failure:
                if not self._stop.is_set():
                    yield from self._recover(failure)

    def _tracked(self, messages: Iterator[Message]) -> Iterator[Message]:
        """Passes messages on; the version is moved only once the consumer has taken the message."""
        for message in messages:
            yield message
            version = cursor_after(message)
            if version is not None:
                # A watch tells versions in order; should one not be, the later one has been told already.
                self._version = version if self._version is None else max(version, self._version)
                self._version_at = self._clock.monotonic()
            if isinstance(message, ListDone):
                self._progress = False

    def _compare_versions(self) -> Iterator[Message]:
        """A cluster that was away may come back restored or set up anew. Its versions are lower then, and a watch from
        ours would be silent until they have caught up."""
        if self._version is not None and newest_version(self._endpoint) < self._version:
            yield Expired(self._version, "the cluster's versions went back")
            self._version = None
        self._was_away = False

    def _watch(self) -> Iterator[Message]:
        opened = last_line = self._clock.monotonic()
        heard = False
        try:
            for message in self._tracked(self._watch_messages()):
                yield message
                if isinstance(message, Changed | Bookmark | Skipped):
                    heard = self._progress = True
                    self._fruitless, self._errors_since = 0, None
                    last_line = self._clock.monotonic()
        except Failure as failure:
            silent = failure.kind is Kind.STALLED  # how long the connection was dead is not known
            self._was_healthy((last_line if silent else self._clock.monotonic()) - opened)
            raise
        except StreamingListEnded:
            self._streaming_lists = False  # the server may not know how to do this: page instead
            return
        lasted = self._clock.monotonic() - opened
        self._was_healthy(lasted)
        if not heard and lasted < self._timing.shortest_watch and not self._stop.is_set():
            raise Failure(Kind.CUT, f"The cluster ends the watch of {self._stream.key} at once; it is opened again.")
        self._fruitless, self._errors_since = 0, None

    def _watch_messages(self) -> Iterator[Message]:
        timing = self._timing
        server_timeout = int(self._rng.uniform(timing.server_timeout_min, timing.server_timeout_max))
        messages = watch_once(self._endpoint, self._version, server_timeout)
        return as_list(messages, self._clock, timing) if self._version is None else messages

    def _was_healthy(self, seconds: float) -> None:
        """Several short watches add up: what lies between may cut idle connections every minute."""
        self._healthy_for += seconds
        if self._healthy_for >= self._timing.healthy:
            self._healthy_for = 0.0
            self._backoff.reset()

    def _forget_aged_version(self) -> None:
        """Events get no bookmarks, so an idle stream's version ages until the cluster has forgotten it. Listing them
        again before that is no gap: nothing is counted by Events alone."""
        age = self._clock.monotonic() - self._version_at
        if not self._stream.bookmarks and age > self._timing.event_cursor_age:
            self._version = None

    def _recover(self, failure: Failure) -> Iterator[Message]:
        if failure.kind is Kind.REFUSED and self._version is None and self._streaming_lists:
            self._streaming_lists = False  # an older cluster does not know streaming lists: page instead
            return
        self._was_away = self._was_away or failure.kind is Kind.UNREACHABLE
        at = self._clock.now()
        yield Status(STATES[failure.kind], failure.sentence, at)
        pause = self._pause_after(failure)
        reason = self._reason_to_give_up_version(failure)
        if reason is not None and self._version is not None:
            yield Expired(self._version, reason)
            self._version = None
        if pause > 0:
            self._clock.pause(pause, self._stop)

    def _reason_to_give_up_version(self, failure: Failure) -> str | None:
        """410 says it; a version that only silence or errors come from (a restored cluster's future) is given up too.

        A cut says nothing about the version: connections of idle streams are cut by what lies between.
        """
        if failure.kind is Kind.EXPIRED:
            return "410"
        if self._version is None:
            return None
        if failure.kind is Kind.STALLED:
            self._fruitless += 1
            if self._fruitless >= self._timing.fruitless_resumes:
                self._fruitless = 0
                return "nothing comes from this version"
        if failure.kind is Kind.SERVER_ERROR and self._errors_last_too_long():
            return "only errors come from this version"
        return None

    def _errors_last_too_long(self) -> bool:
        """An API server that restarts answers errors for a while; only what lasts may be the version's fault."""
        now = self._clock.monotonic()
        if self._errors_since is None:
            self._errors_since = now
        if now - self._errors_since < self._timing.errors_before_list:
            return False
        self._errors_since = None
        return True

    def _pause_after(self, failure: Failure) -> float:
        """The one failure policy: seconds to wait before the next request."""
        timing = self._timing
        if failure.kind in SLOW:
            return timing.slow_retry * self._rng.uniform(0.9, 1.1)
        if failure.retry_after is not None and failure.kind in (Kind.THROTTLED, Kind.SERVER_ERROR):
            asked = min(failure.retry_after, timing.retry_after_max)
            return asked + self._rng.uniform(0, timing.backoff_min)
        if failure.kind is Kind.EXPIRED and self._progress:
            self._progress = False  # the first time at once; again and again without progress is a failure
            return 0.0
        return self._backoff.next()
