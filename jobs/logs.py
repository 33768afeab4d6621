"""Fetch the last log lines of each run of a main container at once when it is seen to have ended.

A few threads of its own: a slow API server must hold up neither the streams nor the append. What does not fit the queue
is left out, and said so; the count never depends on it.
"""

import contextlib
import logging
import queue
import threading
from collections import OrderedDict
from collections.abc import Iterable
from typing import Self

from jobs.domain.facts import DELETED, VANISHED, ContainerFacts, Observation, PodFacts
from jobs.domain.pods import FILLER, main_container
from jobs.ingest.logs import LogRequest, LogTail, fetch_tail
from jobs.ingest.transport import Stop, Transport

log = logging.getLogger(__name__)

THREADS = 4  # a wave of 60 ends within seconds, a request takes some 20 ms
WAITING = 500  # requests; what is older than that belongs to pods that are gone
REMEMBERED = 20_000  # runs that were asked for already


class LogFetcher:
    """Takes observations, gives tails; a context manager that runs its threads."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._requests: queue.Queue[LogRequest | None] = queue.Queue(WAITING)
        self._tails: queue.SimpleQueue[LogTail] = queue.SimpleQueue()
        self._asked: OrderedDict[tuple[str, str], None] = OrderedDict()
        self._stops = [Stop() for _ in range(THREADS)]
        self._threads = [threading.Thread(target=self._work, args=(stop,), daemon=True) for stop in self._stops]
        self._forbidden = False

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """End the threads; what was not fetched by now stays unknown."""
        for stop in self._stops:
            stop.set()
        with contextlib.suppress(queue.Full):  # then they look at their stop before the next request
            for _thread in self._threads:
                self._requests.put_nowait(None)

    def look(self, observations: Iterable[Observation]) -> None:
        """Ask for the log of each run that has ended and was not asked for yet."""
        if self._forbidden:
            return
        for observation in observations:
            request = wanted(observation)
            if request is None or (request.pod_uid, request.container_id) in self._asked:
                continue
            self._remember(request)
            try:
                self._requests.put_nowait(request)
            except queue.Full:
                self._tails.put(LogTail(request, "", "Too many containers ended at once to ask for all their logs."))

    def _remember(self, request: LogRequest) -> None:
        self._asked[request.pod_uid, request.container_id] = None
        if len(self._asked) > REMEMBERED:
            self._asked.popitem(last=False)

    def ready(self) -> list[LogTail]:
        """What has been fetched since the last call."""
        tails = []
        while not self._tails.empty():
            tails.append(self._tails.get())
        return tails

    def _work(self, stop: Stop) -> None:
        while not stop.is_set():
            request = self._requests.get()
            if request is None or stop.is_set():
                return
            try:
                tail = fetch_tail(self._transport, request, stop)
            except Exception:
                log.exception("A log could not be fetched")
                continue
            if tail.forbidden and not self._forbidden:
                self._forbidden = True
                log.warning(
                    "Logs may not be read: %s; give the account `get` on pods/log, or switch the setting "
                    "RESTARTSCOPE_POD_LOGS off. The rest goes on.",
                    tail.problem,
                )
            self._tails.put(tail)


def wanted(observation: Observation) -> LogRequest | None:
    """The run of a pod's main container whose end this observation shows, if its log can still be there."""
    facts = observation.facts
    if not isinstance(facts, PodFacts) or observation.verb in (DELETED, VANISHED) or not facts.job_uid:
        return None
    main = main_container(facts)
    if main is None:
        return None
    if _has_log(main, current=True):
        return _request(observation, facts, main, current=True)
    return _request(observation, facts, main, current=False) if _has_log(main, current=False) else None


def _has_log(main: ContainerFacts, *, current: bool) -> bool:
    end = main.terminated if current else main.last_terminated
    return end is not None and bool(end.container_id) and end.reason != FILLER


def _request(observation: Observation, facts: PodFacts, main: ContainerFacts, *, current: bool) -> LogRequest:
    end = main.terminated if current else main.last_terminated
    assert end is not None and end.container_id is not None and facts.job_uid is not None
    # While a back-off waits, the container that ended is still the current one for the kubelet.
    previous = not current and main.state == "running"
    return LogRequest(
        facts.job_uid,
        observation.namespace,
        observation.name,
        observation.uid,
        main.name,
        end.container_id,
        previous,
    )
