"""Causes, reasons, flags, states and endings of every recording, against a table written from the recordings."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import transaction

from jobs import models
from jobs.domain.report import rfc3339
from tests.support.recorded import replay
from tests.support.truth import scenarios, truth

pytestmark = pytest.mark.django_db

TABLE = Path(__file__).with_name("recorded_causes.txt")
JOB = re.compile(r"(\S+)/(\S+) (\S+) (\S+)")
REPLICA = re.compile(r"  (\S+) (\d+)(?:-(\d+))?(?: \[(\S+)\])?: (.+)")
POD = re.compile(r"(\S+) (\S+) (\S+?)(?: x(\d+))?")
Expected = dict[str, Any]


def table() -> list[tuple[str, Expected]]:
    """(scenario, what is expected of a job) in the table's order."""
    jobs: list[tuple[str, Expected]] = []
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        if found := JOB.fullmatch(line):
            scenario, name, state, ended = found.groups()
            jobs.append((scenario, {"name": name, "state": state, "ended": _known(ended), "replicas": {}}))
        elif found := REPLICA.fullmatch(line):
            kind, first, last, flags, pods = found.groups()
            for index in range(int(first), int(last or first) + 1):
                jobs[-1][1]["replicas"][kind, index] = (flags.split(",") if flags else [], list(_pods(pods)))
        else:
            assert not line or line.startswith("#"), line
    return jobs


def _pods(text: str) -> Iterator[tuple[str | None, str | None, int | None]]:
    for one in text.split("; "):
        found = POD.fullmatch(one)
        assert found is not None, one
        cause, reason, code, times = found.groups()
        yield from [(_known(cause), _known(reason), None if code == "-" else int(code))] * int(times or 1)


def _known(word: str) -> str | None:
    return None if word == "-" else word


def shown(job: dict[str, Any]) -> Expected:
    """The same of a reported job."""
    return {
        "name": job["name"],
        "state": job["state"],
        "ended": job["ended"]["code"] if job["ended"] else None,
        "replicas": {
            (r["type"], r["index"]): (
                r["flags"],
                [(pod["cause_code"], pod["reason"], pod["exit_code"]) for pod in r["pods"]],
            )
            for r in job["replicas"]
        },
    }


@dataclass
class Stored:
    """What all recordings leave in the database, replayed once for all tests."""

    reports: dict[str, dict[str, Any]]  # by the job's UID
    observations: set[tuple[str, str, str | None]]  # (resource, uid, observed at)
    restarts: list[tuple[str, int, str, str]]  # (pod UID, number, cause code, cause) of those that count


@pytest.fixture(scope="module")
def stored(django_db_setup: None, django_db_blocker: Any) -> Stored:
    with django_db_blocker.unblock(), transaction.atomic():
        replay(*scenarios())
        out = StringIO()
        call_command("report", output="json", stdout=out)
        seen = models.Observation.objects.values_list("object__resource", "object__uid", "observed_at")
        observations = {(resource, uid, rfc3339(at)) for resource, uid, at in seen}
        counting = models.Restart.objects.filter(counts=True)
        restarts = list(counting.values_list("pod_uid", "number", "cause_code", "cause"))
        transaction.set_rollback(True)
    return Stored({job["uid"]: job for job in json.loads(out.getvalue())["jobs"]}, observations, restarts)


@pytest.fixture
def reports(stored: Stored) -> dict[str, dict[str, Any]]:
    return stored.reports


