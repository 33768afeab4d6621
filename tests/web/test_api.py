"""The JSON API, the health endpoint and the watchers' page."""

import time

import pytest
from django.db import DatabaseError
from django.test import Client

from jobs.models import Cluster, Gap, Job, Lease, Stream
from jobs.store.streams import StreamUpdate, faded, take_update
from tests.support.recorded import replay


def test_the_list_says_what_the_page_says(client: Client, seed: Job) -> None:
    found = client.get("/api/jobs/?exit=138").json()
    assert found["next"] is None
    (job,) = found["jobs"]
    assert (job["true_restarts"], job["kubectl_restarts"], job["hidden_restarts"]) == (6, 1, 5)
    assert job["exit_codes"][0] == {"exit_code": 138, "oom": False, "ends": 5}
    assert client.get("/api/jobs/?exit=137").json()["jobs"] == []


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("address", "status", "code"),
    [
        ("/api/jobs/?exit=x", 400, "bad-filter"),
        ("/api/jobs/?after=x", 400, "bad-request"),
        ("/api/jobs/none/", 404, "unknown-job"),
        ("/api/jobs/none/timeline/", 404, "unknown-job"),
        ("/api/none", 404, "not-found"),
        ("/api/", 404, "not-found"),
    ],
)
def test_errors_have_one_shape(client: Client, address: str, status: int, code: str) -> None:
    response = client.get(address)
    assert response.status_code == status
    assert set(response.json()) == {"error"}
    assert response.json()["error"]["code"] == code
    assert response.json()["error"]["message"]


def test_healthy_while_the_database_answers(client: Client, seed: Job) -> None:
    response = client.get("/healthz")
    assert response.status_code == 200
    found = response.json()
    assert found["status"] == "ok"
    assert found["sequence"] >= 1
    assert found["clusters"]["replay"]["last_event_age_seconds"] is not None


@pytest.mark.django_db
def test_unavailable_when_the_database_does_not_answer(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> int:
        raise DatabaseError("no such table: a secret detail")

    monkeypatch.setattr("jobs.web.views.health.last_sequence", broken)
    response = client.get("/healthz")
    assert response.status_code == 503
    assert "database" in response.json()["reason"]
    assert "secret" not in response.content.decode()


@pytest.mark.django_db
def test_no_watcher_yet(client: Client) -> None:
    assert "RESTARTSCOPE_CLUSTERS" in client.get("/watchers/").content.decode()


@pytest.mark.django_db
def test_trouble_is_named_with_how_to_mend_it(client: Client) -> None:
    replay("tf-normal", cluster="sim")
    stream = Stream.objects.first()
    assert stream
    Stream.objects.filter(pk=stream.pk).update(
        state="forbidden", detail="Grant list and watch on <pods>.", skipped={"no uid": 3}, namespace="team-a"
    )
    Gap.objects.create(cluster=stream.cluster, resource="pods", start=10.0, end=20.0, reason="listed again")
    Lease.objects.create(cluster=stream.cluster, holder="host:1", epoch=1)
    Cluster.objects.update(observed_until=time.time())
    page = client.get("/watchers/").content.decode()
    assert "Grant list and watch on &lt;pods&gt;." in page
    assert "1 stream in trouble" in page
    assert "no uid" in page
    assert "×3" in page
    assert "listed again" in page
    assert "No watcher reports" not in page
    fragment = client.get("/watchers/", headers={"HX-Request": "true"}).content.decode()
    assert fragment.startswith('<div id="watchers"')


@pytest.mark.django_db
def test_a_silent_watcher_is_stale_and_its_streams_only_were(client: Client) -> None:
    replay("tf-normal", cluster="sim")
    Stream.objects.update(state="watching")
    Lease.objects.create(cluster=Cluster.objects.get(), holder="host:1", epoch=1)
    Cluster.objects.update(observed_until=time.time() - 60)
    page = client.get("/watchers/").content.decode()
    assert "No watcher reports" in page
    assert "was watching" in page
    assert 'class="tone good"' not in page


@pytest.mark.django_db
def test_what_was_only_replayed_is_not_called_stale(client: Client) -> None:
    replay("tf-normal", cluster="recordings")
    page = client.get("/watchers/").content.decode()
    assert "replayed, not watched" in page
    assert "No watcher reports" not in page


@pytest.mark.django_db
def test_the_theme_is_remembered_by_the_server(client: Client) -> None:
    assert 'data-theme="system"' in client.get("/").content.decode()
    client.cookies["theme"] = "dark"
    assert 'data-theme="dark"' in client.get("/").content.decode()
    client.cookies["theme"] = '"><script>'
    assert 'data-theme="system"' in client.get("/").content.decode()


@pytest.mark.django_db
def test_pages_only_read(client: Client) -> None:
    for address in ("/", "/watchers/", "/healthz", "/api/jobs/"):
        assert client.post(address).status_code == 405


@pytest.mark.django_db
@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_what_would_change_something_is_refused_in_the_shape_of_all_errors(method: str) -> None:
    answer = Client(enforce_csrf_checks=True).generic(method, "/api/jobs/")
    assert (answer.status_code, answer["Allow"]) == (405, "GET, HEAD")
    assert answer.json()["error"]["code"] == "method-not-allowed"


@pytest.mark.django_db
def test_events_per_minute_fade_while_none_come() -> None:
    stream = Stream(last_event_at=None)
    for second in range(600):
        take_update(stream, StreamUpdate(last_event_at=1000.0 + second, events=5))
    assert stream.per_minute == pytest.approx(300, rel=0.02)
    assert faded(stream.per_minute, 60) == pytest.approx(110, rel=0.02)
    assert faded(stream.per_minute, 600) < 1


@pytest.mark.django_db
def test_what_is_not_installed_needs_nothing(client: Client) -> None:
    replay("tf-normal", cluster="sim")
    Stream.objects.filter(resource="tfjobs.kubeflow.org").update(state="not installed")
    Stream.objects.filter(resource="pods").update(last_event_at=time.time() - 60, per_minute=110.0)
    Lease.objects.create(cluster=Cluster.objects.get(), holder="host:1", epoch=1)
    Cluster.objects.update(observed_until=time.time())
    page = client.get("/watchers/").content.decode()
    assert "install its operator" in page
    assert '<td class="number">40</td>' in page
