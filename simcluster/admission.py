"""What the API server does to an object before it is stored: shape checks, validation, defaults."""

import re
from typing import Any

from simcluster.errors import bad_request, cause, invalid
from simcluster.resources import NAMESPACES, PODS, TRAINING_JOBS, Resource

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
_RULES_SKIPPED = cause(
    "FieldValueInvalid",
    "Invalid value: null: some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation",
    "<nil>",
)
_TYPE_NAMES = {str: "string", bool: "boolean", int: "integer", float: "number", list: "array", dict: "object"}


def check_shape(resource: Resource, obj: Any) -> dict[str, Any]:
    """The object, if apiVersion and kind fit and its metadata can be read. Raises ApiError 400."""
    if not isinstance(obj, dict):
        raise bad_request(f"the object provided is unrecognized (must be of type {resource.kind})")
    for field, wanted in (("apiVersion", resource.api_version), ("kind", resource.kind)):
        if obj.get(field, wanted) != wanted:
            raise bad_request(f"{field} in the data ({obj[field]}) does not match the expected {field} ({wanted})")
    metadata = obj.get("metadata")
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
    pattern, text, limit = (_SUBDOMAIN, _SUBDOMAIN_TEXT, 253)
    if resource is NAMESPACES:
        pattern, text, limit = (_LABEL, _LABEL_TEXT, 63)
    if not name:
        message = "Required value: name or generateName is required"
        raise invalid(resource, name, [cause("FieldValueRequired", message, "metadata.name")])
    if len(name) > limit:
        message = f'Invalid value: "{name}": must be no more than {limit} characters'
        raise invalid(resource, name, [cause("FieldValueInvalid", message, "metadata.name")])
    if re.fullmatch(pattern, name) is None:
        message = f'Invalid value: "{name}": {text}'
        raise invalid(resource, name, [cause("FieldValueInvalid", message, "metadata.name")])


def validate(resource: Resource, obj: dict[str, Any]) -> None:
    """The part of the CRD's schema that people get wrong. Raises ApiError 422."""
    if resource not in TRAINING_JOBS:
        return
    causes = list(_schema_errors(resource, obj.get("spec")))
    if causes:
        raise invalid(resource, obj["metadata"].get("name", ""), [*causes, _RULES_SKIPPED])


def defaulted(resource: Resource, obj: dict[str, Any], creating: bool) -> dict[str, Any]:
    """The object with the server's defaults, as a copy. For a new object the status is the server's as well."""
    if resource in TRAINING_JOBS:
        obj = _default_suspend(obj)
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
    """tfReplicaSpecs, pytorchReplicaSpecs, ..."""
    return f"{resource.singular.removesuffix('job')}ReplicaSpecs"


def _default_suspend(obj: dict[str, Any]) -> dict[str, Any]:
    spec = obj.get("spec")
    policy = spec.get("runPolicy") if isinstance(spec, dict) else None
    if not isinstance(spec, dict) or not isinstance(policy, dict) or "suspend" in policy:
        return obj
    return {**obj, "spec": {**spec, "runPolicy": {**policy, "suspend": False}}}


def _schema_errors(resource: Resource, spec: Any) -> list[dict[str, str]]:
    if spec is None:
        return []
    errors = _wrong_type("spec", spec, dict)
    if errors:
        return errors
    field = replica_specs_field(resource)
    if field not in spec:
        return [cause("FieldValueRequired", "Required value", f"spec.{field}")]
    errors = _wrong_type(f"spec.{field}", spec[field], dict)
    if errors:
        return errors
    for name, replica in spec[field].items():
        path = f"spec.{field}.{name}"
        wrong = _wrong_type(path, replica, dict)
        if not wrong:
            for key, kind in (("replicas", int), ("restartPolicy", str), ("template", dict)):
                if key in replica:
                    wrong += _wrong_type(f"{path}.{key}", replica[key], kind)
        errors += wrong
    policy = spec.get("runPolicy")
    return errors + _policy_errors(policy)


def _policy_errors(policy: Any) -> list[dict[str, str]]:
    errors = _wrong_type("spec.runPolicy", policy, dict) if policy is not None else []
    if policy is None or errors:
        return errors
    kinds = {"backoffLimit": int, "suspend": bool, "ttlSecondsAfterFinished": int, "activeDeadlineSeconds": int}
    for key, kind in kinds.items():
        if policy.get(key) is not None:
            errors += _wrong_type(f"spec.runPolicy.{key}", policy[key], kind)
    return errors


def _wrong_type(path: str, value: Any, wanted: type) -> list[dict[str, str]]:
    if isinstance(value, wanted) and not (wanted is int and isinstance(value, bool)):
        return []
    found = "null" if value is None else _TYPE_NAMES[type(value)]
    message = f'Invalid value: "{found}": {path} in body must be of type {_TYPE_NAMES[wanted]}: "{found}"'
    return [cause("FieldValueTypeInvalid", message, path)]
