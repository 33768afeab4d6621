"""The training operator: restart policies, limits, suspension, cleaning up, scaling. Virtual time."""

import json
from typing import Any

import pytest

from simcluster import manifests
from simcluster.resources import PODS, PYTORCHJOBS, SERVICES, TFJOBS
from tests.simcluster.simulation import (
    Simulation,
    condition_history,
    conditions_of,
    counted,
    of_jobs,
    pod_lives,
    replica_counts,
)

Obj = dict[str, Any]
FOREVER = {"after": None}


def workers(plan: Obj, replicas: int = 2, policy: str = "ExitCode", container: str = "tensorflow") -> Obj:
    return manifests.replica(container, ["train"], replicas, policy, plan=plan)


def tfjob(plan: Obj, replicas: int = 2, policy: str = "ExitCode", **run_policy: Any) -> Obj:
    return manifests.tfjob("tftest", "default", {"Worker": workers(plan, replicas, policy)}, **run_policy)


def worker_0(*runs: Obj, container: str = "tensorflow", others: Obj | None = None) -> Obj:
    """Worker 0 runs as said, everybody else for ever (or as `others` says)."""
    return {"worker-0": {container: list(runs)}, container: others or FOREVER}


def started(manifest: Obj, seconds: float = 10, seed: int = 1) -> Simulation:
    simulation = Simulation(seed)
    simulation.cluster.apply(manifest)
    simulation.run(seconds)
    return simulation


def worker_0_pods(simulation: Simulation) -> int:
    return len(pod_lives(simulation.lines, "tftest-worker-0"))


# Restart policies


@pytest.mark.parametrize("code", [128, 130, 137, 138, 139, 143, 255])
def test_exitcode_retries_codes_from_128_on_without_a_limit(code: int) -> None:
    simulation = started(tfjob(worker_0({"after": 2, "code": code}), backoffLimit=1), 40)
    assert worker_0_pods(simulation) >= 4
    assert "Failed=True" not in simulation.conditions()


@pytest.mark.parametrize("code", [1, 2, 126, 127])
def test_exitcode_fails_the_job_at_codes_below_128(code: int) -> None:
    simulation = started(tfjob(worker_0({"after": 2, "code": code})), 30)
    assert worker_0_pods(simulation) == 1
    assert simulation.conditions() == ["Created=True", "Running=False", "Failed=True"]
    assert "completionTime" in simulation.job()["status"]
    texts = {event["message"] for event in simulation.events("TFJob", "TFJobFailed")}
    assert texts == {
        'job "tftest" is failing because "Worker" replica(s) failed.',
        "TFJob default/tftest has failed because 1 Worker replica(s) failed.",
    }


def test_an_exitcode_pod_itself_never_restarts() -> None:
    simulation = started(tfjob(worker_0({"after": 2, "code": 138})), 20)
    assert {pod["spec"]["restartPolicy"] for pod in simulation.store.list(PODS)} == {"Never"}
    assert counted(simulation.lines)["worker", 0]["in_place_restarts"] == 0


def test_never_fails_the_job() -> None:
    simulation = started(tfjob(worker_0({"after": 2, "code": 138}), policy="Never"), 30)
    assert worker_0_pods(simulation) == 1
    assert simulation.conditions()[-1] == "Failed=True"


@pytest.mark.parametrize("policy", ["OnFailure", "Always"])
def test_the_other_policies_restart_in_place(policy: str) -> None:
    simulation = started(tfjob(worker_0({"after": 2, "code": 1}, FOREVER), policy=policy), 20)
    assert worker_0_pods(simulation) == 1
    assert counted(simulation.lines)["worker", 0]["in_place_restarts"] == 1
    assert condition_history(simulation.lines)[-1] == ["Created=True", "Running=True"]


def test_a_pytorch_job_with_a_fatal_code_fails_without_a_completion_time() -> None:
    """Its restart is told although nothing restarts, and Failed stays."""
    replicas = {
        "Master": workers({"pytorch": FOREVER}, 1, container="pytorch"),
        "Worker": workers({"pytorch": {"after": 2, "code": 1}}, 1, container="pytorch"),
    }
    simulation = started(manifests.pytorchjob("pytest", "default", replicas), 30)
    job = simulation.job("pytest", resource=PYTORCHJOBS)
    assert conditions_of(job)[-1] == "Failed=True"
    assert "completionTime" not in job["status"]
    assert simulation.events("PyTorchJob", "PyTorchJobRestarting")


def test_a_failed_init_container_is_retried_as_an_unknown_code() -> None:
    manifest = tfjob({"tensorflow": FOREVER, "first": {"after": 1, "code": 1}}, 1)
    template = manifest["spec"]["tfReplicaSpecs"]["Worker"]["template"]
    template["spec"]["initContainers"] = [{"name": "first", "image": "busybox"}]
    assert worker_0_pods(started(manifest, 40)) >= 3


