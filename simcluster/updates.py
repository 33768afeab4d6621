"""What an update may change of an object."""

from typing import Any

from simcluster import admission, fields
from simcluster.metadata import SYSTEM_FIELDS, assembled
from simcluster.resources import Resource

Obj = dict[str, Any]


def merged(resource: Resource, old: Obj, obj: Obj, subresource: str | None) -> Obj:
    """What an update stores: the old object with those parts replaced that the update may touch."""
    if subresource == "status":
        return {**old, "status": obj["status"]} if "status" in obj else old
    obj = admission.defaulted(resource, obj, creating=False)
    keeps_status = resource.has_status_subresource and subresource is None
    given = {key: value for key, value in obj["metadata"].items() if key not in SYSTEM_FIELDS}
    given["managedFields"] = fields.kept(given.get("managedFields"), old["metadata"].get("managedFields"))
    system = {key: old["metadata"][key] for key in SYSTEM_FIELDS if key in old["metadata"]}
    body = {key: value for key, value in obj.items() if not (keeps_status and key == "status")}
    if keeps_status and "status" in old:
        body["status"] = old["status"]
    metadata = {**given, **system, "name": old["metadata"]["name"], "namespace": old["metadata"].get("namespace")}
    new = assembled(resource, body, metadata)
    changed = any(new.get(key) != old.get(key) for key in {*new, *old} - {"metadata"})
    if changed and resource.has_generation and subresource is None:
        new["metadata"]["generation"] = old["metadata"]["generation"] + 1
    return new
