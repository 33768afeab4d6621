"""A whole simulated cluster in a thread, whose truth is known, and watchers of it."""

import asyncio
import random
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from django.db import connection

from dashboard.env import ClusterSource
from jobs.domain.kinds import KINDS
from jobs.ingest.streams import streams_for
from jobs.ingest.timing import Timing
from jobs.sessions import run_session
from simcluster.clock import LoopClock
from simcluster.cluster import Cluster
from simcluster.http import ApiServer
from simcluster.kubeconfig import kubeconfig
from simcluster.manifests import EXPERIMENTS, seed_experiment
from simcluster.options import Fault, Options
from simcluster.resources import PODS, Resource
from simcluster.server import bind, serve
from simcluster.store import Store
from tests.simcluster.simserver import SimServer
from tests.watch.reading import Counts

Obj = dict[str, Any]
DAY = 24 * 3600
STREAMS = len(streams_for(KINDS))

# As in production, but with pauses that a test can wait for.
FAST = Timing(
    backoff_min=0.05,
    backoff_max=0.2,
    slow_retry=0.3,
    shortest_watch=0.05,
    request_timeout=3,
    read_timeout=1.0,
    event_cursor_age=2.0,
)


class LiveCluster(SimServer):
    """A cluster with its controllers. The API server may go ``down`` and come ``up`` at the same address, while the
    cluster goes on. ``counts`` is the truth: every pod that there ever was."""

    def __init__(
        self, folder: Path, *, speed: float = 30.0, bookmark_seconds: float = 0.2, seed: int = 1, port: int = 0
    ) -> None:
        super().__init__(Options(bookmark_seconds=bookmark_seconds))
        self._speed = speed
        self._seed = seed
        self._server: asyncio.Task[None] | None = None
        self.written: dict[int, float] = {}  # by the resourceVersion of a pod: when it was written, in real time
        self._pods: dict[str, tuple[tuple[str, str, int], int]] = {}  # by UID: whose, highest restartCount
        self.kubeconfig = folder / f"kubeconfig-{seed}"
        self.port = port

    async def _main(self) -> None:
        self.loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        self.clock = LoopClock(self.loop, self._speed)
        self.store = Store(self.clock, random.Random(self._seed))
        self.store.subscribe(self._note)
        self.cluster = Cluster(self.clock, self._seed, store=self.store)
        await self._up()
        self.kubeconfig.write_text(kubeconfig(self.url))
        self.loop.call_soon(self._started.set)
        await self._stop.wait()
        await self._down()
        self.clock.close()

    async def _up(self) -> None:
        self.options.faults.clear()
        self.api = ApiServer(self.store, self.options, acts=self.cluster)
        self._end_serving = asyncio.Event()
        listener = bind(self.port)
        assert self.port in (0, listener.getsockname()[1])
        self.port = listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._server = asyncio.create_task(serve(self.api, listener, self._end_serving))

    async def _down(self) -> None:
        if self._server is not None:
            # Until it is gone it takes no more requests: its watches hear nothing of the store any more.
            self.options.faults.append(Fault(429, 1_000_000, 0))
            self._end_serving.set()
            await self._server
            self._server = None

    def compact(self) -> None:
        """The cluster forgets all that has happened."""
        self.call(self.store.compact)

    def up(self) -> None:
        asyncio.run_coroutine_threadsafe(self._up(), self.loop).result(10)

    def down(self) -> None:
        """No API server: connections end and new ones are refused."""
        asyncio.run_coroutine_threadsafe(self._down(), self.loop).result(10)

    def _note(self, _type: str, resource: Resource, obj: Obj, _old: Obj | None) -> None:
        if resource is not PODS:
            return
        metadata = obj["metadata"]
        self.written[int(metadata["resourceVersion"])] = time.time()
        labels = metadata.get("labels") or {}
        if "training.kubeflow.org/job-name" not in labels:
            return
        place = (labels["training.kubeflow.org/job-name"], labels["training.kubeflow.org/replica-type"])
        statuses = (obj.get("status") or {}).get("containerStatuses") or [{}]
        restarts = max(status.get("restartCount", 0) for status in statuses)
        known = self._pods.get(metadata["uid"], (None, 0))[1]
        whose = (*place, int(labels["training.kubeflow.org/replica-index"]))
        self._pods[metadata["uid"]] = (whose, max(known, restarts))

    def counts(self) -> Counts:
        """As ``reading.counts`` gives them of a report."""
        found: Counts = {}
        for whose, restarts in list(self._pods.values()):
            pods, in_place = found.get(whose, (0, 0))
            found[whose] = (pods + 1, in_place + restarts)
        return found

    def pods(self) -> int:
        """How many pods there ever were."""
        return len(self._pods)

    def run(self, name: str, **changes: Any) -> None:
        """A seed experiment as job ``name``: worker 0 exits with 138 after 4 s, over and over, the others run on."""
        manifest = seed_experiment("live", name, **{"failing_after": 4, "others_run": DAY, "ps_runs": 250} | changes)
        self.call(self.cluster.apply, manifest)

    def experiment(self, name: str) -> None:
        self.call(self.cluster.apply, EXPERIMENTS[name]())

    def freeze(self) -> Counts:
        """Nothing happens any more. Answers what has happened."""
        self.call(self.clock.set_speed, 0.0001)
        version = -1
        # What was due already is still done, and on a busy machine that can be a lot.
        while self.call(self._is_behind) or version != self.store.resource_version:
            version = self.store.resource_version
            time.sleep(0.2)
        return self.counts()

    def _is_behind(self) -> bool:
        due = self.clock._timers.next_due()
        return due is not None and due <= self.clock.now()

    def watched(self) -> list[str]:
        """The resource of each open watch."""
        return self.call(lambda: [watcher.resource.qualified for watcher in self.api.hub])

    def is_watched(self) -> bool:
        """Whether one watcher has opened all its streams."""
        return len(self.watched()) == STREAMS

    def source(self, name: str) -> ClusterSource:
        return ClusterSource(name, str(self.kubeconfig))


class Follower:
    """A watch session in a thread, under a cluster's name. Leaving the block ends it, and raises what ended it."""

    def __init__(self, source: ClusterSource, **options: Any) -> None:
        self.stop = threading.Event()
        self.error: BaseException | None = None
        self._source = source
        self._options = {"timing": FAST} | options
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        try:
            run_session(self._source, self.stop, **self._options)
        except BaseException as error:
            self.error = error
        finally:
            connection.close()

    def ended(self, seconds: float = 0) -> bool:
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def end(self) -> float:
        """Seconds that it takes to end."""
        began = time.monotonic()
        self.stop.set()
        assert self.ended(10), "the session does not end"
        return time.monotonic() - began

    def start(self) -> Self:
        self._thread.start()
        return self

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.end()
        if kind is None and self.error is not None:
            raise self.error


def wait_until(condition: Callable[[], object], seconds: float = 45, what: Callable[[], object] | None = None) -> None:
    """Fails with ``what()`` if the condition does not come true."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds} s: {what() if what else condition}"
        time.sleep(0.03)
