"""An experiment on a simulated cluster under virtual time: launched, acted on, watched and judged as a run is."""

import json
from typing import Any

from jobs.experiments.experiment import Act, ActKind, DoneAct, Experiment, Observed, Place, StepState, Values
from jobs.experiments.verdict import Verdict, judge, latest
from simcluster.controllers.kubelet import NodeSpec
from simcluster.errors import ApiError
from simcluster.podsecurity import PodSecurityAdmission
from simcluster.resources import NAMESPACES
from tests.experiments.observing import Watched
from tests.simcluster.simulation import Simulation

Obj = dict[str, Any]
PLACE = Place("experiments", "run")
STEP = 0.5  # seconds between two looks, as a worker would have it


class Rehearsal:
    def __init__(
        self,
        experiment: Experiment,
        values: Values,
        *,
        place: Place = PLACE,
        seed: int = 1,
        nodes: tuple[NodeSpec, ...] = (NodeSpec(), NodeSpec("las2")),
        enforced: str = "",
        **options: Any,
    ) -> None:
        """``enforced``: the pod security standard of the namespace."""
        self.experiment, self.values, self.place = experiment, values, place
        self.simulation = Simulation(seed, nodes, **options)
        if enforced:
            PodSecurityAdmission(self.simulation.store)
            labels = {"pod-security.kubernetes.io/enforce": enforced}
            self.simulation.store.create(NAMESPACES, {"metadata": {"name": place.namespace, "labels": labels}})
        self.simulation.run(1.0 + seed * 0.37)
        self.simulation.lines.clear()
        self.watched = Watched()
        self.launched_at = self.simulation.clock.now()
        self.manifests = experiment.objects(values, place)
        self.uids: list[str] = []
        self.done: list[DoneAct] = []
        self._taken = 0
        for manifest in self.manifests:
            self._create(manifest)

    def run(self) -> Verdict:
        """Until nothing can change the verdict, or its time is up."""
        end = self.launched_at + latest(self.experiment, self.values)
        met: set[str] = set()
        while True:
            self.simulation.run(STEP)
            self.look()
            verdict = self.verdict()
            before, met = met, {step.key for step, outcome in verdict.steps if outcome.state is StepState.MET}
            assert before <= met, "what is met stays met"
            if verdict.final or self.simulation.clock.now() > end:
                return verdict
            self._act(verdict)

    def clean_up(self) -> Verdict:
        """What a run does at its end: its jobs are deleted. The verdict half a minute later."""
        for uid, manifest in zip(self.uids, self.manifests * 2, strict=False):
            job = self.watched.jobs.get(uid)
            if job is not None and job.present:
                self.simulation.cluster.delete(manifest)
        self.simulation.run(30)
        self.look()
        return self.verdict()

    def observed(self) -> Observed:
        jobs = self.watched.named(*self.uids)
        return Observed(jobs, self.launched_at, self.simulation.clock.now(), tuple(self.done))

    def verdict(self) -> Verdict:
        return judge(self.experiment, self.values, self.observed())

    def look(self) -> None:
        lines = self.simulation.lines
        for line in lines[self._taken :]:
            self.watched.take(line.at, line.resource, line.type, line.object)
        self._taken = len(lines)

    def _create(self, manifest: Obj) -> None:
        created = self.simulation.cluster.apply(json.loads(json.dumps(manifest)))
        self.uids.append(created["metadata"]["uid"])

    def _act(self, verdict: Verdict) -> None:
        now = self.simulation.clock.now()
        met_at = {step.key: outcome.at for step, outcome in verdict.steps if outcome.state is StepState.MET}
        known = {done.key for done in self.done}
        for act in self.experiment.acts(self.values):
            since = met_at.get(act.since)
            if act.key not in known and since is not None and now >= since + act.after:
                self.done.append(DoneAct(act.key, now, self._do(act)))
                return

    def _do(self, act: Act) -> str:
        """The refusal in the API server's words; "" for what was done."""
        manifest = self.manifests[act.job]
        name, namespace = manifest["metadata"]["name"], self.place.namespace
        job = {"kind": manifest["kind"], "namespace": namespace, "name": name}
        pod = {"namespace": namespace, "name": f"{name}-{act.pod}"}
        cluster = self.simulation.cluster
        try:
            match act.kind:
                case ActKind.CREATE_AGAIN:
                    self._create(manifest)
                case ActKind.DELETE_POD:
                    cluster.act("delete_pod", **pod)
                case ActKind.EVICT_POD:
                    cluster.act("evict", **pod)
                case ActKind.DELETE_JOB:
                    cluster.act("delete_job", **job)
                case ActKind.SUSPEND | ActKind.RESUME:
                    cluster.act(act.kind.value, **job)
                case ActKind.SCALE:
                    cluster.act("scale", **job, **act.params)
                case ActKind.LOSE_NODE | ActKind.RETURN_NODE:
                    cluster.act(act.kind.value.replace(" ", "_"), name=self._node_of(act, name))
        except ApiError as error:
            return error.message
        return ""

    def _node_of(self, act: Act, name: str) -> str:
        """The node on which the pod ran first: it may have moved since."""
        job = self.watched.jobs[self.uids[act.job]]
        replica_type, _, index = act.pod.rpartition("-")
        node = job.replicas[replica_type, int(index), 0].incarnations[0].node
        assert node is not None, f"{name}-{act.pod} never had a node"
        return node
