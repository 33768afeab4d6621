"""The pages of the experiments, from the catalogue to the audit list, over a simulated cluster."""

import html
import re
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from django.contrib.auth.models import Permission, User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from jobs.experiments import clusters, runs
from jobs.experiments.catalogue import experiments
from jobs.experiments.labels import RUN
from jobs.experiments.models import ExperimentAction, ExperimentRun, RunState
from jobs.experiments.writes import Refused, Writer
from jobs.web.experiments import places
from jobs.web.views.custom import EXAMPLE
from simcluster.options import parse_forbidden
from simcluster.resources import by_plural
from tests.experiments.small import tfjob
from tests.watch.live import Follower, LiveCluster, wait_until

pytestmark = pytest.mark.django_db(transaction=True)

LIST = "/experiments/"
SEED = "/experiments/seed/"
CUSTOM = "/experiments/custom/"


@pytest.fixture(autouse=True)
def asked_anew() -> Iterator[None]:
    places.forget()
    yield
    places.forget()


def account(name: str = "ann", *, allowed: bool = True, password: str | None = None) -> User:
    """Without a password by default: hashing one takes half a second."""
    user = User.objects.create_user(name, password=password)
    if allowed:
        user.user_permissions.add(Permission.objects.get(codename="launch_experiment"))
    return user


@pytest.fixture
def person(cluster: LiveCluster) -> Client:
    """Somebody who may launch."""
    client = Client()
    client.force_login(account())
    return client


def jobs_of(cluster: LiveCluster, kind: str = "tfjobs") -> list[dict[str, Any]]:
    resource = by_plural("kubeflow.org", kind)
    assert resource is not None
    return cluster.call(cluster.store.list, resource)


def text_of(answer: Any) -> str:
    return answer.content.decode()


def form(**changes: str) -> dict[str, str]:
    return {
        "do": "launch",
        "sent": "1",
        "clean_up": "on",
        "namespace": "default",
        "name": "mine",
        "token": str(uuid.uuid4()),
    } | changes


# --- the catalogue


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


# --- the form


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


# --- who may


BUTTONS = ('action="/experiments/seed/launch/"', 'value="launch"', 'value="try"')


def test_a_site_that_only_reads_shows_the_catalogue_and_no_buttons(
    cluster: LiveCluster, person: Client, settings: Any
) -> None:
    settings.RESTARTSCOPE_READ_ONLY = True
    for path in (LIST, SEED, CUSTOM):
        page = text_of(person.get(path))
        assert "RESTARTSCOPE_READ_ONLY=off" in page
        assert not any(button in page for button in BUTTONS)
    assert "Restarts that kubectl does not show" in text_of(person.get(LIST))
    for path, data in ((f"{SEED}launch/", {}), (SEED, form()), (CUSTOM, form())):
        assert person.post(path, data).status_code == 403
    assert jobs_of(cluster) == []


def test_without_an_account_one_is_sent_to_the_sign_in(cluster: LiveCluster) -> None:
    client = Client()
    page = text_of(client.get(LIST))
    assert "Sign in to launch experiments." in page
    assert not any(button in page for button in BUTTONS)
    answer = client.post(f"{SEED}launch/", {})
    assert answer["Location"].startswith("/sign-in/?next=/experiments/")
    assert jobs_of(cluster) == []


def test_an_account_without_the_permission_may_not(cluster: LiveCluster) -> None:
    client = Client()
    client.force_login(account("bob", allowed=False))
    assert "Ask an administrator" in text_of(client.get(LIST))
    assert client.post(f"{SEED}launch/", {}).status_code == 403
    assert jobs_of(cluster) == []


@pytest.mark.parametrize("path", [f"{SEED}launch/", SEED, f"{SEED}manifest/", CUSTOM, "/sign-in/", "/sign-out/"])
def test_every_post_needs_the_token_against_forgery(cluster: LiveCluster, path: str) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(account())
    answer = client.post(path, form())
    assert answer.status_code == 403
    assert "Reload its page and send it again" in text_of(answer)
    assert "/experiments/" in text_of(answer)  # it leads on
    assert jobs_of(cluster) == []


