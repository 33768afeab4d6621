"""The write requests: create, update, patch, delete, deletecollection, eviction, access review."""

from collections.abc import Mapping
from typing import Any

from simcluster import encoding
from simcluster.admission import check_shape
from simcluster.clock import rfc3339
from simcluster.errors import ApiError, bad_request, cause, invalid, unsupported_media_type
from simcluster.options import Options
from simcluster.requests import Target, is_dry_run, number
from simcluster.resources import PODS, Resource
from simcluster.store import Store

Obj = dict[str, Any]
Query = Mapping[str, str]

_MERGE, _STRATEGIC = "application/merge-patch+json", "application/strategic-merge-patch+json"
_PROPAGATIONS = ("Foreground", "Background", "Orphan")


def create(store: Store, target: Target, query: Query, body: bytes) -> Obj:
    obj = encoding.decoded(body, target.resource.kind)
    return store.create(target.resource, obj, target.namespace, dry_run=is_dry_run(query))


def update(store: Store, target: Target, query: Query, body: bytes) -> Obj:
    obj = _addressed(target, encoding.decoded(body, target.resource.kind))
    if target.resource.custom and not obj["metadata"].get("resourceVersion"):
        message = "Invalid value: 0: must be specified for an update"
        raise invalid(target.resource, target.name, [cause("FieldValueInvalid", message, "metadata.resourceVersion")])
    return store.update(target.resource, obj, target.subresource or None, dry_run=is_dry_run(query))


def patch(store: Store, target: Target, query: Query, body: bytes, content_type: str) -> Obj:
    """A JSON merge patch; a strategic one as far as it is the same thing (built-in kinds, no lists). Else 415."""
    value = encoding.decoded(body, target.resource.kind)
    accepted = [_MERGE] if target.resource.custom else [_MERGE, _STRATEGIC]
    if content_type not in accepted or (content_type == _STRATEGIC and _needs_strategy(value)):
        raise unsupported_media_type(accepted)
    subresource = target.subresource or None
    return store.patch_merge(
        target.resource, target.namespace, target.name, value, subresource, dry_run=is_dry_run(query)
    )


def delete(store: Store, target: Target, query: Query, body: bytes) -> tuple[int, Obj]:
    """HTTP status and body: the object where it lives on or its kind returns it, otherwise a Status."""
    options = _DeleteOptions(query, body)
    resource = target.resource
    if options.dry_run:
        return 200, store.get(resource, target.namespace, target.name)
    obj = store.delete(
        resource,
        target.namespace,
        target.name,
        options.grace_seconds,
        options.uid,
        propagation=options.propagation,
        resource_version=options.resource_version,
    )
    remaining = store.find(resource, target.namespace, target.name)
    lives_on = remaining is not None and remaining["metadata"]["uid"] == obj["metadata"]["uid"]
    if lives_on and options.propagation == "Foreground":
        return 202, obj
    return 200, obj if lives_on or resource.returns_deleted else _deleted(resource, obj)


def delete_collection(store: Store, target: Target, query: Query, body: bytes) -> list[Obj]:
    """The deleted objects, as they were."""
    options = _DeleteOptions(query, body)
    found = store.list(target.resource, target.namespace, query.get("labelSelector"), query.get("fieldSelector"))
    for obj in found if not options.dry_run else []:
        metadata = obj["metadata"]
        store.delete(
            target.resource,
            metadata.get("namespace"),
            metadata["name"],
            options.grace_seconds,
            metadata["uid"],
            propagation=options.propagation,
        )
    return found


