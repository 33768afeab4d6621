"""A whole simulated cluster: store, garbage collection and every controller on one clock, from one seed."""

import json
import random
from collections.abc import Sequence
from typing import Any, Protocol

from simcluster import actors
from simcluster.clock import Clock
from simcluster.controllers.acts import Acts
from simcluster.controllers.coscheduling import PodGroupController
from simcluster.controllers.default_scheduler import DefaultScheduler
from simcluster.controllers.kubelet import Kubelet, NodeSpec, PodRouter
from simcluster.controllers.logs import Logs
from simcluster.controllers.nodes import NodeController, PodCollector, TaintEviction
from simcluster.controllers.operator.controller import TrainingOperator
from simcluster.controllers.plan import Programs
from simcluster.controllers.podgroup import VOLCANO
from simcluster.controllers.rules import Rule
from simcluster.controllers.scheduler import VolcanoScheduler
from simcluster.controllers.volcano.controller import VolcanoJobController
from simcluster.errors import bad_request
from simcluster.gc import GarbageCollector
from simcluster.manifests import EXPERIMENTS
from simcluster.resources import PODS, Resource, by_kind
from simcluster.scenarios import SCENARIOS, Play, play
from simcluster.store import Store

Obj = dict[str, Any]

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


class Part(Protocol):
    """A controller."""

    def start(self) -> None: ...

    def stop(self) -> None: ...


