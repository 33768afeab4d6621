"""What a number on a page rests on."""

import json
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_safe

from jobs.domain.evidence import UnknownEvidenceError, rests_on
from jobs.domain.report import known_until, rfc3339
from jobs.models import Job, Observation
from jobs.store.load import load_state
from jobs.store.pages.evidence import observations_at
from jobs.store.pages.job import job_by_uid
from jobs.web.errors import api_error

PARTS = 1000

Json = dict[str, Any]


@require_safe
def evidence(request: HttpRequest, uid: str) -> HttpResponse:
    """``{"what", "job", "value", "parts", "observations", "left_out"}`` for ``what`` (``jobs.domain.evidence``)."""
    row = job_by_uid(uid, request.GET.get("cluster", ""))
    if row is None:
        return api_error(404, "unknown-job", "No job with this UID is known.")
    what = request.GET.get("what", "")
    if not what or len(what) > 400:
        return api_error(400, "bad-request", "`what` names what is asked about, such as count or restart:<pod UID>:0.")
    job = load_state(row.id)
    try:
        rests = rests_on(job, what, known_until(job, row.cluster.observed_until) or 0.0)
    except UnknownEvidenceError as error:
        return api_error(404, "unknown-evidence", str(error))
    observations, left_out = observations_at(row.id, rests.sights)
    return JsonResponse(
        {
            "what": what,
            "job": row.uid,
            "value": rests.value,
            "parts": [
                {"what": part.what, "value": part.value, "href": _address(row, part.what)}
                for part in rests.parts[:PARTS]
            ],
            "observations": [_observation(one) for one in observations],
            "left_out": left_out + max(0, len(rests.parts) - PARTS),
        }
    )


def _address(row: Job, what: str) -> str:
    query = urlencode({"cluster": row.cluster.name, "what": what})
    return f"{reverse('jobs:api-evidence', args=[row.uid])}?{query}"


def _observation(one: Observation) -> Json:
    return {
        "id": one.id,
        "resource": one.object.resource,
        "namespace": one.object.namespace,
        "name": one.object.name,
        "uid": one.object.uid,
        "resource_version": str(one.resource_version),
        "verb": one.verb,
        "occurred_at": rfc3339(one.occurred_at),
        "observed_at": rfc3339(one.observed_at),
        "facts": json.loads(one.facts),
    }
