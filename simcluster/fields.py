"""Who set which field: metadata.managedFields, as the server keeps them for updates.

A set of fields is a tree as in FieldsV1: `f:name` for a field, `k:{...}` for an item of a list by its keys, `v:...`
for an item of a set; `.` inside a node says that the node itself belongs to the set, an empty node says it too.
"""

import functools
import json
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from simcluster.resources import EVENTS, PODS, Resource
from simcluster.schemas.kinds import schema_of
from simcluster.schemas.schema import ANY, Schema

Obj = dict[str, Any]
Tree = dict[str, Any]
SELF = "."
_ABSENT = object()
_SHARED_LIMIT = 10_000
_SHARED: dict[bytes, Tree] = {}
_UNMANAGED_METADATA = frozenset(
    (
        "name",
        "namespace",
        "creationTimestamp",
        "selfLink",
        "uid",
        "generation",
        "managedFields",
        "resourceVersion",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
    )
)
TOKEN_VOLUME = "kube-api-access-"  # noqa: S105
_ADMITTED = ("preemptionPolicy", "priority", "serviceAccount", "serviceAccountName", "tolerations")
# Typed objects print these although nobody set them, so that setting them is a change and no addition.
_EVENT_BASE: Obj = {
    "involvedObject": {},
    "source": {},
    "firstTimestamp": None,
    "lastTimestamp": None,
    "eventTime": None,
    "reportingComponent": "",
    "reportingInstance": "",
}


def after_update(
    resource: Resource, old: Obj | None, new: Obj, manager: str, *, subresource: str | None, time: str
) -> list[Obj]:
    """managedFields after `manager` replaced `old` (None: created) by `new`: it owns what it changed, alone."""
    entries = list(new["metadata"].get("managedFields") or []) if old is not None else []
    before = old if old is not None else _base(resource)
    schema = schema_of(resource)
    written = new if old is not None else _as_sent(resource, new)
    changed, removed = compare(schema, _managed(before), _managed(written))
    if not changed and not removed:
        return entries
    others = []
    own: Tree = {}
    place = subresource if subresource == "status" else ""
    for entry in entries:
        if (entry["manager"], entry["operation"], entry.get("subresource", "")) == (manager, "Update", place):
            own = entry["fieldsV1"]
            continue
        rest = difference(entry["fieldsV1"], union(changed, removed))
        if rest:
            others.append(entry if rest == entry["fieldsV1"] else {**entry, "fieldsV1": rest})
    mine = union(difference(own, removed), changed)
    if mine:
        others.append(managed_entry(resource, manager, "Update", mine, time=time, subresource=place))
    return in_order(others)


def managed_entry(
    resource: Resource, manager: str, operation: str, fields: Tree, *, time: str, subresource: str
) -> Obj:
    fields = {step: {inner: _shared(tree) for inner, tree in below.items()} for step, below in fields.items()}
    entry: Obj = {
        "manager": manager,
        "operation": operation,
        "apiVersion": resource.api_version,
        "time": time,
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
    }
    if resource.custom:
        entry = {key: entry[key] for key in sorted(entry)}
    return {**entry, "subresource": subresource} if subresource else entry


def _shared(tree: Tree) -> Tree:
    """An equal tree that is kept already: the pods of a cluster differ little, and trees take more room than pods."""
    key = msgspec.json.encode(tree)
    if len(_SHARED) >= _SHARED_LIMIT and key not in _SHARED:
        _SHARED.clear()
    return _SHARED.setdefault(key, tree)


def in_order(entries: list[Obj]) -> list[Obj]:
    """Applied ones first, then by time and manager."""
    return sorted(entries, key=lambda entry: (entry["operation"] != "Apply", entry.get("time", ""), entry["manager"]))


def _base(resource: Resource) -> Obj:
    if resource is EVENTS:
        return {**_EVENT_BASE, "metadata": {}}
    return {**resource.bookmark, "metadata": {}}


