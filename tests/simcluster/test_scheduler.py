"""Volcano's cycle: admission, gangs, phases and conditions of PodGroups; the default scheduler. Virtual time."""

from collections import Counter
from typing import Any

import pytest

from simcluster import manifests, scenario_manifests
from simcluster.controllers.coscheduling import next_status
from simcluster.controllers.kubelet import NodeSpec
from simcluster.controllers.podgroup import Gang
from simcluster.resources import NODES, PODS, TFJOBS, VOLCANO_PODGROUPS
from tests.simcluster.simulation import PODGROUPS, Simulation, condition_history, conditions_of, podgroup_phases

Obj = dict[str, Any]


def job(name: str, workers: int, cpu: str, seconds: int | None = None, **policy: Any) -> Obj:
    plan = {"tensorflow": {"after": seconds}}
    worker = manifests.replica("tensorflow", ["train"], workers, "ExitCode", cpu=cpu, plan=plan)
    return manifests.tfjob(name, "default", {"Worker": worker}, **policy)


def phase(simulation: Simulation, name: str) -> str:
    group = simulation.podgroup(name)
    return str((group or {}).get("status", {}).get("phase"))


# The rules of a cycle


@pytest.mark.parametrize(
    ("counts", "minimum", "bound", "current", "expected"),
    [
        ({}, 2, 0, "Inqueue", "Inqueue"),
        ({}, 2, 0, "Running", "Pending"),
        ({"Pending": 2}, 2, 2, "Inqueue", "Inqueue"),  # what is bound now does not count yet
        ({"Bound": 2}, 2, 0, "Inqueue", "Running"),
        ({"Running": 3, "Pending": 1}, 4, 1, "Running", "Pending"),
        ({"Running": 2}, 3, 0, "Running", "Unknown"),
        ({"Running": 2, "Failed": 1}, 3, 0, "Running", "Unknown"),
        ({"Running": 1, "Releasing": 1}, 2, 0, "Running", "Running"),
        ({"Releasing": 1}, 3, 0, "Running", "Pending"),
        ({"Failed": 1}, 1, 0, "Running", "Completed"),
        ({"Running": 1, "Succeeded": 3}, 4, 0, "Running", "Running"),
        ({"Succeeded": 4}, 4, 0, "Running", "Completed"),
        ({"Running": 3, "Failed": 1}, 2, 0, "Running", "Running"),  # minMember is met
    ],
)
def test_phase_of_a_cycle(counts: dict[str, int], minimum: int, bound: int, current: str, expected: str) -> None:
    assert Gang(Counter(counts), minimum, bound).phase(current) == expected


@pytest.mark.parametrize(
    ("counts", "minimum", "bound", "message"),
    [
        ({"Pending": 1}, 4, 0, "4/1 tasks in gang unschedulable: pod group is not ready, 1 Pending, 4 minAvailable; "
         "Pending: 1 Unschedulable"),
        ({"Running": 2}, 3, 0, "1/2 tasks in gang unschedulable: pod group is not ready, 2 Running, 3 minAvailable"),
        ({"Failed": 1}, 1, 0, "1/1 tasks in gang unschedulable: pod group is not ready, 1 Failed, 1 minAvailable"),
        ({"Releasing": 1}, 3, 0, "3/1 tasks in gang unschedulable: pod group is not ready, 1 Releasing, "
         "3 minAvailable"),
    ],
)  # fmt: skip
def test_texts_are_the_recorded_ones(counts: dict[str, int], minimum: int, bound: int, message: str) -> None:
    condition = Gang(Counter(counts), minimum, bound).condition()
    assert condition is not None
    assert condition["message"] == message


def test_the_binding_cycle_tells_that_the_group_is_ready() -> None:
    text = Gang(Counter({"Pending": 1, "Running": 3}), 4, 1).event_text()
    assert text == ("0/4 tasks in gang unschedulable: pod group is ready, 1 Binding, 3 Running, 4 minAvailable")


# On a cluster


