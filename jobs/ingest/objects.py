"""The facts of jobs, PodGroups and Events from their wire structs."""

from collections.abc import Iterable

from jobs.domain.facts import Condition, EventFacts, JobFacts, PodGroupFacts, ReplicaSpec, ReplicaStatus
from jobs.domain.kinds import JobKind
from jobs.ingest import wire, wire_jobs, wire_related
from jobs.ingest.pods import deletion_at, owner_of
from jobs.ingest.values import bounded, epoch, word

LABEL_LIMIT = 32
CONDITION_LIMIT = 32
REPLICA_TYPE_LIMIT = 64

_NO_RUN_POLICY = wire_jobs.RunPolicy()
_NO_SCHEDULING = wire_jobs.SchedulingPolicy()
_NO_JOB_SPEC = wire_jobs.JobSpec()
_NO_VOLCANO_SPEC = wire_jobs.VolcanoJobSpec()
_NO_JOB_STATUS = wire_jobs.JobStatus()
_NO_STATE = wire_jobs.VolcanoState()
_NO_TEMPLATE = wire_jobs.PodTemplate()
_NO_TEMPLATE_SPEC = wire_jobs.TemplateSpec()
_NO_GROUP_SPEC = wire_related.PodGroupSpec()
_NO_GROUP_STATUS = wire_related.PodGroupStatus()
_NO_REFERENCE = wire_related.ObjectReference()
_NO_SOURCE = wire_related.EventSource()
_NO_SERIES = wire_related.EventSeries()


# --- jobs


def job_facts(kind: JobKind, job: wire_jobs.Job, metadata: wire_jobs.JobMetadata) -> JobFacts:
    """Of a Kubeflow job. ``lastReconcileTime`` is no fact: a write that changes nothing else compares equal."""
    spec = job.spec or _NO_JOB_SPEC
    run = spec.run_policy or _NO_RUN_POLICY
    scheduling = run.scheduling_policy or _NO_SCHEDULING
    status = job.status or _NO_JOB_STATUS
    owner = owner_of(metadata)
    return JobFacts(
        api_version=word(job.api_version) or kind.api_version,
        kind=kind.kind,
        created_at=epoch(metadata.creation_timestamp),
        deletion_at=deletion_at(metadata),
        generation=metadata.generation,
        owner_kind=word(owner.kind),
        owner_name=word(owner.name),
        owner_uid=word(owner.uid),
        suspend=run.suspend,
        backoff_limit=run.backoff_limit,
        active_deadline=run.active_deadline_seconds,
        ttl=run.ttl_seconds_after_finished,
        clean_pod_policy=word(run.clean_pod_policy or spec.clean_pod_policy),
        success_policy=word(spec.success_policy),
        min_member=scheduling.min_available,
        queue=word(scheduling.queue),
        priority_class=word(scheduling.priority_class),
        replicas=_kubeflow_replicas(kind, spec),
        conditions=_conditions(status),
        statuses=_replica_statuses(status),
        started_at=epoch(status.start_time),
        completed_at=epoch(status.completion_time),
        labels=_labels(metadata) if metadata.labels else (),
        has_status=job.status is not None,
    )


def volcano_job_facts(kind: JobKind, job: wire_jobs.VolcanoJob, metadata: wire_jobs.JobMetadata) -> JobFacts:
    """Of a Volcano Job: its state is a phase, so its conditions (a list of past phases) are left out.

    ``backoff_limit`` is ``spec.maxRetry``.
    """
    spec = job.spec or _NO_VOLCANO_SPEC
    status = job.status or _NO_JOB_STATUS
    state = status.state or _NO_STATE
    owner = owner_of(metadata)
    return JobFacts(
        api_version=word(job.api_version) or kind.api_version,
        kind=kind.kind,
        created_at=epoch(metadata.creation_timestamp),
        deletion_at=deletion_at(metadata),
        generation=metadata.generation,
        owner_kind=word(owner.kind),
        owner_name=word(owner.name),
        owner_uid=word(owner.uid),
        backoff_limit=spec.max_retry,
        ttl=spec.ttl_seconds_after_finished,
        min_member=spec.min_available,
        queue=word(spec.queue),
        priority_class=word(spec.priority_class_name),
        replicas=_volcano_replicas(kind, spec),
        phase=word(state.phase),
        phase_at=epoch(state.last_transition_time),
        retry_count=status.retry_count,
        version=status.version,
        labels=_labels(metadata) if metadata.labels else (),
        has_status=job.status is not None,
        running=status.running,
        min_available=status.min_available,
    )


