"""The watcher's bookkeeping, with messages fed by hand: what is stored, what has vanished, what nobody watched."""

import logging

import pytest
from django.db import DatabaseError

from jobs import models
from jobs.domain.report import rfc3339
from jobs.ingest.messages import Bookmark, Expired, Skipped, State, Status
from jobs.ingest.streams import StreamKey
from tests.support.database import refusing
from tests.watch.reading import only_job, report, stream
from tests.watch.scripted import (
    CLUSTER,
    CREATED,
    JOB_EVENTS,
    PODGROUP,
    PODGROUP_EVENTS,
    PODGROUPS,
    PODS,
    TFJOBS,
    VOLCANO_PODS,
    Rig,
    event,
    job,
    pod,
    podgroup,
    watched_from_the_start,
)

pytestmark = pytest.mark.django_db(transaction=True)


def interval(start: float, end: float) -> dict[str, str | None]:
    return {"start": rfc3339(start), "end": rfc3339(end)}


def verbs(uid: str) -> list[str]:
    rows = models.Observation.objects.filter(object__uid=uid).order_by("id")
    return list(rows.values_list("verb", flat=True))


# --- lists


def test_what_is_listed_is_stored_with_the_lists_version() -> None:
    rig = Rig()
    rig.take(TFJOBS, *rig.list_of(90, job(40, "Created", "Running")))
    rig.take(PODS, *rig.list_of(91, pod("uid-a", 41)))
    assert verbs("uid-job") == verbs("uid-a") == ["LISTED"]
    assert stream(TFJOBS, CLUSTER).resource_version == "90"
    assert stream(PODS, CLUSTER).listed_at == rig.now
    assert rig.watcher.resume_versions() == {TFJOBS: 90, PODS: 91}
    assert Rig().watcher.resume_versions() == {TFJOBS: 90, PODS: 91}


def test_nobody_watched_a_job_before_the_first_list() -> None:
    rig = Rig()
    rig.take(TFJOBS, *rig.list_of(90, job(40, "Created", "Running")))
    rig.take(PODS, *rig.list_of(91, pod("uid-a", 41)))
    assert only_job()["unobserved"] == [interval(CREATED, rig.now)]
    assert only_job()["at_least"] is True
    assert list(models.Gap.objects.all()) == []  # nothing that was watched before was missed


def test_a_job_that_is_listed_before_its_first_condition_was_watched_from_the_start() -> None:
    rig = Rig()
    rig.take(TFJOBS, *rig.list_of(90, job(40)))
    rig.take(PODS, *rig.list_of(91))
    rig.see(PODS, pod("uid-a", 92), type_="ADDED")
    assert (only_job()["unobserved"], only_job()["at_least"]) == ([], False)


def test_a_relist_repeats_nothing() -> None:
    rig = watched_from_the_start()
    rig.take(PODS, *rig.list_of(50, pod("uid-a", 4)))
    assert verbs("uid-a") == ["ADDED"]
    assert stream(PODS, CLUSTER).resource_version == "50"


# --- what a list lacks


def test_what_a_relist_lacks_has_vanished_between_two_times() -> None:
    rig = watched_from_the_start()
    last_seen, rig.now = rig.now, rig.now + 60
    rig.take(PODS, Expired(4, "410"), *rig.list_of(50, pod("uid-b", 45)))
    assert verbs("uid-a") == ["ADDED", "VANISHED"]
    assert not models.KubeObject.objects.get(uid="uid-a").present
    gone, successor = only_job()["replicas"][0]["pods"]
    assert gone["deleted_between"] == [rfc3339(last_seen), rfc3339(rig.now)]
    assert (successor["uid"], only_job()["true_restarts"], only_job()["at_least"]) == ("uid-b", 1, True)


def test_a_watcher_that_has_just_begun_sees_what_vanished_before_it() -> None:
    watched_from_the_start()
    rig = Rig()
    rig.now += 60
    rig.take(PODS, Expired(4, "410"), *rig.list_of(50))
    rig.take(TFJOBS, Expired(4, "410"), *rig.list_of(50))
    assert verbs("uid-a") == ["ADDED", "VANISHED"]
    assert only_job()["present"] is False
    assert only_job()["deleted_between"] is not None


