"""The kubelet: restarts in place, back-off, deletion, init containers and sidecars. Virtual time."""

import json
from typing import Any

import pytest

from simcluster.controllers.kubelet import NodeSpec
from simcluster.controllers.plan import ANNOTATION
from simcluster.resources import NODES, PODS
from tests.simcluster.simulation import Line, Simulation, conditions_of, first_at, pod_lives, told

Obj = dict[str, Any]


def made(simulation: Simulation, plan: Obj, policy: str = "Never", name: str = "alone", **spec: Any) -> None:
    """Creates a bare pod with one container, main."""
    containers = spec.pop("containers", [{"name": "main", "image": "busybox"}])
    metadata = {"name": name, "annotations": {ANNOTATION: json.dumps(plan)}}
    full = {"containers": containers, "restartPolicy": policy, "terminationGracePeriodSeconds": 5, **spec}
    simulation.store.create(PODS, {"metadata": metadata, "spec": full}, "default")


def life(simulation: Simulation, name: str = "alone") -> list[Line]:
    return pod_lives(simulation.lines, name)[0]


def statuses(simulation: Simulation, name: str = "alone") -> list[Obj]:
    """The main container's status at each change of it."""
    found: list[Obj] = []
    for line in life(simulation, name):
        for status in line.object["status"].get("containerStatuses") or []:
            if status["name"] == "main" and (not found or found[-1] != status):
                found.append(status)
    return found


def ready_reason(line: Line) -> str | None:
    conditions = line.object["status"].get("conditions") or []
    return next((each.get("reason") for each in conditions if each["type"] == "Ready"), None)


def test_the_node_registers_with_the_recorded_capacity() -> None:
    simulation = Simulation()
    (node,) = simulation.store.list(NODES)
    assert node["metadata"]["name"] == "las1"
    assert node["status"]["capacity"]["cpu"] == "2"
    assert node["status"]["allocatable"]["memory"] == "24581692Ki"
    assert conditions_of(node)[-1] == "Ready=True"


def test_a_failure_shows_first_in_phase_running() -> None:
    simulation = Simulation()
    made(simulation, {"main": {"after": 3, "code": 7, "message": "no luck"}})
    simulation.run(20)
    first = next(line for line in life(simulation) if "terminated" in told(line))
    assert first.phase == "Running"
    assert ready_reason(first) == "PodFailed"
    end = first.object["status"]["containerStatuses"][0]["state"]["terminated"]
    assert (end["exitCode"], end["reason"], end["message"]) == (7, "Error", "no luck")
    failed = first_at(life(simulation), lambda line: line.phase == "Failed")
    assert failed is not None
    assert 0.9 <= failed - first.at <= 2.8


def test_exit_0_completes_the_pod() -> None:
    simulation = Simulation()
    made(simulation, {"main": {"after": 3}}, "OnFailure")
    simulation.run(20)
    first = next(line for line in life(simulation) if "terminated" in told(line))
    assert ready_reason(first) == "PodCompleted"
    assert life(simulation)[-1].phase == "Succeeded"


def test_restart_count_rises_only_when_the_new_container_runs() -> None:
    simulation = Simulation()
    made(simulation, {"main": [{"after": 3, "code": 1}, {"after": None}]}, "OnFailure")
    simulation.run(20)
    states = [(next(iter(each["state"])), each["restartCount"]) for each in statuses(simulation)]
    assert states == [("waiting", 0), ("running", 0), ("terminated", 0), ("running", 1)]
    last = statuses(simulation)[-1]
    assert last["lastState"]["terminated"]["exitCode"] == 1
    ended = next(line for line in life(simulation) if "terminated" in told(line))
    assert ready_reason(ended) == "ContainersNotReady"


def test_back_off_doubles_up_to_five_minutes_and_is_shown_when_it_is_over() -> None:
    simulation = Simulation()
    made(simulation, {"main": {"after": 1, "code": 1}}, "Always")
    simulation.run(1500)
    ends, waits = [], []
    for line in life(simulation):
        (status,) = line.object["status"].get("containerStatuses") or [{"state": {"waiting": {}}}]
        if "terminated" in status["state"]:
            ends.append(line.at)
        if status["state"].get("waiting", {}).get("reason") == "CrashLoopBackOff":
            waits.append((round(line.at - ends[-1]), status["state"]["waiting"]["message"].split(" restarting")[0]))
    assert [text for _, text in waits[:7]] == [
        f"back-off {each}" for each in ("10s", "20s", "40s", "1m20s", "2m40s", "5m0s", "5m0s")
    ]
    for (waited, _), back_off in zip(waits, (10, 20, 40, 80, 160, 300, 300), strict=False):
        assert back_off <= waited <= back_off + 4