def _as_sent(resource: Resource, obj: Obj) -> Obj:
    """A new object without what the server's admission added, which belongs to nobody."""
    if resource.has_status_subresource:
        obj = {key: value for key, value in obj.items() if key != "status"}
    if resource is not PODS:
        return obj
    spec = {key: value for key, value in (obj.get("spec") or {}).items() if key not in _ADMITTED}
    spec["volumes"] = _without_token(spec.get("volumes"))
    for key in ("containers", "initContainers"):
        if isinstance(spec.get(key), list):
            spec[key] = [
                _trimmed({**item, "volumeMounts": _without_token(item.get("volumeMounts"))}) for item in spec[key]
            ]
    return {**obj, "spec": _trimmed(spec)}


def _without_token(items: Any) -> list[Obj]:
    return [item for item in items or [] if not str(item.get("name", "")).startswith(TOKEN_VOLUME)]


def _trimmed(obj: Obj) -> Obj:
    return {key: value for key, value in obj.items() if not (key in ("volumes", "volumeMounts") and not value)}


def _managed(obj: Obj) -> Obj:
    """The object without what belongs to nobody."""
    metadata = {key: value for key, value in obj["metadata"].items() if key not in _UNMANAGED_METADATA}
    return {**{key: value for key, value in obj.items() if key not in ("apiVersion", "kind")}, "metadata": metadata}


def owned(resource: Resource, config: Obj) -> Tree:
    """The fields that an applied configuration names."""
    return leaves(schema_of(resource), _managed({**config, "metadata": config.get("metadata") or {}}))


# Trees of values


def leaves(schema: Schema, value: Any) -> Tree:
    """Every field of a value that somebody can own, without the structs that only hold others."""
    tree: Tree = {}
    for step, inner, child in children(schema, value):
        below = leaves(inner, child)
        if step.startswith("k:"):
            tree[step] = {SELF: {}, **below} if below else {}
        else:
            tree[step] = below
    return tree


def kept(given: Any, old: Any) -> Any:
    """What an update makes of managedFields: a client that leaves them out, or writes nonsense, does not clear them;
    one empty entry does."""
    if given == [{}]:
        return None
    return given if given and _is_valid(given) else old


def _is_valid(entries: Any) -> bool:
    return isinstance(entries, list) and all(
        isinstance(entry, dict)
        and isinstance(entry.get("manager"), str)
        and entry.get("operation") in ("Apply", "Update")
        and isinstance(entry.get("apiVersion"), str)
        and isinstance(entry.get("time", ""), str)
        and isinstance(entry.get("fieldsV1"), dict)
        and all(isinstance(below, dict) for below in entry["fieldsV1"].values())
        for entry in entries
    )


def compare(schema: Schema, old: Any, new: Any) -> tuple[Tree, Tree]:
    """What `new` adds or changes, and what it lacks."""
    changed: Tree = {}
    removed: Tree = {}
    if isinstance(old, dict) and isinstance(new, dict):
        # What is equal is skipped at once, in one comparison: most of an object, in most writes.
        parts = [
            (f"f:{key}", schema.of(key) or ANY, old.get(key, _ABSENT), new.get(key, _ABSENT))
            for key in sorted(new.keys() | old.keys())
            if key not in old or key not in new or old[key] != new[key]
        ]
    else:
        before = {step: child for step, _, child in children(schema, old)}
        after = {step: child for step, _, child in children(schema, new)}
        parts = [
            (step, schema.items or ANY, before.get(step, _ABSENT), after.get(step, _ABSENT))
            for step in [*after, *(step for step in before if step not in after)]
        ]
    for step, inner, former, child in parts:
        _compare_part(inner, former, child, (changed, removed), step)
    return changed, removed


def _compare_part(inner: Schema, former: Any, child: Any, results: tuple[Tree, Tree], step: str) -> None:
    changed, removed = results
    if former is child or former == child:
        return
    if child is _ABSENT:
        removed[step] = _everything(inner, former)
    elif former is _ABSENT:
        changed[step] = _everything(inner, child)
    elif _is_granular(inner, child) and _is_granular(inner, former):
        below_changed, below_removed = compare(inner, former, child)
        if below_changed:
            changed[step] = below_changed
        if below_removed:
            removed[step] = below_removed
    else:
        below = _everything(inner, child)
        # A value that was null counts as changed, and what it holds now as added.
        changed[step] = {key: item for key, item in below.items() if key != SELF} if former is None else below


