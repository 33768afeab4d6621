"""What no recording shows: the six kinds under every restart policy, and mishaps in combination, with what the
operator's code does (restart facts) as the expectation. Virtual time."""

import itertools
from typing import Any

import pytest

from simcluster import manifests
from simcluster.controllers.kubelet import NodeSpec
from simcluster.resources import TRAINING_JOBS, Resource
from tests.simcluster.simulation import Simulation, condition_history, counted, pod_lives

Obj = dict[str, Any]
FOREVER = {"after": None}
RESOURCES: dict[str, Resource] = {resource.kind: resource for resource in TRAINING_JOBS}
CONTAINERS = {
    "TFJob": "tensorflow",
    "PyTorchJob": "pytorch",
    "MPIJob": "mpi",
    "XGBoostJob": "xgboost",
    "PaddleJob": "paddle",
    "JAXJob": "jax",
}
KINDS = tuple(CONTAINERS)
LEADERS = {"MPIJob": "Launcher", "PyTorchJob": "Master", "XGBoostJob": "Master", "PaddleJob": "Master", "TFJob": "PS"}
POLICIES = ("Never", "OnFailure", "Always", "ExitCode")
ROOMY = NodeSpec(cpu="16", storage="100Gi")
SEEDS = (1, 2, 3)


class Case:
    """One job named `test` with a leader, where its kind has one, and workers; all run on, but for the plan."""

    def __init__(
        self,
        kind: str,
        policy: str,
        plan: Obj | None = None,
        *,
        seed: int = 1,
        workers: int = 2,
        leader: bool = True,
        nodes: tuple[NodeSpec, ...] = (ROOMY,),
        tolerated: int | None = None,
        **run_policy: Any,
    ) -> None:
        self.kind, self.container, self.resource = kind, CONTAINERS[kind], RESOURCES[kind]
        self.simulation = Simulation(seed, nodes)
        counts = {"Worker": workers}
        if leader and kind in LEADERS:
            counts = {LEADERS[kind]: 1, **counts}
        # MPI's launcher runs its init container first.
        runs = {self.container: FOREVER, "kubectl-delivery": {"after": 1}}
        for name, own in (plan or {}).items():
            runs[name] = {self.container: own} if "-" in name or name == "launcher" else own
        specs = {
            name: manifests.replica(self.container, ["train"], count, policy, plan=runs)
            for name, count in counts.items()
        }
        if tolerated is not None:
            for spec in specs.values():
                spec["template"]["spec"]["tolerations"] = [
                    {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute",
                     "tolerationSeconds": tolerated}
                ]  # fmt: skip
        self.simulation.cluster.apply(manifests.training_job(kind, "test", "default", specs, **run_policy))
        self.run(12)

    def run(self, seconds: float) -> "Case":
        self.simulation.run(seconds)
        return self

    def act(self, name: str, pod: str = "test-worker-1", **params: Any) -> None:
        self.simulation.cluster.act(name, namespace="default", name=pod, **params)

    def patch(self, **spec: Any) -> None:
        self.simulation.store.patch_merge(self.resource, "default", "test", {"spec": spec})

    def suspend(self, on: bool) -> None:
        self.patch(runPolicy={"suspend": on})

    @property
    def conditions(self) -> list[str]:
        return self.simulation.conditions("test", resource=self.resource)

    @property
    def ever(self) -> set[str]:
        """Every condition that the job ever had."""
        return set(itertools.chain.from_iterable(condition_history(self.simulation.lines)))

    def has_failed(self) -> bool:
        return "Failed=True" in self.conditions

    def replica(self, index: int = 0, of: str = "worker") -> Obj:
        return counted(self.simulation.lines)[of, index]


def failing(code: int, *, times: int = 1) -> Obj:
    return {"worker-0": [{"after": 8, "code": code}] * times + [FOREVER]}


# Restart facts 1: what a policy does


