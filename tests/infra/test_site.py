"""What holds for every answer of the site, and for every line of its logs."""

import logging

import pytest
from asgiref.sync import async_to_sync
from django.test import AsyncClient, Client

from dashboard.brokers import celery_url
from dashboard.logs import OneLineFormatter

SCRIPT = "/static/django_htmx/htmx-2.min.js"


def get(path: str, *, in_loop: bool, **headers: str) -> object:
    if in_loop:
        return async_to_sync(AsyncClient().get)(path, headers=headers)
    return Client().get(path, headers=headers)


@pytest.mark.parametrize("in_loop", [False, True])
@pytest.mark.parametrize("path", ["/no-such-page", SCRIPT])
@pytest.mark.django_db
def test_security_headers_are_everywhere(path: str, in_loop: bool) -> None:
    response = get(path, in_loop=in_loop)
    policy = response["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe-inline" not in policy
    assert "unsafe-eval" not in policy
    assert response["X-Content-Type-Options"] == "nosniff"
    assert response["Referrer-Policy"] == "same-origin"
    assert response["Cross-Origin-Opener-Policy"] == "same-origin"
    assert "Access-Control-Allow-Origin" not in response


@pytest.mark.parametrize("in_loop", [False, True])
def test_static_files_are_served_without_collecting(in_loop: bool) -> None:
    response = get(SCRIPT, in_loop=in_loop)
    assert response.status_code == 200
    assert response["Content-Type"].startswith("text/javascript")
    assert len(response.content) == int(response["Content-Length"]) > 10_000
    again = get(SCRIPT, in_loop=in_loop, if_none_match=response["ETag"])
    assert again.status_code == 304
    assert again.content == b""
    part = get(SCRIPT, in_loop=in_loop, range="bytes=2-11")
    assert part.status_code == 206
    assert part.content == response.content[2:12]


@pytest.mark.parametrize(
    "path",
    ["/static/../manage.py", "/static/%2e%2e/manage.py", "/static/django_htmx/../../manage.py", "/static//etc/passwd"],
)
@pytest.mark.django_db
def test_nothing_beside_static_files_is_served(path: str) -> None:
    assert get(path, in_loop=False).status_code == 404


def test_a_host_that_is_not_ours_is_refused() -> None:
    assert Client().get("/", headers={"host": "evil.example.org"}).status_code == 400


def line(message: str, *args: object) -> str:
    return OneLineFormatter().format(logging.makeLogRecord({"msg": message, "args": args, "name": "x"}))


def test_one_record_is_one_line_whatever_a_cluster_wrote() -> None:
    assert "\n" not in line("pod %s failed", "a\n2026-11-29 ERROR forged\r\x1b[2J\u2028")
    try:
        raise RuntimeError("first\nsecond")
    except RuntimeError as error:
        record = logging.makeLogRecord({"msg": "it broke", "exc_info": (type(error), error, error.__traceback__)})
    text = OneLineFormatter().format(record)
    assert "\n" not in text
    assert "RuntimeError: first\\nsecond" in text


@pytest.mark.parametrize(
    "text",
    [
        "cannot reach redis://:geheim@broker:6379/0",
        "cannot reach postgresql://user:geheim@db/name",
        "Authorization: Bearer geheim.geheim-geheim",
    ],
)
def test_no_line_holds_a_credential(text: str) -> None:
    assert "geheim" not in line("%s", text)
    assert "***" in line("%s", text)


@pytest.mark.parametrize(
    ("ours", "celerys"),
    [
        ("redis://127.0.0.1:6379/0", "redis://127.0.0.1:6379/0"),
        ("unix:///run/valkey.sock", "redis+socket:///run/valkey.sock?virtual_host=0"),
        ("unix:///run/valkey.sock?db=3", "redis+socket:///run/valkey.sock?virtual_host=3"),
        ("unix://:geheim@/run/valkey.sock", "redis+socket://:geheim@/run/valkey.sock?virtual_host=0"),
    ],
)
def test_a_redis_url_in_celerys_words(ours: str, celerys: str) -> None:
    assert celery_url(ours) == celerys
