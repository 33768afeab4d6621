"""OpenAPI v3, from the shapes of the kinds: what `kubectl explain` shows and `kubectl apply` needs to know.

With `fieldValidation` among a kind's parameters kubectl leaves validation to the server.
"""

from collections.abc import Iterable
from typing import Any

from simcluster.resources import REGISTRY, Resource
from simcluster.schemas.kinds import schema_of
from simcluster.schemas.schema import Schema

Obj = dict[str, Any]
# The older document is asked for only when a kind is unknown: in protobuf, and it says no more than its version.
V2, V2_TYPE = b"\n\x032.0", "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
_PARAMETERS = [
    {"name": name, "in": "query", "schema": {"type": "string"}}
    for name in ("dryRun", "fieldManager", "fieldValidation", "force")
]


def index(missing: Iterable[Resource]) -> Obj:
    """/openapi/v3"""
    left_out = set(missing)
    paths = dict.fromkeys(_path(resource) for resource in REGISTRY if resource not in left_out)
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
        "paths": {path: item for resource in found for path, item in _operations(resource)},
        "components": {"schemas": {_name(resource): _component(resource) for resource in found}},
    }


def described(schema: Schema) -> Obj:
    """A shape in OpenAPI's words, the extensions that say how lists are merged included."""
    shown: Obj = {"description": schema.text} if schema.text else {}
    if schema.type == "int-or-string":
        shown |= {"x-kubernetes-int-or-string": True, "oneOf": [{"type": "integer"}, {"type": "string"}]}
    elif schema.type:
        shown["type"] = schema.type
    else:
        shown |= {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    for key, value in (
        ("format", schema.format),
        ("default", schema.default),
        ("enum", list(schema.enum)),
        ("minimum", schema.minimum),
        ("maximum", schema.maximum),
        ("maxLength", schema.max_length),
        ("pattern", schema.pattern),
        ("required", list(schema.required)),
    ):
        if value not in (None, "", []):
            shown[key] = value
    if schema.properties:
        shown["properties"] = {key: described(inner) for key, inner in sorted(schema.properties.items())}
    if schema.values is not None:
        shown["additionalProperties"] = described(schema.values)
    if schema.items is not None:
        shown["items"] = described(schema.items)
    return shown | _merging(schema)


def _merging(schema: Schema) -> Obj:
    if schema.keys:
        return {
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": list(schema.keys),
            "x-kubernetes-patch-merge-key": schema.keys[0],
            "x-kubernetes-patch-strategy": "merge",
        }
    if schema.is_set:
        return {"x-kubernetes-list-type": "set", "x-kubernetes-patch-strategy": "merge"}
    if schema.type == "array":
        return {"x-kubernetes-list-type": "atomic"}
    return {"x-kubernetes-map-type": "atomic"} if schema.atomic else {}


def _path(resource: Resource) -> str:
    return f"apis/{resource.api_version}" if resource.group else f"api/{resource.version}"


def _name(resource: Resource) -> str:
    return ".".join([*reversed((resource.group or "core").split(".")), resource.version, resource.kind])


def _kind(resource: Resource) -> Obj:
    return {"group": resource.group, "kind": resource.kind, "version": resource.version}


def _component(resource: Resource) -> Obj:
    return {**described(schema_of(resource)), "x-kubernetes-group-version-kind": [_kind(resource)]}


def _operations(resource: Resource) -> list[tuple[str, Obj]]:
    scope = "namespaces/{namespace}/" if resource.namespaced else ""
    reference = {"$ref": f"#/components/schemas/{_name(resource)}"}
    answer = {"200": {"description": "OK", "content": {"application/json": {"schema": reference}}}}
    operation = {
        "x-kubernetes-group-version-kind": _kind(resource),
        "parameters": _PARAMETERS,
        "responses": answer,
    }
    base = f"/{_path(resource)}/{scope}{resource.plural}"
    one = {name: {**operation, "x-kubernetes-action": name} for name in ("get", "put", "patch", "delete")}
    many = {
        "get": {**operation, "x-kubernetes-action": "list"},
        "post": {**operation, "x-kubernetes-action": "post"},
    }
    return [(base, many), (f"{base}/{{name}}", one)]
