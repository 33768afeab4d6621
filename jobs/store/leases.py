"""Who may write for a cluster: a row with an epoch, taken by one conditional UPDATE."""

from dataclasses import dataclass

from django.db import transaction
from django.db.models import F

from jobs import models

LEASE_SECONDS = 30.0  # three times the beat that looks for a dead watcher: a slow one keeps its lease


class LeaseLost(Exception):
    """Another watcher has taken the cluster over; nothing may be written any more."""


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to write for a cluster, until somebody holds it with a higher epoch."""

    cluster_id: int
    epoch: int


def acquire(cluster: models.Cluster, holder: str, now: float, *, take_over: bool = False) -> Lease | None:
    """Take the cluster's lease if it is free, expired, or to be taken over; None if another holds it."""
    models.Lease.objects.get_or_create(cluster=cluster)
    free = models.Lease.objects.filter(cluster=cluster)
    if not take_over:
        free = free.filter(expires_at__lte=now)
    with transaction.atomic():  # the epoch that is read is the one that was written, whoever comes next
        if not free.update(epoch=F("epoch") + 1, holder=holder, expires_at=now + LEASE_SECONDS):
            return None
        return Lease(cluster.pk, models.Lease.objects.get(cluster=cluster).epoch)


def renew(lease: Lease, now: float) -> None:
    """Push the expiry on. Raises ``LeaseLost``."""
    mine = models.Lease.objects.filter(cluster_id=lease.cluster_id, epoch=lease.epoch)
    if not mine.update(expires_at=now + LEASE_SECONDS):
        raise LeaseLost(f"cluster {lease.cluster_id}: epoch {lease.epoch} is over")


def release(lease: Lease) -> None:
    """Let the next watcher begin at once."""
    models.Lease.objects.filter(cluster_id=lease.cluster_id, epoch=lease.epoch).update(expires_at=0)


def check(lease: Lease) -> None:
    """Inside the append's transaction: raises ``LeaseLost`` if a younger epoch exists.

    The row stays locked until the transaction ends: who takes over waits for it, and then reads the cursors it stored.
    """
    row = models.Lease.objects.select_for_update().filter(cluster_id=lease.cluster_id)
    epoch = row.values_list("epoch", flat=True).first()
    if epoch != lease.epoch:
        raise LeaseLost(f"cluster {lease.cluster_id}: epoch {lease.epoch} is over, {epoch} writes now")
