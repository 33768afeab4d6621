"""The write requests: create, update, patch, apply, delete, deletecollection, eviction."""

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from simcluster import apply, fields, pods, podsecurity, scale, validation
from simcluster import patch as patches
from simcluster.admission import check_shape
from simcluster.bodies import APPLY, JSON_PATCH, MERGE
from simcluster.clock import rfc3339
from simcluster.deleteoptions import DeleteOptions
from simcluster.disruption import check_eviction
from simcluster.errors import ApiError, bad_request, cause, invalid, unsupported_media_type
from simcluster.requests import Target, flag, is_dry_run
from simcluster.resources import NAMESPACES, PODS, Resource
from simcluster.schemas.kinds import schema_of
from simcluster.store import Store

Obj = dict[str, Any]
Query = Mapping[str, str]

STRATEGIC = "application/strategic-merge-patch+json"
PATCHES = (JSON_PATCH, MERGE, STRATEGIC, APPLY)
_LONGEST_MANAGER = 128  # bytes
_VALIDATIONS = ("", "Ignore", "Warn", "Strict")
_GO_TYPES = {"string": "string", "boolean": "bool", "object": "map[string]interface {}", "array": "[]interface {}"}


@dataclass(frozen=True)
class Written:
    """What a write leaves behind. `warnings` go into headers of the answer."""

    object: Obj
    warnings: list[str] = field(default_factory=list)
    code: int = 200


