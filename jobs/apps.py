"""The one app of the project."""

from django.apps import AppConfig


class JobsConfig(AppConfig):
    name = "jobs"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from jobs.accounts import signin  # noqa: PLC0415 - needs the models

        signin.connect()
