"""What the API server says about itself: version, API groups, resources; the old way and aggregated."""

import base64
import hashlib
from collections.abc import Iterable
from typing import Any

from simcluster.resources import REGISTRY, REVIEWS, Resource

Obj = dict[str, Any]
AGGREGATED_TYPE = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_STATUS_VERBS = ["get", "patch", "update"]
_GET = ["get"]
# Subresources that speak another kind than their resource.
_FOREIGN_KINDS: dict[str, Obj] = {
    "eviction": {"group": "policy", "version": "v1", "kind": "Eviction", "verbs": ["create"]},
    "scale": {"group": "autoscaling", "version": "v1", "kind": "Scale", "verbs": _STATUS_VERBS},
    "token": {"group": "authentication.k8s.io", "version": "v1", "kind": "TokenRequest", "verbs": ["create"]},
}

VERSION: Obj = {
    "major": "1",
    "minor": "36",
    "emulationMajor": "1",
    "emulationMinor": "36",
    "minCompatibilityMajor": "1",
    "minCompatibilityMinor": "35",
    "gitVersion": "v1.36.2",
    "gitCommit": "simcluster",
    "gitTreeState": "",
    "buildDate": "1970-01-01T00:00:00Z",
    "goVersion": "",
    "compiler": "",
    "platform": "linux/amd64",
}


class Discovery:
    """The documents for the resources that are installed."""

    def __init__(self, missing: Iterable[Resource]) -> None:
        left_out = set(missing)
        self._resources = [resource for resource in (*REGISTRY, *REVIEWS) if resource not in left_out]

    def has_group_version(self, group: str, version: str) -> bool:
        return any((r.group, r.version) == (group, version) for r in self._resources)

    def api_versions(self, address: str) -> Obj:
        """/api"""
        client = {"clientCIDR": "0.0.0.0/0", "serverAddress": address}
        return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": [client]}

    def group_list(self) -> Obj:
        """/apis"""
        groups = [_without(self._group(name), "kind", "apiVersion") for name in self._group_names()]
        return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}

    def group(self, name: str) -> Obj | None:
        """/apis/<group>; None if it is not installed."""
        return self._group(name) if name in self._group_names() else None

    def resource_list(self, group: str, version: str) -> Obj:
        """/api/v1 and /apis/<group>/<version>"""
        entries: list[Obj] = []
        for resource in self._of(group, version):
            entries.append(_entry(resource))
            entries += [_subentry(resource, name) for name in resource.subresources]
        if not group:
            entries.sort(key=lambda entry: entry["name"])
        group_version = f"{group}/{version}" if group else version
        head = {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version}
        return (head if group else _without(head, "apiVersion")) | {"resources": entries}

    def aggregated(self, core: bool) -> Obj:
        """/api or /apis in the aggregated form."""
        names = [""] if core else self._group_names()
        return {
            "kind": "APIGroupDiscoveryList",
            "apiVersion": "apidiscovery.k8s.io/v2",
            "metadata": {},
            "items": [self._aggregated_group(name) for name in names],
        }

    def _aggregated_group(self, name: str) -> Obj:
        versions = [
            {
                "version": version,
                "resources": [_aggregated_entry(resource) for resource in self._of(name, version)],
                "freshness": "Current",
            }
            for version in self._versions(name)
        ]
        return {"metadata": {"name": name} if name else {}, "versions": versions}

    def _group(self, name: str) -> Obj:
        versions = [{"groupVersion": f"{name}/{version}", "version": version} for version in self._versions(name)]
        head = {"kind": "APIGroup", "apiVersion": "v1", "name": name}
        return {**head, "versions": versions, "preferredVersion": versions[0]}

    def _group_names(self) -> list[str]:
        return list(dict.fromkeys(resource.group for resource in self._resources if resource.group))

    def _versions(self, group: str) -> list[str]:
        return list(dict.fromkeys(resource.version for resource in self._resources if resource.group == group))

    def _of(self, group: str, version: str) -> list[Resource]:
        return [r for r in self._resources if (r.group, r.version) == (group, version)]


def _entry(resource: Resource) -> Obj:
    entry: Obj = {
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": list(resource.verbs),
    }
    if resource.short_names:
        entry["shortNames"] = list(resource.short_names)
    if resource.categories:
        entry["categories"] = list(resource.categories)
    if resource in REVIEWS:
        return entry
    identity = f"{resource.group}/{resource.version}/{resource.kind}"
    entry["storageVersionHash"] = base64.b64encode(hashlib.sha256(identity.encode()).digest()[:8]).decode()
    return entry


def _subentry(resource: Resource, name: str) -> Obj:
    entry: Obj = {"name": f"{resource.plural}/{name}", "singularName": "", "namespaced": resource.namespaced}
    if name in _FOREIGN_KINDS:
        return entry | _FOREIGN_KINDS[name]
    return entry | {"kind": resource.kind, "verbs": _GET if name == "log" else _STATUS_VERBS}


def _aggregated_entry(resource: Resource) -> Obj:
    # Typed resources leave group and version of their kind empty, custom ones name them.
    group, version = (resource.group, resource.version) if resource.custom else ("", "")
    kind = {"group": group, "version": version, "kind": resource.kind}
    entry: Obj = {
        "resource": resource.plural,
        "responseKind": kind,
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": resource.singular,
        "verbs": list(resource.verbs),
    }
    if resource.short_names:
        entry["shortNames"] = list(resource.short_names)
    if resource.categories:
        entry["categories"] = list(resource.categories)
    if resource.subresources:
        entry["subresources"] = [_aggregated_subentry(name, kind) for name in resource.subresources]
    return entry


def _aggregated_subentry(name: str, kind: Obj) -> Obj:
    if name in _FOREIGN_KINDS:
        foreign = _FOREIGN_KINDS[name]
        response = {key: foreign[key] for key in ("group", "version", "kind")}
        return {"subresource": name, "responseKind": response, "verbs": foreign["verbs"]}
    return {"subresource": name, "responseKind": kind, "verbs": _GET if name == "log" else _STATUS_VERBS}


def _without(obj: Obj, *keys: str) -> Obj:
    return {key: value for key, value in obj.items() if key not in keys}
