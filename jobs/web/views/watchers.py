"""The watchers: what is watched, how well, and how to mend what is not."""

import time
from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from jobs.models import Stream
from jobs.store.pages.watchers import WatchedCluster, watched_clusters
from jobs.store.streams import faded
from jobs.web.context import frame
from jobs.web.timeline import cluster_is_live

GOOD = ("watching", "listing", "replayed", "")
MILD = ("not installed", "not configured", "reconnecting", "throttled")  # heals by itself, or asks for nothing


@dataclass
class StreamView:
    stream: Stream
    state: str
    tone: str
    """good, waiting or bad; shown beside the word, which is what tells."""
    per_minute: float | None
    """Events of the last minute; None where nobody watches."""
    mend: str
    """What to do about it, where the watcher itself did not say."""


@dataclass
class ClusterView:
    watched: WatchedCluster
    live: bool
    ever_watched: bool
    streams: list[StreamView]

    @property
    def troubled(self) -> int:
        return sum(stream.tone == "bad" for stream in self.streams)


@require_safe
def watchers(request: HttpRequest) -> HttpResponse:
    now = time.time()
    clusters = [_view(watched, now) for watched in watched_clusters()]
    template = "jobs/_watchers.html" if request.headers.get("HX-Request") else "jobs/watchers.html"
    return render(request, template, frame(request, "watchers") | {"clusters": clusters, "title": _("Watchers")})


def _view(watched: WatchedCluster, now: float) -> ClusterView:
    live = cluster_is_live(watched.cluster.observed_until, now)
    ever_watched = bool(watched.lease and watched.lease.holder)
    stale = ever_watched and not live
    streams = [_stream(stream, now, live=live, stale=stale) for stream in watched.streams]
    return ClusterView(watched, live, ever_watched, streams)


def _stream(stream: Stream, now: float, *, live: bool, stale: bool) -> StreamView:
    """Nobody brings the states of a stale cluster up to date, so they are only what was."""
    if stale:
        return StreamView(stream, _("was %s") % _state(stream.state) if stream.state else "", "waiting", None, "")
    rate = faded(stream.per_minute, now - stream.last_event_at) if live and stream.last_event_at is not None else None
    return StreamView(stream, _state(stream.state), _tone(stream), rate, "" if stream.detail else _mend(stream.state))


def _state(state: str) -> str:
    """A stream's state (``jobs.ingest.messages.State``, or replayed) in words."""
    known = {
        "listing": _("listing"),
        "watching": _("watching"),
        "reconnecting": _("reconnecting"),
        "throttled": _("throttled"),
        "server error": _("server error"),
        "unreachable": _("unreachable"),
        "unauthorized": _("unauthorized"),
        "forbidden": _("forbidden"),
        "not installed": _("not installed"),
        "refused": _("refused"),
        "broken": _("broken"),
        "not configured": _("no longer watched"),
        "replayed": _("replayed"),
    }
    return known.get(state, state)


def _tone(stream: Stream) -> str:
    if stream.state in GOOD:
        return "good"
    return "waiting" if stream.state in MILD else "bad"


def _mend(state: str) -> str:
    known = {
        "forbidden": _("Grant the watcher list and watch on it, as deploy/ does."),
        "not configured": _("RESTARTSCOPE_NAMESPACES leaves its namespace out, and jobs are there; name it to go on."),
        "not installed": _("Nothing to do, unless jobs of this kind should be seen: install its operator."),
    }
    return known.get(state, "")
