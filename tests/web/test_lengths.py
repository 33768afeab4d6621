"""A Restarting whose two writes came in one read is not told as 0 ms: on every page, in both languages."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from jobs.domain.report import job_report
from jobs.experiments.checks_restarts import restarting_shown
from jobs.experiments.experiment import Observed
from jobs.models import Job, Span
from jobs.store.load import load_state
from jobs.web.lanes import span_json
from tests.domain.story import BEGIN, Story
from tests.support.recorded import replay, replay_changed

READ = 0.0002  # seconds between two lines of one read
EXPECTED = ["< 1 s", "< 1 s", "≈ 2 s", "≈ 3 s"]  # 24 ms, 33 ms, 2.7 s and 3.1 s, as the cluster dated them
NOTES = {"en": ("too short to measure", "by the cluster's clock"), "zh-hans": ("太短，无法测量", "按集群时钟")}


def in_one_read(text: bytes) -> bytes:
    """The recording, as if the line that began a Restarting had waited for the one that ended it."""
    lines: list[dict[str, Any]] = [json.loads(line) for line in text.splitlines()]
    began: int | None = None
    for number, line in enumerate(lines):
        if line["resource"] != "tfjobs.kubeflow.org" or line["type"] != "MODIFIED":
            continue
        conditions = line["object"].get("status", {}).get("conditions") or []
        restarting = any(c["type"] == "Restarting" and c["status"] == "True" for c in conditions)
        if restarting and began is None:
            began = number
        elif not restarting and began is not None:
            lines[began]["received_at"] = line["received_at"] - READ
            began = None
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


@pytest.fixture
def together(db: None, tmp_path: Path) -> Job:
    replay_changed(tmp_path, "seed-exitcode-138", in_one_read)
    return Job.objects.get()


def cells(page: str, row: str) -> list[str]:
    """The texts of the cells of lengths, in rows that hold something."""
    tab = page[page.index('id="tabs"') :]
    rows = [found for found in re.findall(r"<tr[^>]*>(.*?)</tr>", tab, re.S) if row in found]
    found = [re.findall(r'<td class="time">(.*?)</td>', one, re.S)[-1] for one in rows]
    return [re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", text)).strip().replace("&lt;", "<") for text in found]


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_the_tables_say_what_is_known(client: Client, together: Job, language: str) -> None:
    client.cookies["django_language"] = language
    short, dated = NOTES[language]
    expected = [f"{text} {short if text.startswith('<') else dated}" for text in EXPECTED]
    phases = client.get(f"/jobs/{together.uid}/?tab=phases").content.decode().replace("&#x27;", "'")
    assert cells(phases, 'data-state="Restarting"')[:4] == expected
    restarts = client.get(f"/jobs/{together.uid}/?tab=restarts").content.decode().replace("&#x27;", "'")
    assert set(expected) <= set(cells(restarts, "worker 0"))
    for page in (phases, restarts):
        assert not re.search(r"\b0 ms", page)


def test_kubectl_is_said_to_miss_only_what_is_known_to_be_short(client: Client, together: Job) -> None:
    page = client.get(f"/jobs/{together.uid}/?tab=phases").content.decode()
    rows = [row for row in re.findall(r"<tr>(.*?)</tr>", page, re.S) if 'data-state="Restarting"' in row]
    assert ["too short to be printed" in row for row in rows[:4]] == [True, True, False, False]


def test_the_header_does_not_call_short_what_was_not_measured(client: Client, together: Job) -> None:
    page = client.get(f"/jobs/{together.uid}/").content.decode()
    assert "shown 5 times" in page
    assert "for less than 0.1 s" not in page


def test_the_timeline_gets_the_clusters_dates(client: Client, together: Job) -> None:
    found = client.get(f"/api/jobs/{together.uid}/timeline/").json()
    spans = [span for span in found["spans"] if span["lane"] == "restarting"]
    assert [span["said_end"] - span["said_start"] for span in spans[:4]] == [0, 0, 2, 3]
    assert "said_end" not in spans[4], "nobody wrote its end"
    states = [span for span in found["spans"] if span["lane"] == "state" and span["value"] == "Restarting"]
    assert [span["said_end"] - span["said_start"] for span in states[:4]] == [0, 0, 2, 3]
    assert found["job"]["finished"] is None
    rows = Span.objects.filter(lane="restarting").order_by("number")
    assert [span_json(row) for row in rows] == spans, "a delta tells the same"


def all_in_one_read(text: bytes) -> bytes:
    """The recording, as if its reader had been away until the end, and had caught up then."""
    lines: list[dict[str, Any]] = [json.loads(line) for line in text.splitlines()]
    end = lines[-1]["received_at"]
    for number, line in enumerate(lines):
        line["received_at"] = end + number * 1e-6
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["seed-exitcode-138", "tf-onfailure-one-worker"])
def test_what_was_read_in_one_go_is_told_without_lengths_of_the_reading(
    client: Client, tmp_path: Path, name: str
) -> None:
    replay_changed(tmp_path, name, all_in_one_read)
    uid = Job.objects.get().uid
    for path in ("/", *(f"/jobs/{uid}/?tab={tab}" for tab in ("restarts", "replicas", "phases", "podgroup"))):
        page = re.sub(r"<[^>]+>", " ", client.get(path).content.decode())
        assert not re.findall(r"[^.]{0,60}\b\d+ ms", page), path
    header = client.get(f"/jobs/{uid}/").content.decode()
    assert re.search(r"<dt>Productive</dt><dd><bdi>not measured</bdi>", header)


def test_rows_from_before_the_dates_were_kept_say_that_nothing_was_measured(client: Client, together: Job) -> None:
    for span in Span.objects.all():
        span.detail = {name: value for name, value in span.detail.items() if not name.startswith("said_")}
        span.save()
    page = client.get(f"/jobs/{together.uid}/?tab=phases").content.decode()
    assert cells(page, 'data-state="Restarting"')[:4] == ["not measured"] * 4


@pytest.mark.django_db
def test_the_report_has_the_moments_that_we_saw() -> None:
    replay("seed-exitcode-138")
    spans = job_report(load_state(Job.objects.get().id))["restarting_condition"]
    assert spans[0] == {"start": "2026-11-29T12:43:51.070673Z", "end": "2026-11-29T12:43:51.094576Z"}
    assert all(set(span) == {"start", "end"} for span in spans)


def test_an_experiments_verdict_does_not_measure_it_either() -> None:
    def seen(ended: float) -> str:
        story = Story().run(f"+J Created=True\n~J Running=True\n@9\n~J Restarting=True\n@{ended}\n~J Running=True")
        outcome = restarting_shown()(Observed((story.jobs["uid-J"],), BEGIN, BEGIN + 60))
        assert outcome.seen is not None
        return outcome.seen.en

    assert seen(9.024) == "seen by condition, 24 ms"
    assert seen(9.0002) == "seen by condition, how long was not measured"
