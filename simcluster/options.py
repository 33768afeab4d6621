"""How the API server behaves: settings of the start that the control API may change while it runs."""

from dataclasses import dataclass, field

from simcluster.resources import REGISTRY, Resource


@dataclass
class Fault:
    """An answer that the next `count` requests get instead of their own: 429 (with Retry-After) or 5xx."""

    code: int
    count: int
    retry_after: int = 1
    resource: Resource | None = None

    def takes(self, resource: Resource | None) -> bool:
        return self.count > 0 and (self.resource is None or self.resource is resource)


@dataclass
class Options:
    """`forbidden`: verbs refused with 403 per resource, an empty set means all. `missing`: CRDs not installed.

    `token`: the administrator's, "" to ask for none. `rbac`: rights come from roles, and everybody needs a token;
    otherwise everybody is `user` and may do what is not forbidden.
    """

    token: str = ""
    user: str = "system:serviceaccount:default:viewer"
    rbac: bool = False
    forbidden: dict[Resource, frozenset[str]] = field(default_factory=dict)
    missing: frozenset[Resource] = frozenset()
    bookmark_seconds: float = 60.0
    queue_limit: int = 10_000
    faults: list[Fault] = field(default_factory=list)

    def is_forbidden(self, resource: Resource, verb: str) -> bool:
        verbs = self.forbidden.get(resource)
        return verbs is not None and (not verbs or verb in verbs)

    def take_fault(self, resource: Resource | None) -> Fault | None:
        """The fault that this request meets, if any; uses it up by one."""
        for fault in self.faults:
            if fault.takes(resource):
                fault.count -= 1
                self.faults = [other for other in self.faults if other.count > 0]
                return fault
        return None


def parse_resource(name: str) -> Resource:
    """`pods` or `tfjobs.kubeflow.org`. Raises ValueError that names the known ones."""
    for resource in REGISTRY:
        if resource.qualified == name:
            return resource
    known = ", ".join(resource.qualified for resource in REGISTRY)
    raise ValueError(f'unknown resource "{name}"; known are: {known}')


def parse_forbidden(names: list[str]) -> dict[Resource, frozenset[str]]:
    """`pods` forbids everything on pods, `pods:watch,list` those verbs. Raises ValueError."""
    forbidden: dict[Resource, frozenset[str]] = {}
    for name in names:
        resource_name, _, verbs = name.partition(":")
        forbidden[parse_resource(resource_name)] = frozenset(verb for verb in verbs.split(",") if verb)
    return forbidden


def parse_missing(names: list[str]) -> frozenset[Resource]:
    """CRDs to leave out. Raises ValueError for an unknown one and for a built-in resource."""
    missing = frozenset(parse_resource(name) for name in names)
    for resource in missing:
        if not resource.custom:
            raise ValueError(f"{resource.qualified} is built in and always installed")
    return missing
