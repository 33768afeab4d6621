"""What the pages know of clusters: asked beside the request, because a cluster that hangs must not hang a page."""

from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotInTime
from dataclasses import dataclass, field
from time import monotonic

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
    at, asked = _answers.get(key, (0.0, None))
    if asked is None or monotonic() - at > _known_for(asked):
        asked = _threads.submit(_answer, cluster, kinds)
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


def _answer(cluster: str, kinds: tuple[JobKind, ...]) -> Answer:
    source = cluster_named(cluster)
    if source is None:
        return Answer(problem=UNKNOWN)
    try:
        with cluster_writer(source) as writer:
            return _told(cluster, kinds, writer)
    except Away as away:
        return Answer(problem=str(away))
    finally:
        connection.close()  # this thread's own, for the namespaces that are known from jobs


def _told(cluster: str, kinds: tuple[JobKind, ...], writer: Writer) -> Answer:
    simulated = writer.is_simulated()
    try:
        namespaces = tuple(namespaces_for(cluster, kinds, writer))
        return Answer(simulated, namespaces, enforced=pod_security(namespaces, writer))
    except Refused as refusal:
        return Answer(simulated, problem=refusal.message)
