"""What the kinds of training job have of their own: XGBoostJob, PaddleJob, JAXJob, MPIJob. Virtual time."""

from typing import Any

import pytest

from simcluster import manifests
from simcluster.controllers.kubelet import NodeSpec
from simcluster.resources import CONFIGMAPS, JAXJOBS, MPIJOBS, PADDLEJOBS, PYTORCHJOBS, XGBOOSTJOBS, Resource
from tests.simcluster.simulation import Simulation, counted, of_jobs, replica_counts

Obj = dict[str, Any]
FOREVER = {"after": None}
KINDS: dict[str, tuple[Resource, str]] = {
    "PyTorchJob": (PYTORCHJOBS, "pytorch"),
    "XGBoostJob": (XGBOOSTJOBS, "xgboost"),
    "PaddleJob": (PADDLEJOBS, "paddle"),
    "JAXJob": (JAXJOBS, "jax"),
}


def job(kind: str, policy: str, plan: Obj, **replicas: int) -> Obj:
    container = {"MPIJob": "mpi"}.get(kind) or KINDS[kind][1]
    specs = {
        name: manifests.replica(container, ["train"], count, policy, plan={container: FOREVER, **plan})
        for name, count in replicas.items()
    }
    return manifests.training_job(kind, "test", "default", specs)


def started(manifest: Obj, seconds: float, **options: Any) -> Simulation:
    simulation = Simulation(**options)
    simulation.cluster.apply(manifest)
    simulation.run(seconds)
    return simulation


def conditions(simulation: Simulation, resource: Resource) -> list[str]:
    return simulation.conditions("test", resource=resource)


def environment(simulation: Simulation, pod: str) -> dict[str, str]:
    found = simulation.pod(pod)
    assert found is not None
    return {each["name"]: each.get("value", "") for each in found["spec"]["containers"][0]["env"]}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_restarts_a_worker_under_exitcode(kind: str) -> None:
    resource, container = KINDS[kind]
    plan = {"worker-0": {container: [{"after": 5, "code": 137}, FOREVER]}}
    replicas = {"Worker": 2} if kind == "JAXJob" else {"Master": 1, "Worker": 2}
    simulation = started(job(kind, "ExitCode", plan, **replicas), 40)
    assert counted(simulation.lines)["worker", 0]["recreations"] == 1
    assert conditions(simulation, resource)[-1] == "Running=True"
    assert replica_counts(of_jobs(simulation.lines)[-1])["Worker"] == {"active": 2}


@pytest.mark.parametrize(("kind", "last"), [("PaddleJob", "Running=True"), ("JAXJob", "Running=True")])
def test_a_deleted_running_pod_is_a_restart(kind: str, last: str) -> None:
    resource, _ = KINDS[kind]
    simulation = started(job(kind, "OnFailure", {}, Worker=2), 15)
    simulation.cluster.act("delete_pod", namespace="default", name="test-worker-1")
    simulation.run(30)
    assert counted(simulation.lines)["worker", 1]["recreations"] == 1
    assert conditions(simulation, resource)[-1] == last


def test_a_deleted_running_pod_fails_an_xgboostjob_outside_exitcode() -> None:
    simulation = started(job("XGBoostJob", "OnFailure", {}, Master=1, Worker=1), 15)
    simulation.cluster.act("delete_pod", namespace="default", name="test-worker-0")
    simulation.run(30)
    assert conditions(simulation, XGBOOSTJOBS)[-1] == "Failed=True"


def test_an_evicted_pod_of_an_xgboostjob_is_deleted_and_the_job_failed() -> None:
    simulation = started(job("XGBoostJob", "OnFailure", {}, Master=1, Worker=1), 15)
    simulation.cluster.act("fail_pod", namespace="default", name="test-worker-0")
    simulation.run(10)
    assert conditions(simulation, XGBOOSTJOBS)[-1] == "Failed=True"
    assert "test-worker-0" not in simulation.pods()


def test_an_evicted_pod_of_a_pytorchjob_is_recreated_with_restart_count_0() -> None:
    simulation = started(job("PyTorchJob", "OnFailure", {}, Master=1, Worker=1), 15)
    simulation.cluster.act("fail_pod", namespace="default", name="test-worker-0")
    evicted = [line.object["status"] for line in simulation.lines if line.resource == "pods"][-1]
    assert (evicted["phase"], evicted["reason"]) == ("Failed", "Evicted")
    assert evicted["conditions"][0]["reason"] == "TerminationByKubelet"
    simulation.run(20)
    assert counted(simulation.lines)["worker", 0]["recreations"] == 1
    assert conditions(simulation, PYTORCHJOBS)[-1] == "Running=True"


