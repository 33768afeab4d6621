"""Fold one pod's observations into its incarnation."""

from typing import NamedTuple

from jobs.domain.causes import final_end
from jobs.domain.facts import DELETED, LISTED, VANISHED, ContainerFacts, Observation, PodFacts, Terminated
from jobs.domain.kinds import kind_of
from jobs.domain.state import End, Failure, Incarnation, InPlace

FILLER = "ContainerStatusUnknown"  # the kubelet's word for a container that it cannot find: no exit code
IN_PLACE_MISSED = 100  # restarts between two looks at a pod that get an entry of their own; all are counted
FINAL_PHASES = ("Failed", "Succeeded")
FINAL_READY_REASONS = ("PodFailed", "PodCompleted")
PULL_FAILURES = (
    "ErrImagePull",
    "ImagePullBackOff",
    "InvalidImageName",
    "ErrImageNeverPull",
    "ImageInspectError",
    "RegistryUnavailable",
    "SignatureValidationFailed",
)
ENDS_COMPARED = 4  # an end is repeated by the next few observations only; older ones need no comparison


def main_container(facts: PodFacts) -> ContainerFacts | None:
    """The container whose end decides: the kind's default name, else the annotated one, else the first."""
    regular = [c for c in facts.containers if not c.init]
    kind = kind_of(facts.job_api_version, facts.job_kind)
    for name in (kind.container if kind else None, facts.default_container):
        for container in regular:
            if name and container.name == name:
                return container
    return regular[0] if regular else None


def fold_pod(pod: Incarnation, observation: Observation) -> list[InPlace]:
    """Bring ``pod`` up to date; answers the in-place restarts that were added or changed.

    The caller has checked that the observation is newer than the last one.
    """
    at = observation.observed_at
    if observation.verb == VANISHED:
        pod.vanished = (pod.last_seen_at, at)
        pod.version = observation.resource_version
        return []
    facts = observation.facts
    assert isinstance(facts, PodFacts)
    seen_before = pod.last_seen_at if pod.last_seen_at < at else None
    sight = _Sight(at, observation.verb == LISTED, facts.created_at, seen_before)
    pod.version = observation.resource_version
    pod.last_seen_at = at
    pod.vanished = None  # it may only have been missing from a list
    main = main_container(facts)
    _fold_identity(pod, facts, main, sight)
    touched = _fold_main(pod, main, sight) if main else []
    _fold_others(pod, facts, main)
    _fold_end(pod, facts, main, at)
    if observation.verb == DELETED:
        pod.deleted_at = at
        if pod.ended_at is None:
            pod.ended_at = pod.main_ended_seen_at or at
    pod.deleted_first = _deletion_came_first(pod)
    return touched


class _Sight(NamedTuple):
    """When a pod is seen. In a list, what it shows is older, and the object may say how much."""

    at: float
    listed: bool
    created_at: float | None
    before: float | None  # when it was seen last, if ever

    def since(self, said: float | None) -> float:
        """When something began that is seen now. A node's clock that is behind the API server's dates nothing."""
        if not self.listed or said is None or said < (self.created_at or 0.0):
            return self.at
        return min(self.at, said if self.before is None else max(said, self.before))  # whole seconds are cut off


def _fold_identity(pod: Incarnation, facts: PodFacts, main: ContainerFacts | None, sight: _Sight) -> None:
    at = sight.at
    was_over = pod.phase in FINAL_PHASES
    pod.phase = facts.phase
    pod.node = facts.node or pod.node
    pod.scheduled_at = pod.scheduled_at or facts.scheduled_at
    pod.unschedulable = facts.unschedulable
    pod.status_reason = facts.status_reason or pod.status_reason
    pod.status_message = facts.status_message or pod.status_message
    if not was_over:  # a pod that has ended can be evicted, too, by a drain or the API: that did not end it
        _fold_disruption(pod, facts)
    pod.pod_policy = facts.restart_policy or pod.pod_policy
    pod.finalizers = facts.finalizers
    if facts.initialized and pod.initialized_at is None:
        pod.initialized_at = at
    if facts.phase == "Running" and pod.running_at is None:
        pod.running_at = sight.since(_first_run(main))
    if facts.deletion_at is not None and pod.deleting_at is None:
        # The timestamp jumps back when the object finally goes; its first value is when deletion was asked.
        pod.deletion_at = facts.deletion_at
        pod.deletion_grace = facts.deletion_grace
        pod.deleting_at = at
        if not (sight.listed and facts.phase in FINAL_PHASES):  # in a list that phase may be newer than the request
            pod.asked_phase = facts.phase
    elif pod.asked_phase == "Pending" and facts.phase == "Running":
        pod.asked_phase = facts.phase  # it was started all the same


