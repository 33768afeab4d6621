"""The few facts that are kept of each Kubernetes object, and the observation that carries them.

Times are epoch seconds (UTC) as floats. ``None`` means "the object does not say". Facts are tuples: equal facts mean
that a write changed nothing that is shown, so it is counted and not stored.
"""

from typing import NamedTuple

# How an object came to be seen. LISTED: in a list, so what was before is unknown. VANISHED: missing from a relist, so
# it ended somewhere between two times. The other three are the words of the watch protocol.
ADDED = "ADDED"
MODIFIED = "MODIFIED"
DELETED = "DELETED"
LISTED = "LISTED"
VANISHED = "VANISHED"


class Terminated(NamedTuple):
    """One end of a container (``state.terminated`` or ``lastState.terminated``)."""

    exit_code: int | None = None
    reason: str | None = None
    message: str | None = None  # the termination message, bounded by the decoder
    signal: int | None = None
    started_at: float | None = None
    finished_at: float | None = None
    container_id: str | None = None


class ContainerFacts(NamedTuple):
    """One container of a pod: its status, with the image that the spec asked for."""

    name: str
    init: bool = False  # listed under initContainers
    sidecar: bool = False  # an init container with restartPolicy Always
    state: str | None = None  # waiting, running, terminated
    waiting_reason: str | None = None
    waiting_message: str | None = None
    running_since: float | None = None
    terminated: Terminated | None = None
    last_terminated: Terminated | None = None
    ready: bool = False
    started: bool | None = None
    restart_count: int = 0
    image: str | None = None
    image_id: str | None = None


class PodFacts(NamedTuple):
    """A pod that belongs to a job."""

    job_uid: str | None = None  # owner reference with controller: true, else the first
    job_api_version: str | None = None
    job_kind: str | None = None
    job_name: str | None = None
    operator_name: str | None = None  # label training.kubeflow.org/operator-name
    replica_type: str | None = None  # as the label has it
    replica_index: int | None = None  # None where there is no readable label
    created_at: float | None = None
    deletion_at: float | None = None  # when deletion was asked for: deletionTimestamp less the grace period
    deletion_grace: int | None = None
    phase: str | None = None
    status_reason: str | None = None
    status_message: str | None = None
    node: str | None = None
    pod_ip: str | None = None
    nominated_node: str | None = None
    scheduled_at: float | None = None  # PodScheduled=True
    unschedulable: str | None = None  # message of PodScheduled=False
    initialized: bool | None = None
    ready: bool | None = None
    ready_reason: str | None = None
    disruption: str | None = None  # reason of condition DisruptionTarget=True
    disruption_message: str | None = None
    readiness_gates: tuple[tuple[str, bool], ...] = ()
    restart_policy: str | None = None
    default_container: str | None = None  # annotation kubectl.kubernetes.io/default-container
    group_name: str | None = None  # annotation scheduling.k8s.io/group-name
    priority_class: str | None = None
    finalizers: tuple[str, ...] = ()
    containers: tuple[ContainerFacts, ...] = ()  # init containers first, each in the spec's order
    scheduling_gated: bool = False  # PodScheduled=False for reason SchedulingGated


class ReplicaSpec(NamedTuple):
    """What a job asks for one replica type."""

    type: str  # as the spec has it: Worker, PS, Master, Launcher; a Volcano task's name
    replicas: int | None = None
    restart_policy: str | None = None
    image: str | None = None  # of the main container


class Condition(NamedTuple):
    """One entry of ``status.conditions``; times in epoch seconds, of the cluster's clock."""

    type: str
    status: str | None = None
    reason: str | None = None
    message: str | None = None
    transition_at: float | None = None
    updated_at: float | None = None


class ReplicaStatus(NamedTuple):
    """``status.replicaStatuses`` as reported; not trustworthy (restart facts, section 2)."""

    type: str
    active: int = 0
    succeeded: int = 0
    failed: int = 0


class JobFacts(NamedTuple):
    """A job of any kind."""

    api_version: str | None = None
    kind: str | None = None
    created_at: float | None = None
    deletion_at: float | None = None
    generation: int | None = None
    owner_kind: str | None = None
    owner_name: str | None = None
    owner_uid: str | None = None
    suspend: bool | None = None
    backoff_limit: int | None = None
    active_deadline: int | None = None  # seconds
    ttl: int | None = None  # seconds after finished
    clean_pod_policy: str | None = None
    success_policy: str | None = None
    min_member: int | None = None
    queue: str | None = None
    priority_class: str | None = None
    replicas: tuple[ReplicaSpec, ...] = ()
    conditions: tuple[Condition, ...] = ()  # in the object's order
    statuses: tuple[ReplicaStatus, ...] = ()
    started_at: float | None = None
    completed_at: float | None = None
    phase: str | None = None  # Volcano Job: status.state.phase
    phase_at: float | None = None  # Volcano Job: status.state.lastTransitionTime
    retry_count: int | None = None  # Volcano Job
    version: int | None = None  # Volcano Job
    labels: tuple[tuple[str, str], ...] = ()  # bounded, sorted
    has_status: bool = True
    running: int | None = None  # Volcano Job: status.running
    min_available: int | None = None  # Volcano Job: status.minAvailable


class PodGroupFacts(NamedTuple):
    """A PodGroup of Volcano or of the scheduler plugins; times in epoch seconds, of the cluster's clock."""

    api_version: str | None = None
    job_uid: str | None = None
    job_kind: str | None = None
    job_name: str | None = None
    created_at: float | None = None
    deletion_at: float | None = None
    phase: str | None = None
    min_member: int | None = None
    queue: str | None = None
    priority_class: str | None = None
    running: int = 0
    succeeded: int = 0
    failed: int = 0
    conditions: tuple[Condition, ...] = ()  # without transitionID: it changes at every cycle and says nothing


class EventFacts(NamedTuple):
    """A core/v1 Event about a job or a PodGroup."""

    involved_kind: str | None = None
    involved_name: str | None = None
    involved_uid: str | None = None
    reason: str | None = None
    message: str | None = None  # bounded by the decoder
    type: str | None = None  # Normal, Warning
    source: str | None = None
    count: int = 1  # type: ignore[assignment]  # the API's own word, over the tuple method that nobody needs
    first_at: float | None = None  # firstTimestamp, else eventTime
    last_at: float | None = None  # lastTimestamp, else series or eventTime


Facts = PodFacts | JobFacts | PodGroupFacts | EventFacts


class Observation(NamedTuple):
    """One object as it was seen once.

    ``resource`` is the name that recordings and streams use: ``pods``, ``events``, ``tfjobs.kubeflow.org``,
    ``podgroups.scheduling.volcano.sh``. ``resource_version`` orders writes within a resource. ``facts`` is None
    for VANISHED.
    """

    verb: str
    resource: str
    namespace: str
    name: str
    uid: str
    resource_version: int
    observed_at: float
    facts: Facts | None
