"""What ``kubectl get … -owide -w`` printed: rows of cells from observations, and the columns' layout.

The rules are those of the API server's table printer for pods and of the CRDs' printer columns for the others. They are
kept here because the point is to compare: what a person in front of a terminal saw, and what happened.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from jobs.domain.facts import LISTED, ContainerFacts, JobFacts, Observation, PodFacts, PodGroupFacts
from jobs.domain.kinds import BY_RESOURCE, PLUGINS_PODGROUPS, PODS, VOLCANO_PODGROUPS

NONE = "<none>"
FINAL_PHASES = ("Succeeded", "Failed")
MIN_WIDTH = 6  # of a column, with its padding
PADDING = 3
MINUTE, HOUR, DAY, YEAR = 60, 3600, 86400, 365 * 86400

POD_COLUMNS = (
    "NAME",
    "READY",
    "STATUS",
    "RESTARTS",
    "AGE",
    "IP",
    "NODE",
    "NOMINATED NODE",
    "READINESS GATES",
)
JOB_COLUMNS = ("NAME", "STATE", "AGE")
VOLCANO_JOB_COLUMNS = ("NAME", "STATUS", "MINAVAILABLE", "RUNNINGS", "AGE", "QUEUE")
PODGROUP_COLUMNS = ("NAME", "STATUS", "MINMEMBER", "RUNNINGS", "AGE", "QUEUE")
PLUGINS_COLUMNS = ("NAME", "PHASE", "MINMEMBER", "RUNNING", "SUCCEEDED", "FAILED", "AGE")

Cells = tuple[str, ...]


class Row(NamedTuple):
    """One printed line. ``unwatched``: nobody watched before it, so lines may be missing."""

    at: float
    cells: Cells
    unwatched: bool = False


def columns_of(resource: str) -> Cells:
    """The header of ``kubectl get RESOURCE -owide``."""
    if resource == PODS:
        return POD_COLUMNS
    if resource == VOLCANO_PODGROUPS:
        return PODGROUP_COLUMNS
    if resource == PLUGINS_PODGROUPS:
        return PLUGINS_COLUMNS
    kind = BY_RESOURCE.get(resource)
    return JOB_COLUMNS if kind is None or kind.conditions else VOLCANO_JOB_COLUMNS


def rows(observations: Iterable[Observation]) -> Iterator[Row]:
    """The lines of one resource, in the order of its observations. What only a relist missed was never printed."""
    watched = False
    for seen in observations:
        if seen.facts is None:
            continue
        listed = seen.verb == LISTED
        yield Row(seen.observed_at, _cells(seen), unwatched=listed and watched)
        watched = watched or not listed


def _cells(seen: Observation) -> Cells:
    facts, at = seen.facts, seen.observed_at
    if isinstance(facts, PodFacts):
        return pod_cells(seen.name, facts, at)
    if isinstance(facts, PodGroupFacts):
        return _podgroup_cells(seen, facts, at)
    if isinstance(facts, JobFacts):
        return _job_cells(seen, facts, at)
    return (seen.name,)


# --- jobs and PodGroups


def _job_cells(seen: Observation, facts: JobFacts, at: float) -> Cells:
    age = _since(facts.created_at, at)
    if columns_of(seen.resource) is VOLCANO_JOB_COLUMNS:
        running = _number(facts.running)
        return seen.name, facts.phase or "", _number(facts.min_available), running, age, facts.queue or ""
    # The type of the last condition, whatever its status: so kubectl says Suspended for a job that was just resumed.
    return seen.name, facts.conditions[-1].type if facts.conditions else "", age


def _podgroup_cells(seen: Observation, facts: PodGroupFacts, at: float) -> Cells:
    age, members, running = _since(facts.created_at, at), _number(facts.min_member), _number(facts.running)
    if seen.resource == PLUGINS_PODGROUPS:
        ends = _number(facts.succeeded), _number(facts.failed)
        return seen.name, facts.phase or "", members, running, *ends, age
    return seen.name, facts.phase or "", members, running, age, facts.queue or ""


def _number(value: int | None) -> str:
    """Zero is left out of the object, and so of the table."""
    return str(value) if value else ""


# --- pods


def pod_cells(name: str, pod: PodFacts, at: float) -> Cells:
    """The line of a pod as the API server prints it."""
    init = [c for c in pod.containers if c.init]
    main = [c for c in pod.containers if not c.init]
    waiting = _initializing(init)
    counted = list(init)
    reason = (waiting if waiting is not None else "") or _pod_reason(pod)
    if waiting is None or pod.initialized:
        counted = [*(c for c in init if c.sidecar), *main]
        reason = _main_reason(main, reason, pod)
    if pod.deletion_at is not None and pod.status_reason == "NodeLost":
        reason = "Unknown"
    elif pod.deletion_at is not None and pod.phase not in FINAL_PHASES:
        reason = "Terminating"
    return (
        name,
        f"{_ready(init, main, pod, waiting)}/{len(main) + sum(c.sidecar for c in init)}",
        reason,
        _restarts(counted, at),
        _since(pod.created_at, at),
        pod.pod_ip or NONE,
        pod.node or NONE,
        pod.nominated_node or NONE,
        _gates(pod),
    )


def _pod_reason(pod: PodFacts) -> str:
    return "SchedulingGated" if pod.scheduling_gated else pod.status_reason or pod.phase or ""


def _ready(init: Sequence[ContainerFacts], main: Sequence[ContainerFacts], pod: PodFacts, waiting: str | None) -> int:
    ready = sum(c.sidecar and c.started is True and c.ready for c in init)
    if waiting is None or pod.initialized:
        ready += sum(_up(c) for c in main)
    return ready


def _up(container: ContainerFacts) -> bool:
    return container.ready and container.state == "running"


def _initializing(init: Sequence[ContainerFacts]) -> str | None:
    """STATUS while the init containers are not through; None when they are."""
    for position, container in enumerate(c for c in init if c.state is not None):
        end = container.terminated
        if container.state == "terminated" and end is not None and end.exit_code == 0:
            continue
        if container.sidecar and container.started:
            continue
        if container.state == "terminated":
            return f"Init:{_end_words(container)}"
        if container.waiting_reason and container.waiting_reason != "PodInitializing":
            return f"Init:{container.waiting_reason}"
        return f"Init:{position}/{len(init)}"
    return None


def _main_reason(main: Sequence[ContainerFacts], reason: str, pod: PodFacts) -> str:
    """STATUS by the containers: the first one that has something to say wins, as the last one that is looked at."""
    for container in reversed(main):
        if container.state == "waiting" and container.waiting_reason:
            reason = container.waiting_reason
        elif container.state == "terminated":
            reason = _end_words(container)
    if reason == "Completed" and any(_up(c) for c in main):
        return "Running" if pod.ready else "NotReady"
    return reason


def _end_words(container: ContainerFacts) -> str:
    end = container.terminated
    if end is None:
        return "ExitCode:0"
    if end.reason:
        return end.reason
    return f"Signal:{end.signal}" if end.signal else f"ExitCode:{end.exit_code or 0}"


def _restarts(containers: Sequence[ContainerFacts], at: float) -> str:
    count = sum(c.restart_count for c in containers)
    ends = [c.last_terminated.finished_at for c in containers if c.last_terminated is not None]
    newest = max((end for end in ends if end is not None), default=None)
    return f"{count} ({_since(newest, at)} ago)" if count and newest is not None else str(count)


def _gates(pod: PodFacts) -> str:
    if not pod.readiness_gates:
        return NONE
    return f"{sum(met for _, met in pod.readiness_gates)}/{len(pod.readiness_gates)}"


# --- ages and layout


def _since(then: float | None, at: float) -> str:
    return "<unknown>" if then is None else age(at - then)


def age(seconds: float) -> str:
    """As kubectl writes an age: ``75s``, ``3m20s``, ``12m``, ``5h3m``, ``30h``, ``3d4h``, ``12d``, ``2y3d``."""
    whole = int(seconds)
    if whole < -1:
        return "<invalid>"
    return next(write(max(whole, 0)) for below, write in AGES if whole < below)


def _two(large: int, first: str, small: int, second: str) -> Callable[[int], str]:
    def write(whole: int) -> str:
        rest = whole % large // small
        return f"{whole // large}{first}" + (f"{rest}{second}" if rest else "")

    return write


AGES: tuple[tuple[float, Callable[[int], str]], ...] = (
    (2 * MINUTE, lambda whole: f"{whole}s"),
    (10 * MINUTE, _two(MINUTE, "m", 1, "s")),
    (3 * HOUR, lambda whole: f"{whole // MINUTE}m"),
    (8 * HOUR, _two(HOUR, "h", MINUTE, "m")),
    (2 * DAY, lambda whole: f"{whole // HOUR}h"),
    (8 * DAY, _two(DAY, "d", HOUR, "h")),
    (2 * YEAR, lambda whole: f"{whole // DAY}d"),
    (8 * YEAR, _two(YEAR, "y", DAY, "d")),
    (float("inf"), lambda whole: f"{whole // YEAR}y"),
)


def lines(header: Cells, printed: Iterable[Cells]) -> Iterator[str]:
    """The header and each row, aligned as kubectl does: columns only grow, and earlier lines stay as they were."""
    widths = [0] * len(header)
    first: list[Cells] = [header]
    for cells in printed:
        batch = [*first, cells]
        first = []
        for row in batch:
            for column, cell in enumerate(row[:-1]):
                widths[column] = max(widths[column], MIN_WIDTH, len(cell) + PADDING)
        for row in batch:
            yield "".join(cell.ljust(width) for cell, width in zip(row[:-1], widths, strict=False)) + row[-1]


def collapsed(header: Cells, printed: Iterable[Row]) -> list[Row]:
    """Without rows that differ from their object's row before only by the time that has passed."""
    kept: list[Row] = []
    last: dict[str, Cells] = {}
    for row in printed:
        same = timeless(header, row.cells)
        if last.get(row.cells[0]) != same:
            kept.append(row)
        last[row.cells[0]] = same
    return kept


def timeless(header: Cells, cells: Cells) -> Cells:
    """The cells without what changes with the clock alone."""
    return tuple(_timeless(column, cell) for column, cell in zip(header, cells, strict=True))


def _timeless(column: str, cell: str) -> str:
    if column == "AGE":
        return ""
    return cell.partition(" (")[0] if column == "RESTARTS" else cell
