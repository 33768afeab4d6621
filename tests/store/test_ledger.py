"""The reducer's memory: what it looks up, what waits, what it forgets."""

import pytest

from jobs import models
from jobs.domain.facts import ADDED, DELETED, LISTED, MODIFIED, EventFacts, Facts, Observation
from jobs.domain.kinds import PODS
from jobs.store import ledger as ledgers
from jobs.store.append import append
from jobs.store.gaps import Gap, unobserved
from jobs.store.ledger import Counts, Ledger
from jobs.store.streams import cluster_named, stream_for
from tests.watch.reading import only_job, report
from tests.watch.scripted import CREATED, JOB_EVENTS, Item, event, job, pod
from tests.watch.scripted import PODS as POD_STREAM

pytestmark = pytest.mark.django_db(transaction=True)

RESOURCES = {"PodFacts": PODS, "JobFacts": "tfjobs.kubeflow.org", "EventFacts": "events"}


class Writer:
    """A ledger whose batches are stored at once."""

    def __init__(self) -> None:
        self.ledger = Ledger(cluster_named("one"))
        self.streams = {
            name: stream_for(self.ledger.cluster, key).pk for name, key in ((PODS, POD_STREAM), ("events", JOB_EVENTS))
        }

    def see(self, *items: Item, verb: str = MODIFIED, at: float = CREATED + 10) -> Counts:
        return self.apply(*(self.observation(item, verb, at) for item in items))

    def apply(self, *observations: Observation) -> Counts:
        stream = self.streams.get(observations[0].resource, self.streams["events"])
        self.ledger.look_up(observations)
        counts = self.ledger.apply(stream, observations)
        append(self.ledger)
        return counts

    @staticmethod
    def observation(item: Item, verb: str = MODIFIED, at: float = CREATED + 10) -> Observation:
        meta, facts = item
        where = (RESOURCES[type(facts).__name__], meta.namespace, meta.name, meta.uid)
        return Observation(verb, *where, meta.resource_version, at, facts)


def numbered_jobs(first: int, number: int) -> list[Item]:
    return [
        job(version, "Running", uid=f"job-{version}", name=f"j{version}") for version in range(first, first + number)
    ]


def test_a_version_that_is_known_is_a_duplicate_whatever_its_verb() -> None:
    writer = Writer()
    item = pod("uid-a", 5)
    assert writer.see(item, verb=ADDED).changed == 1
    for verb in (ADDED, MODIFIED, DELETED, LISTED):
        assert writer.see(item, verb=verb).duplicate == 1
        assert Writer().see(item, verb=verb).duplicate == 1
    assert models.Observation.objects.count() == 1


def test_facts_that_are_known_are_counted_and_not_stored() -> None:
    writer = Writer()
    writer.see(pod("uid-a", 5, created_at=CREATED))
    assert writer.see(pod("uid-a", 6, created_at=CREATED)).unchanged == 1
    assert Writer().see(pod("uid-a", 7, created_at=CREATED)).unchanged == 1
    assert writer.see(pod("uid-a", 8, "Failed", created_at=CREATED)).changed == 1
    assert models.Observation.objects.count() == 2


def test_a_new_ledger_goes_on_from_what_is_stored() -> None:
    Writer().see(job(2, "Running"))
    Writer().see(pod("uid-a", 3))
    Writer().see(pod("uid-a", 4, "Failed"), verb=DELETED)
    Writer().see(pod("uid-b", 5), verb=ADDED)
    assert only_job()["true_restarts"] == 1
    assert [one["uid"] for one in only_job()["replicas"][0]["pods"]] == ["uid-a", "uid-b"]


def test_what_was_known_of_a_pod_whose_job_is_gone_makes_a_job_from_its_owner() -> None:
    Writer().see(pod("uid-a", 3))
    told = only_job()
    assert (told["state"], told["present"], told["at_least"], told["name"]) == ("Unknown", False, True, "tftest")


# --- what waits


def test_the_newest_of_each_event_waits() -> None:
    writer = Writer()
    for version in (5, 6, 7):
        writer.see(event("uid-event", version, count=version))
    writer.see(event("uid-other", 8))
    assert models.Observation.objects.count() == 0
    writer.see(job(9, "Running"))
    assert sorted(models.Observation.objects.values_list("object__uid", "resource_version")) == [
        ("uid-event", 7),
        ("uid-job", 9),
        ("uid-other", 8),
    ]


