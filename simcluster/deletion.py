"""What a delete request makes of an object that stays for a while: its deletion noted in the metadata."""

from typing import Any

from simcluster.clock import parse_rfc3339, rfc3339
from simcluster.metadata import with_metadata
from simcluster.resources import NAMESPACES, PODS, Resource

Obj = dict[str, Any]
DEFAULT_GRACE_SECONDS = 30


def marked_pod(old: Obj, grace_seconds: int | None, finalizers: list[str], now: float) -> Obj:
    """The pod with its deletion noted, or with a shorter grace period than before; `old` if nothing is new."""
    metadata, spec = old["metadata"], old.get("spec") or {}
    if "deletionTimestamp" in metadata:
        before: int = metadata["deletionGracePeriodSeconds"]
        if grace_seconds is None or grace_seconds >= before:
            return old
        requested = parse_rfc3339(metadata["deletionTimestamp"]) - before
        # A kubelet that asks later than the grace period allowed moves the moment to now, not into the past.
        moment = max(requested + grace_seconds, now)
        changes: Obj = {"deletionTimestamp": rfc3339(moment), "deletionGracePeriodSeconds": grace_seconds}
        return with_metadata(PODS, old, **changes)
    grace = spec.get("terminationGracePeriodSeconds") if grace_seconds is None else max(0, grace_seconds)
    if not isinstance(grace, int):
        grace = DEFAULT_GRACE_SECONDS
    ended = (old.get("status") or {}).get("phase") in ("Failed", "Succeeded")
    if ended or not spec.get("nodeName"):
        grace = 0
    changes = {
        "deletionTimestamp": rfc3339(now + grace),
        "deletionGracePeriodSeconds": grace,
        "generation": metadata.get("generation", 0) + 1,
        "finalizers": finalizers,
    }
    return with_metadata(PODS, old, **changes)


def marked(resource: Resource, old: Obj, finalizers: list[str], now: float) -> Obj:
    """An object that its finalizers hold, with its deletion noted."""
    metadata = old["metadata"]
    changes: Obj = {"finalizers": finalizers}
    if "deletionTimestamp" not in metadata:
        changes |= {"deletionTimestamp": rfc3339(now), "deletionGracePeriodSeconds": 0}
        if resource.has_generation:
            changes["generation"] = metadata.get("generation", 0) + 1
    new = with_metadata(resource, old, **changes)
    if resource is NAMESPACES:
        new["status"] = {"phase": "Terminating"}
        new["metadata"].pop("deletionGracePeriodSeconds", None)
    return new


def is_finished(obj: Obj) -> bool:
    """Whether nothing holds an object any more whose deletion was asked for."""
    metadata = obj["metadata"]
    held = metadata.get("finalizers") or (obj.get("spec") or {}).get("finalizers")
    return "deletionTimestamp" in metadata and not held and not metadata.get("deletionGracePeriodSeconds")
