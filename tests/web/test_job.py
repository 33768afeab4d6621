"""The page of one job."""

import json
import re
from typing import Any

import pytest
from django.test import Client

from jobs.domain.said import Finding
from jobs.models import Job, Observation
from jobs.web.jobpage import tabs
from jobs.web.jobpage.header import _kinds_first
from tests.support.recorded import replay

TABS = ("restarts", "replicas", "phases", "podgroup", "events", "facts")


def text_of(page: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page))


def test_the_header_says_what_happened(client: Client, seed: Job) -> None:
    page = client.get(f"/jobs/{seed.uid}/").content.decode()
    for name, number in (("true", 6), ("kubectl", 1), ("hidden", 5)):
        assert f'data-number="{name}">{number}<' in page
    words = text_of(page)
    assert (
        "Worker 0 has been recreated 5 times, each time after exit code 138. 1 other replica restarted 1 time." in words
    )
    assert "kubectl does not show 5 of them." in words
    assert "backoffLimit 3 not enforced for ExitCode replicas" in words
    assert "worker 0: exit 138 (user-defined, retryable)" in words
    assert "shown 5 times 2 for less than 0.1 s" in words
    assert "was Restarting" in words


def test_each_restart_has_a_row_with_its_evidence(client: Client, seed: Job) -> None:
    page = client.get(f"/jobs/{seed.uid}/tab/restarts/").content.decode()
    rows = re.findall(r'<tr data-pod="([^"]+)">(.*?)</tr>', page, re.S)
    assert len(rows) == 6
    words = [text_of(row) for _, row in rows]
    assert sum("SIGUSR1" in row and "user-defined documented · retried observed" in row for row in words) == 5
    assert sum("restarted in place observed" in row for row in words) == 1
    assert "not running again" in words[0]
    for uid, row in rows:
        assert f"object={uid}" in row


def test_evidence_is_the_pods_own_observations(client: Client, seed: Job) -> None:
    pod = Observation.objects.filter(object__resource="pods", object__name="tftest-worker-0").first()
    assert pod
    page = client.get(f"/jobs/{seed.uid}/?tab=facts&object={pod.object.uid}").content.decode()
    table = page[page.index('id="tabs"') :]
    uids = set(re.findall(r'data-pod="([^"]+)"', table))
    assert uids == {pod.object.uid}
    assert str(pod.resource_version) in table
    assert "138" in table


def test_of_each_kind_of_finding_one_comes_before_the_others() -> None:
    found = [Finding(code, "warning", "x") for code in ("wave", "wave", "backoff", "wave", "first")]
    ordered = _kinds_first(found)
    assert [one.code for one in ordered] == ["wave", "backoff", "first", "wave", "wave"]
    assert {id(one) for one in ordered} == {id(one) for one in found}


def test_the_worst_replicas_have_a_row_and_the_others_a_number(
    client: Client, db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tabs, "REPLICAS_SHOWN", 3)
    replay("wave-60")
    page = client.get(f"/jobs/{Job.objects.get().uid}/tab/replicas/").content.decode()
    assert len(re.findall(r"<tr data-pod=", page)) == 3
    assert "57 more are in the JSON." in page


@pytest.mark.parametrize("tab", TABS)
def test_each_tab_is_a_page_and_a_fragment(client: Client, seed: Job, tab: str) -> None:
    whole = client.get(f"/jobs/{seed.uid}/?tab={tab}").content.decode()
    fragment = client.get(f"/jobs/{seed.uid}/tab/{tab}/").content.decode()
    assert fragment.lstrip().startswith('<section id="tabs"')
    for page in (whole, fragment):
        assert re.search(rf'data-tab="{tab}"[^>]*aria-current="true"', page)
        assert "<td" in page


@pytest.mark.django_db
def test_every_recording_has_its_pages(client: Client) -> None:
    names = (
        "gang-waits",
        "mpi-worker-fails",
        "volcano-job",
        "sidecar-fails",
        "bad-image",
        "active-deadline",
        "preempted",
    )
    replay(*names)
    for job in Job.objects.all():
        for tab in TABS:
            assert client.get(f"/jobs/{job.uid}/?tab={tab}").status_code == 200, (job, tab)
        assert client.get(f"/api/jobs/{job.uid}/timeline/").status_code == 200


def test_phases_too_short_for_kubectl_are_marked(client: Client, seed: Job) -> None:
    page = client.get(f"/jobs/{seed.uid}/tab/phases/").content.decode()
    rows = [text_of(row) for row in re.findall(r"<tr>(.*?)</tr>", page, re.S) if 'data-state="Restarting"' in row]
    assert len(rows) == 5
    short = [row for row in rows if "too short to be printed" in row]
    assert len(short) == 2
    assert "24 ms" in short[0]
    assert "146 ms" in rows[-1], "an open Restarting is cut where the job was deleted"


def test_the_timeline_has_its_table(client: Client, seed: Job) -> None:
    page = client.get(f"/jobs/{seed.uid}/").content.decode()
    table = page[page.index('class="as-table"') : page.index('id="tabs"')]
    assert table.count("tftest-worker-0") == 6