def test_events_about_what_never_comes_do_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledgers, "WAITING_LIMIT", 5)
    monkeypatch.setattr(ledgers, "WAITING_EACH", 3)
    writer = Writer()
    for number in range(20):
        writer.see(event(f"uid-{number}", number + 1, about=f"uid-{number}"))
    writer.see(*(event(f"late-{number}", number + 1, about="uid-19") for number in range(10)))
    waiting = writer.ledger._waiting
    assert {uid: len(those) for uid, those in waiting.items()} == {
        "uid-15": 1,
        "uid-16": 1,
        "uid-17": 1,
        "uid-18": 1,
        "uid-19": 3,
    }


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        (EventFacts("Notebook", "x", "uid-x"), "Event of another kind of object"),
        (pod("uid-a", 1, job_kind="Notebook")[1], "pod of another kind of owner"),
        (pod("uid-a", 1, job_kind="Job", job_api_version="batch/v1")[1], "pod of another kind of owner"),
        (pod("uid-a", 1, job_kind=None, job_api_version=None)[1], "pod of another kind of owner"),
    ],
)
def test_what_names_no_job_of_ours_is_counted(facts: Facts, reason: str) -> None:
    resource = RESOURCES[type(facts).__name__]
    counts = Writer().apply(Observation(ADDED, resource, "ns", "odd", "uid-odd", 5, CREATED, facts))
    assert (counts.changed, counts.homeless) == (0, {reason: 1})
    assert report() == []


# --- what is forgotten


def test_jobs_that_are_gone_are_forgotten_and_a_late_line_of_theirs_looks_them_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ledgers, "GONE_JOBS_KEPT", 2)
    writer = Writer()
    items = numbered_jobs(10, 5)
    writer.see(*items)
    assert len(writer.ledger.jobs) == 5
    writer.see(
        *(job(meta.resource_version + 100, "Running", uid=meta.uid, name=meta.name) for meta, _ in items), verb=DELETED
    )
    assert sorted(writer.ledger.jobs) == ["job-13", "job-14"]
    assert len(writer.ledger.known) == 2
    assert writer.see(items[0]).duplicate == 1
    writer.see(event("uid-event", 500, about="job-10"))
    assert models.Job.objects.count() == 5
    assert models.KubeObject.objects.get(uid="uid-event").job.uid == "job-10"


def test_a_job_with_pods_is_not_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledgers, "GONE_JOBS_KEPT", 0)
    writer = Writer()
    writer.see(job(1, "Running"), pod("uid-a", 2))
    writer.see(job(3, "Running"), verb=DELETED)
    assert list(writer.ledger.jobs) == ["uid-job"]
    writer.see(pod("uid-a", 4, "Failed"), verb=DELETED)
    assert list(writer.ledger.jobs) == []


# --- lists


def test_what_is_missing_is_asked_of_the_store_and_of_what_waits_for_it() -> None:
    writer = Writer()
    writer.see(job(1, "Running"), pod("uid-a", 2), pod("uid-b", 3), pod("uid-c", 4))
    stream = writer.streams[PODS]
    models.KubeObject.objects.filter(resource=PODS).update(stream=stream)
    waiting = [writer.observation(pod("uid-d", 5), ADDED), writer.observation(pod("uid-c", 6, "Failed"), DELETED)]
    writer.ledger.look_up(waiting)
    writer.ledger.apply(stream, waiting)
    gone = writer.ledger.missing(stream, {"uid-a"}, 50, CREATED + 99)
    assert sorted(observation.uid for observation in gone) == ["uid-b", "uid-d"]


def test_an_object_vanishes_from_a_cluster_that_counts_its_versions_anew() -> None:
    """Set up anew from a backup, or simulated and started again: its list's version is below those that were seen."""
    writer = Writer()
    writer.see(job(1000, "Running"))
    stream = models.KubeObject.objects.get().stream_id
    gone = writer.ledger.missing(stream, set(), 7, CREATED + 99)
    assert writer.apply(*gone).changed == 1
    assert only_job()["present"] is False
    assert not models.KubeObject.objects.get().present


@pytest.mark.parametrize("resource", [PODS, "tfjobs.kubeflow.org"])
def test_nobody_watched_a_job_that_is_only_in_the_store(resource: str) -> None:
    Writer().see(job(1, "Running"), pod("uid-a", 2))
    writer = Writer()
    unobserved(writer.ledger, Gap(resource, CREATED + 50, lambda _: True), CREATED + 90)
    append(writer.ledger)
    assert only_job()["at_least"] is True
    assert len(only_job()["unobserved"]) == 1


@pytest.mark.parametrize("resource", ["events", "podgroups.scheduling.volcano.sh", "pytorchjobs.kubeflow.org"])
def test_a_gap_that_does_not_concern_the_count(resource: str) -> None:
    writer = Writer()
    writer.see(job(1, "Running"), pod("uid-a", 2))
    unobserved(writer.ledger, Gap(resource, CREATED + 50, lambda _: True), CREATED + 90)
    append(writer.ledger)
    assert only_job()["at_least"] is False


@pytest.mark.parametrize(("listed_at", "at_least"), [(CREATED + 90, False), (CREATED + 40, True)])
def test_a_job_that_the_list_shows_untouched_has_missed_nothing(listed_at: float, at_least: bool) -> None:
    """No conditions in the list that ends the gap; no conditions before the gap says nothing of it."""
    writer = Writer()
    writer.see(job(1), verb=LISTED, at=listed_at)
    unobserved(writer.ledger, Gap("tfjobs.kubeflow.org", CREATED + 50, lambda _: True), CREATED + 91)
    append(writer.ledger)
    assert only_job()["at_least"] is at_least
