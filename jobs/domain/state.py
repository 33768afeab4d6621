"""What is known of a job: the values that the reducer keeps and every page and report is read from.

Each value is folded from one object's own observations, in that object's order. What needs several objects (counts,
causes, the Restarting highlight) is derived from them, so the order in which resources are read cannot change a count.
Times are epoch seconds.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from jobs.domain.facts import JobFacts, PodGroupFacts

if TYPE_CHECKING:
    from jobs.domain.rollup import Rollup

Detail = int | float | str | bool | None
ReplicaKey = tuple[str, int, int]  # replica type as the label has it, replica index, job index

STATE_LANE = "state"
RESTARTING_LANE = "restarting"
PODGROUP_LANE = "podgroup"


@dataclass(slots=True)
class End:
    """One known end of a main container."""

    at: float | None  # finishedAt, whole seconds
    exit_code: int | None
    reason: str | None
    message: str | None
    signal: int | None
    started_at: float | None
    container_id: str | None
    seen_at: float  # when it was first observed
    live: bool  # seen in `state`; False: only in `lastState`, so its moment was missed


@dataclass(slots=True)
class InPlace:
    """The n-th restart of a main container inside its pod."""

    number: int
    ended_at: float | None  # end of the run before, as observed; None where it was not seen
    running_at: float | None  # the new run, as observed; None where it was not seen
    exit_code: int | None
    reason: str | None


@dataclass(slots=True)
class Failure:
    """A container other than the main one that ended badly."""

    name: str
    exit_code: int | None
    reason: str | None


@dataclass(slots=True)
class Incarnation:
    """One pod UID of a replica."""

    uid: str
    name: str
    type: str
    index: int
    job_index: int
    created_at: float | None
    first_version: int
    version: int
    first_seen_at: float
    last_seen_at: float
    listed: bool  # first seen in a list: its beginning was not watched
    phase: str | None = None
    running_at: float | None = None  # first observed in phase Running
    initialized_at: float | None = None
    scheduled_at: float | None = None
    ended_at: float | None = None  # as observed: main container terminated for good, phase Failed or Succeeded, DELETED
    deletion_at: float | None = None  # the cluster's word for when deletion was asked
    deleting_at: float | None = None  # first observed with a deletionTimestamp
    deleted_at: float | None = None  # DELETED as observed
    vanished: tuple[float, float] | None = None  # missing from a relist: last seen, list time
    asked_phase: str | None = None  # its phase while it was told to go: Running if it ever was then
    deletion_grace: int | None = None  # seconds the pod was given to end
    deleted_first: bool = False  # deletion was asked before the main container ended
    taken_by: str = ""  # UID of the pod whose end made the controller delete this one with the whole gang
    main_state: str | None = None
    waiting_reason: str | None = None
    main_ended_seen_at: float | None = None  # observed end of the current run, None while one runs
    restarts: int = 0  # highest restartCount of the main container ever seen
    last_restarts: int = 0  # its last value
    kubectl_restarts: int = 0  # kubectl's RESTARTS column, last value
    init_restarts: int = 0
    sidecar_restarts: int = 0
    ends: list[End] = field(default_factory=list)
    ends_before_run: int = 0  # how many of them were known when the main container was last seen running
    in_place: list[InPlace] = field(default_factory=list)
    init_failure: Failure | None = None
    sidecar_failure: Failure | None = None
    status_reason: str | None = None
    status_message: str | None = None
    disruption: str | None = None
    disruption_message: str | None = None
    unschedulable: str | None = None
    pull_failure: str | None = None  # the waiting reason of a container whose image cannot be had
    crashing: str | None = None  # a container other than the main one in CrashLoopBackOff
    node: str | None = None
    image: str | None = None
    pod_policy: str | None = None
    with_gang: bool = False  # its controller restarts all replicas together, and no policy goes by the exit code
    finalizers: tuple[str, ...] = ()
    # derived together with its neighbours (count.py, causes.py)
    followed: bool = False  # a successor exists
    counts: bool = False  # the successor's creation is a restart
    excluded: str | None = None  # why it is not: "suspended", "scaled", "unwatched"
    waited_since: float | None = None  # since when its place has waited for it to run
    completed: bool = False  # exit 0 before anyone asked for the pod's deletion: the replica was done
    cause_code: str | None = None
    cause: str | None = None

    @property
    def gone(self) -> bool:
        """Deleted, or missing from a later list."""
        return self.deleted_at is not None or self.vanished is not None


@dataclass(slots=True)
class Replica:
    """The pods of one place in the job, oldest first, and their sums."""

    key: ReplicaKey
    incarnations: list[Incarnation] = field(default_factory=list)
    recreations: int = 0
    in_place: int = 0
    init_restarts: int = 0
    sidecar_restarts: int = 0
    scaled: set[str] = field(default_factory=set)  # UIDs of pods whose recreation a scale-down explains


@dataclass(slots=True)
class Span:
    """A phase of a lane. ``end`` is None while it is open. ``detail``: ``said_start`` and ``said_end``, too, where the
    cluster dates the change: whole seconds of its own clock."""

    lane: str
    number: int
    value: str
    start: float | None
    end: float | None = None
    detail: dict[str, Detail] = field(default_factory=dict)

    @property
    def said_start(self) -> float | None:
        """Epoch seconds, whole, of the cluster's clock; None where it does not say."""
        return _seconds(self.detail.get("said_start"))

    @property
    def said_end(self) -> float | None:
        """As ``said_start``."""
        return _seconds(self.detail.get("said_end"))


