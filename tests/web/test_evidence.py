"""Every number opens: restarts, replicas, phases, findings and counts lead to the observations they rest on."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import transaction
from django.test import Client
from django.urls import reverse

from jobs.domain.evidence import rests_on
from jobs.domain.state import JobState
from jobs.models import Job, Observation, Restart, Span
from jobs.store.load import load_states
from jobs.store.pages.evidence import observations_at
from tests.support.recorded import replay
from tests.support.truth import RECORDINGS

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("recorded")]
SCENARIOS = sorted(path.name for path in RECORDINGS.iterdir())


@pytest.fixture(scope="module")
def recorded(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    with django_db_blocker.unblock(), transaction.atomic():
        replay(*SCENARIOS)
        yield
        transaction.set_rollback(True)


def ask(job: Job, what: str, status: int = 200) -> dict[str, Any]:
    response = Client().get(reverse("jobs:api-evidence", args=[job.uid]), {"what": what, "cluster": job.cluster.name})
    assert response.status_code == status, (job, what, response.content)
    return response.json()


def jobs() -> list[Job]:
    return list(Job.objects.select_related("cluster").order_by("id"))


def codes_in(facts: list[dict[str, Any]]) -> set[int]:
    """The exit codes that facts of pods tell."""
    found = set()
    for one in facts:
        for container in one.get("containers", ()):
            for name in ("terminated", "last_terminated"):
                found.add((container.get(name) or {}).get("exit_code", 0))
    return found


@pytest.fixture(scope="module")
def states(recorded: None, django_db_blocker: Any) -> dict[int, JobState]:
    with django_db_blocker.unblock():
        return load_states(Job.objects.values_list("id", flat=True))


def test_each_restart_opens_with_the_code_it_is_shown_with(states: dict[int, JobState]) -> None:
    restarts = list(Restart.objects.filter(counts=True))
    for restart in restarts:
        rests = rests_on(states[restart.job_id], f"restart:{restart.pod_uid}:{restart.number}", 0.0)
        found, left_out = observations_at(restart.job_id, rests.sights)
        pods = {one.object.uid for one in found}
        assert {one.object.resource for one in found} == {"pods"}
        assert restart.pod_uid in pods
        assert restart.exit_code is None or restart.exit_code in codes_in([json.loads(one.facts) for one in found])
        assert restart.number or len(pods) >= 2, "its successor is part of it"
        assert left_out == 0
    assert len(restarts) > 100


def test_each_phase_opens(states: dict[int, JobState]) -> None:
    spans = list(Span.objects.filter(start__isnull=False))
    for span in spans:
        rests = rests_on(states[span.job_id], f"phase:{span.lane}:{span.number}", 0.0)
        found, _ = observations_at(span.job_id, rests.sights)
        assert rests.value == span.value
        assert found, span
        if span.lane == "podgroup":
            assert span.value in {json.loads(one.facts).get("phase", "") for one in found}
    assert len(spans) > 300


def test_counts_open_down_to_their_restarts() -> None:
    for job in jobs()[::3]:
        answer = ask(job, "count")
        assert answer["value"] == job.true_restarts
        assert sum(part["value"] for part in answer["parts"]) == job.true_restarts
        assert bool(answer["observations"]) == bool(job.true_restarts)
        for part in answer["parts"]:
            replica = Client().get(part["href"]).json()
            assert replica["value"] == part["value"] == len(replica["parts"])
            assert replica["observations"]
    (wave,) = [job for job in jobs() if job.name == "wave"]
    assert len(ask(wave, "count")["parts"]) == 60


def test_findings_and_endings_open() -> None:
    opened = 0
    for job in jobs()[::3]:
        report = Client().get(reverse("jobs:api-job", args=[job.uid])).json()
        for found in report["findings"]:
            answer = ask(job, f"finding:{found['code']}")
            assert found["sentence"] in answer["value"]
            assert answer["observations"]
            opened += 1
        if report["ended"]:
            assert ask(job, "ended")["value"] == report["ended"]["sentence"]
    assert opened > 3


def test_an_observation_is_told_with_both_clocks_and_its_facts() -> None:
    job = Job.objects.get(namespace="seed-exitcode-138")
    restart = Restart.objects.filter(job=job, counts=True, number=0).order_by("at").first()
    assert restart is not None
    for one in ask(job, f"restart:{restart.pod_uid}:0")["observations"]:
        stored = Observation.objects.select_related("object").get(id=one["id"])
        assert one["resource_version"] == str(stored.resource_version)
        assert one["facts"] == json.loads(stored.facts)
        assert one["observed_at"]
        assert (one["occurred_at"] is None) == (stored.occurred_at is None)


@pytest.mark.parametrize(
    ("what", "status", "code"),
    [
        ("", 400, "bad-request"),
        ("x" * 500, 400, "bad-request"),
        ("weather", 404, "unknown-evidence"),
        ("replica:worker", 404, "unknown-evidence"),
        ("replica:worker:99", 404, "unknown-evidence"),
        ("replica:worker:²", 404, "unknown-evidence"),
        ("restart:none:0", 404, "unknown-evidence"),
        ("restart:::", 404, "unknown-evidence"),
        ("phase:state:99", 404, "unknown-evidence"),
        ("phase:weather:0", 404, "unknown-evidence"),
        ("finding:weather", 404, "unknown-evidence"),
    ],
)
def test_what_is_not_known_is_told(what: str, status: int, code: str) -> None:
    assert ask(jobs()[0], what, status)["error"]["code"] == code
