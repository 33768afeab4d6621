"""Feed recordings through the path of a live watcher: decode, reduce, append."""

import gzip
import heapq
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, cast

from jobs import models
from jobs.domain.facts import DELETED, LISTED, EventFacts, JobFacts, Observation, PodFacts, PodGroupFacts
from jobs.ingest.decode import DecodeError, RecordedLine, decode_recorded
from jobs.ingest.streams import StreamKey
from jobs.store.append import append
from jobs.store.gaps import Gap, unobserved
from jobs.store.ledger import Counts, Ledger
from jobs.store.streams import StreamUpdate, cluster_named, stream_for

BATCH = 1000  # lines an append when nobody waits for them
NAMES = ("watch.jsonl", "watch.jsonl.gz")


class ReplayError(Exception):
    """A path or option that cannot be used; the message says what to do."""


@dataclass(slots=True)
class Recording:
    """One file, read line by line. ``first``: lines to use at most; ``late``: lines that only build the list."""

    path: Path
    first: int | None = None
    late: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    unknown: Counter[str] = field(default_factory=Counter)
    last_at: float | None = None
    jobs: set[str] = field(default_factory=set)

    def lines(self) -> Iterator[RecordedLine]:
        """Decoded lines; what cannot be read is counted and passed over."""
        with _open(self.path) as file:
            for number, line in enumerate(file):
                if self.first is not None and number >= self.first:
                    return
                try:
                    recorded = decode_recorded(line)
                except DecodeError as error:
                    if line.strip():
                        self.skipped[error.reason] += 1
                    continue
                if recorded.event is None:
                    self.unknown[recorded.resource] += 1
                yield recorded

    def steps(self) -> Iterator[tuple[float, RecordedLine | list[Observation]]]:
        """(time, line) in order; a late start gives first (time, what a list at that moment would have held)."""
        state: dict[tuple[str, str], RecordedLine] = {}
        listed_at = 0.0
        for number, line in enumerate(self.lines()):
            if number < self.late:
                listed_at = line.received_at
                _remember(state, line)
                continue
            if number == self.late and self.late:
                yield listed_at, [_observation(kept, LISTED, listed_at) for kept in state.values()]
                state.clear()
            yield line.received_at, line
        if state:
            yield listed_at, [_observation(kept, LISTED, listed_at) for kept in state.values()]


def recordings(paths: list[str], first: int | None, late: int) -> list[Recording]:
    """The recordings behind files and folders. Raises ``ReplayError`` for a path that holds none."""
    return [Recording(_file(Path(path)), first, late) for path in paths]


def _file(path: Path) -> Path:
    if path.is_file():
        return path
    for name in NAMES:
        if (path / name).is_file():
            return path / name
    raise ReplayError(f"{path}: no such recording; give a {' or '.join(NAMES)}, or a folder that holds one.")


def _open(path: Path) -> BinaryIO:
    return cast(BinaryIO, gzip.open(path) if path.suffix == ".gz" else path.open("rb"))


def _remember(state: dict[tuple[str, str], RecordedLine], line: RecordedLine) -> None:
    if line.event is None or line.event.meta is None:
        return
    key = (line.resource, line.event.meta.uid)
    if line.event.type == DELETED:
        state.pop(key, None)
    else:
        state[key] = line


def _observation(line: RecordedLine, verb: str, at: float) -> Observation:
    assert line.event is not None and line.event.meta is not None
    meta = line.event.meta
    return Observation(
        verb, line.resource, meta.namespace, meta.name, meta.uid, meta.resource_version, at, line.event.facts
    )


