"""The kubectl view against what kubectl printed while the seed experiment was recorded."""

import re
from pathlib import Path

import pytest

from jobs.domain import kubectl
from jobs.domain.kinds import PODS, VOLCANO_PODGROUPS
from jobs.models import Job
from jobs.store.pages.job import job_writes
from tests.support.truth import RECORDINGS

PRINTED = RECORDINGS / "seed-exitcode-138" / "kubectl"
TABLES = {PODS: "get-pods-w.txt", VOLCANO_PODGROUPS: "get-podgroup-w.txt", "tfjobs.kubeflow.org": "get-tfjob-w.txt"}


def printed(path: Path) -> list[kubectl.Row]:
    """The rows of a recorded table. Its columns are found by their header, so that an empty cell stays one."""
    header, *rest = path.read_text().splitlines()
    columns = kubectl.columns_of(next(resource for resource, name in TABLES.items() if name == path.name))
    empty = [column for column in columns if column in ("STATE", "STATUS", "RUNNINGS")]
    found = []
    for line in rest:
        cells = re.split(r" {2,}", line)
        if len(cells) < len(columns):  # cells that a fresh object does not have
            starts = [header.index(column) for column in columns]
            cells = [line[a:b].strip() for a, b in zip(starts, [*starts[1:], None], strict=True)]
            assert all(cells[columns.index(c)] for c in columns if c not in empty), line
        found.append(kubectl.Row(0.0, tuple(cells)))
    return found


def timeless(columns: kubectl.Cells, rows: list[kubectl.Row]) -> list[kubectl.Cells]:
    return [kubectl.timeless(columns, row.cells) for row in kubectl.collapsed(columns, rows)]


@pytest.mark.parametrize("resource", TABLES)
def test_the_tables_are_what_kubectl_printed(seed: Job, resource: str) -> None:
    columns = kubectl.columns_of(resource)
    writes, more = job_writes(seed.id, resource, None, 1000)
    assert not more
    assert timeless(columns, list(kubectl.rows(writes))) == timeless(columns, printed(PRINTED / TABLES[resource]))


@pytest.mark.parametrize("resource", TABLES)
def test_the_lines_are_aligned_as_kubectl_aligns_them(resource: str) -> None:
    """Laid out again, the recorded cells give the recorded text."""
    path = PRINTED / TABLES[resource]
    columns = kubectl.columns_of(resource)
    assert list(kubectl.lines(columns, [row.cells for row in printed(path)])) == path.read_text().splitlines()
