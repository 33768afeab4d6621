"""A watcher with other namespaces than the one before: what was watched, and what is not any more."""

from typing import Any

import pytest
from django.test import Client

from jobs import models
from jobs.absence import LATE_SECONDS
from jobs.domain.report import rfc3339
from jobs.ingest.streams import StreamKey
from tests.watch.reading import report
from tests.watch.scripted import PODS, TFJOBS, Rig, goes_on, job, pod, still_open

pytestmark = pytest.mark.django_db(transaction=True)


def in_namespaces(*names: str) -> tuple[StreamKey, ...]:
    return tuple(key._replace(namespace=name) for name in names for key in (TFJOBS, PODS))


def two_jobs(keys: tuple[StreamKey, ...]) -> Rig:
    """A job with a pod in each of the namespaces a and b, watched from the start."""
    rig = Rig(keys=keys)
    for key in keys:
        rig.take(key, *rig.list_of(1))
        rig.watching(key)
    for version, name in enumerate(("a", "b"), 1):
        jobs, pods = (key for key in keys if key.namespace in ("", name))
        about = {"name": name, "namespace": name}
        rig.see(jobs, job(10 * version, uid=f"job-{name}", **about), type_="ADDED")
        rig.see(jobs, job(10 * version + 1, "Running", uid=f"job-{name}", **about))
        one = pod(f"pod-{name}", 10 * version + 2, job_uid=f"job-{name}", job_name=name, namespace=name)
        rig.see(pods, one, type_="ADDED")
    assert [job["at_least"] for job in report()] == [False, False]
    return rig


def after(rig: Rig, *keys: StreamKey) -> Rig:
    """A watcher with another configuration, which watches from the versions that are known to it."""
    return Rig(keys=keys, now=rig.now + LATE_SECONDS)


def told() -> dict[str, tuple[Any, bool, bool]]:
    return {job["name"]: (job["unobserved"], job["at_least"], job["present"]) for job in report()}


def states() -> dict[tuple[str, str], str]:
    return {(one.resource, one.namespace): one.state for one in models.Stream.objects.all()}


@pytest.mark.parametrize("before", [in_namespaces("a", "b"), in_namespaces("")])
def test_a_namespace_that_is_left_out_is_not_watched(client: Client, before: tuple[StreamKey, ...]) -> None:
    rig = two_jobs(before)
    alive = rig.now
    new = after(rig, *in_namespaces("b"))
    for key in in_namespaces("b"):
        if before == in_namespaces(""):
            item = pod("pod-b", 22, job_uid="job-b", job_name="b", namespace="b")
            new.take(key, *new.list_of(30, item if "pods" in key.resource else job(21, uid="job-b", namespace="b")))
        new.watching(key)
    new.now += LATE_SECONDS
    new.take(in_namespaces("b")[0])
    assert told()["a"] == (still_open(alive), True, True)
    assert told()["b"][2] is True
    assert told()["b"][1] is (before == in_namespaces(""))  # a new stream begins with a list
    assert states()[PODS.resource, "a"] == "not configured"
    assert "no longer watched" in client.get("/watchers/").content.decode()
    assert ("pods", "") not in states()


def test_a_namespace_that_is_named_again_goes_on_from_its_version() -> None:
    rig = two_jobs(in_namespaces("a", "b"))
    new = after(rig, *in_namespaces("b"))
    new.watching(*in_namespaces("b"))
    new.now += LATE_SECONDS
    new.take(in_namespaces("b")[0])
    again = after(new, *in_namespaces("a", "b"))
    assert again.watcher.resume_versions()[in_namespaces("a")[1]] == 12
    goes_on(again, *in_namespaces("a", "b"))
    assert told() == {"a": ([], False, True), "b": ([], False, True)}


@pytest.mark.parametrize("before", [in_namespaces("a", "b"), in_namespaces("")])
def test_a_job_without_pods_is_left_out_like_all_others(before: tuple[StreamKey, ...]) -> None:
    rig = two_jobs(before)
    alive = rig.now
    pods = next(key for key in before if key.resource == "pods" and key.namespace in ("", "a"))
    gone = pod("pod-a", 40, "Failed", job_uid="job-a", job_name="a", namespace="a")
    rig.see(pods, gone, type_="DELETED")
    new = after(rig, *in_namespaces("b"))
    new.watching(*in_namespaces("b"))
    new.now += LATE_SECONDS
    new.take(in_namespaces("b")[0])
    assert told()["a"] == (still_open(alive), True, True)
    again = after(new, *in_namespaces("a", "b"))
    goes_on(again, *in_namespaces("a", "b"))
    if before == in_namespaces("a", "b"):
        assert told()["a"] == ([], False, True)


@pytest.mark.parametrize(
    ("before", "now"), [(in_namespaces("a", "b"), in_namespaces("")), (in_namespaces(""), in_namespaces("a", "b"))]
)
def test_what_went_while_the_configuration_changed_has_vanished(
    before: tuple[StreamKey, ...], now: tuple[StreamKey, ...]
) -> None:
    """The new streams' lists speak of what the old streams had seen: both jobs are there, the pod of a is not."""
    rig = two_jobs(before)
    alive = rig.now
    new = after(rig, *now)
    for key in now:
        names = [key.namespace] if key.namespace else ["a", "b"]
        if key.resource == "pods":
            items = [pod("pod-b", 22, job_uid="job-b", job_name="b", namespace="b")] if "b" in names else []
        else:
            items = [job(11 if n == "a" else 21, "Running", uid=f"job-{n}", name=n, namespace=n) for n in names]
        new.take(key, *new.list_of(30, *items))
        new.watching(key)
    gap = [{"start": rfc3339(alive), "end": rfc3339(new.now)}]
    assert told() == {"a": (gap, True, True), "b": (gap, True, True)}
    assert dict(models.KubeObject.objects.filter(resource="pods").values_list("uid", "present")) == {
        "pod-a": False,
        "pod-b": True,
    }
    assert set(states()) == {(key.resource, key.namespace) for key in now}
    assert models.Observation.objects.filter(object__uid="pod-a").count() == 2  # nothing that was seen is lost
