"""A container whose image cannot be pulled: ErrImagePull, ImagePullBackOff, and again after 10, 20, 40 ... 300 s."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from simcluster.controllers import delays
from simcluster.controllers.delays import Range
from simcluster.controllers.pod_reporter import PodReporter
from simcluster.controllers.podstatus import ContainerState

FIRST_BACK_OFF_SECONDS = 10.0
MAX_BACK_OFF_SECONDS = 300.0


class Schedule(Protocol):
    def __call__(self, delay: Range, fn: Callable[..., None], *args: object) -> object: ...


class ImagePuller:
    """Tries until the image comes. `error` says why it cannot be pulled now, "" if it can; then `ready` is called."""

    def __init__(
        self,
        shown: ContainerState,
        reporter: PodReporter,
        later: Schedule,
        error: Callable[[], str],
        ready: Callable[[], None],
    ) -> None:
        self._shown, self._reporter, self._later = shown, reporter, later
        self._error, self._ready = error, ready
        self._wait = FIRST_BACK_OFF_SECONDS

    def attempt(self) -> None:
        image, error = str(self._shown.spec.get("image") or ""), self._error()
        tell = self._reporter.tell
        tell("Normal", "Pulling", f'Pulling image "{image}"', self._shown)
        if not error:
            tell("Normal", "Pulled", f'Successfully pulled image "{image}"', self._shown)
            self._ready()
            return
        tell("Warning", "Failed", f'Failed to pull image "{image}": {error}', self._shown)
        tell("Warning", "Failed", "Error: ErrImagePull", self._shown)
        self._later(delays.PULL_FAILED, self._failed, image, error)

    def _failed(self, image: str, error: str) -> None:
        first = self._wait == FIRST_BACK_OFF_SECONDS
        self._reporter.warn_of_dns()
        self._shown.state = {"waiting": {"reason": "ErrImagePull", "message": error}}
        if first:
            self._reporter.write()
            self._tell_back_off(image)
        wait = self._wait
        self._wait = min(MAX_BACK_OFF_SECONDS, wait * 2)
        late = delays.BACK_OFF_LATE
        self._later(Range(wait + late.low, wait + late.usual, wait + late.high), self._back_off_over, image, error)

    def _tell_back_off(self, image: str) -> None:
        self._reporter.tell("Normal", "BackOff", f'Back-off pulling image "{image}"', self._shown)
        self._reporter.tell("Warning", "Failed", "Error: ImagePullBackOff", self._shown)

    def _back_off_over(self, image: str, error: str) -> None:
        """The state turns to ImagePullBackOff when the kubelet looks again, which is when it tries again."""
        text = f'Back-off pulling image "{image}": ErrImagePull: {error}'
        self._shown.state = {"waiting": {"reason": "ImagePullBackOff", "message": text}}
        self._reporter.warn_of_dns()
        self._reporter.write()
        self.attempt()
