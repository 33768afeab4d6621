"""The columns of server-side Tables: those of built-in kinds by function, those of CRDs by JSONPath."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from simcluster import durations
from simcluster.podcells import pod_cells
from simcluster.resources import (
    CLUSTERROLEBINDINGS,
    CLUSTERROLES,
    CONFIGMAPS,
    EVENTS,
    MPIJOBS,
    NAMESPACES,
    NODES,
    PODDISRUPTIONBUDGETS,
    PODS,
    PRIORITYCLASSES,
    RESOURCEQUOTAS,
    ROLEBINDINGS,
    ROLES,
    SCHEDULER_PODGROUPS,
    SERVICEACCOUNTS,
    SERVICES,
    TRAINING_JOBS,
    VOLCANO_JOBS,
    VOLCANO_PODGROUPS,
    VOLCANO_QUEUES,
    Resource,
)

Obj = dict[str, Any]
Cells = Callable[[Obj, float], list[Any]]
NONE = "<none>"


@dataclass(frozen=True)
class Column:
    """`priority` 1 shows with -owide only. `path`: where a custom resource's value lies."""

    name: str
    type: str = "string"
    priority: int = 0
    path: str = ""
    description: str = ""

    def definition(self) -> Obj:
        return {
            "name": self.name,
            "type": self.type,
            "format": "name" if self.name == "Name" else "",
            "description": self.description,
            "priority": self.priority,
        }


def scale_cells(scale: Obj) -> list[Any]:
    """One row of SCALE_COLUMNS."""
    return [_name(scale), scale["spec"].get("replicas", 0), scale["status"]["replicas"]]


def columns_of(resource: Resource) -> Sequence[Column]:
    return (NAME, *_CRDS.get(resource, (_CRD_AGE,))) if resource.custom else _BUILT_IN[resource][0]


def cells_of(resource: Resource, obj: Obj, now: float) -> list[Any]:
    """One row's values. An object that is not shaped as its kind should be gets the values that can be read."""
    if not resource.custom:
        return _BUILT_IN[resource][1](obj, now)
    return [obj["metadata"]["name"], *(_at_path(column, obj, now) for column in _CRDS.get(resource, (_CRD_AGE,)))]


def _at_path(column: Column, obj: Obj, now: float) -> Any:
    value: Any = obj
    for key in column.path.removeprefix(".").split("."):
        name, _, index = key.partition("[")
        value = value.get(name) if isinstance(value, dict) else None
        if index:  # the only one in use is [-1:], the last item
            value = value[-1] if isinstance(value, list) and value else None
    if column.type == "date":
        return durations.since(value, now)
    if value is None or column.type == "integer":
        return value if isinstance(value, int) else None
    return value if isinstance(value, str) else str(value)


def _crd(name: str, path: str, kind: str = "string", priority: int = 0) -> Column:
    return Column(name, kind, priority, path, f"Custom resource definition column (in JSONPath format): {path}")


NAME = Column("Name", description="The object's name, unique within its namespace.")
SCALE_COLUMNS = (
    NAME,
    Column("Desired", "integer", description="Number of desired replicas"),
    Column("Available", "integer", description="Number of actual replicas"),
)
_AGE = Column("Age", description="How long ago the object was created.")
_CRD_AGE = _crd("Age", ".metadata.creationTimestamp", "date")
_STATE = _crd("State", ".status.conditions[-1:].type")
_CRDS: Mapping[Resource, tuple[Column, ...]] = {
    **{job: (_CRD_AGE, _STATE) if job is MPIJOBS else (_STATE, _CRD_AGE) for job in TRAINING_JOBS},
    VOLCANO_PODGROUPS: (
        _crd("STATUS", ".status.phase"),
        _crd("minMember", ".spec.minMember", "integer"),
        _crd("RUNNINGS", ".status.running", "integer"),
        _crd("AGE", ".metadata.creationTimestamp", "date"),
        _crd("QUEUE", ".spec.queue", priority=1),
    ),
    VOLCANO_JOBS: (
        _crd("STATUS", ".status.state.phase"),
        _crd("minAvailable", ".status.minAvailable", "integer"),
        _crd("RUNNINGS", ".status.running", "integer"),
        _crd("AGE", ".metadata.creationTimestamp", "date"),
        _crd("QUEUE", ".spec.queue", priority=1),
    ),
    VOLCANO_QUEUES: (_crd("PARENT", ".spec.parent"),),
    SCHEDULER_PODGROUPS: (
        _crd("Phase", ".status.phase"),
        _crd("MinMember", ".spec.minMember", "integer"),
        _crd("Running", ".status.running", "integer"),
        _crd("Succeeded", ".status.succeeded", "integer"),
        _crd("Failed", ".status.failed", "integer"),
        _crd("Age", ".metadata.creationTimestamp", "date"),
    ),
}


