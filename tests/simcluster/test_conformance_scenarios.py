"""Every recorded scenario, played on the simulated cluster, against its recording.

What a cluster leaves to chance is stated here as the set of what is allowed:

- Conditions. Restarting shows and goes, or is never seen, by the operator's order of writes and Go's order of maps
  (`RESTARTS_SEEN`); without those interludes the history is the recorded one.
- PodGroups. A cycle of the scheduler falls into the moment between a failure and its successor or it does not:
  `PODGROUP_HISTORY` says which phases may follow each other.
- Pods. The kubelet may leave a write around an init container to the next one, and the scheduler may or may not have
  seen a pod before it bound it. A pod that its job's deletion ends is compared up to there.
- Events. Those of what a pod and its containers do have the recorded counts. What the operator and the scheduler say
  at every look depends on how often they look (`SAID_AT_EVERY_LOOK`).
"""

import functools
import json
import re
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from simcluster.clock import ManualClock
from simcluster.cluster import Cluster
from simcluster.controllers.kubelet import NodeSpec
from simcluster.scenarios import ONE_NODE, SCENARIOS, VOLCANO
from tests.simcluster.sequences import RESTARTING, begins_like, histories, lives, story, without_restarting
from tests.simcluster.simulation import (
    BOTH_PODGROUPS,
    RECORDINGS,
    Line,
    collapsed,
    comparable,
    counted,
    first_at,
    is_terminated,
    of_jobs,
    played,
    recorded,
)

Obj = dict[str, Any]

QUICK_SEEDS = (1, 2)
DEEP_SEEDS = (3, 4)
SLOW = ("wave-60",)  # one seed in the quick run


@functools.cache
def real(scenario: str) -> list[Line]:
    return recorded(scenario)


def test_every_recording_of_these_kinds_is_a_scenario() -> None:
    recordings = {folder.name for folder in RECORDINGS.iterdir() if not folder.name.startswith("trainjob")}
    assert recordings == set(SCENARIOS)


@pytest.mark.parametrize("scenario", sorted(SCENARIOS))
def test_the_manifest_is_the_recorded_one(scenario: str) -> None:
    first = of_jobs(real(scenario))[0].object["metadata"]["annotations"]
    wanted = json.loads(first["kubectl.kubernetes.io/last-applied-configuration"])
    (ours,) = [each for each in SCENARIOS[scenario].first() if each["kind"] != "PriorityClass"]
    assert {**ours, "metadata": {"annotations": {}, **ours["metadata"]}} == wanted


# What really happened

# Restarts that depend on how quickly the parts of the recorded cluster acted: (scenario, replica) -> pods.
PODS_ALLOWED = {
    ("xgboost-exitcode", ("worker", 0)): {4, 5},  # before the master has ended
    **{(f"exit-sweep-{code}", ("worker", 0)): {3, 4} for code in (128, 130, 137, 138, 139, 143)},
}
EXITS_VARY = (
    *(key for key in PODS_ALLOWED),
    *((f"exit-sweep-{code}", ("worker", 1)) for code in (128, 130, 137, 138, 139, 143)),  # deleted as it ends
    ("pt-exitcode-master", ("master", 0)),  # deleted as it starts: 137 or 143
    ("bad-command", ("worker", 0)),  # deleted as it starts: 128, or never started
    ("bad-command", ("worker", 1)),
    ("seed-exitcode-138", ("ps", 0)),  # deleted as it waits for its restart, or just back from it
    ("oom-killed", ("master", 0)),
    ("wave-60", ("worker", 0)),
)


def jobs_of(scenario: str) -> list[Obj]:
    return list(json.loads((RECORDINGS / scenario / "truth.json").read_text())["jobs"])


def pods_of_job(lines: list[Line], name: str, number: int) -> list[Line]:
    """The pod lines of the `number`-th job of a name."""
    uids = list(dict.fromkeys(line.uid for line in of_jobs(lines) if line.name == name))
    return [
        line
        for line in lines
        if line.resource == "pods" and line.object["metadata"]["ownerReferences"][0]["uid"] == uids[number]
    ]