def evict(store: Store, target: Target, query: Query, body: bytes) -> Obj:
    """Marks the pod as disrupted, then deletes it with its grace period, as the eviction API does."""
    eviction = encoding.decoded(body, "Eviction")
    pod = store.get(PODS, target.namespace, target.name)
    options = eviction.get("deleteOptions") if isinstance(eviction, dict) else None
    grace = options.get("gracePeriodSeconds") if isinstance(options, dict) else None
    if not is_dry_run(query):
        condition = {
            "type": "DisruptionTarget",
            "status": "True",
            "lastProbeTime": None,
            "lastTransitionTime": rfc3339(store.clock.now()),
            "reason": "EvictionByEvictionAPI",
            "message": "Eviction API: evicting",
        }
        status = pod.get("status") or {}
        conditions = [item for item in status.get("conditions") or [] if isinstance(item, dict)]
        others = [item for item in conditions if item.get("type") != condition["type"]]
        store.update(PODS, {**pod, "status": {**status, "conditions": [*others, condition]}}, "status")
        store.delete(PODS, target.namespace, target.name, grace if isinstance(grace, int) else None)
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}


def review_access(options: Options, body: bytes) -> Obj:
    """SelfSubjectAccessReview: what `--forbid` leaves."""
    review = encoding.decoded(body, "SelfSubjectAccessReview")
    spec = review.get("spec") if isinstance(review, dict) else None
    attributes = spec.get("resourceAttributes") if isinstance(spec, dict) else None
    if not isinstance(attributes, dict):
        raise bad_request("SelfSubjectAccessReview: spec.resourceAttributes must be an object")
    group, plural, verb = (str(attributes.get(key) or "") for key in ("group", "resource", "verb"))
    forbidden = [
        resource
        for resource in options.forbidden
        if (resource.group, resource.plural) == (group, plural) and options.is_forbidden(resource, verb)
    ]
    return {
        "kind": "SelfSubjectAccessReview",
        "apiVersion": "authorization.k8s.io/v1",
        "metadata": {},
        "spec": spec,
        "status": {"allowed": not forbidden},
    }


class _DeleteOptions:
    """From the query and from a DeleteOptions body; the body wins. Raises ApiError 400 and 422."""

    def __init__(self, query: Query, body: bytes) -> None:
        given = encoding.decoded(body, "DeleteOptions") if body.strip() else {}
        if not isinstance(given, dict):
            raise bad_request("DeleteOptions must be an object")
        conditions = given.get("preconditions")
        conditions = conditions if isinstance(conditions, dict) else {}
        self.uid: str | None = conditions.get("uid") or query.get("preconditions.uid")
        self.resource_version: str | None = conditions.get("resourceVersion")
        grace = given.get("gracePeriodSeconds")
        if grace is not None and (not isinstance(grace, int) or isinstance(grace, bool)):
            raise bad_request("DeleteOptions: gracePeriodSeconds must be a number")
        self.grace_seconds: int | None = number(query, "gracePeriodSeconds") if grace is None else grace
        self.dry_run = is_dry_run(query) or "All" in (given.get("dryRun") or [])
        self.propagation = given.get("propagationPolicy") or query.get("propagationPolicy") or "Background"
        if given.get("orphanDependents") is True or query.get("orphanDependents") == "true":
            self.propagation = "Orphan"
        if self.propagation not in _PROPAGATIONS:
            supported = ", ".join(f'"{name}"' for name in (*_PROPAGATIONS, "nil"))
            message = f'Unsupported value: "{self.propagation}": supported values: {supported}'
            text = f'DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: {message}'
            details = {
                "group": "meta.k8s.io",
                "kind": "DeleteOptions",
                "causes": [cause("FieldValueNotSupported", message, "propagationPolicy")],
            }
            raise ApiError(422, "Invalid", text, details)


def _addressed(target: Target, obj: Any) -> Obj:
    """The object of a PUT, with the name and namespace of its path. Raises ApiError 400 if it names another."""
    obj = check_shape(target.resource, obj)
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


def _needs_strategy(value: Any) -> bool:
    """Whether a strategic patch says something a merge patch would not: lists, or $ directives."""
    if isinstance(value, dict):
        return any(key.startswith("$") or _needs_strategy(item) for key, item in value.items())
    return isinstance(value, list)


def _deleted(resource: Resource, obj: Obj) -> Obj:
    details: Obj = {"name": obj["metadata"]["name"]}
    if resource.group:
        details["group"] = resource.group
    details |= {"kind": resource.plural, "uid": obj["metadata"]["uid"]}
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}
