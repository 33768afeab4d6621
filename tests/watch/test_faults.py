"""What goes wrong between a watcher and its cluster, asked for from the simulated cluster's control API."""

import logging
import time
from collections.abc import Callable, Iterator

import pytest

from jobs import models
from jobs.domain.kinds import EVENTS
from tests.watch.conftest import StartCluster
from tests.watch.live import Follower, LiveCluster, wait_until
from tests.watch.reading import counts, missed, report
from tests.watch.scripted import PODS

pytestmark = pytest.mark.django_db(transaction=True)

NAME = "faulty"


@pytest.fixture
def followed(cluster: LiveCluster) -> Iterator[LiveCluster]:
    """A cluster that is watched, with a job that restarts."""
    with Follower(cluster.source(NAME)):
        wait_until(all_watching)
        cluster.run("tftest")
        wait_until(lambda: restarts(cluster) > 0)
        yield cluster


def streams(**filters: str) -> list[models.Stream]:
    return list(models.Stream.objects.filter(cluster__name=NAME, **filters))


def all_watching() -> bool:
    found = streams()
    return len(found) > 10 and all(stream.state == "watching" for stream in found)


def pods_stream() -> models.Stream:
    return models.Stream.objects.get(cluster__name=NAME, resource="pods", selector=PODS.selector)


def restarts(cluster: LiveCluster) -> int:
    return cluster.counts().get(("tftest", "worker", 0), (1, 0))[0] - 1


def go_on(cluster: LiveCluster, number: int = 2) -> None:
    """Waits until worker 0 was made anew ``number`` more times."""
    before = restarts(cluster)
    wait_until(lambda: restarts(cluster) >= before + number)


def wait_for_the_truth(cluster: LiveCluster) -> None:
    truth = cluster.freeze()
    wait_until(
        lambda: counts(NAME) == truth, what=lambda: (counts(NAME), truth, [(s.resource, s.state) for s in streams()])
    )


# --- faults that cost nothing


def cut(cluster: LiveCluster) -> None:
    for _ in range(3):
        wait_until(lambda: cluster.control("watches/end", mode="abort")["ended"] > 0)  # those of the last cut are back
        go_on(cluster, 1)


def close(cluster: LiveCluster) -> None:
    for _ in range(3):
        wait_until(lambda: cluster.control("watches/end", mode="close")["ended"] > 0)  # those of the last cut are back
        go_on(cluster, 1)


def stall(cluster: LiveCluster) -> None:
    """Half-open connections: the streams with bookmarks are given up after their read timeout of a second."""
    cluster.control("watches/stall", on=True)
    wait_until(lambda: pods_stream().state == "reconnecting")
    go_on(cluster)
    cluster.control("watches/stall", on=False)


def throttle(cluster: LiveCluster) -> None:
    cluster.control("faults", code=429, count=20, retry_after=1)
    cluster.control("watches/end", mode="abort")
    wait_until(lambda: streams(state="throttled"))
    go_on(cluster)


def fail(cluster: LiveCluster) -> None:
    cluster.control("faults", code=500, count=25)
    cluster.control("watches/end", mode="abort")
    wait_until(lambda: streams(state="server error"))
    go_on(cluster)


def down_and_up(cluster: LiveCluster) -> None:
    cluster.down()
    wait_until(lambda: all(stream.state == "unreachable" for stream in streams()))
    # A connection that was open is reset first; only the next one is refused.
    wait_until(lambda: "refuses connections" in pods_stream().detail)
    go_on(cluster)
    cluster.up()


@pytest.mark.parametrize("fault", [cut, close, stall, throttle, fail, down_and_up])
def test_nothing_is_lost_while_the_versions_are_kept(
    followed: LiveCluster, fault: Callable[[LiveCluster], None]
) -> None:
    fault(followed)
    go_on(followed, 1)
    wait_until(all_watching, what=lambda: [(s.resource, s.state, s.detail) for s in streams()])
    assert {stream.detail for stream in streams()} == {""}
    wait_for_the_truth(followed)
    assert missed(NAME) == []
    assert list(models.Gap.objects.all()) == []
    # Versions of Events age, within 2 s here, and are listed anew then: a fault may last so long.
    counted = models.Observation.objects.exclude(object__resource=EVENTS)
    assert set(counted.values_list("verb", flat=True)) == {"ADDED", "MODIFIED", "DELETED"}


# --- faults after which something may be missing


