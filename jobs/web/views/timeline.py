"""The timeline's JSON: the first answer, and rows of a large job as they come into sight."""

import time
from math import isfinite
from typing import Any

import msgspec
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from jobs.models import Job
from jobs.store.pages.changes import last_sequence
from jobs.store.pages.job import job_by_uid
from jobs.web import timeline
from jobs.web.errors import BadRequestError, api_error
from jobs.web.lanes import lanes
from jobs.web.timeline import ORDERS, Wanted, key_from

MOST_ROWS = 200
WIDTH = (50, 20_000)  # pixels that a screen may have
LONGEST = 1e10  # seconds


@require_safe
def job_timeline(request: HttpRequest, uid: str) -> HttpResponse:
    """``?from&to`` (epoch seconds) ``&width`` (pixels): bars under a pixel come in heaps. ``&order=worst``: whose rows
    come first; ``&rows=worker/0/0,…``: these rows alone; ``&lanes=1``: the job's phases in the range alone."""
    try:
        wanted = wanted_from(request)
    except BadRequestError as error:
        return api_error(400, "bad-request", str(error))
    seq = last_sequence()
    row = job_by_uid(uid, request.GET.get("cluster", ""))
    if row is None:
        return api_error(404, "unknown-job", "No job with this UID is known.")
    # Large jobs have tens of thousands of pods, and this encoder takes a tenth of the time.
    return HttpResponse(msgspec.json.encode(_answer(request, row, seq, wanted)), content_type="application/json")


def _answer(request: HttpRequest, row: Job, seq: int, wanted: Wanted) -> dict[str, Any]:
    now = time.time()
    if "lanes" in request.GET:
        return lanes(row, seq, now, wanted.range, wanted.pixel)
    tell = timeline.overview if wanted.rows is None else timeline.some_rows
    return tell(row, seq, now, wanted)


def wanted_from(request: HttpRequest) -> Wanted:
    """Raises BadRequestError."""
    order = request.GET.get("order", "index")
    if order not in ORDERS:
        raise BadRequestError(f"`order` is one of {', '.join(ORDERS)}.")
    start, end, width = _range(request)
    if "lanes" in request.GET and not width:
        raise BadRequestError("`lanes` needs `from`, `to` and `width`.")
    return Wanted((start, end), (end - start) / width if width else 0.0, order, _rows(request.GET.get("rows")))


def _range(request: HttpRequest) -> tuple[float, float, float]:
    """From, to and the pixels of the range; all 0 where one is not said."""
    values = [request.GET.get(name, "") for name in ("from", "to", "width")]
    if not all(values):
        return 0.0, 0.0, 0.0
    try:
        start, end, width = map(float, values)
    except ValueError:
        raise BadRequestError("`from` and `to` are epoch seconds, `width` is in pixels.") from None
    if not (isfinite(start) and isfinite(end) and 0 < end - start < LONGEST):
        raise BadRequestError("`to` lies after `from`.")
    if not WIDTH[0] <= width <= WIDTH[1]:
        raise BadRequestError(f"`width` lies between {WIDTH[0]} and {WIDTH[1]} pixels.")
    return start, end, width


def _rows(text: str | None) -> tuple[timeline.ReplicaKey, ...] | None:
    if text is None:
        return None
    parts = text.split(",")
    keys = [key for part in parts if (key := key_from(part)) is not None]
    if len(keys) < len(parts) or len(keys) > MOST_ROWS:
        raise BadRequestError(f"`rows` is a list of at most {MOST_ROWS} replicas, like worker/0/0,worker/1/0.")
    return tuple(keys)
