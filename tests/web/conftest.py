"""The seed experiment in the database."""

import pytest

from jobs.models import Job
from tests.support.recorded import replay


@pytest.fixture
def seed(db: None) -> Job:
    """The recorded seed experiment: worker 0 recreated five times, ps 0 restarted once in place."""
    replay("seed-exitcode-138")
    return Job.objects.get()
