"""The run that a container's own command describes, where it is a simple one."""

from collections.abc import MutableMapping
from typing import Any

from simcluster.controllers import images
from simcluster.controllers.runs import OOM_REASON, START_ERROR_CODE, START_ERROR_REASON, Run
from simcluster.controllers.shell import NotUnderstood, run_script

Obj = dict[str, Any]

_OOM_DELAY_SECONDS = (1.5, 2.5)  # how long `tail /dev/zero` takes to fill a small memory limit
_SHELLS = ("sh", "/bin/sh", "bash", "/bin/bash", "ash", "/bin/ash", "/usr/bin/bash")
_PROGRAMS = ("sleep", "true", "false", "tail", "echo")


def command_run(container: Obj, pod: Obj, files: MutableMapping[str, str] | None = None) -> Run | None:
    """The run that a container's command describes; None if there is none or it is not simple."""
    words = [str(word) for word in [*(container.get("command") or []), *(container.get("args") or [])]]
    problem = images.start_error(container)
    if problem:
        return Run((0.0, 0.0), START_ERROR_CODE, START_ERROR_REASON, problem, start_error=problem)
    if len(words) >= 3 and words[0] in _SHELLS and words[1] in ("-c", "-ec", "-xc", "-exc"):
        script = words[2]
    elif words and words[0].removeprefix("/bin/") in _PROGRAMS:
        script = " ".join([words[0].rpartition("/")[2], *words[1:]])
    else:
        return None
    try:
        outcome = run_script(script, _environment(container, pod), {} if files is None else files)
    except NotUnderstood:
        return None
    low = high = outcome.seconds
    reason = ""
    if outcome.out_of_memory:
        if not (container.get("resources") or {}).get("limits"):
            return None
        reason = OOM_REASON
        low, high = (low or 0.0) + _OOM_DELAY_SECONDS[0], (high or 0.0) + _OOM_DELAY_SECONDS[1]
    after = None if low is None or high is None else (low, high)
    return Run(after, outcome.code, reason, term_code=outcome.term_code, log=tuple(outcome.printed))


def _environment(container: Obj, pod: Obj) -> dict[str, str]:
    metadata = pod["metadata"]
    fields = {
        "metadata.name": metadata["name"],
        "metadata.namespace": metadata.get("namespace", ""),
        "metadata.uid": metadata.get("uid", ""),
        "spec.nodeName": (pod.get("spec") or {}).get("nodeName") or "",
    }
    found = {"HOSTNAME": metadata["name"], "HOME": "/root", "PATH": "/usr/local/bin:/usr/bin:/bin"}
    for entry in container.get("env") or []:
        source = ((entry.get("valueFrom") or {}).get("fieldRef") or {}).get("fieldPath", "")
        found[str(entry.get("name"))] = str(entry.get("value") or fields.get(source, ""))
    return found
