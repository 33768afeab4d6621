"""What tests share that carry runs on against a simulated cluster."""

from collections.abc import Callable
from typing import Any

from jobs.experiments import runs
from jobs.experiments.acts import Record
from jobs.experiments.experiment import Act, ActKind, Experiment
from jobs.experiments.models import ExperimentRun
from jobs.models import Job
from tests.experiments.pages import jobs_of
from tests.experiments.small import text
from tests.watch.live import LiveCluster, wait_until

AddExperiment = Callable[..., Experiment]


def act(kind: ActKind, key: str = "act", since: str = "runs", after: float = 0.0, **more: Any) -> Act:
    return Act(key, text(key), kind, since, after, **more)


def job(cluster: LiveCluster) -> dict[str, Any]:
    (found,) = jobs_of(cluster)
    return found


def pod_uids(cluster: LiveCluster, replica: str) -> set[str]:
    """UIDs of every pod that the store knows of a replica."""
    kind, _, index = replica.rpartition("-")
    (row,) = Job.objects.all()
    rows = row.incarnation_set.filter(replica_type=kind, replica_index=index)
    return set(rows.values_list("uid", flat=True))


def carried_on(run: ExperimentRun, until: Callable[[ExperimentRun], object], seconds: float = 60) -> ExperimentRun:
    """The run, carried on again and again until something is true of it."""

    def done() -> object:
        runs.carry_on(run.id)
        run.refresh_from_db()
        return until(run)

    wait_until(done, seconds, lambda: (run.state, run.trouble, run.detail, run.acts, run.verdict))
    return run


def record(run: ExperimentRun, key: str = "act") -> Record | None:
    found = {one["key"]: Record(**one) for one in run.acts}.get(key)
    return found if found is not None and found.done_at is not None else None
