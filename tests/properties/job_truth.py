"""State, flags and ending of a job of a simulated cluster, by restart facts 1 to 5, from every write."""

import itertools
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.properties.pod_truth import Json, Place, PodTruth, phase_of, statuses

STATES = {  # of a Volcano Job
    "Pending": "Created",
    "Running": "Running",
    "Completing": "Running",
    "Restarting": "Restarting",
    "Aborting": "Suspended",
    "Aborted": "Suspended",
    "Completed": "Succeeded",
    "Terminating": "Failed",
    "Terminated": "Failed",
    "Failed": "Failed",
}
FOLLOWS = 6.0  # seconds within which a controller follows its spec
LOOK_BACK = 4.0  # seconds between what the operator saw and its writing Failed, on a busy cluster


@dataclass
class JobTruth:
    uid: str
    kind: str
    last: Json
    conditions: dict[str, str] = field(default_factory=dict)
    suspended_at: list[float] = field(default_factory=list)
    wanted: list[tuple[float, dict[str, int]]] = field(default_factory=list)
    failed_at: float | None = None
    gone: bool = False
    replicas: dict[Place, list[PodTruth]] = field(default_factory=lambda: defaultdict(list))

    def explains(self, old: PodTruth, new: PodTruth) -> bool:
        """Suspended, or scaled away, between the two creations."""
        if any(old.created_at < at <= new.created_at for at in self.suspended_at):
            return True
        kind, index = old.place
        return any(
            old.created_at < at <= new.created_at
            and wanted.get(kind, index + 1) <= index < before.get(kind, 0)
            and not self._spared(old, at)
            for (_, before), (at, wanted) in itertools.pairwise(self.wanted)
        )

    def _spared(self, pod: PodTruth, scaled_at: float) -> bool:
        """Asked for again, for a while already, when it was told to go."""
        kind, index = pod.place
        undone = next((at for at, wanted in self.wanted if at > scaled_at and wanted.get(kind, 0) > index), None)
        told = pod.told_to_go
        return undone is not None and told is not None and told[0] > undone + FOLLOWS

    @property
    def state(self) -> str:
        if self.kind == "Job":
            phase = (((self.last.get("status") or {}).get("state")) or {}).get("phase")
            return STATES.get(phase or "", "Created" if phase else "Unknown")
        true = {name for name, status in self.conditions.items() if status == "True"}
        for name in ("Failed", "Succeeded", "Suspended", "Restarting", "Running", "Created"):
            if name in true:
                return name
        return "Created" if self.conditions else "Unknown"

    def policy(self, place: Place) -> str | None:
        return next((s.get("restartPolicy") for name, s in self.specs() if name.lower() == place[0]), None)

    def specs(self) -> list[tuple[str, Json]]:
        spec = self.last["spec"]
        found = next((spec[key] for key in spec if key.endswith("ReplicaSpecs")), None)
        if found is None:
            found = {task["name"]: {"replicas": task.get("replicas", 1)} for task in spec["tasks"]}
        return list(found.items())

    def message(self) -> str:
        conditions = (self.last.get("status") or {}).get("conditions") or []
        return next((str(c.get("message")) for c in conditions if c.get("type") == "Failed"), "")

    def flags(self, place: Place) -> set[str]:
        pods, found = self.replicas[place], set()
        newest = pods[-1]
        waiting = (newest.main(newest.last).get("state") or {}).get("waiting") or {}
        if waiting.get("reason") == "CrashLoopBackOff" and newest.gone_at is None:
            found.add("crash-loop")
        for pod, after in itertools.pairwise(pods):
            if not pod.counts():
                continue
            if pod.completed():
                found.add("completed-replica-run-again")
            if self.kind != "Job" and self.policy(place) == "Never":
                found.add("unexpected-for-policy-never")
            if self.failed_at is not None and after.created_at > self.failed_at:
                found.add("created-after-failed")
        return found

    def endings(self) -> dict[str, set[str]]:
        """The codes that may be said of its end, each with the replicas that may be named ("" for none)."""
        if self.state == "Succeeded":
            return {"succeeded": {""}, "main-completed": self._named(lambda pod: pod.completed())}
        if self.state != "Failed":
            return {"job-deleted": {""}} if self.gone else {"": {""}}
        if self.kind == "Job":
            return self._volcano_endings()
        return self._failures()

    def _failures(self) -> dict[str, set[str]]:
        if self.conditions.get("Succeeded") == "True":
            return {"failed-after-success": {""}}
        if "backoff limit" in self.message():
            return self._by_backoff()
        if "longer than specified deadline" in self.message():
            return {"deadline": {""}}
        return self._by_pods()

    def _named(self, test: Callable[[PodTruth], object]) -> set[str]:
        return {f"{place[0]} {place[1]}" for place, pods in self.replicas.items() if any(test(pod) for pod in pods)}

    def _by_backoff(self) -> dict[str, set[str]]:
        limit = self.last["spec"]["runPolicy"]["backoffLimit"]
        restarts = sum(_restarts(pod.last) for pods in self.replicas.values() for pod in pods[-1:])
        if restarts >= max(limit, 1):
            return {"backoff-limit": {""}}
        if limit:  # the operator's own retries were counted, which nobody is told
            return {"backoff-unseen": {""}}
        return {"backoff-zero": self._named(lambda pod: bool(self._blamed(pod, backoff=True)))}

    def _by_pods(self) -> dict[str, set[str]]:
        found: dict[str, set[str]] = defaultdict(set)
        for place, pods in self.replicas.items():
            for pod in pods:
                for code in self._blamed(pod):
                    found[code].add(f"{place[0]} {place[1]}")
        return found

    def _blamed(self, pod: PodTruth, backoff: bool = False) -> set[str]:
        """The codes by which this pod may have failed the job: as it was shortly before Failed was written."""
        assert self.failed_at is not None
        shown = [p for at, p, _ in pod.writes if at <= self.failed_at]
        if not shown or (pod.gone_at is not None and pod.gone_at < self.failed_at - LOOK_BACK):
            return set()
        policy, found = self.policy(pod.place), set()
        for state in shown[-6:]:
            if phase_of(state) == "Running" and "deletionTimestamp" in state["metadata"]:
                fails = {"TFJob": True, "XGBoostJob": policy != "ExitCode"}.get(self.kind, False)
                found |= {"pod-deleted"} if fails or backoff else {"policy-never"} if policy == "Never" else set()
                found |= {"not-recreated"} if self.kind == "MPIJob" else set()
            ended = self.policy(pod.place) in ("Never", "ExitCode") and pod.end(state) is not None
            if phase_of(state) == "Failed" or ended:  # its phase follows a second later
                found |= {"backoff-zero"} if backoff else self._by_failed(pod, state, policy)
        return found

    def _by_failed(self, pod: PodTruth, state: Json, policy: str | None) -> set[str]:
        if policy == "Never":
            return {"policy-never"}
        if self.kind == "MPIJob":
            return {"not-recreated"}
        end = pod.end(state)
        if policy == "ExitCode":
            if end is None or end["exitCode"] >= 128:
                return set()
            return {"permanent-exit" if end["exitCode"] else "exit-before-sidecar"}
        return {"replica-failed"} if self.kind == "XGBoostJob" else set()

    def _volcano_endings(self) -> dict[str, set[str]]:
        status = self.last.get("status") or {}
        if (status.get("retryCount") or 0) >= self.last["spec"].get("maxRetry", 3):
            return {"max-retry": {""}}
        names = self._named(lambda pod: pod.is_over or pod.told_to_go)
        return {"replica-failed": names, "failed-unknown": {""}}


def _restarts(pod: Json) -> int:
    both = statuses(pod), statuses(pod, "initContainerStatuses")
    return sum(each.get("restartCount") or 0 for statuses in both for each in statuses)
