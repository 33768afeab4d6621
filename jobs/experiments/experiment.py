"""What an experiment is: texts, parameters, the objects it creates, what is done to them, and what should happen.

An experiment is one file of the catalogue that holds one ``Experiment``. Everything here is a value or a pure function:
launching, acting and storing are elsewhere.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from jobs.domain.state import JobState

Object = dict[str, Any]  # a Kubernetes object, as JSON
Values = Mapping[str, Any]  # name of a parameter -> its value, checked and converted


@dataclass(frozen=True)
class Text:
    """A text in both languages of the pages. Parameters stand in braces: ``{code}``."""

    en: str
    zh: str


class ParameterKind(StrEnum):
    INTEGER = "integer"
    SECONDS = "seconds"  # a whole number of seconds
    EXIT_CODE = "exit code"  # 0 to 255
    CHOICE = "choice"
    TEXT = "text"  # one line, at most 500 characters
    FLAG = "flag"


@dataclass(frozen=True)
class Parameter:
    """A field of the launch form. ``fields``: JSON paths of the manifest it lands in, as an API server names them
    (``spec.tfReplicaSpecs[Worker].replicas``), so that a refusal can be shown beside it."""

    name: str
    label: Text
    kind: ParameterKind
    default: Any
    minimum: int | None = None
    maximum: int | None = None
    choices: tuple[str, ...] = ()
    help: Text | None = None
    fields: tuple[str, ...] = ()


@dataclass(frozen=True)
class Place:
    """Where a run's objects go: ``name`` is the name of its first job, others begin with it."""

    namespace: str
    name: str


class ActKind(StrEnum):
    DELETE_POD = "delete pod"
    EVICT_POD = "evict pod"
    SUSPEND = "suspend"
    RESUME = "resume"
    SCALE = "scale"  # params: replica_type, replicas
    DELETE_JOB = "delete job"
    CREATE_AGAIN = "create again"  # the same manifest once more, after the old job has gone
    LOSE_NODE = "lose node"  # simulated clusters only
    RETURN_NODE = "return node"  # simulated clusters only


@dataclass(frozen=True)
class Act:
    """Something that the run does to its objects, ``after`` seconds later than the step ``since`` was met."""

    key: str  # unique within the experiment, and kept: a worker that takes over goes on from it
    text: Text
    kind: ActKind
    since: str  # key of a step
    after: float = 0.0
    job: int = 0  # which of the experiment's objects it concerns
    pod: str = ""  # a replica, as in "worker-0": the pod to delete or evict; for LOSE_NODE the one whose node is lost
    params: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class DoneAct:
    """An act that was done, or refused: then ``error`` is the API server's words."""

    key: str
    at: float  # epoch seconds, this site's clock
    error: str = ""


@dataclass(frozen=True)
class Observed:
    """What is known of a run at a moment: all jobs it created, in the order of creation (several of one name, if it
    was created again), as the store holds them."""

    jobs: tuple[JobState, ...]
    launched_at: float  # epoch seconds
    now: float  # epoch seconds
    acts: tuple[DoneAct, ...] = ()


class StepState(StrEnum):
    WAITING = "waiting"  # may still happen
    MET = "met"
    DIFFERS = "differs"  # something else happened, or it did not happen in time
    UNKNOWN = "unknown"  # it fell into an interval in which nobody watched


@dataclass(frozen=True)
class Outcome:
    """What a check found. ``at``: when it was met or contradicted, epoch seconds. ``seen``: what was observed."""

    state: StepState
    at: float | None = None
    seen: Text | None = None
    uids: tuple[str, ...] = ()  # of the objects it rests on


@dataclass(frozen=True)
class Step:
    """One line of the checklist: what should happen, and how to tell. ``check`` is pure and may be called at any time.

    ``by``: seconds after the launch by which it should be met; later than that WAITING counts as DIFFERS."""

    key: str
    text: Text
    check: Callable[[Observed], Outcome]
    by: float


@dataclass(frozen=True)
class Experiment:
    """One entry of the catalogue. Functions take the parameters' values; ``objects`` are sent in their order."""

    name: str  # a DNS label; also the name of its recording where there is one of the kind
    title: Text
    shows: Text  # one sentence: what it shows
    happens: Text  # what will happen
    explanation: Text  # why, for the second tab; paragraphs
    kinds: tuple[str, ...]  # of the jobs it creates
    parameters: tuple[Parameter, ...]
    objects: Callable[[Values, Place], list[Object]]
    steps: Callable[[Values], tuple[Step, ...]]
    seconds: Callable[[Values], float]  # how long it takes until everything has happened
    acts: Callable[[Values], tuple[Act, ...]] = lambda _values: ()
    recording: str = ""  # folder of the recording that the expectation comes from
    simulated_only: Text | None = None  # why no real cluster can do it, where that is so