def _everything(schema: Schema, value: Any) -> Tree:
    """A value that is new as a whole: each node belongs to the set."""
    below = {step: _everything(inner, child) for step, inner, child in children(schema, value)}
    return {SELF: {}, **below} if below else {}


def _is_granular(schema: Schema, value: Any) -> bool:
    if isinstance(value, dict):
        return not schema.atomic
    return isinstance(value, list) and bool(schema.keys or schema.is_set)


def children(schema: Schema, value: Any) -> Iterable[tuple[str, Schema, Any]]:
    """The parts of a value that are owned on their own: step, shape and value of each."""
    if isinstance(value, dict) and not schema.atomic:
        return [(f"f:{key}", schema.of(key) or ANY, value[key]) for key in sorted(value)]
    if isinstance(value, list) and schema.items is not None:
        if schema.keys:
            return [(key_step(schema, item), schema.items, item) for item in value if isinstance(item, dict)]
        if schema.is_set:
            return [(f"v:{json.dumps(item, separators=(',', ':'))}", schema.items, item) for item in value]
    return ()


def key_step(schema: Schema, item: Mapping[str, Any]) -> str:
    """An item of a list by its keys, in the order of their names."""
    keys = schema.keys if len(schema.keys) == 1 else sorted(schema.keys)
    pairs = []
    for key in keys:
        value = item.get(key, schema.key_defaults.get(key))
        if value is not None:
            pairs.append(f'"{key}":{_quoted(value)}')
    return f"k:{{{','.join(pairs)}}}"


@functools.lru_cache(maxsize=4096)
def _quoted_text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


def _quoted(value: Any) -> str:
    return _quoted_text(value) if isinstance(value, str) else json.dumps(value, separators=(",", ":"))


# Sets of fields


def union(first: Tree, second: Tree) -> Tree:
    if not first or not second:
        # An empty node is a leaf: it stands for itself and must not be lost beside one with children.
        return first or second
    return _union(first, second)


def _union(first: Tree, second: Tree) -> Tree:
    result = dict(first)
    for step, below in second.items():
        if step not in result:
            result[step] = below
        elif step != SELF:
            result[step] = _joined(result[step], below)
    return _sorted(result)


def _joined(first: Tree, second: Tree) -> Tree:
    if first and second:
        return _union(first, second)
    children_of = first or second
    return {SELF: {}, **children_of} if children_of else {}


def difference(first: Tree, second: Tree) -> Tree:
    """What is in the first set and not in the second."""
    result: Tree = {}
    for step, below in first.items():
        if step == SELF:
            continue
        if step not in second:
            result[step] = below
            continue
        kept = _minus(below, second[step])
        if kept is not None:
            result[step] = kept
    if SELF in first and SELF not in second:
        return {SELF: {}, **result}
    return result


def _minus(below: Tree, other: Tree) -> Tree | None:
    """A node without what another holds of it; None if nothing is left."""
    own = not below or SELF in below
    theirs = not other or SELF in other
    inner = difference({key: item for key, item in below.items() if key != SELF}, other)
    if own and not theirs:
        return {SELF: {}, **inner} if inner else {}
    return inner or None


def intersection(first: Tree, second: Tree) -> Tree:
    result: Tree = {}
    for step, below in first.items():
        if step not in second:
            continue
        if step == SELF:
            result[SELF] = {}
            continue
        other = second[step]
        inner = intersection(
            {key: item for key, item in below.items() if key != SELF},
            {key: item for key, item in other.items() if key != SELF},
        )
        both = (not below or SELF in below) and (not other or SELF in other)
        if inner:
            result[step] = {SELF: {}, **inner} if both else inner
        elif both:
            result[step] = {}
    return result


def _sorted(tree: Tree) -> Tree:
    return {key: tree[key] for key in sorted(tree)}
