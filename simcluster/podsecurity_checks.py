"""What the pod security standards "baseline" and "restricted" ask of a pod, and how the API server says what is amiss.

Each check takes a pod's spec and answers its fault: what it is about, and the detail; None where there is none.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

Obj = dict[str, Any]
Fault = tuple[str, str]
Check = Callable[[Obj], Fault | None]

# fmt: off
_MAY_BE_ADDED = frozenset((
    "AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE",
    "SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT",
))
# fmt: on
_VOLUMES = ("configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected", "secret")
_SECCOMP = ("RuntimeDefault", "Localhost")


def baseline_faults(spec: Obj) -> list[Fault]:
    return _found(_BASELINE, spec)


def restricted_faults(spec: Obj) -> list[Fault]:
    """Those of "baseline" first, save what a stricter check of "restricted" covers."""
    return _found((*(check for check in _BASELINE if check not in _COVERED), *_RESTRICTED), spec)


def _found(checks: Iterable[Check], spec: Obj) -> list[Fault]:
    return [fault for check in checks if (fault := check(spec)) is not None]


# --- baseline


def _added_capabilities(spec: Obj) -> Fault | None:
    return _adds_beyond(_MAY_BE_ADDED, spec, "non-default capabilities")


def _host_namespaces(spec: Obj) -> Fault | None:
    shared = [f"{name}=true" for name in ("hostNetwork", "hostPID", "hostIPC") if spec.get(name)]
    return ("host namespaces", ", ".join(shared)) if shared else None


def _host_paths(spec: Obj) -> Fault | None:
    names = [_name(volume) for volume in _objects(spec, "volumes") if volume.get("hostPath") is not None]
    return ("hostPath volumes", _several("volume", names)) if names else None


def _host_ports(spec: Obj) -> Fault | None:
    ports = {_name(each): [port["hostPort"] for port in _objects(each, "ports") if port.get("hostPort")]
             for each in _containers(spec)}  # fmt: skip
    names = [name for name, found in ports.items() if found]
    if not names:
        return None
    numbers = sorted({str(number) for found in ports.values() for number in found})
    uses = "uses" if len(names) == 1 else "use"
    what = "hostPort" if len(numbers) == 1 else "hostPorts"
    return "hostPort", f"{_several('container', names)} {uses} {what} {', '.join(numbers)}"


def _privileged(spec: Obj) -> Fault | None:
    names = [_name(each) for each in _containers(spec) if _security(each).get("privileged")]
    detail = f"{_several('container', names)} must not set securityContext.privileged=true"
    return ("privileged", detail) if names else None


def _seccomp_unconfined(spec: Obj) -> Fault | None:
    return _set_wrongly(spec, "seccompProfile", lambda value: value.get("type") not in _SECCOMP, _seccomp_told)


# --- restricted


def _privilege_escalation(spec: Obj) -> Fault | None:
    names = [_name(each) for each in _containers(spec) if _security(each).get("allowPrivilegeEscalation") is not False]
    detail = f"{_several('container', names)} must set securityContext.allowPrivilegeEscalation=false"
    return ("allowPrivilegeEscalation != false", detail) if names else None


def _capabilities(spec: Obj) -> Fault | None:
    keeping = [_name(each) for each in _containers(spec) if "ALL" not in _capability_names(each, "drop")]
    adding = _adds_beyond(frozenset({"NET_BIND_SERVICE"}), spec, "")
    must_drop = f'{_several("container", keeping)} must set securityContext.capabilities.drop=["ALL"]'
    details = [*([must_drop] if keeping else []), *([adding[1]] if adding else [])]
    return ("unrestricted capabilities", "; ".join(details)) if details else None


def _volume_types(spec: Obj) -> Fault | None:
    wrong = [each for each in _objects(spec, "volumes") if not any(each.get(kind) is not None for kind in _VOLUMES)]
    if not wrong:
        return None
    kinds = sorted({next((key for key in each if key != "name"), "unknown") for each in wrong})
    uses = "uses" if len(wrong) == 1 else "use"
    what = "restricted volume type" if len(kinds) == 1 else "restricted volume types"
    detail = f"{_several('volume', [_name(each) for each in wrong])} {uses} {what} {_quoted(kinds)}"
    return "restricted volume types", detail


def _non_root(spec: Obj) -> Fault | None:
    wrong = _setters(spec, "runAsNonRoot", lambda value: value is False)
    if wrong:
        return "runAsNonRoot != true", f"{wrong} must not set securityContext.runAsNonRoot=false"
    names = _unset(spec, "runAsNonRoot")
    detail = f"pod or {_several('container', names)} must set securityContext.runAsNonRoot=true"
    return ("runAsNonRoot != true", detail) if names else None


def _root_user(spec: Obj) -> Fault | None:
    wrong = _setters(spec, "runAsUser", lambda value: value == 0)
    return ("runAsUser=0", f"{wrong} must not set runAsUser=0") if wrong else None


def _seccomp(spec: Obj) -> Fault | None:
    wrong = _seccomp_unconfined(spec)
    if wrong:
        return wrong
    names = _unset(spec, "seccompProfile")
    must = 'must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"'
    return ("seccompProfile", f"pod or {_several('container', names)} {must}") if names else None


_BASELINE: tuple[Check, ...] = (
    _added_capabilities,
    _host_namespaces,
    _host_paths,
    _host_ports,
    _privileged,
    _seccomp_unconfined,
)
_COVERED = (_added_capabilities, _host_paths, _seccomp_unconfined)
_RESTRICTED: tuple[Check, ...] = (_privilege_escalation, _capabilities, _volume_types, _non_root, _root_user, _seccomp)

# --- what they are made of


def _adds_beyond(allowed: frozenset[str], spec: Obj, about: str) -> Fault | None:
    beyond = {_name(each): set(_capability_names(each, "add")) - allowed for each in _containers(spec)}
    names = [name for name, found in beyond.items() if found]
    added = sorted({name for found in beyond.values() for name in found})
    must_not = f"must not include {_quoted(added)} in securityContext.capabilities.add"
    return (about, f"{_several('container', names)} {must_not}") if names else None


def _set_wrongly(
    spec: Obj, field: str, is_wrong: Callable[[Any], bool], told: Callable[[str, list[Any]], str]
) -> Fault | None:
    wrong = _setters(spec, field, is_wrong)
    holders = [_security(spec), *(_security(each) for each in _containers(spec))]
    values = [value for each in holders if (value := each.get(field)) is not None and is_wrong(value)]
    return (field, told(wrong, values)) if wrong else None


def _seccomp_told(wrong: str, values: list[Any]) -> str:
    types = sorted({str(value.get("type") or "") for value in values})
    return f"{wrong} must not set securityContext.seccompProfile.type to {_quoted(types)}"


def _setters(spec: Obj, field: str, is_wrong: Callable[[Any], bool]) -> str:
    """Who sets a field to what it must not be: ``pod and container "a"``; "" for nobody."""

    def wrong(holder: Obj) -> bool:
        value = _security(holder).get(field)
        return value is not None and is_wrong(value)

    names = [_name(each) for each in _containers(spec) if wrong(each)]
    return " and ".join([*(["pod"] if wrong(spec) else []), *([_several("container", names)] if names else [])])


def _unset(spec: Obj, field: str) -> list[str]:
    """The containers that do not set a field, where the pod as a whole does not either."""
    if _security(spec).get(field) is not None:
        return []
    return [_name(each) for each in _containers(spec) if _security(each).get(field) is None]


def _containers(spec: Obj) -> Iterator[Obj]:
    for group in ("initContainers", "containers", "ephemeralContainers"):
        yield from _objects(spec, group)


def _objects(holder: Obj, field: str) -> list[Obj]:
    found = holder.get(field)
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def _security(holder: Obj) -> Obj:
    found = holder.get("securityContext")
    return found if isinstance(found, dict) else {}


def _capability_names(container: Obj, field: str) -> list[str]:
    found = _security(container).get("capabilities")
    names = found.get(field) if isinstance(found, dict) else None
    return [str(name) for name in names] if isinstance(names, list) else []


def _name(obj: Obj) -> str:
    return str(obj.get("name"))


def _several(what: str, names: list[str]) -> str:
    return f"{what if len(names) == 1 else f'{what}s'} {_quoted(names)}"


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)