def _fold_disruption(pod: Incarnation, facts: PodFacts) -> None:
    """An announced disruption may be called off while the pod runs on; once the pod goes, the last word stays."""
    going = facts.deletion_at is not None or facts.phase in FINAL_PHASES or pod.deleting_at is not None
    if facts.disruption or not going:
        pod.disruption, pod.disruption_message = facts.disruption, facts.disruption_message


def _deletion_came_first(pod: Incarnation) -> bool:
    """Whether deletion was asked before the main container's last run ended, as we saw it or by the cluster's clock.

    A pod that shows both at once is ordered by whole seconds; within one second the deletion is taken for the cause:
    it kills at once, while a failed pod is deleted a second later at the earliest.
    """
    asked = pod.deleting_at if pod.deleting_at is not None else pod.deleted_at
    if asked is None:
        return False
    end = final_end(pod)
    if end is None:
        return pod.ended_at is None or pod.ended_at >= asked
    dated = end.at is not None and pod.deletion_at is not None
    return end.seen_at >= asked and not (dated and end.at < pod.deletion_at)  # type: ignore[operator]


def _fold_main(pod: Incarnation, main: ContainerFacts, sight: _Sight) -> list[InPlace]:
    was_over = pod.main_ended_seen_at is not None and len(pod.ends) > pod.ends_before_run
    seen_end = pod.ends[-1] if was_over else None
    pod.image = main.image or pod.image
    for end, live in ((main.last_terminated, False), (main.terminated, True)):
        if end is not None:
            _add_end(pod, end, sight.at, live)
    touched = _count_in_place(pod, main, seen_end)
    if main.state == "running":
        touched += _note_run(pod, main, sight.since(main.running_since))
        pod.main_ended_seen_at = None
        pod.ends_before_run = len(pod.ends)
    elif pod.main_ended_seen_at is None or touched:  # touched: a run was over before it was seen
        pod.main_ended_seen_at = _over_since(main, sight)
    pod.main_state = main.state
    pod.waiting_reason = main.waiting_reason
    pod.last_restarts = main.restart_count
    pod.restarts = max(pod.restarts, main.restart_count)
    return touched


def _note_run(pod: Incarnation, main: ContainerFacts, since: float) -> list[InPlace]:
    """Date the restart that began the run under way; it may have been counted while the container still waited."""
    restart = pod.in_place[-1] if pod.in_place else None
    if restart is None or restart.number != main.restart_count or restart.running_at is not None:
        return []
    restart.running_at = since
    return [restart]


def _over_since(main: ContainerFacts, sight: _Sight) -> float | None:
    """Since when the main container has not run, after a run: it ended, or waits for its next try."""
    end = main.terminated if main.state == "terminated" else main.last_terminated
    return None if end is None else sight.since(end.finished_at)


def _first_run(main: ContainerFacts | None) -> float | None:
    """When the main container first ran, as far as the object says."""
    if main is None:
        return None
    ends = [end.started_at for end in (main.last_terminated, main.terminated) if end is not None]
    return min((began for began in (main.running_since, *ends) if began is not None), default=None)


def _add_end(pod: Incarnation, end: Terminated, at: float, live: bool) -> None:
    """Keep an end once. A known code is never overwritten by the kubelet's filler, and the filler is no end."""
    if end.reason == FILLER or end.exit_code is None:
        return
    if any(_is_same_end(known, end) for known in pod.ends[-ENDS_COMPARED:]):
        return
    pod.ends.append(
        End(
            end.finished_at,
            end.exit_code,
            end.reason,
            end.message,
            end.signal,
            end.started_at,
            end.container_id,
            at,
            live,
        )
    )


def _is_same_end(known: End, end: Terminated) -> bool:
    return (known.container_id, known.at, known.exit_code) == (end.container_id, end.finished_at, end.exit_code)


def _count_in_place(pod: Incarnation, main: ContainerFacts, seen_end: End | None) -> list[InPlace]:
    """One entry for each restart that restartCount has newly reached, if there are not absurdly many.

    ``seen_end``: the end that was seen before this observation and not yet followed by a run: it belongs to the first
    of them. The last one's is told by the container, while its new run goes on or has ended.
    """
    first = max(pod.restarts, main.restart_count - IN_PLACE_MISSED) + 1
    added = [InPlace(number, None, None, None, None) for number in range(first, main.restart_count + 1)]
    told = _end_before_run(pod, main) if added else None
    if told is not None:
        _end_before(added[-1], told, told.seen_at if told.live else told.at)
    if added and seen_end is not None:
        _end_before(added[0], seen_end, pod.main_ended_seen_at)
    pod.in_place.extend(added)
    return added


