"""The read requests: get, list, watch."""

import asyncio
import itertools
import random
from collections.abc import AsyncIterator, Iterable, Mapping

from starlette.responses import Response, StreamingResponse

from simcluster import answers, encoding, errors, listing, selectors
from simcluster.errors import ApiError
from simcluster.forms import Form
from simcluster.options import Options
from simcluster.requests import Target, flag, number
from simcluster.store import Store
from simcluster.watching import Watcher, WatchHub, WatchResponse

Query = Mapping[str, str]
_MATCHES = ("", "Exact", "NotOlderThan")


def list_objects(store: Store, target: Target, query: Query, form: Form) -> Response:
    selector = selectors.parse(target.resource, query.get("labelSelector"), query.get("fieldSelector"))
    _check_match(query)
    wanted = listing.ListQuery(
        target.resource,
        target.namespace,
        selector,
        max(0, number(query, "limit") or 0),
        query.get("continue", ""),
        query.get("resourceVersion", ""),
        query.get("resourceVersionMatch", ""),
    )
    number(query, "timeoutSeconds")  # read, and refused if it is none, for lists too
    page = listing.read_page(store, wanted)
    return StreamingResponse(_in_turns(page.encoded(form)), headers=answers.headers(), media_type="application/json")


class Watches:
    """Opens watches on a store."""

    def __init__(self, store: Store, hub: WatchHub, options: Options, rng: random.Random) -> None:
        self._store = store
        self._hub = hub
        self._options = options
        self._rng = rng

    def open(self, target: Target, query: Query, form: Form) -> WatchResponse:
        resource, version_text = target.resource, query.get("resourceVersion", "")
        fields = query.get("fieldSelector") or (f"metadata.name={target.name}" if target.name else None)
        selector = selectors.parse(resource, query.get("labelSelector"), fields)
        timeout = number(query, "timeoutSeconds") or self._rng.uniform(1800, 3600)
        version = listing.parse_version(version_text) if version_text else 0
        asked = flag(query, "sendInitialEvents")
        if asked and query.get("resourceVersionMatch") != "NotOlderThan":
            raise _refused("sendInitialEvents requires setting resourceVersionMatch to NotOlderThan")
        if not asked and "sendInitialEvents" not in query and query.get("resourceVersionMatch"):
            raise _refused("resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided")
        initial = asked or (version == 0 and "sendInitialEvents" not in query)
        start = self._store.resource_version if initial or not version_text else version
        limit = self._options.queue_limit
        watcher = Watcher(resource, target.namespace, selector, start, form=form, queue_limit=limit)
        bookmarks = flag(query, "allowWatchBookmarks") and resource.watch_cache
        if initial:
            if version > self._store.resource_version:
                raise errors.too_large_version(version, self._store.resource_version)
            watcher.start_with(self._state(watcher, target, bookmarks))
        self._begin(watcher)
        every = self._options.bookmark_seconds if bookmarks else None
        return WatchResponse(self._hub, watcher, answers.watch_headers(), timeout, every)

    def _state(self, watcher: Watcher, target: Target, bookmarks: bool) -> Iterable[bytes]:
        """ADDED lines for what there is now; the objects are gathered at once, encoded as they are sent."""
        keys, lookup = self._store.scan(target.resource, target.namespace)
        found = [obj for obj in map(lookup, keys) if watcher.matches(obj)]
        lines = (watcher.line("ADDED", obj) for obj in found)
        version = self._store.resource_version
        end = (self._hub.bookmark(watcher, version, initial_events_end=True) for _ in range(int(bookmarks)))
        return itertools.chain(lines, end)

    def _begin(self, watcher: Watcher) -> None:
        """Joins the live stream after a replay of what happened since; one ERROR line if that is compacted."""
        if watcher.after >= self._store.resource_version:
            self._hub.add(watcher)
            return
        try:
            history = self._store.checked_history(watcher.resource, watcher.after)
        except ApiError as error:
            watcher.start_with([encoding.watch_line("ERROR", error.status())])
            watcher.end("close")
            return
        watcher.start_with(self._hub.replay(watcher, history.after(watcher.after)))
        self._hub.add(watcher)


def _check_match(query: Query) -> None:
    """resourceVersionMatch goes with a version and without a continue token. Raises ApiError 422."""
    match = query.get("resourceVersionMatch", "")
    if match not in _MATCHES:
        supported = 'supported values: "Exact", "NotOlderThan"'
        raise _refused(f'Unsupported value: "{match}": {supported}', "FieldValueNotSupported")
    if match and not query.get("resourceVersion"):
        raise _refused("resourceVersionMatch is forbidden unless resourceVersion is provided")
    if match and query.get("continue"):
        raise _refused("resourceVersionMatch is forbidden when continue is provided")
    if match == "Exact" and query.get("resourceVersion") == "0":
        raise _refused('resourceVersionMatch "exact" is forbidden for resourceVersion "0"')


def _refused(message: str, reason: str = "FieldValueForbidden") -> ApiError:
    shown = f"Forbidden: {message}" if reason == "FieldValueForbidden" else message
    text = f'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: {shown}'
    causes = [errors.cause(reason, shown, "resourceVersionMatch")]
    return ApiError(422, "Invalid", text, {"group": "meta.k8s.io", "kind": "ListOptions", "causes": causes})


async def _in_turns(chunks: Iterable[bytes]) -> AsyncIterator[bytes]:
    """The chunks, with everybody else having a turn in between."""
    for chunk in chunks:
        yield chunk
        await asyncio.sleep(0)
