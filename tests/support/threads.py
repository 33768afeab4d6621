"""Threads that use the database and pass on what they raise."""

import threading
from collections.abc import Callable
from functools import partial
from types import TracebackType
from typing import Any, Self

from django.db import connection


class Background:
    """Runs `work` beside the test, on a connection of its own. Leaving the block waits for it and raises its error."""

    def __init__(self, work: Callable[[], Any], *, seconds: float = 20) -> None:
        self._work = work
        self._seconds = seconds
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.error: BaseException | None = None
        self.result: Any = None

    def _run(self) -> None:
        try:
            self.result = self._work()
        except BaseException as error:
            self.error = error
        finally:
            connection.close()

    def start(self) -> Self:
        self._thread.start()
        return self

    def ends_within(self, seconds: float) -> bool:
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if kind is None:
            self.wait()
        else:
            self.ends_within(self._seconds)

    def wait(self) -> Any:
        """The work's result, once it is done. Raises its error."""
        assert self.ends_within(self._seconds), f"still running after {self._seconds} s"
        if self.error is not None:
            raise self.error
        return self.result


def all_at_once(*works: Callable[[], Any]) -> list[Any]:
    """The results of works that begin at the same moment."""
    barrier = threading.Barrier(len(works))

    def begin(work: Callable[[], Any]) -> Any:
        barrier.wait(60)
        return work()

    threads = [Background(partial(begin, work)).start() for work in works]
    return [thread.wait() for thread in threads]
