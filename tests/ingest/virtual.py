"""A transport and a clock that play a script, so that hours of watching take no time."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Self

import msgspec

from jobs.ingest.transport import Stalled, Stop


class VirtualClock:
    def __init__(self) -> None:
        self.time = 1_000_000.0
        self.pauses: list[float] = []

    def now(self) -> float:
        return self.time

    def monotonic(self) -> float:
        return self.time

    def pause(self, seconds: float, stop: Stop) -> None:
        self.pauses.append(seconds)
        self.time += seconds


class Script:
    """One scripted answer: a body of bytes and of numbers (seconds that pass), and what ends it (None: properly)."""

    def __init__(
        self,
        *body: bytes | float,
        status: int = 200,
        headers: dict[str, str] | None = None,
        end: Exception | None = None,
    ) -> None:
        self.body: Sequence[bytes | float] = body
        self.status = status
        self.headers: Mapping[str, str] = headers or {}
        self.end = end
        self.clock: VirtualClock

    def read(self, limit: int) -> bytes:
        if self.end is not None:
            raise self.end
        return b"".join(part for part in self.body if isinstance(part, bytes))

    def chunks(self, patience: Callable[[], float]) -> Iterator[bytes]:
        allowed = patience()
        for part in self.body:
            if isinstance(part, bytes):
                yield part
                allowed = patience()
                continue
            self.clock.time += min(part, allowed)
            if part >= allowed:
                raise Stalled("silence")
            allowed -= part
        if self.end is not None:
            raise self.end

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass


class ScriptedTransport:
    """Plays answers in order, or raises them; sets ``stop`` when there is none left."""

    def __init__(self, clock: VirtualClock, *script: Script | Exception) -> None:
        self.clock = clock
        self.script = list(script)
        self.requests: list[tuple[float, dict[str, str]]] = []  # when, and the query

    def open(self, path: str, query: Mapping[str, str], *, timeout: float, stop: Stop) -> Script:
        self.requests.append((self.clock.time, dict(query)))
        if not self.script:
            stop.set()
            return Script()
        answer = self.script.pop(0)
        if isinstance(answer, Exception):
            raise answer
        answer.clock = self.clock
        return answer

    @property
    def asked(self) -> list[str]:
        """The requests in short: "list", "list more", "watch N", "watch all"."""
        return [_short(query) for _, query in self.requests]


def _short(query: dict[str, str]) -> str:
    if "watch" in query:
        return f"watch {query.get('resourceVersion', 'all')}"
    return "list more" if "continue" in query else "list"


# --- what a cluster would send


def an_object(name: str, version: int, **more: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "ns", "uid": f"uid-{name}", "resourceVersion": str(version)}
    return {"metadata": metadata, **more}


def a_list(version: int, *items: Any, token: str = "") -> bytes:
    metadata = {"resourceVersion": str(version), "continue": token}
    return msgspec.json.encode({"kind": "List", "metadata": metadata, "items": items})


def a_line(type_: str, value: Any) -> bytes:
    return msgspec.json.encode({"type": type_, "object": value}) + b"\n"


def a_change(name: str, version: int, type_: str = "MODIFIED") -> bytes:
    return a_line(type_, an_object(name, version))


def a_bookmark(version: int, *, initial: bool = False) -> bytes:
    annotations = {"k8s.io/initial-events-end": "true"} if initial else {}
    return a_line("BOOKMARK", {"metadata": {"resourceVersion": str(version), "annotations": annotations}})


def a_status(code: int, reason: str = "", message: str = "", **details: Any) -> dict[str, Any]:
    body = {"kind": "Status", "metadata": {}, "status": "Failure", "code": code, "reason": reason, "message": message}
    return body | ({"details": details} if details else {})


def refusal(code: int, reason: str = "", message: str = "", headers: dict[str, str] | None = None) -> Script:
    return Script(msgspec.json.encode(a_status(code, reason, message)), status=code, headers=headers)


def an_error(code: int, reason: str = "", message: str = "", **details: Any) -> bytes:
    return a_line("ERROR", a_status(code, reason, message, **details))
