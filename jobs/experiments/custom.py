"""What somebody's own manifests must be before they are sent: jobs, small enough, and nothing that reaches the nodes.

They are created with this site's account, which may do more than whoever pasted them: what would let a pod out of its
namespace is refused here, whatever the cluster itself would say.
"""

import copy
import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext as _

from jobs.domain.kinds import KINDS, kind_of
from jobs.experiments.experiment import Object
from jobs.experiments.labels import replica_specs, templates
from jobs.experiments.launch import MANIFEST, NAME, NotLaunched
from jobs.experiments.parameters import MAX_MEBIBYTES, MAX_MILLICORES, MAX_REPLICAS

SYSTEM_PRIORITY = "system-"  # such pods push out those of other namespaces
KEPT = ("name", "labels", "annotations")  # of an object's metadata: the rest is the server's
HOST_FIELDS = ("hostNetwork", "hostPID", "hostIPC", "serviceAccountName", "serviceAccount", "nodeName")
QUANTITY = re.compile(r"\+?(\d{1,30}(?:\.\d{0,30})?|\.\d{1,30})(?:([numkMGTPE]|[KMGTPE]i)|[eE]([+-]?\d{1,2}))?")
FACTORS: dict[str | None, Decimal] = {
    None: Decimal(1),
    **{unit: Decimal(1000) ** -power for power, unit in enumerate("mun", 1)},
    **{unit: Decimal(1000) ** power for power, unit in enumerate("kMGTPE", 1)},
    **{f"{unit}i": Decimal(1024) ** power for power, unit in enumerate("KMGTPE", 1)},
}
LONGEST_QUANTITY = 30  # characters; nobody needs more, and what they come to is not worked out
BEYOND = Decimal(10**15)  # of what is asked for: far more than any limit, and no number that is too long to be shown


def checked(objects: Sequence[Object], namespace: str) -> tuple[Object, ...]:
    """The objects as they may be sent, in the namespace that was chosen. Raises ``NotLaunched``."""
    problems = [problem for one in objects for problem in _problems(one, namespace)]
    problems = problems or [*_repeated(objects)] or [*_beyond_totals(objects)]
    if problems:
        raise NotLaunched({MANIFEST: list(dict.fromkeys(problems))[:10]})
    return tuple(_ours(one, namespace) for one in objects)


def _repeated(objects: Sequence[Object]) -> Iterator[str]:
    names = {(one["apiVersion"], one["kind"], one["metadata"]["name"]) for one in objects}
    if len(names) < len(objects):
        yield _("Two of these objects have the same kind and name.")


def _ours(given: Object, namespace: str) -> Object:
    found = copy.deepcopy({name: given[name] for name in ("apiVersion", "kind", "metadata", "spec")})
    found["metadata"] = {name: value for name, value in found["metadata"].items() if name in KEPT}
    found["metadata"]["namespace"] = namespace
    return found


def _problems(one: Object, namespace: str) -> Iterator[str]:
    kind = kind_of(str(one.get("apiVersion")), str(one.get("kind")))
    if kind is None:
        names = ", ".join(f"{each.api_version} {each.kind}" for each in KINDS)
        yield _("Only training jobs can be launched: %(names)s.") % {"names": names}
        return
    metadata = one.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(one.get("spec"), dict):
        yield _("Each document must be an object with apiVersion, kind, metadata and spec.")
        return
    if not isinstance(metadata.get("name"), str) or not NAME.fullmatch(metadata["name"]):
        yield _("metadata.name must be at most 40 lower-case letters, digits and dashes, and begin with a letter.")
    if metadata.get("namespace") not in (None, namespace):
        yield _("metadata.namespace must be the namespace that is chosen above, or be left out.")
    if not all(_is_text_map(metadata.get(name)) for name in ("labels", "annotations")):
        yield _("metadata.labels and metadata.annotations must hold texts.")
    for template in templates(one):
        for words in _reaches_out(template.get("spec")):
            yield _("%(field)s is not taken from a page: a pod must not reach out of its namespace.") % {"field": words}
    if any(str(name).startswith(SYSTEM_PRIORITY) for name in _priorities(one)):
        yield _("Priority classes of the system are not taken from a page: such pods push out those of others.")


def _is_text_map(value: Any) -> bool:
    return value is None or (isinstance(value, dict) and all(isinstance(one, str) for one in value.values()))