class Writer:
    """The writes of one caller: `store` is the store as it is for them."""

    def __init__(self, store: Store, rng: random.Random) -> None:
        self._store = store
        self._rng = rng

    def create(self, target: Target, query: Query, value: Any) -> Written:
        resource = target.resource
        obj, warnings = _read(resource, value, query)
        if resource is PODS:
            obj = pods.admitted(obj, self._rng, self._store)
        created = self._store.create(resource, obj, target.namespace, dry_run=is_dry_run(query))
        return Written(created, [*self._pod_warnings(resource, created), *warnings], 201)

    def update(self, target: Target, query: Query, value: Any) -> Written:
        resource = target.resource
        old = self._store.get(resource, target.namespace, target.name)
        if target.subresource == "scale":
            job = self._store.update(resource, scale.scaled(resource, old, value), dry_run=is_dry_run(query))
            return Written(scale.scale_of(resource, job))
        obj, warnings = _read(resource, value, query)
        obj = _addressed(target, obj)
        if resource.custom and not obj["metadata"].get("resourceVersion"):
            message = "Invalid value: 0: must be specified for an update"
            raise invalid(resource, target.name, [cause("FieldValueInvalid", message, "metadata.resourceVersion")])
        return self._store_update(target, query, old, obj, warnings=warnings)

    def patch(self, target: Target, query: Query, value: Any, content_type: str) -> Written:
        """A JSON, merge or strategic patch, or an applied configuration. Raises ApiError 415 for another type."""
        resource = target.resource
        accepted = [JSON_PATCH, MERGE, APPLY] if resource.custom else [JSON_PATCH, MERGE, STRATEGIC, APPLY]
        if content_type not in accepted:
            raise unsupported_media_type(accepted)
        if content_type == APPLY:
            return self._apply(target, query, value)
        old = self._store.get(resource, target.namespace, target.name)
        if target.subresource == "scale":
            scaled = scale.scaled(resource, old, _patched(resource, scale.scale_of(resource, old), value, content_type))
            job = self._store.update(resource, scaled, dry_run=is_dry_run(query))
            return Written(scale.scale_of(resource, job))
        obj, warnings = _read(resource, _patched(resource, old, value, content_type), query)
        named = {key: obj["metadata"].get(key) for key in ("name", "namespace")}
        if named != {key: old["metadata"].get(key) for key in named}:
            raise bad_request("the name or namespace of the object does not match the name on the request")
        return self._store_update(target, query, old, obj, warnings=warnings)

    def _store_update(
        self, target: Target, query: Query, old: Obj, obj: Obj, *, warnings: list[str], managed: list[Obj] | None = None
    ) -> Written:
        resource, subresource = target.resource, target.subresource or None
        if resource is PODS and subresource is None:
            pods.check_update(old, obj)
            if pods.images(old) != pods.images(obj):
                podsecurity.check_pod(self._store, obj)
                warnings = [*podsecurity.pod_warnings(self._store, obj), *warnings]
        if resource is NAMESPACES and subresource is None:
            podsecurity.check_labels(obj, old)
            warnings = [*podsecurity.namespace_warnings(self._store, obj, old), *warnings]
        new = self._store.update(resource, obj, subresource, dry_run=is_dry_run(query), managed=managed)
        return Written(new, warnings)

    def _pod_warnings(self, resource: Resource, created: Obj) -> list[str]:
        return podsecurity.pod_warnings(self._store, created) if resource is PODS else []

    def _apply(self, target: Target, query: Query, value: Any) -> Written:
        resource, manager = target.resource, query.get("fieldManager", "")
        if not manager:
            raise _patch_options_refused("fieldManager", "Required value: is required for apply patch")
        config, warnings = _read(resource, value, query)
        config = _addressed(target, config)
        if "managedFields" in config["metadata"]:
            raise bad_request("metadata.managedFields must be nil")
        live = self._store.find(resource, target.namespace, target.name)
        now = rfc3339(self._store.clock.now())
        if live is None:
            if target.subresource:
                self._store.get(resource, target.namespace, target.name)
            wanted = fields.owned(resource, config)
            entry = fields.managed_entry(resource, manager, "Apply", wanted, time=now, subresource="")
            obj = pods.admitted(config, self._rng, self._store) if resource is PODS else config
            dry_run = is_dry_run(query)
            created = self._store.create(resource, obj, target.namespace, dry_run=dry_run, managed=[entry])
            return Written(created, [*self._pod_warnings(resource, created), *warnings], 201)
        merged, managed = apply.applied(
            resource, live, config, manager, subresource=target.subresource, time=now, force=flag(query, "force")
        )
        return self._store_update(target, query, live, merged, warnings=warnings, managed=managed)

    def delete(self, target: Target, options: DeleteOptions) -> tuple[int, Obj]:
        """HTTP status and body: the object where it lives on or its kind returns it, otherwise a Status."""
        resource = target.resource
        obj = self._store.delete(
            resource,
            target.namespace,
            target.name,
            options.grace_seconds,
            options.uid,
            propagation=options.propagation,
            resource_version=options.resource_version,
            dry_run=options.dry_run,
        )
        remaining = self._store.find(resource, target.namespace, target.name)
        lives_on = remaining is not None and remaining["metadata"]["uid"] == obj["metadata"]["uid"]
        lives_on = lives_on and not (options.dry_run and "deletionTimestamp" not in obj["metadata"])
        if lives_on and options.propagation == "Foreground":
            return 202, obj
        return 200, obj if lives_on or resource.returns_deleted else _deleted(resource, obj)

    def delete_collection(self, target: Target, query: Query, options: DeleteOptions) -> list[Obj]:
        """The deleted objects, as they were."""
        found = self._store.list(
            target.resource, target.namespace, query.get("labelSelector"), query.get("fieldSelector")
        )
        for obj in found:
            metadata = obj["metadata"]
            self._store.delete(
                target.resource,
                metadata.get("namespace"),
                metadata["name"],
                options.grace_seconds,
                metadata["uid"],
                propagation=options.propagation,
                dry_run=options.dry_run,
            )
        return found

    def evict(self, target: Target, query: Query, eviction: Any) -> Obj:
        """Marks the pod as disrupted, then deletes it with its grace period, as the eviction API does.

        Raises ApiError 429 if a disruption budget forbids it.
        """
        metadata = eviction.get("metadata") if isinstance(eviction, dict) else None
        name = metadata.get("name") if isinstance(metadata, dict) else None
        if name != target.name:
            raise bad_request("name in URL does not match name in Eviction object")
        pod = self._store.get(PODS, target.namespace, target.name)
        check_eviction(self._store, pod)
        given = eviction.get("deleteOptions") if isinstance(eviction, dict) else None
        options = DeleteOptions(query, given if isinstance(given, dict) else {})
        if not options.dry_run:
            status = pod.get("status") or {}
            others = [
                item
                for item in status.get("conditions") or []
                if isinstance(item, dict) and item.get("type") != "DisruptionTarget"
            ]
            condition = {
                "type": "DisruptionTarget",
                "status": "True",
                "lastProbeTime": None,
                "lastTransitionTime": rfc3339(self._store.clock.now()),
                "reason": "EvictionByEvictionAPI",
                "message": "Eviction API: evicting",
            }
            if "deletionTimestamp" not in pod["metadata"] and status.get("phase") not in ("Failed", "Succeeded"):
                self._store.update(PODS, {**pod, "status": {**status, "conditions": [*others, condition]}}, "status")
        self._store.delete(
            PODS, target.namespace, target.name, options.grace_seconds, options.uid, dry_run=options.dry_run
        )
        return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}