def _end_before_run(pod: Incarnation, main: ContainerFacts) -> End | None:
    """The end before the newest run. While the container waits for its next one, lastState is the newest run's own."""
    end = main.last_terminated if main.state in ("running", "terminated") else None
    if end is None:
        return None
    return next((known for known in pod.ends[-ENDS_COMPARED:] if _is_same_end(known, end)), None)


def _end_before(restart: InPlace, end: End, at: float | None) -> None:
    restart.ended_at, restart.exit_code, restart.reason = at, end.exit_code, end.reason


def _fold_others(pod: Incarnation, facts: PodFacts, main: ContainerFacts | None) -> None:
    """Init containers and sidecars: restarts, failures, and what kubectl's column adds up."""
    if not facts.containers:
        return
    init_restarts = sidecar_restarts = regular_restarts = native_restarts = 0
    initializing = False
    for container in facts.containers:
        if container.init and not container.sidecar:
            init_restarts += container.restart_count
            initializing = initializing or not _init_done(container)
        elif container.init:
            native_restarts += container.restart_count
            initializing = initializing or not container.started
        else:
            regular_restarts += container.restart_count
        if _is_sidecar(container, main):
            sidecar_restarts += container.restart_count
    pod.init_restarts = max(pod.init_restarts, init_restarts)
    pod.sidecar_restarts = max(pod.sidecar_restarts, sidecar_restarts)
    while_initializing = initializing and not facts.initialized
    pod.kubectl_restarts = (init_restarts if while_initializing else regular_restarts) + native_restarts
    _fold_pull(pod, facts)
    if len(facts.containers) > 1:
        _fold_failures(pod, facts, main)


def _is_sidecar(container: ContainerFacts, main: ContainerFacts | None) -> bool:
    return container.sidecar or (not container.init and container is not main)


def _fold_failures(pod: Incarnation, facts: PodFacts, main: ContainerFacts | None) -> None:
    """Which other container is failing. What recovers failed no longer; a state that says nothing changes nothing."""
    init = [c for c in facts.containers if c.init and not c.sidecar and _says(c)]
    side = [c for c in facts.containers if _is_sidecar(c, main) and _says(c)]
    if init:
        pod.init_failure = next((found for c in init if (found := _failure(c))), None)
    if side:
        pod.sidecar_failure = next((found for c in side if (found := _failure(c))), None)
    others = [c for c in facts.containers if c is not main]
    pod.crashing = next((c.name for c in others if c.waiting_reason == "CrashLoopBackOff"), None)


def _fold_pull(pod: Incarnation, facts: PodFacts) -> None:
    for container in facts.containers:
        if container.waiting_reason in PULL_FAILURES:
            pod.pull_failure = container.waiting_reason
            return
    if pod.pull_failure is not None and any(c.state == "running" for c in facts.containers):
        pod.pull_failure = None


def _says(container: ContainerFacts) -> bool:
    """Whether a state tells how the container fares; the kubelet's filler does not."""
    if container.terminated is not None:
        return container.terminated.reason != FILLER
    return container.state is not None


def _init_done(container: ContainerFacts) -> bool:
    return container.terminated is not None and container.terminated.exit_code == 0


def _failure(container: ContainerFacts) -> Failure | None:
    """How a container that does not run ended badly: now, or before the wait for its next try."""
    end = container.terminated
    if end is None and container.state == "waiting":
        end = container.last_terminated
    if end is None or not end.exit_code or end.reason == FILLER:
        return None
    return Failure(container.name, end.exit_code, end.reason)


def _fold_end(pod: Incarnation, facts: PodFacts, main: ContainerFacts | None, at: float) -> None:
    """Set ``ended_at`` once nothing will run any more; take it back if the main container runs after all."""
    if pod.main_ended_seen_at is not None and _for_good(facts, main):
        pod.ended_at = pod.ended_at or pod.main_ended_seen_at
    elif facts.phase in FINAL_PHASES:
        pod.ended_at = pod.ended_at or at
    elif main is not None and main.state == "running":
        pod.ended_at = None


def _for_good(facts: PodFacts, main: ContainerFacts | None) -> bool:
    if facts.phase in FINAL_PHASES or facts.ready_reason in FINAL_READY_REASONS or facts.deletion_at is not None:
        return True
    if facts.restart_policy == "OnFailure":
        return main is not None and main.terminated is not None and main.terminated.exit_code == 0
    return facts.restart_policy == "Never"
