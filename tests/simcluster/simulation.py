"""A simulated cluster under a clock that the test drives, and how to read what a watcher of any cluster saw."""

import gzip
import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from simcluster.clock import ManualClock
from simcluster.cluster import Cluster
from simcluster.controllers.kubelet import NodeSpec
from simcluster.resources import (
    EVENTS,
    NODES,
    PODS,
    SCHEDULER_PODGROUPS,
    SERVICES,
    TFJOBS,
    TRAINING_JOBS,
    VOLCANO_JOBS,
    VOLCANO_PODGROUPS,
    Resource,
)
from simcluster.scenarios import SCENARIOS, Play

Obj = dict[str, Any]
RECORDINGS = Path(__file__).parents[1] / "data" / "recordings"
JOBS = tuple(resource.qualified for resource in (*TRAINING_JOBS, VOLCANO_JOBS))
MAIN_CONTAINERS = ("tensorflow", "pytorch", "mpi", "xgboost", "paddle", "jax")
PODGROUPS = "podgroups.scheduling.volcano.sh"
BOTH_PODGROUPS = (PODGROUPS, SCHEDULER_PODGROUPS.qualified)
_SEEN = (PODS, EVENTS, SERVICES, NODES, *TRAINING_JOBS, VOLCANO_JOBS, VOLCANO_PODGROUPS, SCHEDULER_PODGROUPS)


@dataclass(frozen=True)
class Line:
    """One watch line: when it was received (seconds), of which resource, and the object."""

    at: float
    resource: str
    type: str
    object: Obj = field(repr=False)

    @property
    def name(self) -> str:
        return str(self.object["metadata"]["name"])

    @property
    def uid(self) -> str:
        return str(self.object["metadata"]["uid"])

    @property
    def phase(self) -> str:
        return str((self.object.get("status") or {}).get("phase") or "")


class Simulation:
    def __init__(self, seed: int = 1, nodes: tuple[NodeSpec, ...] = (NodeSpec(),), **options: Any) -> None:
        self.clock = ManualClock()
        self.cluster = Cluster(self.clock, seed, nodes=nodes, **options)
        self.store = self.cluster.store
        self.lines: list[Line] = []
        self.store.subscribe(self._note)

    def _note(self, kind: str, resource: Resource, obj: Obj, old: Obj | None) -> None:
        if resource in _SEEN:
            self.lines.append(Line(self.clock.now(), resource.qualified, kind, obj))

    def run(self, seconds: float) -> None:
        self.clock.advance(seconds)

    def run_until(self, condition: Callable[[], object], at_most: float = 120.0) -> None:
        """Advances in small steps until the condition holds; fails the test when that takes too long."""
        end = self.clock.now() + at_most
        while not condition():
            assert self.clock.now() < end, f"not so within {at_most} s"
            self.clock.advance(0.05)

    def pod(self, name: str, namespace: str = "default") -> Obj | None:
        return self.store.find(PODS, namespace, name)

    def pods(self, namespace: str | None = None) -> list[str]:
        return [pod["metadata"]["name"] for pod in self.store.list(PODS, namespace)]

    def job(self, name: str = "tftest", namespace: str = "default", resource: Resource = TFJOBS) -> Obj:
        return self.store.get(resource, namespace, name)

    def conditions(self, name: str = "tftest", namespace: str = "default", resource: Resource = TFJOBS) -> list[str]:
        return conditions_of(self.job(name, namespace, resource))

    def podgroup(self, name: str = "tftest", namespace: str = "default") -> Obj | None:
        return self.store.find(VOLCANO_PODGROUPS, namespace, name)

    def events(self, kind: str, reason: str = "") -> list[Obj]:
        """The Events about objects of a kind as they stand, by reason."""
        return [
            event
            for event in self.store.list(EVENTS)
            if event["involvedObject"]["kind"] == kind and reason in ("", event["reason"])
        ]


def played(scenario: str, seed: int, busy: bool | None = None) -> Simulation:
    """A scenario from its start to its end, with an operator as busy as it was when it was recorded."""
    wanted = SCENARIOS[scenario]
    busy = wanted.busy if busy is None else busy
    simulation = Simulation(seed, wanted.nodes, gang_scheduler=wanted.gang_scheduler, busy=busy)
    simulation.run(1.0 + seed * 0.37)
    simulation.lines.clear()
    play = Play(simulation.cluster, wanted)
    simulation.run(wanted.seconds)
    assert play.is_over, f"{scenario}: not every act has come about"
    assert not play.errors, play.errors
    return simulation


def conditions_of(job: Obj) -> list[str]:
    """The conditions in order; of a Volcano Job its phase."""
    status = job.get("status") or {}
    if "state" in status:
        return [status["state"]["phase"]]
    return [f"{each['type']}={each['status']}" for each in status.get("conditions") or []]


def recorded(scenario: str) -> list[Line]:
    """A recording without its bookmarks."""
    lines = []
    with gzip.open(RECORDINGS / scenario / "watch.jsonl.gz", "rt") as file:
        for text in file:
            line = json.loads(text)
            if line["type"] != "BOOKMARK":
                line["object"]["metadata"].pop("managedFields", None)
                lines.append(Line(line["received_at"], line["resource"], line["type"], line["object"]))
    return lines


def truth(scenario: str) -> Obj:
    """What the audit log says of the scenario's only job."""
    (job,) = json.loads((RECORDINGS / scenario / "truth.json").read_text())["jobs"]
    return dict(job)


# Values that differ from run to run, and what stands for them.
VOLATILE = {
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}": "UID",
    r"\d{4}-\d\d-\d\dT[\d:]+Z": "TIME",
    r"containerd://[0-9a-f]{64}": "CONTAINER",
    r"kube-api-access-[a-z0-9]{5}": "VOLUME",
    r"10\.244\.\d+\.\d+": "ADDRESS",
    r'"resourceVersion": "\d+"': '"resourceVersion": "VERSION"',
    r"\.[0-9a-f]{16}\"": '.STAMP"',
}


