"""The parts of pods that are read (see ``wire``)."""

from msgspec import Struct, field

from jobs.ingest.wire import Int, Metadata


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
