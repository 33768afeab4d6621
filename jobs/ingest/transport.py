"""What the list/watch loop needs of the world: answers, time, and a way to be stopped.

``jobs.ingest.connection`` is the real transport; tests put scripted ones and a virtual clock here.
"""

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from types import TracebackType
from typing import Protocol, Self


class TransportError(Exception):
    """No (whole) answer. ``sentence`` says why, and what to do where that is known; it never holds a secret."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)
        self.sentence = sentence


class Unreachable(TransportError):
    """No connection, no TLS, no credentials, or no answer to the request."""


class Cut(TransportError):
    """The connection broke in the middle of an answer."""


class Stalled(TransportError):
    """Nothing came for as long as was allowed."""


class Stop:
    """Ends one reader: wakes it from a pause and shuts down the socket it reads from. Safe from any thread."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None

    def is_set(self) -> bool:
        return self._event.is_set()

    def wait(self, seconds: float) -> bool:
        """Pause for ``seconds``, less when stopped; True if stopped."""
        return self._event.wait(seconds)

    def set(self) -> None:
        """Stop, now and for good."""
        with self._lock:
            self._event.set()
            self._shut_down()

    def attach(self, sock: socket.socket | None) -> None:
        """Name the socket of the request under way (None: there is none any more)."""
        with self._lock:
            self._socket = sock
            if self._event.is_set():
                self._shut_down()

    def _shut_down(self) -> None:
        if self._socket is not None:
            with contextlib.suppress(OSError):  # it may be closed already
                self._socket.shutdown(socket.SHUT_RDWR)


class Answer(Protocol):
    """An HTTP answer whose body is still on the wire; a context manager that closes it."""

    @property
    def status(self) -> int: ...

    @property
    def headers(self) -> Mapping[str, str]:
        """Any case of a name finds its value."""

    def read(self, limit: int) -> bytes:
        """The whole body. Raises ``TransportError``; ``Cut`` too if it is longer than ``limit`` bytes."""

    def chunks(self, patience: Callable[[], float]) -> Iterator[bytes]:
        """The body as it arrives. ``patience()`` gives the seconds that the next read may take, or raises ``Stalled``.

        Raises ``Cut`` or ``Stalled``; ends when the server ends the answer.
        """

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class Transport(Protocol):
    """What the list/watch loop asks: a connection to a cluster, or a script of a test."""

    def open(self, path: str, query: Mapping[str, str], *, timeout: float, stop: Stop) -> Answer:
        """GET; ``timeout`` in seconds until the head of the answer is here. Raises ``TransportError``."""


class Clock(Protocol):
    """What the list/watch loop knows of time."""

    def now(self) -> float:
        """Epoch seconds."""

    def monotonic(self) -> float:
        """Seconds that never go back."""

    def pause(self, seconds: float, stop: Stop) -> None:
        """Wait, less if stopped."""


class SystemClock:
    """The machine's clocks."""

    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()

    def pause(self, seconds: float, stop: Stop) -> None:
        stop.wait(seconds)
