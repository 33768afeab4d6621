"""The option to run without root: on by itself where the namespace enforces restricted pod security, and the form says
what was found."""

import html
import json
import re
import threading
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from django.utils import translation

from jobs.experiments.catalogue import experiments
from jobs.experiments.clusters import READ_EACH, pod_security
from jobs.experiments.models import ExperimentRun
from jobs.experiments.parameters import defaults
from jobs.experiments.writes import Writer, cluster_writer
from jobs.web.experiments import places
from simcluster.options import Fault, parse_forbidden
from simcluster.resources import NAMESPACES
from tests.experiments.pages import SEED, form, jobs_of, text_of
from tests.experiments.test_launch_answers import Scripted
from tests.experiments.test_run_command import command
from tests.watch.live import LiveCluster

pytestmark = pytest.mark.django_db(transaction=True)

LABEL = "pod-security.kubernetes.io/enforce"
NORMAL = "/experiments/pt-normal/"
ON = {"restricted": "on"}
IS_ENFORCED = "This namespace enforces restricted pod security, so this is on unless you switch it off."
NO_ANSWER = "It is not known yet what this namespace enforces: the cluster has not answered."
SAID = "It is not known what this namespace enforces. The cluster says: Internal error occurred: a fault"
MAY_NOT_READ = "It is not known what this namespace enforces: this site may not read its labels."


def enforcing(cluster: LiveCluster, level: str | None, namespace: str = "default") -> None:
    cluster.call(cluster.store.ensure_namespace, namespace)
    labels = {"metadata": {"labels": {LABEL: level}}}
    cluster.call(cluster.store.patch_merge, NAMESPACES, None, namespace, labels)
    places.forget()


def box(page: str) -> tuple[bool, str]:
    """Whether the box is ticked, and what the hidden field says was found."""
    ticked = re.search(r'<input id="field-restricted" name="restricted" type="checkbox" value="on"( checked)?', page)
    found = re.search(r'<input type="hidden" name="enforced" value="([^"]*)">', page)
    assert ticked and found
    return bool(ticked[1]), html.unescape(found[1])


