"""Runs carried on against a real (simulated) cluster that a real watcher follows."""

import re
import time
from html import unescape
from typing import Any

import pytest
from django.test import Client

from jobs.experiments import refusals, runs
from jobs.experiments.catalogue import experiments
from jobs.experiments.experiment import ActKind, Place
from jobs.experiments.labels import RUN
from jobs.experiments.launch import launch
from jobs.experiments.models import ExperimentAction, ExperimentRun, RunState, Trouble
from jobs.experiments.observe import created_objects, observed
from jobs.experiments.parameters import defaults
from jobs.models import Job
from simcluster.resources import NAMESPACES, PODS, by_plural
from tests.experiments.carrying import AddExperiment, act, carried_on
from tests.experiments.pages import jobs_of
from tests.experiments.small import launch_of, never, tfjob
from tests.watch.live import LiveCluster, wait_until

pytestmark = pytest.mark.django_db(transaction=True)


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
    monkeypatch.setattr(runs, "REFUSED", 10_000.0)
    enforce(watched)
    run = launch(launch_of(None, manifests=(tfjob("mine", "default"),)))
    wait_until(lambda: refusals.refusals(observed(run, created_objects(run))))
    runs.carry_on(run.id)
    run.refresh_from_db()
    assert run.trouble == "", "what fails by chance is tried again at once"
    monkeypatch.setattr(runs, "REFUSED", 0.0)
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


def test_what_the_operator_adds_to_it_is_not_for_its_author_to_mend(
    watched: LiveCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "REFUSED", 0.0)
    enforce(watched)
    normal = experiments()["pt-normal"]
    (manifest,) = normal.objects({**defaults(normal), "restricted": True}, Place("default", "mine"))
    run = launch(launch_of(None, manifests=(manifest,)))
    carried_on(run, lambda one: one.trouble)
    page = unescape(Client().get(f"/experiments/runs/{run.id}/").content.decode())
    assert refusals.ASK_OPERATOR.en in page
    assert refusals.IN_THE_MANIFEST.en not in page


# --- ends


def test_a_run_ends_with_its_verdict_and_is_cleaned_up(watched: LiveCluster, catalogue: AddExperiment) -> None:
    run = launch(launch_of(catalogue()))
    carried_on(run, lambda one: one.cleaned_at)
    assert (run.state, run.verdict["overall"], run.verdict["final"]) == (RunState.FINISHED, "as expected", True)
    assert run.verdict["steps"][0]["state"] == "met"
    assert run.verdict["steps"][0]["text"] == {"en": "runs", "zh": "中文 runs"}
    assert jobs_of(watched) == []
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
    assert jobs_of(watched) == []


def test_a_run_is_stopped_and_keeps_its_objects_unless_told_otherwise(
    watched: LiveCluster, catalogue: AddExperiment
) -> None:
    run = launch(launch_of(catalogue(checks=(("never", never),)), clean_up=False))
    runs.stop(run, "ann")
    carried_on(run, lambda one: one.state == RunState.STOPPED)
    assert len(jobs_of(watched)) == 1
    assert run.verdict["overall"] == "waiting"
    runs.ask_for_clean_up(run, "bob")
    carried_on(run, lambda one: one.cleaned_at)
    assert jobs_of(watched) == []
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
    wait_until(lambda: len(jobs_of(cluster)) == 1)
    cluster.call(cluster.cluster.apply, tfjob("replaced", "default"))  # somebody's own job
    plain = {"metadata": {"labels": {RUN: None}}}
    cluster.call(cluster.store.patch_merge, resource, "default", "renamed", plain)
    for run in (one, two):
        runs.ask_for_clean_up(run, "ann")
        carried_on(run, lambda found: found.cleaned_at)
    assert {found["metadata"]["name"] for found in jobs_of(cluster)} == {"replaced", "renamed"}
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