def _kubeflow_replicas(kind: JobKind, spec: wire_jobs.JobSpec) -> tuple[ReplicaSpec, ...]:
    specs = list((spec.replica_specs or {}).items())[:REPLICA_TYPE_LIMIT]
    return tuple(
        [
            ReplicaSpec(
                type=word(type_) or "",
                replicas=replica.replicas,
                restart_policy=word(replica.restart_policy),
                image=_main_image(kind, replica.template or _NO_TEMPLATE),
            )
            for type_, replica in specs
            if replica is not None
        ]
    )


def _volcano_replicas(kind: JobKind, spec: wire_jobs.VolcanoJobSpec) -> tuple[ReplicaSpec, ...]:
    return tuple(_volcano_replica(kind, task) for task in (spec.tasks or ())[:REPLICA_TYPE_LIMIT] if task is not None)


def _volcano_replica(kind: JobKind, task: wire_jobs.ReplicaSpec) -> ReplicaSpec:
    template = task.template or _NO_TEMPLATE
    return ReplicaSpec(
        type=word(task.name) or "",
        replicas=task.replicas,
        restart_policy=word((template.spec or _NO_TEMPLATE_SPEC).restart_policy),
        image=_main_image(kind, template),
    )


def _main_image(kind: JobKind, template: wire_jobs.PodTemplate) -> str | None:
    """Image of the main container: the kind's name for it, else the default-container annotation's, else the first."""
    containers = [c for c in (template.spec or _NO_TEMPLATE_SPEC).containers or () if c is not None]
    if not containers:
        return None
    annotations = template.metadata.annotations if template.metadata is not None else None
    named = annotations.default_container if annotations is not None else None
    for name in (kind.container, named):
        for container in containers:
            if name is not None and container.name == name:
                return word(container.image)
    return word(containers[0].image)


def _conditions(status: wire_jobs.JobStatus) -> tuple[Condition, ...]:
    return tuple(
        [
            Condition(
                type=word(c.type) or "",
                status=word(c.status),
                reason=word(c.reason),
                message=bounded(c.message),
                transition_at=epoch(c.last_transition_time),
                updated_at=epoch(c.last_update_time),
            )
            for c in (status.conditions or ())[:CONDITION_LIMIT]
            if c is not None and c.type
        ]
    )


def _replica_statuses(status: wire_jobs.JobStatus) -> tuple[ReplicaStatus, ...]:
    statuses = list((status.replica_statuses or {}).items())[:REPLICA_TYPE_LIMIT]
    return tuple(
        [
            ReplicaStatus(word(type_) or "", s.active or 0, s.succeeded or 0, s.failed or 0)
            for type_, s in statuses
            if s is not None
        ]
    )


def _labels(metadata: wire_jobs.JobMetadata) -> tuple[tuple[str, str], ...]:
    return tuple(_sorted_labels(metadata.labels or {}))[:LABEL_LIMIT]


def _sorted_labels(labels: dict[str, str | None]) -> Iterable[tuple[str, str]]:
    for key in sorted(labels):
        yield word(key) or "", word(labels[key]) or ""


# --- PodGroups


def podgroup_facts(group: wire_related.PodGroup, metadata: wire.Metadata) -> PodGroupFacts:
    """Of both API groups. Of conditions only type, status and reason: the rest changes at every scheduling cycle."""
    spec = group.spec or _NO_GROUP_SPEC
    status = group.status or _NO_GROUP_STATUS
    owner = owner_of(metadata)
    conditions = [
        Condition(type=word(c.type) or "", status=word(c.status), reason=word(c.reason))
        for c in (status.conditions or ())[:CONDITION_LIMIT]
        if c is not None and c.type
    ]
    return PodGroupFacts(
        api_version=word(group.api_version),
        job_uid=word(owner.uid),
        job_kind=word(owner.kind),
        job_name=word(owner.name),
        created_at=epoch(metadata.creation_timestamp),
        deletion_at=deletion_at(metadata),
        phase=word(status.phase),
        min_member=spec.min_member,
        queue=word(spec.queue),
        priority_class=word(spec.priority_class_name),
        running=status.running or 0,
        succeeded=status.succeeded or 0,
        failed=status.failed or 0,
        conditions=tuple(conditions),
    )


# --- Events


def event_facts(event: wire_related.Event) -> EventFacts:
    """Newer sources set no count and no first or last time: the series and ``eventTime`` stand in."""
    involved = event.involved_object or _NO_REFERENCE
    series = event.series or _NO_SERIES
    source = event.source or _NO_SOURCE
    at = epoch(event.event_time)
    first_at = epoch(event.first_timestamp) or at
    return EventFacts(
        involved_kind=word(involved.kind),
        involved_name=word(involved.name),
        involved_uid=word(involved.uid),
        reason=word(event.reason),
        message=bounded(event.message),
        type=word(event.type),
        source=word(source.component or event.reporting_component),
        count=event.count or series.count or 1,
        first_at=first_at,
        last_at=epoch(event.last_timestamp) or epoch(series.last_observed_time) or first_at,
    )
