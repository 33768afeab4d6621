"""The parts of Kubernetes objects that are read, as typed structs: what is not named here is skipped, not built.

Real objects hold an explicit null where the API documents a string or a list, so every field, list element and map
value may be null. Numbers are bounded to what a database column holds.
"""

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Struct, UnsetType, field

from jobs.domain.kinds import JobKind

Int = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]  # what Kubernetes calls int32
Long = Annotated[int, msgspec.Meta(ge=-(2**53), le=2**53)]

# Struct options: gc=False because these trees hold no cycles; "camel" because that is how Kubernetes writes names.


class OwnerReference(Struct, gc=False, rename="camel"):
    api_version: str | None = None
    kind: str | None = None
    name: str | None = None
    uid: str | None = None
    controller: bool | None = None


class Metadata(Struct, gc=False, rename="camel"):
    """What every object's metadata holds; labels and annotations differ by family."""

    name: str | None = None
    namespace: str | None = None
    uid: str | None = None
    resource_version: str | None = None
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: Long | None = None
    owner_references: list[OwnerReference | None] | None = None


# --- pods


class PodLabels(Struct, gc=False):
    operator_name: str | None = field(name="training.kubeflow.org/operator-name", default=None)
    replica_type: str | None = field(name="training.kubeflow.org/replica-type", default=None)
    replica_index: str | None = field(name="training.kubeflow.org/replica-index", default=None)
    task_spec: str | None = field(name="volcano.sh/task-spec", default=None)
    task_index: str | None = field(name="volcano.sh/task-index", default=None)


class PodAnnotations(Struct, gc=False):
    default_container: str | None = field(name="kubectl.kubernetes.io/default-container", default=None)
    group_name: str | None = field(name="scheduling.k8s.io/group-name", default=None)


class PodMetadata(Metadata, gc=False, rename="camel"):
    labels: PodLabels | None = None
    annotations: PodAnnotations | None = None
    finalizers: list[str | None] | None = None


class ContainerSpec(Struct, gc=False, rename="camel"):
    name: str | None = None
    image: str | None = None
    restart_policy: str | None = None


class ReadinessGate(Struct, gc=False, rename="camel"):
    condition_type: str | None = None


class PodSpec(Struct, gc=False, rename="camel"):
    init_containers: list[ContainerSpec | None] | None = None
    containers: list[ContainerSpec | None] | None = None
    node_name: str | None = None
    restart_policy: str | None = None
    readiness_gates: list[ReadinessGate | None] | None = None
    priority_class_name: str | None = None


class Waiting(Struct, gc=False):
    reason: str | None = None
    message: str | None = None


class Running(Struct, gc=False, rename="camel"):
    started_at: str | None = None


class Terminated(Struct, gc=False, rename="camel"):
    exit_code: Int | None = None
    signal: Int | None = None
    reason: str | None = None
    message: str | None = None
    started_at: str | None = None
    finished_at: str | None = None
    container_id: str | None = field(name="containerID", default=None)


class ContainerState(Struct, gc=False):
    waiting: Waiting | None = None
    running: Running | None = None
    terminated: Terminated | None = None


class ContainerStatus(Struct, gc=False, rename="camel"):
    name: str | None = None
    state: ContainerState | None = None
    last_state: ContainerState | None = None
    ready: bool | None = None
    started: bool | None = None
    restart_count: Int | None = None
    image: str | None = None
    image_id: str | None = field(name="imageID", default=None)


class PodCondition(Struct, gc=False, rename="camel"):
    type: str | None = None
    status: str | None = None
    reason: str | None = None
    message: str | None = None
    last_transition_time: str | None = None


class PodStatus(Struct, gc=False, rename="camel"):
    phase: str | None = None
    reason: str | None = None
    message: str | None = None
    pod_ip: str | None = field(name="podIP", default=None)
    nominated_node_name: str | None = None
    conditions: list[PodCondition | None] | None = None
    init_container_statuses: list[ContainerStatus | None] | None = None
    container_statuses: list[ContainerStatus | None] | None = None


class Pod(Struct, gc=False, rename="camel"):
    metadata: PodMetadata | None = None
    spec: PodSpec | None = None
    status: PodStatus | None = None


# --- jobs


class JobMetadata(Metadata, gc=False, rename="camel"):
    generation: Long | None = None
    labels: dict[str, str | None] | None = None


class TemplateMetadata(Struct, gc=False):
    annotations: PodAnnotations | None = None


class TemplateSpec(Struct, gc=False, rename="camel"):
    containers: list[ContainerSpec | None] | None = None
    restart_policy: str | None = None


class PodTemplate(Struct, gc=False):
    metadata: TemplateMetadata | None = None
    spec: TemplateSpec | None = None


class ReplicaSpec(Struct, gc=False, rename="camel"):
    """A replica type of a Kubeflow job, or (with a name) a task of a Volcano Job."""

    name: str | None = None
    replicas: Int | None = None
    restart_policy: str | None = None
    template: PodTemplate | None = None


class SchedulingPolicy(Struct, gc=False, rename="camel"):
    min_available: Int | None = None
    queue: str | None = None
    priority_class: str | None = None


class RunPolicy(Struct, gc=False, rename="camel"):
    suspend: bool | None = None
    backoff_limit: Int | None = None
    active_deadline_seconds: Long | None = None
    ttl_seconds_after_finished: Int | None = None
    clean_pod_policy: str | None = None
    scheduling_policy: SchedulingPolicy | None = None


class JobSpec(Struct, gc=False):
    """The spec of a Kubeflow job, whose replica specs have a name of their own for each kind (see ``job_type``)."""

    replica_specs: dict[str, ReplicaSpec | None] | None = None
    run_policy: RunPolicy | None = field(name="runPolicy", default=None)
    success_policy: str | None = field(name="successPolicy", default=None)
    clean_pod_policy: str | None = field(name="cleanPodPolicy", default=None)  # MPIJob has it here too