def test_a_failed_sidecar_beside_a_completed_main_container_fails_the_job() -> None:
    manifest = tfjob({"tensorflow": {"after": 4}, "side": {"after": 2, "code": 255}}, 1)
    template = manifest["spec"]["tfReplicaSpecs"]["Worker"]["template"]
    template["spec"]["containers"].append({"name": "side", "image": "busybox"})
    simulation = started(manifest, 30)
    assert worker_0_pods(simulation) == 1
    assert simulation.conditions()[-1] == "Failed=True"


# A pod that runs while it is being deleted counts as failed


def test_a_deleted_pod_fails_a_tfjob() -> None:
    simulation = started(tfjob({"tensorflow": {"after": None, "term": None}}))
    simulation.cluster.delete_pod("default", "tftest-worker-1")
    simulation.run(20)
    assert simulation.conditions()[-1] == "Failed=True"
    assert len(pod_lives(simulation.lines, "tftest-worker-1")) == 1


def test_a_deleted_pod_restarts_a_pytorch_job() -> None:
    simulation = started(manifests.lasting_pytorchjob("default", seconds=1000))
    simulation.cluster.delete_pod("default", "pytest-worker-1")
    simulation.run(20)
    assert len(pod_lives(simulation.lines, "pytest-worker-1")) == 2
    assert simulation.conditions("pytest", resource=PYTORCHJOBS)[-1] == "Running=True"


def test_scaling_a_tfjob_down_fails_it() -> None:
    simulation = started(tfjob({"tensorflow": {"after": None, "term": None}}, 3))
    simulation.store.patch_merge(TFJOBS, "default", "tftest", {"spec": {"tfReplicaSpecs": {"Worker": {"replicas": 2}}}})
    simulation.run(20)
    assert simulation.pods() == ["tftest-worker-0", "tftest-worker-1"]
    assert simulation.conditions()[-1] == "Failed=True"


def test_scaling_a_pytorch_job_down_and_up_again() -> None:
    simulation = started(manifests.lasting_pytorchjob("default", seconds=1000), 15)
    for replicas in (1, 3):
        patch = {"spec": {"pytorchReplicaSpecs": {"Worker": {"replicas": replicas}}}}
        simulation.store.patch_merge(PYTORCHJOBS, "default", "pytest", patch)
        simulation.run(20)
        assert len(simulation.pods()) == len(simulation.store.list(SERVICES)) == 1 + replicas
    assert len(pod_lives(simulation.lines, "pytest-worker-1")) == 2
    assert simulation.podgroup("pytest")["spec"]["minMember"] == 4  # type: ignore[index]
    assert simulation.conditions("pytest", resource=PYTORCHJOBS)[-1] == "Running=True"


# Limits


def test_backoff_limit_0_fails_at_the_first_failure() -> None:
    simulation = started(tfjob(worker_0({"after": 2, "code": 138}), backoffLimit=0), 30)
    assert worker_0_pods(simulation) == 1
    assert simulation.conditions() == ["Created=True", "Running=False", "Failed=True"]
    assert simulation.pods() == []
    (event,) = simulation.events("TFJob", "TFJobFailed")
    assert event["message"] == "Job tftest has failed because it has reached the specified backoff limit"


def test_backoff_limit_sums_in_place_restarts_over_the_whole_job() -> None:
    plan = {"worker-0": {"tensorflow": [{"after": 2, "code": 1}, FOREVER]},
            "worker-1": {"tensorflow": [{"after": 4, "code": 1}, FOREVER]}}  # fmt: skip
    simulation = started(tfjob(plan, policy="OnFailure", backoffLimit=2), 30)
    assert simulation.conditions()[-1] == "Failed=True"
    assert {replica: each["in_place_restarts"] for replica, each in counted(simulation.lines).items()} == {
        ("worker", 0): 1,
        ("worker", 1): 1,
    }


def test_the_deadline_fails_the_job_and_removes_its_pods() -> None:
    simulation = started(tfjob({"tensorflow": FOREVER}, activeDeadlineSeconds=20), 40)
    assert simulation.conditions()[-1] == "Running=True"  # the operator sets no timer: it waits for a change
    simulation.store.patch_merge(TFJOBS, "default", "tftest", {"metadata": {"labels": {"seen": "now"}}})
    simulation.run(10)
    assert simulation.conditions()[-1] == "Failed=True"
    assert simulation.pods() == []
    (event,) = simulation.events("TFJob", "TFJobFailed")
    assert event["message"] == "Job tftest has failed because it was active longer than specified deadline"


