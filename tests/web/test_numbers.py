"""Counts have separators on every page and in every sentence; names of digits, and what programs read, have none."""

import asyncio
import re
from collections.abc import Iterator
from html.parser import HTMLParser

import pytest
from django.test import AsyncClient, Client
from django.utils import translation

from jobs.domain.ending import ENDINGS
from jobs.domain.said import FINDINGS, Said, finding
from jobs.domain.state import JobState, Span
from jobs.models import Job, Stream
from jobs.store.pages.changes import RestartSum
from jobs.web.jobpage.story import kubectl_story, story
from jobs.web.jobpage.tabs import podgroup_rows
from jobs.words import said_words
from tests.support.large import write_large

REPLICAS, RESTARTS = 2, 1200
MANY = 1_234_567
TABS = ("restarts", "replicas", "phases", "podgroup", "events", "logs")
PAGES = ("/", "/jobs/facets/", "/exit-codes/", "/watchers/", *(f"/jobs/large-job/?tab={tab}" for tab in TABS))
VERSION = "87654321"
NOT_COUNTS = {VERSION}


class Visible(HTMLParser):
    """What a reader sees or hears of a page: its texts and its labels, but for times and for what is quoted."""

    QUOTED = ("time", "code", "pre", "script", "style")

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.quoted = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.quoted += tag in self.QUOTED
        self.texts += [value for name, value in attrs if name in ("aria-label", "title") and value]

    def handle_endtag(self, tag: str) -> None:
        self.quoted -= tag in self.QUOTED

    def handle_data(self, data: str) -> None:
        if not self.quoted:
            self.texts.append(data)


def visible(page: str) -> list[str]:
    parser = Visible()
    parser.feed(page)
    return [text.strip() for text in parser.texts if text.strip()]


def bare(texts: list[str]) -> Iterator[str]:
    """Texts with a number of four digits or more that has no separators."""
    for text in texts:
        if set(re.findall(r"(?<![\w-])\d{4,}(?![\w-])", text)) - NOT_COUNTS:
            yield text


@pytest.fixture
def busy(db: None) -> Job:
    """A job, and streams, with many of everything."""
    job = write_large(REPLICAS, RESTARTS, codes=(138,))
    Stream.objects.create(
        cluster=job.cluster,
        resource="pods",
        state="watching",
        resource_version=VERSION,
        events=MANY,
        changes=MANY,
        unchanged=MANY,
        per_minute=12345.4,
        last_event_at=1.0,
        skipped={"no name": MANY},
    )
    Job.objects.update(kubectl_restarts=MANY, hidden_restarts=MANY, true_restarts=MANY)
    job.refresh_from_db()
    return job


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_every_count_on_every_page_has_separators(client: Client, busy: Job, language: str) -> None:
    client.cookies["django_language"] = language
    for path in PAGES:
        page = client.get(path).content.decode()
        assert f'<html lang="{language}"' in page
        texts = visible(page)
        assert not list(bare(texts)), path
        if path != "/jobs/facets/":
            assert any("1,234,567" in text for text in texts) or path == "/exit-codes/", path
    restarts = visible(client.get("/jobs/large-job/?tab=restarts").content.decode())
    assert {"2,400", "2,201"} <= set(restarts), "the restarts are numbered"
    assert any("2,400" in text for text in visible(client.get("/exit-codes/").content.decode()))
    assert VERSION in visible(client.get("/watchers/").content.decode()), "a version is a name"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("path", ["/api/jobs/", "/api/jobs.json", "/api/jobs.csv"])
def test_what_programs_read_has_none(busy: Job, path: str) -> None:
    async def fetch() -> str:
        answer = await AsyncClient().get(path)
        parts = [part async for part in answer.streaming_content] if answer.streaming else [answer.content]  # type: ignore[attr-defined]
        return b"".join(parts).decode()

    text = asyncio.run(fetch())
    assert str(MANY) in text
    assert "1,234,567" not in text


@pytest.fixture(autouse=True)
def english() -> Iterator[None]:
    """Whatever language the request before was answered in."""
    with translation.override("en"):
        yield


