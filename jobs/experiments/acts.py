"""What a run does to its objects while it runs.

An act is written down with the UID it is meant for, then done, then written down as done. Whoever finds it begun and
not done, because the worker died in between, does it again with the same UID: each request has that UID as its
precondition, so what was done already is found gone and nothing else is touched.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from jobs.domain.kinds import JobKind, kind_of
from jobs.domain.state import Incarnation, JobState
from jobs.experiments.experiment import Act, ActKind, DoneAct, Object, Observed
from jobs.experiments.labels import run_of, uid_of
from jobs.experiments.models import ExperimentObject
from jobs.experiments.writes import Refused, Writer

DELETING = (ActKind.DELETE_POD, ActKind.EVICT_POD, ActKind.DELETE_JOB)
ON_PODS = (ActKind.DELETE_POD, ActKind.EVICT_POD, ActKind.LOSE_NODE)


@dataclass
class Record:
    """How far an act has come. ``at``: when it was sent; ``done_at``: when that was answered, None before."""

    key: str
    what: str
    at: float
    target: str  # the name of a pod, job or node
    uid: str  # of the pod or job; "" for a node
    job_uid: str  # the job on whose timeline it is shown
    done_at: float | None = None
    error: str = ""

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def done(self) -> DoneAct:
        return DoneAct(self.key, self.at, self.error)


class NotYet(Exception):
    """The act cannot be done now, but may be in a moment."""


def begun(
    act: Act, objects: Sequence[ExperimentObject], observed: Observed, records: Sequence[Record], now: float
) -> Record:
    """What the act is meant for, as things are now. Raises ``NotYet`` while that is not there."""
    job = newest(objects, act.job)
    if act.kind in ON_PODS:
        pod = _pod(_state(observed, job.uid), act.pod)
        if act.kind is not ActKind.LOSE_NODE:
            return Record(act.key, act.kind, now, pod.name, pod.uid, job.uid)
        if not pod.node:
            raise NotYet(f"{act.pod} runs on no node")
        return Record(act.key, act.kind, now, pod.node, "", job.uid)
    if act.kind is ActKind.RETURN_NODE:
        lost = [record for record in records if record.what == ActKind.LOSE_NODE]
        if not lost:
            raise NotYet("no node was lost")
        return Record(act.key, act.kind, now, lost[-1].target, "", job.uid)
    return Record(act.key, act.kind, now, job.name, job.uid, job.uid)


def do(
    act: Act, record: Record, objects: Sequence[ExperimentObject], namespace: str, writer: Writer, *, again: bool
) -> Object | None:
    """Do it; with ``again``, find it done already. Answers the object that was created, if the act creates one.

    Raises ``NotYet``, ``Refused`` with the API server's words, and ``Away``.
    """
    if act.kind is ActKind.CREATE_AGAIN:
        return _create_again(record, newest(objects, act.job), namespace, writer)
    try:
        _request(act, record, newest(objects, act.job), namespace, writer)
    except Refused as refusal:
        if not (refusal.is_gone and act.kind in DELETING):
            raise
        if not again:  # it went by itself a moment ago: another one is meant
            raise NotYet(refusal.message) from refusal
    return None


def newest(objects: Sequence[ExperimentObject], position: int) -> ExperimentObject:
    """The youngest object of a position: one that was created again replaces the one before."""
    return [one for one in objects if one.position == position][-1]


def _request(act: Act, record: Record, job: ExperimentObject, namespace: str, writer: Writer) -> None:
    kind = _kind(job)
    if act.kind is ActKind.DELETE_POD:
        writer.delete_pod(namespace, record.target, record.uid)
    elif act.kind is ActKind.EVICT_POD:
        writer.evict(namespace, record.target, record.uid)
    elif act.kind in (ActKind.SUSPEND, ActKind.RESUME):
        suspend = {"spec": {"runPolicy": {"suspend": act.kind is ActKind.SUSPEND}}}
        writer.patch(kind, namespace, record.target, record.uid, suspend)
    elif act.kind is ActKind.SCALE:
        writer.patch(kind, namespace, record.target, record.uid, {"spec": _scaled(kind, job, act)})
    elif act.kind is ActKind.DELETE_JOB:
        writer.delete(kind, namespace, record.target, record.uid)
    elif act.kind is ActKind.LOSE_NODE:
        writer.simulate("lose_node", name=record.target)
    else:
        assert act.kind is ActKind.RETURN_NODE
        writer.simulate("return_node", name=record.target)


def _scaled(kind: JobKind, job: ExperimentObject, act: Act) -> dict[str, Any]:
    """The part of a spec that gives one replica type another number; a list can only be replaced as a whole."""
    replica_type, replicas = act.params["replica_type"], act.params["replicas"]
    if kind.conditions:
        return {kind.specs: {replica_type: {"replicas": replicas}}}
    tasks = job.manifest["spec"][kind.specs]
    return {kind.specs: [task | ({"replicas": replicas} if task["name"] == replica_type else {}) for task in tasks]}


def _create_again(record: Record, old: ExperimentObject, namespace: str, writer: Writer) -> Object:
    """Creates the manifest anew once the old object has gone; a lost answer is found by the run's label."""
    there = writer.get(_kind(old), namespace, old.name)
    if there is None:
        return writer.create(old.manifest, namespace)
    if uid_of(there) == record.uid:
        raise NotYet(f"{old.name} is not gone yet")
    if run_of(there) != str(old.run_id):
        raise Refused(409, "AlreadyExists", f'{old.kind} "{old.name}" already exists, and is not of this run')
    return there


def _kind(job: ExperimentObject) -> JobKind:
    kind = kind_of(job.api_version, job.kind)
    assert kind is not None
    return kind


def _state(observed: Observed, uid: str) -> JobState:
    for job in observed.jobs:
        if job is not None and job.uid == uid:
            return job
    raise NotYet("the job has not been seen yet")


def _pod(job: JobState, replica: str) -> Incarnation:
    """The newest pod of a replica that is there, as in ``worker-0``."""
    kind, _, index = replica.rpartition("-")
    for key, found in job.replicas.items():
        if key[0].lower() == kind.lower() and str(key[1]) == index:
            there = [pod for pod in found.incarnations if not pod.gone]
            if there:
                return there[-1]
    raise NotYet(f"{replica} has no pod")
