"""Every number of the list/watch loop, and the backoff that they describe."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Timing:
    """Times in seconds, sizes in bytes, counts without a unit; each with the reason for its default."""

    page_limit: int = 500  # objects a list page: the API server's own clients ask for as many
    listed_chunk: int = 200  # listed objects a message: one message fills at most one transaction
    request_timeout: float = 30.0  # until the head of a watch's answer: an API server sends it at once
    list_timeout: float = 60.0  # between two reads of a list: a large page is built before its first byte
    server_timeout_min: float = 240.0  # timeoutSeconds of a watch, random between the two, so that ...
    server_timeout_max: float = 300.0  # ... streams do not all reconnect together; below common proxies' limits
    read_timeout: float = 150.0  # silence on a stream with bookmarks: they come within 60 to 120 s
    deadline_slack: float = 30.0  # past the server's own timeout the connection is given up, whatever it drips
    event_cursor_age: float = 240.0  # older than that a cursor of Events is not resumed: compaction is at 300 s
    backoff_min: float = 0.8  # first pause after a failure
    backoff_max: float = 30.0  # longest pause: a cluster that is back is seen within it
    healthy: float = 120.0  # a watch that has lived that long resets the backoff
    shortest_watch: float = 1.0  # a watch that ends sooner without a line counts as failed, or it would spin
    slow_retry: float = 60.0  # 401, 403 and not installed: a person has to do something first
    retry_after_max: float = 300.0  # a longer Retry-After is not believed
    fruitless_resumes: int = 3  # silences at one version before it is given up for a list
    errors_before_list: float = 600.0  # server errors at one version that long: an API server's restart is over by then
    max_line: int = 16 << 20  # etcd holds objects up to 1.5 MB; a line far beyond is no object
    max_page: int = 256 << 20  # 500 objects of half a megabyte
    max_status: int = 64 << 10  # body of an answer that is not 200


class Random(Protocol):
    """What is used of ``random.Random``."""

    def uniform(self, a: float, b: float) -> float: ...


class Backoff:
    """Pauses that double from ``backoff_min`` to ``backoff_max``, each drawn from the upper half of its range."""

    def __init__(self, timing: Timing, rng: Random) -> None:
        self._timing = timing
        self._rng = rng
        self._failures = 0

    def next(self) -> float:
        """Seconds to pause after one more failure."""
        ceiling = min(self._timing.backoff_max, self._timing.backoff_min * 2 ** (self._failures + 1))
        self._failures = min(self._failures + 1, 16)
        return self._rng.uniform(ceiling / 2, ceiling)

    def reset(self) -> None:
        """Begin with the shortest pause again."""
        self._failures = 0
