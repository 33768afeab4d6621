"""What every controller does that looks at each change of the store."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from simcluster.resources import Resource
from simcluster.store import Store

Obj = dict[str, Any]


class Follower(ABC):
    """Is told of each change from `start` to `stop`."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._unsubscribe: Callable[[], None] | None = None

    def start(self) -> None:
        self._unsubscribe = self._store.subscribe(self._on_change)

    def stop(self) -> None:
        if self._unsubscribe is not None:
            self._unsubscribe()

    @abstractmethod
    def _on_change(self, change: str, resource: Resource, obj: Obj, old: Obj | None, /) -> None: ...
