"""Tell the web processes that rows were written."""

import logging
import threading
import time

import redis
from django.conf import settings
from redis.backoff import NoBackoff
from redis.retry import Retry

from jobs.notify.channel import CHANNEL, CONNECT_SECONDS

log = logging.getLogger(__name__)

PAUSE_SECONDS = 2.0  # after a failure: readers poll meanwhile, and the append path must not wait each time


class Publisher:
    """One connection pool per process; safe to use from several threads."""

    def __init__(self, url: str) -> None:
        self._client = redis.Redis.from_url(
            url,
            socket_connect_timeout=CONNECT_SECONDS,
            socket_timeout=CONNECT_SECONDS,
            health_check_interval=30,
            retry=Retry(NoBackoff(), 1),  # once: a connection that lay idle may have been closed
        )
        self._lock = threading.Lock()
        self._paused_until = 0.0
        self._down = False

    def publish(self, seq: int) -> None:
        """Send the number; a broker that does not answer is logged once, and again when it is back."""
        if time.monotonic() < self._paused_until:
            return
        try:
            self._client.publish(CHANNEL, str(seq))
        except (redis.RedisError, OSError) as error:
            self._failed(error)
        else:
            self._worked()

    def _failed(self, error: Exception) -> None:
        with self._lock:
            self._paused_until = time.monotonic() + PAUSE_SECONDS
            first, self._down = not self._down, True
        if first:
            log.warning("The message broker (REDIS_URL) does not answer, pages will be a second late: %s", error)

    def _worked(self) -> None:
        if not self._down:
            return
        with self._lock:
            was, self._down = self._down, False
        if was:
            log.info("The message broker answers again")


_publishers: dict[str, Publisher] = {}


def publish(seq: int) -> None:
    """Tell that the append ``seq`` is committed. Never raises: the data is safe, and readers also poll."""
    try:
        publisher = _publishers.get(settings.REDIS_URL)
        if publisher is None:
            publisher = _publishers.setdefault(settings.REDIS_URL, Publisher(settings.REDIS_URL))
        publisher.publish(seq)
    except Exception:
        log.exception("A sequence number could not be published")
