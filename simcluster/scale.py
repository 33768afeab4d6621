"""The scale subresource: the number of workers of a job, as an autoscaling/v1 Scale."""

from typing import Any

from simcluster.admission import replica_specs_field
from simcluster.errors import bad_request, conflict, internal, invalid
from simcluster.errors import cause as fault
from simcluster.resources import Resource

Obj = dict[str, Any]
_TYPE = "Worker"


def scale_of(resource: Resource, obj: Obj) -> Obj:
    """The Scale of a job. Raises ApiError 500 for a job without workers, as the server does."""
    metadata = obj["metadata"]
    replica = _replica(resource, obj)
    if not isinstance(replica, dict):
        path = f".spec.{replica_specs_field(resource)}.{_TYPE}.replicas"
        raise internal(f'the spec replicas field "{path}" does not exist')
    statuses = (obj.get("status") or {}).get("replicaStatuses") or {}
    status = statuses.get(_TYPE) or {}
    kept = {key: metadata[key] for key in ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")}
    shown: Obj = {"replicas": status.get("active", 0)}
    if status.get("selector"):
        shown["selector"] = status["selector"]
    spec = {"replicas": replica["replicas"]} if replica.get("replicas") else {}
    return {"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": kept, "spec": spec, "status": shown}


def scaled(resource: Resource, obj: Obj, scale: Any) -> Obj:
    """The job with the number of workers that a Scale asks for. Raises ApiError 400, 409, 422."""
    spec = scale.get("spec") if isinstance(scale, dict) else None
    metadata = scale.get("metadata") if isinstance(scale, dict) else None
    if not isinstance(spec, dict) or not isinstance(metadata, dict):
        raise bad_request("the object provided is unrecognized (must be of type Scale)")
    name = obj["metadata"]["name"]
    if metadata.get("name", name) != name:
        raise bad_request(f"the name of the object ({metadata['name']}) does not match the name on the URL ({name})")
    version = metadata.get("resourceVersion")
    if version and version != obj["metadata"]["resourceVersion"]:
        raise conflict(resource, name)
    count = spec.get("replicas", 0)
    if not isinstance(count, int) or isinstance(count, bool):
        raise bad_request("Scale: spec.replicas must be a number")
    if count < 0:
        message = f"Invalid value: {count}: must be greater than or equal to 0"
        raise invalid(resource, name, [fault("FieldValueInvalid", message, "spec.replicas")])
    field = replica_specs_field(resource)
    replica = _replica(resource, obj)
    if not isinstance(replica, dict):
        raise internal(f'the spec replicas field ".spec.{field}.{_TYPE}.replicas" does not exist')
    specs = {**obj["spec"][field], _TYPE: {**replica, "replicas": count}}
    return {**obj, "spec": {**obj["spec"], field: specs}}


def _replica(resource: Resource, obj: Obj) -> Any:
    specs = (obj.get("spec") or {}).get(replica_specs_field(resource))
    return specs.get(_TYPE) if isinstance(specs, dict) else None
