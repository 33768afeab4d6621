"""The cluster's state: objects under one rising resourceVersion, with the API server's rules for writes.

Objects are plain JSON dicts. The store takes over what it is given and hands out what it holds: neither may be
changed afterwards (copy what you want to change). A write never changes a stored object in place, so a reference
handed out stays as it was.
"""

import copy
import random
import uuid as uuid_module
from collections.abc import Callable
from typing import Any

from simcluster import admission, deletion, errors, fields, patch, preconditions, selectors
from simcluster.actors import SYSTEM, Actor
from simcluster.clock import Clock, rfc3339
from simcluster.history import Change, History
from simcluster.metadata import SYSTEM_FIELDS, assembled, key_of, key_of_or_none, ordered, store_key, with_metadata
from simcluster.resources import NAMESPACES, PODS, REGISTRY, Resource
from simcluster.subscribers import Subscribers
from simcluster.table import Table
from simcluster.updates import merged

Obj = dict[str, Any]
Objs = list[Obj]  # inside Store, `list` is its method
Names = list[str]
Subscriber = Callable[[str, Resource, Obj, Obj | None], None]

_NAME_LETTERS = "bcdfghjklmnpqrstvwxz2456789"  # what the API server draws generated names from


class _Progress:
    """What all views of a store share beside its tables."""

    def __init__(self) -> None:
        self.version = 0
        self.is_served = False


