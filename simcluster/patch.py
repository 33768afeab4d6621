"""JSON merge patch (RFC 7386)."""

from typing import Any


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
