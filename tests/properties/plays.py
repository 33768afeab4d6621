"""Jobs and mishaps drawn at random, run on the simulated cluster, as the lines a watcher would read and the truth."""

import json
import random
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from jobs.ingest.decode import decode_recorded, understands
from simcluster.clock import ManualClock
from simcluster.cluster import Cluster
from simcluster.controllers.kubelet import NodeSpec
from simcluster.controllers.podgroup import COSCHEDULING, VOLCANO
from simcluster.errors import ApiError
from simcluster.manifests import by_pod, replica, shell, sleeping, training_job
from simcluster.resources import (
    EVENTS,
    PODS,
    SCHEDULER_PODGROUPS,
    TRAINING_JOBS,
    VOLCANO_JOBS,
    VOLCANO_PODGROUPS,
    Resource,
)
from simcluster.scenarios import SCENARIOS
from simcluster.truth import TruthLog
from tests.properties.causes_of_truth import CausesOfTruth
from tests.properties.recorded import Line, key_of

Json = dict[str, Any]

NAMESPACE = "play"
SECONDS = 150.0
TYPES = {
    "TFJob": ("PS", "Worker", "Chief", "Evaluator"),
    "PyTorchJob": ("Master", "Worker"),
    "MPIJob": ("Launcher", "Worker"),
    "XGBoostJob": ("Master", "Worker"),
    "PaddleJob": ("Master", "Worker"),
    "JAXJob": ("Worker",),
}
CONTAINERS = {
    "TFJob": "tensorflow",
    "PyTorchJob": "pytorch",
    "MPIJob": "mpi",
    "XGBoostJob": "xgboost",
    "PaddleJob": "paddle",
    "JAXJob": "jax",
}
POLICIES = ("ExitCode", "ExitCode", "ExitCode", "OnFailure", "Always", "Never")
CODES = (0, 1, 2, 126, 127, 128, 129, 130, 134, 137, 138, 139, 143, 255)
WATCHED = (PODS, EVENTS, *TRAINING_JOBS, VOLCANO_JOBS, VOLCANO_PODGROUPS, SCHEDULER_PODGROUPS)


class Played(NamedTuple):
    """What a watcher reads of a play, what really happened, and what was done (for whoever looks at a difference)."""

    lines: tuple[Line, ...]
    truth: Json
    story: tuple[str, ...]
    recording: tuple[str, ...]  # the same and more, as a recording's lines
    causes: CausesOfTruth


