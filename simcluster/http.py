"""The API server over HTTP: one Starlette application over a store."""

import asyncio
import itertools
import logging
import random
import uuid
from collections.abc import AsyncIterator, Iterable
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from simcluster import encoding, errors, listing, openapi, selectors, writes
from simcluster.control import Control
from simcluster.discovery import AGGREGATED_TYPE, VERSION, Discovery
from simcluster.errors import ApiError
from simcluster.options import Fault, Options
from simcluster.requests import Target, flag, number, parse_target, verb_of
from simcluster.store import Store
from simcluster.watching import Watcher, WatchHub, WatchResponse

Obj = dict[str, Any]

log = logging.getLogger(__name__)
_METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"]
_BODY_LIMIT = 3 * 1024 * 1024
_REVIEW_PATH = ("authorization.k8s.io", "v1", "selfsubjectaccessreviews")


class ApiServer:
    """Serves a store. `options` may be changed at any time; it holds for the requests that follow."""

    def __init__(self, store: Store, options: Options | None = None, rng: random.Random | None = None) -> None:
        self.store = store
        self.options = options or Options()
        self.hub = WatchHub(store)
        self._rng = rng or random.Random(0)  # noqa: S311

    def app(self) -> ASGIApp:
        control = Control(self.store, self.options, self.hub)
        return Starlette(
            routes=[
                Route("/sim/{action:path}", control.handle, methods=["GET", "POST"]),
                Route("/{path:path}", self._handle, methods=_METHODS),
            ]
        )

    def close(self) -> None:
        """Ends all watches."""
        self.hub.close()

    async def _handle(self, request: Request) -> Any:
        try:
            return await self._answer(request)
        except ApiError as error:
            return _status(error)
        except Exception:
            log.exception("%s %s failed", request.method, request.url.path)
            return _status(errors.internal("an error on the server"))

    async def _answer(self, request: Request) -> Any:
        parts = [part for part in request.url.path.split("/") if part]
        if parts in (["healthz"], ["livez"], ["readyz"]):
            return PlainTextResponse("ok")
        group, version, rest = _split(parts)
        target = parse_target(group, version, rest) if rest else None
        fault = self.options.take_fault(target.resource if target else None)
        if fault is not None:
            return _faulty(fault)
        self._authenticate(request)
        if (group, version, *rest) == _REVIEW_PATH and request.method == "POST":
            return _json(201, writes.review_access(self.options, await _body(request)))
        if target is not None and target.resource not in self.options.missing:
            return await self._serve(request, target)
        return self._discover(request, parts)

    def _authenticate(self, request: Request) -> None:
        if self.options.token and request.headers.get("authorization") != f"Bearer {self.options.token}":
            raise errors.unauthorized()

    def _discover(self, request: Request, parts: list[str]) -> Response:
        discovery = Discovery(self.options.missing)
        document: Obj | None = None
        match parts if request.method == "GET" else []:
            case ["version"]:
                return _json(200, VERSION, pretty=True)
            case ["api" | "apis" as root] if _wants_aggregated(request):
                return _json(200, discovery.aggregated(core=root == "api"), media_type=AGGREGATED_TYPE)
            case ["openapi", "v3"]:
                document = openapi.index(self.options.missing)
            case ["openapi", "v3", *path]:
                document = openapi.document("/".join(path), self.options.missing)
            case ["api"]:
                document = discovery.api_versions(request.url.netloc)
            case ["apis"]:
                document = discovery.group_list()
            case ["apis", name]:
                document = discovery.group(name)
            case ["api", "v1"]:
                document = discovery.resource_list("", "v1")
            case ["api", "v1", *_]:
                raise ApiError(404, "NotFound", "the server could not find the requested resource", details={})
            case ["apis", group, version] if discovery.has_group_version(group, version):
                document = discovery.resource_list(group, version)
        return _not_installed() if document is None else _json(200, document)

    async def _serve(self, request: Request, target: Target) -> Any:
        query = request.query_params
        verb = verb_of(request.method, target, query)
        if verb is None:
            raise errors.method_not_allowed()
        if self.options.is_forbidden(target.resource, verb):
            raise errors.forbidden(target.resource, self.options.user, verb, target.namespace, target.name)
        if verb == "get":
            return _json(200, self.store.get(target.resource, target.namespace, target.name))
        if verb == "list":
            return self._list(request, target)
        if verb == "watch":
            return self._watch(request, target)
        return await self._write(request, target, verb)

    def _list(self, request: Request, target: Target) -> Response:
        query = request.query_params
        selector = selectors.parse(target.resource, query.get("labelSelector"), query.get("fieldSelector"))
        page = listing.read_page(
            self.store,
            listing.ListQuery(
                target.resource,
                target.namespace,
                selector,
                number(query, "limit") or 0,
                query.get("continue", ""),
                query.get("resourceVersion", ""),
                query.get("resourceVersionMatch", ""),
            ),
        )
        return StreamingResponse(_in_turns(page.encoded()), headers=_headers(), media_type="application/json")

    def _watch(self, request: Request, target: Target) -> WatchResponse:
        query = request.query_params
        resource, version_text = target.resource, query.get("resourceVersion", "")
        fields = query.get("fieldSelector") or (f"metadata.name={target.name}" if target.name else None)
        selector = selectors.parse(resource, query.get("labelSelector"), fields)
        timeout = number(query, "timeoutSeconds") or self._rng.uniform(1800, 3600)
        version = listing.parse_version(version_text) if version_text else 0
        asked = flag(query, "sendInitialEvents")
        if asked and query.get("resourceVersionMatch") != "NotOlderThan":
            raise _initial_events_refused()
        initial = asked or (version == 0 and "sendInitialEvents" not in query)
        start = self.store.resource_version if initial or not version_text else version
        watcher = Watcher(resource, target.namespace, selector, start, self.options.queue_limit)
        bookmarks = flag(query, "allowWatchBookmarks") and resource.watch_cache
        if initial:
            if version > self.store.resource_version:
                raise errors.too_large_version(version, self.store.resource_version)
            end = [self.hub.bookmark(resource, initial_events_end=True)] if bookmarks else []
            watcher.start_with(itertools.chain(self._state(watcher, target), end))
        self._begin(watcher)
        every = self.options.bookmark_seconds if bookmarks else None
        return WatchResponse(self.hub, watcher, _watch_headers(), timeout, every)

    def _state(self, watcher: Watcher, target: Target) -> Iterable[bytes]:
        """ADDED lines for what there is now; the objects are gathered at once, encoded as they are sent."""
        keys, lookup = self.store.scan(target.resource, target.namespace)
        found = [obj for obj in map(lookup, keys) if watcher.matches(obj)]
        return (encoding.watch_line("ADDED", obj) for obj in found)

    def _begin(self, watcher: Watcher) -> None:
        """Joins the live stream after a replay of what happened since; one ERROR line if that is compacted."""
        if watcher.after >= self.store.resource_version:
            self.hub.add(watcher)
            return
        try:
            history = self.store.checked_history(watcher.resource, watcher.after)
        except ApiError as error:
            watcher.start_with([encoding.watch_line("ERROR", error.status())])
            watcher.end("close")
            return
        watcher.start_with(self.hub.replay(watcher, history.after(watcher.after)))
        self.hub.add(watcher)

    async def _write(self, request: Request, target: Target, verb: str) -> Response:
        query, body = request.query_params, await _body(request)
        content_type = request.headers.get("content-type", "application/json").partition(";")[0].strip()
        if verb == "patch":
            return _json(200, writes.patch(self.store, target, query, body, content_type))
        if content_type != "application/json":
            raise errors.unsupported_media_type(["application/json"])
        if verb == "create" and target.subresource == "eviction":
            return _json(201, writes.evict(self.store, target, query, body), pretty=True)
        if verb == "create":
            return _json(201, writes.create(self.store, target, query, body))
        if verb == "update":
            return _json(200, writes.update(self.store, target, query, body))
        if verb == "delete":
            code, answer = writes.delete(self.store, target, query, body)
            return _json(code, answer, pretty=answer.get("kind") == "Status")
        deleted = writes.delete_collection(self.store, target, query, body)
        page = listing.Page(target.resource, deleted, self.store.resource_version)
        return Response(b"".join(page.encoded()), headers=_headers(), media_type="application/json")


