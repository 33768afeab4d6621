"""The reducer: one observation in, the job's state brought up to date, the touched parts noted in ``changes``.

No clock and no input or output: the same observations give the same state, in any interleaving of resources.
"""

from jobs.domain.causes import settle_cause
from jobs.domain.conditions import fold_job
from jobs.domain.count import (
    add_incarnation,
    link_waits,
    neighbours,
    position_of,
    recount,
    recount_break,
    recount_restarts,
    recount_scaled,
)
from jobs.domain.creations import note_creations
from jobs.domain.facts import DELETED, LISTED, VANISHED, EventFacts, JobFacts, Observation, PodFacts, PodGroupFacts
from jobs.domain.gang import note_end, note_new_pod
from jobs.domain.intervals import job_end
from jobs.domain.kinds import kind_of
from jobs.domain.pods import fold_pod
from jobs.domain.refusals import note_refusal
from jobs.domain.state import PODGROUP_LANE, Incarnation, JobState, Replica, Unobserved
from jobs.domain.totals import incomplete


def new_job(cluster: str, uid: str, observation: Observation) -> JobState:
    """The empty state of a job that an observation is the first sign of; named from its owner reference or Event."""
    facts = observation.facts
    job = JobState(cluster, uid, observation.namespace, observation.name, first_observed_at=observation.observed_at)
    if isinstance(facts, PodFacts | PodGroupFacts):
        job.name, job.kind = facts.job_name or "", facts.job_kind or ""
    if isinstance(facts, PodFacts):
        job.api_version = facts.job_api_version or ""
    return job


def reduce(job: JobState, observation: Observation) -> None:
    """Fold one observation into its job's state. Observations not newer than what is known change nothing."""
    facts = observation.facts
    if isinstance(facts, PodFacts) or (facts is None and observation.uid in job.pods):
        _reduce_pod(job, observation)
    elif isinstance(facts, JobFacts) or (facts is None and observation.uid == job.uid):
        _reduce_job(job, observation)
    elif isinstance(facts, PodGroupFacts) or (facts is None and observation.uid == job.podgroup_uid):
        _reduce_podgroup(job, observation)
    elif isinstance(facts, EventFacts):
        _reduce_event(job, observation, facts)


def unobserved(job: JobState, start: float | None, end: float, resource: str) -> None:
    """Note that nobody watched ``resource`` from ``start`` to ``end``; a job that was over before is not touched.

    It must have been over when the interval began: what finished in it may have restarted in it.
    """
    if start is not None and _was_over(job, start):
        return
    job.unobserved.append(Unobserved(start, end, resource))
    job.changes.job = job.changes.every_replica = True


def not_watched(job: JobState, since: float, resource: str) -> None:
    """Note that nobody watches ``resource`` since then, and until further notice."""
    if resource not in job.unwatched and not _was_over(job, since):
        job.unwatched[resource] = since
        job.changes.job = job.changes.every_replica = True


def watched_again(job: JobState, resource: str) -> bool:
    """``resource`` is watched again; what was missed, if anything, is noted by :func:`unobserved`. False: it was."""
    if job.unwatched.pop(resource, None) is None:
        return False
    job.changes.job = job.changes.every_replica = True
    return True


def read_late(job: JobState, since: float, until: float) -> None:
    """What happened from ``since`` on was read at ``until``: nothing was missed, but our clock tells no times of it."""
    if since >= until or _was_over(job, since):
        return
    touching = [late for late in job.late if late[0] <= until and since <= late[1]]
    job.late = [late for late in job.late if late not in touching]
    job.late.append((min([since, *(a for a, _ in touching)]), max([until, *(b for _, b in touching)])))
    job.changes.job = True


def _was_over(job: JobState, at: float) -> bool:
    ended = job_end(job)
    return ended is not None and ended <= at and not job.pods_left


def _reduce_job(job: JobState, observation: Observation) -> None:
    if observation.resource_version <= job.version:
        return
    known = {id(pause) for pause in job.breaks}
    generation, specs = (job.facts.generation, job.facts.replicas) if job.facts else (None, ())
    fold_job(job, observation)
    for pause in job.breaks:
        if id(pause) not in known:
            recount_break(job, pause)
    if job.breaks and (job.facts.replicas if job.facts else ()) != specs:
        for replica in job.replicas.values():
            recount_scaled(job, replica)
    changed = generation != (job.facts.generation if job.facts else None) or generation is None
    if changed or observation.verb == VANISHED:
        job.changes.every_replica = True  # what Events prove depends on it