class Store:
    """All objects of the cluster. Not thread-safe: everything happens on one event loop."""

    def __init__(self, clock: Clock, rng: random.Random, history_limit: int = 20_000) -> None:
        """`history_limit`: changes kept per resource for watches and paged lists."""
        self.clock = clock
        self.actor = SYSTEM
        self._progress = _Progress()
        self._rng = rng
        self._tables = {resource: Table(history_limit) for resource in REGISTRY}
        self._uids: set[str] = set()
        self.admissions: list[Callable[[Resource, Obj], None]] = []  # each may refuse a new object with an ApiError
        self._subscribers = Subscribers()

    def acting_as(self, actor: Actor) -> "Store":
        """The same store, for whoever writes as `actor`."""
        view = copy.copy(self)
        view.actor = actor
        return view

    @property
    def resource_version(self) -> int:
        return self._progress.version

    def serve(self) -> None:
        """From now on, as behind a real API server: writes are held against the whole schema, and managedFields say
        who set what."""
        self._progress.is_served = True

    # Reading

    def find(self, resource: Resource, namespace: str | None, name: str) -> Obj | None:
        return self._tables[resource].objects.get(self._key(resource, namespace, name))

    def get(self, resource: Resource, namespace: str | None, name: str) -> Obj:
        """The object. Raises ApiError 404."""
        found = self.find(resource, namespace, name)
        if found is None:
            raise errors.not_found(resource, name)
        return found

    def list(
        self,
        resource: Resource,
        namespace: str | None = None,
        label_selector: str | None = None,
        field_selector: str | None = None,
    ) -> Objs:
        """Objects in key order, of one namespace or of all. Raises ApiError 400 for a selector it cannot read."""
        selector = selectors.parse(resource, label_selector, field_selector)
        table = self._tables[resource]
        found = [table.objects[key] for key in table.range(namespace if resource.namespaced else None)]
        return [obj for obj in found if selector.matches(obj)] if selector else found

    def scan(
        self, resource: Resource, namespace: str | None = None, start: str = "", version: int | None = None
    ) -> tuple[Names, Callable[[str], Obj]]:
        """Keys from `start` on and how to look one up, as of `version`. Raises ApiError 410 if that is compacted."""
        table = self._tables[resource]
        keys = table.range(namespace, start)
        if version is None or version >= self.resource_version:
            return keys, table.objects.__getitem__
        undone = self.checked_history(resource, version).undone(version)
        then = {key: obj for key, obj in undone.items() if obj is not None}
        if not undone:
            return keys, table.objects.__getitem__
        prefix = f"{namespace}/" if namespace else ""
        missing = [key for key in then if key >= start and key.startswith(prefix) and key not in table.objects]
        keys = sorted([key for key in keys if key not in undone or key in then] + missing)
        return keys, lambda key: then[key] if key in then else table.objects[key]

    def count(self, resource: Resource) -> int:
        return len(self._tables[resource].objects)

    def has_uid(self, uid: str) -> bool:
        """Whether an object with this UID exists now."""
        return uid in self._uids

    # Writing

    def create(
        self,
        resource: Resource,
        obj: Obj,
        namespace: str | None = None,
        dry_run: bool = False,
        managed: Objs | None = None,
    ) -> Obj:
        """Stores a new object and returns it. `managed` as for `update`.

        Raises ApiError: 404 namespace, 409 exists, 422 invalid, 403 refused, 400.
        """
        obj = admission.check_shape(resource, obj)
        metadata = self._given_metadata(resource, obj, namespace)
        name = metadata.get("name") or ""
        admission.check_name(resource, name)
        obj = admission.defaulted(resource, {**obj, "metadata": metadata}, creating=True)
        admission.validate(resource, obj, None, self._progress.is_served)
        if resource.namespaced:
            self._check_namespace(resource, name, metadata["namespace"])
        if self.find(resource, metadata.get("namespace"), name) is not None:
            raise errors.already_exists(resource, name)
        for admit in self.admissions:
            admit(resource, obj)
        system: Obj = {"uid": self.new_uid(), "creationTimestamp": rfc3339(self.clock.now())}
        if resource.has_generation:
            system["generation"] = 1
        obj = assembled(resource, obj, {**obj["metadata"], **system})
        if managed is None:
            obj = self._with_fields(resource, None, obj, None)
        else:
            obj = with_metadata(resource, obj, managedFields=managed)
        return obj if dry_run else self._write("ADDED", resource, obj, None, "create")

    def update(
        self,
        resource: Resource,
        obj: Obj,
        subresource: str | None = None,
        dry_run: bool = False,
        managed: Objs | None = None,
    ) -> Obj:
        """Replaces the object, or its part that `subresource` names, and returns what is stored.

        Subresource "status": the status alone. "binding" (pods): spec and status, without a new generation, as the
        scheduler's binding does. `managed`: the managedFields to store, where the caller has worked them out.
        A write that changes nothing leaves the resourceVersion and tells nobody.
        Raises ApiError: 404, 409 for an old resourceVersion or another uid, 422, 400.
        """
        obj = admission.check_shape(resource, obj)
        given = obj["metadata"]
        old = self.get(resource, given.get("namespace"), given.get("name") or "")
        preconditions.check_update(resource, old, given)
        new = merged(resource, old, obj, subresource)
        if managed is not None:
            new = with_metadata(resource, new, managedFields=managed)
        if new == old:
            return old
        admission.validate(resource, new, old, self._progress.is_served)
        if managed is None:
            new = self._with_fields(resource, old, new, subresource)
        if dry_run:
            return new
        written = self._write("MODIFIED", resource, new, old, "update")
        return self._remove(resource, written) if deletion.is_finished(new) else written

    def patch_merge(
        self,
        resource: Resource,
        namespace: str | None,
        name: str,
        body: Any,
        subresource: str | None = None,
        *,
        dry_run: bool = False,
    ) -> Obj:
        """Applies a JSON merge patch. Raises as `update` does, 400 for a patch that is no object."""
        if not isinstance(body, dict):
            raise errors.bad_request("a merge patch must be a JSON object")
        old = self.get(resource, namespace, name)
        wanted = patch.merge(old, body)
        renamed = not isinstance(wanted.get("metadata"), dict) or key_of_or_none(wanted) != key_of(old)
        if renamed:
            raise errors.bad_request("the name or namespace of the object does not match the name on the request")
        return self.update(resource, wanted, subresource, dry_run)

    def delete(
        self,
        resource: Resource,
        namespace: str | None,
        name: str,
        grace_seconds: int | None = None,
        uid: str | None = None,
        *,
        propagation: str = "Background",
        resource_version: str | None = None,
        dry_run: bool = False,
    ) -> Obj:
        """Deletes the object, or marks it while a grace period or finalizers hold it; returns its last state.

        A pod is marked first (MODIFIED with deletionTimestamp) in every case; grace 0, a pod that is not scheduled
        or has ended is then removed at once (DELETED). A later delete may only shorten the grace period.
        `propagation`: Background, Foreground or Orphan. Raises ApiError: 404, 409 if `uid` is another's.
        """
        old = self.get(resource, namespace, name)
        preconditions.check_delete(resource, old, uid, resource_version)
        finalizers = list(old["metadata"].get("finalizers") or [])
        extra = {"Foreground": "foregroundDeletion", "Orphan": "orphan"}.get(propagation)
        if extra and extra not in finalizers:
            finalizers.append(extra)
        now = self.clock.now()
        if resource is PODS:
            new = deletion.marked_pod(old, grace_seconds, finalizers, now)
            held = bool(finalizers) or new["metadata"]["deletionGracePeriodSeconds"] > 0
        else:
            held = bool(finalizers or (resource is NAMESPACES and (old.get("spec") or {}).get("finalizers")))
            new = deletion.marked(resource, old, finalizers, now) if held else old
        if new == old:
            new = old  # the very object, so that it can be told from a newer one
        elif not dry_run:
            new = self._write("MODIFIED", resource, new, old, "delete")
        return new if held or dry_run else self._remove(resource, new)

    def new_uid(self) -> str:
        return str(uuid_module.UUID(int=self._rng.getrandbits(128), version=4))

    def ensure_namespace(self, name: str) -> Obj:
        """The namespace, created if it is missing."""
        return self.find(NAMESPACES, None, name) or self.create(NAMESPACES, {"metadata": {"name": name}})

    # Watching

    def subscribe(self, fn: Subscriber) -> Callable[[], None]:
        """Calls `fn(type, resource, obj, old)` for each write, in resourceVersion order, before the write returns.

        A write made by a subscriber is delivered after the current one has reached everybody. Returns what ends it.
        """
        return self.subscribe_changes(lambda change: fn(change.type, change.resource, change.object, change.old))

    def subscribe_changes(self, fn: Callable[[Change], None]) -> Callable[[], None]:
        """As `subscribe`, with the Change itself."""
        return self._subscribers.add(fn)

    def checked_history(self, resource: Resource, version: int) -> History:
        """The history of a resource. Raises ApiError 410 when changes after `version` are gone."""
        history = self._tables[resource].history
        if version < history.compacted:
            raise errors.too_old(resource, version, history.compacted)
        return history

    def history(self, resource: Resource) -> History:
        return self._tables[resource].history

    def compact(self, to_version: int | None = None, keep_seconds: float | None = None) -> int:
        """Forgets changes up to a version, or those older than `keep_seconds`, by default all.

        Returns the version up to which history is gone.
        """
        if keep_seconds is not None:
            oldest = self.clock.now() - keep_seconds
            to_version = max(table.history.newest_before(oldest) for table in self._tables.values())
        version = self.resource_version if to_version is None else min(to_version, self.resource_version)
        for table in self._tables.values():
            table.history.compact(version)
        return version

    def go_on_after(self, version: int) -> None:
        """Has what is written from now on come after a version; what a watch from an earlier one missed is gone."""
        self._progress.version = max(self._progress.version, version)
        self.compact()

    # Inside

    @staticmethod
    def _key(resource: Resource, namespace: str | None, name: str) -> str:
        return store_key(namespace or "default", name) if resource.namespaced else name

    def _given_metadata(self, resource: Resource, obj: Obj, namespace: str | None) -> Obj:
        """What a new object may say of itself, with its namespace and its generated name. Raises ApiError 400."""
        metadata = {key: value for key, value in obj["metadata"].items() if key not in SYSTEM_FIELDS}
        if obj["metadata"].get("resourceVersion"):
            raise errors.bad_request("resourceVersion should not be set on objects to be created")
        metadata.pop("namespace", None)
        metadata.pop("managedFields", None)
        if resource.namespaced:
            metadata["namespace"] = self._wanted_namespace(obj, namespace)
        if not metadata.get("name") and metadata.get("generateName"):
            metadata["name"] = metadata["generateName"] + "".join(self._rng.choices(_NAME_LETTERS, k=5))
        return metadata

    @staticmethod
    def _wanted_namespace(obj: Obj, namespace: str | None) -> str:
        own: str | None = obj["metadata"].get("namespace")
        if own and namespace and own != namespace:
            raise errors.bad_request(
                f"the namespace of the provided object does not match the namespace sent on the request: {own}"
            )
        return own or namespace or "default"

    def _check_namespace(self, resource: Resource, name: str, namespace: str) -> None:
        """Raises ApiError 404 for a namespace that is not there, 403 for one that is going."""
        found = self.find(NAMESPACES, None, namespace)
        if found is None:
            raise errors.namespace_not_found(namespace)
        if "deletionTimestamp" in found["metadata"]:
            raise errors.namespace_terminating(resource, name, namespace)

    def _with_fields(self, resource: Resource, old: Obj | None, new: Obj, subresource: str | None) -> Obj:
        if not (self._progress.is_served and self.actor.manager):
            return new
        now = rfc3339(self.clock.now())
        managed = fields.after_update(resource, old, new, self.actor.manager, subresource=subresource, time=now)
        return with_metadata(resource, new, managedFields=managed)

    def _remove(self, resource: Resource, old: Obj) -> Obj:
        # A subscriber told of the mark may have removed the object itself.
        if self._tables[resource].objects.get(key_of(old)) is not old:
            return old
        return self._write("DELETED", resource, old, old, "delete")

    def _write(self, kind: str, resource: Resource, obj: Obj, old: Obj | None, verb: str) -> Obj:
        progress = self._progress
        progress.version += 1
        obj = {**obj, "metadata": ordered(resource, {**obj["metadata"], "resourceVersion": str(progress.version)})}
        table, key = self._tables[resource], key_of(obj)
        if kind == "DELETED":
            table.remove(key)
            self._uids.discard(obj["metadata"]["uid"])
        else:
            table.put(key, obj)
            self._uids.add(obj["metadata"]["uid"])
        change = Change(progress.version, kind, resource, key, obj, old, self.clock.now(), self.actor, verb)
        table.history.append(change)
        self._subscribers.tell(change)
        return obj
