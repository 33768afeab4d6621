"""What a job is found by: kept up to date restart by restart, and the same from scratch."""

import json

import pytest

from jobs.domain.marks import all_marks, failure, search_values
from jobs.models import Job
from jobs.store.load import load_states
from tests.support.recorded import replay
from tests.support.truth import RECORDINGS

pytestmark = pytest.mark.django_db
SCENARIOS = sorted(path.name for path in RECORDINGS.iterdir())


def test_what_was_kept_is_what_the_state_says() -> None:
    replay(*SCENARIOS)
    jobs = list(Job.objects.all())
    states = load_states([job.id for job in jobs])
    for job in jobs:
        state = states[job.id]
        failed = failure(state)
        assert json.loads(job.search) == search_values(state, all_marks(state), failed), job
        assert (job.fail_code, job.fail_cause) == ((failed.code, failed.cause_code) if failed else (None, "")), job
    assert sum(job.fail_cause != "" for job in jobs) >= 6


def test_codes_of_clean_up_are_not_among_them() -> None:
    """Its pods end with 143 or 137 when a job is suspended, runs into its deadline, or is deleted."""
    replay("suspend-resume", "active-deadline", "runaway")
    found = {job.namespace: json.loads(job.search).get("exit", []) for job in Job.objects.all()}
    assert found == {"suspend-resume": [], "active-deadline": [1], "runaway": [138]}