@pytest.mark.parametrize("code", [1, 137])
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_worker_that_exits(kind: str, policy: str, code: int) -> None:
    """In place under OnFailure and Always; anew under ExitCode from 128 on, but never an MPIJob's; else the end."""
    case = Case(kind, policy, failing(code)).run(40)
    in_place = policy in ("OnFailure", "Always")
    anew = policy == "ExitCode" and code >= 128 and kind != "MPIJob"
    assert case.replica()["in_place_restarts"] == in_place
    assert case.replica()["recreations"] == anew
    # Under ExitCode any failure of an MPIJob's pod is a restart in name, and nothing more.
    fails = policy == "Never" or (policy == "ExitCode" and code < 128 and kind != "MPIJob")
    assert case.has_failed() is fails
    if in_place:
        assert "Restarting=True" not in case.ever


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_worker_that_the_kubelet_evicts(kind: str, policy: str, seed: int) -> None:
    """Phase Failed without an exit of its own: deleted and made anew unless the policy is Never."""
    case = Case(kind, policy, seed=seed)
    case.act("fail_pod")
    case.run(30)
    if kind == "MPIJob":
        anew, fails = False, True  # MPIJobEvicted
    else:
        anew = policy != "Never"
        fails = policy == "Never" or (kind == "XGBoostJob" and policy != "ExitCode")
    assert case.has_failed() is fails
    if not fails:
        assert (case.replica(1)["recreations"], case.replica(1)["in_place_restarts"]) == (int(anew), 0)


@pytest.mark.parametrize("how", ["delete_pod", "evict", "preempt"])
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_running_worker_that_is_deleted(kind: str, policy: str, how: str) -> None:
    """Running with a deletionTimestamp counts as failed at once: the end for a TFJob, and for an XGBoostJob outside
    ExitCode; a restart for the others unless the policy is Never."""
    case = Case(kind, policy)
    case.act(how)
    case.run(40)
    if kind == "MPIJob":
        fails = policy != "ExitCode"
    else:
        fails = kind == "TFJob" or policy == "Never" or (kind == "XGBoostJob" and policy != "ExitCode")
    assert case.has_failed() is fails
    if not fails:
        assert case.replica(1)["recreations"] == 1


@pytest.mark.parametrize("kind", ["PyTorchJob", "PaddleJob", "JAXJob", "TFJob", "XGBoostJob"])
def test_an_exit_code_restarts_without_a_limit(kind: str) -> None:
    case = Case(kind, "ExitCode", failing(139, times=9), backoffLimit=1).run(90)
    assert case.replica()["recreations"] >= 5
    assert not case.has_failed()


# Several at once, leaders and parameter servers


@pytest.mark.parametrize("kind", ["TFJob", "PyTorchJob", "PaddleJob", "JAXJob", "XGBoostJob"])
@pytest.mark.parametrize("seed", SEEDS)
def test_several_workers_that_fail_at_once(kind: str, seed: int) -> None:
    plan = {f"worker-{index}": [{"after": 8, "code": 137}, FOREVER] for index in range(3)}
    case = Case(kind, "ExitCode", plan, workers=4, seed=seed).run(60)
    assert [case.replica(index)["recreations"] for index in range(4)] == [1, 1, 1, 0]
    assert case.conditions[-1] == "Running=True"
    assert "Restarting=True" in case.ever


@pytest.mark.parametrize("kind", ["PyTorchJob", "XGBoostJob", "PaddleJob"])
def test_a_master_that_fails_keeps_restarting_until_the_new_one_runs(kind: str) -> None:
    case = Case(kind, "ExitCode", {"master-0": [{"after": 8, "code": 130}, FOREVER]}).run(40)
    assert case.replica(of="master")["recreations"] == 1
    assert "Restarting=True" in case.ever
    assert case.conditions[-1] == "Running=True"


@pytest.mark.parametrize("kind", ["PyTorchJob", "XGBoostJob", "PaddleJob"])
def test_a_master_that_fails_for_good(kind: str) -> None:
    case = Case(kind, "ExitCode", {"master-0": {"after": 8, "code": 1}}).run(40)
    assert (case.replica(of="master")["recreations"], case.has_failed()) == (0, True)


