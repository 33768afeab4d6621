"""Nothing is dated inside an interval that nobody watched, but by what the cluster itself wrote down."""

import json
import random
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

import pytest
from django.db.models import Model

from jobs import models
from jobs.models import Time
from tests.properties.plays import Played
from tests.properties.test_plays import played, seeds, watcher_of

pytestmark = pytest.mark.django_db
SLACK = 1e-5  # reports tell microseconds
DATE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")


def dates(value: Any, path: str = "") -> Iterator[tuple[str, float]]:
    """Every date in a document, with the way to it."""
    if isinstance(value, dict):
        for name, part in value.items():
            yield from dates(part, f"{path}.{name}")
    elif isinstance(value, list):
        for part in value:
            yield from dates(part, path)
    elif isinstance(value, str) and DATE.fullmatch(value):
        yield path, datetime.fromisoformat(value).timestamp()


def written(run: Played) -> set[float]:
    """Every date that the cluster wrote into an object, deletions by when they were asked."""
    found: set[float] = set()
    for text in run.recording:
        obj = json.loads(text)["object"]
        found |= {at for _, at in dates(obj)}
        asked = obj["metadata"].get("deletionTimestamp")
        if asked:
            grace = obj["metadata"].get("deletionGracePeriodSeconds") or 0
            found.add(datetime.fromisoformat(asked).timestamp() - grace)
    return found


def stored(rows: Iterable[Model]) -> Iterator[tuple[str, float]]:
    for row in rows:
        for field in row._meta.get_fields():
            value = getattr(row, field.name, None)
            if isinstance(field, Time) and value is not None:
                yield f"{type(row).__name__}.{field.name}", value


@seeds(quick=20, deep=400)
def test_no_moment_is_made_up_where_nobody_watched(seed: int) -> None:
    """All streams, or one, are away for a while; then each lists what there is."""
    run = played(seed)
    rng = random.Random(seed)
    first, last = sorted(rng.randint(1, len(run.lines)) for _ in range(2))
    cluster = watcher_of(run)
    away = set(cluster.keys) if rng.random() < 0.6 else {rng.choice(cluster.keys)}
    missed = run.lines[first:last]
    watched = [line for line in missed if line.key not in away]
    cluster.watch(run.lines[:first])
    cluster.watch(watched, 1)
    cluster.pass_by(line for line in missed if line.key in away)
    for key in rng.sample(sorted(away, key=str), len(away)):
        cluster.expire(key)
    cluster.watch(run.lines[last:])
    start, end = run.lines[first - 1].at, run.lines[last - 1].at
    known = sorted(written(run) | {line.at for line in watched})
    told = [*dates(cluster.report()), *stored(rows_of(cluster.name))]
    inside = [(where, at) for where, at in told if start + SLACK < at < end - SLACK]
    assert [one for one in inside if not is_among(known, one[1])] == [], "\n".join((f"{start} to {end}", *run.story))


def is_among(known: list[float], at: float) -> bool:
    position = bisect_left(known, at - SLACK)
    return position < len(known) and known[position] <= at + SLACK


def rows_of(cluster: str) -> Iterator[Model]:
    yield from models.Job.objects.filter(cluster__name=cluster)
    yield from models.Incarnation.objects.filter(job__cluster__name=cluster)
    yield from models.Restart.objects.filter(job__cluster__name=cluster)
    yield from models.Span.objects.filter(job__cluster__name=cluster)
