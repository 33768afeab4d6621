"""The parts of jobs that are read (see ``wire``)."""

from typing import Any

import msgspec
from msgspec import Struct, field

from jobs.domain.kinds import JobKind
from jobs.ingest.wire import Int, Long, Metadata
from jobs.ingest.wire_pods import ContainerSpec, PodAnnotations


class JobMetadata(Metadata, gc=False, rename="camel"):
    generation: Long | None = None
    labels: dict[str, str | None] | None = None


class TemplateMetadata(Struct, gc=False):
    annotations: PodAnnotations | None = None


class TemplateSpec(Struct, gc=False, rename="camel"):
    containers: list[ContainerSpec | None] | None = None
    restart_policy: str | None = None


class PodTemplate(Struct, gc=False):
    metadata: TemplateMetadata | None = None
    spec: TemplateSpec | None = None


class ReplicaSpec(Struct, gc=False, rename="camel"):
    """A replica type of a Kubeflow job, or (with a name) a task of a Volcano Job."""

    name: str | None = None
    replicas: Int | None = None
    restart_policy: str | None = None
    template: PodTemplate | None = None


class SchedulingPolicy(Struct, gc=False, rename="camel"):
    min_available: Int | None = None
    queue: str | None = None
    priority_class: str | None = None


class RunPolicy(Struct, gc=False, rename="camel"):
    suspend: bool | None = None
    backoff_limit: Int | None = None
    active_deadline_seconds: Long | None = None
    ttl_seconds_after_finished: Int | None = None
    clean_pod_policy: str | None = None
    scheduling_policy: SchedulingPolicy | None = None


class JobSpec(Struct, gc=False):
    """The spec of a Kubeflow job, whose replica specs have a name of their own for each kind (see ``job_type``)."""

    replica_specs: dict[str, ReplicaSpec | None] | None = None
    run_policy: RunPolicy | None = field(name="runPolicy", default=None)
    success_policy: str | None = field(name="successPolicy", default=None)
    clean_pod_policy: str | None = field(name="cleanPodPolicy", default=None)  # MPIJob has it here too


class VolcanoJobSpec(Struct, gc=False, rename="camel"):
    tasks: list[ReplicaSpec | None] | None = None
    min_available: Int | None = None
    max_retry: Int | None = None
    queue: str | None = None
    priority_class_name: str | None = None
    ttl_seconds_after_finished: Int | None = None


class JobCondition(Struct, gc=False, rename="camel"):
    type: str | None = None
    status: str | None = None
    reason: str | None = None
    message: str | None = None
    last_transition_time: str | None = None
    last_update_time: str | None = None


class ReplicaStatus(Struct, gc=False):
    active: Int | None = None
    succeeded: Int | None = None
    failed: Int | None = None


class VolcanoState(Struct, gc=False, rename="camel"):
    phase: str | None = None
    last_transition_time: str | None = None


class JobStatus(Struct, gc=False, rename="camel"):
    """Of both families: ``state``, ``retry_count`` and ``version`` are Volcano's."""

    conditions: list[JobCondition | None] | None = None
    replica_statuses: dict[str, ReplicaStatus | None] | None = None
    start_time: str | None = None
    completion_time: str | None = None
    state: VolcanoState | None = None
    retry_count: Int | None = None
    version: Int | None = None
    running: Int | None = None
    min_available: Int | None = None


class Job(Struct, gc=False):
    """Base of the types that ``job_type`` makes."""

    api_version: str | None = field(name="apiVersion", default=None)
    metadata: JobMetadata | None = None
    spec: JobSpec | None = None
    status: JobStatus | None = None


class VolcanoJob(Struct, gc=False):
    api_version: str | None = field(name="apiVersion", default=None)
    metadata: JobMetadata | None = None
    spec: VolcanoJobSpec | None = None
    status: JobStatus | None = None


def job_type(kind: JobKind) -> Any:
    """The struct type of ``kind``: a ``Job`` whose replica specs are read from the kind's own field."""
    if not kind.conditions:
        return VolcanoJob
    replica_specs = ("replica_specs", dict[str, ReplicaSpec | None] | None, field(name=kind.specs, default=None))
    spec = msgspec.defstruct(f"{kind.kind}Spec", [replica_specs], bases=(JobSpec,), gc=False)
    spec_field: Any = ("spec", spec | None, None)
    return msgspec.defstruct(kind.kind, [spec_field], bases=(Job,), gc=False)