@pytest.mark.parametrize(
    ("policy", "code", "restarts", "fails"),
    [("Never", 1, 0, True), ("OnFailure", 1, 1, False), ("ExitCode", 1, 0, False), ("ExitCode", 137, 0, False)],
)
def test_an_mpi_launcher_that_fails(policy: str, code: int, restarts: int, fails: bool) -> None:
    """Under ExitCode the job says Restarting for good, and nothing restarts."""
    case = Case("MPIJob", policy, {"launcher": [{"after": 8, "code": code}, FOREVER]}).run(60)
    launcher = case.replica(of="launcher")
    assert (launcher["in_place_restarts"], launcher["recreations"]) == (restarts, 0)
    assert case.has_failed() is fails
    if policy == "ExitCode":
        assert case.conditions[-1] == "Restarting=True"


@pytest.mark.parametrize("how", ["evict", "delete_pod", "preempt"])
def test_a_parameter_server_that_is_evicted_fails_the_job(how: str) -> None:
    case = Case("TFJob", "Always")
    case.act(how, "test-ps-0")
    case.run(30)
    assert case.has_failed()
    assert "Restarting=True" not in case.conditions


def test_a_parameter_servers_restart_never_shows_while_a_worker_runs() -> None:
    case = Case("TFJob", "ExitCode", {"ps-0": [{"after": 8, "code": 137}, FOREVER]}).run(40)
    assert case.replica(of="ps")["recreations"] == 1
    assert case.conditions[-1] == "Running=True"


@pytest.mark.parametrize(("code", "fails"), [(0, False), (1, True), (137, False)])
def test_an_evaluator_beside_a_chief(code: int, fails: bool) -> None:
    """The chief decides success; an evaluator that fails for good fails the job all the same."""
    specs = {
        name: manifests.replica("tensorflow", ["train"], 1, "ExitCode", plan=plan)
        for name, plan in {
            "Chief": {"tensorflow": {"after": 60}},
            "Worker": {"tensorflow": FOREVER},
            "Evaluator": {"tensorflow": [{"after": 6, "code": code}, FOREVER]},
        }.items()
    }
    simulation = Simulation(1, (ROOMY,))
    simulation.cluster.apply(manifests.tfjob("test", "default", specs))
    simulation.run(40)
    assert ("Failed=True" in simulation.conditions("test")) is fails
    assert counted(simulation.lines)["evaluator", 0]["recreations"] == (1 if code == 137 else 0)
    if not fails:
        simulation.run(50)
        assert simulation.conditions("test")[-1] == "Succeeded=True"
        pod = simulation.pod("test-worker-0")
        assert pod is not None
        assert pod["status"]["phase"] == "Running"


# Nodes


LOST = (NodeSpec("las1", cpu="500m", storage="100Gi"), NodeSpec("las2", "192.0.2.3", cpu="16", storage="100Gi"))


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "MPIJob"])
def test_a_lost_node_under_exitcode(kind: str) -> None:
    """The pods stay Terminating until the kubelet is back; then they come anew. A TFJob has failed of it."""
    fails = kind == "TFJob"
    case = Case(kind, "ExitCode", nodes=LOST, tolerated=10)
    on_lost = [pod for pod in case.simulation.pods() if _node(case, pod) == "las2"]
    assert on_lost
    case.simulation.cluster.act("lose_node", name="las2")
    case.run(90)
    assert all("deletionTimestamp" in (case.simulation.pod(name) or {})["metadata"] for name in on_lost)
    case.simulation.cluster.act("return_node", name="las2")
    case.run(60)
    assert case.has_failed() is fails
    lives = [len(pod_lives(case.simulation.lines, name)) for name in on_lost]
    assert lives == [1 if fails else 2] * len(on_lost)


def _node(case: Case, name: str) -> str:
    pod = case.simulation.pod(name)
    assert pod is not None
    return str(pod["spec"].get("nodeName") or "")


