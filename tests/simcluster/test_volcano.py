"""Volcano Jobs: policies, retries, phases. Virtual time."""

import json
from typing import Any

import pytest

from simcluster.controllers.plan import ANNOTATION
from simcluster.controllers.volcano.job import Happening, VolcanoJob
from simcluster.resources import VOLCANO_JOBS, VOLCANO_PODGROUPS
from tests.simcluster.simulation import Simulation, collapsed, counted, of_jobs

Obj = dict[str, Any]
FOREVER = {"after": None}


def task(name: str, plan: Obj, replicas: int = 1, **more: Any) -> Obj:
    template = {
        "metadata": {"annotations": {ANNOTATION: json.dumps(plan)}},
        "spec": {
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 5,
            "containers": [{"name": "tensorflow", "image": "busybox:1.37.0-glibc", "resources": {}}],
        },
    }
    return {"name": name, "replicas": replicas, "template": template, **more}


def job(*tasks: Obj, **spec: Any) -> Obj:
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": "vj", "namespace": "default"},
        "spec": {"tasks": list(tasks), **spec},
    }


def started(manifest: Obj, seconds: float) -> Simulation:
    simulation = Simulation()
    simulation.cluster.apply(manifest)
    simulation.run(seconds)
    return simulation


def phases(simulation: Simulation) -> list[str]:
    statuses = [line.object.get("status") or {} for line in of_jobs(simulation.lines)]
    return collapsed(each["state"]["phase"] for each in statuses if each)


def status(simulation: Simulation) -> Obj:
    return dict(simulation.store.get(VOLCANO_JOBS, "default", "vj")["status"])


def policy(event: str, action: str) -> Obj:
    return {"event": event, "action": action}


def test_a_job_runs_and_completes_and_its_podgroup_goes() -> None:
    simulation = started(job(task("main", {"tensorflow": {"after": 5}}, 2)), 40)
    assert phases(simulation) == ["Pending", "Running", "Completed"]
    assert status(simulation)["succeeded"] == 2
    assert simulation.store.list(VOLCANO_PODGROUPS) == []
    assert len(simulation.pods()) == 2


def test_a_failed_pod_without_a_policy_fails_the_job_when_all_have_ended() -> None:
    plan = {"tensorflow": {"after": 5}, "main-0": {"tensorflow": {"after": 3, "code": 1}}}
    simulation = started(job(task("main", plan, 2)), 40)
    assert phases(simulation) == ["Pending", "Running", "Failed"]


def test_the_last_retry_fails_the_job() -> None:
    plan = {"tensorflow": {"after": 2, "code": 3}}
    manifest = job(task("main", plan), policies=[policy("PodFailed", "RestartJob")], maxRetry=2)
    simulation = started(manifest, 120)
    assert phases(simulation)[-1] == "Failed"
    assert (status(simulation)["retryCount"], status(simulation)["version"]) == (2, 2)
    assert counted(simulation.lines)["main", 0]["incarnations"] <= 3


def test_a_restart_takes_all_pods_along_and_makes_the_podgroup_anew() -> None:
    plan = {"tensorflow": FOREVER, "main-0": {"tensorflow": [{"after": 3, "code": 3}, FOREVER]}}
    simulation = started(job(task("main", plan, 3), policies=[policy("PodFailed", "RestartJob")]), 60)
    assert phases(simulation) == ["Pending", "Running", "Restarting", "Pending", "Running"]
    assert {replica: each["incarnations"] for replica, each in counted(simulation.lines).items()} == {
        ("main", index): 2 for index in range(3)
    }
    groups = {line.uid for line in simulation.lines if line.resource.startswith("podgroups")}
    assert len(groups) == 2


@pytest.mark.parametrize(
    ("action", "phase"), [("CompleteJob", "Completed"), ("TerminateJob", "Terminated"), ("AbortJob", "Aborted")]
)
def test_a_completed_task_may_end_the_job(action: str, phase: str) -> None:
    lead = task("lead", {"tensorflow": {"after": 5}}, policies=[policy("TaskCompleted", action)])
    simulation = started(job(lead, task("main", {"tensorflow": FOREVER}, 2)), 40)
    assert phases(simulation)[-1] == phase
    assert simulation.pods() == ["vj-lead-0"]