def jobs_of(scenario: str, reports: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    jobs = [reports[job["uid"]] for job in truth(scenario)["jobs"]]
    return sorted(jobs, key=lambda job: (job["name"], job["created_at"]))


def test_the_table_has_every_recording() -> None:
    assert {scenario for scenario, _ in table()} == set(scenarios())


@pytest.mark.parametrize("scenario", scenarios())
def test_causes_are_those_of_the_table(scenario: str, reports: dict[str, dict[str, Any]]) -> None:
    expected = [job for name, job in table() if name == scenario]
    assert [shown(job) for job in jobs_of(scenario, reports)] == expected


FINDINGS = {
    "backoff-zero": {"first-failure"},
    "bad-image": {"image-not-pulled"},
    "completed-pod-deleted": {"completed-run-again"},
    "mixed-codes": {"first-failure"},
    "node-lost": {"first-failure"},
    "oom-killed": {"backoff-limit-not-enforced"},
    "pt-normal": set(),
    "runaway": {"runaway", "first-failure"},
    "seed-exitcode-138": {"backoff-limit-not-enforced", "first-failure"},
    "sidecar-restarts": set(),
    "suspend-resume": set(),
    "tf-normal": set(),
    "volcano-job": {"gang-restarted"},
    "wave-60": {"restart-wave"},
}


@pytest.mark.parametrize(("scenario", "codes"), FINDINGS.items())
def test_findings_of_recordings(scenario: str, codes: set[str], reports: dict[str, dict[str, Any]]) -> None:
    (job,) = jobs_of(scenario, reports)
    assert {found["code"] for found in job["findings"]} == codes
    assert all(found["evidence"] for found in job["findings"])


def test_what_is_said_rests_on_observations_that_are_stored(stored: Stored) -> None:
    """Each piece of evidence opens: an object that was seen, and where it has a moment, an observation of then."""
    objects = {(resource, uid) for resource, uid, _ in stored.observations}
    told = [said for job in stored.reports.values() for said in (*job["findings"], job["ended"]) if said]
    evidence = [one for said in told for one in said["evidence"]]
    assert len(evidence) > 100
    for one in evidence:
        if one["at"] is None:
            assert (one["resource"], one["uid"]) in objects
        else:
            assert (one["resource"], one["uid"], one["at"]) in stored.observations


def test_stored_restarts_have_the_causes_of_the_report(stored: Stored) -> None:
    """Also those that only a later observation of another pod explains: taken along with the gang."""
    pods = {pod["uid"]: pod for job in stored.reports.values() for r in job["replicas"] for pod in r["pods"]}
    recreations = [(uid, code, cause) for uid, number, code, cause in stored.restarts if number == 0]
    assert len(recreations) > 100
    assert recreations == [(uid, pods[uid]["cause_code"], pods[uid]["cause"]) for uid, _, _ in recreations]
    assert sum(code == "gang" for _, code, _ in recreations) == 4
    in_place = {(code, cause) for _, number, code, cause in stored.restarts if number}
    assert in_place == {("exit", "exit 1"), ("completed", "completed")}


def test_a_wave_names_its_first_failure(reports: dict[str, dict[str, Any]]) -> None:
    (job,) = jobs_of("wave-60", reports)
    (wave,) = job["findings"]
    assert wave["params"]["count"] == wave["params"]["replicas"] == 60
    assert wave["params"]["replica"] == "worker 17"
    assert wave["params"]["cause"].startswith("exit 139")


def test_volcano_counts_its_own_restarts(reports: dict[str, dict[str, Any]]) -> None:
    """The pod that was taken along names the one that failed."""
    (job,) = jobs_of("volcano-job", reports)
    assert (job["true_restarts"], job["job_restarts"]) == (8, 4)
    first, taken = job["replicas"]
    assert [pod["first_cause_uid"] for pod in taken["pods"][:4]] == [pod["uid"] for pod in first["pods"][:4]]
    assert {pod["cause"] for pod in first["pods"][:4]} == {"exit 3"}
    assert {replica["restart_policy"] for replica in job["replicas"]} == {"Never"}


def test_words_of_lost_nodes_and_codes(reports: dict[str, dict[str, Any]]) -> None:
    (lost,) = jobs_of("node-lost", reports)
    assert lost["replicas"][1]["pods"][0]["cause"] == "node las2 lost"
    (swept,) = jobs_of("exit-sweep-139", reports)
    pod = swept["replicas"][0]["pods"][0]
    assert (pod["documented_class"], pod["actual_class"], pod["signal"]) == ("permanent", "retryable", "SIGSEGV")


def test_the_cost_of_the_seed_experiment(reports: dict[str, dict[str, Any]]) -> None:
    """Worker 0 waited 4.4, 4.1, 3.8 and 4.2 s, and 1.3 s until the job was deleted; the PS 0.9 s; of 75.2 s."""
    (job,) = jobs_of("seed-exitcode-138", reports)
    cost = job["cost"]
    waited = {(r["type"], r["index"]): r["waited_seconds"] for r in cost["replicas"]}
    assert waited == {("worker", 0): pytest.approx(17.8, abs=0.2), ("ps", 0): pytest.approx(0.9, abs=0.1)}
    assert cost["incomplete_seconds"] == pytest.approx(18.7, abs=0.2)  # the two did not wait at the same time
    assert cost["gang_replica_seconds_lost"] == pytest.approx(4 * cost["incomplete_seconds"], abs=0.01)
    assert cost["productive"] == pytest.approx(1 - 18.7 / 75.2, abs=0.005)
