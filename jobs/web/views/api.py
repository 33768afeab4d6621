"""The JSON API of one job. One error shape: ``{"error": {"code", "message"}}``."""

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_safe

from jobs.domain.report import job_report
from jobs.store.load import load_state
from jobs.store.pages.job import job_by_uid
from jobs.web.errors import api_error
from jobs.web.openapi import document


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
def openapi(_request: HttpRequest) -> HttpResponse:
    """This API, described."""
    return JsonResponse(document())


def not_found(_request: HttpRequest, path: str) -> HttpResponse:
    """Everything else below /api/."""
    return api_error(404, "not-found", f"There is no /api/{path[:200]}.")
