"""What the store holds of one resource."""

import bisect
from typing import Any

from simcluster.history import History

Obj = dict[str, Any]


class Table:
    """The objects of one resource, by key, and its history."""

    def __init__(self, history_limit: int) -> None:
        self.objects: dict[str, Obj] = {}
        self.keys: list[str] = []
        self.history = History(history_limit)

    def range(self, namespace: str | None, start: str = "") -> list[str]:
        """Keys in order: of one namespace or of all, from `start` on."""
        low, high = start, len(self.keys)
        if namespace:
            low = max(start, f"{namespace}/")
            high = bisect.bisect_left(self.keys, f"{namespace}0")  # "0" follows "/"
        return self.keys[bisect.bisect_left(self.keys, low) : high]

    def put(self, key: str, obj: Obj) -> None:
        if key not in self.objects:
            bisect.insort(self.keys, key)
        self.objects[key] = obj

    def remove(self, key: str) -> None:
        del self.objects[key]
        del self.keys[bisect.bisect_left(self.keys, key)]
