"""Event streams: order, backlog, heartbeat, staleness; against the hub in this process and a real server."""

import asyncio
import gzip
import http.client
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from jobs.web.live import hub as hub_module
from jobs.web.live import streams
from jobs.web.live.hub import Hub, Subscriber
from jobs.web.live.messages import change, reload, status
from jobs.web.live.reading import News
from tests.support.truth import RECORDINGS

SEED = RECORDINGS / "seed-exitcode-138" / "watch.jsonl.gz"


class Event:
    """One message of a stream."""

    def __init__(self, block: str) -> None:
        fields = dict(line.split(": ", 1) for line in re.split("\r\n|\n|\r", block) if ": " in line)
        self.id = int(fields["id"]) if "id" in fields else None
        self.name = fields.get("event", "")
        self.data: dict[str, Any] = json.loads(fields["data"]) if "data" in fields else {}


def events_of(text: str) -> list[Event]:
    return [event for event in map(Event, text.split("\n\n")) if event.name]


class TestMessages:
    def test_a_message_is_one_line_whatever_it_carries(self) -> None:
        message = change(7, {"name": "a\nevent: reload\n\ndata: {}\r\u2028"})
        (event,) = events_of(message.text.decode())
        assert (event.id, event.name, event.data["name"]) == (7, "change", "a\nevent: reload\n\ndata: {}\r\u2028")

    def test_a_status_leaves_the_last_event_id_alone(self) -> None:
        (event,) = events_of(status(1.5, push=True, stale_since=None).text.decode())
        assert event.id is None
        assert event.data == {"now": 1.5, "push": True, "stale_since": None}


