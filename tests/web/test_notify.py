"""Nudges through a real Valkey."""

import asyncio
import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jobs.notify import UnreachableError, listen, publish
from jobs.notify.publisher import Publisher
from tests.support.promptness import fair


async def heard(count: int, first: Callable[[], None]) -> list[int]:
    """The first numbers that are heard once the subscription stands."""
    numbers: list[int] = []
    async for seq in listen():
        if seq == -1:
            await asyncio.get_running_loop().run_in_executor(None, first)
            continue
        numbers.append(seq)
        if len(numbers) == count:
            break
    return numbers


def test_what_is_published_is_heard_in_order(valkey: str, settings: Any) -> None:
    settings.REDIS_URL = valkey

    def tell() -> None:
        for seq in (1, 2, 9_000_000_000_000):
            publish(seq)

    assert asyncio.run(asyncio.wait_for(heard(3, tell), 10)) == [1, 2, 9_000_000_000_000]


def test_what_is_no_number_is_passed_over(valkey: str, settings: Any) -> None:
    import redis

    settings.REDIS_URL = valkey

    def tell() -> None:
        with redis.Redis.from_url(valkey) as other:
            for word in (b"nonsense", b"\xff\xfe", b"-5"):
                other.publish("restartscope:sequence", word)
        publish(7)

    assert asyncio.run(asyncio.wait_for(heard(1, tell), 10)) == [7]


def test_a_broker_that_is_down_is_said_once_and_never_raised(
    tmp_path: Path, settings: Any, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.REDIS_URL = f"unix://{tmp_path}/nobody.sock"
    monkeypatch.setattr("jobs.notify.publisher.PAUSE_SECONDS", 0.0)
    with caplog.at_level(logging.WARNING, logger="jobs.notify"):
        for seq in range(5):
            publish(seq)
    assert len(caplog.records) == 1
    assert "does not answer" in caplog.records[0].message


def test_a_broker_that_is_down_does_not_hold_up_the_append(tmp_path: Path, settings: Any) -> None:
    settings.REDIS_URL = f"unix://{tmp_path}/nobody.sock"
    began = time.monotonic()
    for seq in range(1000):
        publish(seq)
    assert time.monotonic() - began < fair(2)


def test_a_broker_that_comes_back_is_used_again(
    valkey: str, caplog: pytest.LogCaptureFixture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jobs.notify.publisher.PAUSE_SECONDS", 0.0)
    socket = tmp_path / "v.sock"
    publisher = Publisher(f"unix://{socket}")
    publisher.publish(1)
    socket.symlink_to(valkey.removeprefix("unix://").partition("?")[0])
    with caplog.at_level(logging.INFO, logger="jobs.notify"):
        publisher.publish(2)
    assert "answers again" in caplog.text


def test_listening_to_nobody_says_so(tmp_path: Path, settings: Any) -> None:
    settings.REDIS_URL = f"unix://{tmp_path}/nobody.sock"

    async def first() -> None:
        async for _ in listen():
            pass

    with pytest.raises(UnreachableError):
        asyncio.run(asyncio.wait_for(first(), 10))
