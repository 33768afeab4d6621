"""The acts of runs, done to a real (simulated) cluster that a real watcher follows."""

import time
from typing import Any

import pytest
from django.test import Client

from jobs.experiments import acts, runs
from jobs.experiments.experiment import Act, ActKind
from jobs.experiments.labels import RUN
from jobs.experiments.launch import launch
from jobs.experiments.models import ExperimentAction, ExperimentRun, RunState, Trouble
from jobs.experiments.observe import created_objects, observed
from jobs.models import Job
from simcluster.controllers.kubelet import NodeSpec
from simcluster.options import parse_forbidden
from simcluster.resources import NODES, PODS, by_plural
from tests.experiments.carrying import AddExperiment, act, carried_on, job, pod_uids, record
from tests.experiments.conftest import expire_claims
from tests.experiments.pages import jobs_of
from tests.experiments.small import all_run, launch_of, never
from tests.watch.live import LiveCluster, wait_until

pytestmark = pytest.mark.django_db(transaction=True)


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
    assert jobs_of(watched) == []


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
    assert len(jobs_of(watched)) == 1


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
