"""The facets beside the list: for each field the values that a click narrows to, with how many jobs have them."""

from dataclasses import dataclass, replace

from django.utils.translation import gettext as _

from jobs.numbers import number
from jobs.store.pages.jobfilter import JobFilter
from jobs.store.pages.jobs import FacetValue, Order, list_facets
from jobs.web.filters import address, toggled

EXACT = 10_000  # beyond it a count says only that it is more
OPEN = ("state", "since", "exit", "cause", "namespace", "kind", "cluster")  # the others open on demand
SHOWN = 8  # values of a facet before "more"


@dataclass
class FacetLink:
    value: str
    text: str
    count: str
    chosen: bool
    href: str


@dataclass
class Facet:
    name: str
    title: str
    links: list[FacetLink]
    open: bool

    @property
    def first(self) -> list[FacetLink]:
        return self.links[:SHOWN]

    @property
    def more(self) -> list[FacetLink]:
        return self.links[SHOWN:]

    @property
    def worth_showing(self) -> bool:
        """One cluster is no choice; anything else says at least what there is."""
        return len(self.links) > (self.name == "cluster") or any(link.chosen for link in self.links)


def count_text(jobs: int) -> str:
    """``312``, ``9,999``, ``10k+``."""
    return "10k+" if jobs > EXACT else number(jobs)


def titles() -> dict[str, str]:
    """The facets in the order in which they are shown."""
    return {
        "state": _("State"),
        "since": _("Restarted within"),
        "exit": _("Exit code"),
        "cause": _("Cause"),
        "namespace": _("Namespace"),
        "kind": _("Kind"),
        "cluster": _("Cluster"),
        "policy": _("Restart policy"),
        "class": _("Class, documented"),
        "actual": _("Class, actual"),
        "signal": _("Signal"),
        "reason": _("Reason"),
        "node": _("Node"),
        "image": _("Image"),
        "queue": _("Queue"),
        "owner": _("Owner"),
        "priority": _("Priority class"),
        "label": _("Label"),
    }


def facets(chosen: JobFilter, order: Order, now: float) -> list[Facet]:
    found = list_facets(chosen, now)
    return [_facet(chosen, order, name, title, found[name]) for name, title in titles().items()]


def _facet(chosen: JobFilter, order: Order, name: str, title: str, values: list[FacetValue]) -> Facet:
    """A chosen value stays, also where nothing has it any more; of times only those that narrow are offered."""
    have = _chosen(chosen, name)
    missing = [FacetValue(value, 0) for value in have if value not in {value.value for value in values}]
    links = [
        FacetLink(
            value,
            _span_words().get(value, value) if name == "since" else value,
            count_text(jobs),
            value in have,
            address(toggled(chosen, name, value), order),
        )
        for value, jobs in [*values, *missing]
        if jobs or value in have
    ]
    return Facet(name, title, links, open=name in OPEN or bool(have))


def _chosen(chosen: JobFilter, name: str) -> tuple[str, ...]:
    if name == "since":
        return (chosen.since,) if chosen.since else ()
    return chosen.values(name)


def _span_words() -> dict[str, str]:
    return {"1h": _("1 hour"), "24h": _("24 hours"), "7d": _("7 days"), "30d": _("30 days")}


def removable(chosen: JobFilter, order: Order) -> list[tuple[str, str]]:
    """Each choice as (text, address without it), for the line that says what is filtered."""
    found = [
        (f"{name}: {value}", address(toggled(chosen, name, value), order))
        for name, values in chosen.fields
        for value in values
    ]
    for one in chosen.numbers:
        rest = replace(chosen, numbers=tuple(other for other in chosen.numbers if other != one))
        found.append((f"{one.name} {one.operator} {one.value}", address(rest, order)))
    if chosen.since:
        found.append((f"since: {chosen.since}", address(replace(chosen, since=""), order)))
    if chosen.until:
        found.append((f"until: {chosen.until}", address(replace(chosen, until=""), order)))
    for word in chosen.text:
        rest = replace(chosen, text=tuple(other for other in chosen.text if other != word))
        found.append((f"“{word}”", address(rest, order)))
    return found
