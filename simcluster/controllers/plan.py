"""What the containers of a simulated pod do: how long each runs and how it ends.

The annotation `sim.restartscope.dev/plan` on a pod says so, as JSON:

    {"tensorflow": [{"after": 10, "code": 138}, {"after": 60, "code": 0}],
     "worker-0": {"tensorflow": {"after": 3, "code": 137, "reason": "OOMKilled"}}}

A list holds the successive runs of the container, over in-place restarts and recreated pods alike; its last entry
repeats. `<type>-<index>` (the end of the pod's name) overrides for one replica. Of an entry every key is optional:
`after` seconds (null: runs for ever; [low, high]: drawn), `code`, `reason`, `message` (the termination message),
`term`, the exit code on SIGTERM (null: ignores it and is killed when the grace period ends), `log`, lines that it
prints, evenly over its time, `start_error`, the text with which it cannot be started (128, StartError), and
`pull_error`, the text with which its image cannot be pulled (as long as this entry is next), until the pod has lived
for `pulled_after` seconds (null: for ever).

Without an annotation the rules decide (see rules.py), then the container's own shell script where it is simple (see
command.py and shell.py), then its image (see images.py). Else it runs 30 s and exits 0.
"""

import json
from collections.abc import Iterator, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from simcluster.clock import parse_rfc3339
from simcluster.controllers import images
from simcluster.controllers.command import command_run
from simcluster.controllers.rules import Rule
from simcluster.controllers.runs import PlanError, Run, parsed_runs

Obj = dict[str, Any]

ANNOTATION = "sim.restartscope.dev/plan"


def annotated_runs(pod: Obj, container: str) -> list[Run]:
    """The runs that the pod's annotation names for a container; [] without one. Raises PlanError."""
    text = (pod["metadata"].get("annotations") or {}).get(ANNOTATION)
    if not text:
        return []
    try:
        plan = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise PlanError(f"annotation {ANNOTATION} is no JSON: {error}") from None
    if not isinstance(plan, dict):
        raise PlanError(f"annotation {ANNOTATION} must be an object")
    name = pod["metadata"]["name"]
    for key, value in plan.items():
        if isinstance(value, dict) and name.endswith(f"-{key}") and container in value:
            return parsed_runs(value[container], f"annotation {ANNOTATION}: {container}")
    return parsed_runs(plan[container], f"annotation {ANNOTATION}: {container}") if container in plan else []


@dataclass
class _Files(MutableMapping[str, str]):
    """What a container sees of files: its hostPath volumes' are the machine's, the rest is its own and forgotten."""

    shared: dict[str, str]
    mounts: dict[str, str]  # mount path -> path on the node
    own: dict[str, str] = field(default_factory=dict)

    def _place(self, path: str) -> tuple[dict[str, str], str]:
        for mount, source in self.mounts.items():
            if path == mount or path.startswith(f"{mount.rstrip('/')}/"):
                return self.shared, source.rstrip("/") + path[len(mount.rstrip("/")) :]
        return self.own, path

    def __getitem__(self, path: str) -> str:
        place, key = self._place(path)
        return place[key]

    def __setitem__(self, path: str, content: str) -> None:
        place, key = self._place(path)
        place[key] = content

    def __delitem__(self, path: str) -> None:
        place, key = self._place(path)
        del place[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.own)

    def __len__(self) -> int:
        return len(self.own)

    def __contains__(self, path: object) -> bool:
        place, key = self._place(str(path))
        return key in place


class Programs:
    """Which run of its container comes next, counted over all pods of a replica; and the nodes' files."""

    def __init__(self, rules: Sequence[Rule] = ()) -> None:
        self.rules = list(rules)
        self._runs: dict[tuple[str, str, str], int] = {}
        self._files: dict[str, dict[str, str]] = {}

    def next_run(self, pod: Obj, container: Obj) -> Run:
        """The run that starts now. Raises PlanError; it counts all the same."""
        key = _replica_key(pod, container)
        number = self._runs.get(key, 0)
        self._runs[key] = number + 1
        return self._run(pod, container, number, self._files_of(pod, container))

    def pull_error(self, pod: Obj, container: Obj, now: float) -> str:
        """Why the image of the run that comes next cannot be pulled at the time `now`; "" if it can."""
        number = self._runs.get(_replica_key(pod, container), 0)
        try:
            planned = self._planned(pod, container)
        except PlanError:
            return ""  # told when the container starts
        if planned:
            run = planned[min(number, len(planned) - 1)]
            age = now - parse_rfc3339(pod["metadata"]["creationTimestamp"])
            return "" if run.pulled_after is not None and age >= run.pulled_after else run.pull_error
        return images.pull_error(str(container.get("image") or ""))

    def _run(self, pod: Obj, container: Obj, number: int, files: MutableMapping[str, str]) -> Run:
        runs = self._planned(pod, container)
        if runs:
            return runs[min(number, len(runs) - 1)]
        return command_run(container, pod, files) or Run()

    def _planned(self, pod: Obj, container: Obj) -> list[Run]:
        runs = annotated_runs(pod, container["name"])
        if runs:
            return runs
        rule = next((rule for rule in self.rules if rule.fits(pod, container)), None)
        return parsed_runs(rule.runs, "rule") if rule else []

    def _files_of(self, pod: Obj, container: Obj) -> _Files:
        spec = pod.get("spec") or {}
        paths = {
            volume.get("name"): (volume.get("hostPath") or {}).get("path")
            for volume in spec.get("volumes") or []
            if isinstance(volume, dict) and isinstance(volume.get("hostPath") or {}, dict)
        }
        mounts = {
            str(mount.get("mountPath")): str(paths[mount.get("name")])
            for mount in container.get("volumeMounts") or []
            if paths.get(mount.get("name"))
        }
        machine = (pod.get("status") or {}).get("hostIP") or spec.get("nodeName") or ""
        return _Files(self._files.setdefault(machine, {}), mounts)


def _replica_key(pod: Obj, container: Obj) -> tuple[str, str, str]:
    metadata = pod["metadata"]
    owners = metadata.get("ownerReferences") or [metadata]
    return (owners[0].get("uid", ""), metadata["name"], container["name"])
