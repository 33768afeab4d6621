"""What every check is made of: the outcomes, and how a job and a replica's pods are found among what was observed."""

from collections.abc import Callable

from jobs.domain.state import Incarnation, JobState, Replica
from jobs.experiments.experiment import Check, Observed, Outcome, StepState, Text

Judge = Callable[[JobState, Observed], Outcome]
WAITING = Outcome(StepState.WAITING)


def say(en: str, zh: str, **values: object) -> Text:
    """A text with its values filled in."""
    return Text(en, zh).filled(values)


def waiting(seen: Text | None = None) -> Outcome:
    return Outcome(StepState.WAITING, seen=seen)


def met(at: float | None, seen: Text, *uids: str) -> Outcome:
    return Outcome(StepState.MET, at, seen, uids)


def differs(at: float | None, seen: Text, *uids: str) -> Outcome:
    return Outcome(StepState.DIFFERS, at, seen, uids)


def unknown(seen: Text) -> Outcome:
    return Outcome(StepState.UNKNOWN, seen=seen)


def of_job(number: int, judge: Judge) -> Check:
    """A check of one of the created jobs; it waits as long as the store has not seen it."""

    def check(observed: Observed) -> Outcome:
        job = observed.jobs[number] if number < len(observed.jobs) else None
        return WAITING if job is None else judge(job, observed)

    return check


def replica_of(job: JobState, name: str) -> Replica:
    """The replica named ``worker-0``; an empty one where none of its pods was seen."""
    replica_type, _, index = name.rpartition("-")
    key = (replica_type, int(index), 0)
    return job.replicas.get(key) or Replica(key)


def pods_of(job: JobState, name: str) -> list[Incarnation]:
    """The pods of a replica, oldest first."""
    return replica_of(job, name).incarnations


def short(uid: str) -> str:
    """The beginning of a UID, enough to tell two pods of one name apart."""
    return uid[:8]


def over(job: JobState) -> bool:
    return job.state in ("Succeeded", "Failed")


def over_at(job: JobState) -> float | None:
    """When the job was seen to be over, on this site's clock; None while it goes on."""
    spans = job.spans.get("state", ())
    return next((span.start for span in spans if span.value in ("Succeeded", "Failed")), None)
