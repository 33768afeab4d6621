"""Requests that are refused before a page sees them: a sentence for whoever sent them, one line in the log."""

import logging
import re
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.conf import settings
from django.core.exceptions import SuspiciousOperation
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from dashboard.logs import OneLineFormatter, RefusedRequests

pytestmark = pytest.mark.django_db

TOO_LONG = "x" * (settings.DATA_UPLOAD_MAX_MEMORY_SIZE + 1)
URLENCODED = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data; boundary=b"
FILLED = {"uuid": str(uuid.UUID(int=7)), "slug": "seed", "str": "x"}


def paths(patterns: list[Any], before: str = "") -> Iterator[str]:
    """Every address of the site, with something for its parameters."""
    for one in patterns:
        if isinstance(one, URLResolver):
            yield from paths(one.url_patterns, before + str(one.pattern))
        elif isinstance(one, URLPattern):
            route = before + str(one.pattern)
            path = "api/nothing" if route.startswith("^") else re.sub(r"<(\w+):\w+>", lambda m: FILLED[m[1]], route)
            yield f"/{path}"


@pytest.fixture
def browser() -> Client:
    """With the cookie that every form's page sets: forms are told from forged ones by it and their token."""
    client = Client(enforce_csrf_checks=True)
    client.get("/sign-in/")
    assert "csrftoken" in client.cookies
    return client


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> Callable[[], list[str]]:
    """The lines as they reach standard error."""

    def lines() -> list[str]:
        formatter, refused = OneLineFormatter(), RefusedRequests()
        found = [record for record in caplog.records if record.levelno >= logging.WARNING and refused.filter(record)]
        return [formatter.format(record) for record in found]

    return lines


def test_the_log_is_configured_so() -> None:
    stderr = settings.LOGGING["handlers"]["stderr"]
    assert RefusedRequests in [settings.LOGGING["filters"][name]["()"] for name in stderr["filters"]]


@pytest.mark.parametrize("path", sorted(set(paths(get_resolver().url_patterns))))
def test_too_long_a_form_is_refused_everywhere(browser: Client, log: Callable[[], list[str]], path: str) -> None:
    answer = browser.post(path, f"a={TOO_LONG}", content_type=URLENCODED)
    assert answer.status_code == 413, path
    assert "longer than what this site takes" in answer.content.decode()
    (line,) = log()
    assert line.endswith(f"exceeded settings.DATA_UPLOAD_MAX_MEMORY_SIZE: {path}")
    assert "Traceback" not in line


def part(name: str, value: str, more: str = "") -> str:
    return f'--b\r\nContent-Disposition: form-data; name="{name}"{more}\r\n\r\n{value}\r\n'


BODIES = {
    "a long field of a form": (413, URLENCODED, f"username={TOO_LONG}"),
    "a long field beside files": (413, MULTIPART, f"{part('username', TOO_LONG)}--b--\r\n"),
    "many fields": (413, URLENCODED, "&".join(f"a{n}=1" for n in range(1001))),
    "many fields beside files": (413, MULTIPART, "".join(part(f"a{n}", "1") for n in range(1001)) + "--b--\r\n"),
    "many files": (413, MULTIPART, "".join(part(f"a{n}", "1", '; filename="f"') for n in range(101)) + "--b--\r\n"),
    "no boundary": (400, "multipart/form-data", "--b--\r\n"),
    "a boundary that cannot be": (400, "multipart/form-data; boundary=é", "--b--\r\n"),
    "another encoding": (400, f"{URLENCODED}; charset=utf-16", "username=a"),
}


@pytest.mark.parametrize("case", BODIES)
@pytest.mark.parametrize("path", ["/sign-in/", "/i18n/setlang/", "/experiments/custom/"])
def test_a_body_that_django_refuses_is_told_in_one_line(
    browser: Client, log: Callable[[], list[str]], path: str, case: str
) -> None:
    status, content_type, body = BODIES[case]
    answer = browser.post(path, body, content_type=content_type)
    assert answer.status_code == status
    sentence = "send less" if status == 413 else "cannot be understood"
    assert sentence in answer.content.decode()
    (line,) = log()
    assert path in line
    assert "Traceback" not in line
    assert "xxx" not in line


def test_it_is_told_in_chinese(browser: Client) -> None:
    chinese = {"accept-language": "zh-CN"}
    answer = browser.post("/sign-in/", f"a={TOO_LONG}", content_type=URLENCODED, headers=chinese)
    assert answer.status_code == 413
    assert '<html lang="zh-hans"' in answer.content.decode()
    assert "内容超出了本站接受的长度" in answer.content.decode()


def line_of(error: Exception, message: str, *args: object) -> str:
    try:
        raise error
    except Exception as caught:
        record = logging.makeLogRecord(
            {"msg": message, "args": args, "exc_info": (type(caught), caught, caught.__traceback__)}
        )
    assert RefusedRequests().filter(record)
    return OneLineFormatter().format(record)


def test_faults_of_our_own_keep_their_traceback() -> None:
    assert "Traceback" in line_of(RuntimeError("it broke"), "%s broke", "this")
    assert line_of(SuspiciousOperation("odd"), "Invalid host '%s'").endswith("Invalid host '%s'")
