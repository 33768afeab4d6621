"""What an experiment is: texts, parameters, the objects it creates, what is done to them, and what should happen.

An experiment is one file of the catalogue that holds one ``Experiment``. Everything here is a value or a pure function:
launching, acting and storing are elsewhere.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from jobs.domain.state import JobState

Object = dict[str, Any]  # a Kubernetes object, as JSON
Values = Mapping[str, Any]  # name of a parameter -> its value, checked and converted
BRACED = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class Text:
    """A text in both languages of the pages. Parameters stand in braces: ``{code}``."""

    en: str
    zh: str

    def filled(self, values: Values) -> "Text":
        """The text with the values in the place of their names. What has no value stays as it is."""
        return Text(_filled(self.en, values), _filled(self.zh, values))


def _filled(text: str, values: Values) -> str:
    return BRACED.sub(lambda found: str(values.get(found[1], found[0])), text)


class ParameterKind(StrEnum):
    INTEGER = "integer"
    SECONDS = "seconds"  # a whole number of seconds
    EXIT_CODE = "exit code"  # 0 to 255
    EXIT_CODES = "exit codes"  # several, as one text: "0, 1, 137"
    CHOICE = "choice"
    TEXT = "text"  # one line, at most 500 characters
    FLAG = "flag"


@dataclass(frozen=True)
class Parameter:
    """A field of the launch form. Which places of the manifest it fills is found out by rendering
    (``jobs.experiments.parameters.refusal_field``)."""

    name: str
    label: Text
    kind: ParameterKind
    default: Any
    minimum: int | None = None
    maximum: int | None = None
    choices: tuple[str, ...] = ()
    help: Text | None = None


@dataclass(frozen=True)
class Place:
    """Where a run's objects go: ``name`` is the name of its job; where it has several, their names begin with it."""

    namespace: str
    name: str

    def beside(self, suffix: str) -> "Place":
        """The place of another job of the same run."""
        return Place(self.namespace, f"{self.name}-{suffix}")


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
    """What is known of a run at a moment.

    ``jobs``: what the store holds of each object that was created, in the order of creation: those of
    ``Experiment.objects``, then those created again. None: the store has not seen it yet. ``watched_until``: when the
    cluster's streams were last alive; None where they are taken to be alive until ``now``.
    """

    jobs: tuple[JobState | None, ...]
    launched_at: float  # epoch seconds, this site's clock
    now: float  # epoch seconds, this site's clock
    acts: tuple[DoneAct, ...] = ()
    watched_until: float | None = None

    @property
    def known_until(self) -> float:
        """The last moment of which something is known."""
        return self.now if self.watched_until is None else min(self.now, self.watched_until)


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


Check = Callable[[Observed], Outcome]


@dataclass(frozen=True)
class Step:
    """One line of the checklist: what should happen, and how to tell. ``check`` is pure and may be called at any time.

    ``by``: seconds after the launch by which it should be met; later than that WAITING counts as DIFFERS. ``job``:
    which of the created objects it concerns."""

    key: str
    text: Text
    check: Check
    by: float
    job: int = 0


@dataclass(frozen=True)
class Table:
    """What a run found out, in rows: for experiments whose result is more than a list of steps."""

    columns: tuple[Text, ...]
    rows: tuple[tuple[Text, ...], ...]


@dataclass(frozen=True)
class Experiment:
    """One entry of the catalogue. Functions take the parameters' values; ``objects`` are sent in their order."""

    name: str  # a DNS label
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
    inconsistent: Callable[[Values], Mapping[str, Text]] = lambda _values: {}  # what is wrong with values together
    recordings: tuple[str, ...] = ()  # the recordings of a real cluster that the expectation comes from
    table: Callable[[Values, Observed], Table] | None = None
    simulated_only: Text | None = None  # why no real cluster can do it, where that is so
    fits: bool = True  # False: it asks for more than any cluster has, on purpose, so totals are not held against it
