"""The observations behind a number: found by object and moment."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Sequence

from django.db.models import Q

from jobs.domain.evidence import Sight
from jobs.models import KubeObject, Observation
from jobs.store.sql import chunks

OBJECTS = 300  # looked at for one answer
SHOWN = 500  # observations in one answer
SLACK = 1e-6  # seconds that a double may lose on its way through a database


def observations_at(job_id: int, sights: Sequence[Sight]) -> tuple[list[Observation], int]:
    """The observations that the sights name, oldest first, and how many sights and observations were left out."""
    moments: dict[tuple[str, str], list[float | None]] = defaultdict(list)
    left_out = 0
    for sight in sights:
        key = (sight.resource, sight.uid or sight.name)
        if key not in moments and len(moments) >= OBJECTS:
            left_out += 1
            continue
        moments[key].append(sight.at)
    chosen: set[int] = set()
    for key, seen in _seen(job_id, moments).items():
        for at in moments[key]:
            chosen.update(_first_from(seen, at))
    ids = sorted(chosen)
    left_out += max(0, len(ids) - SHOWN)
    rows = Observation.objects.filter(id__in=ids[:SHOWN]).select_related("object")
    return sorted(rows, key=lambda row: (row.observed_at, row.id)), left_out


def _first_from(seen: list[tuple[float, int]], at: float | None) -> list[int]:
    """The first observation from that moment on (all that were read at once), else the last one before; every one
    where no moment is named."""
    if at is None:
        return [number for _, number in seen]
    position = min(bisect_left(seen, (at - SLACK, 0)), len(seen) - 1)
    first_at = seen[position][0]
    return [number for moment, number in seen[position:] if moment <= first_at + SLACK]


def _seen(job_id: int, keys: Iterable[tuple[str, str]]) -> dict[tuple[str, str], list[tuple[float, int]]]:
    """By object, when it was observed and by which row, oldest first."""
    wanted = set(keys)
    names = [name for _, name in wanted if name]
    any_of = [resource for resource, name in wanted if not name]
    objects: dict[int, tuple[str, str]] = {}
    of_job = KubeObject.objects.filter(job_id=job_id)
    for part in chunks(names):
        rows = of_job.filter(Q(uid__in=part) | Q(resource="events", name__in=part))
        for number, resource, uid, name in rows.values_list("id", "resource", "uid", "name"):
            key = (resource, uid) if (resource, uid) in wanted else (resource, name)
            if key in wanted:
                objects[number] = key
    for number, resource in of_job.filter(resource__in=any_of).values_list("id", "resource"):
        objects[number] = (resource, "")
    seen: dict[tuple[str, str], list[tuple[float, int]]] = defaultdict(list)
    for ids in chunks(list(objects)):
        found = Observation.objects.filter(object_id__in=ids).values_list("object_id", "observed_at", "id")
        for number, at, row in found.iterator(chunk_size=5000):
            seen[objects[number]].append((at, row))
    for rows_of_object in seen.values():
        rows_of_object.sort()
    return seen
