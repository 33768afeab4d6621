"""Values held against their shapes: unknown fields, defaults, and every fault in the API server's words."""

import json
import re
from collections.abc import Iterator
from typing import Any

from simcluster.errors import cause
from simcluster.schemas.schema import ANY, Schema

Causes = list[dict[str, str]]
_NAMES = {str: "string", bool: "boolean", int: "integer", float: "number", list: "array", dict: "object"}
_TYPES: dict[str, type | tuple[type, ...]] = {
    "": object,
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "integer": int,
    "number": (int, float),
    "int-or-string": (int, float, str),
}
# Faults after which the server does not evaluate a CRD's rules.
_BLOCKING = frozenset(
    ("FieldValueTypeInvalid", "FieldValueRequired", "FieldValueNotSupported", "FieldValueTooLong", "FieldValueTooMany")
)
RULES_SKIPPED = cause(
    "FieldValueInvalid",
    "Invalid value: null: some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation",
    "<nil>",
)


def is_blocking(causes: Causes) -> bool:
    return any(item["reason"] in _BLOCKING for item in causes)


def pruned(schema: Schema, value: Any, path: str = "") -> tuple[Any, list[str]]:
    """The value without fields that its kind does not have, and their paths."""
    unknown: list[str] = []
    if isinstance(value, dict) and not schema.is_open:
        kept = {}
        for key, child in value.items():
            inner, where = schema.of(key), f"{path}.{key}" if path else key
            if inner is None:
                unknown.append(where)
                continue
            kept[key], below = pruned(inner, child, where)
            unknown += below
        return (kept if unknown else value), unknown
    if isinstance(value, list) and schema.items is not None:
        results = [pruned(schema.items, child, f"{path}[{index}]") for index, child in enumerate(value)]
        unknown = [where for _, below in results for where in below]
        return ([child for child, _ in results] if unknown else value), unknown
    return value, unknown


def defaulted(schema: Schema, value: Any) -> Any:
    """The value with the defaults of its shape; the very value if there is none to add."""
    if isinstance(value, dict) and (schema.properties or schema.values):
        added = {
            key: inner.default
            for key, inner in schema.properties.items()
            if inner.default is not None and key not in value
        }
        changed = {}
        for key, child in value.items():
            below = defaulted(schema.of(key) or ANY, child)
            if below is not child:
                changed[key] = below
        return {**value, **changed, **added} if added or changed else value
    if isinstance(value, list) and schema.items is not None:
        items = [defaulted(schema.items, child) for child in value]
        return items if any(new is not old for new, old in zip(items, value, strict=True)) else value
    return value


def without_nulls(schema: Schema, value: Any) -> Any:
    """The value without nulls where its shape wants something; the very value if there are none."""
    if isinstance(value, dict) and (schema.properties or schema.values):
        kept = {}
        for key, child in value.items():
            inner = schema.of(key) or ANY
            if child is not None or not inner.type:
                kept[key] = without_nulls(inner, child)
        is_same = len(kept) == len(value) and all(kept[key] is value[key] for key in kept)
        return value if is_same else kept
    if isinstance(value, list) and schema.items is not None:
        items = [without_nulls(schema.items, child) for child in value]
        return items if any(new is not old for new, old in zip(items, value, strict=True)) else value
    return value


def faults(schema: Schema, value: Any, path: str = "") -> Causes:
    """Every way in which the value does not fit, as causes of a 422."""
    return list(_faults(schema, value, path))


def _faults(schema: Schema, value: Any, path: str) -> Iterator[dict[str, str]]:
    if not _has_type(schema.type, value):
        found = "null" if value is None else _NAMES[type(value)]
        wanted = "integer,string" if schema.type == "int-or-string" else schema.type
        yield _fault("FieldValueTypeInvalid", path, f'"{found}"', f'must be of type {wanted}: "{found}"')
        return
    if isinstance(value, dict):
        yield from _object_faults(schema, value, path)
    elif isinstance(value, list):
        yield from _list_faults(schema, value, path)
    elif isinstance(value, str):
        yield from _text_faults(schema, value, path)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        if schema.minimum is not None and value < schema.minimum:
            text = f"should be greater than or equal to {schema.minimum}"
            yield _fault("FieldValueInvalid", path, str(value), text)
        if schema.maximum is not None and value > schema.maximum:
            yield _fault("FieldValueInvalid", path, str(value), f"should be less than or equal to {schema.maximum}")


def _object_faults(schema: Schema, value: dict[str, Any], path: str) -> Iterator[dict[str, str]]:
    for key in schema.required:
        if key not in value:
            yield cause("FieldValueRequired", "Required value", _join(path, key))
    for key, child in value.items():
        inner = schema.of(key)
        # null counts as absent, as it does after the server has pruned it
        if inner is not None and inner is not ANY and not (child is None and key not in schema.required):
            yield from _faults(inner, child, _join(path, key))


def _list_faults(schema: Schema, value: list[Any], path: str) -> Iterator[dict[str, str]]:
    if schema.min_items is not None and len(value) < schema.min_items:
        text = f"should have at least {schema.min_items} items"
        yield _fault("FieldValueInvalid", path, str(len(value)), text)
    seen: set[str] = set()
    for index, child in enumerate(value):
        where = f"{path}[{index}]"
        if schema.items is not None:
            yield from _faults(schema.items, child, where)
        if schema.keys and isinstance(child, dict):
            keys = {key: child.get(key, schema.key_defaults.get(key)) for key in schema.keys}
            shown = json.dumps({key: keys[key] for key in sorted(keys) if keys[key] is not None}, separators=(",", ":"))
            if shown in seen:
                yield cause("FieldValueDuplicate", f"Duplicate value: {shown}", where)
            seen.add(shown)


def _text_faults(schema: Schema, value: str, path: str) -> Iterator[dict[str, str]]:
    quoted = json.dumps(value, ensure_ascii=False)
    if schema.enum and value not in schema.enum:
        supported = ", ".join(f'"{item}"' for item in schema.enum)
        yield cause("FieldValueNotSupported", f"Unsupported value: {quoted}: supported values: {supported}", path)
    if schema.max_length is not None and len(value) > schema.max_length:
        yield cause("FieldValueTooLong", f"Too long: may not be more than {schema.max_length} bytes", path)
    if schema.pattern and re.search(schema.pattern, value) is None:
        yield _fault("FieldValueInvalid", path, quoted, f"should match '{schema.pattern}'")


def _fault(reason: str, path: str, shown: str, text: str) -> dict[str, str]:
    return cause(reason, f"Invalid value: {shown}: {path} in body {text}", path)


def _join(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def _has_type(wanted: str, value: Any) -> bool:
    if isinstance(value, bool):
        return wanted in ("", "boolean")
    if wanted == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _TYPES[wanted])
