"""Hear of appends, in a web process's event loop."""

from collections.abc import AsyncIterator

import redis
import redis.asyncio
from django.conf import settings
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from jobs.notify.channel import CHANNEL, CONNECT_SECONDS


class UnreachableError(Exception):
    """The broker does not answer, or the subscription broke; numbers may have been missed."""


async def listen() -> AsyncIterator[int]:
    """Sequence numbers as they are published; the first one is -1, when the subscription stands.

    Raises UnreachableError when the broker cannot be reached or goes away. What is no number is passed over.
    """
    client = redis.asyncio.Redis.from_url(
        settings.REDIS_URL,
        socket_connect_timeout=CONNECT_SECONDS,
        health_check_interval=15,
        retry=Retry(NoBackoff(), 0),  # the caller polls until the next attempt
    )
    try:
        async with client.pubsub() as subscription:
            await subscription.subscribe(CHANNEL)
            async for message in subscription.listen():
                if message["type"] == "subscribe":
                    yield -1
                elif message["type"] == "message" and message["data"].isdigit():
                    yield int(message["data"])
    except (redis.RedisError, OSError) as error:
        raise UnreachableError(str(error)) from error
    finally:
        await client.aclose()
    raise UnreachableError("the subscription ended")
