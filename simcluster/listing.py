"""Lists: paging with continue tokens over a consistent snapshot, and the shape of a List object."""

import base64
import binascii
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from simcluster import encoding
from simcluster.errors import ApiError, bad_request, gone, too_large_version, unreadable_version
from simcluster.forms import Form
from simcluster.resources import Resource
from simcluster.selectors import Selector
from simcluster.store import Store

Obj = dict[str, Any]
_TOKEN_VERSION = "meta.k8s.io/v1"  # noqa: S105
_EXPIRED = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "
    "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or "
    "deleted between the time the first chunk was returned and now may show up in the list."
)
_LIST_TOO_OLD = "The resourceVersion for the provided list is too old."


@dataclass(frozen=True)
class ListQuery:
    resource: Resource
    namespace: str | None
    selector: Selector
    limit: int = 0
    continue_token: str = ""
    resource_version: str = ""
    version_match: str = ""


@dataclass(frozen=True)
class Page:
    resource: Resource
    objects: list[Obj]
    version: int
    continue_token: str = ""
    remaining: int | None = None

    def encoded(self, form: Form) -> Iterator[bytes]:
        """The list in pieces."""
        metadata: Obj = {"resourceVersion": str(self.version)}
        if self.continue_token:
            metadata["continue"] = self.continue_token
        if self.remaining is not None:
            metadata["remainingItemCount"] = self.remaining
        return form.list_pieces(self.objects, metadata)


def read_page(store: Store, query: ListQuery) -> Page:
    """The page that a list request asks for. Raises ApiError: 400 bad token, 410 expired, 500 and 504 versions."""
    start, version = _start(store, query)
    try:
        keys, lookup = store.scan(query.resource, query.namespace, start, version)
    except ApiError as error:
        if error.code != 410:
            raise
        raise _expired(query, start) from None
    version = store.resource_version if version is None else version
    objects: list[Obj] = []
    for index, key in enumerate(keys):
        obj = lookup(key)
        if query.selector and not query.selector.matches(obj):
            continue
        if query.limit and len(objects) == query.limit:
            remaining = None if query.selector else len(keys) - index
            token = _encode_token(version, f"{_last_key(query, objects[-1])}\0")
            return Page(query.resource, objects, version, token, remaining)
        objects.append(obj)
    return Page(query.resource, objects, version)


def parse_version(text: str) -> int:
    """A resourceVersion parameter as a number. Raises ApiError 500, as the server does."""
    if not (text.isascii() and text.isdigit() and len(text) <= 20):
        raise unreadable_version(text)
    return int(text)


def _start(store: Store, query: ListQuery) -> tuple[str, int | None]:
    """The key to begin with and the version to show; None for the newest."""
    if query.continue_token:
        if query.resource_version not in ("", "0"):
            raise bad_request("specifying resource version is not allowed when using continue")
        version, start = _decode_token(query.continue_token)
        prefix = f"{query.namespace}/" if query.namespace else ""
        return prefix + start.removeprefix("/"), None if version < 0 else version
    version = parse_version(query.resource_version) if query.resource_version else 0
    if version > store.resource_version:
        raise too_large_version(version, store.resource_version)
    return "", version if query.version_match == "Exact" and version else None


def _last_key(query: ListQuery, obj: Obj) -> str:
    metadata = obj["metadata"]
    whole = query.resource.namespaced and not query.namespace
    return f"/{metadata['namespace']}/{metadata['name']}" if whole else f"/{metadata['name']}"


def _expired(query: ListQuery, start: str) -> ApiError:
    if not query.continue_token:
        return gone(_LIST_TOO_OLD)
    prefix = f"{query.namespace}/" if query.namespace else ""
    return gone(_EXPIRED, {"continue": _encode_token(-1, "/" + start.removeprefix(prefix))})


def _encode_token(version: int, start: str) -> str:
    text = json.dumps({"v": _TOKEN_VERSION, "rv": version, "start": start}, separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _decode_token(token: str) -> tuple[int, str]:
    try:
        text = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True).decode(
            "utf-8", "replace"
        )
    except (binascii.Error, ValueError):
        raise _bad_token("illegal base64 data at input byte 0") from None
    try:
        value = json.loads(text)
    except (json.JSONDecodeError, RecursionError):
        raise _bad_token(encoding.parse_error(text)) from None
    if not isinstance(value, dict) or value.get("v") != _TOKEN_VERSION:
        version = value.get("v", "") if isinstance(value, dict) else ""
        raise _bad_token(f'server does not recognize this encoded version "{version}"')
    version, start = value.get("rv"), value.get("start")
    if not isinstance(start, str) or not start or not isinstance(version, int):
        raise _bad_token(f"encoded start key empty (version {_TOKEN_VERSION})")
    return version, start


def _bad_token(why: str) -> ApiError:
    return bad_request(f"invalid continue token: continue key is not valid: {why}")
