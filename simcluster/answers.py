"""Responses with the headers and the layout of a real API server."""

import uuid
from collections.abc import Sequence
from typing import Any

from starlette.responses import PlainTextResponse, Response

from simcluster import encoding, errors
from simcluster.errors import ApiError
from simcluster.options import Fault

Obj = dict[str, Any]


def headers() -> dict[str, str]:
    return {"audit-id": str(uuid.uuid4()), "cache-control": "no-cache, private"}


def watch_headers() -> list[tuple[bytes, bytes]]:
    pairs = {**headers(), "content-type": "application/json"}
    return [(name.encode(), value.encode()) for name, value in pairs.items()]


def json(
    code: int, value: Obj, *, pretty: bool = False, media_type: str = "application/json", warnings: Sequence[str] = ()
) -> Response:
    content = encoding.pretty(value) if pretty else encoding.compact(value) + b"\n"
    response = Response(content, code, headers(), media_type)
    for text in warnings:
        if not text.isprintable():  # no header can hold it, so it is not sent
            continue
        quoted = text.replace("\\", "\\\\").replace('"', '\\"').encode("ascii", "replace").decode()
        response.headers.append("warning", f'299 - "{quoted}"')
    return response


def status(error: ApiError) -> Response:
    response = json(error.code, error.status(), pretty=True)
    retry_after = (error.details or {}).get("retryAfterSeconds")
    if retry_after is not None:
        response.headers["retry-after"] = str(retry_after)
    return response


def faulty(fault: Fault) -> Response:
    """429 as the server's overload protection answers it: plain text; everything else as an internal error."""
    if fault.code == 429:
        extra = {"retry-after": str(fault.retry_after), "x-content-type-options": "nosniff"}
        return PlainTextResponse("Too many requests, please try again later.\n", 429, {**headers(), **extra})
    error = errors.internal("a fault that was asked for")
    error.code = fault.code
    return status(error)


def not_installed() -> Response:
    extra = {"x-content-type-options": "nosniff"}
    return PlainTextResponse("404 page not found\n", 404, {**headers(), **extra})