@pytest.mark.django_db
def test_a_name_leads_to_its_newest_job(client: Client) -> None:
    replay("name-reuse")
    older, newer = Job.objects.filter(name="again").order_by("created_at")
    page = client.get("/jobs/replay/name-reuse/TFJob/again/").content.decode()
    assert f"/jobs/{newer.uid}/" in page
    assert "1 earlier job of this name" in text_of(page)
    assert "A newer job has this name" in client.get(f"/jobs/{older.uid}/").content.decode()
    assert "A newer job has this name" not in page


@pytest.mark.django_db
def test_one_uid_in_two_clusters_is_two_jobs(client: Client) -> None:
    replay("tf-normal", cluster="one")
    replay("seed-exitcode-138", cluster="one")
    replay("seed-exitcode-138", cluster="two")
    one, two = Job.objects.filter(name="tftest", namespace="seed-exitcode-138").order_by("id")
    assert one.uid == two.uid
    for job in (one, two):
        page = client.get(f"/jobs/{job.uid}/?cluster={job.cluster.name}").content.decode()
        assert f"/api/jobs/{job.uid}/timeline/?cluster={job.cluster.name}" in page


@pytest.mark.django_db
@pytest.mark.parametrize("address", ["/jobs/none/", "/jobs/none/tab/restarts/", "/jobs/none/header/", "/jobs/a/b/c/d/"])
def test_an_unknown_job_is_told_and_leads_on(client: Client, address: str) -> None:
    response = client.get(address)
    assert response.status_code == 404
    assert 'href="/"' in response.content.decode()


def test_an_unknown_tab_is_not_found(client: Client, seed: Job) -> None:
    assert client.get(f"/jobs/{seed.uid}/tab/none/").status_code == 404
    assert client.get(f"/jobs/{seed.uid}/?tab=none").status_code == 200, "a page can still be shown"


def test_a_late_start_is_a_hatched_gap_and_a_lower_bound(client: Client, db: None) -> None:
    from django.core.management import call_command

    from tests.support.truth import RECORDINGS

    call_command("replay", str(RECORDINGS / "seed-exitcode-138"), cluster="late", start_late=150, verbosity=0)
    job = Job.objects.get()
    assert job.at_least
    page = client.get(f"/jobs/{job.uid}/").content.decode()
    assert 'data-number="true">≥ ' in page
    assert "Nobody watched" in page
    assert client.get(f"/api/jobs/{job.uid}/timeline/").json()["unobserved"]


class TestTimeline:
    def payload(self, client: Client, job: Job) -> dict[str, Any]:
        return client.get(f"/api/jobs/{job.uid}/timeline/").json()

    def test_it_holds_every_incarnation_and_restart(self, client: Client, seed: Job) -> None:
        found = self.payload(client, seed)
        worker = [pod for pod in found["pods"] if pod["replica"] == "worker/0/0"]
        assert len(worker) == 6
        assert [pod["code"] for pod in worker[:5]] == [138] * 5
        assert sum(restart["counts"] for restart in found["restarts"]) == 6
        assert {r["key"]: r["true"] for r in found["replicas"]}["worker/0/0"] == 5
        short = [s for s in found["spans"] if s["lane"] == "restarting" and s["end"] and s["end"] - s["start"] < 0.05]
        assert len(short) == 2

    def test_a_job_that_is_gone_has_an_end(self, client: Client, seed: Job) -> None:
        found = self.payload(client, seed)
        assert found["end"] == pytest.approx(seed.last_observed_at)
        assert found["start"] <= seed.created_at

    def test_replicas_come_leaders_first(self, client: Client, seed: Job) -> None:
        assert [r["key"] for r in self.payload(client, seed)["replicas"]] == [
            "worker/0/0",
            "worker/1/0",
            "worker/2/0",
            "ps/0/0",
        ]


def test_the_reports_entry_is_the_api(client: Client, seed: Job, capsys: pytest.CaptureFixture[str]) -> None:
    from django.core.management import call_command

    call_command("report", output="json")
    reported = json.loads(capsys.readouterr().out)["jobs"][0]
    assert client.get(f"/api/jobs/{seed.uid}/").json() == reported


def test_the_page_names_every_module_of_the_timeline(client: Client, seed: Job) -> None:
    """A module that is not named is found late, one import after the other."""
    from tests.support.truth import RECORDINGS

    static = RECORDINGS.parents[2] / "static"
    page = client.get(f"/jobs/{seed.uid}/").content.decode()
    named = set(re.findall(r'rel="modulepreload" href="/static/([^"]+)"', page))
    modules = {str(path.relative_to(static)) for path in (static / "js" / "timeline").glob("*.js")}
    assert modules <= named
    assert all((static / name).exists() for name in named)


def test_the_first_answer_is_fetched_with_the_scripts(client: Client, seed: Job) -> None:
    page = client.get(f"/jobs/{seed.uid}/?order=worst").content.decode()
    link = re.search(r'rel="preload" as="fetch" crossorigin="anonymous" href="([^"]+)"', page)
    assert link
    assert f'data-first="{link[1]}"' in page
    found = client.get(link[1].replace("&amp;", "&"))
    assert found.status_code == 200 and found.json()["whole"]
