"""What a pod worker remembers of a container, and some words of the kubelet's."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from simcluster.clock import Timer, rfc3339
from simcluster.controllers.podstatus import UNKNOWN_MESSAGE, UNKNOWN_REASON, ContainerState
from simcluster.controllers.runs import SIGKILL_CODE, Run

Obj = dict[str, Any]

_MAX_MESSAGE = 4096  # what a kubelet keeps of a termination message
_NEVER = "1970-01-01T00:00:00Z"


@dataclass
class Container:
    """A container with what the kubelet remembers of it beyond its status."""

    shown: ContainerState
    is_init: bool
    run: Run = field(default_factory=Run)
    started_at: float = 0.0
    ended_at: float = 0.0
    back_off: float = 0.0  # seconds to wait before the next restart; 0: none yet
    waits: float = 0.0  # seconds of the back-off it is in; 0: in none
    exit_timer: Timer | None = None
    exited_with: int | None = None  # the process is over, whether or not the status says so yet

    def note_end(self, code: int, killed: bool = False) -> None:
        """The status says terminated, with the run's own words unless it was killed."""
        shown, run = self.shown, self.run
        terminated: Obj = {
            "exitCode": code,
            "reason": ("Error" if code else "Completed") if killed else run.shown_reason,
        }
        message = run.message or run.start_error
        if message and not killed:
            terminated["message"] = message[-_MAX_MESSAGE:]
        terminated |= {
            "startedAt": rfc3339(self.started_at) if self.started_at else _NEVER,
            "finishedAt": rfc3339(self.ended_at),
            "containerID": f"containerd://{shown.container_id}",
        }
        shown.state = {"terminated": terminated}

    def remember_end(self) -> None:
        """A state that says terminated becomes the last state."""
        if "terminated" in self.shown.state:
            self.shown.last_state = self.shown.state

    def show_back_off(self, pod: str) -> None:
        """The status says CrashLoopBackOff. `pod`: its full name."""
        text = f"back-off {duration(self.waits)} restarting failed container={self.shown.name} pod={pod}"
        self.remember_end()
        self.shown.state = {"waiting": {"reason": "CrashLoopBackOff", "message": text}}


def waiting_for(spec: Obj, reason: str) -> ContainerState:
    return ContainerState(spec, {"waiting": {"reason": reason}})


def lost() -> Obj:
    """What a kubelet writes for a container that it cannot find: no exit code of the program's."""
    lost = {"exitCode": SIGKILL_CODE, "reason": UNKNOWN_REASON, "message": UNKNOWN_MESSAGE}
    return {"terminated": {**lost, "startedAt": None, "finishedAt": None}}


def duration(seconds: float) -> str:
    """As Go prints it: 10s, 1m20s, 5m0s."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}m{rest}s" if minutes else f"{rest}s"
