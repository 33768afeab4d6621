"""What ended a pod of a simulated cluster, by restart facts 5, from every write and who made it.

Written from the documents alone: it shares no code with the product, and reads what no watcher is told.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from simcluster.clock import parse_rfc3339

if TYPE_CHECKING:
    from tests.properties.job_truth import JobTruth

Json = dict[str, Any]
Place = tuple[str, int]

MAIN = {
    "TFJob": "tensorflow",
    "PyTorchJob": "pytorch",
    "MPIJob": "mpi",
    "XGBoostJob": "xgboost",
    "PaddleJob": "paddle",
    "JAXJob": "jax",
}
BY_STATUS = {
    "Evicted": "evicted-kubelet",
    "Preempting": "preempted",
    "Terminated": "node-lost",
    "NodeShutdown": "node-lost",
    "NodeLost": "node-lost",
    "DeadlineExceeded": "deadline",
}
BY_DISRUPTION = {
    "PreemptionByScheduler": "preempted",
    "DeletionByTaintManager": "node-lost",
    "EvictionByEvictionAPI": "evicted-api",
    "DeletionByPodGC": "pod-gc",
    "TerminationByKubelet": "evicted-kubelet",
}
OVER = ("Failed", "Succeeded")
TAKEN_ALONG = 120.0  # seconds within which a controller answers a failure with deletions


@dataclass
class PodTruth:
    """One pod's writes, oldest first: (when, what it was then, who wrote it)."""

    uid: str
    job: "JobTruth"
    place: Place
    created_at: float
    writes: list[tuple[float, Json, str]] = field(default_factory=list)
    gone_at: float | None = None

    @property
    def last(self) -> Json:
        return self.writes[-1][1]

    @property
    def told_to_go(self) -> tuple[float, Json, str] | None:
        """The first deletion: when, the pod just before, and who asked; None for a pod that stays."""
        before = self.writes[0][1]
        for at, pod, user in self.writes:
            if "deletionTimestamp" in pod["metadata"]:
                return at, before, user
            before = pod
        return (self.gone_at, before, self.writes[-1][2]) if self.gone_at is not None else None

    def main(self, pod: Json) -> Json:
        containers = pod["spec"]["containers"]
        name = MAIN.get(self.job.kind, "")
        if name not in [each["name"] for each in containers]:
            name = containers[0]["name"]
        found = [each for each in statuses(pod) if each["name"] == name]
        return found[0] if found else {}

    def end(self, pod: Json) -> Json | None:
        """The main container's state.terminated, unless it is the kubelet's filler."""
        end = (self.main(pod).get("state") or {}).get("terminated")
        return end if end and end.get("reason") != "ContainerStatusUnknown" else None

    def last_known_end(self) -> Json | None:
        for _, pod, _ in reversed(self.writes):
            main = self.main(pod)
            for state in ("state", "lastState"):
                end = (main.get(state) or {}).get("terminated")
                if end and end.get("reason") != "ContainerStatusUnknown":
                    return end
        return None

    def final_end(self) -> Json | None:
        """The end after which the main container is not run again in this pod, and that no worse state took back."""
        for _, pod, _ in reversed(self.writes):
            end = self.end(pod)
            if end is not None and not self._is_run_again(pod, end):
                return end
            if (self.main(pod).get("state") or {}).get("running"):
                return None
        return None

    @staticmethod
    def _is_run_again(pod: Json, end: Json) -> bool:
        policy = pod["spec"]["restartPolicy"]
        if phase_of(pod) in OVER or "deletionTimestamp" in pod["metadata"]:
            return False
        return policy == "Always" or (policy == "OnFailure" and end["exitCode"] != 0)

    @property
    def is_over(self) -> bool:
        """Gone, failed or succeeded, or its main container ended for good."""
        end = self.end(self.last)
        ended = end is not None and not self._is_run_again(self.last, end)
        return self.gone_at is not None or phase_of(self.last) in OVER or ended

    def deleted_first(self) -> bool:
        """Whether it was told to go while its main container had not ended for good."""
        told = self.told_to_go
        if told is None:
            return False
        at, before, _ = told
        if phase_of(before) in OVER:
            return False
        tries = max(self.main(pod).get("restartCount") or 0 for _, pod, _ in self.writes)
        if self._ended(before) and tries == (self.main(before).get("restartCount") or 0):  # no other try had begun
            return False
        if self.end(before) is not None and before["spec"]["restartPolicy"] == "Never":
            return False
        last = self.final_end()  # what had ended, although nobody had said so yet
        return last is None or parse_rfc3339(last["finishedAt"]) >= int(at)

    def _ended(self, pod: Json) -> bool:
        """Whether its main container has run and does not run now: also in the wait for its next try."""
        main = self.main(pod)
        waits = "waiting" in (main.get("state") or {}) and bool((main.get("lastState") or {}).get("terminated"))
        return self.end(pod) is not None or waits

    def status_reason(self) -> str | None:
        told = [(pod.get("status") or {}).get("reason") for _, pod, _ in self.writes]
        return next((reason for reason in reversed(told) if reason), None)

    def disruption(self) -> str | None:
        before = ""
        for _, pod, _ in self.writes:
            if before in OVER:
                return None
            before = phase_of(pod)
            for condition in (pod.get("status") or {}).get("conditions") or []:
                if condition["type"] == "DisruptionTarget" and condition["status"] == "True":
                    return str(condition["reason"])
        return None

    def completed(self) -> bool:
        """Whether its work was done: ended well, and before anybody told it to go. Under Always it never is."""
        end = self.final_end()
        if self.last["spec"]["restartPolicy"] == "Always":
            return False
        ended_well = end is not None and end["exitCode"] == 0 and phase_of(self.last) != "Failed"
        return ended_well and not self.deleted_first()

    def taken_along(self) -> bool:
        """Whether Volcano told it to go for another pod's sake."""
        told = self.told_to_go
        if self.job.kind != "Job" or told is None or "vc-controller" not in told[2]:
            return False
        own = self.end(told[1])
        failed = phase_of(told[1]) == "Failed" or (own is not None and own["exitCode"] != 0)
        return not failed and self._another_failed(told[0])

    def looks_taken_along(self) -> bool:
        """Whether a Volcano Job's controller told it to go, or somebody did soon after another pod had failed."""
        told = self.told_to_go
        if self.job.kind != "Job" or told is None or not self.counts():
            return False
        return "vc-controller" in told[2] or self._another_failed(told[0])

    def _another_failed(self, until: float) -> bool:
        for place, pods in self.job.replicas.items():
            for pod in pods if place != self.place else []:
                told = pod.told_to_go
                gone = told is not None and until - TAKEN_ALONG < told[0] <= until and "vc-controller" not in told[2]
                failed = any(
                    until - TAKEN_ALONG < at <= until and phase_of(one) == "Failed" for at, one, _ in pod.writes
                )
                if gone or failed:
                    return True
        return False

    def cause(self) -> str | None:
        """The code, by the first that applies; None while the pod goes on."""
        if not self.is_over:
            return None
        reason, disruption = self.status_reason(), self.disruption()  # a pod that had ended is not disrupted
        if reason in BY_STATUS:
            return BY_STATUS[reason]
        if disruption in BY_DISRUPTION:
            return BY_DISRUPTION[disruption]
        if self.taken_along() and self.counts():
            return "gang"
        if self.deleted_first():
            return "deleted"
        return self._by_containers()

    def _by_containers(self) -> str:
        end = self.final_end() or self.last_known_end()
        failed = _failed_of(self.last) if end is None or phase_of(self.last) == "Failed" else None
        if end is not None and end["reason"] == "OOMKilled":
            return "oom"
        if end is not None and end["reason"] in ("StartError", "ContainerCannotRun"):
            return "start-error"
        if end is not None and end["exitCode"] != 0:
            return "exit"
        if failed is not None:
            return failed
        if end is not None:
            return "completed"
        return "deleted" if self.told_to_go is not None else "unknown"

    def counts(self) -> bool:
        """Whether a restart that counts followed."""
        pods = self.job.replicas[self.place]
        after = pods.index(self) + 1
        return after < len(pods) and not self.job.explains(self, pods[after])


def statuses(pod: Json, key: str = "containerStatuses") -> list[Json]:
    return (pod.get("status") or {}).get(key) or []


def phase_of(pod: Json) -> str:
    return str((pod.get("status") or {}).get("phase") or "")


def _failed_of(pod: Json) -> str | None:
    """Whether an init container ("init") or one beside the main one ("sidecar") failed."""
    for word, key in (("init", "initContainerStatuses"), ("sidecar", "containerStatuses")):
        for each in statuses(pod, key):
            end = (each.get("state") or {}).get("terminated")
            if end and end["exitCode"] != 0 and end.get("reason") != "ContainerStatusUnknown":
                return word
    return None