def test_jax_is_done_when_every_worker_is() -> None:
    plan = {"worker-0": {"jax": {"after": 5}}, "worker-1": {"jax": {"after": 12}}}
    simulation = started(job("JAXJob", "Never", plan, Worker=2), 15)
    assert conditions(simulation, JAXJOBS)[-1] == "Running=True"
    simulation.run(10)
    assert conditions(simulation, JAXJOBS)[-2:] == ["Running=False", "Succeeded=True"]


def test_each_kind_tells_its_containers_who_they_are() -> None:
    jax = environment(started(job("JAXJob", "Never", {}, Worker=2), 5), "test-worker-1")
    assert (jax["COORDINATOR_ADDRESS"], jax["PROCESS_ID"], jax["NUM_PROCESSES"]) == ("test-worker-0", "1", "2")
    paddle = environment(started(job("PaddleJob", "Never", {}, Worker=2), 5), "test-worker-1")
    assert paddle["PADDLE_MASTER"] == "test-worker-0:36543"
    alone = environment(started(job("PyTorchJob", "Never", {}, Worker=2), 5), "test-worker-1")
    assert "RANK" not in alone
    ranked = environment(started(job("PyTorchJob", "Never", {}, Master=1, Worker=2), 5), "test-worker-1")
    assert (ranked["RANK"], ranked["WORLD_SIZE"]) == ("2", "3")


# MPI


def mpijob(policy: str = "OnFailure", **plan: Obj) -> Obj:
    """Without the gang, whose launcher never fits the recorded node."""
    delivery = {"kubectl-delivery": {"after": 1}}
    return job("MPIJob", policy, {**delivery, **plan}, Launcher=1, Worker=2)


def room() -> Obj:
    return {"nodes": (NodeSpec(storage="100Gi"),)}


def test_workers_come_before_the_launcher_which_has_no_index() -> None:
    simulation = started(mpijob(), 15, **room())
    assert simulation.conditions("test", resource=MPIJOBS) == ["Created=True", "Running=True"]
    assert sorted(simulation.pods()) == ["test-launcher", "test-worker-0", "test-worker-1"]
    launcher = simulation.pod("test-launcher")
    assert launcher is not None
    assert "training.kubeflow.org/replica-index" not in launcher["metadata"]["labels"]
    assert launcher["spec"]["initContainers"][0]["name"] == "kubectl-delivery"
    config = simulation.store.get(CONFIGMAPS, "default", "test-config")["data"]
    assert config["hostfile"] == "test-worker-0 slots=1\ntest-worker-1 slots=1\n"
    created = [line.name for line in simulation.lines if line.resource == "pods" and line.type == "ADDED"]
    assert created[-1] == "test-launcher"


def test_the_launchers_success_is_the_jobs() -> None:
    simulation = started(mpijob(launcher={"mpi": {"after": 5}}), 30, **room())
    assert simulation.conditions("test", resource=MPIJOBS)[-1] == "Succeeded=True"


def test_a_failed_worker_fails_the_job() -> None:
    simulation = started(mpijob("Never", **{"worker-0": {"mpi": {"after": 5, "code": 137}}}), 40, **room())
    assert counted(simulation.lines)["worker", 0]["incarnations"] == 1
    assert "Failed=True" in simulation.conditions("test", resource=MPIJOBS)


def test_under_exitcode_a_failed_worker_is_told_as_restarting_and_never_made_anew() -> None:
    """Beside a running launcher it shows or not, by Go's map order."""
    shown = set()
    for seed in range(1, 9):
        plan = {"worker-0": {"mpi": {"after": 5, "code": 137}}}
        simulation = started(mpijob("ExitCode", **plan), 40, seed=seed, **room())
        assert counted(simulation.lines)["worker", 0]["incarnations"] == 1
        shown.add(simulation.conditions("test", resource=MPIJOBS)[-1])
    assert shown == {"Restarting=True", "Running=True"}


@pytest.mark.parametrize(("policy", "incarnations", "fails"), [("ExitCode", 2, False), ("Never", 1, True)])
def test_a_deleted_worker_fails_the_job_unless_failures_are_restarts(
    policy: str, incarnations: int, fails: bool
) -> None:
    simulation = started(mpijob(policy), 15, **room())
    simulation.cluster.act("delete_pod", namespace="default", name="test-worker-1")
    simulation.run(20)
    assert counted(simulation.lines)["worker", 1]["incarnations"] == incarnations
    assert ("Failed=True" in simulation.conditions("test", resource=MPIJOBS)) is fails


def test_an_evicted_worker_fails_the_job_with_a_reason_of_its_own() -> None:
    simulation = started(mpijob("Never"), 15, **room())
    simulation.cluster.act("fail_pod", namespace="default", name="test-worker-1")
    simulation.run(10)
    failed = simulation.job("test", resource=MPIJOBS)["status"]["conditions"][-1]
    assert (failed["type"], failed["reason"], failed["message"]) == (
        "Failed",
        "MPIJobEvicted",
        "1/2 workers are evicted",
    )
