"""What a pod worker remembers of a container, and some words of the kubelet's."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from simcluster.clock import Timer
from simcluster.controllers.podstatus import UNKNOWN_MESSAGE, UNKNOWN_REASON, ContainerState
from simcluster.controllers.runs import SIGKILL_CODE, Run

Obj = dict[str, Any]


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
