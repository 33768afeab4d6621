"""One bounded watch session: connect, take the lease, follow all streams, store, until told to stop."""

import logging
import os
import socket
import threading
import time
from collections.abc import Callable

from django.conf import settings
from django.db import DatabaseError, close_old_connections

from dashboard.env import ClusterSource
from jobs.domain.facts import Observation
from jobs.domain.kinds import KINDS
from jobs.ingest.connection import connect
from jobs.ingest.session import Session
from jobs.ingest.streams import streams_for
from jobs.store import leases
from jobs.store.streams import cluster_named
from jobs.watcher import Watcher

log = logging.getLogger(__name__)

BATCH_EVENTS = 200  # with the wait below: one transaction is short, and nobody waits long for it
BATCH_SECONDS = 0.05


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
    on_end_near: Callable[[], None] | None = None,
) -> None:
    """Follow a cluster until ``stop`` is set, ``seconds`` have passed, or another watcher has taken over.

    ``on_end_near`` is called before an end by time, to call the successor. Raises ``Busy`` if the lease is held and not
    to be taken over, ``ConnectionSettingError`` with a sentence if the cluster's configuration cannot be read, and
    ``DatabaseError``: what was read and not stored is read again from the stored cursors.
    """
    connection = connect(source.source)
    lease = leases.acquire(cluster_named(source.name), holder_name(), time.time(), take_over=take_over)
    if lease is None:
        raise Busy(f"Cluster {source.name} is watched by another process already.")
    streams = streams_for(KINDS, settings.RESTARTSCOPE_NAMESPACES)
    watcher = Watcher(source.name, [stream.key for stream in streams], lease, on_change=on_change)
    session = Session(
        connection, streams, watcher.resume_versions(), streaming_lists=settings.RESTARTSCOPE_STREAMING_LISTS
    )
    end = time.monotonic() + seconds if seconds is not None else None
    log.info("%s: watching with %d streams, epoch %d", source.name, len(streams), lease.epoch)
    session.start()
    try:
        for batch in session.batches(BATCH_EVENTS, BATCH_SECONDS):
            watcher.take(batch)
            if stop.is_set():
                break
            if end is not None and time.monotonic() >= end:
                if on_end_near is not None:
                    on_end_near()
                end, on_end_near = None, None
                break
    except leases.LeaseLost:
        log.info("%s: another watcher has taken over", source.name)
    finally:
        session.stop()
        _release(lease)
        close_old_connections()


def _release(lease: leases.Lease) -> None:
    try:
        leases.release(lease)
    except DatabaseError:
        log.warning("The lease could not be given back; it ends by itself within %d s", leases.LEASE_SECONDS)
