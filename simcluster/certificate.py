"""A certificate for 127.0.0.1, made anew at each start: kubectl sends tokens over TLS only.

An elliptic-curve key (P-256), self-signed, in the few DER structures that takes. It protects nothing but a simulation
on the loopback interface, and is written for being short, not for keeping its key from whoever measures its time.
"""

import base64
import hashlib
import secrets
import time
from datetime import UTC, datetime

Point = tuple[int, int] | None

_P = 0xFFFFFFFF00000001000000000000000000000000FFFFFFFFFFFFFFFFFFFFFFFF
_N = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
_G: Point = (
    0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296,
    0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5,
)
_YEARS = 10


def self_signed() -> tuple[str, str]:
    """Certificate and private key as PEM."""
    private = secrets.randbelow(_N - 1) + 1
    point = _times(private, _G)
    assert point is not None
    public = b"\x04" + _bytes(point[0]) + _bytes(point[1])
    body = _body(public)
    certificate = _sequence(body, _sequence(_SIGNED_WITH), _bits(_signature(private, body)))
    key = _sequence(_integer(1), _tagged(0x04, _bytes(private)), _tagged(0xA0, _CURVE), _tagged(0xA1, _bits(public)))
    return _pem("CERTIFICATE", certificate), _pem("EC PRIVATE KEY", key)


# The curve


def _added(first: Point, second: Point) -> Point:
    if first is None or second is None:
        return first or second
    (x1, y1), (x2, y2) = first, second
    if x1 == x2 and (y1 + y2) % _P == 0:
        return None
    slope = (3 * x1 * x1 - 3) * pow(2 * y1, -1, _P) if first == second else (y2 - y1) * pow(x2 - x1, -1, _P)
    x = (slope * slope - x1 - x2) % _P
    return x, (slope * (x1 - x) - y1) % _P


def _times(factor: int, point: Point) -> Point:
    result: Point = None
    while factor:
        if factor & 1:
            result = _added(result, point)
        point, factor = _added(point, point), factor >> 1
    return result


def _signature(private: int, message: bytes) -> bytes:
    digest = int.from_bytes(hashlib.sha256(message).digest())
    while True:
        nonce = secrets.randbelow(_N - 1) + 1
        point = _times(nonce, _G)
        r = point[0] % _N if point is not None else 0
        s = pow(nonce, -1, _N) * (digest + r * private) % _N
        if r and s:
            return _sequence(_integer(r), _integer(s))


def _bytes(number: int) -> bytes:
    return number.to_bytes(32)


# DER


def _tagged(tag: int, content: bytes) -> bytes:
    length = len(content)
    if length < 0x80:
        return bytes((tag, length)) + content
    size = length.to_bytes((length.bit_length() + 7) // 8)
    return bytes((tag, 0x80 | len(size))) + size + content


def _sequence(*items: bytes) -> bytes:
    return _tagged(0x30, b"".join(items))


def _integer(number: int) -> bytes:
    return _tagged(0x02, number.to_bytes(number.bit_length() // 8 + 1))


def _bits(content: bytes) -> bytes:
    return _tagged(0x03, b"\0" + content)


def _identifier(dotted: str) -> bytes:
    first, second, *rest = (int(part) for part in dotted.split("."))
    encoded = bytes((40 * first + second,))
    for part in rest:
        digits = [part & 0x7F]
        while part := part >> 7:
            digits.append(part & 0x7F | 0x80)
        encoded += bytes(reversed(digits))
    return _tagged(0x06, encoded)


def _moment(seconds: float) -> bytes:
    return _tagged(0x18, datetime.fromtimestamp(seconds, UTC).strftime("%Y%m%d%H%M%SZ").encode())


_CURVE = _identifier("1.2.840.10045.3.1.7")
_SIGNED_WITH = _identifier("1.2.840.10045.4.3.2")


def _body(public: bytes) -> bytes:
    name = _sequence(_tagged(0x31, _sequence(_identifier("2.5.4.3"), _tagged(0x0C, b"simcluster"))))
    now = time.time()
    names = _sequence(_tagged(0x82, b"localhost"), _tagged(0x87, bytes((127, 0, 0, 1))))
    authority = _sequence(_tagged(0x01, b"\xff"))
    extensions = _sequence(
        _sequence(_identifier("2.5.29.17"), _tagged(0x04, names)),
        _sequence(_identifier("2.5.29.19"), _tagged(0x01, b"\xff"), _tagged(0x04, authority)),
    )
    return _sequence(
        _tagged(0xA0, _integer(2)),
        _integer(secrets.randbits(120)),
        _sequence(_SIGNED_WITH),
        name,
        _sequence(_moment(now - 86_400), _moment(now + _YEARS * 365 * 86_400)),
        name,
        _sequence(_sequence(_identifier("1.2.840.10045.2.1"), _CURVE), _bits(public)),
        _tagged(0xA3, extensions),
    )


def _pem(label: str, content: bytes) -> str:
    text = base64.b64encode(content).decode()
    lines = [text[start : start + 64] for start in range(0, len(text), 64)]
    return "\n".join([f"-----BEGIN {label}-----", *lines, f"-----END {label}-----", ""])