def _patched(resource: Resource, old: Obj, value: Any, content_type: str) -> Any:
    if content_type == JSON_PATCH:
        return patches.json_patch(old, value)
    return patches.merge(old, value) if content_type == MERGE else patches.strategic(schema_of(resource), old, value)


def _read(resource: Resource, value: Any, query: Query) -> tuple[Obj, list[str]]:
    """The object that a client sent, without fields its kind does not have, and warnings about those.

    Raises ApiError 400 for what cannot be read, and for unknown fields if the client asked for that.
    """
    how = query.get("fieldValidation", "")
    if len(query.get("fieldManager", "").encode()) > _LONGEST_MANAGER:
        raise _options_refused("fieldManager", f"Too long: may not be more than {_LONGEST_MANAGER} bytes")
    if how not in _VALIDATIONS:
        supported = ", ".join(f'"{name}"' for name in _VALIDATIONS[1:])
        raise _options_refused("fieldValidation", f'Unsupported value: "{how}": supported values: {supported}')
    obj = check_shape(resource, value)
    schema = schema_of(resource)
    obj, unknown = validation.pruned(schema, obj)
    if unknown and how == "Strict":
        faults = ", ".join(f'unknown field "{path}"' for path in unknown)
        raise _unreadable(resource, f"strict decoding error: {faults}")
    if not resource.custom:
        _check_types(resource, obj)
    if resource is PODS and isinstance(obj.get("spec"), dict):
        obj = {**obj, "spec": validation.without_nulls(schema.properties["spec"], obj["spec"])}
    return obj, [f'unknown field "{path}"' for path in unknown] if how != "Ignore" else []


def _check_types(resource: Resource, obj: Obj) -> None:
    """Built-in kinds are read into structs: the first value of a wrong type ends it. Raises ApiError 400."""
    for fault in validation.faults(schema_of(resource), obj):
        if fault["reason"] == "FieldValueTypeInvalid":
            found = fault["message"].split('"')[1]
            wanted = fault["message"].partition("must be of type ")[2].partition(":")[0]
            shown = {"integer": "number", "boolean": "bool"}.get(found, found)
            text = f"json: cannot unmarshal {shown} into Go struct field {resource.kind}.{fault['field']} of type "
            raise _unreadable(resource, text + _GO_TYPES.get(wanted, "int32"))


def _unreadable(resource: Resource, why: str) -> ApiError:
    kind, version = resource.kind, resource.version
    return bad_request(f'{kind} in version "{version}" cannot be handled as a {kind}: {why}')


def _options_refused(field_name: str, message: str, kind: str = "CreateOptions") -> ApiError:
    reasons = {"Required": "FieldValueRequired", "Too long": "FieldValueTooLong"}
    reason = next((reason for start, reason in reasons.items() if message.startswith(start)), "FieldValueNotSupported")
    details = {"group": "meta.k8s.io", "kind": kind, "causes": [cause(reason, message, field_name)]}
    return ApiError(422, "Invalid", f'{kind}.meta.k8s.io "" is invalid: {field_name}: {message}', details)


def _patch_options_refused(field_name: str, message: str) -> ApiError:
    return _options_refused(field_name, message, "PatchOptions")


def _addressed(target: Target, obj: Obj) -> Obj:
    """The object of a PUT, with the name and namespace of its path. Raises ApiError 400 if it names another."""
    metadata = obj["metadata"]
    if metadata.get("name", target.name) != target.name:
        raise bad_request(
            f"the name of the object ({metadata['name']}) does not match the name on the URL ({target.name})"
        )
    if target.namespace and metadata.get("namespace", target.namespace) != target.namespace:
        raise bad_request(
            f"the namespace of the object ({metadata['namespace']}) does not match the namespace on the request "
            f"({target.namespace})"
        )
    place = {"namespace": target.namespace} if target.namespace else {}
    return {**obj, "metadata": {**metadata, "name": target.name, **place}}


def _deleted(resource: Resource, obj: Obj) -> Obj:
    details: Obj = {"name": obj["metadata"]["name"]}
    if resource.group:
        details["group"] = resource.group
    details |= {"kind": resource.plural, "uid": obj["metadata"]["uid"]}
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}
