"""The Celery application: `celery -A dashboard worker`, `celery -A dashboard beat`."""

import os
from typing import Any

from celery import Celery
from celery.signals import setup_logging

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.settings")

app = Celery("restartscope")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(["jobs"])


@setup_logging.connect
def keep_our_logging(**_: Any) -> None:
    """With a receiver on this signal Celery leaves logging as Django's settings made it."""