def test_after_compaction_the_count_is_at_least(followed: LiveCluster) -> None:
    followed.down()
    wait_until(lambda: pods_stream().state == "unreachable")
    before = time.time()
    go_on(followed, 3)
    followed.compact()
    followed.up()
    wait_until(all_watching, what=lambda: [(s.resource, s.state, s.detail) for s in streams()])
    go_on(followed, 1)
    truth = followed.freeze()[("tftest", "worker", 0)][0] - 1
    (job,) = report(NAME)
    worker = next(replica for replica in job["replicas"] if (replica["type"], replica["index"]) == ("worker", 0))
    assert job["at_least"] is True
    assert 1 <= worker["true_restarts"] <= truth
    assert len(job["unobserved"]) == 1
    gaps = models.Gap.objects.filter(resource__in=("pods", "tfjobs.kubeflow.org"))
    assert {gap.reason for gap in gaps} == {"410"}
    for gap in gaps.filter(resource="tfjobs.kubeflow.org"):
        assert gap.start is not None
        assert gap.start < before < gap.end
    gone = models.Observation.objects.filter(verb="VANISHED", object__resource="pods")
    assert gone.count() == 1  # the worker that ran when the cluster went away


def test_a_cluster_set_up_anew_under_the_same_address(start_cluster: StartCluster) -> None:
    """It knows none of the objects, and its versions begin anew: watches from the cursors would be left in silence."""
    old = start_cluster()
    old.run("tftest")
    with Follower(old.source(NAME)):
        wait_until(all_watching)
        wait_until(lambda: pods_stream().resource_version > "" and restarts(old) > 5)
        old.freeze()
        old.down()
        wait_until(lambda: pods_stream().state == "unreachable")
        new = start_cluster(port=old.port, speed=1.0)
        new.run("another")
        wait_until(lambda: {job["name"]: job["present"] for job in report(NAME)} == {"tftest": False, "another": True})
        assert "the cluster's versions went back" in models.Gap.objects.values_list("reason", flat=True)


# --- what a person has to mend


def test_forbidden_pods_are_named_once_and_the_rest_goes_on(
    cluster: LiveCluster, caplog: pytest.LogCaptureFixture
) -> None:
    cluster.control("forbidden", resources=["pods"])
    with caplog.at_level(logging.WARNING), Follower(cluster.source(NAME)):
        wait_until(lambda: len(streams(state="forbidden")) == 2)
        wait_until(lambda: len(streams(state="watching")) == len(streams()) - 2)
        sentence = pods_stream().detail
        assert "grant list and watch on pods by a ClusterRole" in sentence
        cluster.run("tftest")
        wait_until(lambda: report(NAME))
        since = pods_stream().state_since
        time.sleep(1)  # three more attempts
        assert pods_stream().state_since == since
        told = [record for record in caplog.records if "grant list and watch on pods" in record.getMessage()]
        assert len(told) == 2  # one for each of the two pod streams
        cluster.control("forbidden", resources=[])
        wait_until(all_watching)
        wait_until(lambda: counts(NAME).get(("tftest", "worker", 1)) == (1, 0))
        (job,) = report(NAME)
        assert job["at_least"] is True
        assert pods_stream().detail == ""


def test_a_right_that_is_taken_away_is_missed_from_the_next_watch_on(followed: LiveCluster) -> None:
    followed.control("forbidden", resources=["pods"])
    followed.control("watches/end", resource="pods")
    wait_until(lambda: pods_stream().state == "forbidden")
    go_on(followed)
    followed.control("forbidden", resources=[])
    wait_until(all_watching)
    wait_for_the_truth(followed)
    assert missed(NAME) == []


def test_a_kind_that_is_installed_later(cluster: LiveCluster) -> None:
    cluster.control("missing", resources=["pytorchjobs.kubeflow.org"])
    with Follower(cluster.source(NAME)):
        wait_until(lambda: [s.resource for s in streams(state="not installed")] == ["pytorchjobs.kubeflow.org"])
        (stream,) = streams(state="not installed")
        assert "pytorchjobs.kubeflow.org is not installed" in stream.detail
        cluster.run("tftest")
        wait_until(lambda: [job["name"] for job in report(NAME)] == ["tftest"])
        cluster.control("missing", resources=[])
        wait_until(all_watching)
        cluster.experiment("pt-exitcode-worker")
        wait_until(lambda: {job["name"] for job in report(NAME)} == {"tftest", "pytest"})
        wait_for_the_truth(cluster)
        assert missed(NAME) == []


def test_a_cluster_that_comes_up_after_its_watcher(cluster: LiveCluster) -> None:
    cluster.down()
    with Follower(cluster.source(NAME)):
        wait_until(lambda: len(streams(state="unreachable")) == len(streams()) > 10)
        assert models.Cluster.objects.get(name=NAME).observed_until is None
        cluster.up()
        wait_until(all_watching)
        cluster.run("tftest")
        wait_until(lambda: restarts(cluster) > 1)
        wait_for_the_truth(cluster)
        assert missed(NAME) == []
