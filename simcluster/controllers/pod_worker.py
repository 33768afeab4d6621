"""One pod's life on its node, write by write as a real kubelet makes them.

Start: waiting (ContainerCreating), sandbox ready, Running. End: the container terminated while the phase still says
Running, the final phase about a second later. A container that is to run again is restarted in place: at once the
first time, then after 10, 20, 40 ... 300 s, and only the new run raises restartCount. Deletion: noted, SIGTERM, then
terminated and final phase in one write, and the kubelet's own delete with grace period 0. What is being started when
the deletion comes is started all the same, and killed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from simcluster.clock import rfc3339
from simcluster.controllers import delays
from simcluster.controllers.delays import Range
from simcluster.controllers.image_puller import ImagePuller
from simcluster.controllers.pod_containers import Container, lost, waiting_for
from simcluster.controllers.pod_reporter import PodReporter
from simcluster.controllers.pod_timers import PodTimers
from simcluster.controllers.podstatus import PodState
from simcluster.controllers.runs import SIGKILL_CODE, PlanError, Run

if TYPE_CHECKING:
    from simcluster.controllers.kubelet import Kubelet

Obj = dict[str, Any]

FIRST_BACK_OFF_SECONDS = 10.0
MAX_BACK_OFF_SECONDS = 300.0
BACK_OFF_FORGOTTEN_SECONDS = 600.0
_CLEARS_RESOURCES = 0.4  # how often a finished pod gets one more write, which empties status.resources
_MERGED = 0.1  # how often a write around an init container is left to the next one
_HANDLER_IN_TIME = 0.5  # how often a process that is killed as it starts has set up its handler
_NO_WAY_TO_RUN = ("ErrImagePull", "ImagePullBackOff")


class PodWorker:
    def __init__(self, kubelet: Kubelet, pod: Obj) -> None:
        self._kubelet = kubelet
        spec = pod["spec"]
        inits = spec.get("initContainers") or []
        waiting = "PodInitializing" if inits else "ContainerCreating"
        self._init = [Container(waiting_for(each, "PodInitializing"), True) for each in inits]
        self._main = [Container(waiting_for(each, waiting), False) for each in spec["containers"]]
        self._state = PodState(
            [each.shown for each in self._init],
            [each.shown for each in self._main],
            host_ip=kubelet.node.address,
            restart_policy=spec.get("restartPolicy", "Always"),
        )
        self._grace_seconds = 0.0
        self._report = PodReporter(kubelet, pod, self._state)
        self._deadline = spec.get("activeDeadlineSeconds")
        self._timers = PodTimers(kubelet)
        self._terminating = False
        self._signalled = False

    def start(self) -> None:
        """Takes the pod on; a pod that has ended before (seen after a restart of the kubelet) is left alone."""
        if ((self._report.pod() or {}).get("status") or {}).get("phase") in ("Failed", "Succeeded"):
            self._state.phase = "Failed"
            return
        self._timers.later(delays.FIRST_STATUS, self._accept)

    def stop(self) -> None:
        """The pod is gone."""
        self._timers.stop()
        self._kubelet.logs.forget(self._report.uid)

    def terminate(self, grace_seconds: int) -> None:
        """The pod is to be deleted. Asked again, nothing changes."""
        if self._terminating or self._timers.stopped or self._state.phase in ("Failed", "Succeeded"):
            return
        self._terminating = True
        exits = {each.exit_timer for each in self._all if each.exit_timer is not None}
        self._timers.cancel_for_deletion(exits)
        self._timers.later(delays.TERMINATION_NOTICED, self._signal, float(grace_seconds))

    def pod(self) -> Obj | None:
        """The pod as it stands; None if it is gone."""
        return self._report.pod()

    def resync(self) -> None:
        """Tells the pod's status again, as a kubelet does when it comes back."""
        if self._state.started_at and self._state.phase not in ("Failed", "Succeeded"):
            self._write()

    def fail(self, reason: str, message: str, disruption: str = "") -> None:
        """Ends the pod at once with a reason of the kubelet's own: Evicted, DeadlineExceeded and so on.
        `disruption`: the reason of a DisruptionTarget condition."""
        if self._timers.stopped or self._state.phase in ("Failed", "Succeeded"):
            return
        self._timers.cancel()
        self._report.tell("Warning", reason, message)
        if disruption:
            self._report.add_condition("DisruptionTarget", disruption, message)
        for container in self._all:
            if container.shown.is_running:
                self._report.tell("Normal", "Killing", f"Stopping container {container.shown.name}", container.shown)
                container.ended_at = self._kubelet.clock.now()
                container.note_end(SIGKILL_CODE, killed=True)
        self._state.reason, self._state.message = reason, message
        self._fill_in_lost()
        self._state.phase, self._state.sandbox_ready = "Failed", False
        self._write(ended=True)

    # Starting

    def _accept(self) -> None:
        self._state.started_at = self._report.now
        self._write()
        self._timers.later(Range(0.2, 0.28, 0.35), self._report.warn_of_dns)
        if isinstance(self._deadline, int):
            text = "Pod was active on the node longer than the specified deadline"
            self._timers.at(float(self._deadline), self.fail, "DeadlineExceeded", text)
        delay = delays.INIT_SANDBOX_READY if self._init else delays.SANDBOX_READY
        self._timers.at(self._kubelet.busy_until(delay.draw(self._kubelet.rng)), self._sandbox_ready)

    def _sandbox_ready(self) -> None:
        self._state.sandbox_ready = True
        if not self._init or self._kubelet.rng.random() >= _MERGED:
            self._write()
        self._report.warn_of_dns()
        if self._init:
            self._start_init(0)
        else:
            self._start_main(delays.STARTED_SIDECARS if len(self._main) > 1 else delays.STARTED)

    def _start_init(self, index: int) -> None:
        container = self._init[index]
        self._begin([container], delays.INIT_STARTED)

    def _start_main(self, delay: Range) -> None:
        self._begin(self._main, delay)

    def _begin(self, containers: list[Container], delay: Range) -> None:
        """Has containers started together; those whose image cannot be pulled come later, each by itself."""
        missing = [each for each in containers if self._pull_error(each)]
        for container in missing:
            self._pull(container)
        present = [each for each in containers if each not in missing]
        if present:
            self._announce_start(present)
            self._start_later(present, self._kubelet.busy_until(delay.draw(self._kubelet.rng)))

    def _pull_error(self, container: Container) -> str:
        pod, kubelet = self._report.pod(), self._kubelet
        return kubelet.programs.pull_error(pod, container.shown.spec, kubelet.clock.now()) if pod else ""

    def _pull(self, container: Container) -> None:
        def ready() -> None:
            self._tell_created([container])
            self._start_later([container], delays.STARTED.draw(self._kubelet.rng))

        ImagePuller(
            container.shown, self._report, self._timers.later, lambda: self._pull_error(container), ready
        ).attempt()

    def _start_later(self, containers: list[Container], seconds: float) -> None:
        self._timers.start(seconds, self._started, containers)

    def _started(self, containers: list[Container]) -> None:
        self._state.pod_ip = self._state.pod_ip or self._kubelet.next_address()
        for container in containers:
            self._run(container)
        if not containers[0].is_init and all("waiting" not in each.shown.state for each in self._main):
            self._state.phase = "Running"
        if any(each.shown.is_running for each in containers):
            self._write()
            if not containers[0].is_init:
                self._report.warn_of_dns()
                self._timers.later(Range(0.2, 0.5, 0.9), self._report.warn_of_dns)
        if self._signalled:
            self._kill_late_starters(containers)

    def _run(self, container: Container) -> None:
        """Starts the process and plans its end."""
        pod = self._report.pod()
        if pod is None:
            return
        now, shown, rng = self._kubelet.clock.now(), container.shown, self._kubelet.rng
        container.exited_with = None
        container.run = self._next_run(pod, shown.spec)
        shown.container_id = f"{rng.getrandbits(256):064x}"
        if container.run.start_error:
            self._report.tell("Warning", "Failed", f"Error: {container.run.start_error}", shown)
            container.started_at, container.ended_at, container.exited_with = 0.0, now, container.run.code
            self._timers.later(delays.START_FAILURE_NOTICED, self._exit_noticed, container, container.run.code)
            return
        container.started_at = now - delays.PROCESS_START.draw(rng)
        shown.state = {"running": {"startedAt": rfc3339(container.started_at)}}
        self._report.tell("Normal", "Started", "Container started", shown)
        seconds = container.run.seconds(rng)
        self._kubelet.logs.started(self._report.uid, shown.name, container.run, container.started_at, seconds)
        if seconds is not None:
            end = container.started_at + seconds + delays.PROCESS_START.draw(rng)
            container.exit_timer = self._timers.at(
                end - now, self._process_ended, container, container.run.code, process=True
            )

    def _next_run(self, pod: Obj, spec: Obj) -> Run:
        try:
            return self._kubelet.programs.next_run(pod, spec)
        except PlanError as error:
            self._kubelet.recorder.event(pod, "Warning", "InvalidSimulationPlan", str(error))
            return Run()

    # Ending

    def _process_ended(self, container: Container, code: int) -> None:
        container.ended_at, container.exit_timer, container.exited_with = self._kubelet.clock.now(), None, code
        shown = container.shown
        self._kubelet.logs.ended(self._report.uid, shown.name, container.ended_at, code, container.run.shown_reason)
        if not self._terminating:
            self._timers.later(delays.EXIT_NOTICED, self._exit_noticed, container, code)
        elif self._signalled and not self._kubelet.is_silent:
            container.note_end(code)
            self._end_deleted_when_over()

    def _exit_noticed(self, container: Container, code: int) -> None:
        self._show_back_offs()
        container.note_end(code)
        if self._terminating:
            self._write()
            self._timers.later(delays.KILLED, self._end_deleted_when_over)
        elif container.is_init:
            self._init_ended(container)
        elif self._state.will_restart(container.shown):
            self._state.phase = "Running" if self._has_started else self._state.phase
            self._after_failure(container)
        else:
            self._write()
            if self._state.final_phase is not None:
                self._timers.later(delays.FINAL_PHASE, self._finish)

    @property
    def _has_started(self) -> bool:
        return all("waiting" not in each.shown.state or each.shown.restart_count for each in self._main)

    def _init_ended(self, container: Container) -> None:
        index = self._init.index(container)
        if container.shown.exit_code != 0:
            self._after_failure(container)
            return
        is_last = index + 1 == len(self._init)
        if not is_last or self._kubelet.rng.random() >= _MERGED:
            self._write()
        if is_last:
            self._start_main(delays.INIT_TO_MAIN)
        else:
            self._start_init(index + 1)

    def _finish(self) -> None:
        phase = self._state.final_phase
        if phase is None:
            return
        self._state.phase, self._state.sandbox_ready = phase, False
        self._write()
        if self._kubelet.rng.random() < _CLEARS_RESOURCES:
            self._timers.later(delays.RESOURCES_CLEARED, self._clear_resources)

    def _clear_resources(self) -> None:
        self._state.show_resources = False
        self._write(ended=self._terminating)

    # Restarting in place

    def _after_failure(self, container: Container) -> None:
        """A container has ended and is to run again, unless it is an init container of a pod that never restarts."""
        if self._state.failed_init is not None:
            self._write()
            self._timers.later(delays.FINAL_PHASE, self._finish)
            return
        if container.ended_at - container.started_at > BACK_OFF_FORGOTTEN_SECONDS and container.started_at:
            container.back_off = 0.0
        wait = container.back_off
        container.back_off = min(MAX_BACK_OFF_SECONDS, wait * 2) if wait else FIRST_BACK_OFF_SECONDS
        self._report.warn_of_dns()
        if wait:
            self._report.tell_back_off(container.shown)
            self._write()
            container.waits = wait
            self._timers.at(wait + delays.BACK_OFF_LATE.draw(self._kubelet.rng), self._back_off_over, container)
        else:
            self._write()
            self._announce_start([container])
            self._timers.start(delays.RESTARTED.draw(self._kubelet.rng), self._restarted, container)

    def _show_back_offs(self) -> None:
        """Whenever the kubelet looks at the pod, what waits for its restart says CrashLoopBackOff from then on."""
        for container in self._all:
            if container.waits and "terminated" in container.shown.state:
                self._report.tell_back_off(container.shown)
                container.show_back_off(self._report.full_name)

    def _back_off_over(self, container: Container) -> None:
        """The state turns to CrashLoopBackOff when the kubelet looks again, at the latest when the wait is over."""
        container.show_back_off(self._report.full_name)
        container.waits = 0.0
        self._write()
        self._announce_start([container])
        self._timers.start(delays.RESTARTED_AFTER_BACK_OFF.draw(self._kubelet.rng), self._restarted, container)

    def _restarted(self, container: Container) -> None:
        container.remember_end()
        container.shown.restart_count += 1
        self._run(container)
        self._write()
        self._report.warn_of_dns()
        if self._signalled:
            self._kill_late_starters([container])

    # Deleting

    def _signal(self, grace_seconds: float) -> None:
        self._signalled = True
        self._grace_seconds = grace_seconds
        for container in self._all:
            shown = container.shown
            if container.exited_with is not None and shown.is_running:
                container.note_end(container.exited_with)
            elif shown.is_running:
                self._report.tell("Normal", "Killing", f"Stopping container {shown.name}", shown)
                self._send_sigterm(container, container.run.term_code)
            elif (shown.state.get("waiting") or {}).get("reason") in _NO_WAY_TO_RUN:
                shown.state = {"waiting": {"reason": "ContainerCreating"}}
        self._write()
        if self._timers.starting or self._still_running():
            return
        if any(each.shown.container_id for each in self._all):
            self._timers.later(delays.KILLED, self._end_deleted)
        else:
            self._timers.later(delays.TERM_HANDLED, self._give_up_sandbox)

    def _give_up_sandbox(self) -> None:
        """No container ever ran: the sandbox goes, and its containers cannot be found."""
        self._state.sandbox_ready = False
        self._write()
        self._timers.later(delays.LOST_CONTAINER, self._end_deleted)

    def _kill_late_starters(self, containers: Iterable[Container]) -> None:
        """What was started during the deletion may have set up no signal handler yet when the signal comes."""
        for container in containers:
            if container.shown.is_running:
                has_handler = self._kubelet.rng.random() < _HANDLER_IN_TIME
                self._send_sigterm(container, container.run.term_code if has_handler else None)

    def _send_sigterm(self, container: Container, code: int | None) -> None:
        rng = self._kubelet.rng
        wait = min(self._grace_seconds, delays.TERM_HANDLED.draw(rng))
        if code is None:
            wait = self._grace_seconds + delays.KILLED.draw(rng)
        self._timers.at(wait, self._stopped_by_signal, container, SIGKILL_CODE if code is None else code)

    def _stopped_by_signal(self, container: Container, code: int) -> None:
        if not container.shown.is_running:
            return
        if container.exit_timer is not None:
            container.exit_timer.cancel()
        container.ended_at, container.exit_timer, container.exited_with = self._kubelet.clock.now(), None, code
        self._kubelet.logs.ended(self._report.uid, container.shown.name, container.ended_at, code, "terminated")
        container.note_end(code, killed=True)
        self._end_deleted_when_over()

    def _still_running(self) -> bool:
        return any(each.shown.is_running for each in self._all)

    def _end_deleted_when_over(self) -> None:
        if not self._still_running() and not self._timers.starting:
            self._end_deleted()

    def _end_deleted(self) -> None:
        """Terminated and the final phase in one write; then the pod goes."""
        if self._state.phase in ("Failed", "Succeeded"):
            return
        self._fill_in_lost()
        failed = any(each.exit_code for each in (*self._state.init, *self._state.main))
        self._state.phase, self._state.sandbox_ready = "Failed" if failed else "Succeeded", False
        self._write(ended=True)
        if self._kubelet.rng.random() < _CLEARS_RESOURCES:
            self._timers.later(delays.POD_REMOVED, self._clear_resources)
        self._timers.later(delays.POD_REMOVED, self._remove)

    def _fill_in_lost(self) -> None:
        """Containers that do not run: as they ended last, or the filler for those that nobody can find."""
        for container in self._all:
            shown = container.shown
            if "waiting" in shown.state:
                shown.state = shown.last_state if "terminated" in shown.last_state else lost()

    def _remove(self) -> None:
        if not self._report.remove():
            self.stop()

    # Helpers

    @property
    def _all(self) -> tuple[Container, ...]:
        return (*self._init, *self._main)

    def _write(self, ended: bool = False) -> None:
        if not self._report.write(ended):
            self.stop()

    def _announce_start(self, containers: list[Container]) -> None:
        for container in containers:
            image = container.shown.spec.get("image", "")
            text = f'Container image "{image}" already present on machine and can be accessed by the pod'
            self._report.tell("Normal", "Pulled", text, container.shown)
        self._tell_created(containers)

    def _tell_created(self, containers: list[Container]) -> None:
        for container in containers:
            self._timers.later(
                delays.IMAGE_TO_CREATED, self._report.tell, "Normal", "Created", "Container created", container.shown
            )
