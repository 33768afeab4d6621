"""The kinds of training job. A kind is one entry of KINDS plus its oddities: what it puts into its pods and by which
rules it reads success, failure and restart from its replicas."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from simcluster.admission import replica_specs_field
from simcluster.controllers.operator import jax, master_worker, mpi, paddle, pytorch, replicas, tensorflow, xgboost
from simcluster.resources import JAXJOBS, MPIJOBS, PADDLEJOBS, PYTORCHJOBS, TFJOBS, XGBOOSTJOBS, Resource

if TYPE_CHECKING:
    from simcluster.controllers.operator.job import Job, Reconciliation, ReplicaSpec

Obj = dict[str, Any]


@dataclass(frozen=True)
class JobKind:
    """`set_cluster_spec(job, template, replica_type, index)` changes the pod template in place. `update_status` is
    the kind's own reading of its replica statuses. `replica_types`: as spelt in the spec, in canonical order.
    `port` 0: the kind names no port and has no services."""

    resource: Resource
    container: str
    port_name: str
    port: int
    replica_types: tuple[str, ...]
    default_restart_policy: str
    master_types: tuple[str, ...]
    set_cluster_spec: Callable[["Job", Obj, str, int], None]
    update_status: Callable[["Reconciliation"], None]
    deleted_job_reason: str
    reconcile_pods: Callable[["Reconciliation", str, "ReplicaSpec", str], Iterator[float]] = replicas.reconcile_pods

    @property
    def name(self) -> str:
        return self.resource.kind

    @property
    def specs_field(self) -> str:
        return replica_specs_field(self.resource)

    @property
    def controller_name(self) -> str:
        return f"{self.resource.singular}-controller"


KINDS: tuple[JobKind, ...] = (
    JobKind(
        resource=TFJOBS,
        container="tensorflow",
        port_name="tfjob-port",
        port=2222,
        replica_types=("Chief", "Evaluator", "Master", "PS", "Worker"),
        default_restart_policy="Never",
        master_types=("Chief", "Master"),
        set_cluster_spec=tensorflow.set_cluster_spec,
        update_status=tensorflow.update_status,
        deleted_job_reason="SuccessfulDeleteJob",
    ),
    JobKind(
        resource=PYTORCHJOBS,
        container="pytorch",
        port_name="pytorchjob-port",
        port=23456,
        replica_types=("Master", "Worker"),
        default_restart_policy="OnFailure",
        master_types=("Master",),
        set_cluster_spec=pytorch.set_cluster_spec,
        update_status=master_worker.update_status,
        deleted_job_reason="SuccessfulDeletePod",
    ),
    JobKind(
        resource=MPIJOBS,
        container="mpi",
        port_name="",
        port=0,
        replica_types=("Launcher", "Worker"),
        default_restart_policy="Never",
        master_types=("Launcher",),
        set_cluster_spec=mpi.set_cluster_spec,
        update_status=mpi.update_status,
        deleted_job_reason="SuccessfulDeleteJob",
        reconcile_pods=mpi.reconcile_pods,
    ),
    JobKind(
        resource=XGBOOSTJOBS,
        container="xgboost",
        port_name="xgboostjob-port",
        port=9999,
        replica_types=("Master", "Worker"),
        default_restart_policy="Never",
        master_types=("Master",),
        set_cluster_spec=xgboost.set_cluster_spec,
        update_status=xgboost.update_status,
        deleted_job_reason="SuccessfulDeleteJob",
    ),
    JobKind(
        resource=PADDLEJOBS,
        container="paddle",
        port_name="paddlejob-port",
        port=36543,
        replica_types=("Master", "Worker"),
        default_restart_policy="OnFailure",
        master_types=("Master",),
        set_cluster_spec=paddle.set_cluster_spec,
        update_status=master_worker.update_status,
        deleted_job_reason="SuccessfulDeletePod",
    ),
    JobKind(
        resource=JAXJOBS,
        container="jax",
        port_name="jaxjob-port",
        port=6666,
        replica_types=("Worker",),
        default_restart_policy="Never",
        master_types=(),
        set_cluster_spec=jax.set_cluster_spec,
        update_status=master_worker.update_status_of_workers,
        deleted_job_reason="SuccessfulDeletePod",
    ),
)