def comparable(obj: Obj) -> Obj:
    """The object without what differs from run to run."""
    text = json.dumps(obj, sort_keys=True)
    for pattern, stand_in in VOLATILE.items():
        text = re.sub(pattern, stand_in, text)
    return dict(json.loads(text))


def collapsed(values: Iterable[Any]) -> list[Any]:
    """Without immediate repetitions."""
    found: list[Any] = []
    for value in values:
        if not found or found[-1] != value:
            found.append(value)
    return found


def of_jobs(lines: list[Line]) -> list[Line]:
    return [line for line in lines if line.resource in JOBS]


def condition_history(lines: list[Line]) -> list[list[str]]:
    """The job's conditions, one entry for each change of types, statuses or order."""
    return collapsed(conditions_of(line.object) for line in of_jobs(lines))


def replica_counts(line: Line) -> dict[str, dict[str, int]]:
    """replicaStatuses without selectors."""
    statuses = (line.object.get("status") or {}).get("replicaStatuses") or {}
    return {
        kind: {key: value for key, value in counts.items() if key != "selector"} for kind, counts in statuses.items()
    }


def podgroup_phases(lines: list[Line]) -> list[str]:
    return collapsed(line.phase for line in lines if line.resource in BOTH_PODGROUPS)


def pod_lives(lines: list[Line], name: str) -> list[list[Line]]:
    """The lines of each pod that bore the name, in order of creation."""
    lives: dict[str, list[Line]] = {}
    for line in lines:
        if line.resource == "pods" and line.name == name:
            lives.setdefault(line.uid, []).append(line)
    return list(lives.values())


def told(line: Line) -> str:
    """A pod's line in words: type, phase, conditions with their reasons, containers, deletion."""
    pod, status = line.object, line.object.get("status") or {}
    conditions = [
        f"{each['type']}={each['status']}{':' + each['reason'] if each.get('reason') else ''}"
        for each in status.get("conditions") or []
    ]
    containers = [
        _container_told(each)
        for each in [*(status.get("initContainerStatuses") or []), *(status.get("containerStatuses") or [])]
    ]
    words = [line.type, line.phase, *conditions, *containers]
    if "deletionTimestamp" in pod["metadata"]:
        words.append(f"deleting/{pod['metadata']['deletionGracePeriodSeconds']}")
    words.append("bound" if pod["spec"].get("nodeName") else "unbound")
    return " ".join(words)


def _container_told(status: Obj) -> str:
    (kind, detail), *_ = status["state"].items()
    last = (status["lastState"].get("terminated") or {}).get("exitCode")
    return (
        f"[{status['name']} {kind} {detail.get('reason', '')} {detail.get('exitCode', '')} rc={status['restartCount']} "
        f"ready={status['ready']} started={status['started']} last={last}]"
    )


def life_told(life: list[Line]) -> list[str]:
    """One pod's lines in words. The kubelet's late write that only empties status.resources is left out."""
    return collapsed(told(line) for line in life)


def first_at(life: list[Line], condition: Callable[[Line], bool]) -> float | None:
    return next((line.at for line in life if condition(line)), None)


def is_terminated(line: Line) -> bool:
    statuses = (line.object.get("status") or {}).get("containerStatuses") or []
    return bool(statuses) and all("terminated" in each["state"] for each in statuses)


def event_reasons(lines: list[Line]) -> dict[str, set[str]]:
    """The reasons of Events per object, as kind/name."""
    found: dict[str, set[str]] = {}
    for line in lines:
        if line.resource == "events":
            involved = line.object["involvedObject"]
            found.setdefault(f"{involved['kind']}/{involved['name']}", set()).add(line.object["reason"])
    return found


def replica_of(pod: Obj) -> tuple[str, int]:
    """Type (or a Volcano Job's task) and index; an MPI launcher has no index."""
    labels, prefix = pod["metadata"]["labels"], "training.kubeflow.org/replica-"
    if f"{prefix}type" in labels:
        return labels[f"{prefix}type"], int(labels.get(f"{prefix}index", 0))
    return labels["volcano.sh/task-spec"], int(labels["volcano.sh/task-index"])


def counted(lines: list[Line]) -> dict[tuple[str, int], Obj]:
    """Per replica what the truth counts: pods, in-place restarts of the main container, what kubectl shows on the
    last pod, exit codes."""
    pods: dict[tuple[str, int], dict[str, Obj]] = {}
    for line in lines:
        if line.resource != "pods":
            continue
        lives = pods.setdefault(replica_of(line.object), {})
        kept = lives.setdefault(line.uid, {"restarts": 0, "shown": 0, "exits": []})
        statuses = (line.object.get("status") or {}).get("containerStatuses") or []
        kept["shown"] = max(kept["shown"], sum(status["restartCount"] for status in statuses))
        for status in statuses:
            if status["name"] not in MAIN_CONTAINERS:
                continue
            kept["restarts"] = max(kept["restarts"], status["restartCount"])
            end = status["state"].get("terminated")
            if end and (end.get("containerID"), end["exitCode"]) not in kept["exits"]:
                kept["exits"].append((end.get("containerID"), end["exitCode"]))
    return {
        replica: {
            "incarnations": len(lives),
            "recreations": len(lives) - 1,
            "in_place_restarts": sum(each["restarts"] for each in lives.values()),
            "kubectl_restarts": list(lives.values())[-1]["shown"],
            "exits": [code for each in lives.values() for _, code in each["exits"]],
        }
        for replica, lives in pods.items()
    }