def test_a_pod_of_the_same_batch_as_the_list_can_vanish() -> None:
    rig = watched_from_the_start()
    added = rig.changed(pod("uid-b", 30), "ADDED")
    rig.take(PODS, added, Expired(30, "410"), *rig.list_of(50, pod("uid-a", 4)))
    assert verbs("uid-b") == ["ADDED", "VANISHED"]
    assert not models.KubeObject.objects.get(uid="uid-b").present


def test_what_was_deleted_just_before_the_list_does_not_vanish_too() -> None:
    rig = watched_from_the_start()
    deleted = rig.changed(pod("uid-a", 30), "DELETED")
    rig.take(PODS, deleted, Expired(30, "410"), *rig.list_of(50))
    assert verbs("uid-a") == ["ADDED", "DELETED"]


def test_nothing_vanishes_while_the_list_holds_objects_without_a_name() -> None:
    rig = watched_from_the_start()
    rig.take(PODS, *rig.list_of(50, unreadable=1))
    assert verbs("uid-a") == ["ADDED"]
    assert models.KubeObject.objects.get(uid="uid-a").present


def test_a_list_of_one_stream_says_nothing_of_anothers_pods() -> None:
    rig = watched_from_the_start()
    rig.take(VOLCANO_PODS, *rig.list_of(50))
    assert verbs("uid-a") == ["ADDED"]
    assert only_job()["at_least"] is False


# --- what nobody watched


@pytest.mark.parametrize("batches", ["one batch", "a batch for each message"])
@pytest.mark.parametrize("key", [PODS, TFJOBS])
def test_after_410_nobody_watched_from_the_last_sign_of_life_to_the_list(key: StreamKey, batches: str) -> None:
    rig = watched_from_the_start()
    rig.now += 20
    rig.take(key, Bookmark(20))
    alive, rig.now = rig.now, rig.now + 100
    messages = [
        Status(State.LISTING, "listing again", rig.now),
        Expired(20, "410"),
        *rig.list_of(50, pod("uid-a", 4) if key is PODS else job(3, "Created", "Running")),
    ]
    if batches == "one batch":
        rig.take(key, *messages)
    else:
        for message in messages:
            rig.take(key, message)
    assert only_job()["unobserved"] == [interval(alive, rig.now)]
    assert only_job()["at_least"] is True
    (gap,) = models.Gap.objects.all()
    assert (gap.resource, gap.start, gap.end, gap.reason) == (key.resource, alive, rig.now, "410")


def test_a_gap_begins_where_the_watcher_before_was_last_alive() -> None:
    before = watched_from_the_start()
    rig = Rig()
    rig.watching(TFJOBS)
    rig.now += 500
    rig.take(PODS, Expired(4, "410"), *rig.list_of(50, pod("uid-a", 4)))
    assert only_job()["unobserved"] == [interval(before.now, rig.now)]


def test_a_change_after_the_list_is_watched_again() -> None:
    rig = watched_from_the_start()
    rig.take(PODS, Expired(4, "410"), *rig.list_of(50, pod("uid-a", 4)))
    (gap,) = only_job()["unobserved"]
    rig.now += 100
    rig.see(PODS, pod("uid-a", 51, "Failed"))
    assert only_job()["unobserved"] == [gap]
    assert stream(PODS, CLUSTER).alive_at == rig.now


def test_a_job_that_ended_in_the_gap_may_have_restarted_in_it() -> None:
    """The job's own stream went on, so it was seen to go; its pods' restarts before that were not."""
    rig = watched_from_the_start()
    rig.now += 100
    rig.see(TFJOBS, job(40, "Created", "Running"), type_="DELETED")
    rig.now += 100
    rig.take(PODS, Expired(4, "410"), *rig.list_of(50))
    assert verbs("uid-a") == ["ADDED", "VANISHED"]
    assert only_job()["at_least"] is True


def test_a_job_that_was_gone_before_the_gap_keeps_its_exact_count() -> None:
    rig = watched_from_the_start()
    rig.see(PODS, pod("uid-a", 30, "Failed"), type_="DELETED")
    rig.see(TFJOBS, job(40, "Created", "Running"), type_="DELETED")
    rig.now += 100
    for key in (PODS, TFJOBS):
        rig.take(key, Expired(40, "410"), *rig.list_of(50))
    assert (only_job()["at_least"], only_job()["unobserved"]) == (False, [])


