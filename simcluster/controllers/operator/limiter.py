"""The operator's client: 30 requests at once, then 20 a second. It is why a large job's pods trickle in."""

from simcluster.clock import Clock

QPS = 20.0
BURST = 30.0


class RateLimiter:
    def __init__(self, clock: Clock, qps: float = QPS, burst: float = BURST) -> None:
        self._clock, self._qps, self._burst = clock, qps, burst
        self._tokens, self._at = burst, clock.now()

    def reserve(self) -> float:
        """Takes a token, on credit if there is none; the seconds until it is due."""
        now = self._clock.now()
        self._tokens = min(self._burst, self._tokens + (now - self._at) * self._qps) - 1.0
        self._at = now
        return max(0.0, -self._tokens / self._qps)
