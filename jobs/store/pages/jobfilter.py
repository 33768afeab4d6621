"""What a list of jobs is narrowed to, as values; how a job answers it, one at a time."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import NamedTuple

import msgspec

from jobs.domain.codes import actual_class, documented_class, signal_name
from jobs.models import Job

FINISHED = ("Succeeded", "Failed")
DELETED, RESTARTING = "Deleted", "Restarting"
FIELDS = (  # in the order in which a filter is written
    "state",
    "kind",
    "namespace",
    "cluster",
    "policy",
    "exit",
    "class",
    "actual",
    "signal",
    "cause",
    "reason",
    "node",
    "queue",
    "owner",
    "priority",
    "image",
    "label",
)
NUMBERS = {  # word -> column
    "restarts": "true_restarts",
    "kubectl": "kubectl_restarts",
    "hidden": "hidden_restarts",
    "replicas": "replicas",
}
OPERATORS = (">=", "<=", ">", "<", "=")
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
_RELATIVE = re.compile(r"(\d{1,6})([smhdw])")
decoded_search = msgspec.json.Decoder(dict[str, list[str | int]]).decode


def shown_state(job: Job) -> str:
    """What a list shows as state: a job that is gone is not restarting, and one whose replica waits between two runs
    is, whatever its condition says."""
    return state_word(job.state, job.present, job.restarting_since)


def state_word(state: str, present: bool, restarting_since: float | None) -> str:
    """The state that is shown: the condition's word, Restarting, or Deleted for one that went before its end."""
    if not present and state not in FINISHED:
        return DELETED
    return RESTARTING if restarting_since is not None else state


class Comparison(NamedTuple):
    """``restarts >= 5``. ``operator`` is one of OPERATORS."""

    name: str
    operator: str
    value: int

    def holds(self, number: int) -> bool:
        larger, equal = number > self.value, number == self.value
        return {">": larger, ">=": larger or equal, "=": equal, "<=": not larger, "<": not larger and not equal}[
            self.operator
        ]


def moment(text: str, now: float) -> float:
    """``2h`` before now, or ``2026-11-29T12:00:00Z`` (UTC where no zone is said). Raises ValueError."""
    relative = _RELATIVE.fullmatch(text)
    if relative:
        return now - int(relative[1]) * UNITS[relative[2]]
    at = datetime.fromisoformat(text)
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()


@dataclass(frozen=True)
class JobFilter:
    """Values of one field are alternatives, everything else must hold. ``text``: words in name or namespace, lower
    case, or a UID. ``since`` and ``until`` (see ``moment``) bound the last restart, or the end that failed the job."""

    fields: tuple[tuple[str, tuple[str, ...]], ...] = ()
    numbers: tuple[Comparison, ...] = ()
    since: str = ""
    until: str = ""
    text: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        fields: Mapping[str, Iterable[str]],
        numbers: Iterable[Comparison] = (),
        since: str = "",
        until: str = "",
        text: Iterable[str] = (),
    ) -> "JobFilter":
        """In one order and without repetitions, so that equal filters are equal."""
        chosen = {name: tuple(dict.fromkeys(fields.get(name, ()))) for name in FIELDS}
        words = tuple(dict.fromkeys(word.lower() for word in text if word))
        kept = tuple((name, values) for name, values in chosen.items() if values)
        return cls(kept, tuple(dict.fromkeys(numbers)), since, until, words)

    def values(self, name: str) -> tuple[str, ...]:
        """What is chosen of a field."""
        return dict(self.fields).get(name, ())

    def matches(self, job: Job, now: float) -> bool:
        """Whether one job belongs into the list: the same answer as the index gives for all."""
        found: dict[str, set[str]] = {}
        for name, value in found_by(stored_of(job)) if self.fields else ():
            found.setdefault(name, set()).add(value)
        return (
            all(answers(name, values, found.get(name, set())) for name, values in self.fields)
            and all(comparison.holds(getattr(job, NUMBERS[comparison.name])) for comparison in self.numbers)
            and self._in_time(last_end(job.last_restart_at, job.fail_at), now)
            and all(
                word in job.name.lower() or word in job.namespace.lower() or word == job.uid.lower()
                for word in self.text
            )
        )

    def _in_time(self, at: float | None, now: float) -> bool:
        if not self.since and not self.until:
            return True
        if at is None:
            return False
        return (not self.since or at >= moment(self.since, now)) and (not self.until or at <= moment(self.until, now))


def answers(name: str, wanted: Iterable[str], found: Iterable[str]) -> bool:
    """Whether one of a job's values is one of those that are wanted."""
    return any(fits(name, want, value) for want in wanted for value in found)


def fits(name: str, want: str, value: str) -> bool:
    """``cause:evicted`` means all of its kinds, ``label:app`` every value of the label."""
    if name == "cause":
        return value == want or value.startswith(f"{want}-")
    if name == "label":
        return value == want or ("=" not in want and value.startswith(f"{want}="))
    return value == want


def last_end(restart_at: float | None, fail_at: float | None) -> float | None:
    """When something last ended that counts."""
    known = [at for at in (restart_at, fail_at) if at is not None]
    return max(known) if known else None


class Stored(NamedTuple):
    """The columns by which a job is found."""

    state: str
    present: bool
    restarting_since: float | None
    kind: str
    namespace: str
    cluster: str
    search: str


def stored_of(job: Job) -> Stored:
    """The columns of a row that filters read."""
    return Stored(job.state, job.present, job.restarting_since, job.kind, job.namespace, job.cluster.name, job.search)


def found_by(job: Stored) -> Iterator[tuple[str, str]]:
    """Every (field, value) by which a job is found."""
    yield "state", state_word(job.state, job.present, job.restarting_since)
    yield "kind", job.kind
    yield "namespace", job.namespace
    yield "cluster", job.cluster
    yield from _searched_values(job.search)


def _searched_values(search: str) -> tuple[tuple[str, str], ...]:
    """The (field, value) pairs of the column ``search``, with what follows from the codes."""
    found: dict[tuple[str, str], None] = {}
    for name, values in decoded_search(search).items():
        for value in values:
            found[name, str(value)] = None
            if name == "exit" and isinstance(value, int):
                found |= dict.fromkeys(values_of_code(value))
    return tuple(found)


@lru_cache(maxsize=1024)
def values_of_code(code: int) -> tuple[tuple[str, str], ...]:
    """What a code is in the user guide, to the operator, and as a signal."""
    if code == 0:
        return ()
    signal = signal_name(code)
    classes = (("class", documented_class(code)), ("actual", actual_class(code)))
    return (*classes, ("signal", signal)) if signal else classes
