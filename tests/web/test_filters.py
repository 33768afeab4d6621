"""The list's filters: read from the address, written back, and the same answer for one row and for all."""

import itertools
import time
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import transaction
from django.http import QueryDict

from jobs.models import Job
from jobs.store.pages import index
from jobs.store.pages.bits import members
from jobs.store.pages.jobfilter import FIELDS, NUMBERS, Comparison, JobFilter, found_by, last_end, stored_of
from jobs.store.pages.jobs import SORTS, Order, Place, list_all, list_codes, list_facets, list_page, list_totals
from jobs.web.errors import BadFilterError, BadRequestError
from jobs.web.facets import count_text
from jobs.web.filters import address, ids_from, job_filter, order_from, place_from, place_text, toggled
from tests.support.recorded import replay

SCENARIOS = (
    "seed-exitcode-138",
    "oom-killed",
    "tf-onfailure-one-worker",
    "suspend-resume",
    "name-reuse",
    "gang-waits",
    "evict-exitcode",
    "exit-sweep-1",
    "mixed-codes",
    "preempted",
    "volcano-job",
)
COLUMNS = {
    "recent": "last_restart_at",
    "restarts": "true_restarts",
    "kubectl": "kubectl_restarts",
    "hidden": "hidden_restarts",
    "created": "created_at",
}
EVERYTHING = JobFilter()


def test_an_address_survives() -> None:
    chosen = JobFilter.of(
        {"state": ["Running", "Failed"], "namespace": ["a&b"], "exit": ["137", "-1"]},
        [Comparison("hidden", ">", 0)],
        since="2h",
        text=["x=1&y"],
    )
    query = QueryDict(address(chosen, Order("hidden", smallest_first=True))[1:])
    assert job_filter(query) == chosen
    assert order_from(query) == Order("hidden", smallest_first=True)
    assert address(EVERYTHING, Order("recent")) == "?"


def test_each_field_may_be_a_parameter_of_its_own() -> None:
    query = QueryDict(
        "exit=137&exit=138&namespace=team-a&restarts=%3E5&label=a%3D%22b&since=17&q=tftest+kind:TFJob+since:2h"
    )
    assert job_filter(query) == JobFilter.of(
        {"exit": ["137", "138"], "namespace": ["team-a"], "label": ['a="b'], "kind": ["TFJob"]},
        [Comparison("restarts", ">", 5)],
        since="2h",
        text=["tftest"],
    )


def test_a_choice_is_added_and_taken_away() -> None:
    one = JobFilter.of({"exit": ["137"]})
    assert toggled(EVERYTHING, "exit", "137") == one
    assert toggled(JobFilter.of({"exit": ["137", "1"]}), "exit", "137") == JobFilter.of({"exit": ["1"]})
    assert toggled(one, "exit", "137") == EVERYTHING
    assert toggled(toggled(one, "since", "1h"), "since", "7d").since == "7d"
    assert toggled(JobFilter(since="1h"), "since", "1h") == EVERYTHING


@pytest.mark.parametrize(
    "query", ["exit=abc", "exit=99999999999999", "exit=%F0", "q=" + "x" * 301, "q=a%00b", "state=Nothing", "q=foo:bar"]
)
def test_a_filter_that_cannot_be_understood_is_refused(query: str) -> None:
    with pytest.raises(BadFilterError):
        job_filter(QueryDict(query))


@pytest.mark.parametrize("text", ["5", "~", "x~1", "1~x", "nan~1", "1~" + "9" * 30, "1~1~1", "-1~1", "1~-1", "²~1"])
def test_a_cursor_that_no_page_gave_out_is_refused(text: str) -> None:
    with pytest.raises(BadRequestError):
        place_from(QueryDict(f"after={text}"))


@pytest.mark.parametrize("text", ["colour", "--recent", "-", "true_restarts"])
def test_an_order_that_there_is_not_is_refused(text: str) -> None:
    with pytest.raises(BadRequestError):
        order_from(QueryDict(f"sort={text}"))


def test_cursors_survive() -> None:
    for value in (Place(1795956231062618, 7), Place(None, 3), Place(0, 1)):
        assert place_from(QueryDict(f"after={place_text(value)}")) == value
    assert place_from(QueryDict("")) is None


def test_ids_are_bounded() -> None:
    assert ids_from(QueryDict("ids=1,2,")) == [1, 2]
    for query in ("ids=1,x", "ids=" + ",".join(["1"] * 101), "ids=-1", "ids=²"):
        with pytest.raises(BadRequestError):
            ids_from(QueryDict(query))


def test_counts_are_exact_to_ten_thousand() -> None:
    assert [count_text(n) for n in (0, 999, 10_000, 10_001, 500_000)] == ["0", "999", "10,000", "10k+", "10k+"]


def value_filters() -> list[JobFilter]:
    """One filter for each value that a field has, and for one that none has."""
    values: dict[str, set[str]] = {name: {"nothing"} for name in FIELDS}
    for job in Job.objects.select_related("cluster"):
        for name, value in found_by(stored_of(job)):
            values[name].add(value)
    return [JobFilter.of({name: [value]}) for name in FIELDS for value in sorted(values[name])]