class TestSentences:
    KEY = ("worker", 0, 0)

    def told(self, *sums: RestartSum, **row: int | bool) -> str:
        return story(Job(true_restarts=1, at_least=False, **row), sums, {})

    def test_one_replica(self) -> None:
        recreated = RestartSum(self.KEY, False, 138, "exit", "exit 138", 12345)
        assert self.told(recreated) == "Worker 0 has been recreated 12,345 times, each time after exit code 138."
        inside = RestartSum(self.KEY, True, 1, "exit", "exit 1", 2345)
        both = self.told(recreated, inside)
        assert both.startswith("Worker 0 was recreated 12,345 and restarted in place 2,345 times")
        assert both.endswith(" (exit code 138 ×12,345, exit code 1 ×2,345).")

    def test_many_replicas(self) -> None:
        sums = [RestartSum(("worker", n, 0), False, 20000, "exit", "exit 20000", 10) for n in range(1500)]
        assert self.told(*sums) == "1,500 replicas restarted 15,000 times in all, each time after exit code 20000."
        most = RestartSum(self.KEY, False, 20000, "exit", "exit 20000", 20000)
        assert self.told(*sums, most).endswith(" 1,499 other replicas restarted 14,990 times.")

    def test_kubectl(self) -> None:
        row = Job(true_restarts=MANY + 1, hidden_restarts=MANY, kubectl_restarts=1)
        assert kubectl_story(row) == "kubectl does not show 1,234,567 of them."

    @pytest.mark.parametrize("language", ["en", "zh-hans"])
    def test_a_finding_counts_on_the_page_and_in_the_report_as_before(self, language: str) -> None:
        found = finding("backoff-limit-not-enforced", None, [], limit=10000, count=12345)
        assert found.sentence == "backoffLimit 10000 is not enforced under ExitCode: 12345 restarts so far."
        with translation.override(language):
            assert "12,345" in said_words(found)
            assert "10000" in said_words(found), "a limit is written as in the spec"

    @pytest.mark.parametrize("language", ["en", "zh-hans"])
    @pytest.mark.parametrize("count", [1, 2, 12345])
    @pytest.mark.parametrize("code", sorted({*FINDINGS, *ENDINGS}))
    def test_every_sentence_takes_every_count(self, code: str, count: int, language: str) -> None:
        one, many = (FINDINGS[code][1:] if code in FINDINGS else ENDINGS[code])[:2]
        named = re.findall(r"%\((\w+)\)(.)", one + many)
        params = {name: 7 if how == "d" else "x" for name, how in named} | {"count": count}
        with translation.override(language):
            text = said_words(Said(code, one, many, params))
        assert "%(" not in text
        assert not many or "%(count)" not in many or count == 1 or f"{count:,}" in text

    def test_counts_inside_of_a_finding(self) -> None:
        gang = finding("gang-restarted", None, [], count=12345, causes="worker 1, exit 137 (retryable) ×12345")
        assert said_words(gang).endswith(
            "restarted 12,345 times; first causes: worker 1, exit 137 (retryable) ×12,345."
        )
        one, many = ENDINGS["backoff-limit"]
        params: dict[str, str | int | float] = {
            "limit": 10000,
            "count": 12346,
            "replicas": "worker 10000: 12345, ps 0: 1",
        }
        text = said_words(Said("backoff-limit", one, many, params))
        assert text.endswith("was reached by 12,346 restarts in place (worker 10000: 12,345, ps 0: 1).")

    @pytest.mark.parametrize("count", ["9" * 5000, "²", "x", ""])
    def test_what_only_looks_like_a_count_is_kept(self, count: str) -> None:
        gang = finding("gang-restarted", None, [], count=1, causes=f"worker 1, exit 137 (retryable) ×{count}")
        assert f"×{count}." in said_words(gang)

    def test_members_of_a_gang(self) -> None:
        job = JobState("c", "u", "n", "j")
        job.spans["podgroup"] = [Span("podgroup", 0, "Running", 0.0, 9.0, {"running": 1500, "min_member": 12000})]
        assert [row.members for row in podgroup_rows(job, 9.0)] == ["1,500/12,000"]
