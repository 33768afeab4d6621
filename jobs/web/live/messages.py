"""The messages of a stream, in the format of server-sent events."""

from typing import Any, NamedTuple

import msgspec

Json = dict[str, Any]
RETRY = 1500  # milliseconds after which a browser that lost the stream comes back by itself


class Message(NamedTuple):
    """``seq``: what a reader knows after it. ``always``: to be told even to one who knows as much."""

    seq: int
    text: bytes
    always: bool = False


def _message(event: str, data: Json, seq: int = 0, *, always: bool = False) -> Message:
    # JSON has no line breaks outside of strings, and escapes them inside, so the data is one line.
    identity = b"id: %d\n" % seq if seq else b""
    text = b"event: " + event.encode() + b"\ndata: " + msgspec.json.encode(data) + b"\n\n"
    return Message(seq, identity + text, always)


def change(seq: int, data: Json) -> Message:
    """Rows that changed."""
    return _message("change", data, seq)


def reload(seq: int) -> Message:
    """Too much changed to tell: load anew."""
    return _message("reload", {"seq": seq}, seq, always=True)


def status(now: float, push: bool, stale_since: float | None) -> Message:
    """How live the stream is; also the heartbeat. ``now``: the server's clock."""
    return _message("status", {"now": now, "push": push, "stale_since": stale_since}, always=True)


def hello() -> bytes:
    return b"retry: %d\n\n" % RETRY