class Replay:
    """Plays recordings into a cluster of the database."""

    def __init__(self, cluster: str, *, published: Callable[[int], None] | None = None) -> None:
        self.ledger = Ledger(cluster_named(cluster))
        self.counts = Counts()
        self._published = published
        self._streams: dict[str, models.Stream] = {}
        self._updates: dict[str, StreamUpdate] = {}
        self._batch: list[tuple[models.Stream, Observation]] = []

    def play(self, sources: list[Recording], speed: float | None = None) -> int:
        """Play all, merged by time; ``speed`` None means at once, else so many times real time. Answers the lines."""
        merged = heapq.merge(*(self._tagged(source) for source in sources), key=lambda step: step[0])
        lines, pace = 0, _Pace(speed)
        for at, source, step in merged:
            if pace.wait_for(at) and self._batch:
                self.flush()
            lines += self._take(source, at, step)
            if speed is not None or len(self._batch) >= BATCH:
                self.flush()
        for source in sources:
            self.flush_applied()
            if source.last_at is not None:
                self.ledger.observed(source.jobs, source.last_at)
        self.flush()
        return lines

    @staticmethod
    def _tagged(source: Recording) -> Iterator[tuple[float, Recording, RecordedLine | list[Observation]]]:
        for at, step in source.steps():
            yield at, source, step

    def _take(self, source: Recording, at: float, step: RecordedLine | list[Observation]) -> int:
        source.last_at = at
        if isinstance(step, list):
            self._list(source, at, step)
            return source.late
        event = step.event
        if event is None or event.meta is None:
            return 1
        observation = _observation(step, event.type, at)
        self._add(source, observation)
        return 1

    def _list(self, source: Recording, at: float, listed: list[Observation]) -> None:
        """A list at ``at``: what is there, and that nobody watched before."""
        for observation in listed:
            self._add(source, observation)
        self.flush_applied()
        resources = {observation.resource for observation in listed} | {"pods"}
        for resource in sorted(resources):
            unobserved(self.ledger, Gap(resource, None, lambda job: job.uid in source.jobs), at)

    def _add(self, source: Recording, observation: Observation) -> None:
        job = _job_uid(observation)
        if job:
            source.jobs.add(job)
        self._batch.append((self._stream(observation.resource), observation))

    def _stream(self, resource: str) -> models.Stream:
        if resource not in self._streams:
            self._streams[resource] = stream_for(self.ledger.cluster, StreamKey(resource, "", ""))
            self._updates[resource] = StreamUpdate(state="replayed")
        return self._streams[resource]

    def flush_applied(self) -> None:
        """Reduce what waits, in order, without storing it yet."""
        self.ledger.look_up(observation for _, observation in self._batch)
        position = 0
        while position < len(self._batch):
            stream = self._batch[position][0]
            run = [self._batch[position][1]]
            while position + len(run) < len(self._batch) and self._batch[position + len(run)][0] is stream:
                run.append(self._batch[position + len(run)][1])
            self._count(stream, run)
            position += len(run)
        self._batch.clear()

    def _count(self, stream: models.Stream, run: list[Observation]) -> None:
        counts = self.ledger.apply(stream.pk, run)
        update = self._updates[stream.resource]
        update.events += len(run)
        update.changes += counts.changed
        update.unchanged += counts.unchanged
        update.last_event_at = run[-1].observed_at
        self.counts.changed += counts.changed
        self.counts.unchanged += counts.unchanged
        self.counts.duplicate += counts.duplicate
        for odd, number in counts.homeless.items():
            self.counts.homeless[odd] = self.counts.homeless.get(odd, 0) + number

    def flush(self) -> None:
        """Reduce and store what waits."""
        self.flush_applied()
        seq = append(self.ledger, [(self._streams[name], update) for name, update in self._updates.items()])
        self._updates = {name: StreamUpdate() for name in self._streams}
        if self._published is not None:
            self._published(seq)


def _job_uid(observation: Observation) -> str | None:
    facts = observation.facts
    if isinstance(facts, JobFacts):
        return observation.uid
    if isinstance(facts, PodFacts | PodGroupFacts):
        return facts.job_uid
    return facts.involved_uid if isinstance(facts, EventFacts) and facts.involved_kind != "PodGroup" else None


class _Pace:
    """Waits until a recorded moment is due."""

    def __init__(self, speed: float | None) -> None:
        self._speed = speed
        self._origin: tuple[float, float] | None = None

    def wait_for(self, at: float) -> bool:
        """Sleep until ``at`` is due; True if it slept."""
        if self._speed is None:
            return False
        if self._origin is None:
            self._origin = (at, time.monotonic())
        due = self._origin[1] + (at - self._origin[0]) / self._speed
        left = due - time.monotonic()
        if left > 0:
            time.sleep(left)
        return left > 0
