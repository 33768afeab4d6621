"""What is said of one replica besides its counts: its policy, its state, what is unusual about its restarts."""

from jobs.domain.kinds import kind_of
from jobs.domain.state import Incarnation, JobState, Replica


def restart_policy(job: JobState, replica_type: str) -> str | None:
    """The policy of a replica type; the spec writes ``Worker`` where the label says ``worker``."""
    specs = job.facts.replicas if job.facts else ()
    return next((s.restart_policy for s in specs if s.type.lower() == replica_type.lower()), None)


def gang_restarts(job: JobState) -> bool:
    """Whether the job's controller answers a failure by restarting every replica."""
    kind = kind_of(job.api_version, job.kind)
    return kind is not None and kind.gang_restarts


def replica_state(replica: Replica) -> str:
    """The newest pod in one word: Running, Pending, Waiting (for its next run), CrashLoopBackOff, Terminating,
    Completed, Failed, Gone; Unknown without a pod.
    """
    if not replica.incarnations:
        return "Unknown"
    pod = replica.incarnations[-1]
    rules = (
        (pod.gone, "Gone"),
        (pod.completed and pod.ended_at is not None, "Completed"),
        (pod.ended_at is not None, "Failed"),
        (pod.deleting_at is not None, "Terminating"),
        (crash_looping(pod), "CrashLoopBackOff"),
        (pod.main_ended_seen_at is not None, "Waiting"),
        (pod.phase in ("Running", "Pending"), pod.phase or ""),
    )
    return next((word for applies, word in rules if applies), "Unknown")


def crash_looping(pod: Incarnation) -> bool:
    """Whether the kubelet holds the main container back between two tries."""
    return pod.waiting_reason == "CrashLoopBackOff" and not pod.gone


def flags(job: JobState, replica: Replica) -> list[str]:
    """What is unusual about a replica's restarts."""
    found = {"crash-loop" for pod in replica.incarnations if crash_looping(pod)}
    never = restart_policy(job, replica.key[0]) == "Never" and not gang_restarts(job)
    for pod, successor in zip(replica.incarnations, replica.incarnations[1:], strict=False):
        if not pod.counts:
            continue
        if pod.completed:
            found.add("completed-replica-run-again")
        if never:
            found.add("unexpected-for-policy-never")
        if created_after_failed(job, successor):
            found.add("created-after-failed")
    return sorted(found)


def created_after_failed(job: JobState, pod: Incarnation) -> bool:
    """A pod that the operator created from a stale cache, when the job had already failed."""
    failed_at = job.finished_at if job.state == "Failed" else None
    return failed_at is not None and pod.created_at is not None and pod.created_at > failed_at
