"""Level of detail: what is narrower than a pixel becomes one heap that says how much it was.

No restart is ever lost: each counts in a bar, in a mark or in a heap.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from jobs.models import Restart
from jobs.store.pages.timeline import Bar

GAP = 2.0  # pixels: what is farther apart is not one heap


@dataclass
class Heap:
    """Pods, or restarts in place, too close to be told apart. ``codes``: what the runs ended with -> how often."""

    first: str  # UID of its first pod
    start: float
    end: float
    pods: int = 0
    restarts: int = 0
    codes: dict[str, int] = field(default_factory=dict)

    def count(self, code: int | None) -> None:
        name = "?" if code is None else str(code)
        self.codes[name] = self.codes.get(name, 0) + 1


def begin(bar: Bar) -> float:
    """The cluster's word is in whole seconds; a pod whose birth was watched was born when it was first seen."""
    at = bar.created_at if bar.listed else bar.first_seen_at
    return at if at is not None else bar.first_seen_at


def thinned(bars: Sequence[Bar], pixel: float) -> tuple[list[Bar], list[Heap]]:
    """The bars of one replica, oldest first, that are at least a pixel of so many seconds, and heaps of the others."""
    kept: list[Bar] = []
    heaps: list[Heap] = []
    run: list[Bar] = []
    for bar in bars:
        if not _small(bar, pixel):
            kept.append(bar)
            _close(run, kept, heaps)
        else:
            if run and begin(bar) - _end(run[-1]) > GAP * pixel:
                _close(run, kept, heaps)
            run.append(bar)
    _close(run, kept, heaps)
    return sorted(kept, key=begin), heaps


def _small(bar: Bar, pixel: float) -> bool:
    """Narrower than a pixel. What is still there grows, and stays a bar."""
    return bar.gone is not None and bar.gone - begin(bar) < pixel


def _end(bar: Bar) -> float:
    return bar.gone if bar.gone is not None else begin(bar)


def _close(run: list[Bar], kept: list[Bar], heaps: list[Heap]) -> None:
    """End a run of small bars: one alone stays itself."""
    if len(run) == 1:
        kept.append(run[0])
    elif run:
        heap = Heap(run[0].uid, begin(run[0]), max(map(_end, run)), pods=len(run))
        for bar in run:
            heap.restarts += bar.counts + bar.restarts
            if bar.ends:
                heap.count(bar.ends[-1].exit_code)
        heaps.append(heap)
    run.clear()


def thinned_marks(restarts: Iterable[Restart], pixel: float) -> tuple[list[Restart], list[Heap]]:
    """Restarts in place of kept bars: those that would touch on the screen are one heap."""
    kept: list[Restart] = []
    heaps: list[Heap] = []
    ordered = sorted((r for r in restarts), key=lambda r: (r.pod_uid, r.at is None, r.at or 0.0, r.number))
    for _uid, own in groupby(ordered, key=lambda r: r.pod_uid):
        run: list[Restart] = []
        for restart in own:
            if run and (restart.at is None or restart.at - (run[-1].at or 0.0) > GAP * pixel):
                _close_marks(run, kept, heaps)
            run.append(restart)
        _close_marks(run, kept, heaps)
    return kept, heaps


def _close_marks(run: list[Restart], kept: list[Restart], heaps: list[Heap]) -> None:
    known = [restart for restart in run if restart.at is not None]
    if len(known) < 2 or len(known) < len(run):
        kept.extend(run)
    else:
        heap = Heap(run[0].pod_uid, known[0].at or 0.0, known[-1].at or 0.0, restarts=sum(r.counts for r in run))
        for restart in run:
            heap.count(restart.exit_code)
        heaps.append(heap)
    run.clear()
