"""What the pages know of clusters: asked beside the request, because a cluster that hangs must not hang a page."""

from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotInTime
from dataclasses import dataclass, field
from time import monotonic
from typing import NamedTuple

from django.conf import settings
from django.db import connection

from jobs.domain.kinds import KINDS, JobKind
from jobs.experiments.clusters import cluster_named, namespaces_for, pod_security, usual
from jobs.experiments.experiment import Experiment
from jobs.experiments.writes import Away, Refused, Writer, cluster_writer

TIMEOUT, UNKNOWN = "timeout", "unknown"  # problems that are no words of a cluster
WAIT = 3.0  # seconds that a page waits for an answer
KNOWN_SECONDS = 30.0  # that an answer is taken for true
RETRY_SECONDS = 3.0  # after which a cluster that did not answer is asked again

_threads = ThreadPoolExecutor(max_workers=4, thread_name_prefix="ask-cluster")
_answers: dict[tuple[str, ...], tuple[float, Future["Answer"]]] = {}


@dataclass(frozen=True)
class Answer:
    """``namespaces``: where jobs of the kinds may be created. ``problem``: why that is not known. ``enforced``: the pod
    security standard that each of them enforces by its label, "" for none, as far as that may be read."""

    simulated: bool = False
    namespaces: tuple[str, ...] = ()
    problem: str = ""
    enforced: Mapping[str, str] = field(default_factory=dict)

    @property
    def usual(self) -> str:
        """The namespace that a launch with one click takes; "" if there is none."""
        return usual(self.namespaces)


class Enforced(NamedTuple):
    """``level``: the pod security standard that a namespace enforces by its label, "" for none; None where that is not
    known. ``problem``: why not; "" where its labels may not be read."""

    level: str | None
    problem: str = ""


def cluster_names() -> list[str]:
    return [source.name for source in settings.RESTARTSCOPE_CLUSTERS]


def kinds_of(experiment: Experiment | None) -> tuple[JobKind, ...]:
    """The kinds that an experiment creates; without one those of TFJobs, for a manifest of somebody's own."""
    wanted = experiment.kinds if experiment is not None else ("TFJob",)
    return tuple(kind for kind in KINDS if kind.kind in wanted)


def ask(cluster: str, kinds: tuple[JobKind, ...]) -> Answer:
    """What the cluster says, or why it does not."""
    if cluster_named(cluster) is None:  # not remembered: addresses may name anything
        return Answer(problem=UNKNOWN)
    key = cluster, *(kind.resource for kind in kinds)
    return _remembered(key, lambda: _answer(cluster, lambda writer: _told(cluster, kinds, writer)))


def enforced(cluster: str, namespace: str, answer: Answer) -> Enforced:
    """What one of the namespaces enforces. ``answer``: that of the cluster; what it lacks is asked for."""
    if namespace in answer.enforced:
        return Enforced(answer.enforced[namespace])
    if namespace not in answer.namespaces:  # not asked for: forms may name anything
        return Enforced(None, answer.problem or UNKNOWN)
    key = cluster, "namespaces", namespace
    found = _remembered(key, lambda: _answer(cluster, lambda writer: _label(namespace, writer)))
    return Enforced(found.enforced.get(namespace), found.problem)


def _remembered(key: tuple[str, ...], call: Callable[[], Answer]) -> Answer:
    at, asked = _answers.get(key, (0.0, None))
    if asked is None or monotonic() - at > _known_for(asked):
        asked = _threads.submit(call)
        _answers[key] = monotonic(), asked
    try:
        return asked.result(WAIT)
    except NotInTime:
        return Answer(problem=TIMEOUT)


def _known_for(asked: Future[Answer]) -> float:
    return RETRY_SECONDS if asked.done() and asked.result().problem else KNOWN_SECONDS


def forget() -> None:
    """For tests: every cluster is asked anew."""
    _answers.clear()


def _answer(cluster: str, question: Callable[[Writer], Answer]) -> Answer:
    source = cluster_named(cluster)
    if source is None:
        return Answer(problem=UNKNOWN)
    try:
        with cluster_writer(source) as writer:
            return question(writer)
    except Away as away:
        return Answer(problem=str(away))
    finally:
        connection.close()  # this thread's own, for the namespaces that are known from jobs


def _told(cluster: str, kinds: tuple[JobKind, ...], writer: Writer) -> Answer:
    simulated = writer.is_simulated()
    try:
        namespaces = tuple(namespaces_for(cluster, kinds, writer))
    except Refused as refusal:
        return Answer(simulated, problem=refusal.message)
    try:
        return Answer(simulated, namespaces, enforced=pod_security(namespaces, writer))
    except (Away, Refused):  # that jobs may be created there is known; the labels are asked for where they are needed
        return Answer(simulated, namespaces)


def _label(namespace: str, writer: Writer) -> Answer:
    try:
        level = writer.pod_security(namespace)
    except Refused as refusal:
        return Answer(problem=refusal.message)
    return Answer(enforced={} if level is None else {namespace: level})
