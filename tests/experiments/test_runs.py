"""Runs carried on against a real (simulated) cluster that a real watcher follows."""

import re
import time
from collections.abc import Callable, Iterator
from html import unescape
from typing import Any

import pytest
from django.test import Client

from jobs.experiments import acts, refusals, runs
from jobs.experiments.acts import Record
from jobs.experiments.experiment import Act, ActKind, Experiment
from jobs.experiments.labels import RUN
from jobs.experiments.launch import launch
from jobs.experiments.models import ExperimentAction, ExperimentRun, RunState, Trouble
from jobs.experiments.observe import created_objects, observed
from jobs.models import Job
from simcluster.controllers.kubelet import NodeSpec
from simcluster.options import parse_forbidden
from simcluster.resources import NAMESPACES, NODES, PODS, by_plural
from tests.experiments.conftest import expire_claims
from tests.experiments.small import all_run, launch_of, never, text, tfjob
from tests.watch.live import Follower, LiveCluster, wait_until

pytestmark = pytest.mark.django_db(transaction=True)

AddExperiment = Callable[..., Experiment]


@pytest.fixture
def watched(cluster: LiveCluster) -> Iterator[LiveCluster]:
    """A cluster that is followed."""
    with Follower(cluster.source("lab")):
        wait_until(cluster.is_watched)
        yield cluster


def act(kind: ActKind, key: str = "act", since: str = "runs", after: float = 0.0, **more: Any) -> Act:
    return Act(key, text(key), kind, since, after, **more)


def tfjobs(cluster: LiveCluster) -> list[dict[str, Any]]:
    resource = by_plural("kubeflow.org", "tfjobs")
    assert resource is not None
    return cluster.call(cluster.store.list, resource)


def job(cluster: LiveCluster) -> dict[str, Any]:
    (found,) = tfjobs(cluster)
    return found


def pod_uids(cluster: LiveCluster, replica: str) -> set[str]:
    """UIDs of every pod that the store knows of a replica."""
    kind, _, index = replica.rpartition("-")
    (row,) = Job.objects.all()
    rows = row.incarnation_set.filter(replica_type=kind, replica_index=index)
    return set(rows.values_list("uid", flat=True))


def carried_on(run: ExperimentRun, until: Callable[[ExperimentRun], object], seconds: float = 60) -> ExperimentRun:
    """The run, carried on again and again until something is true of it."""

    def done() -> object:
        runs.carry_on(run.id)
        run.refresh_from_db()
        return until(run)

    wait_until(done, seconds, lambda: (run.state, run.trouble, run.detail, run.acts, run.verdict))
    return run


def record(run: ExperimentRun, key: str = "act") -> Record | None:
    found = {one["key"]: Record(**one) for one in run.acts}.get(key)
    return found if found is not None and found.done_at is not None else None


