"""Who wrote what: one line per write, as a real server's audit log has it, bounded."""

from collections import deque
from dataclasses import dataclass
from typing import Any

from simcluster.actors import Actor
from simcluster.clock import rfc3339_micro
from simcluster.history import Change
from simcluster.resources import Resource
from simcluster.store import Store

Obj = dict[str, Any]
LIMIT = 100_000


class AuditLog:
    """The newest writes of a store, oldest first."""

    def __init__(self, store: Store, limit: int = LIMIT) -> None:
        self._writes: deque[_Write] = deque(maxlen=limit)
        self._stop = store.subscribe_changes(self._note)

    def close(self) -> None:
        self._stop()

    def entries(self, after_version: int = 0) -> list[Obj]:
        """Time, verb, user, manager, user agent, resource, name, uid and version of each write."""
        return [write.told() for write in self._writes if write.version > after_version]

    def _note(self, change: Change) -> None:
        # Not the change itself: it would keep every state of every object in memory.
        key, uid = change.key, change.object["metadata"]["uid"]
        self._writes.append(
            _Write(change.version, change.at, change.verb, change.type, change.actor, change.resource, key, uid)
        )


@dataclass(frozen=True, slots=True)
class _Write:
    version: int
    at: float
    verb: str
    type: str
    actor: Actor
    resource: Resource
    key: str
    uid: str

    def told(self) -> Obj:
        namespace, _, name = self.key.rpartition("/")
        return {
            "at": rfc3339_micro(self.at),
            "verb": self.verb,
            "type": self.type,
            "user": self.actor.user,
            "manager": self.actor.manager,
            "agent": self.actor.agent,
            "resource": self.resource.qualified,
            "namespace": namespace,
            "name": name,
            "uid": self.uid,
            "version": self.version,
        }
