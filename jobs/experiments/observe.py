"""What is known of a run, from the store."""

import time
from collections.abc import Sequence

from jobs.experiments.acts import Record
from jobs.experiments.experiment import Observed
from jobs.experiments.models import ExperimentObject, ExperimentRun
from jobs.models import Cluster, Job
from jobs.store.load import load_states


def records_of(run: ExperimentRun) -> list[Record]:
    return [Record(**record) for record in run.acts]


def created_objects(run: ExperimentRun) -> list[ExperimentObject]:
    """What the cluster has got, in the order of creation."""
    return list(run.created.exclude(uid="").order_by("id"))


def rows_of(cluster: str, objects: Sequence[ExperimentObject]) -> dict[str, Job]:
    """The jobs' rows by UID; what has not been seen yet is left out."""
    found = Job.objects.filter(cluster__name=cluster, uid__in=[one.uid for one in objects]).select_related("cluster")
    return {job.uid: job for job in found.defer("record")}


def observed(run: ExperimentRun, objects: Sequence[ExperimentObject]) -> Observed:
    """Everything the store holds of the run's jobs."""
    rows = rows_of(run.cluster, objects)
    states = load_states([row.id for row in rows.values()])
    now = time.time()
    return Observed(
        jobs=tuple(states.get(rows[one.uid].id) if one.uid in rows else None for one in objects),
        launched_at=run.launched_at or run.created_at,
        now=now,
        acts=tuple(record.done for record in records_of(run) if record.done_at is not None),
        watched_until=Cluster.objects.filter(name=run.cluster).values_list("observed_until", flat=True).first(),
    )
