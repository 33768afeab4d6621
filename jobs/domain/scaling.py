"""Which recreations a scale-down explains: a replica beyond the new number went, and came back when it was undone.

The job does not say when its spec was changed, so a scale-down is dated by when it was read. Where the job's stream was
read late (after an outage it is read in one go), the pods are older than that; then the newest recreation before it is
meant whose old pod was taken away and did not fail by itself. Each scale-down explains one recreation of a replica, in
whatever order the streams are read. It explains none of a pod that was still there when it had been undone.
"""

from bisect import bisect_left
from math import floor

from jobs.domain.creations import APART, created
from jobs.domain.facts import JobFacts
from jobs.domain.state import Break, Incarnation, JobState, Replica, ReplicaKey

SCALED = "scaled"
LOOKED_BACK = 100  # recreations that are looked at for one that was read before its scale-down


def applies(pause: Break, replica: Replica) -> bool:
    """Whether a break concerns a replica: a scale-down those between the numbers, any other break all."""
    kind, index, _ = replica.key
    if pause.type is None:
        return True
    was_there = pause.to_index is None or index < pause.to_index
    return pause.type == kind.lower() and pause.from_index <= index and was_there


def note_raised(job: JobState, kind: str, replicas: int, at: float) -> None:
    """Note that the number of a replica type rose: that undoes scale-downs before."""
    job.raised_at = at
    for pause in job.breaks:
        if pause.why == SCALED and pause.type == kind and replicas > max((to for _, to in pause.raised), default=0):
            pause.raised.append((at, replicas))


def asked_again_at(job: JobState, key: ReplicaKey) -> float | None:
    """When the number last rose above a replica that had been scaled away; None if that never was."""
    replica = Replica(key)
    pauses = [pause for pause in job.breaks if pause.why == SCALED and applies(pause, replica)]
    undone = [_undone_at(pause, key[1]) for pause in pauses]
    return max((at for at in undone if at is not None), default=None)


def rescale(job: JobState, replica: Replica) -> list[int]:
    """Bring ``replica.scaled`` up to date; answers the positions whose recreation has to be decided anew."""
    pauses = [pause for pause in job.breaks if pause.why == SCALED and applies(pause, replica)]
    if not pauses and not replica.scaled:
        return []
    pods = replica.incarnations
    before, found = replica.scaled, _explained(job.facts, replica, pauses)
    replica.scaled = {pods[position].uid for position in found}
    changed = [position for position in found if pods[position].uid not in before]
    gone = before - replica.scaled
    if gone:
        changed += [position for position, pod in enumerate(pods) if pod.uid in gone]
    return changed


def _explained(facts: JobFacts | None, replica: Replica, pauses: list[Break]) -> set[int]:
    pods, index = replica.incarnations, replica.key[1]
    found: set[int] = set()
    read_late: list[Break] = []
    for pause in pauses:
        position = _under_way(pods, pause.at, found)
        if position is not None and _outlived(pods[position], pause, index):
            continue
        if position is not None:
            found.add(position)
        else:
            read_late.append(pause)
    undone = _is_back(facts, replica)
    for pause in reversed(read_late):
        position = _before(pods, pause, found) if undone else None
        if position is None:
            position = _around(pods, pause.at)
        if position is not None and not _outlived(pods[position], pause, index):
            found.add(position)
        undone = True  # whatever was scaled down before a later scale-down had been undone
    return found


def _under_way(pods: list[Incarnation], at: float, found: set[int]) -> int | None:
    """The recreation at that time, of a pod that was taken away. Pods tell their creation in whole seconds: one created
    within the scale-down's second may have come after it."""
    for moment in (at, floor(at)):
        position = _around(pods, moment)
        if position is not None and position not in found and _taken_away(pods[position]):
            return position
    return None


def _around(pods: list[Incarnation], at: float) -> int | None:
    """The recreation that was under way at that time."""
    position = bisect_left(pods, at, key=created) - 1
    return position if 0 <= position < len(pods) - 1 else None


def _before(pods: list[Incarnation], pause: Break, found: set[int]) -> int | None:
    """The newest recreation before the break that no other explains, of a pod that was taken away."""
    last = min(len(pods) - 1, bisect_left(pods, pause.at, key=created)) - 1
    for position in range(last, max(-1, last - LOOKED_BACK), -1):
        if pause.since is not None and created(pods[position + 1]) < pause.since:
            return None
        if position not in found and _taken_away(pods[position]):
            return position
    return None


def _outlived(pod: Incarnation, pause: Break, index: int) -> bool:
    """Whether the pod was told to go when its replica had long been asked for again: the scale-down had spared it."""
    undone = _undone_at(pause, index)
    return undone is not None and pod.deletion_at is not None and pod.deletion_at > undone + APART


def _undone_at(pause: Break, index: int) -> float | None:
    """When the replica was asked for again after a scale-down; None if it has not been."""
    return next((at for at, replicas in pause.raised if replicas > index), None)


def _taken_away(pod: Incarnation) -> bool:
    """Whether the pod may have been deleted by somebody else's will. One whose init container failed has no end of its
    main container, and failed by itself all the same."""
    if pod.asked_phase == "Failed":
        return False
    return pod.deleted_first or pod.completed or not pod.ends


def _is_back(facts: JobFacts | None, replica: Replica) -> bool:
    """Whether the spec asks for the replica, again."""
    kind, index, _ = replica.key
    specs = facts.replicas if facts is not None else ()
    return any(
        spec.type.lower() == kind.lower() and spec.replicas is not None and index < spec.replicas for spec in specs
    )
