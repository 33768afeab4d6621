"""Watch lines folded into jobs' states without a store: recorded ones, and those of a simulated cluster."""

import gzip
import json
from functools import cache
from typing import Any

from jobs.domain.facts import EventFacts, Facts, JobFacts, Observation, PodFacts, PodGroupFacts
from jobs.domain.kinds import KINDS
from jobs.domain.reducer import new_job, reduce
from jobs.domain.state import JobState
from jobs.ingest.decode import decode_object, understands
from tests.support.truth import RECORDINGS

Json = dict[str, Any]
KINDS_OF_JOBS = {kind.kind for kind in KINDS}


class Watched:
    """The jobs of a stream of lines, in the order in which their objects were created."""

    def __init__(self) -> None:
        self.jobs: dict[str, JobState] = {}
        self.last_at = 0.0

    def take(self, at: float, resource: str, verb: str, obj: Json) -> None:
        if verb == "BOOKMARK" or not understands(resource):
            return
        self.last_at = at
        meta, facts = decode_object(resource, json.dumps(obj).encode())
        uid = _job_uid(meta.uid, facts)
        if uid is None:
            return
        version = meta.resource_version
        observation = Observation(verb, resource, meta.namespace, meta.name, meta.uid, version, at, facts)
        if uid not in self.jobs:
            self.jobs[uid] = new_job("test", uid, observation)
        reduce(self.jobs[uid], observation)

    def named(self, *uids: str) -> tuple[JobState | None, ...]:
        return tuple(self.jobs.get(uid) for uid in uids)


def _job_uid(uid: str, facts: Facts) -> str | None:
    if isinstance(facts, JobFacts):
        return uid
    if isinstance(facts, PodFacts | PodGroupFacts):
        return facts.job_uid
    return facts.involved_uid if isinstance(facts, EventFacts) and facts.involved_kind in KINDS_OF_JOBS else None


@cache
def lines_of(recording: str) -> tuple[Json, ...]:
    with gzip.open(RECORDINGS / recording / "watch.jsonl.gz", "rt") as file:
        return tuple(json.loads(text) for text in file)


def replayed(recording: str) -> Watched:
    """A recording from its beginning to its end."""
    watched = Watched()
    for line in lines_of(recording):
        watched.take(line["received_at"], line["resource"], line["type"], line["object"])
    return watched