# --- pods that are refused


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for long until a refusal decides."""
    monkeypatch.setattr(refusals, "LASTING", 1.0)


def enforce(cluster: LiveCluster, level: str = "restricted") -> None:
    labels = {"pod-security.kubernetes.io/enforce": level}
    cluster.call(cluster.store.patch_merge, NAMESPACES, None, "default", {"metadata": {"labels": labels}})


@pytest.mark.usefixtures("impatient")
def test_a_run_whose_pods_are_refused_is_over_and_says_why(watched: LiveCluster, catalogue: AddExperiment) -> None:
    enforce(watched)
    run = launch(launch_of(catalogue(by=10_000.0)))
    carried_on(run, lambda one: not one.is_open)
    assert (run.state, run.trouble) == (RunState.FINISHED, "")
    assert run.verdict is not None
    assert run.verdict["overall"] == "different"
    (told,) = run.verdict["differences"]
    assert told["en"].startswith("Expected: The pods can be created. Seen: “pods ")
    assert 'violates PodSecurity "restricted:latest"' in told["en"]
    page = unescape(Client().get(f"/experiments/runs/{run.id}/").content.decode())
    assert told["en"] in page


def test_of_a_manifest_of_somebodys_own_it_is_said_while_it_lasts(
    watched: LiveCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jobs.domain.stuck.REFUSED", 0.0)
    enforce(watched)
    run = launch(launch_of(None, manifests=(tfjob("mine", "default"),)))
    carried_on(run, lambda one: one.trouble)
    assert run.trouble == Trouble.PODS_REFUSED
    assert run.is_open
    page = unescape(Client().get(f"/experiments/runs/{run.id}/").content.decode())
    assert "Pods of it could not be created: “pods " in page
    assert refusals.IN_THE_MANIFEST.en in page
    (found,) = Job.objects.all()
    told = Client().get(f"/jobs/{found.uid}/", {"cluster": "lab"}).content.decode()
    assert "could not be created: pods " in unescape(told), "the job's own page says so, too"
    link = re.search(r'class="evidence" href="([^"]+)#tabs"', told)
    assert link
    shown = Client().get(unescape(link[1])).content.decode()
    assert "Error creating: pods " in unescape(shown), "and shows the Event that it rests on"
    enforce(watched, "privileged")
    carried_on(run, lambda one: not one.trouble)


# --- acts


def test_a_pod_is_deleted_once_its_step_is_met(watched: LiveCluster, catalogue: AddExperiment) -> None:
    experiment = catalogue(acts=(act(ActKind.DELETE_POD, pod="worker-0"),), policy="Never")
    run = launch(launch_of(experiment, clean_up=False))
    carried_on(run, record)
    found = record(run)
    assert found is not None
    assert (found.what, found.target, found.error) == ("delete pod", "mine-worker-0", "")
    wait_until(lambda: found.uid not in {one["metadata"]["uid"] for one in watched.call(watched.store.list, PODS)})
    assert found.job_uid == job(watched)["metadata"]["uid"]

    def deleting_at() -> float | None:
        (state,) = observed(run, created_objects(run)).jobs
        return state.pods[found.uid].deleting_at if state is not None else None

    wait_until(deleting_at)
    assert found.at <= (deleting_at() or 0.0), "the mark stands behind what came of the act"
    lines = ExperimentAction.objects.filter(what="delete pod").values_list("who", "result")
    assert list(lines) == [("experiment", "done")]
    (mark,) = Client().get(f"/api/jobs/{found.job_uid}/timeline/", {"cluster": "lab"}).json()["marks"]
    assert (mark["what"], mark["target"], mark["at"]) == ("delete pod", "mine-worker-0", found.at)
    assert mark["text"] == {"en": "act", "zh-hans": "中文 act"}
    page = Client().get(f"/jobs/{found.job_uid}/", {"cluster": "lab"}).content.decode()
    assert "mine-worker-0" in page.split("Done by the experiment")[2]


def test_a_pod_is_evicted(watched: LiveCluster, catalogue: AddExperiment) -> None:
    run = launch(launch_of(catalogue(acts=(act(ActKind.EVICT_POD, pod="worker-1"),))))
    carried_on(run, record)
    wait_until(lambda: Job.objects.get().incarnation_set.filter(record__contains="EvictionByEvictionAPI").exists())


def test_a_job_is_suspended_and_resumed(watched: LiveCluster, catalogue: AddExperiment) -> None:
    steps = (("runs", all_run), ("never", never))
    doing = (act(ActKind.SUSPEND, "stop"), act(ActKind.RESUME, "go", after=1.5))
    run = launch(launch_of(catalogue(acts=doing, checks=steps)))
    carried_on(run, lambda one: record(one, "stop"))
    assert job(watched)["spec"]["runPolicy"]["suspend"] is True
    carried_on(run, lambda one: record(one, "go"))
    assert job(watched)["spec"]["runPolicy"]["suspend"] is False
    stop, go = record(run, "stop"), record(run, "go")
    assert stop is not None and go is not None and go.at > stop.at


def test_a_job_is_scaled(watched: LiveCluster, catalogue: AddExperiment) -> None:
    params = {"replica_type": "Worker", "replicas": 3}
    run = launch(launch_of(catalogue(acts=(act(ActKind.SCALE, params=params),)), clean_up=False))
    carried_on(run, record)
    worker = job(watched)["spec"]["tfReplicaSpecs"]["Worker"]
    assert worker["replicas"] == 3
    assert worker["template"]["spec"]["containers"][0]["name"] == "tensorflow"


def test_a_job_is_deleted_and_created_again_under_its_name(watched: LiveCluster, catalogue: AddExperiment) -> None:
    doing = (act(ActKind.DELETE_JOB, "delete"), act(ActKind.CREATE_AGAIN, "again", after=0.1))
    steps = (("runs", all_run), ("never", never))
    run = launch(launch_of(catalogue(acts=doing, checks=steps)))
    first = job(watched)["metadata"]["uid"]
    carried_on(run, lambda one: record(one, "again"))
    second = job(watched)["metadata"]
    assert second["uid"] != first
    assert second["labels"][RUN] == str(run.id)
    assert [one.uid for one in created_objects(run)] == [first, second["uid"]]
    runs.ask_for_clean_up(run, "ann")
    carried_on(run, lambda one: one.cleaned_at)
    assert tfjobs(watched) == []


def test_a_node_is_lost_and_comes_back(watched: LiveCluster, catalogue: AddExperiment) -> None:
    watched.call(watched.cluster.add_node, NodeSpec("las2"))
    doing = (act(ActKind.LOSE_NODE, "lose", pod="worker-0"), act(ActKind.RETURN_NODE, "back", after=8))
    steps = (("runs", all_run), ("never", never))
    run = launch(launch_of(catalogue(acts=doing, checks=steps)))
    carried_on(run, lambda one: record(one, "lose"))
    lost = record(run, "lose")
    assert lost is not None

    def ready() -> str:
        node = watched.call(watched.store.get, NODES, None, lost.target)
        return {one["type"]: one["status"] for one in node["status"]["conditions"]}["Ready"]

    wait_until(lambda: ready() != "True")
    carried_on(run, lambda one: record(one, "back"))
    wait_until(lambda: ready() == "True")


def test_an_act_that_is_refused_is_a_difference_and_the_run_ends(
    watched: LiveCluster, catalogue: AddExperiment
) -> None:
    run = launch(launch_of(catalogue(acts=(act(ActKind.DELETE_POD, pod="worker-0"),))))
    watched.options.forbidden = parse_forbidden(["pods:delete"])
    carried_on(run, lambda one: one.state == RunState.FINISHED)
    assert run.verdict["overall"] == "different"
    assert 'cannot delete resource "pods"' in run.verdict["differences"][0]["en"]


def test_a_run_whose_job_somebody_deleted_ends(
    watched: LiveCluster, catalogue: AddExperiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And so it does if an act still waits for a step that cannot come any more."""
    monkeypatch.setattr("jobs.experiments.verdict.LEFT", 0.5)
    acts = (act(ActKind.SUSPEND, since="never"),)
    run = launch(launch_of(catalogue(acts=acts, checks=(("never", never),), clean_up=False)))
    wait_until(lambda: Job.objects.filter(present=True).exists())
    kind = by_plural("kubeflow.org", "tfjobs")
    assert kind is not None
    watched.call(watched.store.delete, kind, "default", run.name)
    carried_on(run, lambda one: one.state == RunState.FINISHED)
    assert (run.verdict["overall"], run.trouble) == ("different", "")
    assert run.acts == []


