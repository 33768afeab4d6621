"""The count: which recreations are restarts, and each replica's sums (restart facts, sections 3 and 5)."""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable

from jobs.domain.causes import settle_cause
from jobs.domain.creations import created
from jobs.domain.intervals import wait_start
from jobs.domain.scaling import SCALED, rescale
from jobs.domain.state import Break, Incarnation, JobState, Replica, ReplicaKey

REASONS = {"resumed": "suspended"}  # a break's why as the reason of an excluded recreation


def _age(pod: Incarnation) -> tuple[float, int]:
    """Oldest first; creation times are whole seconds, so the version of the first sight breaks ties."""
    return (created(pod), pod.first_version)


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


def put_incarnations(job: JobState, pods: Iterable[Incarnation]) -> None:
    """Put pods whose recreations are decided already into their replicas, with their sums."""
    by_place: dict[ReplicaKey, list[Incarnation]] = {}
    for pod in pods:
        job.pods[pod.uid] = pod
        by_place.setdefault((pod.type, pod.index, pod.job_index), []).append(pod)
    for key, those in by_place.items():
        those.sort(key=_age)
        job.pods_left += sum([not pod.gone for pod in those])
        job.replicas[key] = Replica(
            key,
            those,
            recreations=sum([pod.counts for pod in those]),
            in_place=sum([pod.restarts for pod in those]),
            init_restarts=sum([pod.init_restarts for pod in those]),
            sidecar_restarts=sum([pod.sidecar_restarts for pod in those]),
            scaled={pod.uid for pod in those if pod.excluded == SCALED},
        )


def position_of(replica: Replica, pod: Incarnation) -> int:
    """Where a pod stands among its replica's."""
    pods = replica.incarnations
    if pods[-1] is pod:
        return len(pods) - 1
    position = bisect_left(pods, _age(pod), key=_age)
    while pods[position] is not pod:  # of the same second and version
        position += 1
    return position


def neighbours(replica: Replica, pod: Incarnation) -> range:
    """Positions of the pods whose pair with their successor may depend on ``pod``."""
    position = position_of(replica, pod)
    return range(max(0, position - 2), position + 1)


def link_waits(job: JobState, replica: Replica, first: int) -> None:
    """Bring up to date since when the places after position ``first`` have waited for their pods to run."""
    pods = replica.incarnations
    for position in range(first + 1, len(pods)):
        before, pod = pods[position - 1], pods[position]
        ran = before.running_at is not None or before.waited_since is None
        since = (wait_start(before) if ran else before.waited_since) if before.counts else None
        if since != pod.waited_since:
            pod.waited_since = since
            job.changes.incarnations[pod.uid] = pod
        elif position > first + 2:
            break


def add_break(job: JobState, pause: Break) -> None:
    """Keep a break; the job's breaks stay in the order of their moments."""
    insort(job.breaks, pause, key=_moment)


def breaks_at(job: JobState, at: float) -> list[Break]:
    """The breaks at exactly this moment (epoch seconds)."""
    return job.breaks[bisect_left(job.breaks, at, key=_moment) : bisect_right(job.breaks, at, key=_moment)]


def _moment(pause: Break) -> float:
    return pause.at


def recount_pair(job: JobState, replica: Replica, position: int) -> bool:
    """Decide anew whether the recreation after the pod at ``position`` counts; True if that changed."""
    pods = replica.incarnations
    pod = pods[position]
    successor = pods[position + 1] if position + 1 < len(pods) else None
    followed = successor is not None
    excluded = _explained(job, replica, position) if followed else None
    if followed and pod.uid in replica.scaled:
        excluded = excluded or SCALED
    counts = followed and excluded is None
    changed = (pod.followed, pod.counts, pod.excluded) != (followed, counts, excluded)
    replica.recreations += counts - pod.counts
    pod.followed, pod.counts, pod.excluded = followed, counts, excluded
    if changed:
        settle_cause(pod)  # that it was taken along with its gang shows by the successor
    return changed


def _explained(job: JobState, replica: Replica, position: int) -> str | None:
    old = _age(replica.incarnations[position])[0]
    for pause in job.breaks[bisect_left(job.breaks, old, key=_moment) :]:
        if pause.why != SCALED and _straddles(pause, replica, position):
            return REASONS.get(pause.why, pause.why)
    return None


def _straddles(pause: Break, replica: Replica, position: int) -> bool:
    """Whether it lies between the two creations, which are told in whole seconds."""
    pods = replica.incarnations
    older, newer = pods[position], pods[position + 1]
    if pause.since is not None:
        first = max(1, bisect_left(pods, pause.since, key=created))
        return created(older) <= pause.at and first <= position + 1 < first + pause.times
    if created(older) < pause.at < created(newer):
        return True
    if pause.at == created(older):
        return _went_with(pause, older) is not False
    if pause.at != created(newer):
        return False
    went = _went_with(pause, newer)
    return position + 2 >= len(pods) if went is None else not went


def _went_with(pause: Break, pod: Incarnation) -> bool | None:
    """Whether a pod that was created in the second of a suspension was there before it, and so was told to go: the
    suspension is written after that. None where it is not known when the pod was told to go."""
    return None if pod.deletion_at is None else pod.deletion_at <= pause.at


def recount_break(job: JobState, pause: Break) -> None:
    """Decide anew what a suspension explains, which may become known later than the pods."""
    since = pause.at if pause.since is None else pause.since
    for replica in job.replicas.values():
        pods = replica.incarnations
        first = max(0, bisect_left(pods, since, key=created) - 2)
        last = min(len(pods) - 1, bisect_right(pods, pause.at, key=created) + pause.times)
        recount(job, replica, range(first, last))


def recount_scaled(job: JobState, replica: Replica) -> None:
    """The same of scale-downs, after news of a pod or of the spec."""
    positions = rescale(job, replica)
    if positions:
        recount(job, replica, sorted(positions))


def recount(job: JobState, replica: Replica, positions: Iterable[int]) -> None:
    """Decide anew which of the recreations at these positions count, and note what changed."""
    pods = replica.incarnations
    changed = [position for position in positions if recount_pair(job, replica, position)]
    for position in changed:
        job.changes.replicas.add(replica.key)
        job.changes.incarnations[pods[position].uid] = pods[position]
        if pods[position].followed:
            job.changes.recreations[pods[position].uid] = (pods[position], pods[position + 1])
    if changed:
        link_waits(job, replica, changed[0])


def recount_restarts(replica: Replica, before: tuple[int, int, int], pod: Incarnation) -> None:
    """Add what one pod's own counters gained. ``before``: (in place, init, sidecar) before the observation."""
    replica.in_place += pod.restarts - before[0]
    replica.init_restarts += pod.init_restarts - before[1]
    replica.sidecar_restarts += pod.sidecar_restarts - before[2]
