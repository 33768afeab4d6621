"""What is stored of a job is read back as it was, and rows from before a field existed are still read."""

import json

from jobs.domain.state import Break, Creations, JobState, Unobserved
from jobs.store.codec import job_from, job_text


def a_job() -> JobState:
    job = JobState("c", "uid-J", "ns", "job", vanished=(1.0, 2.5), resumed=[7.0])
    job.breaks = [
        Break(1.0, "scaled", "worker", 1, since=0.5, to_index=3, raised=[(2.0, 2), (3.5, 3)]),
        Break(6.0, "suspended"),
    ]
    job.unobserved = [Unobserved(None, 2.0, "pods")]
    job.creations = {"job.17": Creations("job-worker-0", 5, 9.0, [(3, 4.0)])}
    return job


def test_a_job_is_read_back_as_it_was() -> None:
    assert job_from(job_text(a_job())) == a_job()


def test_a_scale_down_that_was_stored_before_its_undoing_was_noted() -> None:
    record = json.loads(job_text(a_job()))
    del record["breaks"][0]["raised"]
    assert job_from(json.dumps(record)).breaks[0] == Break(1.0, "scaled", "worker", 1, since=0.5, to_index=3)
