"""The job kinds that are understood: one table entry each.

A new kind is one ``JobKind`` here and, where its object is shaped differently, one decoder in ``jobs/ingest``.
"""

from dataclasses import dataclass
from functools import lru_cache

PODS = "pods"
EVENTS = "events"
VOLCANO_PODGROUPS = "podgroups.scheduling.volcano.sh"
PLUGINS_PODGROUPS = "podgroups.scheduling.x-k8s.io"


@dataclass(frozen=True, slots=True)
class JobKind:
    """What differs between kinds.

    ``container``: name of the main container (restart facts, section 1). ``specs``: the field that holds the replica
    specs. ``conditions``: False where the state is a phase. ``deletion_fails``: the restart policies under which a pod
    that is deleted while it runs fails the job. ``gang_restarts``: True where the controller answers the failure of one
    replica by restarting all.
    """

    kind: str
    plural: str
    group: str
    version: str
    container: str | None
    specs: str
    operator: str | None
    recreates_failed: bool = True
    conditions: bool = True
    deletion_fails: tuple[str, ...] = ()
    gang_restarts: bool = False

    @property
    def resource(self) -> str:
        """As in observations: ``tfjobs.kubeflow.org``."""
        return f"{self.plural}.{self.group}"

    @property
    def api_version(self) -> str:
        """As in manifests: ``kubeflow.org/v1``."""
        return f"{self.group}/{self.version}"


POLICIES = ("Never", "OnFailure", "Always", "ExitCode")


def _kubeflow(
    kind: str,
    container: str,
    specs: str,
    *,
    recreates_failed: bool = True,
    deletion_fails: tuple[str, ...] = (),
) -> JobKind:
    plural = kind.lower() + "s"
    operator = kind.lower() + "-controller"
    return JobKind(
        kind,
        plural,
        "kubeflow.org",
        "v1",
        container,
        specs,
        operator,
        recreates_failed,
        deletion_fails=deletion_fails,
    )


KINDS: tuple[JobKind, ...] = (
    _kubeflow("TFJob", "tensorflow", "tfReplicaSpecs", deletion_fails=POLICIES),
    _kubeflow("PyTorchJob", "pytorch", "pytorchReplicaSpecs"),
    _kubeflow("MPIJob", "mpi", "mpiReplicaSpecs", recreates_failed=False),
    _kubeflow("XGBoostJob", "xgboost", "xgbReplicaSpecs", deletion_fails=("Never", "OnFailure", "Always")),
    _kubeflow("PaddleJob", "paddle", "paddleReplicaSpecs"),
    _kubeflow("JAXJob", "jax", "jaxReplicaSpecs"),
    JobKind("Job", "jobs", "batch.volcano.sh", "v1alpha1", None, "tasks", None, conditions=False, gang_restarts=True),
)

BY_RESOURCE: dict[str, JobKind] = {kind.resource: kind for kind in KINDS}
BY_NAME: dict[tuple[str, str], JobKind] = {(kind.group, kind.kind): kind for kind in KINDS}
PODGROUP_RESOURCES = (VOLCANO_PODGROUPS, PLUGINS_PODGROUPS)


@lru_cache(maxsize=256)
def kind_of(api_version: str | None, kind: str | None) -> JobKind | None:
    """The table entry for an owner reference or object; the version is not compared, None if the kind is unknown."""
    group = (api_version or "").partition("/")[0]
    return BY_NAME.get((group, kind or ""))
