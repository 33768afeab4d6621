"""The page of the catalogue, and what all pages of the experiments have in common, over a simulated cluster."""

import re
import uuid

import pytest
from django.test import Client
from django.urls import reverse

from jobs.experiments import runs
from jobs.experiments.catalogue import experiments
from jobs.experiments.models import ExperimentAction, ExperimentRun, RunState
from tests.experiments.pages import CUSTOM, LIST, SEED, form, jobs_of, text_of
from tests.watch.live import Follower, LiveCluster, wait_until

pytestmark = pytest.mark.django_db(transaction=True)


def test_every_experiment_has_a_card_with_what_it_costs(person: Client) -> None:
    page = text_of(person.get(LIST))
    for name in experiments():
        assert f'id="{name}"' in page
        assert f'action="/experiments/{name}/launch/"' in page
    assert "about 1 m 14 s" in page
    assert "Nothing has been run yet" in page


def test_one_click_lands_on_the_live_page_of_the_job(
    cluster: LiveCluster, person: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jobs.web.views.runs.SEEN_WITHIN", 30.0)
    with Follower(cluster.source("lab")):
        wait_until(cluster.is_watched)
        answer = person.post(f"{SEED}launch/", {"token": str(uuid.uuid4())})
        (job,) = jobs_of(cluster)
        assert answer.status_code == 302
        assert answer["Location"] == f"/jobs/{job['metadata']['uid']}/?cluster=lab"
        page = text_of(person.get(answer["Location"]))
    assert 'id="checklist"' in page
    assert "backoffLimit 3 is passed without effect." in page
    assert "/panel/?on_job=1&amp;seen=" in page


def test_several_jobs_land_on_the_page_of_the_run(cluster: LiveCluster, person: Client) -> None:
    token = uuid.uuid4()
    answer = person.post("/experiments/exit-code-sweep/launch/", {"token": str(token)})
    assert answer["Location"] == f"/experiments/runs/{token}/?follow=1"
    page = text_of(person.get(answer["Location"]))
    for words in ("Documented", "Implemented", "Seen here", "user-defined", "Nobody watches this cluster"):
        assert words in page
    assert len(jobs_of(cluster)) == 13


def test_a_double_click_is_one_run(cluster: LiveCluster, person: Client) -> None:
    token = {"token": str(uuid.uuid4())}
    answers = [person.post("/experiments/tf-normal/launch/", token) for _ in range(2)]
    assert answers[0]["Location"] == answers[1]["Location"]
    assert len(jobs_of(cluster)) == 1


def test_whoever_comes_back_gets_a_new_form(person: Client) -> None:
    """A page from the browser's memory would launch nothing: its token is used up."""
    for path in (LIST, SEED, CUSTOM):
        assert "no-store" in person.get(path)["Cache-Control"]


def test_runs_are_listed_newest_first_and_paged(person: Client) -> None:
    for number in range(25):
        ExperimentRun.objects.create(
            experiment="seed", cluster="lab", namespace="n", name=f"run-{number:02d}", who="ann",
            created_at=1000.0 + number, deadline=0, state=RunState.FINISHED, verdict={"overall": "different"},
        )  # fmt: skip
    page = text_of(person.get(LIST))
    shown = re.findall(r"n/(run-\d\d)", page)
    assert shown == [f"run-{number:02d}" for number in range(24, 4, -1)]
    older = re.search(r'href="(\?before=[\d.]+)#runs"', page)
    assert older
    assert re.findall(r"n/(run-\d\d)", text_of(person.get(LIST + older[1]))) == [f"run-0{n}" for n in range(4, -1, -1)]
    assert "different" in page


@pytest.mark.parametrize("before", ["x", "-1", "1e9", "١", "99999999999999999999", "1.5.5"])
def test_an_odd_page_number_is_the_first_page(person: Client, before: str) -> None:
    assert person.get(LIST, {"before": before}).status_code == 200
    assert person.get("/experiments/audit/", {"before": before}).status_code == 200


def test_what_only_a_simulated_cluster_can_do_has_no_button_elsewhere(
    cluster: LiveCluster, person: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jobs.experiments.writes.Writer.is_simulated", lambda _self: False)
    page = text_of(person.get(LIST))
    assert 'action="/experiments/node-lost/launch/"' not in page
    assert 'action="/experiments/seed/launch/"' in page
    assert "On a simulated cluster only:" in page


@pytest.mark.parametrize("name", ["seed", "node-lost", "exit-code-sweep", "gang-does-not-fit"])
def test_the_second_tab_explains(person: Client, name: str) -> None:
    page = text_of(person.get(f"/experiments/{name}/", {"tab": "why"}))
    assert "What should happen" in page
    first = experiments()[name].explanation.en.split("\n\n")[0].split("`")[0][:40]
    assert first.replace("'", "&#x27;") in page


def test_unknown_names_are_pages_that_lead_on(person: Client) -> None:
    for path in (
        "/experiments/none/",
        f"/experiments/runs/{uuid.uuid4()}/",
        f"/experiments/runs/{uuid.uuid4()}/panel/",
    ):
        assert person.get(path).status_code == 404
    assert person.post("/experiments/none/launch/").status_code == 404


def test_texts_of_a_cluster_are_shown_as_texts(cluster: LiveCluster, person: Client) -> None:
    run = ExperimentRun.objects.create(
        experiment="seed", values={}, cluster="lab", namespace="n", name="<i>x", who="<b>me", created_at=1.0,
        deadline=2.0, state=RunState.FAILED, trouble="refused", detail="<script>alert(1)</script>",
        verdict={"overall": "different", "differences": [{"en": "<img src=x>", "zh": ""}], "steps": []},
    )  # fmt: skip
    ExperimentAction.objects.create(run=run, at=1.0, who="<b>me", what="create", object="<u>o", result="<s>r")
    for path in (LIST, reverse("jobs:run", args=[run.id]), "/experiments/audit/"):
        page = text_of(person.get(path))
        for tag in ("<i>x", "<b>me", "<script>alert", "<img src=x", "<u>o", "<s>r"):
            assert tag not in page, path


def test_every_page_speaks_chinese(cluster: LiveCluster, person: Client) -> None:
    token = uuid.uuid4()
    person.post(SEED, form(token=str(token)))
    runs.carry_on(token)
    paths = (
        LIST,
        SEED,
        f"{SEED}?tab=why",
        CUSTOM,
        "/experiments/audit/",
        reverse("jobs:run", args=[token]),
        "/sign-in/",
    )
    for path in paths:
        page = text_of(person.get(path, headers={"accept-language": "zh-CN"}, follow=True))
        assert '<html lang="zh-hans"' in page
        assert "实验" in page