class Killed(BaseException):
    """The worker ends here."""


def test_an_act_is_not_done_once_the_site_only_reads(
    watched: LiveCluster, catalogue: AddExperiment, settings: Any
) -> None:
    run = launch(launch_of(catalogue(acts=(act(ActKind.DELETE_JOB, ""),))))
    settings.RESTARTSCOPE_READ_ONLY = True
    carried_on(run, lambda one: not one.is_open)
    assert "RESTARTSCOPE_READ_ONLY is on" in run.acts[0]["error"]
    assert (run.verdict["overall"], run.trouble) == ("different", Trouble.CLEAN_REFUSED)
    assert len(tfjobs(watched)) == 1


@pytest.mark.parametrize("done", [False, True])
def test_an_act_is_not_done_twice_when_the_worker_dies_in_between(
    watched: LiveCluster, catalogue: AddExperiment, monkeypatch: pytest.MonkeyPatch, done: bool
) -> None:
    """The pod that its operator has created anew meanwhile is not the one that was meant."""
    doing = (act(ActKind.DELETE_POD, pod="worker-0"),)
    # A deleted pod fails a TFJob for good; a PyTorchJob's is created anew.
    run = launch(launch_of(catalogue(acts=doing, kind="PyTorchJob", checks=(("runs", all_run), ("never", never)))))
    real = acts.do

    def killed(*given: Any, **more: Any) -> Any:
        if done:
            real(*given, **more)
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr("jobs.experiments.acts.do", killed)
        wait_until(lambda: _dies(run))
    run.refresh_from_db()
    (begun,) = run.acts
    assert begun["done_at"] is None
    if done:
        wait_until(lambda: len(pod_uids(watched, "worker-0")) == 2)
    ExperimentRun.objects.update(claimed_until=time.time() + 60)  # as a process leaves it that is killed
    runs.carry_on(run.id)
    assert ExperimentRun.objects.get().acts[0]["done_at"] is None
    expire_claims()
    carried_on(run, record)
    found = record(run)
    assert found is not None
    assert (found.uid, found.error) == (begun["uid"], "")
    wait_until(lambda: len(pod_uids(watched, "worker-0")) == 2)
    seen = pod_uids(watched, "worker-0")
    assert run_stays(watched, seen)


