"""What the containers of a simulated pod do: how long each runs and how it ends.

The annotation `sim.restartscope.dev/plan` on a pod says so, as JSON:

    {"tensorflow": [{"after": 10, "code": 138}, {"after": 60, "code": 0}],
     "worker-0": {"tensorflow": {"after": 3, "code": 137, "reason": "OOMKilled"}}}

A list holds the successive runs of the container, over in-place restarts and recreated pods alike; its last entry
repeats. `<type>-<index>` (the end of the pod's name) overrides for one replica. Of an entry every key is optional:
`after` seconds (null: runs for ever; [low, high]: drawn), `code`, `reason`, `message` (the termination message) and
`term`, the exit code on SIGTERM (null: ignores it and is killed when the grace period ends).

Without an annotation for it, a container's shell command is understood where it is simple: `trap "exit N" TERM`,
`sleep N`, `exit N`, `tail /dev/zero` and `case $POD_NAME in ... esac` of those. Else it runs 30 s and exits 0.
"""

import fnmatch
import json
import math
import random
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

Obj = dict[str, Any]

ANNOTATION = "sim.restartscope.dev/plan"
SIGTERM_CODE = 143
SIGKILL_CODE = 137
OOM_REASON = "OOMKilled"
_OOM_DELAY_SECONDS = (1.5, 2.5)  # how long `tail /dev/zero` takes to fill a small memory limit


@dataclass(frozen=True)
class Run:
    """One run of a container: seconds until it ends (a range to draw from; None: never) and how.

    `term_code` is the exit code on SIGTERM; None ignores it.
    """

    after: tuple[float, float] | None = (30.0, 30.0)
    code: int = 0
    reason: str = ""
    message: str = ""
    term_code: int | None = SIGTERM_CODE

    def seconds(self, rng: random.Random) -> float | None:
        return None if self.after is None else rng.uniform(*self.after)

    @property
    def shown_reason(self) -> str:
        return self.reason or ("Completed" if self.code == 0 else "Error")


class PlanError(ValueError):
    """The annotation cannot be read; the text says why."""


def runs_of(pod: Obj, container: Obj) -> list[Run]:
    """The successive runs of one container of a pod; the last one repeats. Raises PlanError."""
    plan = _annotated(pod, container["name"])
    return plan or [command_run(container, pod["metadata"]["name"]) or Run()]


def _annotated(pod: Obj, container: str) -> list[Run]:
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
            return _parsed_runs(value[container], container)
    return _parsed_runs(plan[container], container) if container in plan else []


def _parsed_runs(value: Any, container: str) -> list[Run]:
    entries = value if isinstance(value, list) else [value]
    return [_parsed_run(entry, container) for entry in entries]


def _parsed_run(entry: Any, container: str) -> Run:
    if not isinstance(entry, dict):
        raise PlanError(f"annotation {ANNOTATION}: {container} must be an object or a list of objects")
    unknown = sorted(set(entry) - {"after", "code", "reason", "message", "term"})
    if unknown:
        raise PlanError(f"annotation {ANNOTATION}: {container} has an unknown key {unknown[0]!r}")
    code, term = entry.get("code", 0), entry.get("term", SIGTERM_CODE)
    for name, number in (("code", code), ("term", 0 if term is None else term)):
        if not _is_number(number) or not 0 <= number <= 255 or number != int(number):
            raise PlanError(f"annotation {ANNOTATION}: {container}: {name} must be an exit code, 0 to 255")
    texts = {name: entry.get(name, "") for name in ("reason", "message")}
    if not all(isinstance(text, str) for text in texts.values()):
        raise PlanError(f"annotation {ANNOTATION}: {container}: reason and message must be strings")
    after = _parsed_after(entry.get("after", 30), container)
    return Run(after, int(code), texts["reason"], texts["message"], None if term is None else int(term))


def _parsed_after(value: Any, container: str) -> tuple[float, float] | None:
    if value is None:
        return None
    ends = value if isinstance(value, list) else [value, value]
    if len(ends) != 2 or not all(_is_number(each) and each >= 0 for each in ends):
        raise PlanError(f"annotation {ANNOTATION}: {container}: after must be seconds, [low, high] or null")
    return (float(min(ends)), float(max(ends)))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


