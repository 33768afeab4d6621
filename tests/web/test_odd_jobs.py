"""Jobs of which little is known still have their pages."""

from pathlib import Path

import pytest
from django.core.management import call_command
from django.test import Client
from django.utils import translation
from django.utils.html import escape

from jobs.models import Incarnation, Job
from jobs.words import excluded_words
from tests.support.recorded import replay, replay_changed
from tests.support.truth import RECORDINGS

pytestmark = pytest.mark.django_db
TABS = ("restarts", "replicas", "phases", "podgroup", "events", "facts")


def every_page(client: Client) -> None:
    assert Job.objects.exists()
    assert client.get("/").status_code == 200
    for job in Job.objects.all():
        for tab in TABS:
            assert client.get(f"/jobs/{job.uid}/?tab={tab}").status_code == 200, (job, tab)
        for address in ("", "timeline/"):
            assert client.get(f"/api/jobs/{job.uid}/{address}").status_code == 200, job


def test_a_job_of_which_only_pods_were_seen(client: Client, tmp_path: Path) -> None:
    def without_job(text: bytes) -> bytes:
        return b"".join(line for line in text.splitlines(keepends=True) if b'"resource":"tfjobs' not in line)

    replay_changed(tmp_path, "seed-exitcode-138", without_job)
    job = Job.objects.get()
    assert (job.state, job.present, job.at_least) == ("Unknown", False, True)
    every_page(client)
    page = client.get(f"/jobs/{job.uid}/").content.decode()
    assert 'data-number="true">≥ ' in page


def test_a_job_without_pods(client: Client, tmp_path: Path) -> None:
    def without_pods(text: bytes) -> bytes:
        return b"".join(line for line in text.splitlines(keepends=True) if b'"resource":"pods"' not in line)

    replay_changed(tmp_path, "seed-exitcode-138", without_pods)
    every_page(client)


@pytest.mark.parametrize("lines", [1, 2, 40, 120, 200, 255])
def test_a_watch_that_began_late_or_ended_early(client: Client, lines: int) -> None:
    call_command("replay", str(RECORDINGS / "seed-exitcode-138"), cluster="late", start_late=lines, verbosity=0)
    call_command("replay", str(RECORDINGS / "node-lost"), cluster="early", until=lines, verbosity=0)
    every_page(client)


@pytest.mark.deep
@pytest.mark.parametrize("name", sorted(path.name for path in RECORDINGS.iterdir()))
def test_every_recording(client: Client, name: str) -> None:
    call_command("replay", str(RECORDINGS / name), verbosity=0)
    if Job.objects.exists():
        every_page(client)


@pytest.mark.parametrize("why", ["suspended", "scaled", "unwatched"])
def test_an_excluded_recreation_says_why(client: Client, db: None, why: str) -> None:
    """Both in the table and in what the hover card is made of."""
    replay("suspend-resume")
    job = Job.objects.get()
    for pod in Incarnation.objects.filter(job=job):
        pod.record = pod.record.replace('"excluded":"suspended"', f'"excluded":"{why}"')
        pod.save()
    page = client.get(f"/jobs/{job.uid}/").content.decode()
    with translation.override("en"):
        words = excluded_words(why)
    assert page.count(escape(words)) == 3
    told = client.get(f"/api/jobs/{job.uid}/timeline/").json()["pods"]
    assert [pod["excluded"] for pod in told].count(why) == 3
