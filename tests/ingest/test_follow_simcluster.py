"""The whole way against the simulated cluster: a session of all streams follows the seed experiment through trouble."""

import json
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from jobs.domain.facts import PodFacts
from jobs.domain.kinds import KINDS, PODS
from jobs.ingest.connection import connect
from jobs.ingest.messages import Changed, Expired, ListDone, Listed, Message, Skipped, State, Status, cursor_after
from jobs.ingest.session import Session
from jobs.ingest.streams import StreamKey, streams_for
from jobs.ingest.timing import Timing

SPEED = 20  # simulated seconds per second
STREAMS = streams_for(KINDS)
POD_KEY = next(stream.key for stream in STREAMS if stream.resource == PODS)
FAST = Timing(backoff_min=0.05, backoff_max=0.2, slow_retry=0.2)


class Simulated:
    def __init__(self, processes: Any, folder: Path) -> None:
        self.kubeconfig = folder / "kubeconfig"
        port_file = folder / "port"
        options = ["--run", "seed", "--speed", str(SPEED), "--forbid", "xgboostjobs.kubeflow.org"]
        options += ["--without", "paddlejobs.kubeflow.org", "--bookmark-seconds", "0.3"]
        options += ["--kubeconfig-out", str(self.kubeconfig), "--port-file", str(port_file)]
        child = processes.python("-m", "simcluster", *options, name="simcluster")
        processes.wait_for(lambda: port_file.exists() and port_file.read_text().strip(), child)
        self._url = f"http://127.0.0.1:{int(port_file.read_text())}"

    def control(self, action: str, **body: Any) -> None:
        request = urllib.request.Request(f"{self._url}/sim/{action}", json.dumps(body).encode(), method="POST")
        with urllib.request.urlopen(request, timeout=5) as answer:
            assert answer.status == 200


class Seen:
    """A session's messages, and the cursor of each stream."""

    def __init__(self, source: Path, resume: dict[StreamKey, int] | None = None) -> None:
        self.messages: list[tuple[StreamKey, Message]] = []
        self.cursors: dict[StreamKey, int] = dict(resume or {})
        self.session = Session(connect(str(source)), STREAMS, resume, timing=FAST)
        self._batches = self.session.batches(idle=0.1)
        self.session.start()

    def until(self, condition: Callable[[], object], seconds: float = 30) -> None:
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, [m for k, m in self.messages if k == POD_KEY][-20:]
            for key, message in next(self._batches):
                self.messages.append((key, message))
                self.cursors[key] = cursor_after(message) or self.cursors.get(key, 0)

    def of(self, type_: type, key: StreamKey | None = None) -> list[Any]:
        return [m for k, m in self.messages if isinstance(m, type_) and key in (None, k)]

    def pod_versions(self) -> list[int]:
        return [change.event.resource_version for change in self.of(Changed, POD_KEY)]

    def incarnations(self, worker: str) -> set[str]:
        changed = [change.event.meta for change in self.of(Changed, POD_KEY)]
        listed = [meta for page in self.of(Listed, POD_KEY) for meta, _ in page.items]
        return {meta.uid for meta in changed + listed if meta.name == worker}

    def states(self, resource: str) -> list[State]:
        return [m.state for k, m in self.messages if isinstance(m, Status) and k.resource == resource]


@pytest.fixture
def simulated(processes: Any, tmp_path: Path) -> Simulated:
    return Simulated(processes, tmp_path)


@pytest.fixture
def sessions() -> Iterator[list[Seen]]:
    opened: list[Seen] = []
    yield opened
    for seen in opened:
        seen.session.stop()


def test_the_seed_experiment_is_followed(simulated: Simulated, sessions: list[Seen]) -> None:
    seen = Seen(simulated.kubeconfig)
    sessions.append(seen)
    seen.until(lambda: len(seen.incarnations("tftest-worker-0")) >= 3)
    assert seen.of(Skipped) == []
    exits = {
        container.terminated.exit_code
        for change in seen.of(Changed, POD_KEY)
        if isinstance(change.event.facts, PodFacts) and change.event.meta.name == "tftest-worker-0"
        for container in change.event.facts.containers
        if container.terminated is not None
    }
    assert exits == {138}
    changed = {key.resource for key, message in seen.messages if isinstance(message, Changed)}
    assert {"pods", "events", "tfjobs.kubeflow.org", "podgroups.scheduling.volcano.sh"} <= changed
    assert set(seen.states("xgboostjobs.kubeflow.org")) == {State.FORBIDDEN}
    assert set(seen.states("paddlejobs.kubeflow.org")) == {State.NOT_INSTALLED}


def test_cuts_and_throttling_lose_nothing_and_repeat_nothing(simulated: Simulated, sessions: list[Seen]) -> None:
    disturbed = Seen(simulated.kubeconfig)
    sessions.append(disturbed)
    disturbed.until(lambda: State.WATCHING in disturbed.states(PODS))
    first = disturbed.cursors[POD_KEY]
    for mode in ("close", "abort"):
        so_far = len(disturbed.pod_versions())
        simulated.control("faults", code=429, count=2, retry_after=0, resource=PODS)
        simulated.control("watches/end", mode=mode, resource=PODS)
        disturbed.until(lambda so_far=so_far: len(disturbed.pod_versions()) > so_far + 5)
    assert {State.RECONNECTING, State.THROTTLED} <= set(disturbed.states(PODS))
    # The session is stopped and its successor goes on from the cursor, as a hand-over does.
    disturbed.session.stop()
    successor = Seen(simulated.kubeconfig, disturbed.cursors)
    sessions.append(successor)
    successor.until(lambda: len(successor.pod_versions()) > 5)
    last = successor.pod_versions()[-1]
    # What really happened: one undisturbed watch over the same span, from the cluster's history.
    truth = Seen(simulated.kubeconfig, {POD_KEY: first})
    sessions.append(truth)
    truth.until(lambda: truth.pod_versions() and truth.pod_versions()[-1] >= last)
    followed = [version for version in disturbed.pod_versions() + successor.pod_versions() if version > first]
    assert followed == [version for version in truth.pod_versions() if version <= last]
    assert disturbed.of(Expired, POD_KEY) == successor.of(Expired, POD_KEY) == []


def test_an_expired_cursor_opens_a_gap_that_a_list_closes(simulated: Simulated, sessions: list[Seen]) -> None:
    seen = Seen(simulated.kubeconfig)
    sessions.append(seen)
    seen.until(lambda: len(seen.pod_versions()) > 5)
    seen.session.stop()
    old = dict(seen.cursors)
    time.sleep(1.5)  # half a minute of the cluster's time
    simulated.control("compact")
    late = Seen(simulated.kubeconfig, old)
    sessions.append(late)
    late.until(lambda: late.of(ListDone, POD_KEY) and len(late.pod_versions()) > 3)
    assert [expired.since for expired in late.of(Expired, POD_KEY)] == [old[POD_KEY]]
    (done,) = late.of(ListDone, POD_KEY)
    assert done.resource_version > old[POD_KEY]
    assert len(done.seen) <= 4
    assert late.pod_versions()[0] > done.resource_version


def test_a_crd_that_is_installed_later_is_found(simulated: Simulated, sessions: list[Seen]) -> None:
    seen = Seen(simulated.kubeconfig)
    sessions.append(seen)
    seen.until(lambda: State.NOT_INSTALLED in seen.states("paddlejobs.kubeflow.org"))
    simulated.control("missing", resources=[])
    seen.until(lambda: State.WATCHING in seen.states("paddlejobs.kubeflow.org"))
