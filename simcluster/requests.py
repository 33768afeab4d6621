"""What a request asks for: the target in its path, its verb, the options in its query."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from simcluster.errors import bad_request
from simcluster.resources import Resource, by_path

_INT64 = 1 << 63
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
    if method == "GET" or (method == "HEAD" and target.resource.custom):
        return "watch" if flag(query, "watch") else "get" if target.name else "list"
    if not target.name:
        return {"POST": "create", "DELETE": "deletecollection"}.get(method)
    allowed = ("PUT", "PATCH") if target.subresource else ("PUT", "PATCH", "DELETE")
    return _VERBS[method] if method in allowed else None


def flag(query: Mapping[str, str], name: str) -> bool:
    """Whether a query asks for something: with any value but "0" and "false"."""
    return name in query and query[name] != "0" and query[name].lower() != "false"


def number(query: Mapping[str, str], name: str) -> int | None:
    """A whole number of the query, perhaps negative; None if it is not given. Raises ApiError 400."""
    text = query.get(name, "")
    if not text:
        return None
    if re.fullmatch(r"[+-]?[0-9]+", text) is None:
        raise bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax')
    if len(text) > 20 or not -_INT64 <= int(text) < _INT64:
        raise bad_request(f'strconv.ParseInt: parsing "{text}": value out of range')
    return int(text)


def is_dry_run(query: Mapping[str, str]) -> bool:
    """Raises ApiError 400 for another value than All."""
    value = query.get("dryRun", "")
    if value not in ("", "All"):
        raise bad_request(f'dryRun: Unsupported value: "{value}": supported values: "All"')
    return value == "All"
