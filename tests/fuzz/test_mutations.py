"""Recorded objects, mutated: no exception leaves decoder, reducer or append, and neighbours are as without them.

Fields are missing, null, of another type, huge, in another order, or say what another field says. What cannot be read
is counted by its stream under its reason.
"""

import gzip
import json
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from functools import cache
from itertools import count
from typing import Any

import pytest
from django.db import transaction
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from jobs import models
from jobs.domain.report import job_report
from jobs.domain.rollup import roll_up
from jobs.domain.totals import job_numbers
from jobs.ingest.decode import DecodeError, decode_line, understands
from jobs.ingest.messages import Changed, ListDone, Message, Skipped, State, Status
from jobs.ingest.streams import StreamKey
from jobs.store.load import load_states
from jobs.store.reports import ReportFilter, reports
from jobs.watcher import Watcher
from tests.support.truth import RECORDINGS, scenarios

pytestmark = pytest.mark.django_db

Json = Any
Path = tuple[str | int, ...]
numbers = count()

NEIGHBOUR = "sidecar-restarts"
DROP, REVERSE, COPY = "drop", "reverse", "copy"
SHAPES: tuple[Json, ...] = (None, True, 0, -1, 1.5, "", [], {}, [None], [[]], [{}], {"": None}, {"a": {"b": [1]}})
NUMBERS: tuple[Json, ...] = (2**31 - 1, 2**31, -(2**31) - 1, 2**53, 2**53 + 1, 2**63, 10**30, 1e308, -1e308)
TEXTS: tuple[Json, ...] = (
    "x" * 70,
    "y" * 300,
    "z" * 100_000,
    "\0",
    "a\0b",
    "\ud800",
    "٣",
    "-1",
    "99999999999999999999",
    "0001-01-01T00:00:00Z",
    "9999-12-31T23:59:59-23:59",
    "1969-12-31T23:59:59Z",
    "2026-02-30T00:00:00Z",
    "True",
    "False",
    "Running",
    "Failed",
    "Restarting",
    "OOMKilled",
    "ContainerStatusUnknown",
)
VALUES = (DROP, REVERSE, COPY, *SHAPES, *NUMBERS, *TEXTS)


@cache
def recorded(scenario: str) -> list[Json]:
    text = gzip.decompress((RECORDINGS / scenario / "watch.jsonl.gz").read_bytes())
    return [line for line in map(json.loads, text.splitlines()) if understands(line["resource"])]


@cache
def chosen() -> tuple[str, ...]:
    return tuple(name for name in scenarios() if len(recorded(name)) < 250 and name != NEIGHBOUR)


def paths(value: Json, path: Path = ()) -> Iterator[Path]:
    if path:
        yield path
    if isinstance(value, dict):
        for name, part in value.items():
            yield from paths(part, (*path, name))
    elif isinstance(value, list):
        for number, part in enumerate(value):
            yield from paths(part, (*path, number))


def mutate(target: Json, path: Path, value: Json, other: Json) -> None:
    """Change ``target`` at ``path``, if it has it; ``other`` is the value of another field."""
    for step in path[:-1]:
        try:
            target = target[step]
        except (KeyError, IndexError, TypeError):
            return
    last = path[-1]
    try:
        here = target[last]
        if value == DROP:
            del target[last]
        elif value == REVERSE:
            target[last] = reversed_order(here)
        else:
            target[last] = deepcopy(other if value == COPY else value)
    except (KeyError, IndexError, TypeError):
        return


def reversed_order(value: Json) -> Json:
    if isinstance(value, dict):
        return dict(reversed(value.items()))
    return value[::-1] if isinstance(value, list | str) else value


def at(value: Json, path: Path) -> Json:
    for step in path:
        value = value[step]
    return value


def mutated(data: st.DataObject, lines: Sequence[Json]) -> list[Json]:
    """The lines with some fields changed; a change may stay with the object for all its later lines."""
    changed = [deepcopy(line) for line in lines]
    for _ in range(data.draw(st.integers(1, 12), "mutations")):
        number = data.draw(st.integers(0, len(lines) - 1), "line")
        places = sorted(paths(lines[number]["object"]), key=repr)
        path = data.draw(st.sampled_from(places), "path")
        value = data.draw(st.sampled_from(VALUES), "value")
        other = at(lines[number]["object"], data.draw(st.sampled_from(places), "copied from"))
        uid = lines[number]["object"].get("metadata", {}).get("uid")
        stays = data.draw(st.booleans(), "stays")
        for later in range(number, len(lines) if stays else number + 1):
            if lines[later]["object"].get("metadata", {}).get("uid") == uid:
                mutate(changed[later]["object"], path, value, other)
    return changed


