"""The list for programs: JSON page by page, everything that is filtered as JSON or CSV, and completion of words."""

import csv
import io
import json
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse, StreamingHttpResponse
from django.views.decorators.http import require_safe

from jobs.domain.report import rfc3339
from jobs.models import Job
from jobs.store.pages.changes import last_sequence
from jobs.store.pages.jobs import (
    CodeCount,
    known_values,
    list_all,
    list_codes,
    list_facets,
    list_page,
    list_totals,
    shown_state,
)
from jobs.web.errors import BadFilterError, BadRequestError, api_error
from jobs.web.facets import count_text
from jobs.web.filters import job_filter, order_from, place_from, place_text
from jobs.web.live.reading import in_thread
from jobs.web.query import complete

Json = dict[str, Any]

SUGGESTIONS = 12
CSV_COLUMNS = (
    "cluster",
    "namespace",
    "kind",
    "name",
    "uid",
    "state",
    "shown_state",
    "present",
    "true_restarts",
    "kubectl_restarts",
    "hidden_restarts",
    "at_least",
    "created_at",
    "finished_at",
    "deleted_at",
    "last_restart_at",
    "podgroup_phase",
    "replicas",
)
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # a spreadsheet would run a cell that begins like this


def refused(error: BadRequestError) -> HttpResponse:
    return api_error(400, "bad-filter" if isinstance(error, BadFilterError) else "bad-request", str(error))


@require_safe
def jobs(request: HttpRequest) -> HttpResponse:
    """``{"jobs", "next", "sequence", "totals"}``; parameters are those of the list page."""
    try:
        chosen, order, after = job_filter(request.GET), order_from(request.GET), place_from(request.GET)
    except BadRequestError as error:
        return refused(error)
    now = time.time()
    seq = last_sequence()
    page = list_page(chosen, order, after, now)
    totals = list_totals(chosen, now)
    return JsonResponse(
        {
            "jobs": listed(page.jobs),
            "next": place_text(page.following) if page.following else None,
            "sequence": seq,
            "totals": {
                "jobs": totals.jobs,
                "true_restarts": totals.true,
                "kubectl_restarts": totals.kubectl,
                "hidden_restarts": totals.hidden,
            },
        }
    )


@require_safe
def job_facets(request: HttpRequest) -> HttpResponse:
    """``{"facets": {field: [{"value", "jobs", "text"}]}}``; ``text`` is what the page shows (``10k+``)."""
    try:
        chosen = job_filter(request.GET)
    except BadRequestError as error:
        return refused(error)
    found = list_facets(chosen, time.time())
    facets = {
        name: [{"value": value, "jobs": number, "text": count_text(number)} for value, number in values]
        for name, values in found.items()
    }
    return JsonResponse({"facets": facets})


@require_safe
def completion(request: HttpRequest) -> HttpResponse:
    """``{"start", "end", "suggestions": [{"insert", "jobs"}]}`` for the word that ends at ``at`` in ``q``."""
    text, at = request.GET.get("q", ""), request.GET.get("at", "")
    if at and not (at.isascii() and at.isdigit() and len(at) < 10):
        return api_error(400, "bad-request", "`at` is a place in `q`, a number.")
    found = complete(text, int(at) if at else len(text), lambda name, start: known_values(name, start, SUGGESTIONS))
    suggestions = [{"insert": one.insert, "jobs": one.jobs} for one in found.suggestions[:SUGGESTIONS]]
    return JsonResponse({"start": found.start, "end": found.end, "suggestions": suggestions})


@require_safe
def jobs_json(request: HttpRequest) -> HttpResponse | StreamingHttpResponse:
    """Everything that is filtered, as one array of what the list's pages hold."""
    return _download(request, "application/json", "jobs.json", _json_parts)


@require_safe
def jobs_csv(request: HttpRequest) -> HttpResponse | StreamingHttpResponse:
    """Everything that is filtered, as a table with one line for each job."""
    return _download(request, "text/csv; charset=utf-8", "jobs.csv", _csv_parts)


def _download(
    request: HttpRequest, content_type: str, name: str, parts: Callable[[Iterable[list[Job]]], Iterator[str]]
) -> HttpResponse | StreamingHttpResponse:
    try:
        chosen, order = job_filter(request.GET), order_from(request.GET)
    except BadRequestError as error:
        return refused(error)
    pages = list_all(chosen, order, time.time())
    return StreamingHttpResponse(
        _in_threads(parts(pages)),
        content_type=content_type,
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )


async def _in_threads(parts: Iterator[str]) -> AsyncIterator[str]:
    """Each part is read in a thread when it is sent, so that a large answer is never held as a whole."""
    while (part := await in_thread(next, parts, None)) is not None:
        yield part


def _json_parts(pages: Iterable[list[Job]]) -> Iterator[str]:
    opening = "["
    for jobs_of_page in pages:
        for job in listed(jobs_of_page):
            yield f"{opening}\n{json.dumps(job)}"
            opening = ","
    yield "[]\n" if opening == "[" else "\n]\n"


def _csv_parts(pages: Iterable[list[Job]]) -> Iterator[str]:
    yield _csv_lines([[*CSV_COLUMNS, "exit_codes"]])
    for jobs_of_page in pages:
        found = listed(jobs_of_page)
        yield _csv_lines([[*(_cell(job[name]) for name in CSV_COLUMNS), _codes(job["exit_codes"])] for job in found])


def _csv_lines(lines: list[list[str]]) -> str:
    text = io.StringIO()
    csv.writer(text).writerows(lines)
    return text.getvalue()


def _cell(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    text = "" if value is None else str(value)
    return f"'{text}" if text.startswith(FORMULA) else text


def _codes(codes: list[Json]) -> str:
    """``138 x5; 137 OOM``."""
    words = [
        f"{'none' if c['exit_code'] is None else c['exit_code']}{' OOM' if c['oom'] else ''}"
        f"{' x' + str(c['ends']) if c['ends'] > 1 else ''}"
        for c in codes
    ]
    return "; ".join(words)


def listed(found: list[Job]) -> list[Json]:
    codes = list_codes([job.id for job in found])
    return [_listed(job, codes.get(job.id, [])) for job in found]


def _listed(row: Job, codes: list[CodeCount]) -> Json:
    return {
        "cluster": row.cluster.name,
        "namespace": row.namespace,
        "api_group": row.api_group,
        "kind": row.kind,
        "name": row.name,
        "uid": row.uid,
        "state": row.state,
        "shown_state": shown_state(row),
        "present": row.present,
        "created_at": rfc3339(row.created_at),
        "finished_at": rfc3339(row.finished_at),
        "deleted_at": rfc3339(row.deleted_at),
        "last_restart_at": rfc3339(row.last_restart_at),
        "true_restarts": row.true_restarts,
        "kubectl_restarts": row.kubectl_restarts,
        "hidden_restarts": row.hidden_restarts,
        "at_least": row.at_least,
        "podgroup_phase": row.podgroup_phase,
        "replicas": row.replicas,
        "exit_codes": [{"exit_code": c.code, "oom": c.oom, "ends": c.times} for c in codes],
        "failed_by": _failed_by(row),
        "found_by": json.loads(row.search),
    }


def _failed_by(row: Job) -> Json | None:
    if not row.fail_cause:
        return None
    return {
        "at": rfc3339(row.fail_at),
        "exit_code": row.fail_code,
        "cause_code": row.fail_cause,
        "reason": row.fail_reason,
        "pod_uid": row.fail_pod_uid,
        "node": row.fail_node,
    }
