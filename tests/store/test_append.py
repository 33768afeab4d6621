"""The append: one transaction, one number, and several clusters' appends at once."""

import threading

import pytest
from django.db import DatabaseError, connection, transaction

from jobs import models
from jobs.domain.facts import MODIFIED, Observation
from jobs.store import leases
from jobs.store.append import append
from jobs.store.ledger import Ledger
from jobs.store.streams import StreamUpdate, cluster_named, stream_for
from tests.support.threads import Background, all_at_once
from tests.watch.reading import counts, only_job
from tests.watch.scripted import CREATED, PODS, TFJOBS, job, pod

pytestmark = pytest.mark.django_db(transaction=True)


class Writer:
    """Writes jobs and pods of one cluster, an append for each call."""

    def __init__(self, cluster: str = "one", lease: leases.Lease | None = None) -> None:
        self.cluster = cluster_named(cluster)
        self.ledger = Ledger(self.cluster)
        self.lease = lease
        self.stream = stream_for(self.cluster, PODS)

    def write(self, number: int, cursor: str | None = None) -> int:
        """Job ``number`` with a pod."""
        name = f"{self.cluster.name}-{number}"
        items = [
            (TFJOBS.resource, *job(2 * number + 1, "Running", uid=f"job-{number}", name=name)),
            (PODS.resource, *pod(f"pod-{number}", 2 * number + 2, job_uid=f"job-{number}", job_name=name)),
        ]
        seen = [
            Observation(MODIFIED, what, meta.namespace, meta.name, meta.uid, meta.resource_version, CREATED, facts)
            for what, meta, facts in items
        ]
        self.ledger.look_up(seen)
        self.ledger.apply(self.stream.pk, seen)
        return append(self.ledger, [(self.stream, StreamUpdate(resource_version=cursor))], self.lease)


def test_each_append_has_the_next_number_and_writes_it_to_its_rows() -> None:
    writer = Writer()
    first, second = writer.write(1), writer.write(2)
    assert second == first + 1
    for model in (models.Job, models.Incarnation, models.Span):
        assert set(model.objects.values_list("seq", flat=True)) == {first, second}
    assert dict(models.Job.objects.values_list("uid", "seq")) == {"job-1": first, "job-2": second}


def test_a_row_that_does_not_change_keeps_its_number() -> None:
    writer = Writer()
    first = writer.write(1)
    assert writer.write(1) == first + 1  # the same again: duplicates
    assert set(models.Job.objects.values_list("seq", flat=True)) == {first}


@pytest.mark.parametrize("reason", ["lease lost", "database"])
def test_an_append_that_fails_writes_nothing(reason: str) -> None:
    cluster = cluster_named("one")
    lease = leases.acquire(cluster, "a", CREATED)
    assert lease is not None
    writer = Writer(lease=lease)
    writer.write(1, cursor="4")
    before, number = only_job(), models.Sequence.objects.get().value
    error: type[Exception] = leases.LeaseLost
    if reason == "lease lost":
        leases.acquire(cluster, "b", CREATED, take_over=True)
    else:
        error = DatabaseError
        models.Stream.objects.all().delete()  # what the new objects refer to is gone
    with pytest.raises(error):
        writer.write(2, cursor="6")
    assert models.Job.objects.count() == 1
    assert models.Sequence.objects.get().value == number
    assert models.Stream.objects.filter(resource_version="6").count() == 0
    if reason == "lease lost":
        assert only_job() == before


def test_two_clusters_at_once_have_ids_and_numbers_of_their_own() -> None:
    appends = 25
    numbers: dict[str, list[int]] = {"one": [], "two": []}

    def work(cluster: str) -> None:
        writer = Writer(cluster)
        numbers[cluster].extend(writer.write(number) for number in range(appends))

    all_at_once(lambda: work("one"), lambda: work("two"))
    assert sorted(numbers["one"] + numbers["two"]) == list(range(1, 2 * appends + 1))
    for cluster in numbers:
        assert counts(cluster) == {(f"{cluster}-{n}", "worker", 0): (1, 0) for n in range(appends)}
    for row in models.KubeObject.objects.select_related("job"):
        assert row.job.cluster_id == row.cluster_id
    assert models.Observation.objects.count() == 4 * appends


def test_a_reader_that_has_seen_a_number_has_seen_all_before_it() -> None:
    """Numbers commit in order: a page that asks for what is newer than the last one it saw misses nothing."""
    done = threading.Event()
    seen: set[tuple[int, str]] = set()

    def work(cluster: str) -> None:
        writer = Writer(cluster)
        for number in range(25):
            writer.write(number)

    def read() -> None:
        last = 0
        while True:
            ending = done.is_set()
            with transaction.atomic():
                if connection.vendor == "postgresql":
                    connection.cursor().execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
                rows = list(models.Job.objects.filter(seq__gt=last).values_list("seq", "name"))
            seen.update(rows)
            last = max([last, *(seq for seq, _ in rows)])
            if ending:
                return

    with Background(read):
        try:
            all_at_once(lambda: work("one"), lambda: work("two"))
        finally:
            done.set()
    assert seen == set(models.Job.objects.values_list("seq", "name"))
    assert len(seen) == 50


def test_an_append_waits_for_another_clusters() -> None:
    """Else a later number could be read while an earlier one is still to come."""
    one, two = Writer("one"), Writer("two")
    with transaction.atomic():
        first = one.write(1)
        background = Background(lambda: two.write(1)).start()
        assert not background.ends_within(0.5)
    assert background.wait() == first + 1
