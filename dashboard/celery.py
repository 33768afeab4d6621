"""The Celery application: `celery -A dashboard worker`, `celery -A dashboard beat`."""

import os
from typing import Any

from celery import Celery
from celery.signals import beat_init, setup_logging
from django.conf import settings

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.settings")

app = Celery("restartscope")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(["jobs"])


@setup_logging.connect
def keep_our_logging(**_: Any) -> None:
    """With a receiver on this signal Celery leaves logging as Django's settings made it."""


@beat_init.connect
def ensure_watchers_at_once(**_: Any) -> None:
    """Beat's first tick comes only after a whole period; whoever has just started everything looks at an empty page."""
    app.send_task("jobs.tasks.ensure_watchers", expires=settings.START_TASK_EXPIRES_SECONDS)