# Limits, time to live


@pytest.mark.parametrize("kind", ["TFJob", "PyTorchJob", "PaddleJob", "JAXJob", "XGBoostJob"])
def test_a_deadline_ends_a_job_that_keeps_restarting(kind: str) -> None:
    case = Case(kind, "ExitCode", failing(137, times=50), activeDeadlineSeconds=45).run(60)
    assert case.has_failed()
    assert case.replica()["recreations"] >= 2
    assert case.simulation.pods() == []
    before = case.replica()["incarnations"]
    case.run(60)
    assert case.replica()["incarnations"] == before


@pytest.mark.parametrize("policy", ["OnFailure", "Always"])
@pytest.mark.parametrize("kind", ["TFJob", "PyTorchJob", "PaddleJob", "JAXJob", "XGBoostJob"])
def test_backoff_limit_counts_containers_restarts(kind: str, policy: str) -> None:
    case = Case(kind, policy, failing(1, times=50), backoffLimit=2).run(120)
    assert (case.replica()["in_place_restarts"], case.replica()["recreations"]) == (2, 0)
    assert case.has_failed()


def test_backoff_limit_counts_init_containers_restarts() -> None:
    """The worker's init container fails until the limit; its main container never ran."""
    init = {"name": "prepare", "image": manifests.IMAGE, "command": ["prepare"]}
    plan = {"tensorflow": FOREVER, "prepare": [{"after": 1, "code": 1}, {"after": 1, "code": 1}, {"after": 1}]}
    worker = manifests.replica("tensorflow", ["train"], 1, "OnFailure", plan=plan)
    worker["template"]["spec"]["initContainers"] = [init]
    simulation = Simulation(1, (ROOMY,))
    simulation.cluster.apply(manifests.tfjob("test", "default", {"Worker": worker}, backoffLimit=2))
    simulation.run(90)
    assert "Failed=True" in simulation.conditions("test")
    assert counted(simulation.lines)["worker", 0]["in_place_restarts"] == 0


@pytest.mark.parametrize(("clean", "left"), [("None", 3), ("Running", 1), ("All", 0)])
@pytest.mark.parametrize("kind", ["TFJob", "PyTorchJob", "PaddleJob"])
def test_time_to_live_under_each_clean_pod_policy(kind: str, clean: str, left: int) -> None:
    leader = "worker-0" if kind == "TFJob" else "master-0"
    case = Case(kind, "Never", {leader: {"after": 8}}, cleanPodPolicy=clean, ttlSecondsAfterFinished=40).run(20)
    assert case.conditions[-1] == "Succeeded=True"
    assert len(case.simulation.pods()) == left
    case.run(45)
    assert case.simulation.store.find(case.resource, "default", "test") is None
    case.run(10)
    assert case.simulation.pods() == []


def test_a_failure_without_a_completion_time_never_expires() -> None:
    case = Case("PyTorchJob", "ExitCode", failing(1), ttlSecondsAfterFinished=5).run(60)
    assert case.has_failed()
    assert "completionTime" not in case.simulation.job("test", resource=case.resource)["status"]


# While it restarts


@pytest.mark.parametrize("kind", ["PyTorchJob", "PaddleJob", "JAXJob"])
@pytest.mark.parametrize("seed", SEEDS)
def test_scaling_up_while_a_worker_restarts(kind: str, seed: int) -> None:
    case = Case(kind, "ExitCode", failing(137, times=2), seed=seed)
    case.simulation.run_until(lambda: len(pod_lives(case.simulation.lines, "test-worker-0")) == 2)
    act = {"kind": kind, "namespace": "default", "name": "test"}
    case.simulation.cluster.act("scale", **act, replica_type="Worker", replicas=4)
    case.run(60)
    assert [case.replica(index)["recreations"] for index in range(4)] == [2, 0, 0, 0]
    assert case.conditions[-1] == "Running=True"


