"""What the containers have printed: the last run of each and the one before, as a kubelet keeps them."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from simcluster.clock import Clock
from simcluster.controllers.runs import Run

Obj = dict[str, Any]

_EPOCH_SECONDS = 5.0
_MAX_EPOCHS = 10_000


@dataclass
class _Printed:
    started_at: float
    seconds: float | None  # as planned; None: for ever
    lines: Sequence[tuple[float | None, str]]
    is_made_up: bool
    ended_at: float | None = None
    last_words: list[str] = field(default_factory=list)


class Logs:
    """Logs by pod UID and container, in the order of the clock."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._runs: dict[str, dict[str, list[_Printed]]] = {}

    def started(self, pod_uid: str, container: str, run: Run, at: float, seconds: float | None) -> None:
        printed = _Printed(at, seconds, run.log, not run.log)
        kept = self._runs.setdefault(pod_uid, {}).setdefault(container, [])
        kept.append(printed)
        del kept[:-2]

    def ended(self, pod_uid: str, container: str, at: float, code: int, reason: str) -> None:
        kept = self._runs.get(pod_uid, {}).get(container)
        if kept and kept[-1].ended_at is None:
            kept[-1].ended_at = at
            if kept[-1].is_made_up:
                kept[-1].last_words = [f"training ended with code {code} ({reason})"]

    def forget(self, pod_uid: str) -> None:
        """The pod is gone, and its logs with it."""
        self._runs.pop(pod_uid, None)

    def entries_of(self, pod_uid: str, container: str, previous: bool = False) -> list[tuple[float, str]]:
        """Lines printed until now, each after the time at which it was printed (seconds since the epoch); [] for a
        container that has not run (or not before, with `previous`)."""
        kept = self._runs.get(pod_uid, {}).get(container, [])
        if len(kept) < (2 if previous else 1):
            return []
        printed = kept[-2] if previous else kept[-1]
        now = self._clock.now() if printed.ended_at is None else printed.ended_at
        return [(at, line) for at, line in self._all(printed, now) if at <= now]

    @staticmethod
    def _all(printed: _Printed, now: float) -> list[tuple[float, str]]:
        if printed.is_made_up:
            epochs = min(_MAX_EPOCHS, int((now - printed.started_at) / _EPOCH_SECONDS))
            entries = [(printed.started_at, "starting training")]
            for epoch in range(1, epochs + 1):
                noise = random.Random(epoch).uniform(-0.02, 0.02)  # noqa: S311
                line = f"epoch {epoch} loss {2.5 / (1 + 0.2 * epoch) + noise:.4f}"
                entries.append((printed.started_at + epoch * _EPOCH_SECONDS, line))
            return entries + [(now, line) for line in printed.last_words]
        step = (printed.seconds or len(printed.lines)) / max(1, len(printed.lines))
        return [
            (printed.started_at + (number * step if at is None else at), line)
            for number, (at, line) in enumerate(printed.lines)
        ]