def test_time_to_live_deletes_the_finished_job() -> None:
    simulation = started(tfjob({"tensorflow": {"after": 3}}, ttlSecondsAfterFinished=30), 20)
    assert simulation.conditions()[-1] == "Succeeded=True"
    simulation.run(15)
    assert simulation.store.find(TFJOBS, "default", "tftest") is not None
    simulation.run(15)
    assert simulation.store.find(TFJOBS, "default", "tftest") is None
    assert simulation.pods() == []
    assert simulation.store.list(SERVICES) == []


# Success


def test_a_tfjob_succeeds_with_worker_0_whatever_the_others_do() -> None:
    simulation = started(tfjob(worker_0({"after": 3})), 20)
    assert simulation.conditions() == ["Created=True", "Running=False", "Succeeded=True"]
    assert replica_counts(of_jobs(simulation.lines)[-1]) == {"Worker": {"succeeded": 2}}
    assert simulation.pod("tftest-worker-1")["status"]["phase"] == "Running"  # type: ignore[index]


def test_all_workers_must_succeed_if_the_job_says_so() -> None:
    manifest = tfjob(worker_0({"after": 3}, others={"after": 30}))
    manifest["spec"]["successPolicy"] = "AllWorkers"
    simulation = started(manifest, 20)
    assert simulation.conditions()[-1] == "Running=True"
    simulation.run(30)
    assert simulation.conditions()[-1] == "Succeeded=True"


def test_with_a_chief_the_chief_decides() -> None:
    replicas = {"Chief": workers({"tensorflow": {"after": 15}}, 1), "Worker": workers({"tensorflow": {"after": 2}}, 1)}
    simulation = started(manifests.tfjob("tftest", "default", replicas), 12)
    assert simulation.conditions()[-1] == "Running=True"
    simulation.run(20)
    assert simulation.conditions()[-1] == "Succeeded=True"
    labels = simulation.pod("tftest-chief-0")["metadata"]["labels"]  # type: ignore[index]
    assert labels["training.kubeflow.org/job-role"] == "master"


def test_a_pytorch_job_without_master_succeeds_with_all_its_workers() -> None:
    replicas = {"Worker": workers({"pytorch": {"after": 3}}, 2, container="pytorch")}
    simulation = started(manifests.pytorchjob("pytest", "default", replicas), 20)
    assert simulation.conditions("pytest", resource=PYTORCHJOBS)[-1] == "Succeeded=True"
    assert not any("initContainers" in pod["spec"] for pod in simulation.store.list(PODS))


@pytest.mark.parametrize(("policy", "left"), [("None", 2), ("Running", 1), ("All", 0)])
def test_clean_pod_policy(policy: str, left: int) -> None:
    simulation = started(tfjob(worker_0({"after": 3}), cleanPodPolicy=policy), 30)
    assert simulation.conditions()[-1] == "Succeeded=True"
    assert len(simulation.pods()) == left
    assert simulation.podgroup() is None


# Suspension


def test_a_job_created_suspended_has_no_pods_until_it_is_resumed() -> None:
    simulation = started(tfjob({"tensorflow": FOREVER}, suspend=True))
    assert simulation.conditions() == ["Created=True", "Suspended=True"]
    assert simulation.pods() == []
    simulation.store.patch_merge(TFJOBS, "default", "tftest", {"spec": {"runPolicy": {"suspend": False}}})
    simulation.run(10)
    assert simulation.conditions() == ["Created=True", "Suspended=False", "Running=True"]


def test_suspended_false_stays_last_until_running_is_appended() -> None:
    simulation = started(tfjob({"tensorflow": FOREVER}))
    for suspend in (True, False):
        simulation.store.patch_merge(TFJOBS, "default", "tftest", {"spec": {"runPolicy": {"suspend": suspend}}})
        simulation.run(10)
    history = condition_history(simulation.lines)
    assert history[-3:] == [
        ["Created=True", "Running=False", "Suspended=True"],
        ["Created=True", "Running=False", "Suspended=False"],
        ["Created=True", "Suspended=False", "Running=True"],
    ]


# Objects


def test_deleting_the_job_deletes_what_it_owns() -> None:
    simulation = started(tfjob({"tensorflow": FOREVER}))
    simulation.cluster.delete(simulation.job())
    simulation.run(10)
    assert simulation.pods() == []
    assert simulation.store.list(SERVICES) == []
    assert simulation.podgroup() is None