def _name(obj: Obj) -> str:
    return str(obj["metadata"]["name"])


def _age(obj: Obj, now: float) -> str:
    return durations.since(obj["metadata"].get("creationTimestamp"), now)


def _dict(value: Any) -> Obj:
    return value if isinstance(value, dict) else {}


def _items(value: Any) -> list[Obj]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _joined(values: Sequence[Any]) -> str:
    return ",".join(str(value) for value in values) or NONE


def _node(obj: Obj, now: float) -> list[Any]:
    status, labels = _dict(obj.get("status")), _dict(obj["metadata"].get("labels"))
    ready = [item.get("status") for item in _items(status.get("conditions")) if item.get("type") == "Ready"]
    states = [("Ready" if ready[0] == "True" else "NotReady") if ready else "Unknown"]
    if _dict(obj.get("spec")).get("unschedulable"):
        states.append("SchedulingDisabled")
    prefix = "node-role.kubernetes.io/"
    roles = sorted(key.removeprefix(prefix) for key in labels if key.startswith(prefix) and key != prefix)
    info = _dict(status.get("nodeInfo"))
    addresses = {str(item.get("type")): item.get("address") for item in _items(status.get("addresses"))}
    return [
        _name(obj),
        ",".join(states),
        _joined(roles),
        _age(obj, now),
        info.get("kubeletVersion", ""),
        addresses.get("InternalIP") or NONE,
        addresses.get("ExternalIP") or NONE,
        *(info.get(key) or durations.UNKNOWN for key in ("osImage", "kernelVersion", "containerRuntimeVersion")),
    ]


def _service(obj: Obj, now: float) -> list[Any]:
    spec = _dict(obj.get("spec"))
    ports = [f"{port.get('port')}/{port.get('protocol', 'TCP')}" for port in _items(spec.get("ports"))]
    selector = [f"{key}={value}" for key, value in sorted(_dict(spec.get("selector")).items())]
    kind = spec.get("type", "ClusterIP")
    return [_name(obj), kind, spec.get("clusterIP") or NONE, NONE, _joined(ports), _age(obj, now), _joined(selector)]


def _event(obj: Obj, now: float) -> list[Any]:
    involved, source = _dict(obj.get("involvedObject")), _dict(obj.get("source"))
    first = obj.get("firstTimestamp") or obj.get("eventTime")
    last = _dict(obj.get("series")).get("lastObservedTime") or obj.get("lastTimestamp") or first
    origin = [source.get("component") or obj.get("reportingComponent") or "", source.get("host") or ""]
    return [
        durations.since(last, now),
        obj.get("type", ""),
        obj.get("reason", ""),
        f"{str(involved.get('kind', '')).lower()}/{involved.get('name', '')}",
        involved.get("fieldPath", ""),
        ", ".join(part for part in origin if part),
        str(obj.get("message", "")).strip(),
        durations.since(first, now),
        obj.get("count") or 1,
        _name(obj),
    ]


def _quota(obj: Obj, now: float) -> list[Any]:
    status = _dict(obj.get("status"))
    used, hard = _dict(status.get("used")), _dict(status.get("hard") or _dict(obj.get("spec")).get("hard"))
    shown = {name: f"{name}: {used.get(name, '0')}/{limit}" for name, limit in sorted(hard.items())}
    limits = [text for name, text in shown.items() if name.startswith("limits.")]
    requests = [text for name, text in shown.items() if not name.startswith("limits.")]
    return [_name(obj), ", ".join(requests), ", ".join(limits), _age(obj, now)]