@pytest.mark.parametrize("key", [JOB_EVENTS, PODGROUP_EVENTS])
def test_events_that_are_listed_again_are_no_gap(key: StreamKey) -> None:
    rig = watched_from_the_start()
    rig.take(key, *rig.list_of(30))
    rig.now += 300
    rig.take(key, *rig.list_of(50))
    assert (only_job()["unobserved"], only_job()["at_least"]) == ([], False)
    assert list(models.Gap.objects.all()) == []


def test_podgroups_that_are_listed_again_are_a_gap_of_their_stream_but_not_of_the_count() -> None:
    rig = watched_from_the_start()
    rig.take(PODGROUPS, *rig.list_of(30))
    since, rig.now = rig.now, rig.now + 300
    rig.take(PODGROUPS, Expired(30, "410"), *rig.list_of(50))
    assert only_job()["at_least"] is False
    assert [(gap.resource, gap.start) for gap in models.Gap.objects.all()] == [(PODGROUPS.resource, since)]


def test_a_gap_in_one_namespace_is_none_in_another() -> None:
    streams = {name: (TFJOBS._replace(namespace=name), PODS._replace(namespace=name)) for name in ("a", "b")}
    rig = Rig(keys=[key for keys in streams.values() for key in keys])
    for version, (name, (jobs, pods)) in enumerate(streams.items(), 1):
        for key in (jobs, pods):
            rig.take(key, *rig.list_of(1))
        rig.watching(jobs, pods)
        item = job(10 * version, uid=f"job-{name}", name=name, namespace=name)
        rig.see(jobs, item, type_="ADDED")
        rig.see(jobs, job(10 * version + 1, "Running", uid=f"job-{name}", name=name, namespace=name))
    rig.now += 100
    rig.take(streams["a"][1], Expired(1, "410"), *rig.list_of(50))
    assert {job["name"]: job["at_least"] for job in report()} == {"a": True, "b": False}


# --- cursor and data


@pytest.mark.parametrize("table", ["jobs_observation", "jobs_incarnation", "jobs_gap"])
def test_an_append_that_fails_leaves_neither_data_nor_cursor(table: str) -> None:
    watched_from_the_start()
    before, observations = only_job(), models.Observation.objects.count()
    rig = Rig()
    relist = [Expired(4, "410"), *rig.list_of(50, pod("uid-b", 45))]
    with refusing(table), pytest.raises(DatabaseError):
        rig.take(PODS, *relist)
    assert models.Observation.objects.count() == observations
    assert stream(PODS, CLUSTER).resource_version == "4"
    assert only_job() == before
    assert rig.changes == []
    again = Rig()
    assert again.watcher.resume_versions()[PODS] == 4
    again.take(PODS, *relist)
    assert (verbs("uid-a"), verbs("uid-b")) == (["ADDED", "VANISHED"], ["LISTED"])
    assert stream(PODS, CLUSTER).resource_version == "50"


def test_the_cursor_follows_changes_and_bookmarks_but_not_what_cannot_be_read() -> None:
    rig = watched_from_the_start()
    rig.take(PODS, rig.changed(pod("uid-a", 30, "Failed")), Skipped("no uid", "ns/odd"))
    assert stream(PODS, CLUSTER).resource_version == "30"
    rig.take(PODS, Bookmark(70))
    assert stream(PODS, CLUSTER).resource_version == "70"
    rig.take(PODS, Expired(70, "410"))
    assert stream(PODS, CLUSTER).resource_version == "70"  # until the list is complete: a crash now lists again


def test_a_write_that_changes_nothing_is_counted_and_moves_the_cursor() -> None:
    rig = watched_from_the_start()
    told = len(rig.changes)
    rig.see(PODS, pod("uid-a", 30, created_at=CREATED + 4), pod("uid-a", 31, created_at=CREATED + 4))
    row = stream(PODS, CLUSTER)
    assert (row.resource_version, row.events, row.changes, row.unchanged) == ("31", 3, 1, 2)
    assert verbs("uid-a") == ["ADDED"]
    assert len(rig.changes) == told


def test_what_is_told_is_stored() -> None:
    rig = watched_from_the_start()
    assert [change.uid for change in rig.changes] == ["uid-job", "uid-job", "uid-a"]
    assert models.Observation.objects.count() == 3


# --- what is odd


def test_what_cannot_be_read_is_counted_and_named_once(caplog: pytest.LogCaptureFixture) -> None:
    rig = Rig()
    with caplog.at_level(logging.WARNING, "jobs.watcher"):
        for version in range(3):
            rig.take(PODS, Skipped("no uid", "ns/odd"), Skipped("not JSON", "{"), Bookmark(version + 1))
    assert stream(PODS, CLUSTER).skipped == {"no uid": 3, "not JSON": 3}
    assert [record.message.count("ns/odd") for record in caplog.records] == [1, 0]


