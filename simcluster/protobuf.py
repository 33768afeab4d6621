"""The few protobuf bodies that kubectl sends whatever a server prefers: reviews, options, small built-in kinds.

A body is the magic bytes and an Unknown message (type meta, raw object). What is known of a message is its field
numbers; answers are JSON, which every client accepts.
"""

from collections.abc import Mapping
from typing import Any

MAGIC = b"k8s\x00"
MEDIA_TYPE = "application/vnd.kubernetes.protobuf"
Obj = dict[str, Any]
# field number: (name, kind); kind is text, flag, int, number or text, a message, a list of one of these, map or
# quantities
Message = Mapping[int, tuple[str, Any]]

_OWNER: Message = {
    1: ("kind", "text"),
    3: ("name", "text"),
    4: ("uid", "text"),
    5: ("apiVersion", "text"),
    6: ("controller", "flag"),
    7: ("blockOwnerDeletion", "flag"),
}
_METADATA: Message = {
    1: ("name", "text"),
    2: ("generateName", "text"),
    3: ("namespace", "text"),
    5: ("uid", "text"),
    6: ("resourceVersion", "text"),
    11: ("labels", "map"),
    12: ("annotations", "map"),
    13: ("ownerReferences", [_OWNER]),
    14: ("finalizers", ["text"]),
}
_PRECONDITIONS: Message = {1: ("uid", "text"), 2: ("resourceVersion", "text")}
_DELETE_OPTIONS: Message = {
    1: ("gracePeriodSeconds", "int"),
    2: ("preconditions", _PRECONDITIONS),
    3: ("orphanDependents", "flag"),
    4: ("propagationPolicy", "text"),
    5: ("dryRun", ["text"]),
}
_RESOURCE_ATTRIBUTES: Message = {
    1: ("namespace", "text"),
    2: ("verb", "text"),
    3: ("group", "text"),
    4: ("version", "text"),
    5: ("resource", "text"),
    6: ("subresource", "text"),
    7: ("name", "text"),
}
_PATH_ATTRIBUTES: Message = {1: ("path", "text"), 2: ("verb", "text")}
_SELF_ACCESS: Message = {
    1: ("resourceAttributes", _RESOURCE_ATTRIBUTES),
    2: ("nonResourceAttributes", _PATH_ATTRIBUTES),
}
_ACCESS: Message = {**_SELF_ACCESS, 3: ("user", "text"), 4: ("groups", ["text"]), 6: ("uid", "text")}
_RULE: Message = {
    1: ("verbs", ["text"]),
    2: ("apiGroups", ["text"]),
    3: ("resources", ["text"]),
    4: ("resourceNames", ["text"]),
    5: ("nonResourceURLs", ["text"]),
}
_SUBJECT: Message = {1: ("kind", "text"), 2: ("apiGroup", "text"), 3: ("name", "text"), 4: ("namespace", "text")}
_ROLE_REFERENCE: Message = {1: ("apiGroup", "text"), 2: ("kind", "text"), 3: ("name", "text")}
_ROLE: Message = {1: ("metadata", _METADATA), 2: ("rules", [_RULE])}
_BINDING: Message = {1: ("metadata", _METADATA), 2: ("subjects", [_SUBJECT]), 3: ("roleRef", _ROLE_REFERENCE)}
_BOUND: Message = {1: ("kind", "text"), 2: ("apiVersion", "text"), 3: ("name", "text"), 4: ("uid", "text")}


_EXPRESSION: Message = {1: ("key", "text"), 2: ("operator", "text"), 3: ("values", ["text"])}


def _with_spec(spec: Message) -> Message:
    return {1: ("metadata", _METADATA), 2: ("spec", spec)}


