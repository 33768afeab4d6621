"""The list's filters: read from the address, written back, and the same answer by SQL and by row."""

import itertools

import pytest
from django.http import QueryDict

from jobs.models import Job
from jobs.store.pages.jobs import SORTS, Cursor, JobFilter, cursor_from, list_codes, list_facets, list_page
from jobs.web.errors import BadRequestError
from jobs.web.filters import cursor, ids_from, job_filter, query_string, sort_from, toggled
from tests.support.recorded import replay

SCENARIOS = ("seed-exitcode-138", "oom-killed", "tf-onfailure-one-worker", "suspend-resume", "name-reuse", "gang-waits")


def test_an_address_survives() -> None:
    chosen = JobFilter(state=("Running", "Failed"), namespace=("a&b",), exit=(137, -1), q="x=1&y")
    assert job_filter(QueryDict(query_string(chosen, "hidden")[1:])) == chosen
    assert sort_from(QueryDict(query_string(chosen, "hidden")[1:])) == "hidden"


def test_a_choice_is_added_and_taken_away() -> None:
    assert toggled(JobFilter(), "exit", "137").exit == (137,)
    assert toggled(JobFilter(exit=(137, 1)), "exit", "137").exit == (1,)
    assert toggled(JobFilter(state=("Failed",)), "state", "Running").state == ("Failed", "Running")


@pytest.mark.parametrize(
    "query", ["exit=abc", "exit=99999999999999", "exit=%F0", "q=" + "x" * 301, "q=a%00b", "state=" + "x" * 301]
)
def test_a_filter_that_cannot_be_understood_is_refused(query: str) -> None:
    with pytest.raises(BadRequestError):
        job_filter(QueryDict(query))


@pytest.mark.parametrize("text", ["", "5", "~", "x~1", "1~x", "nan~1", "inf~1", "1~" + "9" * 30, "1~1~1"])
def test_a_cursor_that_no_page_gave_out_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        cursor_from(text)


def test_cursors_survive() -> None:
    for value in (Cursor(1795956231.062618, 7), Cursor(None, 3), Cursor(5, 1)):
        assert cursor_from(str(value)) == value
    assert cursor(QueryDict("")) is None


def test_ids_are_bounded() -> None:
    assert ids_from(QueryDict("ids=1,2,")) == [1, 2]
    for query in ("ids=1,x", "ids=" + ",".join(["1"] * 101), "ids=-1", "ids=²"):
        with pytest.raises(BadRequestError):
            ids_from(QueryDict(query))


@pytest.mark.django_db
class TestOnRecordings:
    @pytest.fixture(autouse=True)
    def recorded(self) -> None:
        replay(*SCENARIOS)

    def test_a_row_and_the_database_agree_on_every_filter(self) -> None:
        jobs = list(Job.objects.select_related("cluster"))
        codes = list_codes([job.id for job in jobs])
        filters = [JobFilter()]
        for name in ("state", "kind", "namespace", "cluster"):
            values = {value.value for value in list_facets(JobFilter())[name]} | {"Nothing"}
            filters += [JobFilter(**{name: (value,)}) for value in values]
        filters += [JobFilter(exit=(code,)) for code in (138, 137, 1, 143, 7)]
        filters += [JobFilter(q=text) for text in ("tf", "TFTEST", "seed", jobs[0].uid, "%", "_", "none of that")]
        pairs = [
            JobFilter(**{**a.__dict__, **{k: v for k, v in b.__dict__.items() if v}})
            for a, b in itertools.combinations(filters, 2)
        ]
        for chosen in (*filters, *pairs):
            by_row = {j.id for j in jobs if chosen.matches(j, [code.code for code in codes.get(j.id, [])])}
            assert by_row == set(chosen.rows().values_list("id", flat=True)), chosen

    @pytest.mark.parametrize("sort", SORTS)
    def test_pages_give_each_job_once_in_order(self, sort: str) -> None:
        seen: list[Job] = []
        after: Cursor | None = None
        for _ in range(20):
            page, after = list_page(JobFilter(), sort, after, size=2)
            seen += page
            if after is None:
                break
        assert sorted(job.id for job in seen) == sorted(Job.objects.values_list("id", flat=True))
        values = [getattr(job, SORTS[sort].column) for job in seen]
        known = [value for value in values if value is not None]
        assert known == sorted(known, reverse=True)
        assert values[: len(known)] == known, "jobs without a value come last"

    def test_facets_count_what_a_click_would_show(self) -> None:
        for name, values in list_facets(JobFilter(kind=("TFJob",))).items():
            for value in values:
                chosen = toggled(JobFilter() if name == "kind" else JobFilter(kind=("TFJob",)), name, value.value)
                assert chosen.rows().count() == value.jobs, (name, value)