def _reduce_pod(job: JobState, observation: Observation) -> None:
    pod = job.pods.get(observation.uid)
    new = pod is None
    if pod is None:
        pod = _new_incarnation(job, observation)
    elif observation.resource_version <= pod.version:
        return
    replica = job.replicas[pod.type, pod.index, pod.job_index]
    before = (pod.restarts, pod.init_restarts, pod.sidecar_restarts)
    running_before, there = pod.running_at, not new and not pod.gone
    deletion_before = pod.deletion_at
    for restart in fold_pod(pod, observation):
        job.changes.in_place[pod.uid, restart.number] = (pod, restart)
    job.pods_left += (not pod.gone) - there
    recount_restarts(replica, before, pod)
    settle_cause(pod)
    taken_along = note_end(job, pod)
    if taken_along is not None:
        _touch(job, job.replicas[taken_along.type, taken_along.index, taken_along.job_index], taken_along)
    if new or (job.breaks and pod.deletion_at != deletion_before):
        recount(job, replica, neighbours(replica, pod))
    if job.breaks:
        recount_scaled(job, replica)
    _touch(job, replica, pod, ran=pod.running_at != running_before)
    job.last_observed_at = max(job.last_observed_at or 0.0, observation.observed_at)


def _new_incarnation(job: JobState, observation: Observation) -> Incarnation:
    facts = observation.facts
    assert isinstance(facts, PodFacts)
    listed = observation.verb == LISTED
    pod = Incarnation(
        observation.uid,
        observation.name,
        facts.replica_type or "",
        facts.replica_index or 0,
        0,
        facts.created_at,
        observation.resource_version,
        observation.resource_version,
        observation.observed_at,
        observation.observed_at,
        listed,
    )
    kind = kind_of(job.api_version, job.kind)
    pod.with_gang = kind is not None and kind.gang_restarts
    add_incarnation(job, pod)
    note_new_pod(job, pod)
    return pod


def _touch(job: JobState, replica: Replica, pod: Incarnation, *, ran: bool = False) -> None:
    """Note what depends on the pod: itself, and the recreations before and after it."""
    job.changes.job = True
    job.changes.replicas.add(replica.key)
    job.changes.incarnations[pod.uid] = pod
    pods = replica.incarnations
    position = position_of(replica, pod)
    if pod.followed:
        job.changes.recreations[pod.uid] = (pod, pods[position + 1])
    if ran and position:
        job.changes.recreations[pods[position - 1].uid] = (pods[position - 1], pod)
    link_waits(job, replica, max(0, position - 1))


def _reduce_podgroup(job: JobState, observation: Observation) -> None:
    same = observation.uid == job.podgroup_uid
    if same and observation.resource_version <= job.podgroup_version:
        return
    at = observation.observed_at
    if observation.verb in (DELETED, VANISHED):
        if same:
            job.podgroup_version = observation.resource_version
            job.podgroup = None
            job.end_span(PODGROUP_LANE, at if observation.verb == DELETED else None)
            job.changes.job = True
        return
    facts = observation.facts
    assert isinstance(facts, PodGroupFacts)
    job.podgroup_uid, job.podgroup_version, job.podgroup = observation.uid, observation.resource_version, facts
    _fold_podgroup(job, facts, at)
    job.changes.job = True


def _fold_podgroup(job: JobState, facts: PodGroupFacts, at: float) -> None:
    current = job.open_span(PODGROUP_LANE)
    detail = {
        "min_member": facts.min_member,
        "running": facts.running,
        "succeeded": facts.succeeded,
        "failed": facts.failed,
    }
    if current is None or (current.value, current.detail) != (facts.phase or "", detail):
        job.end_span(PODGROUP_LANE, at)
        job.start_span(PODGROUP_LANE, facts.phase or "", at, **detail)


def _reduce_event(job: JobState, observation: Observation, facts: EventFacts) -> None:
    """An Event proves creations, or that one was refused; its expiry takes nothing back."""
    if note_refusal(job, observation, facts):
        job.changes.job = True
        return
    key = note_creations(job, observation, facts)
    if key is None:
        return
    job.changes.job = True
    if incomplete(job):
        job.changes.replicas.add(key)
