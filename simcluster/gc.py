"""Garbage collection: dependents of a deleted owner, finalizers of Foreground and Orphan, ends of namespaces."""

import random
from collections import defaultdict
from typing import Any

from simcluster.actors import GARBAGE_COLLECTOR
from simcluster.clock import Clock
from simcluster.errors import ApiError
from simcluster.metadata import with_metadata
from simcluster.resources import NAMESPACES, REGISTRY, Resource
from simcluster.store import Store

Obj = dict[str, Any]
_Ref = tuple[Resource, str, str, str]  # resource, namespace, name, uid

_FOREGROUND, _ORPHAN = "foregroundDeletion", "orphan"


class GarbageCollector:
    """Follows the store and deletes what has no owner left, 10 to 100 ms later as on a real cluster."""

    def __init__(self, store: Store, clock: Clock, rng: random.Random) -> None:
        self._store = store.acting_as(GARBAGE_COLLECTOR)
        self._clock = clock
        self._rng = rng
        self._dependents: defaultdict[str, dict[_Ref, None]] = defaultdict(dict)  # by owner UID, in order of creation
        self._awaited: dict[str, _Ref] = {}  # owners whose foreground deletion waits for their dependents, by UID
        self._stop = store.subscribe(self._observe)

    def close(self) -> None:
        self._stop()

    def _observe(self, kind: str, resource: Resource, obj: Obj, old: Obj | None) -> None:
        reference = _reference(resource, obj)
        owners = _owner_uids(obj) if kind != "DELETED" else []
        for uid in _owner_uids(old) if old else []:
            if uid not in owners:
                self._forget(uid, reference)
        for uid in owners:
            self._dependents[uid][reference] = None
        if kind == "DELETED":
            self._owner_gone(resource, obj)
            return
        if owners and not any(self._store.has_uid(uid) for uid in owners):
            self._later(self._collect, reference)
        if "deletionTimestamp" in obj["metadata"] and (old is None or "deletionTimestamp" not in old["metadata"]):
            self._deletion_asked(resource, obj, reference)

    def _owner_gone(self, resource: Resource, obj: Obj) -> None:
        uid = obj["metadata"]["uid"]
        self._awaited.pop(uid, None)
        for dependent in self._dependents.pop(uid, {}):
            self._later(self._collect, dependent)
        for owner in _owner_uids(obj):
            self._recheck_foreground(owner)
        namespace = obj["metadata"].get("namespace")
        if resource is not NAMESPACES and namespace:
            self._recheck_namespace(namespace)

    def _deletion_asked(self, resource: Resource, obj: Obj, reference: _Ref) -> None:
        finalizers = obj["metadata"].get("finalizers") or []
        uid = obj["metadata"]["uid"]
        if _ORPHAN in finalizers:
            self._later(self._orphan, reference)
        if _FOREGROUND in finalizers:
            for dependent in self._dependents.get(uid, {}):
                self._later(self._delete, dependent)
            self._awaited[uid] = reference
            self._later(self._finish_foreground, reference)
        if resource is NAMESPACES:
            self._later(self._empty_namespace, obj["metadata"]["name"])

    def _collect(self, reference: _Ref) -> None:
        """Deletes a dependent all of whose owners are gone; takes dead owners off one that keeps another."""
        obj = self._current(reference)
        if obj is None:
            return
        owners = obj["metadata"].get("ownerReferences") or []
        living = [owner for owner in owners if self._store.has_uid(owner["uid"])]
        if not owners or len(living) == len(owners):
            return
        if living:
            self._store.update(reference[0], with_metadata(reference[0], obj, ownerReferences=living))
        else:
            self._delete(reference)

    def _delete(self, reference: _Ref) -> None:
        resource, namespace, name, uid = reference
        obj = self._current(reference)
        if obj is not None and "deletionTimestamp" not in obj["metadata"]:
            self._store.delete(resource, namespace, name, uid=uid)

    def _orphan(self, reference: _Ref) -> None:
        uid = reference[3]
        for dependent in list(self._dependents.get(uid, {})):
            obj = self._current(dependent)
            if obj is not None:
                kept = [owner for owner in obj["metadata"].get("ownerReferences") or [] if owner["uid"] != uid]
                self._store.update(dependent[0], with_metadata(dependent[0], obj, ownerReferences=kept))
        self._drop_finalizer(reference, _ORPHAN)

    def _finish_foreground(self, reference: _Ref) -> None:
        if not self._dependents.get(reference[3]):
            self._drop_finalizer(reference, _FOREGROUND)

    def _recheck_foreground(self, owner_uid: str) -> None:
        """After a dependent is gone: an owner that waited for its last dependent may go."""
        if owner_uid not in self._awaited or self._dependents.get(owner_uid):
            return
        self._later(self._finish_foreground, self._awaited[owner_uid])

    def _drop_finalizer(self, reference: _Ref, finalizer: str) -> None:
        obj = self._current(reference)
        if obj is not None and finalizer in (obj["metadata"].get("finalizers") or []):
            left = [item for item in obj["metadata"]["finalizers"] if item != finalizer]
            self._store.update(reference[0], with_metadata(reference[0], obj, finalizers=left))

    def _empty_namespace(self, name: str) -> None:
        for resource in REGISTRY:
            for obj in self._store.list(resource, name) if resource.namespaced else []:
                self._later(self._delete, _reference(resource, obj))
        self._recheck_namespace(name)

    def _recheck_namespace(self, name: str) -> None:
        """Takes a terminating namespace's own finalizer away once nothing is left in it."""
        namespace = self._store.find(NAMESPACES, None, name)
        if namespace is None or "deletionTimestamp" not in namespace["metadata"]:
            return
        if not any(self._store.list(resource, name) for resource in REGISTRY if resource.namespaced):
            self._store.update(NAMESPACES, {**namespace, "spec": {}}, "finalize")

    def _current(self, reference: _Ref) -> Obj | None:
        resource, namespace, name, uid = reference
        obj = self._store.find(resource, namespace, name)
        return obj if obj is not None and obj["metadata"]["uid"] == uid else None

    def _forget(self, uid: str, reference: _Ref) -> None:
        if uid in self._dependents:
            self._dependents[uid].pop(reference, None)
            if not self._dependents[uid]:
                del self._dependents[uid]

    def _later(self, fn: Any, argument: Any) -> None:
        self._clock.call_later(min(0.1, 0.01 + self._rng.expovariate(50)), self._attempt, fn, argument)

    @staticmethod
    def _attempt(fn: Any, argument: Any) -> None:
        """A conflict or a vanished object needs nothing: whoever caused it is followed by another notice."""
        try:
            fn(argument)
        except ApiError as error:
            if error.code not in (404, 409):
                raise


def _reference(resource: Resource, obj: Obj) -> _Ref:
    metadata = obj["metadata"]
    return resource, metadata.get("namespace", ""), metadata["name"], metadata["uid"]


def _owner_uids(obj: Obj) -> list[str]:
    return [owner["uid"] for owner in obj["metadata"].get("ownerReferences") or []]
