"""DeleteOptions, from a request's query and from its body."""

from collections.abc import Mapping
from typing import Any

from simcluster.errors import ApiError, bad_request, cause
from simcluster.requests import is_dry_run, number

Obj = dict[str, Any]
_PROPAGATIONS = ("Foreground", "Background", "Orphan")


class DeleteOptions:
    """The body wins. Raises ApiError 400 and 422."""

    def __init__(self, query: Mapping[str, str], given: Any) -> None:
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
        if self.grace_seconds is not None and self.grace_seconds < 0:
            self.grace_seconds = 1  # as the server takes a negative one
        dry_run = given.get("dryRun")
        self.dry_run = is_dry_run(query) or (isinstance(dry_run, list) and "All" in dry_run)
        self.propagation = given.get("propagationPolicy") or query.get("propagationPolicy") or "Background"
        if given.get("orphanDependents") is True or query.get("orphanDependents") == "true":
            self.propagation = "Orphan"
        if self.propagation not in _PROPAGATIONS:
            supported = ", ".join(f'"{name}"' for name in (*_PROPAGATIONS, "nil"))
            message = f'Unsupported value: "{self.propagation}": supported values: {supported}'
            text = f'DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: {message}'
            causes = [cause("FieldValueNotSupported", message, "propagationPolicy")]
            raise ApiError(422, "Invalid", text, {"group": "meta.k8s.io", "kind": "DeleteOptions", "causes": causes})
