"""Simulated time: one clock that tests drive by hand and one that follows an event loop.

All times are seconds since the epoch as floats. Timers due at the same moment run in the order they were set, and
while a timer runs `now()` is that timer's own time, so delays do not grow with the load of the machine.
"""

import asyncio
import heapq
import itertools
import math
import time as _time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Protocol

DEFAULT_START = 1_795_956_215.0  # 2026-11-29T12:43:35Z, the day of the recordings


class Timer:
    """A call that is due at `when`; `cancel()` makes it a no-op, also after it has run."""

    __slots__ = ("args", "cancelled", "fn", "when")

    def __init__(self, when: float, fn: Callable[..., object], args: tuple[Any, ...]) -> None:
        self.when = when
        self.fn = fn
        self.args = args
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True
        self.args = ()


class Clock(Protocol):
    def now(self) -> float:
        """Simulated time in seconds since the epoch."""
        ...

    def call_later(self, delay: float, fn: Callable[..., object], *args: Any) -> Timer:
        """Calls `fn(*args)` once, `delay` simulated seconds from now (a negative delay counts as 0)."""
        ...


class _TimerQueue:
    """Timers in time order, ties in insertion order."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Timer]] = []
        self._sequence = itertools.count()

    def add(self, timer: Timer) -> None:
        heapq.heappush(self._heap, (timer.when, next(self._sequence), timer))

    def next_due(self) -> float | None:
        """When the first timer that is still wanted is due."""
        while self._heap and self._heap[0][2].cancelled:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def pop_due(self, until: float) -> Timer | None:
        due = self.next_due()
        if due is None or due > until:
            return None
        return heapq.heappop(self._heap)[2]


class ManualClock:
    """A clock that stands still until `advance` or `run_until` moves it."""

    def __init__(self, start: float = DEFAULT_START) -> None:
        self._now = start
        self._timers = _TimerQueue()

    def now(self) -> float:
        return self._now

    def call_later(self, delay: float, fn: Callable[..., object], *args: Any) -> Timer:
        timer = Timer(self._now + max(0.0, delay), fn, args)
        self._timers.add(timer)
        return timer

    def advance(self, seconds: float) -> None:
        self.run_until(self._now + seconds)

    def run_until(self, when: float) -> None:
        """Runs every timer due up to `when`, those set meanwhile included, and leaves the clock at `when`."""
        while (timer := self._timers.pop_due(when)) is not None:
            self._now = max(self._now, timer.when)
            timer.fn(*timer.args)
        self._now = max(self._now, when)

    def next_due(self) -> float | None:
        """When the next timer is due; None when nothing is planned."""
        return self._timers.next_due()


class LoopClock:
    """Real time times `speed`, with timers on an asyncio loop.

    `speed` may be changed while it runs and `jump` skips ahead, running what is due on the way in order.
    """

    _SLICE = 0.02  # seconds of work in one go, so that a storm of timers does not starve the network

    def __init__(self, loop: asyncio.AbstractEventLoop, speed: float = 1.0, start: float | None = None) -> None:
        _check_speed(speed)
        self._loop = loop
        self._speed = speed
        self._base_sim = _time.time() if start is None else start
        self._base_real = loop.time()
        self._timers = _TimerQueue()
        self._wake: asyncio.Handle | None = None
        self._running_at: float | None = None

    def now(self) -> float:
        return self._present() if self._running_at is None else self._running_at

    def call_later(self, delay: float, fn: Callable[..., object], *args: Any) -> Timer:
        timer = Timer(self.now() + max(0.0, delay), fn, args)
        earlier = self._timers.next_due()
        self._timers.add(timer)
        if self._running_at is None and (earlier is None or timer.when < earlier):
            self._plan_wake()
        return timer

    @property
    def speed(self) -> float:
        return self._speed

    def set_speed(self, speed: float) -> None:
        """Goes on from the present moment at another speed. Raises ValueError unless 0 < speed <= 10,000."""
        _check_speed(speed)
        self._base_sim, self._base_real = self._present(), self._loop.time()
        self._speed = speed
        self._plan_wake()

    def jump(self, seconds: float) -> None:
        """Skips `seconds` (>= 0) of simulated time; what falls due on the way runs soon, in order."""
        if not (math.isfinite(seconds) and seconds >= 0):
            raise ValueError(f"cannot jump {seconds} seconds: give a number of seconds, 0 or more")
        self._base_sim += seconds
        self._plan_wake()

    def close(self) -> None:
        """Runs no further timer."""
        if self._wake is not None:
            self._wake.cancel()
        self._wake = None
        self._timers = _TimerQueue()

    def _present(self) -> float:
        return self._base_sim + (self._loop.time() - self._base_real) * self._speed

    def _plan_wake(self) -> None:
        if self._wake is not None:
            self._wake.cancel()
            self._wake = None
        due = self._timers.next_due()
        if due is not None:
            self._wake = self._loop.call_later(max(0.0, (due - self._present()) / self._speed), self._run_due)

    def _run_due(self) -> None:
        self._wake = None
        stop = self._loop.time() + self._SLICE
        try:
            while (timer := self._timers.pop_due(self._present())) is not None:
                self._running_at = timer.when
                timer.fn(*timer.args)
                self._running_at = None
                if self._loop.time() > stop:
                    break
        finally:
            self._running_at = None
            self._plan_wake()


def _check_speed(speed: float) -> None:
    if not (math.isfinite(speed) and 0 < speed <= 10_000):
        raise ValueError(f"cannot run at speed {speed}: give a number above 0, up to 10000")


def rfc3339(seconds: float) -> str:
    """Kubernetes `Time`: whole seconds, cut off, e.g. 2026-11-29T12:43:35Z."""
    return datetime.fromtimestamp(math.floor(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def rfc3339_micro(seconds: float) -> str:
    """Kubernetes `MicroTime`: always six digits, e.g. 2026-11-29T12:43:35.082110Z."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def parse_rfc3339(text: str) -> float:
    """Seconds since the epoch of a Kubernetes `Time` or `MicroTime`. Raises ValueError if it is none."""
    return datetime.fromisoformat(text).timestamp()
