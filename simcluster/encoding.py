"""JSON as the API server prints it: `<`, `>` and `&` escaped, errors indented, a newline after compact bodies."""

import json
from typing import Any

import msgspec

from simcluster.errors import bad_request

_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder()
_MAX_DEPTH = 200  # far more than any real object; what is stored must never be too deep for whoever reads it
NESTED = "the object provided is nested"
_ESCAPES = ((b"&", b"\\u0026"), (b"<", b"\\u003c"), (b">", b"\\u003e"))


def compact(value: Any) -> bytes:
    return _escaped(_ENCODER.encode(value))


def pretty(value: Any) -> bytes:
    return _escaped(json.dumps(value, indent=2, ensure_ascii=False).encode("utf-8", "replace"))


def watch_line(kind: str, obj: dict[str, Any]) -> bytes:
    """One line of a watch stream."""
    return b'{"type":"%s","object":%s}\n' % (kind.encode(), compact(obj))


def decoded(body: bytes, expected_kind: str) -> Any:
    """The JSON value of a request's body. Raises ApiError 400 in the server's words."""
    try:
        value = _DECODER.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        text = body.decode("utf-8", "replace")
        shown = text if len(text) <= 1024 else f"{text[:1024]} ..."
        raise bad_request(
            f"the object provided is unrecognized (must be of type {expected_kind}): couldn't get version/kind; "
            f"json parse error: {parse_error(text)} ({shown})"
        ) from None
    if body.count(b"[") + body.count(b"{") > _MAX_DEPTH and _is_deeper(value, _MAX_DEPTH):
        raise bad_request(f"{NESTED} more than {_MAX_DEPTH} levels deep")
    return value


def _is_deeper(value: Any, levels: int) -> bool:
    """Whether arrays and objects are nested deeper than that; without recursion."""
    level = [value]
    for _ in range(levels):
        inner: list[Any] = []
        for item in level:
            children = item.values() if isinstance(item, dict) else item if isinstance(item, list) else ()
            inner += [child for child in children if isinstance(child, (dict, list))]
        if not inner:
            return False
        level = inner
    return True


def parse_error(text: str) -> str:
    """What Go's JSON decoder says of a text that is no JSON: near enough for the common cases."""
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        if not text[error.pos :].strip():
            return "unexpected end of JSON input"
        return f"invalid character '{text[error.pos]}' looking for beginning of value"
    except RecursionError:
        return "exceeded max depth"
    return "invalid JSON"


def _escaped(encoded: bytes) -> bytes:
    for char, escape in _ESCAPES:
        if char in encoded:
            encoded = encoded.replace(char, escape)
    return encoded