class Tape:
    """What happens on a cluster, from its beginning: the lines a watcher would read, and the truth."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._truth = TruthLog(cluster.store)
        self._causes = CausesOfTruth(cluster.store)
        self._texts: list[tuple[str, str]] = []
        cluster.store.subscribe(self._note)

    def played(self, story: Sequence[str]) -> Played:
        lines = tuple(line for line in map(self._line, self._texts) if line is not None)
        recording = tuple(text for _, text in self._texts)
        return Played(lines, self._truth.told(), tuple(story), recording, self._causes)

    def _note(self, kind: str, resource: Resource, obj: Json, _old: Json | None) -> None:
        if resource in WATCHED:
            now = self._cluster.clock.now()
            line = {"received_at": now, "resource": resource.qualified, "type": kind, "object": obj}
            self._texts.append((resource.qualified, json.dumps(line)))

    @staticmethod
    def _line(text: tuple[str, str]) -> Line | None:
        resource, line = text
        recorded = decode_recorded(line.encode())
        if recorded.event is None or not understands(resource):
            return None
        key = key_of(resource, recorded.event)
        return Line(recorded.received_at, key, recorded.event) if key is not None else None


def performed(name: str, seed: int) -> Played:
    """A named scenario, from its first act to its end."""
    scenario, clock = SCENARIOS[name], ManualClock()
    cluster = Cluster(clock, seed, nodes=(), gang_scheduler=scenario.gang_scheduler, busy=scenario.busy)
    tape = Tape(cluster)
    cluster.play(name)
    clock.advance(scenario.seconds)
    return tape.played((name,))


class Play:
    """One run: two jobs at most at a time, and something happening to them every few seconds."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)
        scheduler = self._rng.choice((VOLCANO, VOLCANO, COSCHEDULING, ""))
        self._clock = ManualClock()
        self._cluster = Cluster(
            self._clock,
            seed,
            nodes=(NodeSpec(), NodeSpec("las2")),
            namespaces=(NAMESPACE,),
            gang_scheduler=scheduler,
            busy=self._rng.random() < 0.3,
        )
        self._tape = Tape(self._cluster)
        self._jobs: list[Json] = []
        self.story = [f"gangs by {scheduler or 'nobody'}"]

    def run(self, acts: int) -> Played:
        self._clock.advance(1.0)
        self._create()
        for _ in range(acts):
            self._clock.advance(self._rng.uniform(0.0, 2 * SECONDS / (acts + 1)))
            self._act()
        self._clock.advance(20.0)
        return self._tape.played(self.story)

    # What is run

    def _create(self) -> None:
        name = f"job{len({job['metadata']['name'] for job in self._jobs})}"
        self._apply(self._volcano_job(name) if self._rng.random() < 0.15 else self._training_job(name))

    def _volcano_job(self, name: str) -> Json:
        tasks = []
        for task in ("main", "aside")[: self._rng.choice((1, 1, 2))]:
            pods = self._rng.choice((1, 2, 3))
            template = self._replica("main", task)["template"]
            template["spec"]["restartPolicy"] = self._rng.choice(("Never", "Never", "OnFailure"))
            tasks.append({"name": task, "replicas": pods, "minAvailable": pods, "template": template})
        action = self._rng.choice(
            ("RestartJob", "RestartTask", "RestartPod", "AbortJob", "TerminateJob", "CompleteJob")
        )
        event = self._rng.choice(("PodFailed", "PodEvicted", "*", "TaskCompleted"))
        spec: Json = {
            "schedulerName": "volcano",
            "queue": "default",
            "minAvailable": sum(task["replicas"] for task in tasks),
            "maxRetry": self._rng.choice((1, 3, 5)),
            "policies": [{"action": action, "event": event}],
            "tasks": tasks,
        }
        metadata = {"name": name, "namespace": NAMESPACE}
        return {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": metadata, "spec": spec}

    def _training_job(self, name: str) -> Json:
        kind = self._rng.choice(tuple(TYPES))
        types = [each for each in TYPES[kind] if each in ("Worker", "Master") or self._rng.random() < 0.6]
        replicas = {each: self._replica(CONTAINERS[kind], each) for each in types}
        policy: Json = {}
        if self._rng.random() < 0.5:
            policy["backoffLimit"] = self._rng.choice((0, 1, 3, 6))
        if self._rng.random() < 0.1:
            policy["activeDeadlineSeconds"] = self._rng.choice((20, 60))
        if self._rng.random() < 0.3:
            policy["cleanPodPolicy"] = self._rng.choice(("All", "None", "Running"))
        if self._rng.random() < 0.15:
            policy["ttlSecondsAfterFinished"] = self._rng.choice((0, 10))
        return training_job(kind, name, NAMESPACE, replicas, **policy)

    def _replica(self, container: str, replica_type: str) -> Json:
        count = 1 if replica_type in ("Master", "Launcher", "Chief") else self._rng.choice((1, 2, 3, 4))
        ends = f"{sleeping(self._rng.choice((0, 1, 4, 9, 25)))}; exit {self._rng.choice(CODES)}"
        lasts = sleeping(self._rng.choice((20, 60, 300)))
        which = self._rng.choice((f"*-{replica_type.lower()}-0", f"*-{replica_type.lower()}-1", "*", "nothing"))
        command = shell(by_pod(which, ends, lasts))
        made = replica(container, command, count, self._rng.choice(POLICIES))
        spec = made["template"]["spec"]
        if self._rng.random() < 0.15:
            spec["containers"].insert(self._rng.choice((0, 1)), self._helper("metrics", (3, 8, 20)))
        if self._rng.random() < 0.15:
            spec["initContainers"] = [self._helper("fetch-data", (0, 1, 3))]
        if self._rng.random() < 0.05:
            spec["containers"][-1]["command"] = ["/no/such/program"]
        return made

    def _helper(self, name: str, seconds: tuple[int, ...]) -> Json:
        """A container beside the main one, or before it, that may fail."""
        code = self._rng.choice((0, 0, 1, 7, 137))
        command = ["sh", "-c", f"{sleeping(self._rng.choice(seconds))}; exit {code}"]
        return {"name": name, "image": "busybox:latest", "imagePullPolicy": "IfNotPresent", "command": command}

    def _apply(self, manifest: Json) -> None:
        self.story.append(f"{self._clock.now():.2f} create {json.dumps(manifest['spec'])}")
        self._jobs.append(manifest)
        self._cluster.apply(manifest)

    # What happens

    def _act(self) -> None:
        acts: tuple[Callable[[], None], ...] = (
            *(3 * (self._delete_pod,)),
            self._evict,
            self._preempt,
            self._fail_pod,
            self._suspend,
            self._resume,
            self._scale,
            self._delete_job,
            self._create_again,
            self._lose_node,
            self._return_node,
            self._hold_pod,
            self._release_pod,
            self._create,
        )
        act = self._rng.choice(acts)
        try:
            act()
        except (ApiError, ValueError) as error:
            self.story.append(f"{self._clock.now():.2f} {act.__name__}: refused: {error}")

    def _do(self, act: str, **params: Any) -> None:
        self.story.append(f"{self._clock.now():.2f} {act} {params}")
        self._cluster.act(act, **params)

    def _pod(self) -> Json:
        pods = [pod["metadata"]["name"] for pod in self._cluster.store.list(PODS, NAMESPACE)]
        if not pods:
            raise ValueError("no pod")
        return {"namespace": NAMESPACE, "name": self._rng.choice(pods)}

    def _job(self) -> Json:
        job = self._rng.choice(self._jobs)
        return {"kind": job["kind"], "namespace": NAMESPACE, "name": job["metadata"]["name"]}

    def _delete_pod(self) -> None:
        grace = self._rng.choice((None, None, 0))
        self._do("delete_pod", **self._pod(), grace_seconds=grace)

    def _evict(self) -> None:
        self._do("evict", **self._pod())

    def _preempt(self) -> None:
        self._do("preempt", **self._pod())

    def _fail_pod(self) -> None:
        self._do("fail_pod", **self._pod())

    def _hold_pod(self) -> None:
        self._do("hold_pod", **self._pod())

    def _release_pod(self) -> None:
        self._do("release_pod", **self._pod())

    def _suspend(self) -> None:
        self._do("suspend", **self._job())
        if self._rng.random() < 0.7:
            self._clock.advance(self._rng.uniform(0.0, 15.0))
            self._do("resume", **self._job())

    def _resume(self) -> None:
        self._do("resume", **self._job())

    def _scale(self) -> None:
        job = self._rng.choice(self._jobs)
        field = next((key for key in job["spec"] if key.endswith("ReplicaSpecs")), None)
        types = sorted(job["spec"][field]) if field else [task["name"] for task in job["spec"]["tasks"]]
        replica_type = self._rng.choice(types)
        place = {"kind": job["kind"], "namespace": NAMESPACE, "name": job["metadata"]["name"]}
        self._do("scale", **place, replica_type=replica_type, replicas=self._rng.choice((0, 1, 2, 4)))

    def _delete_job(self) -> None:
        self._do("delete_job", **self._job())

    def _create_again(self) -> None:
        manifest = self._rng.choice(self._jobs)
        if self._rng.random() < 0.5:
            self._do("delete_job", kind=manifest["kind"], namespace=NAMESPACE, name=manifest["metadata"]["name"])
            self._clock.advance(self._rng.choice((0.01, 0.3, 2.0)))
        self._apply(manifest)

    def _lose_node(self) -> None:
        self._do("lose_node", name="las2")

    def _return_node(self) -> None:
        self._do("return_node", name="las2")
