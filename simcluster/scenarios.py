"""Named scenarios: the recorded ones, as manifests and timed acts, to be played on any cluster.

An act happens some seconds after a moment: after the act before it (for the first: after the scenario's start), or
after a pod of a given name, the n-th of that name, has come to be in a phase.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from simcluster import manifests, scenario_manifests
from simcluster.controllers.kubelet import NodeSpec
from simcluster.controllers.podgroup import COSCHEDULING, VOLCANO
from simcluster.errors import ApiError
from simcluster.manifests import lasting_pytorchjob
from simcluster.resources import PODS, Resource

if TYPE_CHECKING:
    from simcluster.cluster import Cluster

Obj = dict[str, Any]

_SANDBOX = "PodReadyToStartContainers"
ONE_NODE = (NodeSpec(),)
TWO_NODES = (NodeSpec(), NodeSpec("las2"))


@dataclass(frozen=True)
class Moment:
    """When the `number`-th pod of a name is first in a phase: Created, Starting (its sandbox is there), Running,
    Succeeded, Failed or Deleted."""

    pod: str
    number: int = 1
    phase: str = "Created"


@dataclass(frozen=True)
class Act:
    """One of the acts of controllers.acts, `after` seconds later than `since` (None: the act before this one)."""

    name: str
    params: Obj = field(default_factory=dict)
    after: float = 0.0
    since: Moment | None = None


@dataclass(frozen=True)
class Scenario:
    """`first` is applied at the start, in order. `seconds`: how long it takes until everything has happened.
    `busy`: it was recorded while the operator had many other jobs to look after."""

    first: Callable[[], list[Obj]]
    seconds: float
    acts: tuple[Act, ...] = ()
    nodes: tuple[NodeSpec, ...] = ONE_NODE
    gang_scheduler: str = VOLCANO
    busy: bool = False


class Play:
    """A scenario on a cluster, from now on. Its acts come in order, each once its moment has come."""

    def __init__(self, cluster: "Cluster", scenario: Scenario) -> None:
        """Applies the manifests. Raises ApiError."""
        self._cluster, self._scenario = cluster, scenario
        self._uids: dict[str, list[str]] = {}
        self._seen: set[Moment] = set()
        self._next = 0
        self._is_due = False
        self.errors: list[str] = []
        manifests = scenario.first()
        # Others that are played beside it may have pods of the same names.
        self._namespaces = {manifest["metadata"].get("namespace", "default") for manifest in manifests}
        self._unsubscribe = cluster.store.subscribe(self._on_change)
        self.applied = [cluster.apply(manifest) for manifest in manifests]
        self._look()

    @property
    def is_over(self) -> bool:
        """Whether every act has been done."""
        return self._next >= len(self._scenario.acts)

    def stop(self) -> None:
        self._unsubscribe()
        self._next = len(self._scenario.acts)

    def _on_change(self, change: str, resource: Resource, obj: Obj, _old: Obj | None) -> None:
        if resource is not PODS or self.is_over or obj["metadata"].get("namespace") not in self._namespaces:
            return
        name, uid = obj["metadata"]["name"], obj["metadata"]["uid"]
        uids = self._uids.setdefault(name, [])
        if uid not in uids:
            uids.append(uid)
        number = uids.index(uid) + 1
        phase = "Deleted" if change == "DELETED" else str((obj.get("status") or {}).get("phase") or "")
        self._seen |= {Moment(name, number, "Created"), Moment(name, number, phase)}
        conditions = (obj.get("status") or {}).get("conditions") or []
        if any(each["type"] == _SANDBOX and each["status"] == "True" for each in conditions):
            self._seen.add(Moment(name, number, "Starting"))
        self._look()

    def _look(self) -> None:
        if self.is_over or self._is_due:
            return
        act = self._scenario.acts[self._next]
        if act.since is None or act.since in self._seen:
            self._is_due = True
            self._cluster.clock.call_later(act.after, self._do)

    def _do(self) -> None:
        if self.is_over:
            return
        act = self._scenario.acts[self._next]
        try:
            self._cluster.act(act.name, **act.params)
        except ApiError as error:  # somebody else was quicker; the scenario goes on
            self.errors.append(f"{act.name}: {error.message}")
        self._next, self._is_due = self._next + 1, False
        self._look()
        if self.is_over:
            self._unsubscribe()


def play(cluster: "Cluster", name: str) -> Play:
    """Starts a scenario by name, on nodes that are added if the cluster has none of their names.

    Raises ValueError for another name or a cluster that schedules gangs otherwise, ApiError.
    """
    if name not in SCENARIOS:
        raise ValueError(f"there is no scenario {name!r}; there are {', '.join(sorted(SCENARIOS))}")
    scenario = SCENARIOS[name]
    if cluster.gang_scheduler != scenario.gang_scheduler:
        raise ValueError(f"scenario {name} needs {scenario.gang_scheduler} as gang scheduler")
    for node in scenario.nodes:
        cluster.add_node(node)
    return Play(cluster, scenario)


def needed_gang_scheduler(names: Iterable[str]) -> str:
    """Whose PodGroups the scenarios among these names need. Raises ValueError if they disagree."""
    needed = {name: SCENARIOS[name].gang_scheduler for name in names if name in SCENARIOS}
    if len(set(needed.values())) > 1:
        told = ", ".join(f"{name} needs {scheduler}" for name, scheduler in needed.items())
        raise ValueError(f"these cannot run on one cluster: {told}")
    return next(iter(needed.values()), VOLCANO)


def needs_busy_operator(names: Iterable[str]) -> bool:
    """Whether one of the scenarios among these names was recorded with a busy operator."""
    return any(name in SCENARIOS and SCENARIOS[name].busy for name in names)


def _job(kind: str, namespace: str, name: str) -> Obj:
    return {"kind": kind, "namespace": namespace, "name": name}


def _deleted(kind: str, namespace: str, name: str, after: float, since: Moment | None = None) -> Act:
    return Act("delete_job", _job(kind, namespace, name), after, since)


def _exit_sweep(code: int) -> Scenario:
    """Codes from 128 on are retried: the job is deleted as its third worker 0 has just failed."""
    name, worker = f"exit-{code}", f"exit-{code}-worker-0"
    number, after = (1, 4.5) if code < 128 else (3, 0.0)
    phase = "Succeeded" if code == 0 else "Failed"
    delete = _deleted("TFJob", f"exit-sweep-{code}", name, after, Moment(worker, number, phase))
    return Scenario(lambda: [scenario_manifests.exit_sweep(code)], 60, (delete,))


def _evicted(policy: str) -> Scenario:
    namespace = f"evict-{policy.lower()}"
    evict = Act(
        "evict", {"namespace": namespace, "name": "evictme-worker-1"}, 4.4, Moment("evictme-worker-1", 1, "Running")
    )
    return Scenario(lambda: [scenario_manifests.evictable_tfjob(namespace, policy)], 20, (evict,))


_TF, _PT = "TFJob", "PyTorchJob"
_made = scenario_manifests

SCENARIOS: dict[str, Scenario] = {
    "seed-exitcode-138": Scenario(
        lambda: [manifests.seed_experiment()],
        120,
        (_deleted(_TF, "seed-exitcode-138", "tftest", 0.12, Moment("tftest-worker-0", 6)),),
    ),
    "tf-normal": Scenario(lambda: [manifests.normal_tfjob()], 40),
    "pt-normal": Scenario(lambda: [_made.normal_pytorchjob()], 40),
    "tf-onfailure-one-worker": Scenario(lambda: [manifests.in_place_tfjob()], 100),
    "pt-onfailure-one-worker": Scenario(lambda: [_made.in_place_pytorchjob()], 90),
    "tf-ps-fails": Scenario(lambda: [_made.failing_ps_tfjob()], 90),
    "pt-exitcode-master": Scenario(
        lambda: [_made.failing_master_pytorchjob()],
        90,
        (_deleted(_PT, "pt-exitcode-master", "pytest", 0.56, Moment("pytest-master-0", 5, "Starting")),),
    ),
    "pt-exitcode-worker": Scenario(
        lambda: [manifests.failing_worker_pytorchjob()],
        90,
        (_deleted(_PT, "pt-exitcode-worker", "pytest", 4.6, Moment("pytest-worker-0", 4, "Running")),),
    ),
    **{f"exit-sweep-{code}": _exit_sweep(code) for code in (0, 1, 2, 126, 128, 130, 137, 138, 139, 143)},
    "oom-killed": Scenario(
        lambda: [manifests.oom_pytorchjob()],
        70,
        (_deleted(_PT, "oom-killed", "oom", 0.6, Moment("oom-master-0", 4, "Running")),),
    ),
    "evict-exitcode": _evicted("ExitCode"),
    "evict-onfailure": _evicted("OnFailure"),
    "delete-pod-exitcode": Scenario(
        lambda: [lasting_pytorchjob("delete-pod-exitcode")],
        62,
        (
            Act(
                "delete_pod",
                {"namespace": "delete-pod-exitcode", "name": "pytest-worker-1"},
                4.0,
                Moment("pytest-worker-1", 1, "Running"),
            ),
        ),
    ),
    "name-reuse": Scenario(
        lambda: [_made.failing_worker_tfjob("name-reuse", "again", 6, 60)],
        80,
        (
            _deleted(_TF, "name-reuse", "again", 4.6, Moment("again-worker-0", 2, "Running")),
            Act("apply", {"manifest": _made.failing_worker_tfjob("name-reuse", "again", 6, 60)}, 1.2),
            _deleted(_TF, "name-reuse", "again", 0.0, Moment("again-worker-0", 4, "Failed")),
        ),
    ),
    "suspend-resume": Scenario(
        lambda: [lasting_pytorchjob("suspend-resume", seconds=20, policy="OnFailure")],
        80,
        (
            Act("suspend", _job(_PT, "suspend-resume", "pytest"), 5.0, Moment("pytest-worker-1", 1, "Running")),
            Act("resume", _job(_PT, "suspend-resume", "pytest"), 15.2),
        ),
    ),
    "active-deadline": Scenario(lambda: [_made.deadline_pytorchjob()], 40),
    "backoff-zero": Scenario(
        lambda: [_made.failing_worker_tfjob("backoff-zero", "tftest", 5, 40, backoffLimit=0)],
        30,
    ),
    "xgboost-exitcode": Scenario(lambda: [_made.failing_worker_xgboostjob()], 65),
    "mpi-worker-fails": Scenario(
        lambda: [_made.failing_worker_mpijob()], 85, (_deleted("MPIJob", "mpi-worker-fails", "mpi", 79.0),)
    ),
    "gang-waits": Scenario(lambda: [manifests.too_big_tfjob()], 25, (_deleted(_TF, "gang-waits", "big", 20.2),)),
    "sidecar-fails": Scenario(lambda: [_made.sidecar_pytorchjob("sidecar-fails", "ExitCode", 12)], 30),
    "sidecar-restarts": Scenario(
        lambda: [_made.sidecar_pytorchjob("sidecar-restarts", "OnFailure", 45)],
        100,
        (_deleted(_PT, "sidecar-restarts", "side", 85.8, Moment("side-master-0", 1, "Running")),),
    ),
    "completed-pod-deleted": Scenario(
        lambda: [_made.completing_worker_tfjob()],
        75,
        (
            Act(
                "delete_pod",
                {"namespace": "completed-pod-deleted", "name": "tftest-worker-1"},
                3.5,
                Moment("tftest-worker-1", 1, "Succeeded"),
            ),
            _deleted(_TF, "completed-pod-deleted", "tftest", 9.3, Moment("tftest-worker-0", 1, "Succeeded")),
        ),
    ),
    "bad-image": Scenario(lambda: [_made.bad_image_tfjob()], 35, (_deleted(_TF, "bad-image", "tftest", 25.35),)),
    "bad-command": Scenario(
        lambda: [_made.bad_command_tfjob()],
        40,
        (_deleted(_TF, "bad-command", "tftest", 0.16, Moment("tftest-worker-0", 3, "Starting")),),
    ),
    "runaway": Scenario(
        lambda: [_made.runaway_tfjob()],
        150,
        (_deleted(_TF, "runaway", "runaway", 0.36, Moment("runaway-worker-0", 20, "Running")),),
    ),
    "mixed-codes": Scenario(lambda: [_made.mixed_codes_tfjob()], 80),
    "node-lost": Scenario(
        lambda: [_made.lost_node_pytorchjob()],
        220,
        (
            Act("lose_node", {"name": "las2"}, 1.0, Moment("lost-worker-0", 1, "Running")),
            Act("delete_node", {"name": "las2"}, 80.0),
            Act("return_node", {"name": "las2"}, 33.7),
            _deleted(_PT, "node-lost", "lost", 23.3, Moment("lost-master-0", 1, "Succeeded")),
        ),
        TWO_NODES,
    ),
    "wave-60": Scenario(
        lambda: [_made.wave_pytorchjob()],
        200,
        (_deleted(_PT, "wave-60", "wave", 141.3),),
        TWO_NODES,
    ),
    "volcano-job": Scenario(
        lambda: [_made.volcano_job()],
        90,
        (_deleted("VolcanoJob", "volcano-job", "vj", 2.7, Moment("vj-main-0", 5, "Running")),),
    ),
    "preempted": Scenario(
        lambda: [
            _made.priority_class("low", 100),
            _made.priority_class("high", 10000),
            _made.prioritised_pytorchjob("low", 60, "low"),
        ],
        110,
        (
            Act(
                "apply",
                {"manifest": _made.prioritised_pytorchjob("high", 15, "urgent")},
                4.5,
                Moment("low-worker-0", 1, "Running"),
            ),
            _deleted(_PT, "preempted", "low", 18.1, Moment("low-worker-1", 1, "Succeeded")),
            _deleted(_PT, "preempted", "urgent", 0.27),
        ),
        TWO_NODES,
    ),
    "sp-exitcode": Scenario(
        lambda: [_made.scheduler_plugins_tfjob()],
        80,
        (_deleted(_TF, "sp-exitcode", "tftest", 2.7, Moment("tftest-worker-0", 5, "Running")),),
        TWO_NODES,
        COSCHEDULING,
    ),
}

_RECORDED_BUSY = (
    "tf-normal",
    "pt-normal",
    "tf-onfailure-one-worker",
    "pt-onfailure-one-worker",
    "tf-ps-fails",
    "pt-exitcode-master",
    "pt-exitcode-worker",
    *(name for name in SCENARIOS if name.startswith("exit-sweep-")),
    "oom-killed",
    "delete-pod-exitcode",
    "name-reuse",
    "suspend-resume",
    "active-deadline",
    "xgboost-exitcode",
    "gang-waits",
    "sidecar-fails",
    "sidecar-restarts",
    "bad-image",
    "bad-command",
    "mixed-codes",
)
SCENARIOS |= {name: replace(SCENARIOS[name], busy=True) for name in _RECORDED_BUSY}