class Cluster:
    """Runs from its construction on; everything is the same again for the same clock and seed."""

    def __init__(
        self,
        clock: Clock,
        seed: int = 0,
        *,
        nodes: Sequence[NodeSpec] = (NodeSpec(),),
        namespaces: Sequence[str] = ("default",),
        gang_scheduler: str = VOLCANO,
        busy: bool = False,
        restricted_init: bool = False,
        rules: Sequence[Rule] = (),
        store: Store | None = None,
    ) -> None:
        """`gang_scheduler`: whose PodGroups the training operator makes, "volcano", "scheduler-plugins" or "" for
        none. `busy`: the operator has many other jobs to look after. `restricted_init`: it is set up for namespaces
        that enforce "restricted". `rules`: what containers do. `store`: one that is there already, else a new one."""
        self.clock = clock
        self._seed = seed
        self.store = store or Store(clock, self._chance("store"))
        for namespace in namespaces:
            self.store.ensure_namespace(namespace)
        self.gang_scheduler = gang_scheduler
        self._person = self.store.acting_as(actors.PERSON)
        self.programs = Programs(rules)
        self.logs = Logs(clock)
        self._gc = GarbageCollector(self.store, clock, self._chance("gc"))
        self.kubelets: dict[str, Kubelet] = {}
        for node in nodes:
            self._new_kubelet(node)
        self.nodes = self._new_node_controller()
        self._parts: tuple[Part, ...] = (
            *self._new_schedulers(),
            PodRouter(self.store, self.kubelets),
            *self.kubelets.values(),
            self._new_operator(busy=busy, restricted_init=restricted_init),
            self._new_volcano_jobs(),
            self.nodes,
            *self._new_pod_removers(),
        )
        self._plays: list[Play] = []
        self._acts = Acts(self, self._person)
        for part in self._parts:
            part.start()

    def _chance(self, part: str) -> random.Random:
        """A stream of its own per part, so that a change in one does not shift the others."""
        return random.Random(f"{self._seed} {part}")  # noqa: S311

    def _new_schedulers(self) -> tuple[Part, ...]:
        volcano = actors.controller("vc-scheduler")
        default = actors.controller("system:kube-scheduler", "kube-scheduler")
        plugins = actors.controller("scheduler-plugins-controller")
        return (
            VolcanoScheduler(self.store.acting_as(volcano), self.clock, self._chance("volcano")),
            DefaultScheduler(self.store.acting_as(default), self.clock, self._chance("default-scheduler")),
            PodGroupController(self.store.acting_as(plugins), self.clock, self._chance("scheduler-plugins")),
        )

    def _new_operator(self, *, busy: bool, restricted_init: bool) -> TrainingOperator:
        return TrainingOperator(
            self.store.acting_as(actors.controller("training-operator")),
            self.clock,
            self._chance("operator"),
            gang_scheduler=self.gang_scheduler,
            busy=busy,
            restricted_init=restricted_init,
        )

    def _new_volcano_jobs(self) -> VolcanoJobController:
        store = self.store.acting_as(actors.controller("vc-controller-manager"))
        return VolcanoJobController(store, self.clock, self._chance("volcano jobs"))

    def _new_node_controller(self) -> NodeController:
        store = self.store.acting_as(actors.of_controller_manager("node-controller"))
        return NodeController(store, self.clock, self._chance("nodes"), self.kubelets)

    def _new_pod_removers(self) -> tuple[Part, ...]:
        """Whoever deletes pods of nodes that are lost."""
        eviction = actors.of_controller_manager("taint-eviction-controller")
        collector = actors.of_controller_manager("pod-garbage-collector")
        return (
            TaintEviction(self.store.acting_as(eviction), self.clock, self._chance("taint eviction")),
            PodCollector(self.store.acting_as(collector), self.clock, self._chance("pod gc")),
        )

    def _new_kubelet(self, node: NodeSpec) -> Kubelet:
        kubelet = self.kubelets[node.name] = Kubelet(
            self.store.acting_as(actors.kubelet(node.name)),
            self.clock,
            self._chance(f"kubelet {node.name}"),
            node=node,
            programs=self.programs,
            logs=self.logs,
            subnet=16 * len(self.kubelets),
        )
        return kubelet

    def add_node(self, node: NodeSpec) -> None:
        """Another node, with its kubelet; nothing if there is one of its name."""
        if node.name not in self.kubelets:
            kubelet = self._new_kubelet(node)
            self._parts = (*self._parts, kubelet)
            kubelet.start()

    def stop(self) -> None:
        """Ends the controllers; the store stays as it is."""
        for started in self._plays:
            started.stop()
        for part in reversed(self._parts):
            part.stop()
        self._gc.close()

    def apply(self, manifest: Obj) -> Obj:
        """Creates an object as `kubectl apply` does, its namespace first if need be. Raises ApiError."""
        resource = _resource_of(manifest)
        metadata = {"annotations": {}, **manifest["metadata"]}
        if resource.namespaced:
            metadata.setdefault("namespace", "default")
            self.store.ensure_namespace(metadata["namespace"])
        body = {**manifest, "metadata": metadata}
        applied = {**metadata["annotations"], LAST_APPLIED: _last_applied(body)}
        return self._person.create(resource, {**body, "metadata": {**metadata, "annotations": applied}})

    def run(self, experiment: str) -> Obj:
        """Plays a scenario of `scenarios.SCENARIOS` by name, or starts an experiment of `manifests.EXPERIMENTS`.

        Returns what was applied (last). Raises ValueError for another name, ApiError.
        """
        if experiment in SCENARIOS:
            return self.play(experiment).applied[-1]
        if experiment not in EXPERIMENTS:
            known = ", ".join(sorted({*EXPERIMENTS, *SCENARIOS}))
            raise ValueError(f"there is no experiment {experiment!r}; there are {known}")
        return self.apply(EXPERIMENTS[experiment]())

    def play(self, scenario: str) -> Play:
        """Starts a scenario by name, with its acts. Raises ValueError, ApiError."""
        started = play(self, scenario)
        self._plays.append(started)
        return started

    def delete(self, obj: Obj) -> Obj:
        """Deletes an object as `kubectl delete` does. Raises ApiError 404."""
        metadata = obj["metadata"]
        return self._person.delete(_resource_of(obj), metadata.get("namespace"), metadata["name"])

    def delete_pod(self, namespace: str, name: str) -> Obj:
        """As `kubectl delete pod`, with the pod's own grace period. Raises ApiError 404."""
        return self._person.delete(PODS, namespace, name)

    def act(self, name: str, /, **params: Any) -> Any:
        """Does one of the acts (see controllers.acts) by its name: lose_node, evict, suspend and so on.

        Raises ValueError for an act or parameters there are none of, ApiError for what is not there.
        """
        return self._acts.do(name, **params)

    @property
    def acts(self) -> list[str]:
        """The names of the acts."""
        return self._acts.names


def _resource_of(obj: Obj) -> Resource:
    resource = by_kind(obj.get("apiVersion", ""), obj.get("kind", ""))
    if resource is None:
        raise bad_request(f'no matches for kind "{obj.get("kind", "")}" in version "{obj.get("apiVersion", "")}"')
    return resource


def _last_applied(manifest: Obj) -> str:
    """The manifest as kubectl keeps it: Go's JSON, keys sorted, with a newline."""
    text = json.dumps(manifest, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return f"{text}\n"
