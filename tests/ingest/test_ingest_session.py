"""A session of several streams against a real server: batches, bounds, stop."""

import itertools
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from jobs.domain.kinds import BY_RESOURCE
from jobs.ingest.connection import connect
from jobs.ingest.messages import Changed, Expired, ListDone, Listed, Message, State, Status
from jobs.ingest.session import Session
from jobs.ingest.streams import StreamKey, StreamSpec
from jobs.ingest.timing import Timing
from jobs.ingest.transport import Stop
from tests.ingest.recorded import exchange
from tests.ingest.scripted_server import Reply, ScriptedServer, kubeconfig
from tests.ingest.virtual import Script, a_change, a_list, an_object
from tests.support.promptness import fair

TFJOB = BY_RESOURCE["tfjobs.kubeflow.org"]
TFJOBS = StreamSpec(TFJOB.resource, TFJOB.group, TFJOB.version, TFJOB.plural)
PODS = StreamSpec("pods", "", "v1", "pods")
FAST = Timing(backoff_min=0.02, backoff_max=0.05, slow_retry=0.05, max_line=2000)


def collect(session: Session, enough: int, seconds: float = 60) -> list[Message]:
    """Messages until there are ``enough``; the session is stopped then."""
    messages: list[Message] = []
    deadline = time.monotonic() + seconds
    for batch in session.batches(idle=0.1):
        messages += [message for _, message in batch]
        if len(messages) >= enough:
            session.stop()
        assert time.monotonic() < deadline, messages
    return messages


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        yield running


@pytest.fixture
def source(server: ScriptedServer, tmp_path: Path) -> str:
    return kubeconfig(tmp_path / "config", server.url)


def test_a_stream_lives_through_all_that_a_server_does(server: ScriptedServer, source: str) -> None:
    text = a_change("a", 52).replace(b'"ns"', '"ns","x":"中文"'.encode())
    border = text.index("中".encode()) + 1  # a chunk ends inside a character
    server.replies = [
        Reply.of(exchange("not-installed")),
        Reply.of(exchange("forbidden")),
        Reply([a_list(50, an_object("a", 10))]),
        Reply([a_change("a", 51) + text[:border], text[border:], a_change("a", 53)[:25]], then="cut"),
        Reply([b'{"reason":"TooManyRequests"}'], status=429, headers={"Retry-After": "0"}),
        Reply([a_change("a", 53), b"x" * 3000 + b"\n", b"nonsense\n"]),
        Reply.of(exchange("watch-too-old-crd")),
        Reply([a_list(90, an_object("b", 80))]),
        Reply([a_change("b", 91)], then="hang"),
    ]
    session = Session(connect(source), [TFJOBS], timing=FAST)
    session.start()
    messages = collect(session, enough=23)
    told = [type(message).__name__ for message in messages if not isinstance(message, Status)]
    assert told == (
        ["Listing"] * 3
        + ["Listed", "ListDone"]
        + ["Changed"] * 3
        + ["Skipped"] * 2
        + ["Expired", "Listing", "Listed", "ListDone", "Changed"]
    )
    versions = [message.event.resource_version for message in messages if isinstance(message, Changed)]
    assert versions == [51, 52, 53, 91]
    states = [message.state for message in messages if isinstance(message, Status)]
    assert states == [
        State.NOT_INSTALLED,
        State.FORBIDDEN,
        State.WATCHING,
        State.RECONNECTING,
        State.THROTTLED,
        State.WATCHING,
        State.LISTING,
        State.WATCHING,
    ]
    resumed = [request.query.get("resourceVersion") for request in server.requests]
    assert resumed == [None, None, None, "50", "52", "52", "53", None, "90"]


def test_one_forbidden_resource_does_not_stop_the_others(tmp_path: Path) -> None:
    class Choosy:
        """Forbids pods; everything else has a job and then silence."""

        def open(self, path: str, query: Mapping[str, str], *, timeout: float, stop: Stop) -> Script:
            if path == PODS.path:
                return Script(exchange("forbidden").body, status=403)
            if "watch" in query:
                stop.wait(30)
                return Script()
            return Script(a_list(50, an_object("a", 10)))

    session = Session(Choosy(), [PODS, TFJOBS])
    session.start()
    by_stream: dict[StreamKey, list[Message]] = {}
    for batch in session.batches(idle=0.05):
        for key, message in batch:
            by_stream.setdefault(key, []).append(message)
        if any(isinstance(m, ListDone) for m in by_stream.get(TFJOBS.key, [])) and by_stream.get(PODS.key):
            session.stop()
    assert [m.state for m in by_stream[PODS.key] if isinstance(m, Status)] == [State.FORBIDDEN]


