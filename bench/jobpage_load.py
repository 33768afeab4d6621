"""A live job under steady load: workers of the seed experiment that fail and come back, through a watcher's own path
(decode, reduce, store, publish)."""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from django.db import connection

from bench.recorded import recorded_lines, scenarios
from jobs.ingest.decode import decode_line
from jobs.ingest.messages import Changed, ListDone, Listing, Message, State, Status
from jobs.ingest.streams import StreamKey
from jobs.models import Job, Sequence
from jobs.watcher import Watcher

BATCH = 10  # events in one append, as a watcher's 50 ms hold them at 200 a second
WORKERS = 20
JOBS, PODS = StreamKey("tfjobs.kubeflow.org", "", ""), StreamKey("pods", "", "")


@dataclass
class Load:
    """``appends``: when each event batch was handed to the watcher, and the sequence number that it got."""

    per_second: int
    appends: list[tuple[float, int]] = field(default_factory=list)
    rate: float = 0.0

    def __post_init__(self) -> None:
        path = next(path for path in scenarios() if path.name == "seed-exitcode-138")
        lines = [json.loads(line) for line in recorded_lines(path)]
        self._job = next(line["object"] for line in lines if line["resource"] == "tfjobs.kubeflow.org")
        pods = [line for line in lines if line["resource"] == "pods" and line["type"] != "BOOKMARK"]
        worker = [line for line in pods if line["object"]["metadata"]["name"] == "tftest-worker-0"]
        first = worker[0]["object"]["metadata"]["uid"]
        # created, running, failed, deleted: all that a short life needs
        own = [one for one in worker if one["object"]["metadata"]["uid"] == first]
        running = next(one for one in own if one["object"]["status"]["phase"] == "Running")
        failed = next(one for one in own if one["object"]["status"]["phase"] == "Failed")
        self._life = [own[0], running, failed, own[-1]]
        self._version = 50_000_000
        self._born: dict[int, str] = {}
        self._watcher = Watcher("live", [JOBS, PODS], None)
        for key in (JOBS, PODS):
            self._watcher.take([(key, message) for message in _watching()])
        self._take([(JOBS, self._changed(JOBS, "ADDED", self._job))])
        self._take([(PODS, self._event(n, worker)) for worker in range(WORKERS) for n in range(2)])

    @property
    def uid(self) -> str:
        return Job.objects.get(cluster__name="live").uid

    def run(self, seconds: float) -> None:
        """Store events for so long; each worker fails, goes, is created and runs again."""
        began, count = time.time(), 0
        events = self._events()
        while time.time() - began < seconds:
            at = time.time()
            self._take([next(events) for _ in range(BATCH)])
            self.appends.append((at, Sequence.objects.get(id=1).value))
            count += BATCH
            time.sleep(max(0.0, began + count / self.per_second - time.time()))
        self.rate = count / (time.time() - began)
        connection.close()

    def _take(self, batch: list[tuple[StreamKey, Message]]) -> None:
        self._watcher.take(batch)

    def _events(self) -> Iterator[tuple[StreamKey, Message]]:
        step = 2
        while True:
            for worker in range(WORKERS):
                yield PODS, self._event(step, worker)
            step += 1

    def _event(self, step: int, worker: int) -> Message:
        """The n-th event of a worker: its lives follow each other."""
        life, stage = divmod(step, len(self._life))
        line = self._life[stage]
        pod = json.loads(json.dumps(line["object"]))
        pod["metadata"]["name"] = f"tftest-worker-{worker}"
        pod["metadata"]["uid"] = f"{life:08x}-0000-4000-8000-{worker:012x}"
        pod["metadata"]["labels"]["training.kubeflow.org/replica-index"] = str(worker)
        if stage == 0:
            self._born[worker] = _now()
        pod["metadata"]["creationTimestamp"] = self._born[worker]
        return self._changed(PODS, line["type"], pod)

    def _changed(self, key: StreamKey, verb: str, found: dict[str, Any]) -> Changed:
        self._version += 1
        found["metadata"]["resourceVersion"] = str(self._version)
        if key is JOBS:
            found["metadata"]["creationTimestamp"] = _now()
        text = json.dumps({"type": verb, "object": found}).encode()
        return Changed(decode_line(key.resource, text), time.time())


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _watching() -> list[Message]:
    now = time.time()
    return [Listing(now), ListDone(1, frozenset(), now, now), Status(State.WATCHING, "", now)]
