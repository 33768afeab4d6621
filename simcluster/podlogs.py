"""The answer to pods/log: what has been printed, and with `follow` what is printed from then on."""

import asyncio
from collections.abc import AsyncIterator, Mapping

from starlette.responses import PlainTextResponse, Response, StreamingResponse

from simcluster import answers
from simcluster.logs import LogQuery, LogSource, check_has_run, container_of
from simcluster.requests import Target
from simcluster.resources import PODS
from simcluster.store import Store

_POLL_SECONDS = 0.2  # real seconds between looks at a log that is followed


def pod_log(store: Store, source: LogSource, target: Target, query: Mapping[str, str]) -> Response:
    """Raises ApiError 404, 400."""
    pod = store.get(PODS, target.namespace, target.name)
    container = container_of(pod, query)
    wanted = LogQuery(target.name, query, store.clock.now())
    check_has_run(pod, container, wanted.previous)
    uid = pod["metadata"]["uid"]
    entries = source.entries_of(uid, container, wanted.previous)
    if not wanted.follow:
        return PlainTextResponse(wanted.text(entries), headers=answers.headers())

    async def followed() -> AsyncIterator[bytes]:
        yield wanted.text(entries)
        told = len(entries)
        while not _has_ended(store, target, uid, container):
            await asyncio.sleep(_POLL_SECONDS)
            now = source.entries_of(uid, container)
            if now[told:]:
                yield wanted.lines(now[told:])
            told = len(now)

    return StreamingResponse(followed(), headers=answers.headers(), media_type="text/plain")


def _has_ended(store: Store, target: Target, uid: str, container: str) -> bool:
    """Whether the run that is followed is over."""
    pod = store.find(PODS, target.namespace, target.name)
    if pod is None or pod["metadata"]["uid"] != uid:
        return True
    status = pod.get("status") or {}
    statuses = [*(status.get("containerStatuses") or []), *(status.get("initContainerStatuses") or [])]
    state = next((item.get("state") or {} for item in statuses if item.get("name") == container), {})
    return "running" not in state