def test_back_off_is_forgotten_after_a_long_run() -> None:
    simulation = Simulation()
    plan = {"main": [{"after": 1, "code": 1}, {"after": 1, "code": 1}, {"after": 700, "code": 1}, {"after": None}]}
    made(simulation, plan, "Always")
    simulation.run(800)
    assert [next(iter(each["state"])) for each in statuses(simulation)][-3:] == ["running", "terminated", "running"]
    assert statuses(simulation)[-1]["restartCount"] == 3


def test_a_deleted_pod_is_terminated_and_failed_in_one_write() -> None:
    simulation = Simulation()
    made(simulation, {"main": {"after": None, "term": 143}})
    simulation.run(10)
    simulation.cluster.delete_pod("default", "alone")
    simulation.run(10)
    marked = [line for line in life(simulation) if "deletionTimestamp" in line.object["metadata"]]
    assert "running" in told(marked[0])
    first_end = next(line for line in marked if "terminated" in told(line))
    assert first_end.phase == "Failed"
    assert statuses(simulation)[-1]["state"]["terminated"]["exitCode"] == 143
    assert life(simulation)[-1].type == "DELETED"
    assert simulation.pods() == []
    assert marked[-1].at - marked[0].at < 3


def test_a_container_that_ignores_sigterm_is_killed_when_the_grace_period_ends() -> None:
    simulation = Simulation()
    made(simulation, {"main": {"after": None, "term": None}})
    simulation.run(10)
    simulation.cluster.delete_pod("default", "alone")
    asked = simulation.clock.now()
    simulation.run(10)
    assert statuses(simulation)[-1]["state"]["terminated"]["exitCode"] == 137
    assert 5.0 <= life(simulation)[-1].at - asked <= 8.0


@pytest.mark.parametrize("late", [0.05, 0.2, 0.4, 0.8])
def test_a_container_that_ends_by_itself_while_being_deleted_keeps_its_code(late: float) -> None:
    simulation = Simulation()
    made(simulation, {"main": {"after": 3, "code": 5, "term": None}})
    simulation.run_until(lambda: "running" in told(life(simulation)[-1]))
    simulation.run(3 - late)
    simulation.cluster.delete_pod("default", "alone")
    simulation.run(10)
    assert statuses(simulation)[-1]["state"]["terminated"]["exitCode"] == 5
    assert simulation.pods() == []


@pytest.mark.parametrize("seconds", [0.1, 0.5, 1.2, 2.0, 2.5])
def test_a_pod_deleted_while_starting_ends_without_a_code_of_its_own(seconds: float) -> None:
    simulation = Simulation()
    made(simulation, {"main": {"after": None}})
    simulation.run(seconds)
    assert "running" not in told(life(simulation)[-1])
    is_starting = "PodReadyToStartContainers=True" in told(life(simulation)[-1])
    simulation.cluster.delete_pod("default", "alone")
    simulation.run(10)
    # What the runtime has begun to start is started and killed, before or after it has set up a handler.
    allowed = [(137, "Error"), (143, "Error")] if is_starting else [(137, "ContainerStatusUnknown")]
    end = statuses(simulation)[-1]["state"].get("terminated")
    assert end is None or (end["exitCode"], end["reason"]) in allowed
    assert end is None or is_starting or end["finishedAt"] is None
    assert simulation.pods() == []


def test_a_crash_looping_pod_keeps_its_last_code_when_deleted() -> None:
    simulation = Simulation()
    made(simulation, {"main": {"after": 1, "code": 3}}, "Always")
    simulation.run_until(lambda: statuses(simulation) and statuses(simulation)[-1]["restartCount"] == 2)
    simulation.run(3)
    simulation.cluster.delete_pod("default", "alone")
    simulation.run(10)
    assert statuses(simulation)[-1]["state"]["terminated"]["exitCode"] == 3
    assert statuses(simulation)[-1]["restartCount"] == 2


def test_grace_period_0_removes_the_pod_at_once() -> None:
    simulation = Simulation()
    made(simulation, {"main": {"after": None}})
    simulation.run(10)
    simulation.store.delete(PODS, "default", "alone", grace_seconds=0)
    assert simulation.pods() == []
    simulation.run(30)
    assert [line.type for line in life(simulation)[-2:]] == ["MODIFIED", "DELETED"]


def test_a_finalizer_holds_the_finished_pod() -> None:
    simulation = Simulation()
    made(simulation, {"main": {"after": None}})
    simulation.run(10)
    simulation.store.patch_merge(PODS, "default", "alone", {"metadata": {"finalizers": ["example.com/held"]}})
    simulation.cluster.delete_pod("default", "alone")
    simulation.run(30)
    pod = simulation.pod("alone")
    assert pod is not None
    assert pod["status"]["phase"] == "Failed"
    simulation.store.patch_merge(PODS, "default", "alone", {"metadata": {"finalizers": None}})
    assert simulation.pods() == []


