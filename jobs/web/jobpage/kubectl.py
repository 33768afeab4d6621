"""The kubectl tab: the three tables as ``kubectl get … -owide -w`` would have printed them up to a chosen moment."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from django.utils.translation import gettext as _

from jobs.domain import kubectl
from jobs.domain.kinds import BY_RESOURCE, PODGROUP_RESOURCES, PODS
from jobs.models import Job
from jobs.store.pages.job import job_writes, written_resources

SHOWN = 400  # lines of a table on the page
DOWNLOADED = 50_000  # lines of a table in the file


@dataclass
class Table:
    """One of the tables. ``more``: there were lines before the ones that are shown."""

    command: str
    text: str
    more: bool


def tables(row: Job, until: float | None, limit: int = SHOWN) -> list[Table]:
    """The job's, its PodGroup's and its pods' table, as far as such objects were seen."""
    found = []
    for resource in sorted(written_resources(row.id), key=_order):
        writes, more = job_writes(row.id, resource, until, limit)
        header = kubectl.columns_of(resource)
        rows = kubectl.collapsed(header, kubectl.rows(writes))
        found.append(Table(_command(resource, row.namespace), "\n".join(_lines(header, rows)), more))
    return found


def _lines(header: kubectl.Cells, rows: list[kubectl.Row]) -> Iterator[str]:
    """Aligned lines, with a remark where nobody watched."""
    aligned = kubectl.lines(header, [row.cells for row in rows])
    if rows:
        yield next(aligned)
    for unwatched, part in groupby(rows, key=lambda row: row.unwatched):
        if unwatched:
            yield "# " + _("nobody watched before this line: what kubectl printed then is not known")
        for _row in part:
            yield next(aligned)


def _order(resource: str) -> tuple[int, str]:
    return (2 if resource == PODS else 1 if resource in PODGROUP_RESOURCES else 0), resource


def _command(resource: str, namespace: str) -> str:
    kind = BY_RESOURCE.get(resource)
    # "job" alone would be the batch group's.
    name = "pods" if resource == PODS else _short(resource) if kind is None or kind.conditions else resource
    return f"kubectl -n {namespace} get {name} -owide -w"


def _short(resource: str) -> str:
    return resource.partition(".")[0].removesuffix("s")


def as_file(row: Job, until: float | None) -> Iterator[str]:
    """All tables as one text."""
    for table in tables(row, until, DOWNLOADED):
        yield f"$ {table.command}\n"
        if table.more:
            yield "# " + _("earlier lines are left out") + "\n"
        yield table.text + "\n\n"
