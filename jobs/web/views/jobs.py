"""The job list and the fragment that brings its rows up to date."""

import time
from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from jobs.store.pages.changes import last_sequence
from jobs.store.pages.jobs import FacetValue, JobFilter, list_facets, list_page, list_rows, list_totals
from jobs.web.context import frame
from jobs.web.errors import BadRequestError, error_page
from jobs.web.filters import cursor, ids_from, job_filter, query_string, sort_from, toggled
from jobs.web.rows import rows


@dataclass
class FacetLink:
    value: str
    jobs: int
    chosen: bool
    href: str


@dataclass
class Facet:
    name: str
    title: str
    links: list[FacetLink]

    @property
    def worth_showing(self) -> bool:
        """One cluster is no choice; anything else says at least what there is."""
        return len(self.links) > (self.name == "cluster") or any(link.chosen for link in self.links)


@require_safe
def job_list(request: HttpRequest) -> HttpResponse:
    try:
        chosen, sort, after = job_filter(request.GET), sort_from(request.GET), cursor(request.GET)
    except BadRequestError as error:
        return error_page(request, 400, _("This filter cannot be understood"), str(error))
    seq = last_sequence()  # before the rows: what is written meanwhile is told again, and nothing is missed
    jobs, following = list_page(chosen, sort, after)
    facets = _facets(chosen, sort)
    context = frame(request, "jobs") | {
        "seq": seq,
        "rows": rows(jobs, time.time()),
        "totals": list_totals(chosen),
        "facets": facets,
        "several_clusters": any(facet.name == "cluster" and len(facet.links) > 1 for facet in facets),
        "chosen": chosen,
        "narrowed": chosen != JobFilter(),
        "removable": _removable(chosen, sort),
        "sort": sort,
        "sorts": _sorts(chosen, sort),
        "first_href": query_string(chosen, sort),
        "next_href": query_string(chosen, sort, after=str(following)) if following else "",
        "later_page": after is not None,
        "ids": ",".join(str(job.id) for job in jobs),
        "events_query": query_string(chosen, sort)[1:],
    }
    return render(request, "jobs/list.html", context)


@require_safe
def job_rows(request: HttpRequest) -> HttpResponse:
    """Rows by id, for a list that heard that they changed; with the totals of its filter if ``totals`` is asked for."""
    try:
        ids, chosen = ids_from(request.GET), job_filter(request.GET)
    except BadRequestError as error:
        return error_page(request, 400, _("This address cannot be understood"), str(error))
    context = {"rows": rows(list_rows(ids), time.time()), "several_clusters": request.GET.get("clusters") == "several"}
    if request.GET.get("totals"):
        context["totals"] = list_totals(chosen)
    return render(request, "jobs/_rows_only.html", context)


def _facets(chosen: JobFilter, sort: str) -> list[Facet]:
    titles = {
        "state": _("State"),
        "exit": _("Exit code"),
        "kind": _("Kind"),
        "namespace": _("Namespace"),
        "cluster": _("Cluster"),
    }
    found = list_facets(chosen)
    return [Facet(name, title, _links(chosen, sort, name, found[name])) for name, title in titles.items()]


def _links(chosen: JobFilter, sort: str, name: str, values: list[FacetValue]) -> list[FacetLink]:
    """The values with their counts; a chosen value stays, also where nothing has it any more."""
    have = {str(value) for value in getattr(chosen, name)}
    listed = [*values, *(FacetValue(value, 0) for value in sorted(have - {value.value for value in values}))]
    return [
        FacetLink(value, jobs, value in have, query_string(toggled(chosen, name, value), sort))
        for value, jobs in listed
        if value
    ]


def _removable(chosen: JobFilter, sort: str) -> list[tuple[str, str]]:
    """Each choice as (text, address without it), for the line that says what is filtered."""
    found = []
    for name in ("state", "exit", "kind", "namespace", "cluster"):
        for value in getattr(chosen, name):
            found.append((f"{name}: {value}", query_string(toggled(chosen, name, str(value)), sort)))
    if chosen.q:
        found.append((f"“{chosen.q}”", query_string(JobFilter(**{**chosen.__dict__, "q": ""}), sort)))
    return found


def _sorts(chosen: JobFilter, sort: str) -> list[tuple[str, str, bool]]:
    names = {
        "recent": _("last restart"),
        "restarts": _("restarts"),
        "hidden": _("hidden"),
        "created": _("newest"),
    }
    return [(title, query_string(chosen, name), name == sort) for name, title in names.items()]