def _split(parts: list[str]) -> tuple[str, str, list[str]]:
    """Group, version and the rest of an API path; empty for other paths."""
    if parts[:2] == ["api", "v1"]:
        return "", "v1", parts[2:]
    if parts[:1] == ["apis"] and len(parts) >= 3:
        return parts[1], parts[2], parts[3:]
    return "", "", []


async def _body(request: Request) -> bytes:
    chunks: list[bytes] = []
    size = 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > _BODY_LIMIT:
            message = f"Request entity too large: limit is {_BODY_LIMIT}"
            raise ApiError(413, "RequestEntityTooLarge", message)
        chunks.append(chunk)
    return b"".join(chunks)


async def _in_turns(chunks: Iterable[bytes]) -> AsyncIterator[bytes]:
    """The chunks, with everybody else having a turn in between."""
    for chunk in chunks:
        yield chunk
        await asyncio.sleep(0)


def _wants_aggregated(request: Request) -> bool:
    return "as=APIGroupDiscoveryList" in request.headers.get("accept", "")


def _headers() -> dict[str, str]:
    return {"audit-id": str(uuid.uuid4()), "cache-control": "no-cache, private"}


def _watch_headers() -> list[tuple[bytes, bytes]]:
    pairs = {**_headers(), "content-type": "application/json"}
    return [(name.encode(), value.encode()) for name, value in pairs.items()]


def _json(code: int, value: Obj, pretty: bool = False, media_type: str = "application/json") -> Response:
    content = encoding.pretty(value) if pretty else encoding.compact(value) + b"\n"
    return Response(content, code, _headers(), media_type)


def _status(error: ApiError) -> Response:
    response = _json(error.code, error.status(), pretty=True)
    retry_after = (error.details or {}).get("retryAfterSeconds")
    if retry_after is not None:
        response.headers["retry-after"] = str(retry_after)
    return response


def _faulty(fault: Fault) -> Response:
    """429 as the server's overload protection answers it: plain text; everything else as an internal error."""
    if fault.code == 429:
        headers = {**_headers(), "retry-after": str(fault.retry_after), "x-content-type-options": "nosniff"}
        return PlainTextResponse("Too many requests, please try again later.\n", 429, headers)
    error = errors.internal("a fault that was asked for")
    error.code = fault.code
    return _status(error)


def _not_installed() -> Response:
    headers = {**_headers(), "x-content-type-options": "nosniff"}
    return PlainTextResponse("404 page not found\n", 404, headers)


def _initial_events_refused() -> ApiError:
    message = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
    text = f'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: {message}'
    causes = [errors.cause("FieldValueForbidden", f"Forbidden: {message}", "resourceVersionMatch")]
    return ApiError(422, "Invalid", text, {"group": "meta.k8s.io", "kind": "ListOptions", "causes": causes})
