"""One pod's life on its node, write by write as a real kubelet makes them.

Start: waiting (ContainerCreating), sandbox ready, Running. End: the container terminated while the phase still says
Running, the final phase about a second later. A container that is to run again is restarted in place: at once the
first time, then after 10, 20, 40 ... 300 s, and only the new run raises restartCount. Deletion: noted, SIGTERM, then
terminated and final phase in one write, and the kubelet's own delete with grace period 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from simcluster.clock import Timer, rfc3339
from simcluster.controllers import delays
from simcluster.controllers.delays import Range
from simcluster.controllers.plan import SIGKILL_CODE, PlanError, Run
from simcluster.controllers.podstatus import UNKNOWN_MESSAGE, UNKNOWN_REASON, ContainerState, PodState, pod_status
from simcluster.errors import ApiError
from simcluster.resources import PODS

if TYPE_CHECKING:
    from simcluster.controllers.kubelet import Kubelet

Obj = dict[str, Any]

FIRST_BACK_OFF_SECONDS = 10.0
MAX_BACK_OFF_SECONDS = 300.0
BACK_OFF_FORGOTTEN_SECONDS = 600.0
_MAX_MESSAGE = 4096  # what a kubelet keeps of a termination message
_CLEARS_RESOURCES = 0.4  # how often a finished pod gets one more write, which empties status.resources


@dataclass
class _Container:
    """A container with what the kubelet remembers of it beyond its status."""

    shown: ContainerState
    is_init: bool
    run: Run = field(default_factory=Run)
    started_at: float = 0.0
    ended_at: float = 0.0
    back_off: float = 0.0  # seconds to wait before the next restart; 0: none yet
    exit_timer: Timer | None = None
    exited_with: int | None = None  # the process is over, whether or not the status says so yet


class PodWorker:
    def __init__(self, kubelet: Kubelet, pod: Obj) -> None:
        self._kubelet = kubelet
        self._uid = pod["metadata"]["uid"]
        self._key = (pod["metadata"].get("namespace"), pod["metadata"]["name"])
        spec = pod["spec"]
        waiting = "PodInitializing" if spec.get("initContainers") else "ContainerCreating"
        self._init = [_Container(_waiting(each, "PodInitializing"), True) for each in spec.get("initContainers") or []]
        self._main = [_Container(_waiting(each, waiting), False) for each in spec["containers"]]
        self._state = PodState(
            [each.shown for each in self._init],
            [each.shown for each in self._main],
            host_ip=kubelet.node.address,
            restart_policy=spec.get("restartPolicy", "Always"),
        )
        self._timers: set[Timer] = set()
        self._stopped = False
        self._terminating = False
        self._signalled = False

    def start(self) -> None:
        """Takes the pod on; a pod that has ended before (seen after a restart of the kubelet) is left alone."""
        if ((self._pod() or {}).get("status") or {}).get("phase") in ("Failed", "Succeeded"):
            return
        self._later(delays.FIRST_STATUS, self._accept)

    def stop(self) -> None:
        """The pod is gone."""
        self._stopped = True
        self._cancel_timers()

    def terminate(self, grace_seconds: int) -> None:
        """The pod is to be deleted. Asked again, nothing changes."""
        if self._terminating or self._stopped or self._state.phase in ("Failed", "Succeeded"):
            return
        self._terminating = True
        self._cancel_timers(keep_exits=True)
        self._later(delays.TERMINATION_NOTICED, self._signal, float(grace_seconds))

    # Starting

    def _accept(self) -> None:
        self._state.started_at = self._now()
        self._write()
        self._warn_of_dns(delay=Range(0.2, 0.28, 0.35))
        self._later(delays.INIT_SANDBOX_READY if self._init else delays.SANDBOX_READY, self._sandbox_ready)

    def _sandbox_ready(self) -> None:
        self._state.sandbox_ready = True
        self._write()
        self._warn_of_dns()
        if self._init:
            self._start_init(0)
        else:
            self._announce_start(self._main)
            wanted = delays.STARTED_SIDECARS if len(self._main) > 1 else delays.STARTED
            self._later(wanted, self._main_started)

    def _start_init(self, index: int) -> None:
        container = self._init[index]
        self._announce_start([container])
        self._later(delays.INIT_STARTED, self._init_started, container)

    def _init_started(self, container: _Container) -> None:
        self._state.pod_ip = self._state.pod_ip or self._kubelet.next_address()
        self._run(container)
        self._write()

    def _init_ended(self, container: _Container) -> None:
        index = self._init.index(container)
        if container.shown.exit_code != 0:
            self._after_failure(container)
        elif index + 1 < len(self._init):
            self._write()
            self._start_init(index + 1)
        else:
            self._write()
            self._later(delays.INIT_TO_MAIN, self._main_started)
            self._announce_start(self._main)

    def _main_started(self) -> None:
        self._state.pod_ip = self._state.pod_ip or self._kubelet.next_address()
        self._state.phase = "Running"
        for container in self._main:
            self._run(container)
        self._write()
        self._warn_of_dns()
        self._warn_of_dns(delay=Range(0.2, 0.5, 0.9))

    def _run(self, container: _Container) -> None:
        """Starts the process and plans its end."""
        pod = self._pod()
        if pod is None:
            return
        now, shown = self._kubelet.clock.now(), container.shown
        container.exited_with = None
        container.run = self._next_run(pod, shown.spec)
        container.started_at = now - delays.PROCESS_START.draw(self._kubelet.rng)
        shown.container_id = f"{self._kubelet.rng.getrandbits(256):064x}"
        shown.state = {"running": {"startedAt": rfc3339(container.started_at)}}
        self._tell("Normal", "Started", "Container started", shown)
        seconds = container.run.seconds(self._kubelet.rng)
        if seconds is not None:
            end = container.started_at + seconds + delays.PROCESS_START.draw(self._kubelet.rng)
            container.exit_timer = self._at(end - now, self._process_ended, container, container.run.code)

    def _next_run(self, pod: Obj, spec: Obj) -> Run:
        try:
            return self._kubelet.runs.next_run(pod, spec)
        except PlanError as error:
            self._kubelet.recorder.event(pod, "Warning", "InvalidSimulationPlan", str(error))
            return Run()

    # Ending

    def _process_ended(self, container: _Container, code: int) -> None:
        container.ended_at, container.exit_timer, container.exited_with = self._kubelet.clock.now(), None, code
        if not self._terminating:
            self._later(delays.EXIT_NOTICED, self._exit_noticed, container, code)
        elif self._signalled:
            self._note_end(container, code)
            self._end_deleted_when_over()

    def _exit_noticed(self, container: _Container, code: int) -> None:
        self._note_end(container, code)
        if container.is_init:
            self._init_ended(container)
        elif self._state.will_restart(container.shown):
            self._after_failure(container)
        else:
            self._write()
            if self._state.final_phase is not None:
                self._later(delays.FINAL_PHASE, self._finish)

    def _note_end(self, container: _Container, code: int, killed: bool = False) -> None:
        shown, run = container.shown, container.run
        terminated: Obj = {
            "exitCode": code,
            "reason": ("Error" if code else "Completed") if killed else run.shown_reason,
        }
        if run.message and not killed:
            terminated["message"] = run.message[-_MAX_MESSAGE:]
        terminated |= {
            "startedAt": rfc3339(container.started_at),
            "finishedAt": rfc3339(container.ended_at),
            "containerID": f"containerd://{shown.container_id}",
        }
        shown.state = {"terminated": terminated}

    def _finish(self) -> None:
        phase = self._state.final_phase
        if phase is None:
            return
        self._state.phase, self._state.sandbox_ready = phase, False
        self._write()
        if self._kubelet.rng.random() < _CLEARS_RESOURCES:
            self._later(delays.RESOURCES_CLEARED, self._clear_resources)

    def _clear_resources(self) -> None:
        self._state.show_resources = False
        self._write(ended=self._terminating)

    # Restarting in place

    def _after_failure(self, container: _Container) -> None:
        """A container has ended and is to run again, unless it is an init container of a pod that never restarts."""
        if self._state.failed_init is not None:
            self._write()
            self._later(delays.FINAL_PHASE, self._finish)
            return
        if container.ended_at - container.started_at > BACK_OFF_FORGOTTEN_SECONDS:
            container.back_off = 0.0
        wait = container.back_off
        container.back_off = min(MAX_BACK_OFF_SECONDS, wait * 2) if wait else FIRST_BACK_OFF_SECONDS
        self._warn_of_dns()
        if wait:
            self._tell_back_off(container)
            self._write()
            late = delays.BACK_OFF_LATE.draw(self._kubelet.rng)
            self._at(wait + late, self._back_off_over, container, wait)
        else:
            self._write()
            self._announce_start([container])
            self._later(delays.RESTARTED, self._restarted, container)

    def _tell_back_off(self, container: _Container) -> None:
        namespace, name = self._key
        text = f"Back-off restarting failed container {container.shown.name} in pod {name}_{namespace}({self._uid})"
        self._tell("Warning", "BackOff", text, container.shown)

    def _back_off_over(self, container: _Container, waited: float) -> None:
        """The state turns to CrashLoopBackOff only when the kubelet looks again, which is when the wait is over."""
        namespace, name = self._key
        shown = container.shown
        text = f"back-off {_duration(waited)} restarting failed container={shown.name} "
        text += f"pod={name}_{namespace}({self._uid})"
        shown.last_state, shown.state = shown.state, {"waiting": {"reason": "CrashLoopBackOff", "message": text}}
        self._write()
        self._announce_start([container])
        self._later(delays.RESTARTED_AFTER_BACK_OFF, self._restarted, container)

    def _restarted(self, container: _Container) -> None:
        shown = container.shown
        if "terminated" in shown.state:
            shown.last_state = shown.state
        shown.restart_count += 1
        self._run(container)
        self._write()
        self._warn_of_dns()

    # Deleting

    def _signal(self, grace_seconds: float) -> None:
        self._signalled = True
        for container in (*self._init, *self._main):
            if container.exited_with is not None and container.shown.is_running:
                self._note_end(container, container.exited_with)
            elif container.shown.is_running:
                self._tell("Normal", "Killing", f"Stopping container {container.shown.name}", container.shown)
                self._send_sigterm(container, grace_seconds)
        self._write()
        if not self._still_running():
            self._later(delays.KILLED, self._end_deleted)

    def _send_sigterm(self, container: _Container, grace_seconds: float) -> None:
        code, rng = container.run.term_code, self._kubelet.rng
        wait = min(grace_seconds, delays.TERM_HANDLED.draw(rng))
        if code is None:
            wait = grace_seconds + delays.KILLED.draw(rng)
        self._at(wait, self._stopped_by_signal, container, SIGKILL_CODE if code is None else code)

    def _stopped_by_signal(self, container: _Container, code: int) -> None:
        if not container.shown.is_running:
            return
        if container.exit_timer is not None:
            container.exit_timer.cancel()
        container.ended_at, container.exit_timer, container.exited_with = self._kubelet.clock.now(), None, code
        self._note_end(container, code, killed=True)
        self._end_deleted_when_over()

    def _still_running(self) -> bool:
        return any(each.shown.is_running for each in (*self._init, *self._main))

    def _end_deleted_when_over(self) -> None:
        if not self._still_running():
            self._end_deleted()

    def _end_deleted(self) -> None:
        """Terminated and the final phase in one write; then the pod goes."""
        for container in (*self._init, *self._main):
            shown = container.shown
            if "waiting" in shown.state:
                shown.state = shown.last_state if "terminated" in shown.last_state else _lost()
        failed = any(each.exit_code for each in (*self._state.init, *self._state.main))
        self._state.phase, self._state.sandbox_ready = "Failed" if failed else "Succeeded", False
        self._write(ended=True)
        if self._kubelet.rng.random() < _CLEARS_RESOURCES:
            self._later(delays.POD_REMOVED, self._clear_resources)
        self._later(delays.POD_REMOVED, self._remove)

    def _remove(self) -> None:
        namespace, name = self._key
        try:
            self._kubelet.store.delete(PODS, namespace, name, grace_seconds=0, uid=self._uid)
        except ApiError:  # gone already, or another pod of that name
            self.stop()

    # Helpers

    def _pod(self) -> Obj | None:
        pod = self._kubelet.store.find(PODS, *self._key)
        return pod if pod is not None and pod["metadata"]["uid"] == self._uid else None

    def _write(self, ended: bool = False) -> None:
        pod = self._pod()
        if pod is None:
            self.stop()
            return
        status = pod_status(pod, self._state, self._now(), ended)
        self._kubelet.store.update(PODS, {**pod, "status": status}, "status")

    def _now(self) -> str:
        return rfc3339(self._kubelet.clock.now())

    def _later(self, delay: Range, fn: Callable[..., None], *args: Any) -> Timer:
        return self._at(delay.draw(self._kubelet.rng), fn, *args)

    def _at(self, seconds: float, fn: Callable[..., None], *args: Any) -> Timer:
        def run() -> None:
            self._timers.discard(timer)
            if not self._stopped:
                fn(*args)

        timer = self._kubelet.clock.call_later(seconds, run)
        self._timers.add(timer)
        return timer

    def _cancel_timers(self, keep_exits: bool = False) -> None:
        exits = {each.exit_timer for each in (*self._init, *self._main)} if keep_exits else set()
        for timer in self._timers - exits:
            timer.cancel()
        self._timers &= exits

    def _tell(self, kind: str, reason: str, message: str, shown: ContainerState) -> None:
        pod = self._pod()
        if pod is not None:
            part = "initContainers" if shown in self._state.init else "containers"
            self._kubelet.recorder.event(pod, kind, reason, message, f"spec.{part}{{{shown.name}}}")

    def _announce_start(self, containers: list[_Container]) -> None:
        for container in containers:
            image = container.shown.spec.get("image", "")
            text = f'Container image "{image}" already present on machine and can be accessed by the pod'
            self._tell("Normal", "Pulled", text, container.shown)
            self._later(delays.IMAGE_TO_CREATED, self._tell, "Normal", "Created", "Container created", container.shown)

    def _warn_of_dns(self, delay: Range | None = None) -> None:
        if self._kubelet.cluster_dns:
            return
        if delay is not None:
            self._later(delay, self._warn_of_dns)
            return
        pod, (namespace, name) = self._pod(), self._key
        if pod is not None:
            text = (
                f'pod: "{name}_{namespace}({self._uid})". kubelet does not have ClusterDNS IP configured and cannot '
                'create Pod using "ClusterFirst" policy. Falling back to "Default" policy.'
            )
            self._kubelet.recorder.event(pod, "Warning", "MissingClusterDNS", text)


def _waiting(spec: Obj, reason: str) -> ContainerState:
    return ContainerState(spec, {"waiting": {"reason": reason}})


def _lost() -> Obj:
    """What a kubelet writes for a container that it cannot find: no exit code of the program's."""
    lost = {"exitCode": SIGKILL_CODE, "reason": UNKNOWN_REASON, "message": UNKNOWN_MESSAGE}
    return {"terminated": {**lost, "startedAt": None, "finishedAt": None}}


def _duration(seconds: float) -> str:
    """As Go prints it: 10s, 1m20s, 5m0s."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}m{rest}s" if minutes else f"{rest}s"
