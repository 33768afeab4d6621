"""A run as the sequence of what happened: conditions of jobs, lives of pods. What differs from run to run is left out,
so that a simulated run can be compared with a recorded one.
"""

import re

from tests.simcluster.simulation import Line, collapsed, conditions_of, of_jobs, replica_of, told

RESTARTING = "Restarting=True"


def histories(lines: list[Line]) -> dict[str, list[list[str]]]:
    """Each job's conditions, in the order of the jobs; one entry for each change of types, statuses or order."""
    by_job: dict[str, list[list[str]]] = {}
    for line in of_jobs(lines):
        by_job.setdefault(line.uid, []).append(conditions_of(line.object))
    return {uid: collapsed(history) for uid, history in by_job.items()}


def without_restarting(history: list[list[str]]) -> list[list[str]]:
    """Without the interludes of Restarting; a last one means that it ended there."""
    kept = [entry for entry in history if RESTARTING not in entry or "Failed=True" in entry]
    return collapsed(kept)


_OPTIONAL = (
    # The first look at a pod, and steps of an init container, are sometimes left to the next write.
    re.compile(r"MODIFIED Pending PodReadyToStartContainers=False Initialized=\S+ Ready=False(?!.*deleting).*"),
    re.compile(r"MODIFIED Pending PodReadyToStartContainers=True Initialized=False.*waiting PodInitializing .* \[.*"),
    re.compile(
        r"MODIFIED Pending PodReadyToStartContainers=True Initialized=True .*waiting PodInitializing(?!.*del).*"
    ),
    # Whether the scheduler had seen the pod before it bound it.
    re.compile(r"MODIFIED Pending PodScheduled=False\S* unbound"),
)


def lives(lines: list[Line]) -> dict[tuple[str, tuple[str, int]], list[list[Line]]]:
    """The lines of each pod, by job name and replica, in the order of creation."""
    found: dict[tuple[str, tuple[str, int]], dict[str, list[Line]]] = {}
    for line in lines:
        if line.resource == "pods":
            owner = line.object["metadata"]["ownerReferences"][0]["name"]
            found.setdefault((owner, replica_of(line.object)), {}).setdefault(line.uid, []).append(line)
    return {key: list(by_uid.values()) for key, by_uid in found.items()}


def story(life: list[Line]) -> list[str]:
    """A pod's life in words, up to its deletion; without the steps that may be left out."""
    words = [told(line) for line in life if "deletionTimestamp" not in line.object["metadata"]]
    return [each for each in collapsed(words) if not any(pattern.fullmatch(each) for pattern in _OPTIONAL)]


def begins_like(one: list[str], other: list[str]) -> bool:
    shorter = min(len(one), len(other))
    return one[:shorter] == other[:shorter]


def conditions_told(lines: list[Line]) -> list[list[str]]:
    """The conditions of one job with their reasons, without the interludes of Restarting; one entry a change."""
    entries = [line.object for line in of_jobs(lines) if RESTARTING not in conditions_of(line.object)]
    return collapsed(
        [f"{each['type']}={each['status']} {each.get('reason', '')}" for each in status.get("conditions") or []]
        for status in (obj.get("status") or {} for obj in entries)
    )


def life_and_death(life: list[Line]) -> list[str]:
    """A pod's phases, its containers' exits and restarts, its deletion and its end: one entry a change.

    An init container that is done is left out: whether that is told apart from what follows is chance.
    """
    return collapsed(_told_shortly(line) for line in life)


def _told_shortly(line: Line) -> str:
    status = line.object.get("status") or {}
    init, main = status.get("initContainerStatuses") or [], status.get("containerStatuses") or []
    failed = [each for each in init if (each["state"].get("terminated") or {}).get("exitCode")]
    ends = [
        f"{each['name']} exit {end['exitCode']} {end.get('reason', '')}"
        for each in [*failed, *main]
        if (end := each["state"].get("terminated")) is not None
    ]
    restarts = [f"{each['name']} restart {each['restartCount']}" for each in [*init, *main] if each["restartCount"]]
    deleting = ["deleting"] if "deletionTimestamp" in line.object["metadata"] else []
    gone = ["gone"] if line.type == "DELETED" else []
    return ", ".join([line.phase, *ends, *restarts, *deleting, *gone])
