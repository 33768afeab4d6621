"""A job of many replicas that restarted many times, written straight into the rows of the store."""

from collections.abc import Iterator, Sequence

from jobs import models
from jobs.domain.facts import Condition, JobFacts, ReplicaSpec
from jobs.domain.state import End, Incarnation, JobState, Span
from jobs.store.codec import incarnation_text, job_text

BEGIN = 1_800_000_000.0
LIFE = 600.0  # seconds of one incarnation, its successor's start included
CODES: tuple[int, ...] = (138, 137, 139, 134)
BATCH = 2000


def pod(
    replica: int,
    number: int,
    last: int,
    *,
    prefix: str = "",
    begin: float = BEGIN,
    life: float = LIFE,
    codes: Sequence[int] = CODES,
) -> Incarnation:
    """The n-th incarnation of a worker; the one with number ``last`` still runs."""
    born = begin + number * life + replica % 7
    over = number < last
    code = codes[(replica + number) % len(codes)]
    found = Incarnation(
        uid=f"{prefix}{replica:08x}-0000-4000-8000-{number:012x}",
        name=f"large-worker-{replica}",
        type="worker",
        index=replica,
        job_index=0,
        created_at=born,
        first_version=replica * 1000 + number * 10,
        version=replica * 1000 + number * 10 + 5,
        first_seen_at=born + 0.01,
        last_seen_at=born + life - 5,
        listed=False,
        phase="Failed" if over else "Running",
        running_at=born + 4,
        node=f"node-{replica % 40}",
        image="train:1",
        pod_policy="Never",
        followed=over,
        counts=over,
    )
    if over:
        ended = born + life - 8
        end = End(ended, code, "Error", None, None, born + 4, f"containerd://{replica}-{number}", ended + 0.2, True)
        found.ends = [end]
        found.ended_at, found.deleted_at = ended + 0.2, ended + 2
        found.cause_code, found.cause = "exit", f"exit {code}"
    return found


def job_state(uid: str, replicas: int, restarts: int, begin: float, life: float) -> JobState:
    facts = JobFacts(
        api_version="kubeflow.org/v1",
        kind="PyTorchJob",
        created_at=begin,
        generation=1,
        replicas=(ReplicaSpec("Worker", replicas, "ExitCode", "train:1"),),
        conditions=(Condition("Created", "True"), Condition("Running", "True")),
    )
    job = JobState("large", uid, "team", "large", "kubeflow.org/v1", "PyTorchJob", 1, facts, "Running", True)
    job.created_at = job.first_observed_at = begin
    job.last_observed_at = begin + (restarts + 1) * life
    job.spans = {"state": [Span("state", 0, "Created", begin, begin + 5), Span("state", 1, "Running", begin + 5)]}
    job.spans["restarting"] = [
        Span("restarting", n, "Restarting", begin + (n + 1) * life, begin + (n + 1) * life + 0.025)
        for n in range(restarts)
    ]
    return job


def write_large(
    replicas: int,
    restarts: int,
    *,
    uid: str = "large-job",
    begin: float = BEGIN,
    life: float = LIFE,
    live: bool = False,
    codes: Sequence[int] = CODES,
    name: str = "large",
) -> models.Job:
    """One job with so many workers, each restarted so often. ``live``: its cluster is watched now."""
    job = job_state(uid, replicas, restarts, begin, life)
    cluster, _ = models.Cluster.objects.get_or_create(name="large")
    if not live:
        cluster.observed_until = job.last_observed_at
        cluster.save()
    row = models.Job.objects.create(
        id=(models.Job.objects.order_by("-id").values_list("id", flat=True).first() or 0) + 1,
        cluster=cluster,
        uid=job.uid,
        api_group="kubeflow.org",
        kind=job.kind,
        namespace=job.namespace,
        name=name,
        state=job.state,
        present=True,
        true_restarts=replicas * restarts,
        kubectl_restarts=0,
        hidden_restarts=replicas * restarts,
        at_least=False,
        created_at=begin,
        last_observed_at=job.last_observed_at,
        last_restart_at=begin + restarts * life,
        replicas=replicas,
        record=job_text(job),
        seq=1,
    )
    models.Sequence.objects.update_or_create(id=1, defaults={"value": 1})
    prefix = "" if uid == "large-job" else f"{uid}-"
    pods = [
        pod(replica, number, restarts, prefix=prefix, begin=begin, life=life, codes=codes)
        for replica in range(replicas)
        for number in range(restarts + 1)
    ]
    models.Incarnation.objects.bulk_create(_incarnations(row, pods), batch_size=BATCH)
    models.Restart.objects.bulk_create(_restarts(row, pods), batch_size=BATCH)
    models.Span.objects.bulk_create(
        models.Span(job=row, lane=s.lane, number=s.number, value=s.value, start=s.start, end=s.end, seq=1)
        for lane in job.spans.values()
        for s in lane
    )
    return row


def _incarnations(row: models.Job, pods: list[Incarnation]) -> Iterator[models.Incarnation]:
    for one in pods:
        yield models.Incarnation(
            job=row,
            uid=one.uid,
            name=one.name,
            replica_type=one.type,
            replica_index=one.index,
            job_index=0,
            created_at=one.created_at,
            ended_at=one.ended_at,
            node=one.node or "",
            record=incarnation_text(one),
            seq=1,
        )


def _restarts(row: models.Job, pods: list[Incarnation]) -> Iterator[models.Restart]:
    following = dict(zip([one.uid for one in pods], pods[1:], strict=False))
    for one in pods:
        if one.counts:
            yield models.Restart(
                job=row,
                pod_uid=one.uid,
                number=0,
                counts=True,
                at=one.ended_at,
                running_again_at=following[one.uid].running_at,
                replica_type=one.type,
                replica_index=one.index,
                exit_code=one.ends[-1].exit_code,
                reason="Error",
                cause_code="exit",
                cause=one.cause or "",
                node=one.node or "",
                seq=1,
            )
