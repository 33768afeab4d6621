"""The hub's reads: one short synchronous call each, in a thread of their own, with no connection left open behind."""

import asyncio
import time
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar

from django.conf import settings
from django.db import close_old_connections
from django.utils import translation

from jobs.domain.state import ReplicaKey
from jobs.models import Job
from jobs.store.codec import job_from
from jobs.store.pages import changes as store
from jobs.store.pages.jobs import CodeCount, list_codes
from jobs.store.pages.watchers import live_clusters
from jobs.web import timeline

JOBS_TOLD = 200  # jobs in one message of a list; beyond that it says "many"
STORY_RESTARTS = 5000  # restarts that are summed for each message; beyond, the page asks for its header at leisure
ROWS_TOLD = 60  # rows of one table in one message of a job; beyond that the page loads the timeline anew

T = TypeVar("T")
Json = dict[str, Any]

_threads = ThreadPoolExecutor(max_workers=2, thread_name_prefix="live-read")


async def in_thread(function: Callable[..., T], *arguments: Any) -> T:
    """Run a function that reads the database, without holding a connection for as long as a stream is open."""

    def run() -> T:
        try:
            return function(*arguments)
        finally:
            close_old_connections()

    return await asyncio.get_running_loop().run_in_executor(_threads, run)


@dataclass
class Listed:
    """One changed job as lists are told of it, with what their filters look at."""

    job: Job
    codes: list[CodeCount]
    data: Json


@dataclass
class News:
    """Everything that one look at the database brought."""

    seq: int
    jobs: list[Listed] = field(default_factory=list)
    too_many: bool = False
    deltas: dict[int, Json | None] = field(default_factory=dict)  # by job; None: too much, load anew
    observed: dict[str, float | None] = field(default_factory=dict)  # cluster with a watcher -> alive until


def read_news(since: int, watched: Collection[int]) -> News:
    """What was written after ``since``. ``watched``: jobs whose pages are open."""
    news = News(store.last_sequence(), observed=live_clusters())
    if news.seq == since:
        return news
    try:
        changed = store.changed_jobs(since, JOBS_TOLD)
    except store.TooMuchError:
        news.too_many = True
        news.deltas = dict.fromkeys(watched)
        return news
    news.jobs = listed(changed)
    for job in changed:
        if job.id in watched:
            news.deltas[job.id] = read_delta(job.id, since)
    return news


def listed(jobs: list[Job]) -> list[Listed]:
    codes = list_codes([job.id for job in jobs])
    return [Listed(job, codes.get(job.id, []), list_item(job)) for job in jobs]


def list_item(job: Job) -> Json:
    return {
        "id": job.id,
        "uid": job.uid,
        "seq": job.seq,
        "true": job.true_restarts,
        "kubectl": job.kubectl_restarts,
        "hidden": job.hidden_restarts,
        "at_least": job.at_least,
        "podgroup": job.podgroup_phase,
        "last_restart": job.last_restart_at,
    }


def read_delta(job_id: int, since: int) -> Json | None:
    """What changed of a job after ``since``; None where that is too much to tell, or the job is no more."""
    try:
        changes = store.job_changes(job_id, since, ROWS_TOLD)
    except store.TooMuchError:
        return None
    if changes is None:
        return None
    job = job_from(changes.job.record)
    proven = store.proven(job_id, job)
    touched = timeline.touched(changes) | set(proven)
    # The sentence is told of all restarts: where they are read, the replicas' numbers are among them.
    telling = bool(changes.restarts) and changes.job.true_restarts <= STORY_RESTARTS
    sums = store.restart_sums(job_id, None if telling else touched)
    trues = timeline.true_restarts(((one.key, one.in_place, one.times) for one in sums), proven)
    found = timeline.delta(changes, job, {key: trues.get(key, 0) for key in touched}, time.time())
    if telling:
        found["story"] = told(changes.job, sums, proven)
    return found


def told(row: Job, sums: list[store.RestartSum], proven: Mapping[ReplicaKey, int]) -> dict[str, str]:
    """The header's sentence by language: a stream is shared by pages of all of them."""
    result = {}
    for language, _name in settings.LANGUAGES:
        with translation.override(language):
            result[language] = timeline.words(row, sums, proven)
    return result
