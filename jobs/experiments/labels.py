"""What everything that a run creates carries, so that it can be told from everything else in a cluster."""

import copy
from typing import Any

from jobs.domain.kinds import kind_of
from jobs.experiments.experiment import Object

RUN = "restartscope.dev/run"
EXPERIMENT = "restartscope.dev/experiment"
OWNER = "restartscope.dev/launched-by"
MANAGED_BY = "app.kubernetes.io/managed-by"


def labelled(manifest: Object, run: str, experiment: str, who: str) -> Object:
    """The manifest with the run's labels, on its pods' templates too, and an annotation that says who launched it."""
    labels = {RUN: run, MANAGED_BY: "restartscope"} | ({EXPERIMENT: experiment} if experiment else {})
    found = copy.deepcopy(manifest)
    metadata = _folder(found, "metadata")
    _folder(metadata, "labels").update(labels)
    _folder(metadata, "annotations")[OWNER] = who
    for template in templates(found):
        _folder(_folder(template, "metadata"), "labels").update(labels)
    return found


def templates(manifest: Object) -> list[dict[str, Any]]:
    """The pod templates of a job, for changing in place; what is no job, or oddly shaped, has none."""
    return [template for spec in replica_specs(manifest) if isinstance(template := spec.get("template"), dict)]


def container_names(manifest: Object) -> set[str]:
    """The names of all containers that a job's templates have."""
    specs = [spec for template in templates(manifest) if isinstance(spec := template.get("spec"), dict)]
    groups = [spec.get(group) for spec in specs for group in ("containers", "initContainers")]
    listed = [one for group in groups if isinstance(group, list) for one in group if isinstance(one, dict)]
    return {name for one in listed if isinstance(name := one.get("name"), str)}


def replica_specs(manifest: Object) -> list[dict[str, Any]]:
    """The replica specs of a job (the tasks of a Volcano Job); what is no job, or oddly shaped, has none."""
    kind = kind_of(manifest.get("apiVersion"), manifest.get("kind"))
    spec = manifest.get("spec")
    found = spec.get(kind.specs) if kind is not None and isinstance(spec, dict) else None
    specs = list(found.values()) if isinstance(found, dict) else found
    return [one for one in specs if isinstance(one, dict)] if isinstance(specs, list) else []


def run_of(obj: Object) -> str:
    """The run that an object of a cluster says it belongs to; "" for none."""
    return str(((obj.get("metadata") or {}).get("labels") or {}).get(RUN, ""))


def uid_of(obj: Object) -> str:
    return str((obj.get("metadata") or {}).get("uid", ""))


def _folder(holder: dict[str, Any], name: str) -> dict[str, Any]:
    """The object under a key, made where there is none."""
    if not isinstance(holder.get(name), dict):
        holder[name] = {}
    found: dict[str, Any] = holder[name]
    return found
