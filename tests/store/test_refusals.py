"""Refused pods are part of what is kept of a job."""

import json

from jobs.domain.refusals import refused
from jobs.store.codec import job_from, job_text
from tests.domain.story import Story


def test_refusals_are_read_back_and_rows_of_before_have_none() -> None:
    said = 'Error creating: pods "job-worker-0" is forbidden: no'
    job = Story().run(f"+J Created=True\n~E1 FailedCreatePod x1 {said}").jobs["uid-J"]
    assert len(refused(job)) == 1
    assert refused(job_from(job_text(job))) == refused(job)
    row = json.loads(job_text(job))
    del row["refusals"]
    assert job_from(json.dumps(row)).refusals == {}