def test_a_gang_that_does_not_fit_waits_and_is_told_each_second() -> None:
    simulation = Simulation()
    simulation.cluster.apply(job("big", 2, "1600m"))
    simulation.run(10)
    assert phase(simulation, "big") == "Pending"
    assert simulation.pods() == []
    told = {event["type"]: event for event in simulation.events("PodGroup", "Unschedulable")}
    assert told["Normal"]["message"] == "resource in cluster is overused: overused cpu"
    assert 9 <= told["Normal"]["count"] <= 11
    assert podgroup_phases(simulation.lines) == ["", "Pending"]


def test_a_waiting_gang_starts_when_another_has_ended() -> None:
    simulation = Simulation()
    simulation.cluster.apply(job("first", 2, "800m", 20))
    simulation.run(5)
    simulation.cluster.apply(job("second", 2, "800m", 20))
    simulation.run(10)
    assert phase(simulation, "second") == "Pending"
    simulation.run(40)
    assert conditions_of(simulation.job("first"))[-1] == "Succeeded=True"
    assert ["Created=True", "Running=True"] in condition_history(
        [line for line in simulation.lines if line.name == "second"]
    )


def test_a_gang_is_bound_whole_or_not_at_all() -> None:
    """Two gangs are admitted on credit (1.2 times what is there), but only one of them fits."""
    simulation = Simulation()
    simulation.cluster.apply(job("first", 2, "600m"))
    simulation.cluster.apply(job("second", 2, "600m"))
    simulation.run(20)
    bound = [pod["metadata"]["name"] for pod in simulation.store.list(PODS) if pod["spec"].get("nodeName")]
    assert len(bound) == 2
    assert len({name.split("-")[0] for name in bound}) == 1
    waiting = [pod for pod in simulation.store.list(PODS) if not pod["spec"].get("nodeName")]
    assert len(waiting) == 2
    conditions = [condition for pod in waiting for condition in pod["status"]["conditions"]]
    assert {(each["type"], each["status"]) for each in conditions} == {("PodScheduled", "False")}
    assert sorted(each["reason"] for each in conditions) == ["Schedulable", "Unschedulable"]


def test_pods_of_an_admitted_gang_that_fits_no_more_are_told_so_once() -> None:
    simulation = Simulation()
    simulation.cluster.apply(job("cordoned", 2, "100m"))
    simulation.run_until(lambda: phase(simulation, "cordoned") == "Inqueue")
    simulation.store.patch_merge(NODES, None, "las1", {"spec": {"unschedulable": True}})
    simulation.run(10)
    assert simulation.pods() == ["cordoned-worker-0", "cordoned-worker-1"]
    assert not any(pod["spec"].get("nodeName") for pod in simulation.store.list(PODS))
    told = simulation.events("Pod", "FailedScheduling")
    assert sorted((event["involvedObject"]["name"], event["count"]) for event in told) == [
        ("cordoned-worker-0", 1),
        ("cordoned-worker-1", 1),
    ]
    simulation.store.patch_merge(NODES, None, "las1", {"spec": {"unschedulable": None}})
    simulation.run(10)
    assert conditions_of(simulation.job("cordoned"))[-1] == "Running=True"


def test_a_gang_that_runs_again_after_some_have_completed_takes_no_room_from_others() -> None:
    """Its promise ends when nothing of it waits any more, though fewer than minMember are running."""
    simulation = Simulation()
    plan = {
        "worker-0": {"tensorflow": [{"after": 20, "code": 138}, {"after": None}]},
        "tensorflow": {"after": 5},
    }
    worker = manifests.replica("tensorflow", ["train"], 3, "ExitCode", cpu="500m", plan=plan)
    simulation.cluster.apply(manifests.tfjob("first", "default", {"Worker": worker}))
    simulation.run(45)
    assert simulation.pod("first-worker-0")["status"]["phase"] == "Running"  # type: ignore[index]
    simulation.cluster.apply(job("second", 3, "500m"))
    simulation.run(10)
    assert conditions_of(simulation.job("second"))[-1] == "Running=True"


def test_min_available_lets_a_part_of_the_gang_start() -> None:
    simulation = Simulation()
    policy = {"minAvailable": 2, "minResources": {"cpu": "1200m"}}
    simulation.cluster.apply(job("part", 4, "600m", schedulingPolicy=policy))
    simulation.run(20)
    running = [pod for pod in simulation.store.list(PODS) if pod["status"]["phase"] == "Running"]
    assert len(running) == 3
    assert phase(simulation, "part") == "Running"


