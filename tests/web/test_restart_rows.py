"""The table of restarts tells no wait that nobody watched from its beginning to its end."""

import pytest

from jobs.models import Restart
from jobs.web.jobpage.tabs import RestartRow, restart_rows
from tests.domain.story import BEGIN, Story


def row(created: int) -> RestartRow:
    """Worker 0 failed at 10 and was gone at 12; a pod created then, and running 2 s later, is listed at 600."""
    story = Story().run("+J Created=True Running=True\n+w0#a R\n@10\n~w0#a F term(138,Error)\n@12\nxw0#a").gap(13, 600)
    story.now = BEGIN + created
    story._pod("w0#c", "uid-J", [])
    story.now += 2
    story._pod("w0#c", "uid-J", [("R", None)])
    job = story.run("@600\n=w0#c").jobs["uid-J"]
    again = job.pods["uid-w0#c"].running_at
    place = {"replica_type": "worker", "replica_index": 0, "job_index": 0}
    restart = Restart(pod_uid="uid-w0#a", number=0, counts=True, at=BEGIN + 10, running_again_at=again, **place)
    return restart_rows(job, [restart], 1, BEGIN + 700)[0]


@pytest.mark.parametrize(("created", "gap", "unwatched"), [(14, 6.0, False), (590, None, True)])
def test_until_running_is_told_where_no_other_pod_may_have_run(
    created: int, gap: float | None, unwatched: bool
) -> None:
    told = row(created)
    assert (told.gap, told.unwatched) == (gap, unwatched)
