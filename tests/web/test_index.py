"""The list's index follows the database."""

import time

import pytest

from jobs.models import Job, Sequence
from jobs.store.pages import index
from jobs.store.pages.jobfilter import Comparison, JobFilter
from jobs.store.pages.jobs import Order, list_facets, list_page, list_totals
from tests.support.recorded import replay

pytestmark = pytest.mark.django_db
EVERYTHING = JobFilter()


def test_what_was_written_since_is_in_the_next_answer() -> None:
    index.forget()
    now = time.time()
    replay("seed-exitcode-138", cluster="one")
    assert list_totals(EVERYTHING, now).jobs == 1
    replay("oom-killed", cluster="two")
    assert list_totals(EVERYTHING, now).jobs == 2
    assert list_totals(JobFilter.of({"cluster": ["two"]}), now).jobs == 1
    seq = Sequence.objects.get().value + 1
    Job.objects.filter(cluster__name="one").update(state="Failed", present=True, restarting_since=None, seq=seq)
    Job.objects.filter(cluster__name="one").update(true_restarts=1000, last_restart_at=None)
    Sequence.objects.update(value=seq)
    assert list_totals(JobFilter.of({"state": ["Failed"]}), now).true == 1000
    assert list_totals(JobFilter.of({"state": ["Deleted"]}), now).jobs == 1
    assert [job.cluster.name for job in list_page(EVERYTHING, Order("recent"), None, now).jobs] == ["two", "one"]
    assert [job.cluster.name for job in list_page(EVERYTHING, Order("restarts"), None, now).jobs] == ["one", "two"]


def test_read_at_once_and_change_by_change_are_the_same() -> None:
    index.forget()
    now = time.time()
    for scenario in ("seed-exitcode-138", "mixed-codes", "name-reuse"):
        replay(scenario, cluster=scenario)
        list_totals(EVERYTHING, now)
    chosen = JobFilter.of({}, [Comparison("restarts", ">", 0)])
    changed = (list_facets(EVERYTHING, now), list_totals(chosen, now))
    index.forget()
    assert (list_facets(EVERYTHING, now), list_totals(chosen, now)) == changed


def test_another_database_behind_the_same_address_is_read_anew() -> None:
    index.forget()
    replay("seed-exitcode-138")
    assert list_totals(EVERYTHING, 0.0).jobs == 1
    Job.objects.all().delete()
    Sequence.objects.update(value=0)
    assert list_totals(EVERYTHING, 0.0).jobs == 0


def test_a_row_that_is_no_longer_there_is_left_out() -> None:
    index.forget()
    replay("name-reuse")
    assert len(list_page(EVERYTHING, Order("recent"), None, 0.0).jobs) == 2
    Job.objects.order_by("id").first().delete()  # type: ignore[union-attr]
    assert len(list_page(EVERYTHING, Order("recent"), None, 0.0).jobs) == 1