def test_nothing_is_written_while_nothing_changes() -> None:
    simulation = Simulation()
    simulation.cluster.apply(job("calm", 2, "20m"))
    simulation.run(15)
    before = simulation.store.resource_version
    simulation.run(300)
    assert simulation.store.resource_version == before


def test_running_counts_are_left_out_when_0() -> None:
    simulation = Simulation()
    simulation.cluster.apply(job("calm", 2, "20m"))
    simulation.run(15)
    statuses = [line.object["status"] for line in simulation.lines if line.resource == PODGROUPS]
    assert {"phase": "Inqueue"} in statuses
    assert statuses[-1]["running"] == 2
    assert not any("failed" in status or "succeeded" in status for status in statuses)


def test_a_podgroup_of_somebody_elses_is_admitted_as_well() -> None:
    simulation = Simulation()
    spec = {"minMember": 1, "minResources": {"cpu": "1"}, "queue": "default"}
    simulation.store.create(VOLCANO_PODGROUPS, {"metadata": {"name": "own"}, "spec": spec, "status": {}}, "default")
    simulation.run(3)
    assert phase(simulation, "own") == "Inqueue"


def test_pods_of_a_job_without_gang_scheduling_are_bound_one_by_one() -> None:
    simulation = Simulation(gang_scheduler="")
    simulation.cluster.apply(job("plain", 2, "20m"))
    simulation.run(1)
    assert {pod["spec"].get("nodeName") for pod in simulation.store.list(PODS)} == {"las1"}
    assert simulation.podgroup("plain") is None
    assert simulation.events("Pod", "Scheduled")[0]["reportingComponent"] == "default-scheduler"
    assert "scheduling.k8s.io/group-name" not in simulation.store.list(PODS)[0]["metadata"].get("annotations", {})


def test_a_pod_that_fits_nowhere_is_tried_again() -> None:
    simulation = Simulation(gang_scheduler="")
    simulation.cluster.apply(job("first", 1, "1500m", 10))
    simulation.run(1)
    simulation.cluster.apply(job("second", 1, "1500m", 10))
    simulation.run(5)
    assert conditions_of(simulation.job("second")) == ["Created=True"]
    assert len(simulation.events("Pod", "FailedScheduling")) == 1
    simulation.run(25)
    assert conditions_of(simulation.job("second"))[-1] == "Succeeded=True"


def test_pods_spread_over_the_nodes() -> None:
    simulation = Simulation(nodes=(NodeSpec(), NodeSpec("las2", address="192.0.2.3")))
    simulation.cluster.apply(job("wide", 4, "900m"))
    simulation.run(10)
    nodes = Counter(pod["spec"].get("nodeName") for pod in simulation.store.list(PODS))
    assert nodes == {"las1": 2, "las2": 2}
    assert conditions_of(simulation.store.get(TFJOBS, "default", "wide"))[-1] == "Running=True"


# Nodes, priorities, preemption


def prioritised(name: str, priority: str, workers: int, minimum: int, cpu: str = "900m") -> Obj:
    worker = manifests.replica(
        "tensorflow", ["train"], workers, "ExitCode", cpu=cpu, plan={"tensorflow": {"after": None}}
    )
    worker["template"]["spec"]["priorityClassName"] = priority
    policy = {"minAvailable": minimum, "priorityClass": priority}
    return manifests.tfjob(name, "default", {"Worker": worker}, schedulingPolicy=policy)


def bound(simulation: Simulation) -> list[str]:
    return sorted(pod["metadata"]["name"] for pod in simulation.store.list(PODS) if pod["spec"].get("nodeName"))


def with_classes() -> Simulation:
    """Two nodes: a third of the gangs may be admitted beyond what is there."""
    simulation = Simulation(nodes=(NodeSpec(), NodeSpec("las2")))
    for name, value in (("low", 10), ("high", 1000)):
        simulation.cluster.apply(scenario_manifests.priority_class(name, value))
    return simulation