class VolcanoJobSpec(Struct, gc=False, rename="camel"):
    tasks: list[ReplicaSpec | None] | None = None
    min_available: Int | None = None
    max_retry: Int | None = None
    queue: str | None = None
    priority_class_name: str | None = None
    ttl_seconds_after_finished: Int | None = None


class JobCondition(Struct, gc=False, rename="camel"):
    type: str | None = None
    status: str | None = None
    reason: str | None = None
    message: str | None = None
    last_transition_time: str | None = None
    last_update_time: str | None = None


class ReplicaStatus(Struct, gc=False):
    active: Int | None = None
    succeeded: Int | None = None
    failed: Int | None = None


class VolcanoState(Struct, gc=False, rename="camel"):
    phase: str | None = None
    last_transition_time: str | None = None


class JobStatus(Struct, gc=False, rename="camel"):
    """Of both families: ``state``, ``retry_count`` and ``version`` are Volcano's."""

    conditions: list[JobCondition | None] | None = None
    replica_statuses: dict[str, ReplicaStatus | None] | None = None
    start_time: str | None = None
    completion_time: str | None = None
    state: VolcanoState | None = None
    retry_count: Int | None = None
    version: Int | None = None
    running: Int | None = None
    min_available: Int | None = None


class Job(Struct, gc=False):
    """Base of the types that ``job_type`` makes."""

    api_version: str | None = field(name="apiVersion", default=None)
    metadata: JobMetadata | None = None
    spec: JobSpec | None = None
    status: JobStatus | None = None


class VolcanoJob(Struct, gc=False):
    api_version: str | None = field(name="apiVersion", default=None)
    metadata: JobMetadata | None = None
    spec: VolcanoJobSpec | None = None
    status: JobStatus | None = None


def job_type(kind: JobKind) -> Any:
    """The struct type of ``kind``: a ``Job`` whose replica specs are read from the kind's own field."""
    if not kind.conditions:
        return VolcanoJob
    replica_specs = ("replica_specs", dict[str, ReplicaSpec | None] | None, field(name=kind.specs, default=None))
    spec = msgspec.defstruct(f"{kind.kind}Spec", [replica_specs], bases=(JobSpec,), gc=False)
    spec_field: Any = ("spec", spec | None, None)
    return msgspec.defstruct(kind.kind, [spec_field], bases=(Job,), gc=False)


# --- PodGroups


class PodGroupSpec(Struct, gc=False, rename="camel"):
    min_member: Int | None = None
    queue: str | None = None
    priority_class_name: str | None = None


class PodGroupCondition(Struct, gc=False):
    type: str | None = None
    status: str | None = None
    reason: str | None = None


class PodGroupStatus(Struct, gc=False):
    phase: str | None = None
    running: Int | None = None
    succeeded: Int | None = None
    failed: Int | None = None
    conditions: list[PodGroupCondition | None] | None = None


class PodGroup(Struct, gc=False, rename="camel"):
    api_version: str | None = None
    metadata: Metadata | None = None
    spec: PodGroupSpec | None = None
    status: PodGroupStatus | None = None


# --- Events


class ObjectReference(Struct, gc=False):
    kind: str | None = None
    name: str | None = None
    uid: str | None = None


class EventSource(Struct, gc=False):
    component: str | None = None


class EventSeries(Struct, gc=False, rename="camel"):
    count: Int | None = None
    last_observed_time: str | None = None


class Event(Struct, gc=False, rename="camel"):
    metadata: Metadata | None = None
    involved_object: ObjectReference | None = None
    reason: str | None = None
    message: str | None = None
    type: str | None = None
    source: EventSource | None = None
    reporting_component: str | None = None
    count: Int | None = None
    first_timestamp: str | None = None
    last_timestamp: str | None = None
    event_time: str | None = None
    series: EventSeries | None = None


# --- what is around the objects


class ListMetadata(Struct, gc=False, rename="camel"):
    resource_version: str | None = None
    continue_: str | None = field(name="continue", default=None)


class ObjectList(Struct, gc=False):
    metadata: ListMetadata | None = None
    items: list[msgspec.Raw] | None = None


class StatusDetails(Struct, gc=False, rename="camel"):
    retry_after_seconds: Int | None = None


class Status(Struct, gc=False):
    """The API server's answer when something is wrong, alone or inside an ERROR event."""

    message: str | None = None
    reason: str | None = None
    code: Int | None = None
    details: StatusDetails | None = None


class ErrorLine(Struct, gc=False):
    type: str | None = None
    object: Status | None = None


class BookmarkAnnotations(Struct, gc=False):
    initial_events_end: str | None = field(name="k8s.io/initial-events-end", default=None)


class BookmarkMetadata(Struct, gc=False, rename="camel"):
    resource_version: str | None = None
    annotations: BookmarkAnnotations | None = None


class BookmarkObject(Struct, gc=False):
    metadata: BookmarkMetadata | None = None


class BookmarkLine(Struct, gc=False):
    type: str | None = None
    object: BookmarkObject | None = None


class Identity(Struct, gc=False):
    """The least of an object that did not decode: enough to name it."""

    name: str | None = None
    namespace: str | None = None
    uid: str | None = None


class IdentifiedObject(Struct, gc=False):
    metadata: Identity | None = None


class RawLine(Struct, gc=False):
    object: msgspec.Raw | UnsetType = UNSET


class RecordedLine(Struct, gc=False):
    """One line of a recording."""

    received_at: float | None = None
    resource: str | None = None
    type: str | None = None
    object: msgspec.Raw | UnsetType = UNSET