def test_pods_of_an_unknown_kind_of_owner_are_counted_and_named_once(caplog: pytest.LogCaptureFixture) -> None:
    rig = Rig()
    with caplog.at_level(logging.WARNING, "jobs.watcher"):
        for version in (1, 2):
            rig.see(PODS, pod(f"uid-{version}", version, job_kind="Notebook", job_api_version="kubeflow.org/v1"))
    assert stream(PODS, CLUSTER).skipped == {"pod of another kind of owner": 2}
    assert len(caplog.records) == 1
    assert models.KubeObject.objects.count() == 0
    assert stream(PODS, CLUSTER).resource_version == "2"


def test_a_status_is_written_once_for_each_change(caplog: pytest.LogCaptureFixture) -> None:
    rig = Rig()
    rig.watching(PODS)
    began, sentence = rig.now, "The cluster forbids to list pods."
    with caplog.at_level(logging.WARNING, "jobs.watcher"):
        for _ in range(3):
            rig.now += 60
            rig.take(PODS, Status(State.FORBIDDEN, sentence, rig.now))
    row = stream(PODS, CLUSTER)
    assert (row.state, row.detail, row.state_since) == ("forbidden", sentence, began + 60)
    assert len(caplog.records) == 1
    rig.watching(PODS)
    assert (stream(PODS, CLUSTER).state, stream(PODS, CLUSTER).detail) == ("watching", "")


def test_a_hand_over_is_no_change_of_status() -> None:
    before = Rig()
    before.watching(PODS)
    after = Rig()
    after.now += 60
    after.watching(PODS)
    assert stream(PODS, CLUSTER).state_since == before.now


# --- Events and PodGroups that are read before what they are about


def test_an_event_that_is_read_before_its_job_is_stored_with_it() -> None:
    rig = Rig()
    rig.see(JOB_EVENTS, event("uid-event", 5), type_="ADDED")
    assert models.Observation.objects.count() == 0
    rig.see(TFJOBS, job(6), type_="ADDED")
    assert verbs("uid-event") == verbs("uid-job") == ["ADDED"]
    assert models.KubeObject.objects.get(uid="uid-event").stream == stream(JOB_EVENTS, CLUSTER)


def test_a_podgroup_and_its_event_that_are_read_before_their_job_are_stored_with_it() -> None:
    rig = Rig()
    rig.see(PODGROUP_EVENTS, event("uid-event", 4, PODGROUP, "PodGroup"), type_="ADDED")
    rig.see(PODGROUPS, podgroup(5, "Inqueue"), type_="ADDED")
    rig.see(TFJOBS, job(6), type_="ADDED")
    assert verbs("uid-event") == verbs(PODGROUP) == ["ADDED"]
    assert models.Job.objects.get().podgroup_phase == "Inqueue"


def test_an_event_about_the_podgroup_of_a_job_that_is_only_in_the_store() -> None:
    rig = watched_from_the_start()
    rig.see(PODGROUPS, podgroup(5), type_="ADDED")
    later = Rig()
    later.see(PODGROUP_EVENTS, event("uid-event", 9, PODGROUP, "PodGroup"), type_="ADDED")
    assert verbs("uid-event") == ["ADDED"]


# --- until when the cluster was observed


def observed_until() -> float | None:
    return models.Cluster.objects.get(name=CLUSTER).observed_until


def test_an_idle_watcher_says_that_it_lives() -> None:
    rig = watched_from_the_start()
    rig.now += 60
    rig.watcher.take([])
    assert observed_until() == rig.now
    assert only_job()["last_observed_at"] == rfc3339(rig.now)


def test_a_watcher_without_a_stream_observes_nothing() -> None:
    """Though the stored state of its streams is still that of the watcher before, which was killed."""
    before = watched_from_the_start()
    rig = Rig()
    rig.now += 600
    rig.watcher.take([])
    assert observed_until() == before.now
    rig.take(PODS, Status(State.UNREACHABLE, "The cluster refuses connections.", rig.now))
    rig.take(TFJOBS, Status(State.UNREACHABLE, "The cluster refuses connections.", rig.now))
    assert observed_until() == before.now
    rig.watching(PODS)
    assert observed_until() == rig.now