def test_a_job_created_again_waits_for_the_old_pods_names() -> None:
    simulation = started(tfjob({"tensorflow": {"after": None, "term": None}}))
    old = simulation.job()
    simulation.cluster.delete(old)
    simulation.run(0.2)
    new = simulation.cluster.apply(tfjob({"tensorflow": FOREVER}))
    simulation.run(20)
    assert simulation.conditions()[-1] == "Running=True"
    assert "already exists" in simulation.events("TFJob", "FailedCreatePod")[0]["message"]
    owners = {pod["metadata"]["ownerReferences"][0]["uid"] for pod in simulation.store.list(PODS)}
    assert owners == {new["metadata"]["uid"]} != {old["metadata"]["uid"]}


def test_services_are_headless_and_select_their_replica() -> None:
    simulation = started(tfjob({"tensorflow": FOREVER}, 1))
    (service,) = simulation.store.list(SERVICES)
    assert service["spec"]["clusterIP"] == "None"
    assert service["spec"]["ports"][0]["port"] == 2222
    labels = simulation.pod("tftest-worker-0")["metadata"]["labels"]  # type: ignore[index]
    assert service["spec"]["selector"].items() <= labels.items()


def test_a_job_of_one_replica_gets_no_tf_config() -> None:
    simulation = started(tfjob({"tensorflow": FOREVER}, 1))
    (pod,) = simulation.store.list(PODS)
    assert [entry["name"] for entry in pod["spec"]["containers"][0]["env"]] == ["POD_NAME"]


def test_tf_config_names_the_whole_cluster_but_evaluators() -> None:
    replicas = {name: workers({"tensorflow": FOREVER}, 1) for name in ("Chief", "PS", "Evaluator", "Worker")}
    simulation = started(manifests.tfjob("tftest", "default", replicas))
    pod = simulation.pod("tftest-evaluator-0")
    assert pod is not None
    config = json.loads(pod["spec"]["containers"][0]["env"][-1]["value"])
    assert sorted(config["cluster"]) == ["chief", "ps", "worker"]
    assert config["task"] == {"type": "evaluator", "index": 0}


def test_ranks_of_a_pytorch_job() -> None:
    simulation = started(manifests.lasting_pytorchjob("default"), 3)
    ranks = {
        pod["metadata"]["name"]: next(
            entry["value"] for entry in pod["spec"]["containers"][0]["env"] if entry["name"] == "RANK"
        )
        for pod in simulation.store.list(PODS)
    }
    assert ranks == {"pytest-master-0": "0", "pytest-worker-0": "1", "pytest-worker-1": "2"}


def test_replica_types_are_read_in_any_spelling() -> None:
    manifest = manifests.tfjob("tftest", "default", {"worker": workers({"tensorflow": FOREVER}, 1)})
    assert started(manifest).conditions()[-1] == "Running=True"


@pytest.mark.parametrize(
    ("template", "complaint"),
    [
        (None, "template.spec must be an object"),
        ({"spec": {"containers": []}}, "spec.containers must name a container"),
        ({"spec": {"containers": [{"name": "x", "ports": [1]}]}}, ".ports is malformed"),
        ({"metadata": {"labels": {"a": 1}}, "spec": {"containers": [{"name": "x"}]}}, "labels must map strings"),
    ],
)
def test_a_job_that_cannot_be_read_fails_and_says_why(template: Any, complaint: str) -> None:
    replica = {"replicas": 1} if template is None else {"replicas": 1, "template": template}
    simulation = started(manifests.tfjob("tftest", "default", {"Worker": replica}))
    assert simulation.conditions() == ["Created=True", "Failed=True"]
    (event,) = simulation.events("TFJob", "TFJobFailedValidation")
    assert complaint in event["message"]
    assert simulation.pods() == []


def test_an_unknown_restart_policy_is_refused() -> None:
    simulation = started(tfjob({"tensorflow": FOREVER}, policy="Sometimes"))
    assert simulation.conditions()[-1] == "Failed=True"


def test_a_large_job_trickles_in_at_20_requests_a_second() -> None:
    simulation = started(tfjob({"tensorflow": FOREVER}, 60), 20)
    created = [line.at for line in simulation.lines if line.resource == "pods" and line.type == "ADDED"]
    assert len(created) == 60
    assert 1.0 <= created[-1] - created[0] <= 5.0
    assert conditions_of(simulation.job())[-1] == "Running=True"


def test_two_jobs_do_not_disturb_each_other() -> None:
    simulation = Simulation()
    for name in ("one", "two"):
        manifest = manifests.seed_experiment("default", name, others_run=1000, ps_runs=1000)
        simulation.cluster.apply(manifest)
    simulation.run(60)
    for name in ("one", "two"):
        assert len(pod_lives(simulation.lines, f"{name}-worker-0")) >= 4
        assert len(pod_lives(simulation.lines, f"{name}-worker-1")) == 1
        assert simulation.conditions(name)[-1] in ("Running=True", "Restarting=True")
