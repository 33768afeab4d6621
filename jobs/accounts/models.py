"""What is kept of attempts to sign in."""

from django.db import models


class SignInAttempts(models.Model):
    """How many attempts a key has made in its window. ``key``: see ``jobs.accounts.throttle``."""

    key = models.CharField(max_length=64, primary_key=True)
    count = models.IntegerField()
    until = models.FloatField(db_index=True)  # epoch seconds at which the window ends

    def __str__(self) -> str:
        return f"{self.count} until {self.until}"
