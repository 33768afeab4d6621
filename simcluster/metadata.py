"""ObjectMeta: what the server fills in, keeps, and in which order it prints the fields."""

from typing import Any

from simcluster.resources import Resource

_TYPED_ORDER = (
    "name",
    "generateName",
    "namespace",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "labels",
    "annotations",
    "ownerReferences",
    "finalizers",
    "managedFields",
)
_RANK = {name: rank for rank, name in enumerate(_TYPED_ORDER)}
_EMPTY: tuple[Any, ...] = (None, {}, [])
# Set by the server alone: a writer's values are ignored.
SYSTEM_FIELDS = (
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "selfLink",
)


def ordered(resource: Resource, metadata: dict[str, Any]) -> dict[str, Any]:
    """The fields in the order the server prints: alphabetical for custom resources; without empty lists and maps."""
    if not resource.custom:
        return typed_order(metadata)
    return {name: metadata[name] for name in sorted(metadata) if metadata[name] not in _EMPTY}


def typed_order(metadata: dict[str, Any]) -> dict[str, Any]:
    """The fields as built-in kinds print them, and every kind's PartialObjectMetadata."""
    present = [name for name, value in metadata.items() if value not in _EMPTY]
    present.sort(key=lambda name: (_RANK.get(name, len(_RANK)), name))
    return {name: metadata[name] for name in present}


def with_metadata(resource: Resource, obj: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A copy of the object with other metadata fields; a value of None removes the field."""
    return {**obj, "metadata": ordered(resource, {**obj["metadata"], **changes})}


def assembled(resource: Resource, obj: dict[str, Any], metadata: dict[str, Any]) -> dict[str, Any]:
    """The object with apiVersion, kind and metadata first, in the server's order."""
    head = {"apiVersion": resource.api_version, "kind": resource.kind}
    if not resource.custom:
        head = {"kind": resource.kind, "apiVersion": resource.api_version}
    rest = {key: value for key, value in obj.items() if key not in ("apiVersion", "kind", "metadata")}
    return {**head, "metadata": ordered(resource, metadata), **rest}


def store_key(namespace: str, name: str) -> str:
    """The key objects are sorted by, as in etcd: <namespace>/<name>, or the bare name."""
    return f"{namespace}/{name}" if namespace else name


def key_of(obj: dict[str, Any]) -> str:
    metadata = obj["metadata"]
    return store_key(metadata.get("namespace", ""), metadata["name"])


def key_of_or_none(obj: dict[str, Any]) -> str | None:
    """As `key_of`, for an object that may lack a name."""
    metadata = obj["metadata"]
    name, namespace = metadata.get("name"), metadata.get("namespace", "")
    return store_key(namespace, name) if isinstance(name, str) and isinstance(namespace, str) else None
