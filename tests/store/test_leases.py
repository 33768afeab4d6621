"""The lease: one writer for a cluster, whoever was too late is refused."""

from functools import partial

import pytest
from django.db import transaction

from jobs import models
from jobs.store import leases
from jobs.store.streams import cluster_named
from tests.support.threads import Background, all_at_once

pytestmark = pytest.mark.django_db(transaction=True)

NOW = 1_800_000_000.0
LASTS = leases.LEASE_SECONDS


@pytest.fixture
def cluster() -> models.Cluster:
    return cluster_named("one")


def take(cluster: models.Cluster, holder: str, now: float = NOW, *, take_over: bool = False) -> leases.Lease:
    lease = leases.acquire(cluster, holder, now, take_over=take_over)
    assert lease is not None
    return lease


def refused(lease: leases.Lease) -> bool:
    try:
        with transaction.atomic():
            leases.check(lease)
    except leases.LeaseLost:
        return True
    return False


def test_a_lease_that_is_held_is_not_given_away(cluster: models.Cluster) -> None:
    lease = take(cluster, "a")
    assert leases.acquire(cluster, "b", NOW + LASTS - 1) is None
    assert not refused(lease)
    assert models.Lease.objects.get().holder == "a"


def test_a_lease_that_has_expired_is_free_and_the_late_holder_refused(cluster: models.Cluster) -> None:
    late, lease = take(cluster, "a"), take(cluster, "b", NOW + LASTS)
    assert (late.epoch, lease.epoch) == (1, 2)
    assert refused(late)
    assert not refused(lease)
    with pytest.raises(leases.LeaseLost):
        leases.renew(late, NOW + LASTS)


def test_a_late_holder_whom_nobody_followed_goes_on(cluster: models.Cluster) -> None:
    lease = take(cluster, "a")
    leases.renew(lease, NOW + 10 * LASTS)
    assert not refused(lease)


def test_a_renewed_lease_is_held_longer(cluster: models.Cluster) -> None:
    leases.renew(take(cluster, "a"), NOW + LASTS - 1)
    assert leases.acquire(cluster, "b", NOW + LASTS) is None
    take(cluster, "b", NOW + 2 * LASTS - 1)


def test_a_lease_that_is_given_back_is_free_at_once(cluster: models.Cluster) -> None:
    leases.release(take(cluster, "a"))
    take(cluster, "b")


def test_giving_back_a_lost_lease_leaves_its_new_holder_alone(cluster: models.Cluster) -> None:
    lost, lease = take(cluster, "a"), take(cluster, "b", take_over=True)
    leases.release(lost)
    assert leases.acquire(cluster, "c", NOW) is None
    assert not refused(lease)


def test_clusters_have_leases_of_their_own(cluster: models.Cluster) -> None:
    lease, other = take(cluster, "a"), take(cluster_named("two"), "b")
    assert not refused(lease)
    assert not refused(other)


def test_of_many_at_once_one_gets_it(cluster: models.Cluster) -> None:
    results = all_at_once(*(partial(leases.acquire, cluster, f"racer {number}", NOW) for number in range(6)))
    assert [lease for lease in results if lease is not None] == [leases.Lease(cluster.pk, 1)]


def test_takers_over_have_epochs_of_their_own(cluster: models.Cluster) -> None:
    results = all_at_once(*[partial(take, cluster, "same", take_over=True)] * 6)
    assert sorted(lease.epoch for lease in results) == [1, 2, 3, 4, 5, 6]


def test_who_takes_over_waits_for_an_append_under_way(cluster: models.Cluster) -> None:
    """Else it could read a cursor from before that append, and state from after it."""
    lease = take(cluster, "a")
    with transaction.atomic():
        leases.check(lease)
        successor = Background(partial(take, cluster, "b", take_over=True)).start()
        assert not successor.ends_within(0.5)
    assert successor.wait().epoch == lease.epoch + 1
    assert refused(lease)