def test_signing_in_and_out(cluster: LiveCluster) -> None:
    account(password="a long password")
    client = Client()
    page = client.post("/sign-in/", {"username": "ann", "password": "wrong"})
    assert "do not belong together" in text_of(page)
    answer = client.post("/sign-in/", {"username": "ann", "password": "a long password", "next": SEED})
    assert answer["Location"] == SEED
    cookie = answer.cookies["sessionid"]
    assert (cookie["httponly"], cookie["samesite"]) == (True, "Lax")
    assert "Signed in as ann." in text_of(client.get(LIST))
    assert client.post("/sign-in/", {"next": "https://example.org/"})["Location"] == LIST
    assert client.post("/sign-out/")["Location"] == LIST
    assert "Sign in to launch" in text_of(client.get(LIST))


LOCAL = {"REMOTE_ADDR": "127.0.0.1", "HTTP_HOST": "127.0.0.1:8000"}


@pytest.mark.parametrize(
    "request_of",
    [
        LOCAL | {"REMOTE_ADDR": "192.0.2.7"},
        LOCAL | {"REMOTE_ADDR": ""},
        LOCAL | {"HTTP_X_FORWARDED_FOR": "127.0.0.1"},
        LOCAL | {"HTTP_FORWARDED": "for=127.0.0.1"},
        LOCAL | {"HTTP_HOST": "demo.example.org"},
        LOCAL | {"HTTP_HOST": "demo.example.org:8000"},
    ],
)
def test_the_demos_visitor_comes_from_this_machine_alone(
    cluster: LiveCluster, settings: Any, request_of: dict[str, str]
) -> None:
    settings.RESTARTSCOPE_DEMO_SIGN_IN = True
    settings.ALLOWED_HOSTS = ["*"]
    page = text_of(Client().get(LIST, **request_of))
    assert "Sign in to launch experiments." in page
    for host in ("127.0.0.1:8000", "localhost", "[::1]:8000"):
        page = text_of(Client().get(LIST, **(LOCAL | {"HTTP_HOST": host})))
        assert "Signed in as demo." in page
        assert 'action="/experiments/seed/launch/"' in page
    assert User.objects.get(username="demo").has_usable_password() is False


def test_without_the_setting_nobody_is_signed_in(cluster: LiveCluster) -> None:
    assert "Sign in to launch experiments." in text_of(Client().get(LIST, **LOCAL))


# --- a run


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


# --- a manifest of one's own


def own(manifest: Any, **changes: Any) -> dict[str, Any]:
    text = manifest if isinstance(manifest, str) else yaml.safe_dump(manifest)
    return {"manifest": text, "do": "launch", "sent": "1", "namespace": "default", "token": str(uuid.uuid4())} | changes


def test_a_pasted_manifest_is_launched(cluster: LiveCluster, person: Client) -> None:
    sent = own(tfjob("mine", "default"))
    answer = person.post(CUSTOM, sent)
    assert answer.status_code == 302
    (job,) = jobs_of(cluster)
    assert job["metadata"]["labels"][RUN] == sent["token"]
    page = text_of(person.get(answer["Location"]))
    assert "A manifest of your own" in page


def test_a_file_is_uploaded_shown_and_tried(cluster: LiveCluster, person: Client) -> None:
    upload = SimpleUploadedFile("job.json", yaml.safe_dump(tfjob("from-file", "default")).encode())
    page = text_of(person.post(CUSTOM, own("", do="try", file=upload)))
    assert "from-file" in page
    assert "its dry run found nothing wrong" in page
    assert jobs_of(cluster) == []


def test_the_example_can_be_launched_as_it_is(cluster: LiveCluster, person: Client) -> None:
    assert person.post(CUSTOM, own(EXAMPLE)).status_code == 302
    assert len(jobs_of(cluster, "pytorchjobs")) == 1


