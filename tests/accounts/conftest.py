"""A clock by hand, accounts, and the log as it reaches standard error."""

import logging
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import translation

from dashboard.logs import OneLineFormatter, RefusedRequests
from jobs.accounts import throttle

RIGHT, WRONG = "a long password", "a wrong password"


class Clock:
    """Virtual time, in seconds from the test's begin."""

    def __init__(self) -> None:
        self.at = 0.0

    def __call__(self) -> float:
        return 1_800_000_000.0 + self.at


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(throttle, "now", found)
    return found


@pytest.fixture
def ann(db: None, settings: Any) -> User:
    """Somebody with a password that is quickly looked at."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    return User.objects.create_user("ann", password=RIGHT)


@pytest.fixture(autouse=True)
def english() -> Any:
    with translation.override("en"):
        yield


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> Callable[[], list[str]]:
    caplog.set_level(logging.INFO)

    def lines() -> list[str]:
        formatter, refused = OneLineFormatter(), RefusedRequests()
        names = ("jobs.accounts", "jobs.web.accounts", "django.security", "django.request")
        found = [one for one in caplog.records if one.name.startswith(names) and refused.filter(one)]
        return [f"{one.levelname} {formatter.format(one).partition(': ')[2]}" for one in found]

    return lines
