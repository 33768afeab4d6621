"""Whether a pod's spec, or a job's, can be read at all: what a cluster's schema validation would have refused."""

from typing import Any

Obj = dict[str, Any]

_CONTAINER_LISTS = {"command": str, "args": str, "env": dict, "ports": dict, "volumeMounts": dict}


def pod_problem(spec: Any) -> str:
    """What is wrong with a pod's spec, as a sentence's end; "" if nothing is."""
    if not isinstance(spec, dict):
        return "spec must be an object"
    if not spec.get("containers"):
        return "spec.containers must name a container"
    for field in ("containers", "initContainers"):
        containers = spec.get(field) or []
        if not isinstance(containers, list):
            return f"spec.{field} must be a list"
        for index, container in enumerate(containers):
            problem = _container_problem(container)
            if problem:
                return f"spec.{field}[{index}]{problem}"
    if not isinstance(spec.get("volumes") or [], list):
        return "spec.volumes must be a list"
    grace = spec.get("terminationGracePeriodSeconds", 30)
    return "" if _is_count(grace) else "spec.terminationGracePeriodSeconds must be a number of seconds"


def _container_problem(container: Any) -> str:
    if not isinstance(container, dict) or not isinstance(container.get("name"), str) or not container["name"]:
        return " must be an object with a name"
    for field, kind in _CONTAINER_LISTS.items():
        value = container.get(field) or []
        if not isinstance(value, list) or not all(isinstance(each, kind) for each in value):
            return f".{field} is malformed"
    if any(not _is_count(port.get("containerPort")) for port in container.get("ports") or []):
        return ".ports must have a containerPort"
    if not all(_is_readable_source(entry.get("valueFrom")) for entry in container.get("env") or []):
        return ".env is malformed"
    resources = container.get("resources") or {}
    if not isinstance(resources, dict) or not all(isinstance(each or {}, dict) for each in resources.values()):
        return ".resources must be an object"
    return ""


def _is_readable_source(source: Any) -> bool:
    return source is None or (isinstance(source, dict) and isinstance(source.get("fieldRef") or {}, dict))


def template_problem(template: Any) -> str:
    """What is wrong with a pod template; "" if nothing is."""
    if not isinstance(template, dict) or not isinstance(template.get("metadata") or {}, dict):
        return "template must be an object"
    for field in ("labels", "annotations"):
        values = (template.get("metadata") or {}).get(field) or {}
        if not isinstance(values, dict) or not all(isinstance(value, str) for value in values.values()):
            return f"template.metadata.{field} must map strings to strings"
    problem = pod_problem(template.get("spec"))
    return f"template.{problem}" if problem else ""


def policy_problem(policy: Any) -> str:
    """What is wrong with a runPolicy beyond what the API server has checked; "" if nothing is."""
    scheduling = policy.get("schedulingPolicy") or {}
    if not isinstance(scheduling, dict):
        return "runPolicy.schedulingPolicy must be an object"
    if not _is_count(scheduling.get("minAvailable") or 0):
        return "runPolicy.schedulingPolicy.minAvailable must be a number"
    if not isinstance(scheduling.get("minResources") or {}, dict):
        return "runPolicy.schedulingPolicy.minResources must be an object"
    return ""


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
