"""Whether a write means the object that there is: its UID and its resourceVersion, with the API server's words."""

from typing import Any

from simcluster import errors
from simcluster.resources import Resource

Obj = dict[str, Any]


def check_update(resource: Resource, old: Obj, given: Obj) -> None:
    """What an update's metadata says of the object that it means. Raises ApiError 409."""
    current, name = old["metadata"], old["metadata"]["name"]
    if given.get("uid") and given["uid"] != current["uid"]:
        texts = f"UID in precondition: {given['uid']}, UID in object meta: {current['uid']}"
        raise errors.conflict(resource, name, f"Precondition failed: {texts}")
    if given.get("resourceVersion") and given["resourceVersion"] != current["resourceVersion"]:
        raise errors.conflict(resource, name)


def check_delete(resource: Resource, old: Obj, uid: str | None, version: str | None) -> None:
    """What a delete's options say of the object that is meant. Raises ApiError 409."""
    current = old["metadata"]
    if uid and uid != current["uid"]:
        text = f"the UID in the precondition ({uid}) does not match the UID in record ({current['uid']})"
        raise errors.conflict(
            resource, current["name"], f"{text}. The object might have been deleted and then recreated"
        )
    if version and version != current["resourceVersion"]:
        text = (
            f"the ResourceVersion in the precondition ({version}) does not match the ResourceVersion in record "
            f"({current['resourceVersion']})"
        )
        raise errors.conflict(resource, current["name"], f"{text}. The object might have been modified")
