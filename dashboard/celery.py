"""The Celery application: `celery -A dashboard worker`, `celery -A dashboard beat`."""

import os
from typing import Any

import redis
from celery import Celery
from celery.beat import ScheduleEntry, Scheduler
from celery.signals import beat_init, setup_logging
from django.conf import settings

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.settings")

app = Celery("restartscope")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(["jobs"])


class BoundedScheduler(Scheduler):
    """Celery's own scheduler in memory, which stops asking while nobody takes what it asked for.

    Messages expire, but an expired one lies in the queue until a worker comes: one every other second would be 43,000
    in a day without workers.
    """

    def apply_async(self, entry: ScheduleEntry, *given: Any, **more: Any) -> Any:
        return None if self._is_full() else super().apply_async(entry, *given, **more)

    def _is_full(self) -> bool:
        try:
            with redis.Redis.from_url(settings.REDIS_URL, socket_connect_timeout=2, socket_timeout=2) as broker:
                return int(broker.llen(settings.CELERY_TASK_DEFAULT_QUEUE)) >= settings.MOST_WAITING
        except redis.RedisError:
            return False  # sending it will tell


@setup_logging.connect
def keep_our_logging(**_: Any) -> None:
    """With a receiver on this signal Celery leaves logging as Django's settings made it."""


@beat_init.connect
def ensure_watchers_at_once(**_: Any) -> None:
    """Beat's first tick comes only after a whole period; whoever has just started everything looks at an empty page."""
    app.send_task("jobs.tasks.ensure_watchers", expires=settings.START_TASK_EXPIRES_SECONDS)