def check_restarts_and_exits_are_those_of_the_truth(scenario: str, lines: list[Line]) -> None:
    seen: Counter[str] = Counter()
    for job in jobs_of(scenario):
        found = counted(pods_of_job(lines, job["name"], seen[job["name"]])) if job["replicas"] else {}
        seen[job["name"]] += 1
        assert found.keys() == {(each["type"], each["index"]) for each in job["replicas"]}
        for replica in job["replicas"]:
            key = replica["type"], replica["index"]
            ours = found[key]
            allowed = PODS_ALLOWED.get((scenario, key), {replica["incarnations"]})
            assert ours["incarnations"] in allowed, key
            if (scenario, key) in EXITS_VARY:
                continue
            for count in ("in_place_restarts", "kubectl_restarts"):
                assert ours[count] == replica[count], (key, count)
            exits = [each["exit_code"] for pod in replica["pods"] for each in pod["exits"]]
            # A recording that ended before its last pods did tells the beginning of the story.
            assert ours["exits"][: len(exits)] == exits, key


# The job

# How often Restarting=True may be seen to begin, where that is not exactly as often as recorded.
RESTARTS_SEEN = {
    "pt-exitcode-worker": (0, 12),
    "pt-exitcode-master": (3, 5),
    "oom-killed": (2, 4),
    "delete-pod-exitcode": (0, 4),
    "node-lost": (0, 8),
    "preempted": (1, 1),
    "xgboost-exitcode": (0, 5),
    "wave-60": (5, 60),
    "bad-command": (1, 2),
    "name-reuse": (2, 3),
    "mixed-codes": (3, 4),
    "runaway": (17, 20),
    "sp-exitcode": (4, 4),
    **{f"exit-sweep-{code}": (2, 3) for code in (128, 130, 137, 138, 139, 143)},
}


def check_conditions_follow_each_other_as_recorded(scenario: str, lines: list[Line]) -> None:
    theirs, ours = (list(histories(each).values()) for each in (real(scenario), lines))
    if scenario == "volcano-job":
        assert ours == theirs
        return
    assert [without_restarting(each) for each in ours] == [without_restarting(each) for each in theirs]
    seen, expected = (sum(RESTARTING in entry for job in jobs for entry in job) for jobs in (ours, theirs))
    low, high = RESTARTS_SEEN.get(scenario, (expected, expected))
    assert low <= seen <= high


def check_reasons_and_messages_of_conditions_are_the_recorded_ones(scenario: str, lines: list[Line]) -> None:
    def said(seen: list[Line]) -> set[tuple[str, str, str, str]]:
        return {
            (each["type"], each["status"], each["reason"], re.sub(r"\d+ (Worker|Master)", r"N \1", each["message"]))
            for line in of_jobs(seen)
            for each in (line.object.get("status") or {}).get("conditions") or []
            if "reason" in each
        }

    theirs, ours = said(real(scenario)), said(lines)
    unlike = {each for each in theirs ^ ours if each[0] != "Restarting"}
    assert not unlike


def check_a_volcano_jobs_counts_are_the_recorded_ones(scenario: str, lines: list[Line]) -> None:
    if scenario != "volcano-job":
        return

    def counts(seen: list[Line]) -> list[tuple[str, int, int]]:
        statuses = [line.object.get("status") or {} for line in of_jobs(seen)]
        return collapsed(
            (each["state"]["phase"], each.get("retryCount", 0), each.get("version", 0)) for each in statuses if each
        )

    assert counts(lines) == counts(real(scenario))


# PodGroups

# Of Volcano: admitted, bound and running; a restart goes through Pending, and when a cycle has fallen into the gap
# through Unknown (others run) or Completed (nothing runs) before, and through Inqueue after it.
_GAP = r"( Unknown| Completed| Pending( Inqueue)?)*"
PODGROUP_HISTORY = re.compile(rf"( Pending)?( Inqueue( Running({_GAP} Running)*{_GAP})?)?")
COSCHEDULING_HISTORY = re.compile(r" Pending Scheduling( Running)?( Scheduling)? Failed")


def podgroup_histories(lines: list[Line]) -> list[list[str]]:
    by_group: dict[str, list[str]] = {}
    for line in lines:
        if line.resource in BOTH_PODGROUPS:
            by_group.setdefault(line.uid, []).append(line.phase)
    return [collapsed(phases) for phases in by_group.values()]


