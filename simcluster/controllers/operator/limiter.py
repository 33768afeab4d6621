"""The operator's client: 30 requests at once, then 20 a second. It is why a large job's pods trickle in."""

import random

from simcluster.clock import Clock
from simcluster.controllers.delays import BUSY_QUEUE, BUSY_REQUEST

QPS = 20.0
BURST = 30.0


class RateLimiter:
    def __init__(
        self, clock: Clock, rng: random.Random, busy: bool = False, qps: float = QPS, burst: float = BURST
    ) -> None:
        """`busy`: many other jobs use up the requests, so that each waits for its turn."""
        self._clock, self._rng, self._busy, self._qps, self._burst = clock, rng, busy, qps, burst
        self._tokens, self._at = burst, clock.now()

    def reserve(self) -> float:
        """Takes a token, on credit if there is none; the seconds until it is due."""
        now = self._clock.now()
        self._tokens = min(self._burst, self._tokens + (now - self._at) * self._qps) - 1.0
        self._at = now
        others = BUSY_REQUEST.draw(self._rng) if self._busy else 0.0
        return max(0.0, -self._tokens / self._qps) + others

    def queue(self) -> float:
        """Seconds until a job that is to be looked at has its turn."""
        return BUSY_QUEUE.draw(self._rng) if self._busy else 0.0
