"""The cells that kubectl prints, by the printer's rules."""

import pytest

from jobs.domain import kubectl
from jobs.domain.facts import (
    ADDED,
    LISTED,
    MODIFIED,
    VANISHED,
    Condition,
    ContainerFacts,
    JobFacts,
    Observation,
    PodFacts,
    PodGroupFacts,
    Terminated,
)
from jobs.domain.kinds import PLUGINS_PODGROUPS

NOW = 1_800_000_000.0


def container(name: str = "main", state: str | None = "running", **more: object) -> ContainerFacts:
    return ContainerFacts(name, state=state, ready=state == "running", **more)  # type: ignore[arg-type]


def ended(code: int, reason: str | None = None, signal: int | None = None) -> Terminated:
    return Terminated(code, reason, signal=signal, finished_at=NOW - 10)


def status(*containers: ContainerFacts, **more: object) -> tuple[str, str, str]:
    """READY, STATUS and RESTARTS."""
    facts = PodFacts(phase="Running", created_at=NOW - 60, containers=containers)._replace(**more)
    return kubectl.pod_cells("pod", facts, NOW)[1:4]


INIT = {"init": True}
SIDECAR = {"init": True, "sidecar": True}
CASES = {
    "running": (status(container()), ("1/1", "Running", "0")),
    "no container yet": (status(container(state=None), phase="Pending"), ("0/1", "Pending", "0")),
    "gated": (status(container(state=None), phase="Pending", scheduling_gated=True), ("0/1", "SchedulingGated", "0")),
    "evicted": (status(container(state=None), phase="Failed", status_reason="Evicted"), ("0/1", "Evicted", "0")),
    "waiting": (status(container(state="waiting", waiting_reason="ErrImagePull")), ("0/1", "ErrImagePull", "0")),
    "exit without a reason": (status(container(state="terminated", terminated=ended(3))), ("0/1", "ExitCode:3", "0")),
    "signal": (status(container(state="terminated", terminated=ended(0, signal=9))), ("0/1", "Signal:9", "0")),
    "restarted": (
        status(container(restart_count=2, last_terminated=ended(1))),
        ("1/1", "Running", "2 (10s ago)"),
    ),
    "main done, helper runs": (
        status(container(state="terminated", terminated=ended(0, "Completed")), container("helper"), ready=True),
        ("1/2", "Running", "0"),
    ),
    "main done, helper runs, not ready": (
        status(container(state="terminated", terminated=ended(0, "Completed")), container("helper"), ready=False),
        ("1/2", "NotReady", "0"),
    ),
    "terminating": (status(container(), deletion_at=NOW), ("1/1", "Terminating", "0")),
    "failed and deleted": (
        status(container(state="terminated", terminated=ended(1, "Error")), phase="Failed", deletion_at=NOW),
        ("0/1", "Error", "0"),
    ),
    "node lost": (status(container(), deletion_at=NOW, status_reason="NodeLost"), ("1/1", "Unknown", "0")),
    "first of two init": (
        status(container("a", **INIT), container("b", state="waiting", **INIT), container(state="waiting")),
        ("0/1", "Init:0/2", "0"),
    ),
    "second of two init": (
        status(
            container("a", state="terminated", terminated=ended(0), **INIT),
            container("b", **INIT),
            container(state="waiting", waiting_reason="PodInitializing"),
        ),
        ("0/1", "Init:1/2", "0"),
    ),
    "init failed": (
        status(
            container("a", state="terminated", terminated=ended(7, "Error"), restart_count=3, **INIT),
            container(state="waiting"),
        ),
        ("0/1", "Init:Error", "3"),
    ),
    "init backs off": (
        status(container("a", state="waiting", waiting_reason="CrashLoopBackOff", **INIT), container(state="waiting")),
        ("0/1", "Init:CrashLoopBackOff", "0"),
    ),
    "init is through": (
        status(container("a", state="terminated", terminated=ended(0), restart_count=2, **INIT), container()),
        ("1/1", "Running", "0"),
    ),
    "sidecar counts": (
        status(container("s", started=True, restart_count=1, **SIDECAR), container()),
        ("2/2", "Running", "1"),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_pods(case: str) -> None:
    found, expected = CASES[case]
    assert found == expected


def test_readiness_gates_are_met_of_all() -> None:
    facts = PodFacts(phase="Running", created_at=NOW, readiness_gates=(("a", True), ("b", False)))
    assert kubectl.pod_cells("pod", facts, NOW)[-1] == "1/2"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5, "<invalid>"),
        (-1, "0s"),
        (119, "119s"),
        (120, "2m"),
        (125, "2m5s"),
        (600, "10m"),
        (10799, "179m"),
        (10800, "3h"),
        (11000, "3h3m"),
        (8 * 3600, "8h"),
        (47 * 3600, "47h"),
        (50 * 3600, "2d2h"),
        (8 * 86400, "8d"),
        (729 * 86400, "729d"),
        (731 * 86400, "2y1d"),
        (9 * 365 * 86400, "9y"),
    ],
)
def test_ages(seconds: float, text: str) -> None:
    assert kubectl.age(seconds) == text


def seen(resource: str, facts: object, verb: str = MODIFIED) -> Observation:
    return Observation(verb, resource, "ns", "it", "u", 1, NOW, facts)  # type: ignore[arg-type]


def cells(resource: str, facts: object) -> kubectl.Cells:
    row = next(kubectl.rows([seen(resource, facts)]))
    assert len(row.cells) == len(kubectl.columns_of(resource))
    return row.cells


def test_a_resumed_job_still_says_suspended() -> None:
    facts = JobFacts(created_at=NOW, conditions=(Condition("Created", "True"), Condition("Suspended", "False")))
    assert cells("pytorchjobs.kubeflow.org", facts) == ("it", "Suspended", "0s")


def test_jobs_and_groups_of_other_families() -> None:
    job = JobFacts(created_at=NOW, phase="Running", running=2, min_available=2, queue="default")
    assert cells("jobs.batch.volcano.sh", job) == ("it", "Running", "2", "2", "0s", "default")
    group = PodGroupFacts(created_at=NOW, phase="Scheduled", min_member=4, running=3, failed=1)
    assert cells(PLUGINS_PODGROUPS, group) == ("it", "Scheduled", "4", "3", "", "1", "0s")


def test_what_only_a_relist_missed_was_not_printed_and_a_relist_is_marked() -> None:
    facts = JobFacts(created_at=NOW)
    verbs = (LISTED, MODIFIED, VANISHED, LISTED, ADDED)
    found = list(kubectl.rows(seen("tfjobs.kubeflow.org", None if verb == VANISHED else facts, verb) for verb in verbs))
    assert [row.unwatched for row in found] == [False, False, True, False]


def test_rows_of_one_object_that_differ_by_time_alone_are_one() -> None:
    row = lambda name, age, restarts="1 (2s ago)": kubectl.Row(0.0, (name, restarts, age))  # noqa: E731
    found = kubectl.collapsed(
        ("NAME", "RESTARTS", "AGE"),
        [row("a", "1s"), row("b", "1s"), row("a", "2s", "1 (3s ago)"), row("a", "3s", "2 (1s ago)")],
    )
    assert [one.cells[0] for one in found] == ["a", "b", "a"]
