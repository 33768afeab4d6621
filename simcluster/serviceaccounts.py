"""Each namespace has a service account named default."""

from typing import Any

from simcluster.actors import of_controller_manager
from simcluster.resources import NAMESPACES, SERVICEACCOUNTS, Resource
from simcluster.store import Store

Obj = dict[str, Any]


class DefaultServiceAccounts:
    """Follows a store from its construction on."""

    def __init__(self, store: Store) -> None:
        self._store = store.acting_as(of_controller_manager("service-account-controller"))
        for namespace in store.list(NAMESPACES):
            self._ensure(namespace["metadata"]["name"])
        self._stop = store.subscribe(self._follow)

    def close(self) -> None:
        self._stop()

    def _follow(self, kind: str, resource: Resource, obj: Obj, old: Obj | None) -> None:
        if resource is NAMESPACES and kind == "ADDED":
            self._ensure(obj["metadata"]["name"])

    def _ensure(self, namespace: str) -> None:
        if self._store.find(SERVICEACCOUNTS, namespace, "default") is None:
            self._store.create(SERVICEACCOUNTS, {"metadata": {"name": "default"}}, namespace)