def test_pods_of_lower_priority_give_way() -> None:
    simulation = with_classes()
    simulation.cluster.apply(prioritised("low", "low", 4, 1))
    simulation.run(8)
    assert len(bound(simulation)) == 4
    simulation.cluster.apply(prioritised("urgent", "high", 1, 1))
    simulation.run(10)
    assert "urgent-worker-0" in bound(simulation)
    (evicted,) = simulation.events("Pod", "Evict")
    assert evicted["message"] == "Pod is evicted, because of preempt"


def test_a_gang_that_would_break_gives_nobody_up() -> None:
    simulation = with_classes()
    simulation.cluster.apply(prioritised("low", "low", 4, 4))
    simulation.run(8)
    simulation.cluster.apply(prioritised("urgent", "high", 1, 1))
    simulation.run(10)
    assert len([name for name in bound(simulation) if name.startswith("low")]) == 4
    assert simulation.events("Pod", "Evict") == []


def test_nobody_gives_way_to_equals() -> None:
    simulation = with_classes()
    simulation.cluster.apply(prioritised("first", "low", 4, 1))
    simulation.run(8)
    simulation.cluster.apply(prioritised("second", "low", 1, 1))
    simulation.run(10)
    assert all(name.startswith("first") for name in bound(simulation))


def test_a_refused_pod_is_told_why_node_by_node() -> None:
    simulation = Simulation(nodes=(NodeSpec(), NodeSpec("las2")))
    manifest = prioritised("picky", "", 2, 1)
    spec = manifest["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]
    spec["nodeSelector"] = {"kubernetes.io/hostname": "las1"}
    spec["containers"][0]["resources"]["limits"]["cpu"] = "1500m"
    simulation.cluster.apply(manifest)
    simulation.run(6)
    (event,) = simulation.events("Pod", "FailedScheduling")
    selector = "node(s) didn't match Pod's node affinity/selector"
    assert event["message"] == f"0/2 nodes are unavailable: 1 Insufficient cpu, 1 {selector}."


def test_tainted_nodes_take_only_pods_that_tolerate_it() -> None:
    simulation = Simulation()
    taint = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}
    simulation.store.patch_merge(NODES, None, "las1", {"spec": {"taints": [taint]}})
    simulation.cluster.apply(job("plain", 1, "20m"))
    tolerant = job("tolerant", 1, "20m")
    spec = tolerant["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]
    spec["tolerations"] = [{"key": "gpu", "operator": "Equal", "value": "yes", "effect": "NoSchedule"}]
    simulation.cluster.apply(tolerant)
    simulation.run(6)
    assert bound(simulation) == ["tolerant-worker-0"]


def test_a_pod_group_of_scheduler_plugins_waits_until_it_fits_whole() -> None:
    simulation = Simulation(gang_scheduler="scheduler-plugins")
    simulation.cluster.apply(job("first", 2, "700m", 20))
    simulation.run(5)
    simulation.cluster.apply(job("second", 2, "500m", 20))
    simulation.run(10)
    assert bound(simulation) == ["first-worker-0", "first-worker-1"]
    simulation.run(40)
    assert {"second-worker-0", "second-worker-1"} <= set(bound(simulation))


def status(phase: str, **counts: int) -> Obj:
    return {"phase": phase, **counts}


@pytest.mark.parametrize(
    ("before", "pods", "after"),
    [
        ({}, [], status("Pending")),
        (status("Pending"), ["Pending"], status("Pending")),
        (status("Pending"), ["Pending", "Pending"], status("Scheduling")),
        (status("Scheduling"), ["Running", "Pending"], status("Scheduling", running=1)),
        (status("Scheduling"), ["Running", "Running"], status("Running", running=2)),
        (status("Running"), ["Running", "Failed"], status("Failed", running=1, failed=1)),
        (status("Running"), ["Running"], status("Pending", running=1)),
        (status("Running"), ["Succeeded", "Succeeded"], status("Finished", succeeded=2)),
        (status("Failed", failed=1), ["Running", "Running"], status("Failed", failed=1)),
        (status("Finished"), ["Running"], status("Finished")),
    ],
)
def test_scheduler_plugins_groups_go_from_phase_to_phase(before: Obj, pods: list[str], after: Obj) -> None:
    made = [{"metadata": {"name": "p", "namespace": "n"}, "status": {"phase": phase}} for phase in pods]
    assert next_status(before, made, 2) == after
