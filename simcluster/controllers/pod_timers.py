"""What is still to come in one pod's life: timers that end with the pod and wait for a kubelet that is silent."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from simcluster.clock import Timer
from simcluster.controllers.delays import Range

if TYPE_CHECKING:
    from simcluster.controllers.kubelet import Kubelet


class PodTimers:
    def __init__(self, kubelet: Kubelet) -> None:
        self._kubelet = kubelet
        self._timers: set[Timer] = set()
        self._starting: set[Timer] = set()  # of containers that the runtime is about to start
        self.stopped = False

    def later(self, delay: Range, fn: Callable[..., None], *args: Any) -> Timer:
        return self.at(delay.draw(self._kubelet.rng), fn, *args)

    def at(self, seconds: float, fn: Callable[..., None], *args: Any, process: bool = False) -> Timer:
        """`seconds` from now. `process`: it happens in the pod, not in the kubelet, and so whether or not the kubelet
        is there."""

        def run() -> None:
            self._timers.discard(timer)
            if self.stopped:
                return
            if self._kubelet.is_silent and not process:
                self._kubelet.when_back(lambda: None if self.stopped else fn(*args))
            else:
                fn(*args)

        timer = self._kubelet.clock.call_later(seconds, run)
        self._timers.add(timer)
        return timer

    def start(self, seconds: float, fn: Callable[..., None], *args: Any) -> None:
        """Has the runtime start something: that goes on even when the pod is to be deleted meanwhile."""

        def run() -> None:
            self._starting.discard(timer)
            fn(*args)

        timer = self.at(seconds, run)
        self._starting.add(timer)

    @property
    def starting(self) -> bool:
        """Whether the runtime is about to start something."""
        return bool(self._starting)

    def cancel(self) -> None:
        for timer in self._timers:
            timer.cancel()
        self._timers.clear()

    def cancel_for_deletion(self, exits: set[Timer]) -> None:
        """What is being started is started all the same, and processes end when they end (`exits`)."""
        kept = exits | self._starting
        for timer in self._timers - kept:
            timer.cancel()
        self._timers &= kept

    def stop(self) -> None:
        """The pod is gone."""
        self.stopped = True
        self.cancel()
