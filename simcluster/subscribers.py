"""Who is told of each change."""

from collections import deque
from collections.abc import Callable

from simcluster.history import Change

Subscriber = Callable[[Change], None]


class Subscribers:
    """Told of one change after the other: what a subscriber writes is told when the present change has reached all."""

    def __init__(self) -> None:
        self._subscribers: list[Subscriber] = []
        self._pending: deque[Change] = deque()
        self._delivering = False

    def add(self, subscriber: Subscriber) -> Callable[[], None]:
        """Returns what ends it."""
        self._subscribers.append(subscriber)
        return lambda: self._subscribers.remove(subscriber) if subscriber in self._subscribers else None

    def tell(self, change: Change) -> None:
        """A failing subscriber does not keep the news from the others: its error is raised when all have been told."""
        self._pending.append(change)
        if self._delivering:
            return
        self._delivering = True
        failure: Exception | None = None
        while self._pending:
            change = self._pending.popleft()
            for subscriber in tuple(self._subscribers):
                try:
                    subscriber(change)
                except Exception as error:
                    failure = failure or error
        self._delivering = False
        if failure is not None:
            raise failure
