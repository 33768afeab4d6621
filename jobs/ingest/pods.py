"""A pod's facts from its wire struct."""

from collections.abc import Iterable

from jobs.domain.facts import ContainerFacts, PodFacts, Terminated
from jobs.ingest import wire, wire_pods
from jobs.ingest.values import END_OF_TIME, TERMINATION_LIMIT, bounded, epoch, index, truth, word

FINALIZER_LIMIT = 16
CONTAINER_LIMIT = 64
GATE_LIMIT = 16

_NO_OWNER = wire.OwnerReference()
_NO_LABELS = wire_pods.PodLabels()
_NO_ANNOTATIONS = wire_pods.PodAnnotations()
_NO_SPEC = wire_pods.PodSpec()
_NO_STATUS = wire_pods.PodStatus()
_NO_CONTAINER = wire_pods.ContainerSpec()
_NO_CONTAINER_STATUS = wire_pods.ContainerStatus()
_NO_STATE = wire_pods.ContainerState()
_NO_CONDITION = wire_pods.PodCondition()


def owner_of(metadata: wire.Metadata) -> wire.OwnerReference:
    """The controlling owner, else the first, else an empty reference."""
    first = None
    for owner in metadata.owner_references or ():
        if owner is not None:
            if owner.controller:
                return owner
            first = first or owner
    return first or _NO_OWNER


def deletion_at(metadata: wire.Metadata) -> float | None:
    """When deletion was asked for: the deletionTimestamp lies ahead by the grace period."""
    stamp = epoch(metadata.deletion_timestamp)
    asked = None if stamp is None else stamp - (metadata.deletion_grace_period_seconds or 0)
    return asked if asked is not None and 0 < asked < END_OF_TIME else None


def pod_facts(pod: wire_pods.Pod, metadata: wire_pods.PodMetadata) -> PodFacts:
    """Of a pod of either family. Times are epoch seconds; texts of the cluster are cut to their limits."""
    labels = metadata.labels or _NO_LABELS
    annotations = metadata.annotations or _NO_ANNOTATIONS
    owner = owner_of(metadata)
    spec = pod.spec or _NO_SPEC
    status = pod.status or _NO_STATUS
    conditions = {c.type: c for c in status.conditions or () if c is not None}
    scheduled = conditions.get("PodScheduled", _NO_CONDITION)
    initialized = conditions.get("Initialized", _NO_CONDITION)
    ready = conditions.get("Ready", _NO_CONDITION)
    disruption = conditions.get("DisruptionTarget", _NO_CONDITION)
    disrupted = disruption.status == "True"
    kubeflow = labels.replica_type is not None
    return PodFacts(
        job_uid=word(owner.uid),
        job_api_version=word(owner.api_version),
        job_kind=word(owner.kind),
        job_name=word(owner.name),
        operator_name=word(labels.operator_name),
        replica_type=word(labels.replica_type if kubeflow else labels.task_spec),
        replica_index=index(labels.replica_index if kubeflow else labels.task_index),
        created_at=epoch(metadata.creation_timestamp),
        deletion_at=deletion_at(metadata),
        deletion_grace=metadata.deletion_grace_period_seconds,
        phase=word(status.phase),
        status_reason=word(status.reason),
        status_message=bounded(status.message),
        node=word(spec.node_name),
        pod_ip=word(status.pod_ip),
        nominated_node=word(status.nominated_node_name),
        scheduled_at=epoch(scheduled.last_transition_time) if scheduled.status == "True" else None,
        unschedulable=bounded(scheduled.message) if scheduled.status == "False" else None,
        initialized=truth(initialized.status),
        ready=truth(ready.status),
        ready_reason=word(ready.reason),
        disruption=word(disruption.reason) if disrupted else None,
        disruption_message=bounded(disruption.message) if disrupted else None,
        readiness_gates=_readiness_gates(spec, conditions) if spec.readiness_gates else (),
        restart_policy=word(spec.restart_policy),
        default_container=word(annotations.default_container),
        group_name=word(annotations.group_name),
        priority_class=word(spec.priority_class_name),
        finalizers=_finalizers(metadata) if metadata.finalizers else (),
        containers=_containers(spec, status),
        scheduling_gated=scheduled.reason == "SchedulingGated",
    )


def _finalizers(metadata: wire_pods.PodMetadata) -> tuple[str, ...]:
    return tuple([name for f in (metadata.finalizers or ())[:FINALIZER_LIMIT] if (name := word(f)) is not None])


def _readiness_gates(
    spec: wire_pods.PodSpec, conditions: dict[str | None, wire_pods.PodCondition]
) -> tuple[tuple[str, bool], ...]:
    types = [gate.condition_type for gate in (spec.readiness_gates or ())[:GATE_LIMIT] if gate is not None]
    return tuple([(word(t) or "", conditions.get(t, _NO_CONDITION).status == "True") for t in types])


def _containers(spec: wire_pods.PodSpec, status: wire_pods.PodStatus) -> tuple[ContainerFacts, ...]:
    main = list(_joined(spec.containers, status.container_statuses, init=False))
    if not spec.init_containers and not status.init_container_statuses:
        return tuple(main[:CONTAINER_LIMIT])
    init = list(_joined(spec.init_containers, status.init_container_statuses, init=True))
    return tuple((init + main)[:CONTAINER_LIMIT])


def _joined(
    specs: list[wire_pods.ContainerSpec | None] | None,
    statuses: list[wire_pods.ContainerStatus | None] | None,
    *,
    init: bool,
) -> Iterable[ContainerFacts]:
    """The spec's containers in its order, each with its status; then what only the status names."""
    by_name = {s.name: s for s in statuses or () if s is not None and s.name}
    for spec in specs or ():
        if spec is not None and spec.name:
            yield _container(spec.name, spec, by_name.pop(spec.name, _NO_CONTAINER_STATUS), init=init)
    for name, status in by_name.items():
        yield _container(name or "", _NO_CONTAINER, status, init=init)


def _container(
    name: str, spec: wire_pods.ContainerSpec, status: wire_pods.ContainerStatus, *, init: bool
) -> ContainerFacts:
    state = status.state or _NO_STATE
    waiting, running, terminated = state.waiting, state.running, state.terminated
    last = status.last_state.terminated if status.last_state is not None else None
    return ContainerFacts(
        name=word(name) or "",
        init=init,
        sidecar=init and spec.restart_policy == "Always",
        state="terminated" if terminated else "running" if running else "waiting" if waiting else None,
        waiting_reason=word(waiting.reason) if waiting else None,
        waiting_message=bounded(waiting.message) if waiting else None,
        running_since=epoch(running.started_at) if running else None,
        terminated=_terminated(terminated) if terminated else None,
        last_terminated=_terminated(last) if last else None,
        ready=status.ready is True,
        started=status.started,
        restart_count=status.restart_count or 0,
        image=word(spec.image or status.image),
        image_id=word(status.image_id),
    )


def _terminated(end: wire_pods.Terminated) -> Terminated:
    return Terminated(
        exit_code=end.exit_code,
        reason=word(end.reason),
        message=bounded(end.message, TERMINATION_LIMIT),
        signal=end.signal,
        started_at=epoch(end.started_at),
        finished_at=epoch(end.finished_at),
        container_id=word(end.container_id),
    )
