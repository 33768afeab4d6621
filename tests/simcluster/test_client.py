"""The official Kubernetes client against the server: what it can do must simply work."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client, config, dynamic, watch
from kubernetes.client.exceptions import ApiException

from simcluster.kubeconfig import kubeconfig
from simcluster.options import Options
from simcluster.resources import PODS
from tests.simcluster.simserver import SimServer, pod, tfjob

GROUP = ("kubeflow.org", "v1", "wire", "tfjobs")


@pytest.fixture
def api(server: SimServer, tmp_path: Path) -> Iterator[client.ApiClient]:
    file = tmp_path / "kubeconfig"
    file.write_text(kubeconfig(server.url, namespace="wire"))
    with config.new_client_from_config(str(file)) as made:
        yield made


def test_version_and_discovery(api: client.ApiClient) -> None:
    assert client.VersionApi(api).get_code().minor == "36"
    assert "kubeflow.org" in [group.name for group in client.ApisApi(api).get_api_versions().groups]
    names = [resource.name for resource in client.CoreV1Api(api).get_api_resources().resources]
    assert {"pods", "pods/status", "nodes", "namespaces", "events"} <= set(names)


def test_pods_from_creation_to_deletion(api: client.ApiClient) -> None:
    core = client.CoreV1Api(api)
    created = core.create_namespaced_pod("wire", pod("p", node="las1"))
    assert created.status.phase == "Pending"
    assert core.read_namespaced_pod("p", "wire").metadata.uid == created.metadata.uid
    patched = core.patch_namespaced_pod("p", "wire", {"metadata": {"labels": {"a": "b"}}})
    assert patched.metadata.labels == {"a": "b"}
    patched.metadata.annotations = {"c": "d"}
    replaced = core.replace_namespaced_pod("p", "wire", patched)
    assert replaced.metadata.annotations == {"c": "d"}
    core.patch_namespaced_pod_status("p", "wire", {"status": {"phase": "Running"}})
    assert core.list_pod_for_all_namespaces(field_selector="status.phase=Running").items[0].metadata.name == "p"
    assert core.list_namespaced_pod("wire", label_selector="a=c").items == []
    options = client.V1DeleteOptions(preconditions=client.V1Preconditions(uid=created.metadata.uid))
    marked = core.delete_namespaced_pod("p", "wire", body=options)
    assert marked.metadata.deletion_grace_period_seconds == 5
    core.delete_namespaced_pod("p", "wire", grace_period_seconds=0)
    assert core.list_namespaced_pod("wire").items == []


def test_paging(api: client.ApiClient, server: SimServer) -> None:
    server.call(lambda: [server.store.create(PODS, pod(f"p{number}")) for number in range(7)])
    core = client.CoreV1Api(api)
    page = core.list_pod_for_all_namespaces(limit=3)
    found = [item.metadata.name for item in page.items]
    assert page.metadata.remaining_item_count == 4
    while page.metadata._continue:
        page = core.list_pod_for_all_namespaces(limit=3, _continue=page.metadata._continue)
        found += [item.metadata.name for item in page.items]
    assert found == [f"p{number}" for number in range(7)]


def test_watch_of_pods(api: client.ApiClient) -> None:
    core = client.CoreV1Api(api)
    core.create_namespaced_pod("wire", pod("before"))
    version = core.list_namespaced_pod("wire").metadata.resource_version
    core.create_namespaced_pod("wire", pod("after", node="las1"))
    core.delete_namespaced_pod("after", "wire", grace_period_seconds=0)
    stream = watch.Watch().stream(core.list_namespaced_pod, "wire", resource_version=version, timeout_seconds=1)
    seen = [(event["type"], event["object"].metadata.name) for event in stream]
    assert seen == [("ADDED", "after"), ("MODIFIED", "after"), ("DELETED", "after")]
    states = watch.Watch().stream(core.list_namespaced_pod, "wire", timeout_seconds=1)
    assert [(event["type"], event["object"].metadata.name) for event in states] == [("ADDED", "before")]


def test_watch_from_a_compacted_version_raises_gone(api: client.ApiClient, server: SimServer) -> None:
    server.call(lambda: [server.store.create(PODS, pod(f"p{number}")) for number in range(3)])
    server.control("compact")
    core = client.CoreV1Api(api)
    with pytest.raises(ApiException) as caught:
        list(watch.Watch().stream(core.list_namespaced_pod, "wire", resource_version="3", timeout_seconds=1))
    assert caught.value.status == 410


def test_custom_objects(api: client.ApiClient) -> None:
    custom = client.CustomObjectsApi(api)
    created = custom.create_namespaced_custom_object(*GROUP, tfjob())
    status = {"conditions": [{"type": "Created", "status": "True"}]}
    stored = custom.patch_namespaced_custom_object_status(
        *GROUP, "tftest", {"status": status}, _content_type="application/merge-patch+json"
    )
    assert stored["status"] == status
    suspend = {"spec": {"runPolicy": {"suspend": True}}}
    patched = custom.patch_namespaced_custom_object(
        *GROUP, "tftest", suspend, _content_type="application/merge-patch+json"
    )
    assert (patched["metadata"]["generation"], patched["status"]) == (2, status)
    replaced = custom.replace_namespaced_custom_object(*GROUP, "tftest", {**patched, "spec": created["spec"]})
    assert replaced["metadata"]["generation"] == 3
    listed = custom.list_cluster_custom_object("kubeflow.org", "v1", "tfjobs")
    assert [item["metadata"]["name"] for item in listed["items"]] == ["tftest"]
    stream = watch.Watch().stream(custom.list_namespaced_custom_object, *GROUP, timeout_seconds=1)
    assert [event["object"]["metadata"]["uid"] for event in stream] == [created["metadata"]["uid"]]
    assert custom.delete_namespaced_custom_object(*GROUP, "tftest")["status"] == "Success"


@pytest.mark.parametrize(
    ("act", "code", "reason"),
    [
        (lambda custom: custom.get_namespaced_custom_object(*GROUP, "nope"), 404, "NotFound"),
        (lambda custom: custom.create_namespaced_custom_object(*GROUP, tfjob("there")), 409, "AlreadyExists"),
        (lambda custom: custom.create_namespaced_custom_object(*GROUP, tfjob("Bad")), 422, "Invalid"),
        (lambda custom: custom.list_cluster_custom_object("example.com", "v1", "things"), 404, "404 page"),
    ],
)
def test_errors(api: client.ApiClient, act: Callable[[Any], Any], code: int, reason: str) -> None:
    custom = client.CustomObjectsApi(api)
    custom.create_namespaced_custom_object(*GROUP, tfjob("there"))
    with pytest.raises(ApiException) as caught:
        act(custom)
    assert caught.value.status == code
    assert reason in str(caught.value.body)


def test_dynamic_client(api: client.ApiClient, tmp_path: Path) -> None:
    dyn = dynamic.DynamicClient(api, cache_file=str(tmp_path / "discovery"))
    jobs = dyn.resources.get(api_version="kubeflow.org/v1", kind="TFJob")
    jobs.create(body=tfjob(), namespace="wire")
    job = jobs.get(name="tftest", namespace="wire")
    assert job.spec.tfReplicaSpecs.Worker.replicas == 3
    patch = {"metadata": {"labels": {"a": "b"}}}
    patched = jobs.patch(body=patch, name="tftest", namespace="wire", content_type="application/merge-patch+json")
    assert patched.metadata.labels.a == "b"
    groups = dyn.resources.search(kind="PodGroup")
    assert sorted(group.group_version for group in groups if not group.kind.endswith("List")) == [
        "scheduling.volcano.sh/v1beta1",
        "scheduling.x-k8s.io/v1alpha1",
    ]
    events = [event["type"] for event in jobs.watch(namespace="wire", timeout=1)]
    assert events == ["ADDED"]
    jobs.delete(name="tftest", namespace="wire")
    assert jobs.get(namespace="wire").items == []


def test_access_review(api: client.ApiClient, server: SimServer) -> None:
    server.control("forbidden", resources=["pods:list"])
    attributes = client.V1ResourceAttributes(verb="list", resource="pods", group="")
    spec = client.V1SelfSubjectAccessReviewSpec(resource_attributes=attributes)
    review = client.V1SelfSubjectAccessReview(spec=spec)
    made = client.AuthorizationV1Api(api).create_self_subject_access_review(review)
    assert made.status.allowed is False


def test_bearer_token_from_the_kubeconfig(start_server: Callable[..., SimServer], tmp_path: Path) -> None:
    server = start_server(Options(token="secret"))
    file = tmp_path / "kubeconfig"
    for token, code in (("secret", 200), ("wrong", 401)):
        file.write_text(kubeconfig(server.url, token))
        with config.new_client_from_config(str(file)) as api:
            if code == 200:
                assert client.CoreV1Api(api).list_namespace().items
                continue
            with pytest.raises(ApiException) as caught:
                client.CoreV1Api(api).list_namespace()
            assert caught.value.status == code
