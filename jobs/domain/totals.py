"""A job's and its replicas' numbers, read from the state (report format, "Counts")."""

from dataclasses import dataclass

from jobs.domain.creations import proven_creations
from jobs.domain.state import JobState, Replica


@dataclass(slots=True)
class Numbers:
    """The counts of one replica, or their sums over a job."""

    recreations: int = 0
    in_place: int = 0
    true: int = 0
    kubectl: int = 0
    hidden: int = 0
    at_least: bool = False


def replica_numbers(job: JobState, replica: Replica, proven: int = 0) -> Numbers:
    """The counts of a replica. ``proven``: creations that Events prove; they matter only where something was missed.

    ``hidden`` stays below the truth with the rest: what was missed can only add to what kubectl does not show.
    """
    newest = replica.incarnations[-1] if replica.incarnations else None
    at_least = incomplete(job)
    recreations = replica.recreations
    if at_least:
        recreations = max(recreations, proven - 1)
    true = recreations + replica.in_place
    kubectl = newest.kubectl_restarts if newest else 0
    hidden = max(0, true - (newest.last_restarts if newest else 0))
    return Numbers(recreations, replica.in_place, true, kubectl, hidden, at_least)


def incomplete(job: JobState) -> bool:
    """Whether something may have been missed: an unobserved interval, or a job of which only pods were seen."""
    return bool(job.unobserved or job.unwatched) or job.facts is None


def job_numbers(job: JobState) -> Numbers:
    """Each count summed over the replicas, from scratch; :mod:`jobs.domain.rollup` keeps the same sums up to date."""
    proven = proven_creations(job)
    total = Numbers(at_least=incomplete(job))
    for key in {**job.replicas, **dict.fromkeys(proven)}:
        add(total, replica_numbers(job, job.replicas.get(key) or Replica(key), proven.get(key, 0)))
    return total


def add(total: Numbers, numbers: Numbers, sign: int = 1) -> None:
    """Add a replica's counts to a sum, or take them out of it."""
    total.recreations += sign * numbers.recreations
    total.in_place += sign * numbers.in_place
    total.true += sign * numbers.true
    total.kubectl += sign * numbers.kubectl
    total.hidden += sign * numbers.hidden
