"""The JSON API: what the pages show. One error shape: ``{"error": {"code", "message"}}``."""

import time
from typing import Any

import msgspec
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_safe

from jobs.domain.report import job_report, rfc3339
from jobs.models import Job
from jobs.store.load import load_state
from jobs.store.pages.changes import last_sequence
from jobs.store.pages.job import job_by_uid, job_restarts
from jobs.store.pages.jobs import CodeCount, list_codes, list_page, shown_state
from jobs.web import timeline
from jobs.web.errors import BadRequestError, api_error
from jobs.web.filters import cursor, job_filter, sort_from

Json = dict[str, Any]


@require_safe
def jobs(request: HttpRequest) -> HttpResponse:
    """``{"jobs": […], "next": cursor | null, "sequence": n}``; parameters are those of the list page."""
    try:
        chosen, sort, after = job_filter(request.GET), sort_from(request.GET), cursor(request.GET)
    except BadRequestError as error:
        return api_error(400, "bad-request", str(error))
    seq = last_sequence()
    found, following = list_page(chosen, sort, after)
    codes = list_codes([job.id for job in found])
    listed = [_listed(job, codes.get(job.id, [])) for job in found]
    return JsonResponse({"jobs": listed, "next": str(following) if following else None, "sequence": seq})


@require_safe
def job(request: HttpRequest, uid: str) -> HttpResponse:
    """One entry of the report."""
    row = job_by_uid(uid, request.GET.get("cluster", ""))
    if row is None:
        return api_error(404, "unknown-job", "No job with this UID is known.")
    state = load_state(row.id)
    state.cluster = row.cluster.name
    return JsonResponse(job_report(state, row.cluster.observed_until))


@require_safe
def job_timeline(request: HttpRequest, uid: str) -> HttpResponse:
    """What the timeline draws (``jobs.web.timeline.full``)."""
    seq = last_sequence()
    row = job_by_uid(uid, request.GET.get("cluster", ""))
    if row is None:
        return api_error(404, "unknown-job", "No job with this UID is known.")
    found = timeline.full(row, load_state(row.id), job_restarts(row.id), seq, time.time())
    # Large jobs have tens of thousands of pods, and this encoder takes a tenth of the time.
    return HttpResponse(msgspec.json.encode(found), content_type="application/json")


def not_found(_request: HttpRequest, path: str) -> HttpResponse:
    """Everything else below /api/."""
    return api_error(404, "not-found", f"There is no /api/{path[:200]}.")


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
        "exit_codes": [{"exit_code": c.code, "oom": c.oom, "restarts": c.times} for c in codes],
    }
