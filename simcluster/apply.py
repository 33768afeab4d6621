"""Server-side apply: merges what a manager wants, takes away what it wants no more, and names the conflicts."""

import functools
import json
from typing import Any

from simcluster import fields
from simcluster.errors import ApiError
from simcluster.fields import SELF, Tree
from simcluster.resources import Resource
from simcluster.schemas.kinds import schema_of
from simcluster.schemas.schema import ANY, Schema

Obj = dict[str, Any]
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def applied(
    resource: Resource, live: Obj, config: Obj, manager: str, *, subresource: str, time: str, force: bool
) -> tuple[Obj, list[Obj]]:
    """The object with the configuration applied, and its managedFields. Raises ApiError 409 with all conflicts."""
    schema = schema_of(resource)
    wanted = fields.owned(resource, config)
    entries: list[Obj] = list(live["metadata"].get("managedFields") or [])
    place = subresource if subresource == "status" else ""
    former: Tree = {}
    others: list[Obj] = []
    for entry in entries:
        if (entry["manager"], entry["operation"], entry.get("subresource", "")) == (manager, "Apply", place):
            former = entry["fieldsV1"]
        else:
            others.append(entry)
    merged = _merged(schema, live, config)
    abandoned = fields.difference(former, wanted)
    for entry in others:
        abandoned = fields.difference(abandoned, entry["fieldsV1"])
    held = functools.reduce(fields.union, (entry["fieldsV1"] for entry in others), wanted)
    merged = _without(schema, merged, abandoned, held)
    changed, removed = fields.compare(schema, _bare(live), _bare(merged))
    clashes = [
        (entry, fields.intersection(entry["fieldsV1"], fields.intersection(wanted, changed))) for entry in others
    ]
    if not force and not _is_own_past(resource, live, manager, clashes) and any(tree for _, tree in clashes):
        raise _conflict([(entry, tree) for entry, tree in clashes if tree])
    kept = _kept(clashes, removed)
    if wanted:
        unchanged = wanted == former and not changed and not removed
        old_time = next((entry["time"] for entry in entries if entry["fieldsV1"] is former), time)
        kept.append(
            fields.managed_entry(
                resource, manager, "Apply", wanted, time=old_time if unchanged else time, subresource=place
            )
        )
    return merged, fields.in_order(kept)


def _kept(clashes: list[tuple[Obj, Tree]], removed: Tree) -> list[Obj]:
    """What stays of the others' entries: without the fields that were taken from them, or are gone."""
    kept = []
    for entry, tree in clashes:
        rest = fields.difference(fields.difference(entry["fieldsV1"], tree), removed)
        if rest:
            kept.append(entry if rest == entry["fieldsV1"] else {**entry, "fieldsV1": rest})
    return kept


def _is_own_past(resource: Resource, live: Obj, manager: str, clashes: list[tuple[Obj, Tree]]) -> bool:
    """Whether all conflicts are with what kubectl applied from the client's side before: that is no stranger."""
    text = (live["metadata"].get("annotations") or {}).get(_LAST_APPLIED)
    if manager != "kubectl" or not isinstance(text, str):
        return False
    try:
        past = json.loads(text)
    except ValueError:
        return False
    if not isinstance(past, dict) or not isinstance(past.get("metadata"), dict):
        return False
    own = fields.owned(resource, past)
    return not any(fields.difference(tree, own) for _, tree in clashes)


def _bare(obj: Obj) -> Obj:
    return {key: value for key, value in obj.items() if key not in ("apiVersion", "kind")}


def _merged(schema: Schema, live: Any, config: Any) -> Any:
    if isinstance(config, dict) and isinstance(live, dict) and not schema.atomic:
        merged = dict(live)
        for key, value in config.items():
            merged[key] = _merged(schema.of(key) or ANY, live[key], value) if key in live else value
        return merged
    if isinstance(config, list) and isinstance(live, list) and (schema.keys or schema.is_set):
        if schema.is_set:
            return [*live, *(item for item in config if item not in live)]
        mine = {fields.key_step(schema, item): item for item in config if isinstance(item, dict)}
        items = [
            _merged(schema.items or ANY, old, mine.pop(fields.key_step(schema, old)))
            if isinstance(old, dict) and fields.key_step(schema, old) in mine
            else old
            for old in live
        ]
        return [*items, *mine.values()]
    return config


def _without(schema: Schema, value: Any, gone: Tree, held: Tree) -> Any:
    """The value without the fields of a set; what holds a field of another set (``held``) stays for it."""
    if not gone:
        return value
    if isinstance(value, dict):
        kept = {}
        for key, child in value.items():
            step, inner = f"f:{key}", schema.of(key) or ANY
            if step not in gone:
                kept[key] = child
                continue
            left = _without(inner, child, gone[step], held.get(step, {}))
            if held.get(step) or not _is_taken(gone[step], left):
                kept[key] = left
        return kept
    if isinstance(value, list):
        items = []
        for item in value:
            step = _step(schema, item)
            if step not in gone:
                items.append(item)
            elif held.get(step) or (gone[step] and SELF not in gone[step]):
                items.append(_without(schema.items or ANY, item, gone[step], held.get(step, {})))
        return items
    return value


def _is_taken(gone: Tree, left: Any) -> bool:
    """Whether a field itself goes: a whole one, or one that holds nothing any more."""
    return not gone or (SELF in gone and left in ({}, []))


def _step(schema: Schema, item: Any) -> str:
    if schema.keys and isinstance(item, dict):
        return fields.key_step(schema, item)
    return f"v:{json.dumps(item, separators=(',', ':'))}" if schema.is_set else ""


def _conflict(clashes: list[tuple[Obj, Tree]]) -> ApiError:
    found = [(_named(entry), path) for entry, tree in clashes for path in _paths(tree)]
    causes = [
        {"reason": "FieldManagerConflict", "message": f"conflict with {name}", "field": path} for name, path in found
    ]
    if len(found) == 1:
        text = f"Apply failed with 1 conflict: conflict with {found[0][0]}: {found[0][1]}"
    else:
        lines = []
        for name in sorted({name for name, _ in found}):
            lines.append(f"conflicts with {name}:")
            lines += [f"- {path}" for owner, path in found if owner == name]
        text = f"Apply failed with {len(found)} conflicts: " + "\n".join(lines)
    return ApiError(409, "Conflict", text, {"causes": causes})


def _named(entry: Obj) -> str:
    name = json.dumps(entry["manager"], ensure_ascii=False)
    if entry.get("subresource"):
        name += f' with subresource "{entry["subresource"]}"'
    return f"{name} using {entry['apiVersion']}" if entry["operation"] == "Update" else name


def _paths(tree: Tree, prefix: str = "") -> list[str]:
    """The members of a set, as `.spec.containers[name="main"].image`."""
    paths: list[str] = []
    for step, below in tree.items():
        if step == SELF:
            continue
        path = prefix + _shown(step)
        inner = _paths(below, path)
        paths += inner or [path]
    return paths


def _shown(step: str) -> str:
    kind, _, rest = step.partition(":")
    if kind == "f":
        return f".{rest}"
    if kind == "v":
        return f"[={rest}]"
    keys = json.loads(rest)
    return "[" + ",".join(f"{key}={json.dumps(value)}" for key, value in keys.items()) + "]"