def _budget(obj: Obj, now: float) -> list[Any]:
    spec, status = _dict(obj.get("spec")), _dict(obj.get("status"))
    limits = [str(spec.get(name, "N/A")) for name in ("minAvailable", "maxUnavailable")]
    return [_name(obj), *limits, status.get("disruptionsAllowed", 0), _age(obj, now)]


def _binding(obj: Obj, now: float) -> list[Any]:
    role, subjects = _dict(obj.get("roleRef")), _items(obj.get("subjects"))
    accounts = [f"{item.get('namespace', '')}/{item.get('name')}" for item in subjects if _is(item, "ServiceAccount")]
    people = [", ".join(str(item.get("name")) for item in subjects if _is(item, kind)) for kind in ("User", "Group")]
    return [_name(obj), f"{role.get('kind')}/{role.get('name')}", _age(obj, now), *people, ", ".join(accounts)]


def _is(subject: Obj, kind: str) -> bool:
    return subject.get("kind") == kind


def _wide(*names: str) -> tuple[Column, ...]:
    return tuple(Column(name, priority=1) for name in names)


def _named(*names: str) -> tuple[Column, ...]:
    return tuple(Column(name) for name in names)


_CREATED_AT = (NAME, Column("Created At")), lambda obj, now: [_name(obj), obj["metadata"].get("creationTimestamp")]
_BINDING = (NAME, Column("Role"), _AGE, *_wide("Users", "Groups", "ServiceAccounts")), _binding
_BUILT_IN: Mapping[Resource, tuple[tuple[Column, ...], Cells]] = {
    PODS: (
        (
            NAME,
            *_named("Ready", "Status", "Restarts"),
            _AGE,
            *_wide("IP", "Node", "Nominated Node", "Readiness Gates"),
        ),
        pod_cells,
    ),
    NODES: (
        (
            NAME,
            *_named("Status", "Roles"),
            _AGE,
            Column("Version"),
            *_wide("Internal-IP", "External-IP", "OS-Image", "Kernel-Version", "Container-Runtime"),
        ),
        _node,
    ),
    NAMESPACES: (
        (NAME, Column("Status"), _AGE),
        lambda obj, now: [_name(obj), _dict(obj.get("status")).get("phase", ""), _age(obj, now)],
    ),
    SERVICES: ((NAME, *_named("Type", "Cluster-IP", "External-IP", "Port(s)"), _AGE, *_wide("Selector")), _service),
    EVENTS: (
        (
            *_named("Last Seen", "Type", "Reason", "Object"),
            *_wide("Subobject", "Source"),
            Column("Message"),
            *_wide("First Seen"),
            Column("Count", "integer", 1),
            Column("Name", priority=1),
        ),
        _event,
    ),
    CONFIGMAPS: (
        (NAME, Column("Data", "integer"), _AGE),
        lambda obj, now: [_name(obj), len(_dict(obj.get("data"))) + len(_dict(obj.get("binaryData"))), _age(obj, now)],
    ),
    SERVICEACCOUNTS: (
        (NAME, Column("Secrets", "integer"), _AGE),
        lambda obj, now: [_name(obj), len(_items(obj.get("secrets"))), _age(obj, now)],
    ),
    PRIORITYCLASSES: (
        (NAME, Column("Value", "integer"), Column("Global-Default", "boolean"), _AGE, Column("PreemptionPolicy")),
        lambda obj, now: [
            _name(obj),
            obj.get("value", 0),
            bool(obj.get("globalDefault")),
            _age(obj, now),
            obj.get("preemptionPolicy", "PreemptLowerPriority"),
        ],
    ),
    RESOURCEQUOTAS: ((NAME, *_named("Request", "Limit"), _AGE), _quota),
    PODDISRUPTIONBUDGETS: (
        (NAME, *_named("Min Available", "Max Unavailable"), Column("Allowed Disruptions", "integer"), _AGE),
        _budget,
    ),
    ROLES: _CREATED_AT,
    CLUSTERROLES: _CREATED_AT,
    ROLEBINDINGS: _BINDING,
    CLUSTERROLEBINDINGS: _BINDING,
}
