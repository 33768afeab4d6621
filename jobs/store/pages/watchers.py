"""The watcher page and the health endpoint."""

from dataclasses import dataclass

from django.db.models import Max, Window
from django.db.models.functions import RowNumber

from jobs.models import Cluster, Gap, Lease, Stream


@dataclass
class WatchedCluster:
    """A cluster with its streams. ``lease``: who writes for it, None where nobody ever did."""

    cluster: Cluster
    lease: Lease | None
    streams: list[Stream]
    gaps: list[Gap]

    @property
    def last_event_at(self) -> float | None:
        """Epoch seconds; None where no stream ever had an event."""
        known = [stream.last_event_at for stream in self.streams if stream.last_event_at is not None]
        return max(known) if known else None


def watched_clusters(gaps: int = 20) -> list[WatchedCluster]:
    """Every cluster with its streams and its newest gaps."""
    leases = {lease.cluster_id: lease for lease in Lease.objects.all()}
    found = {c.id: WatchedCluster(c, leases.get(c.id), [], []) for c in Cluster.objects.order_by("name")}
    for stream in Stream.objects.order_by("resource", "namespace", "selector"):
        found[stream.cluster_id].streams.append(stream)
    ranked = Gap.objects.annotate(rank=Window(RowNumber(), partition_by="cluster_id", order_by="-id"))
    for gap in ranked.filter(rank__lte=gaps).order_by("-id"):
        found[gap.cluster_id].gaps.append(gap)
    return list(found.values())


def last_events() -> dict[str, float | None]:
    """For each cluster the moment of its last event."""
    rows = Cluster.objects.annotate(last=Max("stream__last_event_at")).order_by("name")
    return dict(rows.values_list("name", "last"))


def live_clusters() -> dict[str, float | None]:
    """Clusters that a watcher holds or held, and until when each was observed."""
    rows = Lease.objects.exclude(holder="").select_related("cluster")
    return {lease.cluster.name: lease.cluster.observed_until for lease in rows}
