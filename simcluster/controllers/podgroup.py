"""What Volcano's scheduler writes into a PodGroup: the states of its tasks, the phase, the condition, the texts."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

Obj = dict[str, Any]

VOLCANO, COSCHEDULING = "volcano", "scheduler-plugins"  # the two schedulers of gangs
GROUP_ANNOTATION = "scheduling.k8s.io/group-name"
GROUP_LABEL = "scheduling.x-k8s.io/pod-group"
SCHEDULED_REASON = "tasks in gang are ready to be scheduled"
_OCCUPYING = ("Binding", "Bound", "Running", "Releasing")
_ENDED = ("Succeeded", "Failed")


def spec_of(group: Obj) -> Obj:
    """A PodGroup's spec, which somebody's own PodGroup may lack."""
    return group.get("spec") or {}


def task_status(pod: Obj) -> str:
    """Volcano's word for a pod: Pending, Bound, Running, Releasing, Succeeded, Failed or Unknown."""
    phase = (pod.get("status") or {}).get("phase")
    deleting = "deletionTimestamp" in pod["metadata"]
    if phase in _ENDED:
        return str(phase)
    if phase == "Running":
        return "Releasing" if deleting else "Running"
    if phase == "Pending":
        if deleting:
            return "Releasing"
        return "Bound" if pod["spec"].get("nodeName") else "Pending"
    return "Unknown"


@dataclass(frozen=True)
class Gang:
    """The tasks of a group in one cycle: how many are in which state, before and after what the cycle does.

    `bound_now`: pods that the cycle binds. `schedulable`: pods that would fit, but the gang as a whole does not.
    `pipelined`: pods that wait for the end of others that give way. `origin`: why the first of those did not fit.
    """

    before: Counter[str]
    min_member: int
    bound_now: int = 0
    schedulable: int = 0
    pipelined: int = 0
    origin: str = ""

    @property
    def total(self) -> int:
        return self.before.total()

    @property
    def after(self) -> Counter[str]:
        moved = Counter({"Pending": self.bound_now + self.pipelined})
        return self.before + Counter({"Binding": self.bound_now, "Pipelined": self.pipelined}) - moved

    @property
    def is_ready(self) -> bool:
        """Enough tasks hold a place or have completed. One that is being deleted still holds its place."""
        counts = self.after
        return sum(counts[state] for state in (*_OCCUPYING, "Succeeded")) >= self.min_member

    @property
    def unready(self) -> int:
        counts = self.after
        ready = sum(counts[state] for state in (*_OCCUPYING[:3], "Succeeded"))
        return self.min_member - ready - self.schedulable

    def phase(self, current: str) -> str:
        """The phase this cycle writes. What it has just bound does not count yet."""
        counts = self.before
        if counts["Running"] and not self.is_ready:
            return "Unknown"
        ended = sum(counts[state] for state in _ENDED)
        allocated = ended + sum(counts[state] for state in _OCCUPYING)
        if allocated >= self.min_member and allocated:
            return "Completed" if ended == allocated else "Running"
        return current if current == "Inqueue" else "Pending"

    def fit_text(self) -> str:
        """E.g. "pod group is not ready, 1 Pending, 4 minAvailable; Pending: 1 Unschedulable"."""
        counts = self.after
        parts = [f"{count} {state}" for state, count in counts.items() if count]
        parts.append(f"{self.min_member} minAvailable")
        text = f"pod group is {'ready' if self.is_ready else 'not ready'}, {', '.join(sorted(parts))}"
        if counts["Pending"]:
            waiting = {"Unschedulable": counts["Pending"] - self.schedulable, "Schedulable": self.schedulable}
            text += f"; Pending: {', '.join(sorted(f'{count} {what}' for what, count in waiting.items() if count))}"
        return f"{text}. Origin reason is {self.origin}" if self.origin else text

    def event_text(self) -> str:
        return f"{self.after['Pending']}/{self.total} tasks in gang unschedulable: {self.fit_text()}"

    def condition(self) -> Obj | None:
        """The condition of this cycle without its time and transitionID; None for a group without pods."""
        if not self.total:
            return None
        if self.is_ready:
            return {"reason": SCHEDULED_REASON, "status": "True", "type": "Scheduled"}
        message = f"{self.unready}/{self.total} tasks in gang unschedulable: {self.fit_text()}"
        return {"message": message, "reason": "NotEnoughResources", "status": "True", "type": "Unschedulable"}


def with_condition(conditions: list[Obj], made: Obj | None, now: str, transition: str) -> list[Obj]:
    """The conditions with `made` in place of the one of its type, or appended."""
    if made is None:
        return conditions
    stamped = dict(sorted({**made, "lastTransitionTime": now, "transitionID": transition}.items()))
    if all(each["type"] != made["type"] for each in conditions):
        return [*conditions, stamped]
    return [stamped if each["type"] == made["type"] else each for each in conditions]


def says_the_same(old: list[Obj], new: list[Obj]) -> bool:
    """Whether two lists of conditions differ in times and transitionIDs at most."""

    def told(conditions: list[Obj]) -> list[tuple[Any, ...]]:
        return [tuple(each.get(key) for key in ("type", "status", "reason", "message")) for each in conditions]

    return told(old) == told(new)


def counts_shown(counts: Counter[str]) -> Obj:
    """status.running, succeeded and failed; omitted when 0."""
    shown = {"failed": "Failed", "running": "Running", "succeeded": "Succeeded"}
    return {key: counts[state] for key, state in shown.items() if counts[state]}
