"""The Django project: settings, processes and what every page shares."""

from dashboard.celery import app as celery_app

__all__ = ("celery_app",)
