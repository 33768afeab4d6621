"""Patches: JSON merge patch (RFC 7386), JSON patch (RFC 6902) and Kubernetes' strategic merge patch."""

from collections.abc import Sequence
from typing import Any

from simcluster.errors import ApiError, bad_request
from simcluster.schemas.schema import ANY, Schema

MAX_OPERATIONS = 10_000
_DELETE_PREFIX, _ORDER_PREFIX = "$deleteFromPrimitiveList/", "$setElementOrder/"


def merge(target: Any, patch: Any) -> Any:
    """`target` with `patch` merged in; null removes a key. Neither argument is changed, unchanged parts are shared."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merge(result.get(key), value)
    return result


# Strategic merge patch


def strategic(schema: Schema, target: Any, patch: dict[str, Any]) -> dict[str, Any]:
    """A merge in which lists are merged by the keys of their items, with `$patch` and its like as directives."""
    directive = patch.get("$patch")
    if directive == "replace":
        return {key: value for key, value in patch.items() if key != "$patch"}
    if directive == "delete":
        return {}
    if directive not in (None, "merge"):
        raise bad_request(f"Unknown patch type: {directive}")
    result = dict(target) if isinstance(target, dict) else {}
    if isinstance(retained := patch.get("$retainKeys"), list):
        result = {key: value for key, value in result.items() if key in retained}
    for key, value in patch.items():
        if key.startswith(_DELETE_PREFIX):
            _remove_values(result, key.removeprefix(_DELETE_PREFIX), value)
        elif not key.startswith("$"):
            _merge_key(schema, result, key, value)
    for key, order in patch.items():
        name = key.removeprefix(_ORDER_PREFIX)
        if key.startswith(_ORDER_PREFIX) and isinstance(order, list) and isinstance(result.get(name), list):
            result[name] = _in_order(schema.of(name) or ANY, result[name], order)
    return result


def _merge_key(schema: Schema, result: dict[str, Any], key: str, value: Any) -> None:
    inner = schema.of(key) or ANY
    if value is None:
        result.pop(key, None)
    elif isinstance(value, dict):
        result[key] = strategic(inner, result.get(key), value)
    elif isinstance(value, list) and inner.keys:
        result[key] = _merge_list(inner, result.get(key), value)
    elif isinstance(value, list) and inner.is_set:
        present = result.get(key) if isinstance(result.get(key), list) else []
        result[key] = [*(present or []), *(item for item in value if item not in (present or []))]
    else:
        result[key] = value


def _merge_list(schema: Schema, target: Any, patch: list[Any]) -> list[Any]:
    items = [item for item in patch if isinstance(item, dict)]
    if len(items) != len(patch):
        raise bad_request("a strategic merge patch of a list with merge keys must consist of objects")
    if any(item.get("$patch") == "replace" for item in items):
        return [item for item in items if "$patch" not in item]
    result = list(target) if isinstance(target, list) else []
    for item in items:
        key = schema.keys[0]
        if item.get(key) is None:
            raise bad_request(f"map: {item} does not contain declared merge key: {key}")
        place = next((index for index, old in enumerate(result) if _key(old, key) == item[key]), None)
        if item.get("$patch") == "delete":
            result = [old for old in result if _key(old, key) != item[key]]
        elif place is None:
            result.append(strategic(schema.items or ANY, {}, item))
        else:
            result[place] = strategic(schema.items or ANY, result[place], item)
    return result


def _remove_values(result: dict[str, Any], key: str, values: Any) -> None:
    if isinstance(values, list) and isinstance(result.get(key), list):
        result[key] = [item for item in result[key] if item not in values]


def _in_order(schema: Schema, items: list[Any], order: list[Any]) -> list[Any]:
    """The named items in the wanted order; what is not named stays behind the item it followed."""
    key = schema.keys[0] if schema.keys else ""
    ranks = [_key(entry, key) if key else entry for entry in order]

    def name(item: Any) -> Any:
        return _key(item, key) if key else item

    named = sorted((item for item in items if name(item) in ranks), key=lambda item: ranks.index(name(item)))
    result: list[Any] = []
    for item in items:
        result.append(named.pop(0) if name(item) in ranks else item)
    return result


def _key(item: Any, key: str) -> Any:
    return item.get(key) if isinstance(item, dict) else None


# JSON patch


def json_patch(target: Any, operations: Any) -> Any:
    """`target` after the operations; it is not changed. Raises ApiError 400 for a malformed patch, 422 if one fails."""
    if not isinstance(operations, list):
        raise bad_request("json: cannot unmarshal object into Go value of type jsonpatch.Patch")
    if len(operations) > MAX_OPERATIONS:
        text = f"The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {len(operations)}"
        raise ApiError(413, "RequestEntityTooLarge", text)
    for operation in operations:
        if not isinstance(operation, dict) or not isinstance(operation.get("path"), str):
            raise bad_request("a JSON patch consists of objects with op and path")
        target = _applied(target, operation)
    return target


def _applied(target: Any, operation: dict[str, Any]) -> Any:
    kind, path = operation.get("op"), _pointer(operation["path"])
    match kind:
        case "add" | "replace":
            return _with(target, path, operation.get("value"), kind)
        case "remove":
            return _with(target, path, None, "remove")
        case "test":
            if _at(target, path) != operation.get("value"):
                raise _rejected()
            return target
        case "move" | "copy" if isinstance(operation.get("from"), str):
            source = _pointer(operation["from"])
            value = _at(target, source)
            if kind == "move":
                target = _with(target, source, None, "remove")
            return _with(target, path, value, "add")
    raise bad_request(f"Unexpected kind: {kind}")


def _pointer(path: str) -> list[str]:
    if path and not path.startswith("/"):
        raise _rejected()
    return [part.replace("~1", "/").replace("~0", "~") for part in path.split("/")[1:]]


def _at(target: Any, path: Sequence[str]) -> Any:
    for part in path:
        if isinstance(target, dict) and part in target:
            target = target[part]
        elif isinstance(target, list):
            target = target[_index(part, len(target) - 1)]
        else:
            raise _rejected()
    return target


def _with(target: Any, path: Sequence[str], value: Any, how: str) -> Any:
    """A copy of the target in which the value at the path is added, replaced or removed."""
    if not path:
        return value
    if isinstance(target, dict):
        return _with_key(target, path[0], path[1:], value, how)
    if isinstance(target, list):
        return _with_item(target, path[0], path[1:], value, how)
    raise _rejected()


def _with_key(target: dict[str, Any], key: str, rest: Sequence[str], value: Any, how: str) -> dict[str, Any]:
    if key not in target and (rest or how != "add"):
        raise _rejected()
    if not rest and how == "remove":
        return {name: child for name, child in target.items() if name != key}
    return {**target, key: _with(target.get(key), rest, value, how)}


def _with_item(target: list[Any], part: str, rest: Sequence[str], value: Any, how: str) -> list[Any]:
    if not rest and how == "add":
        index = len(target) if part == "-" else _index(part, len(target))
        return [*target[:index], value, *target[index:]]
    index = _index(part, len(target) - 1)
    if not rest and how == "remove":
        return [*target[:index], *target[index + 1 :]]
    return [*target[:index], _with(target[index], rest, value, how), *target[index + 1 :]]


def _index(part: str, highest: int) -> int:
    if not (part.isascii() and part.isdigit()) or int(part) > highest:
        raise _rejected()
    return int(part)


def _rejected() -> ApiError:
    return ApiError(422, "Invalid", "the server rejected our request due to an error in our request", details={})
