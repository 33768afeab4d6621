"""The exit codes: which ones end runs here, and what each of them means."""

import time
from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from jobs.domain.report import rfc3339
from jobs.store.pages.exitcodes import CodeUse, Place, codes_used
from jobs.store.pages.jobfilter import JobFilter
from jobs.web.codes import KNOWN, CodeWords, code_words
from jobs.web.context import frame
from jobs.web.errors import BadRequestError, api_error
from jobs.web.filters import address

SPANS = ("1h", "24h", "7d", "30d", "")
BAR, HEIGHT = 5, 22  # width of a bar of the diagram with its gap, and height of the highest


@dataclass
class Bar:
    x: int
    y: float
    height: float


@dataclass
class PlaceLink:
    place: Place
    href: str


@dataclass
class CodeRow:
    used: CodeUse
    words: CodeWords | None
    """None where no code was seen."""
    href: str
    nodes: list[PlaceLink]
    images: list[PlaceLink]
    bars: list[Bar]


def _since(request: HttpRequest) -> str:
    """Raises BadRequestError."""
    since = request.GET.get("since", "")
    if since not in SPANS:
        raise BadRequestError(_("`since` is one of %(choices)s.") % {"choices": ", ".join(filter(None, SPANS))})
    return since


@require_safe
def exit_codes(request: HttpRequest) -> HttpResponse:
    try:
        since, problem = _since(request), ""
    except BadRequestError as error:
        since, problem = "", str(error)
    used = codes_used(since, time.time())
    highest = max((max(one.over_time) for one in used.codes), default=0)
    seen = {one.code for one in used.codes if one.code is not None}
    names = {"1h": _("1 hour"), "24h": _("24 hours"), "7d": _("7 days"), "30d": _("30 days"), "": _("all time")}
    context = frame(request, "exit-codes") | {
        "rows": [_row(one, since, highest) for one in used.codes],
        "reference": [code_words(code) for code in sorted({*KNOWN, *seen})],
        "spans": [(names[span], f"?since={span}" if span else "?", span == since) for span in SPANS],
        "since": since,
        "start": used.start,
        "end": used.end,
        "problem": problem,
    }
    return render(request, "jobs/exit_codes.html", context, status=400 if problem else 200)


@require_safe
def exit_codes_json(request: HttpRequest) -> HttpResponse:
    """``{"codes": […], "start", "end"}``: what the page shows."""
    try:
        since = _since(request)
    except BadRequestError as error:
        return api_error(400, "bad-request", str(error))
    used = codes_used(since, time.time())
    codes = [
        {
            "exit_code": one.code,
            "restarts": one.restarts,
            "failures": one.failures,
            "jobs": one.jobs,
            "nodes": [{"name": place.name, "ends": place.ends} for place in one.nodes],
            "images": [{"name": place.name, "ends": place.ends} for place in one.images],
            "over_time": one.over_time,
        }
        for one in used.codes
    ]
    return JsonResponse({"codes": codes, "start": rfc3339(used.start), "end": rfc3339(used.end)})


def _row(used: CodeUse, since: str, highest: int) -> CodeRow:
    if used.code is None:
        return CodeRow(used, None, "", [], [], _bars(used, highest))
    code = str(used.code)

    def link(**more: str) -> str:
        fields = {"exit": (code,)} | {name: (value,) for name, value in more.items()}
        return address(JobFilter.of(fields, since=since))

    return CodeRow(
        used,
        code_words(used.code),
        link(),
        [PlaceLink(place, link(node=place.name)) for place in used.nodes],
        [PlaceLink(place, link(image=place.name)) for place in used.images],
        _bars(used, highest),
    )


def _bars(used: CodeUse, highest: int) -> list[Bar]:
    """One bar for each part of the window; all codes in one scale, and what is there at all is seen."""
    found = []
    for number, ends in enumerate(used.over_time):
        if ends:
            height = max(2.0, HEIGHT * ends / max(1, highest))
            found.append(Bar(number * BAR, HEIGHT - height, height))
    return found
