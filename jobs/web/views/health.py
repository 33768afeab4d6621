"""Is this process able to answer?"""

import logging
import time

from django.db import DatabaseError
from django.http import HttpRequest, JsonResponse
from django.views.decorators.http import require_safe

from jobs.store.pages.changes import last_sequence
from jobs.store.pages.watchers import last_events

log = logging.getLogger(__name__)


@require_safe
def healthz(_request: HttpRequest) -> JsonResponse:
    """200 while the database answers. An idle or unwatched cluster is no fault of this process, so it is only told."""
    now = time.time()
    try:
        sequence, events = last_sequence(), last_events()
    except DatabaseError as error:
        log.warning("The database cannot be read: %s", error)
        reason = "the database cannot be read; see the log (is it reachable, and migrated?)"
        return JsonResponse({"status": "unavailable", "reason": reason}, status=503)
    ages = {name: None if at is None else round(now - at, 3) for name, at in events.items()}
    clusters = {name: {"last_event_age_seconds": age} for name, age in ages.items()}
    return JsonResponse({"status": "ok", "sequence": sequence, "clusters": clusters})
