"""Kubernetes quantities (100m, 50Mi) as integers, and sums of resources in the form the API server prints."""

import functools
import re
from typing import Any

_QUANTITY = re.compile(r"\+?([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(n|u|m|k|Ki|M|Mi|G|Gi|T|Ti|P|Pi|E|Ei|[eE][+-]?[0-9]{1,2})?")
_SUFFIXES = {
    "n": 1e-9,
    "u": 1e-6,
    "m": 0.001,
    "": 1,
    "k": 1000,
    "Ki": 1 << 10,
    "M": 1000**2,
    "Mi": 1 << 20,
    "G": 1000**3,
    "Gi": 1 << 30,
    "T": 1000**4,
    "Ti": 1 << 40,
    "P": 1000**5,
    "Pi": 1 << 50,
    "E": 1000**6,
    "Ei": 1 << 60,
}


def milli(text: Any) -> int:
    """A quantity in thousandths of its unit. Raises ValueError if it cannot be read."""
    return _milli(str(text))


@functools.lru_cache(4096)
def _milli(text: str) -> int:
    match = _QUANTITY.fullmatch(text)
    if match is None:
        raise ValueError(f"not a quantity: {text!r}")
    suffix = match[2] or ""
    factor = _SUFFIXES[suffix] if suffix in _SUFFIXES else 10.0 ** int(suffix[1:])
    return round(float(match[1]) * factor * 1000)


def printed(resource: str, amount: int) -> str:
    """`amount` thousandths in the canonical form: memory in Ki, Mi, Gi where that divides, else plain or milli."""
    if amount % 1000:
        return f"{amount}m"
    whole = amount // 1000
    if resource.rpartition(".")[2] in ("memory", "ephemeral-storage") or resource.startswith("hugepages-"):
        for suffix in ("Ti", "Gi", "Mi", "Ki"):
            unit = int(_SUFFIXES[suffix])
            if whole and whole % unit == 0:
                return f"{whole // unit}{suffix}"
    return str(whole)


def amounts(resources: Any) -> dict[str, int]:
    """A resource list in thousandths; what cannot be read is left out."""
    found: dict[str, int] = {}
    for name, text in resources.items() if isinstance(resources, dict) else ():
        try:
            found[name] = milli(text)
        except ValueError:
            continue
    return found


def requests(container: dict[str, Any]) -> dict[str, int]:
    """What a container asks for: its requests, and its limits where it names no request."""
    resources = _resources(container)
    return {**amounts(resources.get("limits")), **amounts(resources.get("requests"))}


def _resources(container: Any) -> dict[str, Any]:
    found = container.get("resources") if isinstance(container, dict) else None
    return found if isinstance(found, dict) else {}


def add(total: dict[str, int], more: dict[str, int], times: int = 1) -> None:
    """Adds `more` to `total`, in place."""
    for name, amount in more.items():
        total[name] = total.get(name, 0) + amount * times


def pod_total(spec: dict[str, Any], part: str = "requests") -> dict[str, int]:
    """What a pod as a whole asks for (or its limits): the sum over containers, at least the largest init container."""

    def of(container: dict[str, Any]) -> dict[str, int]:
        return requests(container) if part == "requests" else amounts(_resources(container).get(part))

    total: dict[str, int] = {}
    for container in _containers(spec, "containers"):
        add(total, of(container))
    for container in _containers(spec, "initContainers"):
        for name, amount in of(container).items():
            total[name] = max(total.get(name, 0), amount)
    return total


def _containers(spec: dict[str, Any], field: str) -> list[Any]:
    found = spec.get(field)
    return found if isinstance(found, list) else []


def as_list(total: dict[str, int]) -> dict[str, str]:
    """Thousandths as a resource list."""
    return {name: printed(name, total[name]) for name in sorted(total)}
