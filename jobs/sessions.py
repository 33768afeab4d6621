"""One bounded watch session: connect, take the lease, follow all streams, store, until told to stop."""

import logging
import math
import os
import socket
import threading
import time
from collections.abc import Callable
from contextlib import nullcontext

from django.conf import settings
from django.db import Error, close_old_connections

from dashboard.env import ClusterSource
from jobs.domain.facts import Observation
from jobs.domain.kinds import KINDS
from jobs.ingest.connection import connect
from jobs.ingest.session import Session
from jobs.ingest.streams import streams_for
from jobs.ingest.timing import Timing
from jobs.ingest.transport import Transport
from jobs.logs import LogFetcher
from jobs.store import leases
from jobs.store.streams import cluster_named
from jobs.watcher import Watcher

log = logging.getLogger(__name__)

BATCH_EVENTS = 200  # with the wait below: one transaction is short, and nobody waits long for it
BATCH_SECONDS = 0.05
IDLE_SECONDS = 0.25  # how soon an idle session sees that it is to end
POSTPONED_SECONDS = 30.0  # a session whose successor could not be called goes on, and tries again


class Busy(Exception):
    """Another watcher holds the cluster's lease."""


class UnknownCluster(Exception):
    """No cluster of that name is configured; the message names those that are."""


def configured(name: str | None) -> ClusterSource:
    """The cluster of that name, None for the first. Raises ``UnknownCluster``."""
    clusters: tuple[ClusterSource, ...] = settings.RESTARTSCOPE_CLUSTERS
    for cluster in clusters:
        if name is None or cluster.name == name:
            return cluster
    names = ", ".join(cluster.name for cluster in clusters) or "none"
    raise UnknownCluster(f"No cluster {name} in RESTARTSCOPE_CLUSTERS; there: {names}.")


def holder_name() -> str:
    """Who holds a lease, for people who look at the table: host, process, thread."""
    return f"{socket.gethostname()}/{os.getpid()}/{threading.get_ident()}"


def run_session(
    source: ClusterSource,
    stop: threading.Event,
    *,
    seconds: float | None = None,
    take_over: bool = False,
    on_change: Callable[[Observation], None] | None = None,
    on_end_near: Callable[[], bool] | None = None,
    timing: Timing | None = None,
) -> None:
    """Follow a cluster until ``stop`` is set, ``seconds`` have passed, or another watcher has taken over.

    ``on_end_near`` is called before an end by time, to call the successor; while it answers False the session goes on.
    Raises ``Busy`` if the lease is held and not to be taken over, ``ConnectionSettingError`` with a sentence if the
    cluster's configuration cannot be read, and ``django.db.Error``: what was read and not stored is read again from the
    stored cursors.
    """
    connection = connect(source.source)
    try:
        lease = leases.acquire(cluster_named(source.name), holder_name(), time.time(), take_over=take_over)
        if lease is None:
            raise Busy(f"Cluster {source.name} is watched by another process already.")
        try:
            logs = LogFetcher(connection) if settings.RESTARTSCOPE_POD_LOGS else None
            watcher, session = _parts(source.name, connection, lease, on_change=on_change, timing=timing, logs=logs)
            with logs or nullcontext():
                _follow(watcher, session, stop, seconds, on_end_near)
        except leases.LeaseLost:
            log.info("%s: another watcher has taken over", source.name)
        finally:
            _release(lease)
    finally:
        connection.close()
        close_old_connections()


def _parts(
    cluster: str,
    connection: Transport,
    lease: leases.Lease,
    *,
    on_change: Callable[[Observation], None] | None,
    timing: Timing | None,
    logs: LogFetcher | None,
) -> tuple[Watcher, Session]:
    streams = streams_for(KINDS, settings.RESTARTSCOPE_NAMESPACES)
    watcher = Watcher(cluster, [stream.key for stream in streams], lease, on_change=on_change, logs=logs)
    resume, streaming_lists = watcher.resume_versions(), settings.RESTARTSCOPE_STREAMING_LISTS
    log.info("%s: watching with %d streams, epoch %d", cluster, len(streams), lease.epoch)
    return watcher, Session(connection, streams, resume, timing=timing, streaming_lists=streaming_lists)


def _follow(
    watcher: Watcher,
    session: Session,
    stop: threading.Event,
    seconds: float | None,
    on_end_near: Callable[[], bool] | None,
) -> None:
    end = time.monotonic() + seconds if seconds is not None else math.inf
    session.start()
    try:
        for batch in session.batches(BATCH_EVENTS, BATCH_SECONDS, IDLE_SECONDS):
            watcher.take(batch)
            if stop.is_set():
                return
            if time.monotonic() >= end:
                if on_end_near is None or on_end_near():
                    return
                end = time.monotonic() + POSTPONED_SECONDS
    finally:
        session.stop()


def _release(lease: leases.Lease) -> None:
    try:
        leases.release(lease)
    except Error:
        log.warning("The lease could not be given back; it ends by itself within %d s", leases.LEASE_SECONDS)
