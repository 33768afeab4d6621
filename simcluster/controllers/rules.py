"""Rules that say what containers do, for manifests that carry no plan: a YAML or JSON file.

    - match: {image: "*/trainer:*", replica: worker-0}
      runs: [{after: 10, code: 138}, {after: 600}]
    - match: {namespace: team-a, container: metrics}
      runs: {after: 5, code: 3}

The first rule that fits decides. `match` may name namespace, pod, replica (the end of the pod's name), container and
image, each a pattern with * and ?. `runs` is what the plan annotation holds for a container (see plan.py).
"""

import fnmatch
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from simcluster.controllers.runs import PlanError, parsed_runs

Obj = dict[str, Any]

_SUBJECTS: dict[str, Callable[[Obj, Obj], str]] = {
    "namespace": lambda pod, _: pod["metadata"].get("namespace", ""),
    "pod": lambda pod, _: pod["metadata"]["name"],
    "replica": lambda pod, _: f"-{pod['metadata']['name']}",
    "container": lambda _, container: container["name"],
    "image": lambda _, container: str(container.get("image") or ""),
}


class RuleError(ValueError):
    """A rule cannot be read; the text says which and why."""


@dataclass(frozen=True)
class Rule:
    match: dict[str, str]
    runs: Any

    def fits(self, pod: Obj, container: Obj) -> bool:
        return all(
            fnmatch.fnmatchcase(_SUBJECTS[name](pod, container), f"*-{pattern}" if name == "replica" else pattern)
            for name, pattern in self.match.items()
        )


def read_rules(path: Path) -> list[Rule]:
    """The rules of a file. Raises RuleError, OSError."""
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise RuleError(f"{path.name} is no YAML: {error}") from None
    return parsed_rules(content)


def parsed_rules(content: Any) -> list[Rule]:
    """Raises RuleError."""
    if not isinstance(content, list):
        raise RuleError("rules must be a list")
    rules = []
    for number, entry in enumerate(content, start=1):
        if not isinstance(entry, dict) or set(entry) != {"match", "runs"} or not isinstance(entry["match"], dict):
            raise RuleError(f"rule {number} must have match, an object, and runs")
        unknown = sorted(str(name) for name in entry["match"] if name not in _SUBJECTS)
        if unknown:
            raise RuleError(f"rule {number}: match has an unknown key {unknown[0]!r}")
        if not all(isinstance(pattern, str) for pattern in entry["match"].values()):
            raise RuleError(f"rule {number}: match must map to strings")
        try:
            parsed_runs(entry["runs"], f"rule {number}")
        except PlanError as error:
            raise RuleError(str(error)) from None
        rules.append(Rule(entry["match"], entry["runs"]))
    return rules