def encoded(line: Json) -> tuple[StreamKey, bytes, float]:
    text = json.dumps({"type": line["type"], "object": line["object"]}).encode()
    return StreamKey(line["resource"], "", ""), text, line["received_at"]


class Fed:
    """A watcher that took lines, and what became of them."""

    def __init__(self, lines: Sequence[Json], batch: int) -> None:
        self.name = f"fuzz-{next(numbers)}"
        fed = [encoded(line) for line in lines]
        keys = list(dict.fromkeys(key for key, _, _ in fed))
        self.now = 0.0
        self.skipped: Counter[str] = Counter()
        self.watcher = Watcher(self.name, keys, None, clock=lambda: self.now)
        self.watcher.take([(key, ListDone(0, frozenset(), 0.0, 0.0)) for key in keys])
        self.watcher.take([(key, Status(State.WATCHING, "", 0.0)) for key in keys])
        messages = [(key, self.message(key, text, when)) for key, text, when in fed]
        for start in range(0, len(messages), batch):
            self.watcher.take([(key, message) for key, message in messages[start : start + batch] if message])

    def message(self, key: StreamKey, text: bytes, when: float) -> Message | None:
        self.now = when
        try:
            event = decode_line(key.resource, text)
        except DecodeError as error:
            self.skipped[error.reason] += 1
            return Skipped(error.reason, "sample")
        return Changed(event, when) if event.meta is not None else None

    def counted(self) -> Counter[str]:
        total: Counter[str] = Counter()
        for reasons in models.Stream.objects.filter(cluster=self.watcher.cluster).values_list("skipped", flat=True):
            total.update(reasons)
        return total

    def reports(self) -> dict[str, Json]:
        return {job["uid"]: job for job in reports(ReportFilter(cluster=self.name))}

    def kept_as_stored(self) -> None:
        """Memory and the rows say the same, and sums that are kept equal those from scratch."""
        rows = dict(models.Job.objects.filter(cluster=self.watcher.cluster).values_list("id", "uid"))
        for job_id, stored in load_states(rows).items():
            job = self.watcher.ledger.jobs[rows[job_id]]
            assert job_report(stored) == job_report(job)
            assert roll_up(job).total == job_numbers(job)


def without_cluster(job: Json) -> Json:
    return {name: value for name, value in job.items() if name not in ("cluster", "last_observed_at")}


neighbours: dict[str, Json] = {}


def neighbour() -> dict[str, Json]:
    """The report of the untouched recording alone."""
    if not neighbours:
        told = Fed(recorded(NEIGHBOUR), 50).reports()
        neighbours.update({uid: without_cluster(job) for uid, job in told.items()})
    return neighbours


def merged(lines: Sequence[Json]) -> list[Json]:
    """The neighbour's lines between them, in the same batches."""
    own = recorded(NEIGHBOUR)
    both = [(number / len(lines), 0, line) for number, line in enumerate(lines)]
    both += [(number / len(own), 1, line) for number, line in enumerate(own)]
    return [line for _, _, line in sorted(both, key=lambda item: item[:2])]


def check(data: st.DataObject) -> None:
    lines = mutated(data, recorded(data.draw(st.sampled_from(chosen()), "scenario")))
    with transaction.atomic():  # so that a refused statement is seen, and not what comes after it
        fed = Fed(merged(lines), data.draw(st.sampled_from([1, 30, 200]), "batch"))
        told = fed.reports()
        json.dumps(list(told.values()))
        assert {uid: without_cluster(told[uid]) for uid in neighbour()} == neighbour()
        counted = fed.counted()
        assert {reason: counted[reason] for reason in fed.skipped} == dict(fed.skipped)
        assert all(" of an" in reason for reason in counted.keys() - fed.skipped.keys())  # without a home
        fed.kept_as_stored()


def run(examples: int, property_: Callable[[st.DataObject], None], *, quick: bool) -> None:
    chosen_settings = settings(
        max_examples=examples,
        deadline=None,
        database=None,
        derandomize="EXPLORE" not in os.environ,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate] if quick else [Phase.generate, Phase.shrink],
    )
    chosen_settings(given(st.data())(property_))()


def test_mutated_objects_spoil_nothing_but_themselves() -> None:
    run(60, check, quick=True)


@pytest.mark.deep
@pytest.mark.timeout(1800)
def test_many_mutated_objects() -> None:
    run(600, check, quick=False)