def test_init_containers_run_one_after_the_other_before_the_main_one() -> None:
    simulation = Simulation()
    inits = [{"name": "first", "image": "busybox"}, {"name": "second", "image": "busybox"}]
    plan = {"first": {"after": 1}, "second": {"after": 1}, "main": {"after": None}}
    made(simulation, plan, initContainers=inits)
    simulation.run(20)
    seen = [
        tuple(next(iter(each["state"])) for each in line.object["status"].get("initContainerStatuses") or [])
        for line in life(simulation)
    ]
    order = [state for index, state in enumerate(seen) if state and (index == 0 or seen[index - 1] != state)]
    assert order == [
        ("waiting", "waiting"),
        ("running", "waiting"),
        ("terminated", "waiting"),
        ("terminated", "running"),
        ("terminated", "terminated"),
    ]
    assert life(simulation)[-1].phase == "Running"


def test_a_failed_init_container_fails_a_pod_that_never_restarts_and_shows_it_while_pending() -> None:
    simulation = Simulation()
    plan = {"first": {"after": 1, "code": 9}, "main": {"after": None}}
    made(simulation, plan, initContainers=[{"name": "first", "image": "busybox"}])
    simulation.run(20)
    ended = next(line for line in life(simulation) if "terminated Error 9" in told(line))
    assert ended.phase == "Pending"
    assert life(simulation)[-1].phase == "Failed"
    assert next(iter(statuses(simulation)[-1]["state"])) == "waiting"


def test_an_init_container_is_restarted_under_the_other_policies() -> None:
    simulation = Simulation()
    plan = {"first": [{"after": 1, "code": 9}, {"after": 1}], "main": {"after": None}}
    made(simulation, plan, "OnFailure", initContainers=[{"name": "first", "image": "busybox"}])
    simulation.run(30)
    status = life(simulation)[-1].object["status"]
    assert status["phase"] == "Running"
    assert status["initContainerStatuses"][0]["restartCount"] == 1


def test_a_failed_sidecar_leaves_the_pod_running_until_the_main_container_ends() -> None:
    simulation = Simulation()
    containers = [{"name": "main", "image": "busybox"}, {"name": "side", "image": "busybox"}]
    made(simulation, {"main": {"after": 10}, "side": {"after": 3, "code": 3}}, containers=containers)
    simulation.run(9)
    assert life(simulation)[-1].phase == "Running"
    assert ready_reason(life(simulation)[-1]) == "ContainersNotReady"
    simulation.run(20)
    assert life(simulation)[-1].phase == "Failed"
    assert statuses(simulation)[-1]["state"]["terminated"]["exitCode"] == 0


def test_a_plan_that_cannot_be_read_is_told_and_the_default_is_run() -> None:
    simulation = Simulation()
    metadata = {"name": "alone", "annotations": {ANNOTATION: "{"}}
    spec = {"containers": [{"name": "main", "image": "busybox"}], "restartPolicy": "Never"}
    simulation.store.create(PODS, {"metadata": metadata, "spec": spec}, "default")
    simulation.run(60)
    (event,) = simulation.events("Pod", "InvalidSimulationPlan")
    assert "no JSON" in event["message"]
    assert life(simulation)[-1].phase == "Succeeded"


@pytest.mark.parametrize(
    "spec",
    [
        {"containers": "x"},
        {"containers": [{"name": 5}]},
        {"containers": [{"name": "a", "resources": "x"}]},
        {"containers": [{"name": "a", "env": ["x"]}]},
        {"containers": [{"name": "a"}], "terminationGracePeriodSeconds": "x"},
        {},
    ],
)
def test_a_pod_that_cannot_be_read_never_runs_and_stops_nothing(spec: Obj) -> None:
    simulation = Simulation()
    simulation.store.create(PODS, {"metadata": {"name": "odd"}, "spec": {**spec, "nodeName": "las1"}}, "default")
    made(simulation, {"main": {"after": None}})
    simulation.run(10)
    assert life(simulation)[-1].phase == "Running"
    assert [event["involvedObject"]["name"] for event in simulation.events("Pod", "InvalidPod")] == ["odd"]
    simulation.cluster.delete_pod("default", "odd")
    simulation.run(40)
    assert simulation.pods() == ["alone"]


def test_each_node_runs_its_own_pods() -> None:
    nodes = (NodeSpec(), NodeSpec("las2", address="192.0.2.3"))
    simulation = Simulation(nodes=nodes)
    made(simulation, {"main": {"after": None}}, name="here", nodeName="las1")
    made(simulation, {"main": {"after": None}}, name="there", nodeName="las2")
    simulation.run(10)
    hosts = {pod["metadata"]["name"]: pod["status"]["hostIP"] for pod in simulation.store.list(PODS)}
    assert hosts == {"here": "192.0.2.2", "there": "192.0.2.3"}
    addresses = [pod["status"]["podIP"] for pod in simulation.store.list(PODS)]
    assert len(set(addresses)) == 2