@pytest.fixture(scope="module")
def recorded(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    with django_db_blocker.unblock(), transaction.atomic():
        index.forget()
        replay(*SCENARIOS)
        yield
        transaction.set_rollback(True)
    index.forget()


@pytest.mark.django_db
@pytest.mark.usefixtures("recorded")
class TestOnRecordings:
    def test_a_row_and_the_index_agree_on_every_filter(self) -> None:
        now = time.time()
        jobs = list(Job.objects.select_related("cluster"))
        filters = [EVERYTHING, JobFilter.of({"cause": ["evicted"]}), JobFilter.of({"exit": ["138", "1"]})]
        filters += value_filters()
        filters += [JobFilter.of({}, text=[text]) for text in ("tf", "TFTEST", "seed", jobs[0].uid, "%", "_", "none")]
        filters += [
            JobFilter.of({}, [Comparison(name, operator, value)])
            for name, operator, value in itertools.product(NUMBERS, (">", ">=", "=", "<", "<="), (0, 1, 3, 10**6))
        ]
        filters += [JobFilter(since="1h"), JobFilter(until="1m"), JobFilter(since="30d", until="2026-11-29T12:45:00Z")]
        some = filters[:: max(1, len(filters) // 40)]
        pairs = [
            JobFilter.of(
                dict(a.fields) | dict(b.fields), a.numbers + b.numbers, a.since or b.since, "", a.text + b.text
            )
            for a, b in itertools.combinations(some, 2)
        ]
        with index.current() as found:
            for chosen in (*filters, *pairs):
                by_row = {job.id for job in jobs if chosen.matches(job, now)}
                assert by_row == set(members(found.select(chosen, now))), chosen
        assert len(filters) > 100

    @pytest.mark.parametrize("smallest_first", [False, True])
    @pytest.mark.parametrize("sort", SORTS)
    def test_pages_give_each_job_once_in_order(self, sort: str, smallest_first: bool) -> None:
        now, order = time.time(), Order(sort, smallest_first)
        seen: list[Job] = []
        after: Place | None = None
        for _ in range(20):
            page = list_page(EVERYTHING, order, after, now, size=2)
            seen += page.jobs
            after = page.following
            if after is None:
                break
        assert sorted(job.id for job in seen) == sorted(Job.objects.values_list("id", flat=True))
        values = [(getattr(job, COLUMNS[sort]), job.id) for job in seen]
        known = [value for value in values if value[0] is not None]
        assert known == sorted(known, reverse=not smallest_first)
        assert values[: len(known)] == known, "jobs without a value come last"
        assert [job.id for part in list_all(EVERYTHING, order, now) for job in part] == [job.id for job in seen]

    def test_facets_count_what_a_click_would_show(self) -> None:
        now = time.time()
        tfjobs = JobFilter.of({"kind": ["TFJob"]})
        facets = list_facets(tfjobs, now)
        assert set(facets) == {*FIELDS, "since"}
        for name, values in facets.items():
            for value in values:
                chosen = toggled(EVERYTHING if name == "kind" else tfjobs, name, value.value)
                assert list_totals(chosen, now).jobs == value.jobs, (name, value)
        assert facets["kind"][0].value == "TFJob"
        assert len(facets["kind"]) > 1, "a field's own choice does not hide its alternatives"

    def test_facets_of_many_jobs_are_the_same(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Beyond a number of jobs they are counted value by value."""
        now = time.time()
        few = [list_facets(JobFilter.of({name: ["nothing"]}), now) for name in FIELDS]
        one_by_one = list_facets(JobFilter.of({}, [Comparison("restarts", ">", 0)]), now)
        monkeypatch.setattr(index, "COUNTED_ONE_BY_ONE", -1)
        assert list_facets(JobFilter.of({}, [Comparison("restarts", ">", 0)]), now) == one_by_one
        assert [list_facets(JobFilter.of({name: ["nothing"]}), now) for name in FIELDS] == few

    def test_totals_are_the_sums(self) -> None:
        jobs = Job.objects.filter(kind="TFJob")
        found = list_totals(JobFilter.of({"kind": ["TFJob"]}), time.time())
        assert found.jobs == len(jobs)
        assert found.true == sum(job.true_restarts for job in jobs)
        assert found.hidden == sum(job.hidden_restarts for job in jobs)

    def test_codes_of_clean_up_are_not_counted(self) -> None:
        """A code counts when its end was a restart or the reason of the failure."""
        codes = {job.name: [c.code for c in list_codes([job.id]).get(job.id, [])] for job in Job.objects.all()}
        assert codes["exit-1"] == [1]  # no restart, but it failed the job
        assert codes["evictme"] == [143]  # the eviction failed the job
        assert codes["big"] == []
        suspended = Job.objects.get(namespace="suspend-resume")
        assert list_codes([suspended.id]) == {}
        assert suspended.search.find("exit") == -1

    def test_a_failure_counts_as_an_end_in_time(self) -> None:
        job = Job.objects.get(name="exit-1")
        assert job.last_restart_at is None
        assert last_end(job.last_restart_at, job.fail_at) == job.fail_at
