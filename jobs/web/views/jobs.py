"""The job list, and the fragments that bring its rows and its facets up to date."""

import time
from typing import Any, NamedTuple

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from jobs.store.pages.changes import last_sequence
from jobs.store.pages.jobfilter import JobFilter
from jobs.store.pages.jobs import SORTS, Order, current, known_values, list_page, list_rows, list_totals
from jobs.web.context import frame
from jobs.web.errors import BadRequestError, error_page
from jobs.web.facets import facets, removable
from jobs.web.filters import (
    address,
    ids_from,
    job_filter,
    order_from,
    order_text,
    parsed,
    place_from,
    place_text,
    query_text,
)
from jobs.web.query import Parsed, write
from jobs.web.rowhtml import rows_html
from jobs.web.rows import rows

AT_ONCE = 2000  # jobs in all up to which the page brings its facets along; counting more would hold it up


class SortLink(NamedTuple):
    title: str
    href: str
    direction: str
    """ascending, descending, or "" where the list is in another order: as ``aria-sort`` has it."""


@require_safe
def job_list(request: HttpRequest) -> HttpResponse:
    """The list; a word of the filter that cannot be understood is told beside the box, and the others apply."""
    found = parsed(request.GET)
    try:
        order, after = order_from(request.GET), place_from(request.GET)
    except BadRequestError as error:
        return error_page(request, 400, _("This address cannot be understood"), str(error))
    now = time.time()
    seq = last_sequence()  # before the rows: what is written meanwhile is told again, and nothing is missed
    chosen = found.chosen
    with current() as index:  # so that rows, sums and facets are of the same moment
        page = list_page(chosen, order, after, now)
        totals = list_totals(chosen, now)
        several_clusters = len(known_values("cluster", "", 2)) > 1
        offered = facets(chosen, order, now) if index.jobs.count <= AT_ONCE else None
    query = address(chosen, order)
    context = frame(request, "jobs") | {
        "seq": seq,
        "rows": rows_html(rows(page.jobs, now), several_clusters=several_clusters),
        "totals": totals,
        "facets": offered,
        "several_clusters": several_clusters,
        "text": query_text(request.GET) if found.problems else write(chosen),
        "wrong": _marked(query_text(request.GET), found),
        "problems": found.problems,
        "narrowed": chosen != JobFilter(),
        "removable": removable(chosen, order),
        "sort": order_text(order),
        "sorts": _sorts(chosen, order),
        "query": query,
        "first_href": query,
        "next_href": address(chosen, order, after=place_text(page.following)) if page.following else "",
        "later_page": after is not None,
        "ids": ",".join(str(job.id) for job in page.jobs),
    }
    return render(request, "jobs/list.html", context, status=400 if found.problems else 200)


@require_safe
def job_facets(request: HttpRequest) -> HttpResponse:
    """The facets as a fragment of their own; without scripts, as a page."""
    try:
        chosen, order = job_filter(request.GET), order_from(request.GET)
    except BadRequestError as error:
        return error_page(request, 400, _("This address cannot be understood"), str(error))
    query = address(chosen, order)
    context: dict[str, Any] = {"facets": facets(chosen, order, time.time()), "query": query, "first_href": query}
    if request.headers.get("HX-Request"):
        return render(request, "jobs/_facets.html", context)
    return render(request, "jobs/facets.html", frame(request, "jobs") | context)


@require_safe
def job_rows(request: HttpRequest) -> HttpResponse:
    """Rows by id, for a list that heard that they changed; with the totals of its filter if ``totals`` is asked for."""
    try:
        ids, chosen = ids_from(request.GET), job_filter(request.GET)
    except BadRequestError as error:
        return error_page(request, 400, _("This address cannot be understood"), str(error))
    now = time.time()
    several = request.GET.get("clusters") == "several"
    context: dict[str, Any] = {"rows": rows_html(rows(list_rows(ids), now), several_clusters=several)}
    if request.GET.get("totals"):
        context["totals"] = list_totals(chosen, now)
    return render(request, "jobs/_rows_only.html", context)


def _marked(text: str, found: Parsed) -> list[tuple[str, bool]]:
    """The query in pieces, with whether each is a word that was not understood."""
    pieces, position = [], 0
    for problem in found.problems:
        pieces += [(text[position : problem.start], False), (text[problem.start : problem.end], True)]
        position = problem.end
    return [piece for piece in [*pieces, (text[position:], False)] if piece[0]] if pieces else []


def _sorts(chosen: JobFilter, order: Order) -> dict[str, SortLink]:
    """By column. The largest come first; choosing the column again turns the order round."""
    titles = {
        "recent": _("Last restart"),
        "restarts": _("Restarts"),
        "kubectl": "kubectl",
        "hidden": _("Hidden"),
        "created": _("Created"),
    }
    links = {}
    for column in SORTS:
        current = order.column == column
        turned = Order(column, smallest_first=current and not order.smallest_first)
        direction = ("ascending" if order.smallest_first else "descending") if current else ""
        links[column] = SortLink(titles[column], address(chosen, turned), direction)
    return links
