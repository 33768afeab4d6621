"""What a request asks for: the target in its path, its verb, the options in its query."""

from collections.abc import Mapping
from dataclasses import dataclass

from simcluster.errors import bad_request
from simcluster.resources import Resource, by_path

_TRUE = frozenset(("1", "t", "T", "true", "TRUE", "True"))
_VERBS = {"PUT": "update", "PATCH": "patch", "DELETE": "delete"}


@dataclass(frozen=True)
class Target:
    """`name` and `subresource` are empty for a collection; `namespace` is None at the cluster scope."""

    resource: Resource
    namespace: str | None = None
    name: str = ""
    subresource: str = ""


def parse_target(group: str, version: str, rest: list[str]) -> Target | None:
    """The target of /apis/<group>/<version>/<rest>, or /api/v1/<rest>; None if the path leads nowhere."""
    namespace = None
    if len(rest) >= 3 and rest[0] == "namespaces" and by_path(group, version, rest[2]) is not None:
        namespace, rest = rest[1], rest[2:]
    if not 1 <= len(rest) <= 3 or not all(rest):
        return None
    resource = by_path(group, version, rest[0])
    if resource is None or (namespace is not None and not resource.namespaced):
        return None
    name, subresource = [*rest[1:], "", ""][:2]
    if name and resource.namespaced and namespace is None:
        return None
    if subresource and subresource not in resource.subresources:
        return None
    return Target(resource, namespace, name, subresource)


def verb_of(method: str, target: Target, query: Mapping[str, str]) -> str | None:
    """The verb that rights are given for; None for a method that is not allowed here."""
    if target.subresource == "log":
        return "get" if method == "GET" else None
    if target.subresource in ("eviction", "token"):
        return "create" if method == "POST" else None
    if method == "GET":
        return "watch" if flag(query, "watch") else "get" if target.name else "list"
    if not target.name:
        return {"POST": "create", "DELETE": "deletecollection"}.get(method)
    allowed = ("PUT", "PATCH") if target.subresource else ("PUT", "PATCH", "DELETE")
    return _VERBS[method] if method in allowed else None


def flag(query: Mapping[str, str], name: str) -> bool:
    return query.get(name, "") in _TRUE


def number(query: Mapping[str, str], name: str) -> int | None:
    """A whole number of the query; None if it is not given. Raises ApiError 400."""
    text = query.get(name, "")
    if not text:
        return None
    try:
        value = int(text)
    except ValueError:
        value = -1
    if value < 0 or not text.isascii() or len(text) > 18:
        raise bad_request(f'{name}: Invalid value: "{text}": must be a number, 0 or more')
    return value


def is_dry_run(query: Mapping[str, str]) -> bool:
    """Raises ApiError 400 for another value than All."""
    value = query.get("dryRun", "")
    if value not in ("", "All"):
        raise bad_request(f'dryRun: Unsupported value: "{value}": supported values: "All"')
    return value == "All"