# Shell commands

_CASE = re.compile(r"case\s+\$\{?POD_NAME\}?\s+in\s+(.*?)\s*;?\s*esac", re.DOTALL)
_BRANCH = re.compile(r"\(?\s*(\S+?)\s*\)\s*(.*)", re.DOTALL)
_TRAP = re.compile(r"""trap\s+["']exit\s+([0-9]+)["']\s+(\w+)""")
_SLEEP = re.compile(r"sleep\s+([0-9]+(?:\.[0-9]+)?)s?(\s*&\s*wait\s+\$!)?")
_EXIT = re.compile(r"exit\s+([0-9]{1,3})")


def command_run(container: Obj, pod_name: str) -> Run | None:
    """The run that a container's `sh -c` script describes; None if there is none or it is not simple."""
    words = [*(container.get("command") or []), *(container.get("args") or [])]
    if len(words) != 3 or words[0] not in ("sh", "/bin/sh", "bash", "/bin/bash") or words[1] != "-c":
        return None
    script = _with_chosen_branch(str(words[2]), pod_name)
    run = Run((0.0, 0.0), term_code=None)
    for statement in re.split(r";|\n", script):
        step = _step(run, statement.strip(), bool((container.get("resources") or {}).get("limits")))
        if step is None:
            return None
        run, ended = step
        if ended:
            break
    return run


def _with_chosen_branch(script: str, pod_name: str) -> str:
    def chosen(match: re.Match[str]) -> str:
        for branch in match[1].split(";;"):
            parts = _BRANCH.fullmatch(branch.strip())
            if parts and any(fnmatch.fnmatchcase(pod_name, pattern) for pattern in parts[1].split("|")):
                return parts[2]
        return ""

    return _CASE.sub(chosen, script)


def _step(run: Run, statement: str, has_limit: bool) -> tuple[Run, bool] | None:
    """The run after one more statement, and whether that ended it; None for a statement that is not understood."""
    for pattern, apply in _STATEMENTS.items():
        match = pattern.fullmatch(statement)
        if match:
            return apply(run, match)
    if statement in ("", "true", ":"):
        return run, False
    if statement == "tail /dev/zero":
        return (
            (_later(replace(run, code=SIGKILL_CODE, reason=OOM_REASON), _OOM_DELAY_SECONDS), True)
            if has_limit
            else None
        )
    return None


def _trap(run: Run, match: re.Match[str]) -> tuple[Run, bool]:
    return (replace(run, term_code=int(match[1]) & 255) if match[2] in ("TERM", "SIGTERM") else run), False


def _sleep(run: Run, match: re.Match[str]) -> tuple[Run, bool]:
    return _later(run, (float(match[1]), float(match[1]))), False


def _exit(run: Run, match: re.Match[str]) -> tuple[Run, bool]:
    return replace(run, code=int(match[1]) & 255), True


def _later(run: Run, more: tuple[float, float]) -> Run:
    low, high = run.after or (0.0, 0.0)
    return replace(run, after=(low + more[0], high + more[1]))


_STATEMENTS: dict[re.Pattern[str], Callable[[Run, re.Match[str]], tuple[Run, bool]]] = {
    _TRAP: _trap,
    _SLEEP: _sleep,
    _EXIT: _exit,
}


class RunCounter:
    """Which run of its container comes next, counted over all pods of a replica."""

    def __init__(self) -> None:
        self._runs: dict[tuple[str, str, str], int] = {}

    def next_run(self, pod: Obj, container: Obj) -> Run:
        """The run that starts now. Raises PlanError; it counts all the same."""
        metadata = pod["metadata"]
        owners = metadata.get("ownerReferences") or [metadata]
        key = (owners[0].get("uid", ""), metadata["name"], container["name"])
        number = self._runs.get(key, 0)
        self._runs[key] = number + 1
        runs = runs_of(pod, container)
        return runs[min(number, len(runs) - 1)]