def with_pod(**changes: Any) -> dict[str, Any]:
    job = tfjob("mine", "default")
    spec = job["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]
    container = changes.pop("container", {})
    spec.update(changes)
    spec["containers"][0].update(container)
    return job


def changed(**changes: Any) -> dict[str, Any]:
    return tfjob("mine", "default") | changes


def elastic(most: int) -> dict[str, Any]:
    """A PyTorchJob that may grow."""
    job = yaml.safe_load(EXAMPLE)
    job["spec"]["elasticPolicy"] = {"minReplicas": 1, "maxReplicas": most}
    assert isinstance(job, dict)
    return job


CPU_50 = {"resources": {"limits": {"cpu": "50"}}}
HOST_PROCESS = {"windowsOptions": {"hostProcess": True}}
SYSTEM_GANG = {
    "tfReplicaSpecs": {},
    "runPolicy": {"schedulingPolicy": {"priorityClass": "system-cluster-critical"}},
}
BOMB = "a: &a [x, x, x, x]\nb: &b [*a, *a, *a, *a]\nc: [*b, *b, *b, *b]\n"
WRONG = {
    "empty": ("", "There is no object in it."),
    "no yaml": ("{", "This is no YAML or JSON"),
    "a text": ("hello", "must be an object with apiVersion"),
    "a pod": ({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": {}}, "Only training jobs"),
    "aliases": (BOMB, "anchors and aliases are not taken"),
    "depth": ("[" * 5000, "nested too deeply"),
    "a key twice": ("a: 1\na: 2\n", "is there twice"),
    "a tag": ("!!python/object/apply:os.system ['true']", "This is no YAML or JSON"),
    "not a number": ("a: .nan\n", "This is no YAML or JSON"),
    "too long": ("#" * 70_000, "longer than 64 kB"),
    "a control character": ("a: \x00", "This is no YAML or JSON"),
    "keys that are numbers": ("1: 2\n", "must be an object with apiVersion"),
    "another namespace": (changed(metadata={"name": "mine", "namespace": "kube-system"}), "must be the namespace"),
    "a hostile name": (changed(metadata={"name": "<b>"}), "metadata.name must be"),
    "no spec": (changed(spec=None), "must be an object with apiVersion"),
    "labels": (changed(metadata={"name": "mine", "labels": {"a": 1}}), "must hold texts"),
    "the host's network": (with_pod(hostNetwork=True), "hostNetwork is not taken"),
    "the host's files": (with_pod(volumes=[{"name": "x", "hostPath": {"path": "/"}}]), "hostPath is not taken"),
    "another account": (with_pod(serviceAccountName="admin"), "serviceAccountName is not taken"),
    "privileges": (with_pod(container={"securityContext": {"privileged": True}}), "privileged is not taken"),
    "too much CPU": (with_pod(container={"resources": {"limits": {"cpu": "900"}}}), "thousandths of a core"),
    "too much memory": (with_pod(container={"resources": {"requests": {"memory": "1Ti"}}}), "MiB of memory"),
    "CPU in a power of ten": (with_pod(container={"resources": {"limits": {"cpu": "1e3"}}}), "2000000 thousandths"),
    "CPU with a sign": (with_pod(container={"resources": {"limits": {"cpu": "+50"}}}), "100000 thousandths"),
    "CPU with a point": (with_pod(container={"resources": {"limits": {"cpu": "50."}}}), "100000 thousandths"),
    "CPU in billionths": (with_pod(container={"resources": {"limits": {"cpu": "50000000000n"}}}), "100000 thousandths"),
    "CPU in E": (with_pod(container={"resources": {"limits": {"cpu": "1E"}}}), "thousandths of a core"),
    "CPU beyond all": (with_pod(container={"resources": {"limits": {"cpu": "9" * 5000}}}), "thousandths of a core"),
    "CPU of an init container": (
        with_pod(initContainers=[{"name": "i", **CPU_50}]),
        "100000 thousandths",
    ),
    "CPU of the pod": (with_pod(**CPU_50), "100000 thousandths"),
    "memory in Pi": (with_pod(container={"resources": {"limits": {"memory": "1Pi"}}}), "MiB of memory"),
    "many written as a float": (tfjob("mine", "default", workers=5000.0), "5000 replicas; at most"),
    "many beyond all": (tfjob("mine", "default", workers=10**4000), "replicas; at most"),
    "an elastic job": (elastic(1000), "1000 replicas; at most"),
    "a Windows host": (with_pod(securityContext=HOST_PROCESS), "hostProcess is not taken"),
    "a Windows container": (with_pod(container={"securityContext": HOST_PROCESS}), "hostProcess is not taken"),
    "the system's priority": (with_pod(priorityClassName="system-node-critical"), "Priority classes of the system"),
    "the system's priority for a gang": (changed(spec=SYSTEM_GANG), "Priority classes of the system"),
    "one name twice": (yaml.safe_dump_all([tfjob("a", "default"), tfjob("a", "default")]), "the same kind and name"),
    "a field with a slip": (with_pod(restartPolcy="Never"), "unknown field"),
    "a null character": (changed(metadata={"name": "mine", "annotations": {"a": "x\0y"}}), "a null character"),
    "half a character": ('a: "\\ud800"', "half of one"),
    "too many": (tfjob("mine", "default", workers=5000), "replicas; at most"),
    "six objects": (yaml.safe_dump_all([tfjob(f"a{n}", "default") for n in range(6)]), "At most 5 objects"),
    "a wrong field": (changed(spec={"tfReplicaSpecs": {"Worker": {"replicas": "many"}}}), "The API server: <q>"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_manifest_is_told_and_not_sent(cluster: LiveCluster, person: Client, case: str) -> None:
    manifest, words = WRONG[case]
    answer = person.post(CUSTOM, own(manifest))
    assert answer.status_code == 400
    assert words in text_of(answer)
    assert jobs_of(cluster) == []
    assert not ExperimentRun.objects.exists()


@pytest.mark.parametrize("text", ["\U0001f600", "\\u0000", "\\ud800"])
def test_odd_but_whole_texts_are_taken(cluster: LiveCluster, person: Client, text: str) -> None:
    manifest = changed(metadata={"name": "mine", "annotations": {"a": text}})
    assert person.post(CUSTOM, own(manifest)).status_code == 302
    assert jobs_of(cluster)[0]["metadata"]["annotations"]["a"] == text


def test_a_field_name_that_no_header_can_hold_is_told_as_well(cluster: LiveCluster, writer: Writer) -> None:
    writer.create(tfjob("mine", "default") | {"a\0b": 1}, "default", dry_run=True)
    with pytest.raises(Refused, match="unknown field"):
        writer.create(tfjob("mine", "default") | {"a\0b": 1}, "default", dry_run=True, strict=True)


def test_a_body_beyond_the_sites_limit_is_told(cluster: LiveCluster, person: Client) -> None:
    answer = person.post(CUSTOM, own("x" * 5_000_000))
    assert answer.status_code == 413
    assert "longer than what this site takes" in text_of(answer)


def test_what_the_server_keeps_of_an_object_is_left_out(cluster: LiveCluster, person: Client) -> None:
    """As ``kubectl get -o yaml`` writes it."""
    told = {"uid": "x", "resourceVersion": "7", "ownerReferences": [{"uid": "x"}], "name": "mine"}
    listed = {"apiVersion": "v1", "kind": "List", "items": [changed(metadata=told, status={"conditions": []})]}
    assert person.post(CUSTOM, own(listed)).status_code == 302
    (job,) = jobs_of(cluster)
    assert "ownerReferences" not in job["metadata"]


def test_the_exit_codes_lead_to_the_experiment(cluster: LiveCluster, person: Client) -> None:
    page = text_of(person.get("/exit-codes/"))
    link = re.search(r'id="code-137".*?href="(/experiments/[^"]+)"', page)
    assert link
    shown = text_of(person.get(link[1].replace("&amp;", "&")))
    assert re.search(r'id="field-codes"[^>]*value="137"', shown)


def test_a_job_that_no_run_created_has_no_panel(cluster: LiveCluster, person: Client) -> None:
    with Follower(cluster.source("lab")):
        wait_until(cluster.is_watched)
        cluster.call(cluster.cluster.apply, tfjob("plain", "default"))
        address = "/jobs/lab/default/TFJob/plain/"
        wait_until(lambda: person.get(address).status_code == 200)
    assert 'id="checklist"' not in text_of(person.get(address))
