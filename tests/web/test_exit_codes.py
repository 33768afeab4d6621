"""The exit codes page: numbers that equal what they open, and what each code means."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import transaction
from django.test import Client

from jobs.domain.codes import actual_class, documented_class
from jobs.models import Job, Restart
from jobs.web.codes import KNOWN, code_words
from tests.support.recorded import replay

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("recorded")]
SCENARIOS = ("seed-exitcode-138", "mixed-codes", "wave-60", "exit-sweep-1", "evict-exitcode", "suspend-resume")


@pytest.fixture(scope="module")
def recorded(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    with django_db_blocker.unblock(), transaction.atomic():
        replay(*SCENARIOS)
        yield
        transaction.set_rollback(True)


def codes(query: str = "") -> dict[int | None, dict[str, Any]]:
    answer = Client().get(f"/api/exit-codes/{query}")
    assert answer.status_code == 200
    return {one["exit_code"]: one for one in answer.json()["codes"]}


def test_restarts_and_failures_are_counted_apart() -> None:
    found = codes()
    counting = list(Restart.objects.filter(counts=True).values_list("exit_code", flat=True))
    assert {code: one["restarts"] for code, one in found.items() if one["restarts"]} == {
        code: counting.count(code) for code in set(counting)
    }
    assert (found[1]["restarts"], found[1]["failures"]) == (0, 1)  # the job that one permanent code failed
    assert found[143]["failures"] == 1  # the eviction; and what was suspended was no restart


def test_each_number_equals_the_list_that_it_opens() -> None:
    for code, one in codes().items():
        listed = Client().get(f"/api/jobs/?q=exit:{code}").json()
        assert listed["totals"]["jobs"] == one["jobs"] > 0
    page = Client().get("/exit-codes/").content.decode()
    links = re.findall(r'href="(/\?q=exit:[^"]+)"', page)
    assert len(links) > 20
    for link in set(links):
        assert Client().get(link.replace("&amp;", "&")).status_code == 200


def test_where_and_when() -> None:
    found = codes()
    assert found[134]["nodes"] == [{"name": "las2", "ends": 59}]
    assert found[134]["images"][0]["ends"] == 59
    for one in found.values():
        assert sum(one["over_time"]) == one["restarts"] + one["failures"]


def test_a_window_without_ends_leads_on() -> None:
    Restart.objects.update(at=0.0)
    Job.objects.update(fail_at=None, last_restart_at=None)
    assert codes("?since=1h") == {}
    page = Client().get("/exit-codes/?since=1h").content.decode()
    assert "Look at all time" in page
    assert "What the codes mean" in page


def test_a_wrong_window_is_told() -> None:
    assert Client().get("/exit-codes/?since=yesterday").status_code == 400
    answer = Client().get("/api/exit-codes/?since=yesterday")
    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == "bad-request"


@pytest.mark.parametrize("code", KNOWN)
def test_what_a_code_means(code: int) -> None:
    words = code_words(code)
    assert words.meaning
    if code:
        assert (words.documented, words.actual) == (documented_class(code), actual_class(code))
    assert words.surprising == (code in (128, 139))


def test_the_page_is_in_the_navigation() -> None:
    assert 'href="/exit-codes/" aria-current="page"' in Client().get("/exit-codes/").content.decode()