def runs_as(job: dict[str, Any]) -> int | None:
    """The user of a job's workers."""
    spec = job["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]
    return (spec.get("securityContext") or {}).get("runAsUser")


@pytest.mark.parametrize(
    ("level", "ticked", "found", "words"),
    [
        ("restricted", True, "restricted", IS_ENFORCED),
        ("baseline", False, "baseline", "What this namespace enforces by its label: baseline."),
        (None, False, "", "What this namespace enforces by its label: nothing."),
        ("odd", True, "restricted", IS_ENFORCED),
    ],
)
def test_the_form_goes_by_the_namespaces_label_and_says_what_it_found(
    cluster: LiveCluster, person: Client, level: str | None, *, ticked: bool, found: str, words: str
) -> None:
    """A level that the API server does not know is the strictest one to it."""
    enforcing(cluster, level)
    page = text_of(person.get(SEED))
    assert box(page) == (ticked, found)
    assert words in page
    assert ("runAsNonRoot: true" in page) is ticked
    assert box(text_of(person.get(SEED, {"restricted": "on"})))[0], "an address that says otherwise is followed"
    assert not box(text_of(person.get(SEED, {"restricted": "off"})))[0]


def test_it_says_so_where_the_labels_may_not_be_read(cluster: LiveCluster, person: Client) -> None:
    enforcing(cluster, "restricted")
    cluster.options.forbidden = parse_forbidden(["namespaces"])
    page = text_of(person.get(SEED))
    assert box(page) == (False, "?")
    assert MAY_NOT_READ in page


@pytest.fixture
def silent(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A cluster that does not answer while a page waits for it."""
    over = threading.Event()

    def answer(*_: Any) -> places.Answer:
        over.wait(60)
        return places.Answer()

    places.forget()
    with monkeypatch.context() as patched:
        patched.setattr(places, "_answer", answer)
        patched.setattr(places, "WAIT", 0.01)
        yield
        over.set()
    places.forget()


@pytest.mark.usefixtures("silent")
@pytest.mark.parametrize("sent", [ON, {}])
def test_a_form_is_taken_as_it_was_sent_while_the_cluster_is_silent(
    cluster: LiveCluster, person: Client, sent: dict[str, str]
) -> None:
    page = text_of(person.post(SEED, form(do="show", enforced="restricted", **sent)))
    assert box(page) == (bool(sent), "?restricted")
    assert NO_ANSWER in page
    assert MAY_NOT_READ not in page
    again = text_of(person.post(SEED, form(do="show", enforced=box(page)[1], **sent)))
    assert box(again) == box(page)
    person.post(SEED, form(enforced="restricted", **sent))
    (job,) = jobs_of(cluster)
    assert runs_as(job) == (65534 if sent else None)


@pytest.mark.parametrize("shown", ["?" * 3 + "x" * 1000, "x", '"><b>', "restricted?"])
def test_an_odd_finding_is_no_harm(person: Client, shown: str) -> None:
    page = text_of(person.post(SEED, form(do="show", namespace="gone", enforced=shown, **ON)))
    assert box(page)[0]
    assert len(box(page)[1]) <= 21
    assert "<b>" not in page


@pytest.mark.parametrize("code", [500, 503, 429])
def test_labels_that_cannot_be_read_leave_the_namespaces_known(cluster: LiveCluster, person: Client, code: int) -> None:
    enforcing(cluster, "restricted")
    person.get(SEED)
    places.forget()
    cluster.options.faults.append(Fault(code, 1000, resource=NAMESPACES))
    page = text_of(person.get(SEED))
    assert '<select id="field-namespace"' in page
    assert "It is not known what this namespace enforces. The cluster says:" in page
    assert MAY_NOT_READ not in page
    assert (SAID in page) is (code == 500), "in its own words"
    cluster.options.faults.clear()
    places.forget()
    cluster.options.faults.append(Fault(code, 1, resource=NAMESPACES))
    assert box(text_of(person.get(SEED))) == (True, "restricted"), "asked once more of the one that is chosen"


def test_the_usual_and_the_chosen_one_of_many_namespaces_are_read(
    cluster: LiveCluster, person: Client, settings: Any
) -> None:
    """Where they may not be listed each is read by itself, so not all are."""
    many = [f"a-{number}" for number in range(10, 10 + READ_EACH + 5)]
    for name in (*many, "default"):
        enforcing(cluster, "restricted", name)
    settings.RESTARTSCOPE_NAMESPACES = (*many, "default")
    cluster.options.forbidden = parse_forbidden(["namespaces:list"])
    assert box(text_of(person.get(SEED))) == (True, "restricted")
    for name in many:
        assert box(text_of(person.get(SEED, {"namespace": name}))) == (True, "restricted")
    person.post(f"{SEED}launch/", {"token": str(uuid.uuid4())})
    (job,) = jobs_of(cluster)
    assert (job["metadata"]["namespace"], runs_as(job)) == ("default", 65534)


def test_the_right_to_read_one_namespace_is_enough(cluster: LiveCluster) -> None:
    enforcing(cluster, "restricted")
    cluster.options.forbidden = parse_forbidden(["namespaces:list"])
    with cluster_writer(cluster.source("lab")) as writer:
        assert writer.namespaces() is None
        assert pod_security(["default", "gone"], writer) == {"default": "restricted"}


def test_the_workers_init_container_is_spoken_of_where_there_is_one(cluster: LiveCluster, person: Client) -> None:
    enforcing(cluster, "restricted")
    assert "--pytorch-init-container-template-file" in text_of(person.get(NORMAL))
    assert "--pytorch-init-container-template-file" not in text_of(person.get(SEED))
    enforcing(cluster, None)
    assert "--pytorch-init-container-template-file" not in text_of(person.get(NORMAL))


@pytest.mark.parametrize(
    ("shown", "sent", "namespace", "ticked"),
    [
        ("", {}, "kept", True),  # it follows to the stricter namespace
        ("restricted", ON, "default", False),  # and back
        ("", ON, "kept", True),  # somebody ticked it
        ("", ON, "default", True),
        ("restricted", {}, "kept", False),  # somebody cleared it, knowing what the namespace enforces
        ("restricted", {}, "default", False),
        ("restricted", ON, "gone", True),  # nothing is known of it
        ("restricted", {}, "gone", False),
        ("", ON, "gone", True),
        ("", {}, "gone", False),
        ("?", ON, "gone", True),
        ("?", {}, "kept", True),  # what was not known is
        ("?restricted", ON, "default", False),
        ("?restricted", {}, "kept", False),  # cleared before it was not known
        ("?restricted", ON, "gone", True),
    ],
)
def test_a_box_that_nobody_changed_follows_to_another_namespace(
    cluster: LiveCluster, person: Client, shown: str, *, sent: dict[str, str], namespace: str, ticked: bool
) -> None:
    enforcing(cluster, "restricted", "kept")
    asked = form(do="show", namespace=namespace, enforced=shown, **sent)
    page = text_of(person.post(SEED, asked))
    assert box(page)[0] is ticked
    fragment = text_of(person.post(f"{SEED}manifest/", asked))
    assert ("runAsNonRoot: true" in fragment) is ticked
    moved = box(page)[1] != shown
    assert ('id="row-restricted" hx-swap-oob="true"' in fragment) is moved, "only then the page's box is replaced"
    if moved:
        assert box(fragment) == box(page)


def test_without_scripts_the_launch_follows_too(cluster: LiveCluster, person: Client) -> None:
    enforcing(cluster, "restricted", "kept")
    person.post(SEED, form(namespace="kept", enforced=""))
    (job,) = jobs_of(cluster)
    assert runs_as(job) == 65534
    assert ExperimentRun.objects.get().values["restricted"] is True


def test_a_client_that_knows_nothing_of_it_gets_what_it_sent(cluster: LiveCluster, person: Client) -> None:
    enforcing(cluster, "restricted")
    person.post(SEED, form())
    (job,) = jobs_of(cluster)
    assert runs_as(job) is None


@pytest.mark.parametrize(("level", "user"), [("restricted", 65534), ("baseline", None)])
def test_one_click_goes_by_the_label(cluster: LiveCluster, person: Client, level: str, user: int | None) -> None:
    enforcing(cluster, level)
    person.post(f"{SEED}launch/", {"token": str(uuid.uuid4())})
    (job,) = jobs_of(cluster)
    assert runs_as(job) == user


@pytest.mark.parametrize(
    ("given", "user"),
    [((), 65534), (("--set", "restricted=off"), None), (("--namespace", "open"), None), (("--set", "code=143"), 65534)],
)
def test_the_command_goes_by_it_as_well(cluster: LiveCluster, given: tuple[str, ...], user: int | None) -> None:
    enforcing(cluster, "restricted")
    enforcing(cluster, None, "open")
    status, _found, err = command("run", "seed", "--output", "json", *given)
    assert status == 0, err
    (job,) = jobs_of(cluster)
    assert runs_as(job) == user


def test_it_is_said_in_chinese(cluster: LiveCluster, person: Client) -> None:
    enforcing(cluster, "restricted")
    with translation.override("zh-hans"):
        page = text_of(person.get(SEED, headers={"accept-language": "zh-hans"}))
    assert "不以 root 运行" in page
    assert IS_ENFORCED not in page


@pytest.mark.parametrize("labels", [None, [], "x", {LABEL: 5}, {LABEL: ["restricted"]}])
def test_odd_labels_are_no_way_around_it(labels: Any) -> None:
    """What is no label is none; a level that is no text cannot be read, and the strictest one is meant."""
    items = {"items": [{"metadata": {"name": "a", "labels": labels}}]}
    found = Writer(Scripted(200, json.dumps(items).encode())).namespaces()  # type: ignore[arg-type]
    assert found == {"a": "restricted" if isinstance(labels, dict) else ""}


def test_every_experiment_has_the_option_and_it_is_off() -> None:
    assert {defaults(one)["restricted"] for one in experiments().values()} == {False}