_KINDS: Mapping[str, Message] = {
    "SelfSubjectAccessReview": _with_spec(_SELF_ACCESS),
    "SubjectAccessReview": _with_spec(_ACCESS),
    "LocalSubjectAccessReview": _with_spec(_ACCESS),
    "SelfSubjectRulesReview": _with_spec({1: ("namespace", "text")}),
    "SelfSubjectReview": {1: ("metadata", _METADATA)},
    "TokenReview": _with_spec({1: ("token", "text"), 2: ("audiences", ["text"])}),
    "TokenRequest": _with_spec(
        {1: ("audiences", ["text"]), 3: ("boundObjectRef", _BOUND), 4: ("expirationSeconds", "int")}
    ),
    "Eviction": {1: ("metadata", _METADATA), 2: ("deleteOptions", _DELETE_OPTIONS)},
    "DeleteOptions": _DELETE_OPTIONS,
    "Namespace": {1: ("metadata", _METADATA), 2: ("spec", {1: ("finalizers", ["text"])})},
    "ServiceAccount": {1: ("metadata", _METADATA)},
    "ConfigMap": {1: ("metadata", _METADATA), 2: ("data", "map"), 4: ("immutable", "flag")},
    "PriorityClass": {
        1: ("metadata", _METADATA),
        2: ("value", "int"),
        3: ("globalDefault", "flag"),
        4: ("description", "text"),
        5: ("preemptionPolicy", "text"),
    },
    "PodDisruptionBudget": _with_spec(
        {
            1: ("minAvailable", "number or text"),
            2: ("selector", {1: ("matchLabels", "map"), 2: ("matchExpressions", [_EXPRESSION])}),
            3: ("maxUnavailable", "number or text"),
            4: ("unhealthyPodEvictionPolicy", "text"),
        }
    ),
    "ResourceQuota": _with_spec({1: ("hard", "quantities"), 2: ("scopes", ["text"])}),
    "Role": _ROLE,
    "ClusterRole": _ROLE,
    "RoleBinding": _BINDING,
    "ClusterRoleBinding": _BINDING,
}
_UNKNOWN: Message = {1: ("typeMeta", {1: ("apiVersion", "text"), 2: ("kind", "text")}), 2: ("raw", "bytes")}


def decoded(body: bytes) -> Obj | None:
    """The object of a protobuf body; None if it is none, or of a kind that is not known here."""
    if not body.startswith(MAGIC):
        return None
    try:
        envelope = _message(body[len(MAGIC) :], _UNKNOWN)
        head = envelope.get("typeMeta", {})
        shape = _KINDS.get(head.get("kind", ""))
        return {**head, **_message(envelope.get("raw", b""), shape)} if shape is not None else None
    except (IndexError, ValueError):
        return None


def _message(data: bytes, shape: Message) -> Obj:
    result: Obj = {}
    position = 0
    while position < len(data):
        tag, position = _varint(data, position)
        value: Any
        match tag & 7:
            case 0:
                value, position = _varint(data, position)
            case 2:
                size, position = _varint(data, position)
                if size > len(data) - position:
                    raise ValueError("cut off")
                value, position = data[position : position + size], position + size
            case _:
                raise ValueError("a wire type that is not used")
        if (tag >> 3) in shape:
            _take(result, *shape[tag >> 3], value)
    return result


def _take(result: Obj, name: str, kind: Any, value: Any) -> None:
    if isinstance(value, int) != (kind in ("flag", "int")):
        raise ValueError("a value of another kind than the field's")
    if kind in ("map", "quantities"):
        entry = _message(value, {1: ("key", "text"), 2: ("value", "text" if kind == "map" else {1: ("text", "text")})})
        if kind == "quantities":
            entry["value"] = entry.get("value", {}).get("text", "0")
        result.setdefault(name, {})[entry.get("key", "")] = entry.get("value", "")
    elif isinstance(kind, list):
        result.setdefault(name, []).append(_value(kind[0], value))
    elif (read := _value(kind, value)) != "":  # Go writes empty strings, its JSON leaves them out
        result[name] = read


def _value(kind: Any, value: Any) -> Any:
    if isinstance(kind, Mapping):
        return _message(value, kind)
    match kind:
        case "text":
            return value.decode("utf-8", "replace")
        case "flag":
            return bool(value)
        case "number or text":
            given = _message(value, {1: ("type", "int"), 2: ("number", "int"), 3: ("text", "text")})
            return given.get("text", "") if given.get("type") else given.get("number", 0)
        case "int":
            return value - (1 << 64) if value >= 1 << 63 else value
    return value


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if not byte & 0x80:
            return value, position
        shift += 7
        if shift > 63:
            raise ValueError("too long a number")