def test_an_evicted_pod_may_restart_the_job() -> None:
    manifest = job(task("main", {"tensorflow": FOREVER}, 2), policies=[policy("PodEvicted", "RestartJob")])
    simulation = started(manifest, 15)
    simulation.cluster.act("evict", namespace="default", name="vj-main-1")
    simulation.run(30)
    assert status(simulation)["retryCount"] == 1
    assert phases(simulation)[-1] == "Running"


def test_an_exit_code_may_have_a_policy_of_its_own() -> None:
    plan = {"tensorflow": FOREVER, "main-0": {"tensorflow": [{"after": 3, "code": 3}, FOREVER]}}
    manifest = job(task("main", plan, 2), policies=[{"exitCode": 3, "action": "RestartTask"}])
    simulation = started(manifest, 50)
    assert status(simulation)["retryCount"] == 1
    assert "version" not in status(simulation)


def test_a_job_that_cannot_be_read_fails_and_harms_nobody() -> None:
    broken = task("main", {})
    broken["template"]["spec"]["containers"][0]["name"] = ""
    read = VolcanoJob({"metadata": {"name": "x", "namespace": "n", "uid": "u"}, "spec": {"tasks": [broken]}})
    assert "must be an object with a name" in read.problem
    assert VolcanoJob({"metadata": {"name": "x", "namespace": "n", "uid": "u"}}).problem


def test_what_belongs_to_an_earlier_version_of_the_job_is_over() -> None:
    spec = {"tasks": [], "policies": [policy("*", "RestartJob")]}
    read = VolcanoJob({"metadata": {"name": "x", "namespace": "n", "uid": "u"}, "spec": spec, "status": {"version": 2}})
    assert read.action_for(Happening("PodFailed", version=1)) == "SyncJob"
    assert read.action_for(Happening("PodFailed", version=2)) == "RestartJob"


def test_time_to_live_deletes_the_finished_job() -> None:
    simulation = started(job(task("main", {"tensorflow": {"after": 3}}), ttlSecondsAfterFinished=20), 20)
    assert status(simulation)["state"]["phase"] == "Completed"
    simulation.run(25)
    assert simulation.store.find(VOLCANO_JOBS, "default", "vj") is None


def test_a_task_may_restart_alone() -> None:
    plan = {"tensorflow": FOREVER, "lead-0": {"tensorflow": [{"after": 3, "code": 9}, FOREVER]}}
    lead = task("lead", plan, 2, policies=[policy("PodFailed", "RestartTask")])
    simulation = started(job(lead, task("main", {"tensorflow": FOREVER}, 2)), 60)
    incarnations = {replica: each["incarnations"] for replica, each in counted(simulation.lines).items()}
    assert incarnations == {("lead", 0): 2, ("lead", 1): 2, ("main", 0): 1, ("main", 1): 1}
    assert phases(simulation) == ["Pending", "Running", "Restarting", "Pending", "Running"]
    assert status(simulation)["retryCount"] == 1


@pytest.mark.parametrize(
    ("action", "phase"), [("CompleteJob", "Completed"), ("TerminateJob", "Terminated"), ("AbortJob", "Aborted")]
)
def test_a_failed_pod_may_end_the_job(action: str, phase: str) -> None:
    plan = {"tensorflow": FOREVER, "main-0": {"tensorflow": {"after": 3, "code": 137}}}
    simulation = started(job(task("main", plan, 3), policies=[policy("PodFailed", action)]), 60)
    assert phases(simulation)[-1] == phase
    assert simulation.pods() == ["vj-main-0"]
    assert "retryCount" not in status(simulation)
    assert all(each["incarnations"] == 1 for each in counted(simulation.lines).values())


@pytest.mark.parametrize("retries", [1, 3])
def test_max_retry_limits_the_restarts_of_the_job(retries: int) -> None:
    plan = {"tensorflow": {"after": 2, "code": 139}}
    manifest = job(task("main", plan, 2), policies=[policy("PodFailed", "RestartJob")], maxRetry=retries)
    simulation = started(manifest, 200)
    assert phases(simulation)[-1] == "Failed"
    assert status(simulation)["retryCount"] == retries
