"""The last lines of a run: asked for at once when its container is seen to have ended, kept with the job."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from jobs import models
from jobs.domain.facts import DELETED, MODIFIED, ContainerFacts, Observation, PodFacts, Terminated
from jobs.ingest.connection import connect
from jobs.ingest.decode import ObjectMeta
from jobs.ingest.logs import KEPT_BYTES, LogRequest, LogTail, fetch_tail
from jobs.ingest.transport import Stop
from jobs.logs import LogFetcher, wanted
from tests.ingest.recorded import exchange
from tests.ingest.scripted_server import Reply, ScriptedServer, kubeconfig
from tests.watch.scripted import PODS, TFJOBS, Item, Rig, job, pod

REQUEST = LogRequest("uid-job", "ns", "tftest-worker-0", "a", "tensorflow", "containerd://1")


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        yield running


def tail_of(server: ScriptedServer, folder: Path, request: LogRequest = REQUEST) -> LogTail:
    connection = connect(kubeconfig(folder / "config", server.url))
    try:
        return fetch_tail(connection, request, Stop())
    finally:
        connection.close()


def test_the_request_names_the_container_and_bounds_the_answer(server: ScriptedServer, tmp_path: Path) -> None:
    server.replies.append(Reply([b"step 1\n", b"step 2\n"]))
    assert tail_of(server, tmp_path).text == "step 1\nstep 2\n"
    asked = server.requests[0]
    assert asked.path == "/api/v1/namespaces/ns/pods/tftest-worker-0/log"
    assert (asked.query["container"], asked.query["tailLines"]) == ("tensorflow", "50")
    assert int(asked.query["limitBytes"]) >= KEPT_BYTES
    assert "previous" not in asked.query


def test_of_a_long_log_the_end_is_kept(server: ScriptedServer, tmp_path: Path) -> None:
    server.replies.append(Reply([b"x" * 100_000, b"Traceback"]))
    text = tail_of(server, tmp_path).text
    assert len(text) == KEPT_BYTES
    assert text.endswith("Traceback")


def test_control_characters_are_shown_as_unknown(server: ScriptedServer, tmp_path: Path) -> None:
    server.replies.append(Reply([b"a\x1b[31mred\x00\xff\r\n\tb\n"]))
    assert tail_of(server, tmp_path).text == "a\ufffd[31mred\ufffd\ufffd\n\tb\n"


def test_a_pod_that_is_gone_is_said_in_the_servers_words(server: ScriptedServer, tmp_path: Path) -> None:
    server.replies.append(Reply.of(exchange("log-gone")))
    tail = tail_of(server, tmp_path)
    assert (tail.text, tail.problem) == ("", 'pods "absent" not found')


def ended(uid: str, version: int, *, container: str = "containerd://1", again: bool = False) -> Item:
    """A worker whose main container ended with 138; ``again``: a newer run of it is under way."""
    end = Terminated(138, "Error", finished_at=1.0, container_id=container)
    main = ContainerFacts(
        "tensorflow",
        state="running" if again else "terminated",
        terminated=None if again else end,
        last_terminated=end if again else None,
        restart_count=int(again),
    )
    meta, facts = pod(uid, version)
    assert isinstance(facts, PodFacts)
    return ObjectMeta(*meta), facts._replace(containers=(main,))


class Recorder:
    """Stands where the connection does, and answers every request with its own path and query."""

    def __init__(self, status: int = 200) -> None:
        self.asked: list[dict[str, str]] = []
        self.status = status

    def open(self, path: str, query: dict[str, str], **_: object) -> "Recorder":
        self.asked.append({"path": path, **query})
        return self

    def read(self, _limit: int) -> bytes:
        return b"last words\n" if self.status == 200 else b'{"message": "pods/log is forbidden"}'

    def __enter__(self) -> "Recorder":
        return self

    def __exit__(self, *_: object) -> None: ...


def wait_for(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def stored_now(rig: Rig) -> bool:
    """Let the watcher look around once, as it does when idle; whether a log has come by then."""
    rig.now += 10
    rig.watcher.take([])
    return models.LogTail.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_each_run_is_asked_for_once_and_kept() -> None:
    transport = Recorder()
    rig = Rig()
    with LogFetcher(transport) as logs:  # type: ignore[arg-type]
        rig.watcher._logs = logs
        rig.see(TFJOBS, job(1, "Created"), type_="ADDED")
        rig.see(PODS, ended("a", 2), type_="ADDED")
        meta, facts = ended("a", 3)
        rig.see(PODS, (meta, facts._replace(phase="Failed")))  # type: ignore[call-arg]
        wait_for(lambda: stored_now(rig))
    assert len(transport.asked) == 1
    tail = models.LogTail.objects.get()
    assert (tail.pod_uid, tail.container_id, tail.text) == ("a", "containerd://1", "last words\n")


def test_a_run_that_was_replaced_in_place_is_the_previous_one() -> None:
    meta, facts = ended("a", 2, again=True)
    request = wanted(Observation(MODIFIED, "pods", meta.namespace, meta.name, meta.uid, 2, 1.0, facts))
    assert request is not None
    assert request.previous


def test_a_deleted_pod_is_not_asked_for() -> None:
    meta, facts = ended("a", 2)
    assert wanted(Observation(DELETED, "pods", meta.namespace, meta.name, meta.uid, 2, 1.0, facts)) is None


def test_without_the_right_nobody_asks_a_second_time(caplog: pytest.LogCaptureFixture) -> None:
    transport = Recorder(403)
    with LogFetcher(transport) as logs:  # type: ignore[arg-type]
        for number in range(3):
            meta, facts = ended(f"pod-{number}", 2)
            logs.look([Observation(MODIFIED, "pods", meta.namespace, meta.name, meta.uid, 2, 1.0, facts)])
            wait_for(lambda: len(transport.asked) == 1)
            wait_for(lambda: "pods/log" in caplog.text)
    assert len(transport.asked) == 1
    assert caplog.text.count("Logs may not be read") == 1