def test_each_stream_resumes_from_its_own_cursor(server: ScriptedServer, source: str) -> None:
    session = Session(connect(source), [PODS, TFJOBS], {PODS.key: 7, TFJOBS.key: 8})
    session.start()
    for _ in range(2):
        assert server.arrived.acquire(timeout=60)
    session.stop()
    assert {(r.path, r.query["resourceVersion"]) for r in server.requests} == {(PODS.path, "7"), (TFJOBS.path, "8")}


@pytest.mark.parametrize("reply", [Reply(then="hang"), Reply(then="hang", head_first=False), None])
def test_stop_ends_all_readers_within_two_seconds(server: ScriptedServer, source: str, reply: Reply | None) -> None:
    """While they read, while they wait for an answer, and while they pause after a refusal."""
    streams = [TFJOBS._replace(namespace=f"n{i}") for i in range(20)]
    server.replies = [reply or Reply.of(exchange("forbidden")) for _ in streams]
    session = Session(connect(source), streams, {stream.key: 5 for stream in streams})
    session.start()
    for _ in streams:
        assert server.arrived.acquire(timeout=60)
    time.sleep(0.2)
    assert session.alive() == 20
    began = time.monotonic()
    session.stop()
    assert time.monotonic() - began < fair(2)
    assert session.alive() == 0
    assert list(session.batches()) == []


class Endless:
    """Sends changes as fast as they are taken."""

    def __init__(self) -> None:
        self.sent = 0

    def open(self, path: str, query: Mapping[str, str], *, timeout: float, stop: Stop) -> Script:
        script = Script()
        script.chunks = lambda _: map(self._change, itertools.count(1))  # type: ignore[method-assign]
        return script

    def _change(self, version: int) -> bytes:
        self.sent += 1
        return a_change("a", version)


def test_a_slow_consumer_holds_the_readers_back() -> None:
    transport = Endless()
    session = Session(transport, [PODS], {PODS.key: 1}, capacity=500)
    session.start()
    deadline = time.monotonic() + 60
    while transport.sent < 500 and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.1)
    assert 500 <= transport.sent <= 510
    batches = itertools.islice(session.batches(max_events=200), 4)
    assert [len(batch) for batch in batches] == [200] * 4
    session.stop()
    assert session.alive() == 0  # also a reader that waits for room ends


def test_batches_are_small_in_events_and_in_order() -> None:
    session = Session(Endless(), [PODS], {PODS.key: 1})
    session.start()
    versions = [
        message.event.resource_version
        for batch in itertools.islice(session.batches(max_events=50), 20)
        for _, message in batch
        if isinstance(message, Changed)
    ]
    session.stop()
    assert versions == list(range(1, len(versions) + 1))
    assert len(versions) >= 900


def test_a_quiet_session_gives_its_consumer_a_turn() -> None:
    class Quiet:
        def open(self, path: str, query: Mapping[str, str], *, timeout: float, stop: Stop) -> Script:
            stop.wait(30)
            return Script()

    session = Session(Quiet(), [PODS])
    session.start()
    began = time.monotonic()
    batches = session.batches(idle=0.05)
    taken = [next(batches) for _ in range(3)]
    assert [len(batch) for batch in taken] == [1, 0, 0]  # Listing, then silence
    assert time.monotonic() - began < fair(2)
    session.stop()


def test_a_fault_of_ours_is_told_and_the_stream_starts_again(caplog: pytest.LogCaptureFixture) -> None:
    class Faulty:
        failed = threading.Event()

        def open(self, path: str, query: Mapping[str, str], *, timeout: float, stop: Stop) -> Script:
            if not self.failed.is_set():
                self.failed.set()
                raise KeyError("a bug")
            if "watch" in query:
                stop.wait(30)
                return Script()
            return Script(a_list(50, an_object("a", 10)))

    class NoPause:
        now = staticmethod(time.time)
        monotonic = staticmethod(time.monotonic)

        def pause(self, seconds: float, stop: Stop) -> None:
            pass

    session = Session(Faulty(), [PODS], clock=NoPause())
    session.start()
    messages = collect(session, enough=5)
    assert next(m.state for m in messages if isinstance(m, Status)) is State.BROKEN
    assert any(isinstance(m, Listed) for m in messages)
    assert not any(isinstance(m, Expired) for m in messages)
    assert "the reader of pods failed" in caplog.text
