"""Pod security admission: what a namespace's labels `pod-security.kubernetes.io/...` make of the pods in it."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from simcluster.errors import cause, invalid, refused
from simcluster.podsecurity_checks import Fault, baseline_faults, restricted_faults
from simcluster.resources import NAMESPACES, PODS, Resource
from simcluster.store import Store

Obj = dict[str, Any]
_PREFIX = "pod-security.kubernetes.io/"
_LEVELS = ("privileged", "baseline", "restricted")
_VERSION = re.compile(r"latest|v1\.(\d|[1-9]\d+)")
_CHECKS: dict[str, Callable[[Obj], list[Fault]]] = {
    "privileged": lambda _spec: [],
    "baseline": baseline_faults,
    "restricted": restricted_faults,
}


@dataclass(frozen=True)
class Standard:
    """A level and the version of it that a label names; every version is checked as the latest."""

    level: str
    version: str

    def faults(self, pod: Obj) -> list[Fault]:
        spec = pod.get("spec")
        return _CHECKS[self.level](spec if isinstance(spec, dict) else {})

    def __str__(self) -> str:
        return f"{self.level}:{self.version}"


class PodSecurityAdmission:
    """Refuses pods that their namespace's "enforce" label does not let in, and namespaces with labels of no meaning."""

    def __init__(self, store: Store) -> None:
        self._store = store
        store.admissions.append(self._admit)

    def close(self) -> None:
        self._store.admissions.remove(self._admit)

    def _admit(self, resource: Resource, obj: Obj) -> None:
        if resource is NAMESPACES:
            check_labels(obj)
        elif resource is PODS:
            check_pod(self._store, obj)


def check_pod(store: Store, pod: Obj) -> None:
    """Raises ApiError 403 for a pod that its namespace does not let in."""
    standard = _standard(_namespace_of(store, pod), "enforce")
    faults = standard.faults(pod)
    if faults:
        raise refused(PODS, pod["metadata"]["name"], f'violates PodSecurity "{standard}": {_told(faults)}')


def pod_warnings(store: Store, pod: Obj) -> list[str]:
    """What the "warn" label has the server say of a pod that was let in."""
    standard = _standard(_namespace_of(store, pod), "warn")
    faults = standard.faults(pod)
    return [f'would violate PodSecurity "{standard}": {_told(faults)}'] if faults else []


def check_labels(namespace: Obj, old: Obj | None = None) -> None:
    """Raises ApiError 422 for labels that name no level or version, unless they were so before."""
    causes = _label_faults(namespace)
    if causes and causes != (_label_faults(old) if old is not None else []):
        raise invalid(NAMESPACES, namespace["metadata"]["name"], causes)


def namespace_warnings(store: Store, namespace: Obj, old: Obj) -> list[str]:
    """What the server says when a namespace comes to enforce more: which pods in it would not be let in now."""
    standard, before = _standard(namespace, "enforce"), _standard(old, "enforce")
    relaxed = standard.version == before.version and _LEVELS.index(standard.level) <= _LEVELS.index(before.level)
    if relaxed or standard.level == "privileged":
        return []
    name = namespace["metadata"]["name"]
    pods: dict[str, list[str]] = {}
    for pod in store.list(PODS, name):
        faults = standard.faults(pod)
        if faults:
            pods.setdefault(", ".join(about for about, _detail in faults), []).append(pod["metadata"]["name"])
    if not pods:
        return []
    head = f'existing pods in namespace "{name}" violate the new PodSecurity enforce level "{standard}"'
    return [head, *sorted(f"{_named(names)}: {reason}" for reason, names in pods.items())]


def _named(pods: list[str]) -> str:
    others = len(pods) - 1
    more = f" (and {others} other pod{'s' if others > 1 else ''})" if others else ""
    return f"{min(pods)}{more}"


def _namespace_of(store: Store, pod: Obj) -> Obj:
    return store.get(NAMESPACES, None, pod["metadata"]["namespace"])


def _standard(namespace: Obj, mode: str) -> Standard:
    """As the server reads the labels: without one everything is let in; what it cannot read is "restricted" where it
    is enforced, and nothing else."""
    labels = namespace["metadata"].get("labels") or {}
    level, version = labels.get(_PREFIX + mode, "privileged"), labels.get(f"{_PREFIX}{mode}-version", "latest")
    unreadable = "restricted" if mode == "enforce" else "privileged"
    return Standard(
        level if level in _LEVELS else unreadable,
        version if _VERSION.fullmatch(version) else "latest",
    )


def _label_faults(namespace: Obj) -> list[dict[str, str]]:
    labels = namespace["metadata"].get("labels") or {}
    found = []
    for mode in ("enforce", "audit", "warn"):
        level, version = labels.get(_PREFIX + mode), labels.get(f"{_PREFIX}{mode}-version")
        if level is not None and level not in _LEVELS:
            found.append(_label_fault(mode, level, f"must be one of {', '.join(_LEVELS)}"))
        if version is not None and not _VERSION.fullmatch(version):
            found.append(_label_fault(f"{mode}-version", version, 'must be "latest" or "v1.x"'))
    return found


def _label_fault(label: str, value: str, why: str) -> dict[str, str]:
    return cause("FieldValueInvalid", f'Invalid value: "{value}": {why}', f"metadata.labels[{_PREFIX}{label}]")


def _told(faults: list[Fault]) -> str:
    return ", ".join(f"{about} ({detail})" for about, detail in faults)