def _reaches_out(spec: Any) -> Iterator[str]:
    """The fields of a pod's spec by which it would get at nodes, other accounts or the host's files."""
    if not isinstance(spec, dict):
        return
    yield from (name for name in HOST_FIELDS if spec.get(name))
    if _is_host_process(spec.get("securityContext")):
        yield "hostProcess"
    if any("hostPath" in volume for volume in _dicts(spec.get("volumes"))):
        yield "hostPath"
    for group in ("containers", "initContainers", "ephemeralContainers"):
        for container in _dicts(spec.get(group)):
            context = container.get("securityContext")
            context = context if isinstance(context, dict) else {}
            capabilities = context.get("capabilities")
            if context.get("privileged") or context.get("allowPrivilegeEscalation"):
                yield "privileged"
            if _is_host_process(context):
                yield "hostProcess"
            if isinstance(capabilities, dict) and capabilities.get("add"):
                yield "capabilities.add"
            if any("hostPort" in port for port in _dicts(container.get("ports"))):
                yield "hostPort"


def _is_host_process(context: Any) -> bool:
    """Whether a security context asks for what Windows has in place of privileges."""
    options = context.get("windowsOptions") if isinstance(context, dict) else None
    return isinstance(options, dict) and bool(options.get("hostProcess"))


def _priorities(one: Object) -> Iterator[Any]:
    """The priority classes that a job names, for its pods and for its gang."""
    spec = one["spec"]
    run_policy = spec.get("runPolicy")
    gang = run_policy.get("schedulingPolicy") if isinstance(run_policy, dict) else None
    yield spec.get("priorityClassName")
    yield gang.get("priorityClass") if isinstance(gang, dict) else None
    for template in templates(one):
        pod = template.get("spec")
        yield pod.get("priorityClassName") if isinstance(pod, dict) else None


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _beyond_totals(objects: Sequence[Object]) -> Iterator[str]:
    replicas, cpu, memory = 0, Decimal(0), Decimal(0)
    for one in objects:
        most = _most_replicas(one)
        for spec in replica_specs(one):
            number = max(_whole(spec.get("replicas", 1)), most)
            replicas += number
            cpu += number * _asked(spec, "cpu")
            memory += number * _asked(spec, "memory")
    totals = (
        (_("This asks for %(found)s replicas; at most %(limit)s are allowed in one run."), replicas, MAX_REPLICAS),
        (
            _("This asks for %(found)s thousandths of a core; at most %(limit)s are allowed in one run."),
            int(cpu * 1000),
            MAX_MILLICORES,
        ),
        (
            _("This asks for %(found)s MiB of memory; at most %(limit)s are allowed in one run."),
            int(memory / 2**20),
            MAX_MEBIBYTES,
        ),
    )
    for text, found, limit in totals:
        if found > limit:
            yield text % {"found": found, "limit": limit}


def _most_replicas(job: Object) -> int:
    """How many workers an elastic job may grow to; 0 for one that does not."""
    policy = job["spec"].get("elasticPolicy")
    return _whole(policy.get("maxReplicas", 0)) if isinstance(policy, dict) else 0


def _whole(value: Any) -> int:
    """A number of replicas as the API server takes it, 3.0 included; what it refuses counts as one."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value != int(value):
        return 1
    return int(min(max(value, 0), BEYOND))


def _asked(spec: dict[str, Any], name: str) -> Decimal:
    """What one replica asks for: its containers together, or its greediest init container, or the pod as a whole."""
    template = spec.get("template")
    pod = template.get("spec") if isinstance(template, dict) else None
    if not isinstance(pod, dict):
        return Decimal(0)
    first = _dicts(pod.get("initContainers"))
    beside = sum((_needs(one, name) for one in first if one.get("restartPolicy") == "Always"), Decimal(0))
    together = sum((_needs(one, name) for one in _dicts(pod.get("containers"))), beside)
    greediest = max((beside + _needs(one, name) for one in first), default=Decimal(0))
    return max(together, greediest, _needs(pod, name))


def _needs(holder: dict[str, Any], name: str) -> Decimal:
    """The higher of request and limit; oddly written ones count nothing, since the API server refuses them."""
    resources = holder.get("resources")
    given = [resources.get(part) for part in ("requests", "limits")] if isinstance(resources, dict) else []
    return max((_quantity(one.get(name)) for one in given if isinstance(one, dict)), default=Decimal(0))


def _quantity(value: Any) -> Decimal:
    """As Kubernetes reads it: ``500m``, ``+1.5``, ``2Gi``, ``1e3``."""
    text = "" if isinstance(value, bool) else str(value)
    found = QUANTITY.fullmatch(text)
    if found is None:
        return BEYOND if len(text) > LONGEST_QUANTITY else Decimal(0)
    return min(Decimal(found[1]) * FACTORS[found[2]] * Decimal(10) ** int(found[3] or 0), BEYOND)