def _dies(run: ExperimentRun) -> bool:
    try:
        runs.carry_on(run.id)
    except Killed:
        return True
    return False


def run_stays(cluster: LiveCluster, uids: set[str]) -> bool:
    """Whether no further pod of worker 0 comes while the cluster's clock goes on for ten seconds."""
    until = cluster.call(cluster.clock.now) + 10
    wait_until(lambda: cluster.call(cluster.clock.now) > until)
    return pod_uids(cluster, "worker-0") == uids


def test_a_job_created_again_is_found_when_the_worker_died_before_noting_it(
    watched: LiveCluster, catalogue: AddExperiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    doing = (act(ActKind.DELETE_JOB, "delete"), act(ActKind.CREATE_AGAIN, "again"))
    run = launch(launch_of(catalogue(acts=doing, checks=(("runs", all_run), ("never", never)))))
    real = acts.do

    def killed(what: Act, *given: Any, **more: Any) -> Any:
        made = real(what, *given, **more)
        if made is not None:
            raise Killed
        return made

    with monkeypatch.context() as patched:
        patched.setattr("jobs.experiments.acts.do", killed)
        wait_until(lambda: _dies(run))
    uid = job(watched)["metadata"]["uid"]
    expire_claims()
    carried_on(run, lambda one: record(one, "again"))
    assert created_objects(run)[-1].uid == uid


# --- ends


def test_a_run_ends_with_its_verdict_and_is_cleaned_up(watched: LiveCluster, catalogue: AddExperiment) -> None:
    run = launch(launch_of(catalogue()))
    carried_on(run, lambda one: one.cleaned_at)
    assert (run.state, run.verdict["overall"], run.verdict["final"]) == (RunState.FINISHED, "as expected", True)
    assert run.verdict["steps"][0]["state"] == "met"
    assert run.verdict["steps"][0]["text"] == {"en": "runs", "zh": "中文 runs"}
    assert tfjobs(watched) == []
    wait_until(lambda: watched.call(watched.store.list, PODS) == [])


def test_what_does_not_happen_in_time_is_a_difference(watched: LiveCluster, catalogue: AddExperiment) -> None:
    run = launch(launch_of(catalogue(checks=(("never", never),), by=0.5)))
    carried_on(run, lambda one: one.state == RunState.FINISHED)
    assert run.verdict["overall"] == "different"


def test_a_run_that_nobody_watches_ends_at_its_deadline(cluster: LiveCluster, catalogue: AddExperiment) -> None:
    run = launch(launch_of(catalogue()))
    runs.carry_on(run.id)
    ExperimentRun.objects.update(deadline=time.time() - 1)
    runs.carry_on(run.id)
    run.refresh_from_db()
    assert (run.state, run.trouble) == (RunState.FINISHED, Trouble.OVER_TIME)
    assert run.cleaned_at is not None
    assert run.verdict["overall"] != "as expected"


def test_a_cluster_that_goes_away_is_waited_for(watched: LiveCluster, catalogue: AddExperiment) -> None:
    run = launch(launch_of(catalogue(acts=(act(ActKind.SUSPEND),))))
    wait_until(lambda: runs.look(run, catalogue(acts=(act(ActKind.SUSPEND),))).final)
    watched.down()
    runs.carry_on(run.id)
    run.refresh_from_db()
    assert (run.state, run.trouble) == (RunState.RUNNING, Trouble.AWAY)
    assert "refuses connections" in run.detail
    watched.up()
    carried_on(run, lambda one: one.cleaned_at)
    assert (run.state, run.trouble) == (RunState.FINISHED, "")


def test_a_cluster_that_stays_away_does_not_keep_a_run_running(watched: LiveCluster, catalogue: AddExperiment) -> None:
    run = launch(launch_of(catalogue(acts=(act(ActKind.SUSPEND),))))
    watched.down()
    ExperimentRun.objects.update(deadline=time.time() - 1)
    away: set[str] = set()
    runs.carry_on(run.id, away)
    run.refresh_from_db()
    assert (run.state, run.cleaned_at, run.trouble) == (RunState.FINISHED, None, Trouble.CLEAN_AWAY)
    assert away == {"lab"}
    watched.up()
    carried_on(run, lambda one: one.cleaned_at)
    assert tfjobs(watched) == []


def test_a_run_is_stopped_and_keeps_its_objects_unless_told_otherwise(
    watched: LiveCluster, catalogue: AddExperiment
) -> None:
    run = launch(launch_of(catalogue(checks=(("never", never),)), clean_up=False))
    runs.stop(run, "ann")
    carried_on(run, lambda one: one.state == RunState.STOPPED)
    assert len(tfjobs(watched)) == 1
    assert run.verdict["overall"] == "waiting"
    runs.ask_for_clean_up(run, "bob")
    carried_on(run, lambda one: one.cleaned_at)
    assert tfjobs(watched) == []
    told = ExperimentAction.objects.filter(what__in=("stop", "clean up")).values_list("who", "what")
    assert set(told) == {("ann", "stop"), ("bob", "clean up")}


def test_one_broken_run_does_not_hold_up_the_others(
    watched: LiveCluster, catalogue: AddExperiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_observed: Any) -> Any:
        raise RuntimeError("a check that is wrong")

    bad = launch(launch_of(catalogue("bad", checks=(("bad", broken),)), name="bad"))
    good = launch(launch_of(catalogue("good"), name="good"))

    def finished() -> bool:
        runs.carry_all_on()
        good.refresh_from_db()
        return good.state == RunState.FINISHED

    wait_until(finished)
    ExperimentRun.objects.filter(id=bad.id).update(deadline=time.time() - 1)
    runs.carry_all_on()
    bad.refresh_from_db()
    assert bad.state == RunState.FAILED


def test_an_experiment_that_the_catalogue_lost_ends(cluster: LiveCluster, catalogue: AddExperiment) -> None:
    run = launch(launch_of(catalogue()))
    ExperimentRun.objects.update(experiment="lost")
    runs.carry_on(run.id)
    run.refresh_from_db()
    assert (run.state, run.trouble) == (RunState.FAILED, Trouble.UNKNOWN_EXPERIMENT)


# --- clean-up


def test_only_what_carries_the_label_and_the_uid_is_removed(cluster: LiveCluster, catalogue: AddExperiment) -> None:
    resource = by_plural("kubeflow.org", "tfjobs")
    one = launch(launch_of(catalogue(), name="replaced", clean_up=False))
    two = launch(launch_of(catalogue(), name="renamed", clean_up=False))
    cluster.call(cluster.store.delete, resource, "default", "replaced")
    wait_until(lambda: len(tfjobs(cluster)) == 1)
    cluster.call(cluster.cluster.apply, tfjob("replaced", "default"))  # somebody's own job
    plain = {"metadata": {"labels": {RUN: None}}}
    cluster.call(cluster.store.patch_merge, resource, "default", "renamed", plain)
    for run in (one, two):
        runs.ask_for_clean_up(run, "ann")
        carried_on(run, lambda found: found.cleaned_at)
    assert {found["metadata"]["name"] for found in tfjobs(cluster)} == {"replaced", "renamed"}
    results = ExperimentAction.objects.filter(what="delete").order_by("id").values_list("result", flat=True)
    assert list(results) == ["gone already", "left alone: it does not carry the run's label any more"]


# --- a manifest of one's own


def test_a_manifest_of_ones_own_ends_with_its_job(watched: LiveCluster, catalogue: AddExperiment) -> None:
    manifest = tfjob("mine", "default")
    template = manifest["spec"]["tfReplicaSpecs"]["Worker"]["template"]
    template["spec"]["containers"][0]["command"] = ["sh", "-c", "sleep 2"]
    run = launch(launch_of(None, manifests=(manifest,)))
    carried_on(run, lambda one: one.cleaned_at)
    assert (run.state, run.verdict) == (RunState.FINISHED, None)
    assert Job.objects.get().state == "Succeeded"