def _seconds(value: Detail) -> float | None:
    return float(value) if isinstance(value, int | float) else None


@dataclass(slots=True)
class Break:
    """A moment that explains one recreation of a replica: a suspension, or a scale-down below its index.

    With ``since`` it may have been earlier, but not before that: a scale-down that was read late, or changes of the
    spec that nobody watched.
    """

    at: float
    why: str  # suspended, scaled, resumed (its suspension was not watched), unwatched
    type: str | None = None  # of a scale-down, lower case
    from_index: int = 0
    since: float | None = None
    times: int = 1  # recreations of one replica that it may explain
    to_index: int | None = None  # of a scale-down: the number before it; there were no replicas from there on
    raised: list[tuple[float, int]] = field(default_factory=list)  # when the number rose after it, and to what


@dataclass(slots=True)
class Unobserved:
    """An interval in which nobody watched ``resource`` (``pods``, ``jobs``)."""

    start: float | None
    end: float
    resource: str


@dataclass(slots=True)
class Creations:
    """What one Event says of one pod name: so many creations until then. Whole seconds of the cluster's clock."""

    pod: str
    count: int
    last_at: float | None
    earlier: list[tuple[int, float | None]] = field(default_factory=list)  # (count, last_at) before, oldest first


@dataclass(slots=True)
class Refusal:
    """What one Event says of a pod that could not be created, in the API server's words. ``pod`` "": not which."""

    pod: str
    words: str
    last_at: float | None  # the last failure, whole seconds of the cluster's clock
    seen_at: float  # when it was first heard of
    uid: str  # of the Event


@dataclass(slots=True)
class Changes:
    """What the reducer touched since the store last asked."""

    job: bool = False
    every_replica: bool = False  # something that all counts depend on
    replicas: set[ReplicaKey] = field(default_factory=set)
    incarnations: dict[str, Incarnation] = field(default_factory=dict)
    recreations: dict[str, tuple[Incarnation, Incarnation]] = field(default_factory=dict)  # pod and its successor
    in_place: dict[tuple[str, int], tuple[Incarnation, InPlace]] = field(default_factory=dict)
    spans: dict[tuple[str, int], Span] = field(default_factory=dict)


@dataclass(slots=True)
class JobState:
    """Everything known of one job UID."""

    cluster: str
    uid: str
    namespace: str
    name: str
    api_version: str = ""
    kind: str = ""
    version: int = 0  # resourceVersion of the last observation of the job object itself
    facts: JobFacts | None = None  # None: only its pods were seen
    state: str = "Unknown"
    present: bool = False
    created_at: float | None = None
    finished_at: float | None = None
    deleted_at: float | None = None
    vanished: tuple[float, float] | None = None
    first_observed_at: float | None = None
    seen_at: float | None = None  # when the job object itself was last seen
    last_observed_at: float | None = None
    breaks: list[Break] = field(default_factory=list)  # oldest first
    resumed: list[float] = field(default_factory=list)
    raised_at: float | None = None  # when the number of a replica type last rose
    started_suspended: bool = False
    unobserved: list[Unobserved] = field(default_factory=list)
    unwatched: dict[str, float] = field(default_factory=dict)  # pods, jobs: since when nobody watches them, still
    late: list[tuple[float, float]] = field(default_factory=list)  # all of it was read, but only at the interval's end
    creations: dict[str, Creations] = field(default_factory=dict)  # by the Event's name
    refusals: dict[str, Refusal] = field(default_factory=dict)  # by the Event's name
    failing: str = ""  # UID of the pod that failed first in the gang restart under way (gang.py)
    podgroup_uid: str = ""
    podgroup_version: int = 0
    podgroup: PodGroupFacts | None = None
    replicas: dict[ReplicaKey, Replica] = field(default_factory=dict)
    pods: dict[str, Incarnation] = field(default_factory=dict)
    pods_left: int = 0  # how many of them are still there
    spans: dict[str, list[Span]] = field(default_factory=dict)
    changes: Changes = field(default_factory=Changes)
    rollup: "Rollup | None" = None  # sums kept by jobs.domain.rollup

    def open_span(self, lane: str) -> Span | None:
        """The lane's span that has not ended, if any."""
        spans = self.spans.get(lane)
        return spans[-1] if spans and spans[-1].end is None else None

    def start_span(self, lane: str, value: str, start: float | None, **detail: Detail) -> Span:
        """Open a new span behind the lane's last one."""
        spans = self.spans.setdefault(lane, [])
        number = spans[-1].number + 1 if spans else 0
        span = Span(lane, number, value, start, None, detail)
        spans.append(span)
        self.changes.spans[lane, number] = span
        return span

    def end_span(self, lane: str, end: float | None, said: float | None = None) -> None:
        """Close the lane's open span, if any. ``said``: the cluster's date for it."""
        span = self.open_span(lane)
        if span is not None:
            span.end = end
            if said is not None:
                span.detail["said_end"] = said
            self.changes.spans[lane, span.number] = span
