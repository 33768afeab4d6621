"""What the API server does to an object before it is stored: shape checks, validation, defaults."""

import re
from typing import Any

from simcluster import validation
from simcluster.errors import bad_request, cause, invalid
from simcluster.resources import NAMESPACES, PODS, PRIORITYCLASSES, RBAC_RESOURCES, TRAINING_JOBS, Resource
from simcluster.schemas.kinds import schema_of
from simcluster.schemas.schema import ANY

_SUBDOMAIN = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
_SUBDOMAIN_TEXT = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start "
    f"and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '{_SUBDOMAIN}')"
)
_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_LABEL_TEXT = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end "
    f"with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '{_LABEL}')"
)
_LIGHT = ("FieldValueTypeInvalid", "FieldValueRequired")
_TYPE_NAMES = {str: "string", bool: "boolean", int: "integer", float: "number", list: "array", dict: "object"}


def check_shape(resource: Resource, obj: Any) -> dict[str, Any]:
    """The object, if apiVersion and kind fit and its metadata can be read. Raises ApiError 400."""
    if not isinstance(obj, dict):
        raise bad_request(f"the object provided is unrecognized (must be of type {resource.kind})")
    _check_type(resource, obj)
    if obj.get("metadata") is None:
        obj = {**obj, "metadata": {}}
    metadata = obj["metadata"]
    if not isinstance(metadata, dict):
        raise bad_request(f"{resource.kind}: metadata must be an object")
    for field in ("spec", "status"):
        if obj.get(field) is not None and not isinstance(obj[field], dict):
            raise bad_request(f"{resource.kind}: {field} must be an object")
    for field, kind in _METADATA_TYPES.items():
        if metadata.get(field) is not None and not isinstance(metadata[field], kind):
            raise bad_request(f"{resource.kind}: metadata.{field} must be of type {_TYPE_NAMES[kind]}")
    for field in ("labels", "annotations"):
        if not all(isinstance(value, str) for value in (metadata.get(field) or {}).values()):
            raise bad_request(f"{resource.kind}: the values of metadata.{field} must be of type string")
    for owner in metadata.get("ownerReferences") or []:
        if not (isinstance(owner, dict) and isinstance(owner.get("uid"), str)):
            raise bad_request(f"{resource.kind}: metadata.ownerReferences must be objects with a uid")
    return obj


def _check_type(resource: Resource, obj: dict[str, Any]) -> None:
    version, kind = obj.get("apiVersion") or resource.api_version, obj.get("kind") or resource.kind
    if version != resource.api_version:
        expected = resource.api_version
        raise bad_request(
            f"the API version in the data ({version}) does not match the expected API version ({expected})"
        )
    if kind != resource.kind and resource.custom:
        raise bad_request(f"kind in the data ({kind}) does not match the expected kind ({resource.kind})")
    if kind != resource.kind:
        why = f"converting ({resource.version}.{kind}) to (core.{resource.kind}): unknown conversion"
        raise bad_request(f'{kind} in version "{resource.version}" cannot be handled as a {resource.kind}: {why}')


_METADATA_TYPES: dict[str, type] = {
    "name": str,
    "generateName": str,
    "namespace": str,
    "labels": dict,
    "annotations": dict,
    "ownerReferences": list,
    "finalizers": list,
    "resourceVersion": str,
    "uid": str,
}


def check_name(resource: Resource, name: str) -> None:
    """Raises ApiError 422 unless the name is a DNS subdomain (a label for namespaces)."""
    found = name_fault(resource, name)
    if found is not None:
        raise invalid(resource, name, [found])


def name_fault(resource: Resource, name: str) -> dict[str, str] | None:
    """What is wrong with an object's name, as the cause of a 422."""
    pattern, text, limit = (_SUBDOMAIN, _SUBDOMAIN_TEXT, 253)
    if resource is NAMESPACES:
        pattern, text, limit = (_LABEL, _LABEL_TEXT, 63)
    if not name:
        message = "Required value: name or generateName is required"
        return cause("FieldValueRequired", message, "metadata.name")
    if resource in RBAC_RESOURCES:  # such names may hold colons
        return _path_segment_fault(name)
    if len(name) > limit:
        message = f'Invalid value: "{name}": must be no more than {limit} characters'
        return cause("FieldValueInvalid", message, "metadata.name")
    if re.fullmatch(pattern, name) is None:
        return cause("FieldValueInvalid", f'Invalid value: "{name}": {text}', "metadata.name")
    return None


def _path_segment_fault(name: str) -> dict[str, str] | None:
    if name in (".", "..") or "/" in name or "%" in name:
        reason = f"may not be '{name}'" if name in (".", "..") else f"may not contain '{'/' if '/' in name else '%'}'"
        return cause("FieldValueInvalid", f'Invalid value: "{name}": {reason}', "metadata.name")
    return None


def validate(resource: Resource, obj: dict[str, Any], old: dict[str, Any] | None = None, whole: bool = True) -> None:
    """Holds a custom resource against its CRD's schema. Raises ApiError 422 with all faults.

    What is the very value of `old` has been looked at before. Not `whole`: only the types outside pod templates.
    """
    if not resource.custom:
        return
    schema = schema_of(resource)
    causes: list[dict[str, str]] = []
    for field, value in obj.items():
        inner = schema.of(field) if field not in ("apiVersion", "kind", "metadata") else None
        if inner is not None and value is not None and (old is None or value is not old.get(field)):
            causes += validation.faults(inner, value, field)
    if not whole:
        causes = [item for item in causes if item["reason"] in _LIGHT and ".template." not in f"{item['field']}."]
    if causes:
        has_rules = resource in TRAINING_JOBS  # their CRDs carry rules beside the schema
        skipped = [validation.RULES_SKIPPED] if has_rules and validation.is_blocking(causes) else []
        raise invalid(resource, obj["metadata"].get("name", ""), [*causes, *skipped])


def defaulted(resource: Resource, obj: dict[str, Any], creating: bool) -> dict[str, Any]:
    """The object with the server's defaults, as a copy. For a new object the status is the server's as well."""
    schema = schema_of(resource)
    if resource.custom:
        for field in ("spec", "status"):
            if isinstance(obj.get(field), dict):
                obj = {**obj, field: validation.without_nulls(schema.of(field) or ANY, obj[field])}
        obj = validation.defaulted(schema, obj)
    if resource is PRIORITYCLASSES:
        obj = {**obj, "preemptionPolicy": obj.get("preemptionPolicy") or "PreemptLowerPriority"}
    if not creating:
        return obj
    if resource.custom and resource.has_status_subresource:
        return {key: value for key, value in obj.items() if key != "status"}
    if resource is PODS and not obj.get("status"):
        return {**obj, "status": {"phase": "Pending", "qosClass": "BestEffort"}}
    if resource is NAMESPACES:
        metadata = obj["metadata"]
        labels = {**(metadata.get("labels") or {}), "kubernetes.io/metadata.name": metadata["name"]}
        return {
            **obj,
            "metadata": {**metadata, "labels": labels},
            "spec": {"finalizers": ["kubernetes"]},
            "status": {"phase": "Active"},
        }
    return obj


def replica_specs_field(resource: Resource) -> str:
    """tfReplicaSpecs, pytorchReplicaSpecs, xgbReplicaSpecs, ..."""
    return next(key for key in schema_of(resource).properties["spec"].properties if key.endswith("ReplicaSpecs"))
