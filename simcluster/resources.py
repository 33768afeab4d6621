"""The resources the simulated API server knows, in the terms of Kubernetes discovery."""

from dataclasses import dataclass, field
from typing import Any

CRD_VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
CORE_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
_CONTAINERS_NULL = {"spec": {"containers": None}, "status": {}}


@dataclass(frozen=True, eq=False)  # there is one object per type, and it is a key everywhere
class Resource:
    """One resource type.

    `custom`: defined by a CRD; such objects print apiVersion before kind and their metadata in alphabetical order,
    and deleting one answers a Status. `has_generation`: metadata.generation is kept. `bookmark`: what a BOOKMARK's
    object carries beside metadata (a typed object prints its fields that have no omitempty).
    """

    group: str
    version: str
    kind: str
    plural: str
    singular: str
    short_names: tuple[str, ...] = ()
    namespaced: bool = True
    subresources: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    custom: bool = True
    has_generation: bool = True
    watch_cache: bool = True
    returns_deleted: bool = False
    only_verbs: tuple[str, ...] = ()
    bookmark: dict[str, Any] = field(default_factory=dict)

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def qualified(self) -> str:
        """The resource as error messages name it: pods, tfjobs.kubeflow.org."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def qualified_kind(self) -> str:
        """The kind as validation messages name it: Pod, TFJob.kubeflow.org."""
        return f"{self.kind}.{self.group}" if self.group else self.kind

    @property
    def has_status_subresource(self) -> bool:
        return "status" in self.subresources

    @property
    def verbs(self) -> tuple[str, ...]:
        return self.only_verbs or (CRD_VERBS if self.custom else CORE_VERBS)


def _core(kind: str, plural: str, short: str = "", **options: Any) -> Resource:
    names = (short,) if short else ()
    defaults: dict[str, Any] = {"custom": False, "has_generation": False}
    return Resource("", "v1", kind, plural, kind.lower(), names, **{**defaults, **options})


def _training(kind: str, *subresources: str) -> Resource:
    singular = kind.lower()
    return Resource("kubeflow.org", "v1", kind, f"{singular}s", singular, subresources=("status", *subresources))


def _rbac(kind: str, namespaced: bool) -> Resource:
    singular = kind.lower()
    return Resource(
        "rbac.authorization.k8s.io",
        "v1",
        kind,
        f"{singular}s",
        singular,
        namespaced=namespaced,
        custom=False,
        has_generation=False,
        bookmark={"rules": None} if kind.endswith("Role") else {"roleRef": {"apiGroup": "", "kind": "", "name": ""}},
    )


_NODE_BOOKMARK = {
    "spec": {},
    "status": {
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 0}},
        "nodeInfo": dict.fromkeys(
            (
                "machineID",
                "systemUUID",
                "bootID",
                "kernelVersion",
                "osImage",
                "containerRuntimeVersion",
                "kubeletVersion",
                "kubeProxyVersion",
                "operatingSystem",
                "architecture",
            ),
            "",
        ),
    },
}

PODS = _core(
    "Pod",
    "pods",
    "po",
    categories=("all",),
    subresources=("status", "eviction", "log"),
    has_generation=True,
    returns_deleted=True,
    bookmark=_CONTAINERS_NULL,
)
NODES = _core("Node", "nodes", "no", namespaced=False, subresources=("status",), bookmark=_NODE_BOOKMARK)
NAMESPACES = _core(
    "Namespace",
    "namespaces",
    "ns",
    namespaced=False,
    subresources=("status",),
    returns_deleted=True,
    bookmark={"spec": {}, "status": {}},
)
SERVICES = _core(
    "Service",
    "services",
    "svc",
    categories=("all",),
    subresources=("status",),
    returns_deleted=True,
    bookmark={"spec": {}, "status": {"loadBalancer": {}}},
)
# The API server keeps no watch cache for Events: no bookmark, and another text when a version is too old.
EVENTS = _core("Event", "events", "ev", watch_cache=False)
CONFIGMAPS = _core("ConfigMap", "configmaps", "cm")
SERVICEACCOUNTS = _core("ServiceAccount", "serviceaccounts", "sa", subresources=("token",), returns_deleted=True)
RESOURCEQUOTAS = _core(
    "ResourceQuota",
    "resourcequotas",
    "quota",
    subresources=("status",),
    returns_deleted=True,
    bookmark={"spec": {}, "status": {}},
)

TFJOBS = _training("TFJob")
PYTORCHJOBS = _training("PyTorchJob", "scale")
MPIJOBS = _training("MPIJob")
XGBOOSTJOBS = _training("XGBoostJob")
PADDLEJOBS = _training("PaddleJob", "scale")
JAXJOBS = _training("JAXJob", "scale")
TRAINING_JOBS = (TFJOBS, PYTORCHJOBS, MPIJOBS, XGBOOSTJOBS, PADDLEJOBS, JAXJOBS)

# Volcano's PodGroup has no status subresource: each phase change is an update of the object and a new generation.
VOLCANO_PODGROUPS = Resource(
    "scheduling.volcano.sh", "v1beta1", "PodGroup", "podgroups", "podgroup", ("pg", "podgroup-v1beta1")
)
VOLCANO_QUEUES = Resource(
    "scheduling.volcano.sh",
    "v1beta1",
    "Queue",
    "queues",
    "queue",
    ("q", "queue-v1beta1"),
    namespaced=False,
    subresources=("status",),
)
SCHEDULER_PODGROUPS = Resource(
    "scheduling.x-k8s.io", "v1alpha1", "PodGroup", "podgroups", "podgroup", ("pg", "pgs"), subresources=("status",)
)
VOLCANO_JOBS = Resource("batch.volcano.sh", "v1alpha1", "Job", "jobs", "job", ("vcjob", "vj"), subresources=("status",))
PRIORITYCLASSES = Resource(
    "scheduling.k8s.io",
    "v1",
    "PriorityClass",
    "priorityclasses",
    "priorityclass",
    ("pc",),
    namespaced=False,
    custom=False,
    bookmark={"value": 0},
)
PODDISRUPTIONBUDGETS = Resource(
    "policy",
    "v1",
    "PodDisruptionBudget",
    "poddisruptionbudgets",
    "poddisruptionbudget",
    ("pdb",),
    subresources=("status",),
    custom=False,
    bookmark={
        "spec": {},
        "status": {"disruptionsAllowed": 0, "currentHealthy": 0, "desiredHealthy": 0, "expectedPods": 0},
    },
)

ROLES = _rbac("Role", namespaced=True)
CLUSTERROLES = _rbac("ClusterRole", namespaced=False)
ROLEBINDINGS = _rbac("RoleBinding", namespaced=True)
CLUSTERROLEBINDINGS = _rbac("ClusterRoleBinding", namespaced=False)
RBAC_RESOURCES = (ROLES, CLUSTERROLES, ROLEBINDINGS, CLUSTERROLEBINDINGS)

REGISTRY: tuple[Resource, ...] = (
    PODS,
    NODES,
    NAMESPACES,
    SERVICES,
    EVENTS,
    CONFIGMAPS,
    SERVICEACCOUNTS,
    RESOURCEQUOTAS,
    *RBAC_RESOURCES,
    *TRAINING_JOBS,
    VOLCANO_PODGROUPS,
    VOLCANO_QUEUES,
    SCHEDULER_PODGROUPS,
    VOLCANO_JOBS,
    PRIORITYCLASSES,
    PODDISRUPTIONBUDGETS,
)


def _review(group: str, kind: str, namespaced: bool = False) -> Resource:
    singular = kind.lower()
    return Resource(
        group, "v1", kind, f"{singular}s", singular, namespaced=namespaced, custom=False, only_verbs=("create",)
    )


# Questions that are answered and not stored.
REVIEWS: tuple[Resource, ...] = (
    _review("authentication.k8s.io", "SelfSubjectReview"),
    _review("authentication.k8s.io", "TokenReview"),
    _review("authorization.k8s.io", "LocalSubjectAccessReview", namespaced=True),
    _review("authorization.k8s.io", "SelfSubjectAccessReview"),
    _review("authorization.k8s.io", "SelfSubjectRulesReview"),
    _review("authorization.k8s.io", "SubjectAccessReview"),
)
_BY_KIND = {(resource.api_version, resource.kind): resource for resource in REGISTRY}
_BY_PATH = {(resource.group, resource.version, resource.plural): resource for resource in (*REGISTRY, *REVIEWS)}
_BY_PLURAL = {(resource.group, resource.plural): resource for resource in REGISTRY}


def by_kind(api_version: str, kind: str) -> Resource | None:
    """The resource of an object's apiVersion and kind; None if it is not known here."""
    return _BY_KIND.get((api_version, kind))


def by_path(group: str, version: str, plural: str) -> Resource | None:
    """The resource under /apis/<group>/<version>/<plural>, or /api/v1 for the empty group; None if not known."""
    return _BY_PATH.get((group, version, plural))


def by_plural(group: str, plural: str) -> Resource | None:
    """The resource of a group, in whatever version; None if not known."""
    return _BY_PLURAL.get((group, plural))
