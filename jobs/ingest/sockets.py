"""Connections whose socket is known while a request waits, so that another thread can shut it down."""

import threading
from typing import Any, Self

from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

from jobs.ingest.transport import Stop

_this_thread = threading.local()


def _attach(sock: Any) -> None:
    call: Call | None = getattr(_this_thread, "call", None)
    if call is not None:
        call.sock = sock
        call.stop.attach(sock)


class Call:
    """A request; as a context, the one that this thread is making."""

    def __init__(self, stop: Stop) -> None:
        self.stop = stop
        self.sock: Any = None

    def __enter__(self) -> Self:
        _this_thread.call = self
        return self

    def __exit__(self, *_: object) -> None:
        _this_thread.call = None


class _NamedConnection(HTTPConnection):
    def getresponse(self) -> Any:
        _attach(self.sock)
        return super().getresponse()


class _NamedSecureConnection(HTTPSConnection):
    def getresponse(self) -> Any:
        _attach(self.sock)
        return super().getresponse()


class _NamedPool(HTTPConnectionPool):
    ConnectionCls = _NamedConnection


class _NamedSecurePool(HTTPSConnectionPool):
    ConnectionCls = _NamedSecureConnection


POOLS = {"http": _NamedPool, "https": _NamedSecurePool}
