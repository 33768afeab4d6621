"""As much of OpenAPI v3 as kubectl asks for before it applies: which kinds take part in field validation.

There are no schemas: with `fieldValidation` among a kind's parameters kubectl leaves validation to the server.
"""

from collections.abc import Iterable
from typing import Any

from simcluster.resources import REGISTRY, Resource

Obj = dict[str, Any]
_PARAMETERS = [{"name": name, "in": "query", "schema": {"type": "string"}} for name in ("dryRun", "fieldValidation")]


def index(missing: Iterable[Resource]) -> Obj:
    """/openapi/v3"""
    paths = dict.fromkeys(_path(resource) for resource in REGISTRY if resource not in set(missing))
    return {"paths": {path: {"serverRelativeURL": f"/openapi/v3/{path}"} for path in paths}}


def document(path: str, missing: Iterable[Resource]) -> Obj | None:
    """/openapi/v3/<path>, e.g. apis/kubeflow.org/v1; None if nothing is installed there."""
    left_out = set(missing)
    found = [resource for resource in REGISTRY if resource not in left_out and _path(resource) == path]
    if not found:
        return None
    return {
        "openapi": "3.0.0",
        "info": {"title": "simcluster", "version": "v1.36.2"},
        "paths": dict(_operations(resource) for resource in found),
    }


def _path(resource: Resource) -> str:
    return f"apis/{resource.api_version}" if resource.group else f"api/{resource.version}"


def _operations(resource: Resource) -> tuple[str, Obj]:
    scope = "namespaces/{namespace}/" if resource.namespaced else ""
    kind = {"group": resource.group, "version": resource.version, "kind": resource.kind}
    patch = {"x-kubernetes-group-version-kind": kind, "parameters": _PARAMETERS, "responses": {}}
    return f"/{_path(resource)}/{scope}{resource.plural}/{{name}}", {"patch": patch}
