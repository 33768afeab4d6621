"""The count: which recreations are restarts, and each replica's sums (restart facts, sections 3 and 5)."""

from bisect import insort

from jobs.domain.causes import settle_cause
from jobs.domain.state import Break, Incarnation, JobState, Replica


def _age(pod: Incarnation) -> tuple[float, int]:
    """Oldest first; creation times are whole seconds, so the version of the first sight breaks ties."""
    return (pod.created_at if pod.created_at is not None else pod.first_seen_at, pod.first_version)


def add_incarnation(job: JobState, pod: Incarnation) -> Replica:
    """Put a new pod into its replica, in order of creation."""
    key = (pod.type, pod.index, pod.job_index)
    replica = job.replicas.get(key)
    if replica is None:
        replica = job.replicas[key] = Replica(key)
    job.pods[pod.uid] = pod
    pods = replica.incarnations
    if not pods or _age(pods[-1]) <= _age(pod):
        pods.append(pod)
    else:
        insort(pods, pod, key=_age)
    return replica


def neighbours(replica: Replica, pod: Incarnation) -> range:
    """Positions of the pods whose pair with their successor may depend on ``pod``."""
    position = len(replica.incarnations) - 1
    while replica.incarnations[position] is not pod:
        position -= 1
    return range(max(0, position - 2), position + 1)


def recount_pair(job: JobState, replica: Replica, position: int) -> bool:
    """Decide anew whether the recreation after the pod at ``position`` counts; True if that changed."""
    pods = replica.incarnations
    pod = pods[position]
    successor = pods[position + 1] if position + 1 < len(pods) else None
    followed = successor is not None
    excluded = _explained(job, replica, position) if followed else None
    counts = followed and excluded is None
    changed = (pod.followed, pod.counts, pod.excluded) != (followed, counts, excluded)
    replica.recreations += counts - pod.counts
    pod.followed, pod.counts, pod.excluded = followed, counts, excluded
    if changed:
        settle_cause(pod)  # that it was taken along with its gang shows by the successor
    return changed


def _explained(job: JobState, replica: Replica, position: int) -> str | None:
    for pause in job.breaks:
        if _applies(pause, replica) and _straddles(pause.at, replica, position):
            return pause.why
    return None


def _applies(pause: Break, replica: Replica) -> bool:
    kind, index, _ = replica.key
    return pause.type is None or (pause.type == kind.lower() and index >= pause.from_index)


def _straddles(at: float, replica: Replica, position: int) -> bool:
    """Whether ``at`` lies between the two creations. Equal whole seconds fit two pairs: the later one takes it."""
    pods = replica.incarnations
    old, new = _age(pods[position])[0], _age(pods[position + 1])[0]
    if not old <= at <= new:
        return False
    return at < new or position + 2 >= len(pods)


def recount_breaks(job: JobState) -> None:
    """Decide anew after a suspension or scale-down became known, which may be later than the pods it explains."""
    for replica in job.replicas.values():
        pods = replica.incarnations
        for position in range(len(pods) - 1):
            if recount_pair(job, replica, position):
                job.changes.replicas.add(replica.key)
                job.changes.incarnations[pods[position].uid] = pods[position]
                job.changes.recreations[pods[position].uid] = (pods[position], pods[position + 1])


def recount_restarts(replica: Replica, before: tuple[int, int, int], pod: Incarnation) -> None:
    """Add what one pod's own counters gained. ``before``: (in place, init, sidecar) before the observation."""
    replica.in_place += pod.restarts - before[0]
    replica.init_restarts += pod.init_restarts - before[1]
    replica.sidecar_restarts += pod.sidecar_restarts - before[2]
