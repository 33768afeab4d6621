"""Rights from Role, ClusterRole and binding objects, as the RBAC authorizer reads them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from simcluster.authentication import AUTHENTICATED, MASTERS, UNAUTHENTICATED, User
from simcluster.resources import CLUSTERROLEBINDINGS, CLUSTERROLES, ROLEBINDINGS, ROLES
from simcluster.store import Store

Obj = dict[str, Any]
_ALL = "*"


@dataclass(frozen=True)
class Attributes:
    """What somebody wants to do: on a resource, or on a `path` that is none. `namespace` "" is the cluster scope."""

    verb: str
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""

    @property
    def full_resource(self) -> str:
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource


class Authorizer:
    def __init__(self, store: Store) -> None:
        self._store = store

    def allowed(self, user: User, wanted: Attributes) -> tuple[bool, str]:
        """Whether it is allowed, and by which binding."""
        if MASTERS in user.groups:
            return True, ""
        for rule, reason in self._rules(user, wanted.namespace):
            if _covers(rule, wanted):
                return True, reason
        return False, ""

    def rules_of(self, user: User, namespace: str) -> list[Obj]:
        """Every rule that holds for a user in a namespace."""
        if MASTERS in user.groups:
            return [
                {"verbs": [_ALL], "apiGroups": [_ALL], "resources": [_ALL]},
                {"verbs": [_ALL], "nonResourceURLs": [_ALL]},
            ]
        return [rule for rule, _ in self._rules(user, namespace)]

    def _rules(self, user: User, namespace: str) -> Iterator[tuple[Obj, str]]:
        for binding in self._store.list(CLUSTERROLEBINDINGS):
            yield from self._granted(binding, user, "", "ClusterRoleBinding")
        for binding in self._store.list(ROLEBINDINGS, namespace) if namespace else []:
            yield from self._granted(binding, user, namespace, "RoleBinding")

    def _granted(self, binding: Obj, user: User, namespace: str, kind: str) -> Iterator[tuple[Obj, str]]:
        subjects = [item for item in binding.get("subjects") or [] if isinstance(item, dict)]
        subject = next((item for item in subjects if _is_subject(item, user, namespace)), None)
        reference = binding.get("roleRef")
        if subject is None or not isinstance(reference, dict):
            return
        resource = ROLES if reference.get("kind") == "Role" else CLUSTERROLES
        role = self._store.find(resource, namespace or None, str(reference.get("name")))
        shown = f"{binding['metadata']['name']}{f'/{namespace}' if namespace else ''}"
        reason = (
            f'RBAC: allowed by {kind} "{shown}" of {reference.get("kind")} "{reference.get("name")}" '
            f"to {_subject_text(subject, namespace)}"
        )
        for rule in (role or {}).get("rules") or []:
            if isinstance(rule, dict):
                yield rule, reason


def _is_subject(subject: Obj, user: User, namespace: str) -> bool:
    name = subject.get("name")
    match subject.get("kind"):
        case "User":
            return name == user.name
        case "Group":
            return name in user.groups
        case "ServiceAccount":
            return user.name == f"system:serviceaccount:{subject.get('namespace') or namespace}:{name}"
    return False


def _subject_text(subject: Obj, namespace: str) -> str:
    name = subject.get("name")
    if subject.get("kind") == "ServiceAccount":
        name = f"{name}/{subject.get('namespace') or namespace}"
    return f'{subject.get("kind")} "{name}"'


def _covers(rule: Obj, wanted: Attributes) -> bool:
    if not _names(rule, "verbs", wanted.verb):
        return False
    if wanted.path:
        patterns = rule.get("nonResourceURLs") or []
        return any(
            pattern in (_ALL, wanted.path) or (pattern.endswith("*") and wanted.path.startswith(pattern[:-1]))
            for pattern in patterns
            if isinstance(pattern, str)
        )
    if not _names(rule, "apiGroups", wanted.group):
        return False
    resources = rule.get("resources") or []
    on_every = bool(wanted.subresource) and f"*/{wanted.subresource}" in resources
    if not (_ALL in resources or wanted.full_resource in resources or on_every):
        return False
    only = rule.get("resourceNames") or []
    return not only or wanted.name in only


def _names(rule: Obj, key: str, value: str) -> bool:
    values = rule.get(key) or []
    return _ALL in values or value in values


def bootstrap(store: Store) -> None:
    """The roles and bindings that a cluster starts with, as far as clients here need them."""
    everything = {"apiGroups": [_ALL], "resources": [_ALL], "verbs": [_ALL]}
    reviews = ["selfsubjectaccessreviews", "selfsubjectrulesreviews"]
    _role(store, "cluster-admin", everything, {"nonResourceURLs": [_ALL], "verbs": [_ALL]})
    _role(
        store,
        "view",
        {
            "apiGroups": [""],
            "resources": ["pods", "pods/log", "pods/status", "services", "events", "configmaps"],
            "verbs": ["get", "list", "watch"],
        },
        {
            "apiGroups": ["kubeflow.org", "scheduling.volcano.sh", "scheduling.x-k8s.io", "batch.volcano.sh"],
            "resources": [_ALL],
            "verbs": ["get", "list", "watch"],
        },
    )
    paths = ["/api", "/api/*", "/apis", "/apis/*", "/openapi", "/openapi/*", "/version", "/version/"]
    _role(store, "system:discovery", {"nonResourceURLs": [*paths, "/healthz", "/livez", "/readyz"], "verbs": ["get"]})
    _role(
        store,
        "system:basic-user",
        {"apiGroups": ["authorization.k8s.io"], "resources": reviews, "verbs": ["create"]},
        {"apiGroups": ["authentication.k8s.io"], "resources": ["selfsubjectreviews"], "verbs": ["create"]},
    )
    _role(
        store,
        "system:public-info-viewer",
        {"nonResourceURLs": ["/healthz", "/livez", "/readyz", "/version", "/version/"], "verbs": ["get"]},
    )
    _bind(store, "cluster-admin", MASTERS)
    _bind(store, "system:discovery", AUTHENTICATED)
    _bind(store, "system:basic-user", AUTHENTICATED)
    _bind(store, "system:public-info-viewer", AUTHENTICATED, UNAUTHENTICATED)


def _role(store: Store, name: str, *rules: Obj) -> None:
    store.create(CLUSTERROLES, {"metadata": {"name": name}, "rules": list(rules)})


def _bind(store: Store, role: str, *groups: str) -> None:
    group = "rbac.authorization.k8s.io"
    subjects = [{"kind": "Group", "apiGroup": group, "name": name} for name in groups]
    reference = {"apiGroup": group, "kind": "ClusterRole", "name": role}
    store.create(CLUSTERROLEBINDINGS, {"metadata": {"name": role}, "subjects": subjects, "roleRef": reference})