@pytest.mark.parametrize("kind", ["TFJob", "PyTorchJob", "PaddleJob", "JAXJob", "XGBoostJob"])
@pytest.mark.parametrize("seed", SEEDS)
def test_suspending_while_a_worker_restarts(kind: str, seed: int) -> None:
    """Every pod goes, then Suspended; the new pods of the resumed job are no restarts."""
    case = Case(kind, "ExitCode", failing(137, times=2), seed=seed)
    case.simulation.run_until(lambda: "Restarting=True" in case.conditions or case.replica()["incarnations"] == 2)
    case.suspend(True)
    case.run(20)
    assert case.conditions[-1] == "Suspended=True"
    assert case.simulation.pods() == []
    case.suspend(False)
    case.run(60)
    assert case.conditions[-1] == "Running=True"
    assert "Suspended=False" in case.conditions


# Starting


def test_an_init_container_that_fails_is_retried_for_ever_under_exitcode() -> None:
    worker = manifests.replica(
        "pytorch", ["train"], 1, "ExitCode", plan={"pytorch": FOREVER, "prepare": {"after": 1, "code": 1}}
    )
    worker["template"]["spec"]["initContainers"] = [{"name": "prepare", "image": manifests.IMAGE}]
    simulation = Simulation(1, (ROOMY,))
    simulation.cluster.apply(manifests.pytorchjob("test", "default", {"Worker": worker}, backoffLimit=1))
    simulation.run(60)
    assert counted(simulation.lines)["worker", 0]["recreations"] >= 4
    assert counted(simulation.lines)["worker", 0]["exits"] == []
    assert "Failed=True" not in simulation.conditions("test", resource=RESOURCES["PyTorchJob"])


@pytest.mark.parametrize("kind", KINDS)
def test_an_image_that_comes_in_the_end(kind: str) -> None:
    """No restart is counted while it cannot be pulled; then the job runs."""
    plan = {"worker-0": {"pull_error": "no route to host", "pulled_after": 20, "after": None}}
    case = Case(kind, "ExitCode", plan)
    pod = case.simulation.pod("test-worker-0")
    assert pod is not None
    reasons = {each["state"].get("waiting", {}).get("reason") for each in pod["status"]["containerStatuses"]}
    assert reasons <= {"ErrImagePull", "ImagePullBackOff"}
    case.run(60)
    assert case.conditions[-1] == "Running=True"
    assert (case.replica()["incarnations"], case.replica()["in_place_restarts"]) == (1, 0)
    pod = case.simulation.pod("test-worker-0")
    assert pod is not None
    assert pod["status"]["phase"] == "Running"


# Gangs


@pytest.mark.parametrize("kind", ["TFJob", "PyTorchJob", "PaddleJob", "JAXJob", "XGBoostJob"])
def test_a_gang_that_waits_starts_when_there_is_room(kind: str) -> None:
    first = Case(kind, "ExitCode", nodes=(NodeSpec(cpu="100m"),), workers=5 if kind == "JAXJob" else 4)
    specs = {"Worker": manifests.replica(CONTAINERS[kind], ["train"], 2, "ExitCode", plan={CONTAINERS[kind]: FOREVER})}
    first.simulation.cluster.apply(manifests.training_job(kind, "later", "default", specs))
    first.run(20)
    assert not [name for name in first.simulation.pods() if name.startswith("later")]
    assert first.simulation.conditions("later", resource=first.resource) == ["Created=True"]
    group = first.simulation.podgroup("later")
    assert group is not None
    assert group["status"]["phase"] == "Pending"
    first.simulation.cluster.act("delete_job", kind=kind, namespace="default", name="test")
    first.run(40)
    started = [name for name in first.simulation.pods() if name.startswith("later")]
    assert len(started) == 2
    # A TFJob, PyTorchJob, PaddleJob or JAXJob of workers alone runs; an XGBoostJob says so of its master only.
    if kind != "XGBoostJob":
        assert first.simulation.conditions("later", resource=first.resource)[-1] == "Running=True"
