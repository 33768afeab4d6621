"""The page of a run and its panel, over a simulated cluster."""

import html
import re
import uuid

import pytest
from django.test import Client
from django.urls import reverse

from jobs.experiments.models import ExperimentAction, ExperimentRun, RunState
from tests.experiments.pages import SEED, form, jobs_of, text_of
from tests.experiments.small import tfjob
from tests.watch.live import Follower, LiveCluster, wait_until

pytestmark = pytest.mark.django_db(transaction=True)


def test_stop_and_clean_up_from_the_page(cluster: LiveCluster, person: Client) -> None:
    token = uuid.uuid4()
    person.post(SEED, form(token=str(token)))
    page = reverse("jobs:run", args=[token])
    assert ">Stop<" in text_of(person.get(page))
    assert person.post(f"{page}stop/")["Location"] == page
    run = ExperimentRun.objects.get()
    assert (run.state, run.trouble, run.cleaned_at is None) == (RunState.STOPPED, "", False)
    assert jobs_of(cluster) == []
    text = text_of(person.get(page))
    assert "stopped, cleaned up" in text
    assert "every 2s" not in text
    audit = text_of(person.get("/experiments/audit/"))
    for words in ("create", "stop", "end", "delete", "TFJob default/mine"):
        assert words in audit
    assert ExperimentAction.objects.filter(what="stop").get().who == "ann"


def test_strangers_may_look_and_not_touch(cluster: LiveCluster, person: Client) -> None:
    token = uuid.uuid4()
    person.post(SEED, form(token=str(token)))
    page = reverse("jobs:run", args=[token])
    stranger = Client()
    text = text_of(stranger.get(page))
    assert "backoffLimit 3 is passed without effect." in text
    assert ">Stop<" not in text
    assert stranger.post(f"{page}stop/")["Location"].startswith("/sign-in/")
    assert ExperimentRun.objects.get().state == RunState.RUNNING


@pytest.mark.parametrize("tab", ["", "why", "manifest", "audit", "other"])
def test_the_tabs_of_a_run(cluster: LiveCluster, person: Client, tab: str) -> None:
    token = uuid.uuid4()
    person.post(SEED, form(token=str(token)))
    page = text_of(person.get(reverse("jobs:run", args=[token]), {"tab": tab}))
    assert {"why": "restartCount", "manifest": str(token), "audit": "TFJob default/mine"}.get(tab, "checklist") in page


def test_a_job_that_is_gone_is_shown_as_gone(cluster: LiveCluster, person: Client) -> None:
    token = uuid.uuid4()
    person.post(SEED, form(token=str(token)))
    page = reverse("jobs:run", args=[token])
    with Follower(cluster.source("lab")):
        wait_until(lambda: 'data-state="Running"' in text_of(person.get(page)))
        person.post(f"{page}clean-up/")
        wait_until(lambda: 'data-state="Deleted"' in text_of(person.get(page)))


def test_the_panel_leads_on_to_the_job_once_it_is_seen(cluster: LiveCluster, person: Client) -> None:
    token = uuid.uuid4()
    person.post(SEED, form(token=str(token)))
    panel = reverse("jobs:run-panel", args=[token])
    assert person.get(panel, {"follow": "1"}).status_code == 200
    with Follower(cluster.source("lab")):
        wait_until(lambda: person.get(panel, {"follow": "1"}).status_code == 204)
    uid = jobs_of(cluster)[0]["metadata"]["uid"]
    assert person.get(panel, {"follow": "1"})["HX-Redirect"] == f"/jobs/{uid}/?cluster=lab"
    assert person.get(reverse("jobs:run", args=[token])).status_code == 200


def test_a_panel_that_shows_the_same_is_not_sent_again(cluster: LiveCluster, person: Client) -> None:
    """Somebody may be reading it, scrolled aside."""
    token = uuid.uuid4()
    person.post(SEED, form(token=str(token)))
    page = text_of(person.get(reverse("jobs:run", args=[token])))
    address = re.search(r'hx-get="([^"]+)"', page)
    assert address
    again = html.unescape(address[1])
    assert person.get(again).status_code == 204
    person.post(f"/experiments/runs/{token}/stop/")
    assert person.get(again).status_code == 200


def test_a_job_that_no_run_created_has_no_panel(cluster: LiveCluster, person: Client) -> None:
    with Follower(cluster.source("lab")):
        wait_until(cluster.is_watched)
        cluster.call(cluster.cluster.apply, tfjob("plain", "default"))
        address = "/jobs/lab/default/TFJob/plain/"
        wait_until(lambda: person.get(address).status_code == 200)
    assert 'id="checklist"' not in text_of(person.get(address))
