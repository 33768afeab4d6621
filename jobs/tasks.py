"""Celery tasks: bounded watch sessions, the safety net that starts them, and what carries experiments on."""

import logging
import threading
import time
from typing import Any

import redis
from celery import shared_task
from celery.signals import worker_shutdown, worker_shutting_down
from django.conf import settings
from django.db import Error
from kombu.exceptions import OperationalError

from jobs import models
from jobs.experiments.runs import carry_all_on
from jobs.ingest.client import ConnectionSettingError
from jobs.sessions import Busy, UnknownCluster, configured, run_session

log = logging.getLogger(__name__)

SESSION_SECONDS = 30 * 60.0  # well below the hour after which the broker delivers an unacknowledged task again
RETRY_SECONDS = 5.0  # after a database error: time for the database to come back

_stopping = threading.Event()
_unwatched: list[str] = []  # clusters whose sessions ended with this worker


@worker_shutting_down.connect
def _stop_sessions(**_: Any) -> None:
    """A worker that is asked to end must not wait half an hour for its sessions."""
    _stopping.set()


@worker_shutdown.connect
def _call_successors(**_: Any) -> None:
    """Whichever worker is left goes on at once.

    Only now that this worker's own connection is closed: until then its last poll of the queue would take the message
    and lose it.
    """
    while _unwatched:
        _call_successor(_unwatched.pop())


def _marker(cluster: str) -> str:
    return f"restartscope:starting:{cluster}"


def _broker() -> "redis.Redis":
    return redis.Redis.from_url(settings.REDIS_URL, socket_connect_timeout=2, socket_timeout=2)


def start_session(cluster: str, *, take_over: bool = False) -> bool:
    """Enqueue a session, unless one is waiting already: while no worker runs, starts must not pile up.

    With ``take_over`` in any case: a successor is called once in half an hour. Raises ``redis.RedisError`` and
    kombu's ``OperationalError``.
    """
    expires = settings.START_TASK_EXPIRES_SECONDS
    with _broker() as broker:
        # A start that expired lies in the queue until a worker comes, long after its marker has gone.
        if not take_over and broker.llen(settings.WATCH_QUEUE) >= len(settings.RESTARTSCOPE_CLUSTERS):
            return False
        if not broker.set(_marker(cluster), "1", nx=not take_over, ex=expires):
            return False
    watch_session.apply_async((cluster,), {"take_over": take_over}, expires=expires)
    return True


@shared_task(name="jobs.tasks.watch_session")
def watch_session(cluster: str, take_over: bool = False) -> str:
    """Watch one cluster for about half an hour. Answers how it ended."""
    _clear_marker(cluster)
    if _stopping.is_set():
        _unwatched.append(cluster)
        return "worker stops"
    try:
        run_session(
            configured(cluster),
            _stopping,
            seconds=SESSION_SECONDS,
            take_over=take_over,
            on_end_near=lambda: _call_successor(cluster),
        )
    except (Busy, UnknownCluster, ConnectionSettingError) as error:
        log.warning("%s", error)
        return str(error)
    except Error as error:
        log.error("%s: the database refused an append: %s; the session ends and is started again", cluster, error)
        _stopping.wait(RETRY_SECONDS)
        return "database error"
    if _stopping.is_set():
        _unwatched.append(cluster)
    return "ended"


def _call_successor(cluster: str) -> bool:
    """Whether a session that takes over was enqueued."""
    try:
        return start_session(cluster, take_over=True)
    except (redis.RedisError, OperationalError) as error:
        log.warning("%s: no successor could be called: %s", cluster, error)
        return False


def _clear_marker(cluster: str) -> None:
    try:
        with _broker() as broker:
            broker.delete(_marker(cluster))
    except redis.RedisError:
        log.debug("The start marker stays until it expires")


@shared_task(name="jobs.tasks.ensure_watchers")
def ensure_watchers() -> list[str]:
    """Start a session for each configured cluster that nobody watches. Answers their names."""
    now = time.time()
    watched = set(models.Lease.objects.filter(expires_at__gt=now).values_list("cluster__name", flat=True))
    missing = [source.name for source in settings.RESTARTSCOPE_CLUSTERS if source.name not in watched]
    return [name for name in missing if start_session(name)]


@shared_task(name="jobs.tasks.carry_experiments_on")
def carry_experiments_on() -> int:
    """Look, act and judge for each experiment that is under way. Answers how many those were."""
    try:
        return carry_all_on()
    except Error as error:
        log.error("the database refused to carry experiments on: %s; tried again in a moment", error)
        return 0