class TestRelay:
    """The part between the hub and the browser, with a hub that is told what to say."""

    @pytest.fixture
    def center(self, monkeypatch: pytest.MonkeyPatch) -> Hub:
        center = Hub()

        async def subscribe(subscriber: Subscriber) -> None:
            center.subscribers.add(subscriber)

        monkeypatch.setattr(center, "subscribe", subscribe)
        monkeypatch.setattr(streams, "hub", lambda: center)
        return center

    @staticmethod
    async def take(stream: AsyncIterator[bytes], count: int) -> list[Event]:
        found: list[Event] = []
        async for text in stream:
            found += events_of(text.decode())
            if len(found) >= count:
                break
        return found

    def test_backlog_first_and_nothing_twice(self, center: Hub) -> None:
        async def scene() -> list[Event]:
            subscriber = Subscriber()

            def backlog(since: int) -> Any:
                # Committed and told after the subscription, and read with the backlog as well.
                for seq in (4, 5, 6):
                    subscriber.put(change(seq, {"jobs": [seq]}))
                return change(5, {"jobs": ["backlog", since]})

            return await self.take(streams._relay(subscriber, 3, backlog), 3)

        found = asyncio.run(asyncio.wait_for(scene(), 10))
        assert [(event.name, event.id) for event in found] == [("status", None), ("change", 5), ("change", 6)]
        assert found[1].data == {"jobs": ["backlog", 3]}

    def test_a_heartbeat_comes_also_while_there_is_news(self, center: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(streams, "HEARTBEAT", 0.05)

        async def scene() -> list[Event]:
            subscriber = Subscriber()

            async def talk() -> None:
                for seq in range(1, 100):
                    subscriber.put(change(seq, {}))
                    await asyncio.sleep(0.01)

            talker = asyncio.create_task(talk())
            found = await self.take(streams._relay(subscriber, 0, lambda since: None), 30)
            talker.cancel()
            return found

        names = [event.name for event in asyncio.run(asyncio.wait_for(scene(), 10))]
        assert names.count("status") >= 3
        assert names.count("change") >= 10

    def test_a_stream_ends_after_its_life(self, center: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(streams, "LIFE", 0.05)
        monkeypatch.setattr(streams, "HEARTBEAT", 0.02)

        async def scene() -> None:
            async for _ in streams._relay(Subscriber(), 0, lambda since: None):
                pass

        asyncio.run(asyncio.wait_for(scene(), 5))
        assert not center.subscribers

    def test_a_page_that_does_not_keep_up_is_let_go(self, center: Hub) -> None:
        async def scene() -> int:
            subscriber = Subscriber()
            for seq in range(1, hub_module.QUEUE + 5):
                subscriber.put(change(seq, {}))
            return len([text async for text in streams._relay(subscriber, 0, lambda since: None)])

        # It ends at once; the browser comes back with its Last-Event-ID and reads the backlog.
        assert asyncio.run(asyncio.wait_for(scene(), 5)) == 2

    def test_a_reload_is_told_to_one_who_knows_as_much(self, center: Hub) -> None:
        async def scene() -> list[Event]:
            subscriber = Subscriber()
            subscriber.put(reload(2))
            return await self.take(streams._relay(subscriber, 9, lambda since: None), 2)

        assert [event.name for event in asyncio.run(asyncio.wait_for(scene(), 5))] == ["status", "reload"]


class TestWhatAPageIsTold:
    def test_a_job_page_hears_of_its_job_alone(self) -> None:
        news = News(9, deltas={1: {"seq": 9}, 2: None})
        told = Subscriber(job_id=1).message(news)
        assert told is not None
        assert events_of(told.text.decode())[0].data == {"seq": 9}
        too_much = Subscriber(job_id=2).message(news)
        assert too_much is not None
        assert b"event: reload" in too_much.text
        assert Subscriber(job_id=3).message(news) is None

    def test_a_list_hears_that_it_was_too_much(self) -> None:
        message = Subscriber().message(News(9, too_many=True))
        assert message is not None
        assert b"event: reload" in message.text

    def test_stale_means_a_watcher_that_is_silent(self) -> None:
        center = Hub()
        center.observed = {"fresh": time.time(), "silent": 100.0, "never": None}
        assert center.stale_since("fresh") is None
        assert center.stale_since("replayed only") is None
        assert center.stale_since("silent") == 100.0
        assert center.stale_since() == 100.0


class Server:
    """A real server process on a database of its own."""

    child: "subprocess.Popen[bytes]"

    def __init__(self, port: int, env: dict[str, str], folder: Path) -> None:
        self.port, self.env, self.folder = port, env, folder
        self.lines = gzip.decompress(SEED.read_bytes()).splitlines(keepends=True)

    def replay(self, until: int) -> None:
        """The recording's first lines; a later call goes on from there."""
        file = self.folder / "watch.jsonl"
        file.write_bytes(b"".join(self.lines))
        command = [sys.executable, "manage.py", "replay", str(file), "--until", str(until)]
        subprocess.run(command, env=os.environ | self.env, check=True, capture_output=True)

    def get(self, path: str) -> Any:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request("GET", path)
        return json.loads(connection.getresponse().read())

    def stream(self, path: str, **headers: str) -> "Stream":
        return Stream(self.port, path, headers)


class Stream:
    def __init__(self, port: int, path: str, headers: dict[str, str]) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self.connection.request("GET", path, headers=headers)
        self.response = self.connection.getresponse()

    def __iter__(self) -> Iterator[Event]:
        block = ""
        while line := self.response.readline().decode():
            block += line
            if line == "\n":
                yield from events_of(block)
                block = ""

    def until(self, name: str) -> Event:
        """The next event of that name."""
        return next(event for event in self if event.name == name)

    def next_within(self, seconds: float) -> Event:
        """The next event; TimeoutError if there is none for so long."""
        assert self.connection.sock
        self.connection.sock.settimeout(seconds)
        return next(iter(self))

    def close(self) -> None:
        self.connection.close()


@pytest.fixture
def server(processes: Any, free_port: int, tmp_path: Path, valkey: str) -> Server:
    env = {
        "DATABASE_URL": f"sqlite:///{tmp_path}/web.sqlite3",
        "RESTARTSCOPE_DATA_DIR": str(tmp_path),
        "REDIS_URL": valkey,
    }
    found = Server(free_port, env, tmp_path)
    found.replay(1)
    serve = ("-m", "uvicorn", "dashboard.asgi:application", "--port", str(free_port))
    found.child = processes.python(*serve, "--timeout-graceful-shutdown", "2", env=env, name="web")

    def up() -> bool:
        try:
            return bool(found.get("/healthz")["status"] == "ok")
        except OSError:
            return False

    processes.wait_for(up, found.child)
    return found


def test_a_page_hears_of_every_change_and_goes_on_where_it_was(server: Server) -> None:
    (job,) = server.get("/api/jobs/")["jobs"]
    path = f"/api/jobs/{job['uid']}/events"
    start = server.get(f"/api/jobs/{job['uid']}/timeline/")["seq"]
    stream = server.stream(f"{path}?since={start}")
    assert stream.response.getheader("Content-Type") == "text/event-stream"
    assert "no-store" in (stream.response.getheader("Cache-Control") or "")
    assert stream.until("status").data["push"] is True
    server.replay(40)
    first = stream.until("change")
    assert first.id is not None and first.id > start
    assert {pod["replica"] for pod in first.data["pods"]} == {"worker/0/0", "worker/1/0", "worker/2/0", "ps/0/0"}
    stream.close()

    server.replay(150)  # nobody listens: the backlog after Last-Event-ID has it
    again = server.stream(f"{path}?since=1", **{"Last-Event-ID": str(first.id)})
    backlog = again.until("change")
    assert backlog.id is not None and backlog.id > first.id
    assert backlog.data["job"]["true"] >= 1
    again.close()

    caught_up = server.stream(f"{path}?since={backlog.id}")
    assert caught_up.until("status")
    server.replay(len(server.lines))
    last = caught_up.until("change")
    assert last.id is not None and last.id > backlog.id
    assert last.data["job"]["true"] == 6
    worker = next(replica for replica in last.data["replicas"] if replica["key"] == "worker/0/0")
    assert worker["true"] == 5
    told = last.data["story"]
    assert "Worker 0 has been recreated 5 times, each time after exit code 138." in told["en"], "as the count beside it"
    assert set(told) == {"en", "zh-hans"}
    caught_up.close()


def test_a_list_hears_of_what_it_shows_or_would_show(server: Server) -> None:
    (job,) = server.get("/api/jobs/")["jobs"]
    seq = server.get("/api/jobs/")["sequence"]
    matching = server.stream(f"/api/jobs/events?since={seq}&kind=TFJob")
    other = server.stream(f"/api/jobs/events?since={seq}&kind=PyTorchJob")
    for stream in (matching, other):
        stream.until("status")
    server.replay(150)
    told = matching.until("change")
    assert [item["uid"] for item in told.data["jobs"]] == [job["uid"]]
    assert len(json.dumps(told.data)) < 2048
    with pytest.raises(TimeoutError):
        other.next_within(1.0)
    for stream in (matching, other):
        stream.close()


def test_a_page_from_another_database_is_told_to_load_anew(server: Server) -> None:
    (job,) = server.get("/api/jobs/")["jobs"]
    stream = server.stream(f"/api/jobs/{job['uid']}/events?since=999999")
    assert stream.until("reload")
    stream.close()


@pytest.mark.parametrize(("path", "status"), [("/api/jobs/none/events", 404), ("/api/jobs/events?since=x", 400)])
def test_a_stream_that_cannot_be_is_an_error_in_json(server: Server, path: str, status: int) -> None:
    stream = server.stream(path)
    assert stream.response.status == status
    assert json.loads(stream.response.read())["error"]["message"]
    stream.close()


def test_open_streams_do_not_hold_up_the_end(server: Server) -> None:
    streams = [server.stream("/api/jobs/events?since=1") for _ in range(20)]
    for stream in streams:
        stream.until("status")
    server.child.terminate()
    assert server.child.wait(timeout=6) is not None
    for stream in streams:
        stream.close()


def test_many_pages_need_no_more_connections_to_the_database(server: Server) -> None:
    streams = [server.stream("/api/jobs/events?since=1") for _ in range(40)]
    for stream in streams:
        stream.until("status")
    names = [entry.readlink().name for entry in Path(f"/proc/{server.child.pid}/fd").iterdir() if entry.is_symlink()]
    assert names.count("web.sqlite3") <= 4
    for stream in streams:
        stream.close()