def check_podgroups_go_through_the_recorded_phases(scenario: str, lines: list[Line]) -> None:
    theirs, ours = podgroup_histories(real(scenario)), podgroup_histories(lines)
    # The recorded operator once made a group anew when its job had just gone; nobody looked at it any more.
    theirs = [phases for phases in theirs if phases != [""]]
    allowed = COSCHEDULING_HISTORY if scenario == "sp-exitcode" else PODGROUP_HISTORY
    assert len(ours) == len(theirs)
    for their_phases, our_phases in zip(theirs, ours, strict=True):
        for phases in (their_phases, our_phases):
            assert allowed.fullmatch(" ".join(phases)), phases
        assert their_phases[:3] == our_phases[:3]


# Pods


def check_pods_live_as_recorded(scenario: str, lines: list[Line]) -> None:
    theirs, ours = lives(real(scenario)), lives(lines)
    for replica, their_lives in theirs.items():
        our_lives = ours[replica]
        for number, (their_life, our_life) in enumerate(zip(their_lives, our_lives, strict=False)):
            expected, found = story(their_life), story(our_life)
            is_last = number + 1 in (len(their_lives), len(our_lives)) or scenario == "name-reuse"
            # The last pod's story ends where the job was deleted, or the recording.
            assert begins_like(found, expected) if is_last else found == expected, (replica, number)


def check_a_deleted_pod_ends_with_its_final_phase_and_is_then_gone(scenario: str, lines: list[Line]) -> None:
    for replica, their_lives in lives(lines).items():
        for life in their_lives:
            if "deletionTimestamp" not in life[-1].object["metadata"]:
                continue
            assert life[-1].type == "DELETED", replica
            assert life[-1].phase in ("Failed", "Succeeded") or "nodeName" not in life[-1].object["spec"], replica
            assert life[-1].object["metadata"]["deletionGracePeriodSeconds"] == 0


def check_first_objects_of_pods_are_the_recorded_ones_field_for_field(scenario: str, lines: list[Line]) -> None:
    """As they are created, and as they first run."""
    theirs, ours = lives(real(scenario)), lives(lines)
    for replica in list(theirs)[:6]:
        their_life, our_life = theirs[replica][0], ours[replica][0]
        assert comparable(our_life[0].object) == comparable(their_life[0].object)
        running = [[line for line in life if line.phase == "Running"][:1] for life in (their_life, our_life)]
        if running[0] and SCENARIOS[scenario].nodes[1:] == ():
            expected, found = (comparable(life[0].object) for life in running)
            assert found == expected


# Events

# Said at every look of the operator, the scheduler or the kubelet: how often depends on what falls between two looks.
SAID_AT_EVERY_LOOK = frozenset(
    [
        "Unschedulable",
        "Schedulable",
        "Scheduled",
        "FailedScheduling",
        "ExitedWithCode",
        "JobTerminated",
        "SuccessfulDeletePodGroup",
        "Error",
        "StartError",
        "OOMKilled",
        "ErrImagePull",
        "ImagePullBackOff",
        "CrashLoopBackOff",
        "MissingClusterDNS",
        "PodGroupPending",
        "TFJobRestarting",
        "PyTorchJobRestarting",
        "XGBoostJobRestarting",
        "PyTorchJobSuspended",
        "PyTorchJobSucceeded",
        "TFJobSucceeded",
        "XGBoostJobSucceeded",
        "TFJobFailed",
        "PyTorchJobFailed",
        "ServiceAccount",
        "LauncherRole",
        "RoleBinding",
        "BackOff",
    ]
)
# Rare mishaps of the recorded cluster that have nothing to do with jobs.
_NOT_SIMULATED = frozenset({"FailedToUpdateEndpoint", "FailedMount", "FailedDeletePod"})
# Reasons that may or may not be reached, or get through the limit of 25, in a run.
MAY_BE_MISSING = SAID_AT_EVERY_LOOK | {
    "Killing",
    "PyTorchJobResumed",
    "SuccessfulCreatePod",
    "SuccessfulCreateService",
    "SuccessfulDeletePod",
    "SuccessfulDeleteService",
}


def event_counts(lines: list[Line]) -> dict[tuple[str, str, str], int]:
    """By kind and name of the object, and reason: the sum over its messages, as the Events stood at the end."""
    last = {line.uid: line.object for line in lines if line.resource == "events"}
    counts: Counter[tuple[str, str, str]] = Counter()
    for event in last.values():
        involved = event["involvedObject"]
        name = re.sub(r"-[0-9a-f]{8}-[0-9a-f-]+$", "", involved["name"])  # a Volcano Job's PodGroup bears its UID
        if event["reason"] not in _NOT_SIMULATED:
            counts[involved["kind"], name, event["reason"].split()[0]] += event.get("count") or 1
    return counts


