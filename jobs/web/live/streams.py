"""The event streams of the pages: subscribe, read the backlog, relay; drop what is not newer."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse

from jobs.models import Job
from jobs.store.pages import changes as store
from jobs.store.pages.job import job_by_uid
from jobs.web.errors import BadRequestError, api_error
from jobs.web.filters import ids_from, job_filter
from jobs.web.live.hub import Subscriber, hub, list_items
from jobs.web.live.messages import Message, change, hello, reload
from jobs.web.live.reading import JOBS_TOLD, in_thread, listed, read_delta

HEARTBEAT = 15.0  # seconds: proxies close what is silent for longer, and a page can tell a dead stream
LIFE = 600.0  # seconds: a server that stops, or moves, must not wait for pages; they come back by themselves

Backlog = Callable[[int], Message | None]


async def job_events(request: HttpRequest, uid: str) -> HttpResponse | StreamingHttpResponse:
    """Deltas of one job (``jobs.web.timeline.delta``)."""
    try:
        since = since_from(request)
    except BadRequestError as error:
        return api_error(400, "bad-request", str(error))
    job = await in_thread(job_by_uid, uid, request.GET.get("cluster", ""))
    if job is None:
        return api_error(404, "unknown-job", "No job with this UID is known.")
    return _response(Subscriber(job_id=job.id, cluster=job.cluster.name), since, _job_backlog(job))


async def list_events(request: HttpRequest) -> HttpResponse | StreamingHttpResponse:
    """The numbers of jobs that a list shows (``ids``) or would show with its filter."""
    try:
        since = since_from(request)
        subscriber = Subscriber(chosen=job_filter(request.GET), ids=frozenset(ids_from(request.GET)))
    except BadRequestError as error:
        return api_error(400, "bad-request", str(error))
    return _response(subscriber, since, _list_backlog(subscriber))


def since_from(request: HttpRequest) -> int:
    """What the page knows: what the stream said last, else what the page was made from. Raises BadRequestError."""
    text = request.headers.get("Last-Event-ID") or request.GET.get("since") or "0"
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise BadRequestError("`since` and Last-Event-ID are sequence numbers.")
    return int(text)


def _job_backlog(job: Job) -> Backlog:
    def read(since: int) -> Message | None:
        seq = store.last_sequence()
        if since > seq:
            return reload(seq)
        delta = read_delta(job.id, since)
        if delta is None:
            return reload(seq)
        return change(seq, delta) if delta["seq"] > since else None

    return read


def _list_backlog(subscriber: Subscriber) -> Backlog:
    def read(since: int) -> Message | None:
        seq = store.last_sequence()
        if since > seq:
            return reload(seq)
        try:
            changed = store.changed_jobs(since, JOBS_TOLD)
        except store.TooMuchError:
            return reload(seq)
        jobs = list_items(listed(changed), subscriber.chosen, subscriber.ids)
        return change(seq, {"jobs": jobs}) if jobs else None

    return read


def _response(subscriber: Subscriber, since: int, backlog: Backlog) -> StreamingHttpResponse:
    return StreamingHttpResponse(
        _relay(subscriber, since, backlog),
        content_type="text/event-stream",
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
    )


async def _relay(subscriber: Subscriber, since: int, backlog: Backlog) -> AsyncIterator[bytes]:
    center = hub()
    yield hello()
    await center.subscribe(subscriber)
    try:
        yield _status(subscriber)
        missed = await in_thread(backlog, since)
        known = since
        if missed is not None:
            known = missed.seq
            yield missed.text
        async for text in _news(subscriber, known):
            yield text
    finally:
        center.unsubscribe(subscriber)


async def _news(subscriber: Subscriber, known: int) -> AsyncIterator[bytes]:
    """Messages that are newer than what the page knows, and heartbeats, until the stream has lived long enough."""
    until = time.monotonic() + LIFE
    beat = time.monotonic() + HEARTBEAT
    while time.monotonic() < until and not subscriber.overrun:
        subscriber.read_at = time.monotonic()
        try:
            message = await asyncio.wait_for(subscriber.queue.get(), max(0.01, beat - time.monotonic()))
        except TimeoutError:
            beat = time.monotonic() + HEARTBEAT
            yield _status(subscriber)
            continue
        if message.always or message.seq > known:
            known = message.seq or known
            yield message.text


def _status(subscriber: Subscriber) -> bytes:
    return hub().status_for(subscriber).text
