"""The page of one experiment: its form, its manifest and its explanation, over a simulated cluster."""

import html
import re
import uuid
from typing import Any

import pytest
import yaml
from django.test import Client

from jobs.experiments import clusters
from jobs.experiments.labels import RUN
from jobs.experiments.models import ExperimentRun
from jobs.web.experiments import places
from simcluster.options import parse_forbidden
from tests.experiments.pages import CUSTOM, LIST, SEED, form, jobs_of, text_of
from tests.experiments.small import tfjob
from tests.watch.live import LiveCluster

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_form_shows_what_will_be_sent(person: Client) -> None:
    page = text_of(person.get(SEED, {"code": "143"}))
    token = re.search(r'name="token" value="([^"]+)"', page)
    assert token
    assert f"{RUN}: {token[1]}" in page
    assert 'value="143"' in page
    assert "exit 143" in page


def test_the_manifest_follows_what_is_typed(person: Client) -> None:
    answer = text_of(person.post(f"{SEED}manifest/", form(workers="5", name="other")))
    found = re.search(r"<pre[^>]*>(.*)</pre>", answer, re.S)
    assert found
    shown = yaml.safe_load(html.unescape(found[1]))
    assert shown["spec"]["tfReplicaSpecs"]["Worker"]["replicas"] == 5
    assert shown["metadata"]["name"] == "other"
    wrong = text_of(person.post(f"{SEED}manifest/", form(workers="many")))
    assert "<pre" not in wrong
    assert "Workers: Give a whole number from" in wrong


def test_what_is_sent_is_what_was_shown(cluster: LiveCluster, person: Client) -> None:
    sent = form()
    shown = person.post(f"{SEED}manifest/", sent)
    person.post(SEED, sent)
    (job,) = jobs_of(cluster)
    assert f"{RUN}: {job['metadata']['labels'][RUN]}" in text_of(shown)


def test_the_download_can_be_applied(cluster: LiveCluster, person: Client) -> None:
    answer = person.post(f"{SEED}manifest.yaml", form())
    assert answer["Content-Disposition"] == 'attachment; filename="mine.yaml"'
    (manifest,) = yaml.safe_load_all(answer.content)
    made = cluster.request("POST", "/apis/kubeflow.org/v1/namespaces/default/tfjobs?dryRun=All", manifest)
    assert made.status == 201
    assert RUN not in str(manifest)


def test_a_dry_run_keeps_nothing(cluster: LiveCluster, person: Client) -> None:
    page = text_of(person.post(SEED, form(do="try")))
    assert "its dry run found nothing wrong" in page
    assert jobs_of(cluster) == []
    assert not ExperimentRun.objects.exists()


@pytest.mark.parametrize(
    ("field", "value"),
    [("workers", "0"), ("workers", "9999999999999"), ("code", "-1"), ("code", "256"), ("fails_after", "1.5"),
     ("workers", "<script>"), ("image", "a\nb"), ("backoff_limit", ""), ("cpu", "٣")],
)  # fmt: skip
def test_a_wrong_value_is_told_beside_its_field(cluster: LiveCluster, person: Client, field: str, value: str) -> None:
    answer = person.post(SEED, form(**{field: value}))
    page = text_of(answer)
    assert answer.status_code == 400
    assert re.search(rf'id="field-{field}"[^>]*aria-invalid="true"', page)
    assert re.search(rf'id="about-{field}" class="about"><p class="problem">', page)
    assert "<script>" not in page
    assert jobs_of(cluster) == []


def test_a_refusal_is_shown_in_the_servers_words_beside_its_field(cluster: LiveCluster, person: Client) -> None:
    cluster.call(cluster.cluster.apply, tfjob("mine", "default"))
    page = text_of(person.post(SEED, form()))
    assert re.search(r'id="about-name".*The API server: <q>tfjobs.kubeflow.org &quot;mine&quot; already exists', page)


@pytest.mark.parametrize("name", ["<b>x</b>", "a" * 300, "x;y", "../../x", "\u202ex", "{{x}}"])
def test_a_hostile_name_is_shown_as_text_and_refused(cluster: LiveCluster, person: Client, name: str) -> None:
    answer = person.post(SEED, form(name=name))
    assert answer.status_code == 400
    assert "<b>x" not in text_of(answer)
    assert jobs_of(cluster) == []


def test_only_namespaces_that_may_be_used_are_offered(cluster: LiveCluster, person: Client, settings: Any) -> None:
    cluster.call(cluster.store.ensure_namespace, "team-a")
    page = text_of(person.get(SEED))
    assert re.findall(
        r"<option[^>]*>([^<]*)</option>", page.split('id="field-namespace"')[1].split("</select>")[0]
    ) == [
        "default",
        "team-a",
    ]
    places.forget()
    cluster.options.forbidden = parse_forbidden(["tfjobs.kubeflow.org:create"])
    clusters.forget()
    page = text_of(person.get(SEED))
    assert "may create such jobs in no namespace that is watched" in page


def test_a_cluster_that_is_away_still_has_a_catalogue(cluster: LiveCluster, person: Client) -> None:
    cluster.down()
    assert person.get(LIST).status_code == 200
    assert "refuses connections" in text_of(person.get(SEED))
    answer = person.post(SEED, form())
    assert answer.status_code == 400
    assert "refuses connections" in text_of(answer)
    answer = person.post(f"{SEED}launch/", {"token": str(uuid.uuid4())})
    assert answer.status_code == 400
    assert "refuses connections" in text_of(answer)


def test_the_chosen_cluster_stays_chosen(person: Client) -> None:
    page = text_of(person.get(SEED, {"cluster": "lab"}))
    assert 'href="?tab=why&amp;cluster=lab"' in page
    assert 'href="?cluster=lab"' in text_of(person.get(SEED, {"cluster": "lab", "tab": "why"}))


def test_a_cluster_that_is_not_configured_is_told_and_not_remembered(person: Client) -> None:
    page = text_of(person.get(CUSTOM, {"cluster": "nosuch"}))
    assert "No cluster of this name is configured." in page
    assert not [key for key in places._answers if "nosuch" in key]


def test_the_exit_codes_lead_to_the_experiment(cluster: LiveCluster, person: Client) -> None:
    page = text_of(person.get("/exit-codes/"))
    link = re.search(r'id="code-137".*?href="(/experiments/[^"]+)"', page)
    assert link
    shown = text_of(person.get(link[1].replace("&amp;", "&")))
    assert re.search(r'id="field-codes"[^>]*value="137"', shown)