def check_events_are_the_recorded_ones(scenario: str, lines: list[Line]) -> None:
    theirs, ours = event_counts(real(scenario)), event_counts(lines)
    for key in theirs.keys() | ours.keys():
        reason, expected, found = key[2], theirs[key], ours[key]
        if reason in MAY_BE_MISSING and not (expected and found):
            continue
        assert expected, f"{key} was not recorded"
        assert found, f"{key} is missing"
        if reason in SAID_AT_EVERY_LOOK or "Successful" in reason:
            assert found <= 4 * expected + 10, key
            assert expected <= 4 * found + 10, key
        else:
            # A container more or less at the end, where the job was deleted or the recording stopped.
            assert abs(found - expected) <= 1, key


# Delays, in seconds: shortest and longest over all recordings.
TERMINATED_TO_FINAL = (0.9, 2.8)
FAILED_TO_DELETED = (0.01, 2.2)
TOLERANCE = 1e-6


def check_delays_lie_in_the_recorded_ranges(scenario: str, lines: list[Line]) -> None:
    for pods in lives(lines).values():
        for life, successor in pairwise(pods):
            alive = [line for line in life if "deletionTimestamp" not in line.object["metadata"]]
            ended, failed = first_at(alive, is_terminated), first_at(alive, lambda line: line.phase == "Failed")
            if ended is None or failed is None:
                continue
            assert TERMINATED_TO_FINAL[0] - TOLERANCE <= failed - ended <= TERMINATED_TO_FINAL[1] + TOLERANCE
            if len(pods) < 60 and scenario != "wave-60":
                assert failed + FAILED_TO_DELETED[0] - TOLERANCE <= life[-1].at <= successor[0].at


# All together

CHECKS: tuple[Callable[[str, list[Line]], None], ...] = (
    check_restarts_and_exits_are_those_of_the_truth,
    check_conditions_follow_each_other_as_recorded,
    check_reasons_and_messages_of_conditions_are_the_recorded_ones,
    check_a_volcano_jobs_counts_are_the_recorded_ones,
    check_podgroups_go_through_the_recorded_phases,
    check_pods_live_as_recorded,
    check_a_deleted_pod_ends_with_its_final_phase_and_is_then_gone,
    check_first_objects_of_pods_are_the_recorded_ones_field_for_field,
    check_events_are_the_recorded_ones,
    check_delays_lie_in_the_recorded_ranges,
)


def _cases() -> list[Any]:
    """Two seeds of each scenario quickly (one of those that take long), the others when there is time."""
    return [
        pytest.param(
            scenario,
            seed,
            id=f"{scenario}-{seed}",
            marks=[pytest.mark.deep] if seed in DEEP_SEEDS or (scenario in SLOW and seed != 1) else [],
        )
        for scenario in sorted(SCENARIOS)
        for seed in QUICK_SEEDS + DEEP_SEEDS
    ]


@pytest.mark.parametrize(("scenario", "seed"), _cases())
def test_a_scenario_goes_as_recorded(scenario: str, seed: int) -> None:
    """One simulation, shared by all checks; each failure is told."""
    lines = played(scenario, seed).lines
    failures = []
    for check in CHECKS:
        try:
            check(scenario, lines)
        except AssertionError as failure:
            failures.append(f"{check.__name__}: {failure}")
    assert not failures, "\n".join(failures)


@pytest.mark.parametrize("seed", range(5))
def test_scenarios_played_beside_each_other_all_come_to_their_end(seed: int) -> None:
    """Many of them have a pod tftest-worker-0; an act waits for its own scenario's."""
    names = [name for name, scenario in SCENARIOS.items() if scenario.gang_scheduler == VOLCANO and not scenario.busy]
    large = NodeSpec(cpu="500", memory="2000Gi", allocatable_memory="2000Gi", pods="500")
    cluster = Cluster(clock := ManualClock(), seed, nodes=[large])
    plays = {name: cluster.play(name) for name in names if SCENARIOS[name].nodes == ONE_NODE}
    clock.advance(max(SCENARIOS[name].seconds for name in plays) + 300)
    assert [name for name, play in plays.items() if not play.is_over] == []
    cluster.stop()
