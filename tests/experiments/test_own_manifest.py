"""The page for a manifest of one's own: what is taken, and what is told of the rest."""

import uuid
from typing import Any

import pytest
import yaml
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from jobs.experiments.labels import RUN
from jobs.experiments.models import ExperimentRun
from jobs.experiments.writes import Refused, Writer
from jobs.web.views.custom import EXAMPLE
from tests.experiments.pages import CUSTOM, jobs_of, text_of
from tests.experiments.small import tfjob
from tests.watch.live import LiveCluster

pytestmark = pytest.mark.django_db(transaction=True)


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
