"""Bodies that are not what they should be, and those in YAML and protobuf; logs; quotas; acts."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcluster import protobuf
from simcluster.resources import PODS
from tests.simcluster.simserver import SimServer, pod, tfjob

Obj = dict[str, Any]
JOBS = "/apis/kubeflow.org/v1/namespaces/wire/tfjobs"
POD_PATH = "/api/v1/namespaces/wire/pods"
YAML = "application/yaml"


def test_yaml(server: SimServer) -> None:
    text = b"""
apiVersion: kubeflow.org/v1
kind: TFJob
metadata: {name: y, annotations: {when: 2026-11-29, "on": "yes"}}
spec:
  tfReplicaSpecs:
    Worker: {replicas: 2, template: {spec: {containers: [{name: tensorflow, image: x}]}}}
"""
    created = server.request("POST", JOBS, text, YAML).json()
    assert created["spec"]["tfReplicaSpecs"]["Worker"]["replicas"] == 2
    assert created["metadata"]["annotations"] == {"when": "2026-11-29", "on": "yes"}


@pytest.mark.parametrize(
    "text",
    [
        b"a: [",
        b"a: b: c",
        b"\x00",
        b"\xff",
        b"- 1",
        b"a: &x [1]\nb: *x",
        b"!!python/object/apply:os.system [id]",
        b"? {a: 1}\n: 2",
    ],
)
def test_malformed_yaml(shared_server: SimServer, text: bytes) -> None:
    answer = shared_server.request("POST", JOBS, text, YAML)
    assert (answer.status, answer.json()["reason"]) == (400, "BadRequest"), answer.body


@pytest.mark.parametrize("content_type", ["text/plain", "application/xml", protobuf.MEDIA_TYPE])
def test_other_types_of_body(shared_server: SimServer, content_type: str) -> None:
    answer = shared_server.request("POST", JOBS, b"hello", content_type)
    assert (answer.status, answer.json()["reason"]) == (415, "UnsupportedMediaType")


def varint(number: int) -> bytes:
    out = b""
    while number > 0x7F:
        out, number = out + bytes([number & 0x7F | 0x80]), number >> 7
    return out + bytes([number])


def message(number: int, content: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(content)) + content


def envelope(api_version: bytes, kind: bytes, raw: bytes) -> bytes:
    return protobuf.MAGIC + message(1, message(1, api_version) + message(2, kind)) + message(2, raw)


def test_protobuf() -> None:
    metadata = message(1, b"n") + message(11, message(1, b"k") + message(2, b"v")) + message(14, b"f")
    options = varint(1 << 3) + varint((1 << 64) - 5) + message(5, b"All")
    body = envelope(b"policy/v1", b"Eviction", message(1, metadata) + message(2, options))
    assert protobuf.decoded(body) == {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": "n", "labels": {"k": "v"}, "finalizers": ["f"]},
        "deleteOptions": {"gracePeriodSeconds": -5, "dryRun": ["All"]},
    }
    assert protobuf.decoded(envelope(b"v1", b"Pod", b"")) is None
    assert protobuf.decoded(body[:-3]) is None


@given(st.binary(max_size=60))
def test_hostile_protobuf(data: bytes) -> None:
    for kind in (b"Eviction", b"ResourceQuota", b"SelfSubjectAccessReview"):
        protobuf.decoded(envelope(b"v1", kind, data))
        protobuf.decoded(protobuf.MAGIC + data)


def test_objects_of_another_kind(shared_server: SimServer) -> None:
    other = {**tfjob(), "kind": "Pod"}
    assert shared_server.request("POST", JOBS, other).status == 400
    assert shared_server.request("POST", JOBS, tfjob(namespace="default")).status == 400
    unnamed = tfjob("")
    answer = shared_server.request("POST", JOBS, unnamed)
    assert (answer.status, answer.json()["details"]["causes"][0]["field"]) == (422, "metadata.name")


@pytest.mark.parametrize(
    "query",
    [
        "resourceVersionMatch=Exact",
        "resourceVersionMatch=Sometimes&resourceVersion=1",
        "resourceVersionMatch=Exact&resourceVersion=0",
        "resourceVersionMatch=Exact&resourceVersion=1&continue=e30",
        "watch=1&sendInitialEvents=true",
        "watch=1&resourceVersionMatch=NotOlderThan&resourceVersion=1",
    ],
)
def test_versions_that_do_not_go_together(shared_server: SimServer, query: str) -> None:
    answer = shared_server.get(f"{POD_PATH}?{query}")
    assert (answer.status, answer.json()["reason"]) == (422, "Invalid")
    assert answer.json()["details"]["kind"] == "ListOptions"


class Lines:
    """A source of logs that a test fills."""

    def __init__(self) -> None:
        self.entries = [(1_795_956_215.5, "first"), (1_795_956_220.0, "second é"), (1_795_956_230.25, "third")]

    def entries_of(self, pod_uid: str, container: str, previous: bool = False) -> list[tuple[float, str]]:
        return [(1.0, "before")] if previous else self.entries


@pytest.fixture
def printing(server: SimServer) -> SimServer:
    server.api._logs = Lines()
    server.request("POST", POD_PATH, pod("p", node="las1"))
    return server


def set_state(server: SimServer, state: Obj, last: Obj | None = None) -> None:
    status = {"name": "tensorflow", "state": state, "lastState": last or {}, "restartCount": 0}
    body = {"status": {"phase": "Running", "containerStatuses": [status]}}
    server.request("PATCH", f"{POD_PATH}/p/status", body, "application/merge-patch+json")


def test_logs(printing: SimServer) -> None:
    path = f"{POD_PATH}/p/log"
    waiting = printing.get(path)
    assert (waiting.status, waiting.json()["message"]) == (400, 'container "tensorflow" in pod "p" is not available')
    set_state(printing, {"waiting": {"reason": "ContainerCreating"}})
    assert printing.get(path).json()["message"].endswith('"p" is waiting to start: ContainerCreating')
    set_state(printing, {"running": {}})
    assert printing.get(path).body.decode() == "first\nsecond é\nthird\n"
    assert printing.get(path).headers["content-type"].startswith("text/plain")
    assert printing.get(f"{path}?tailLines=1&timestamps=true").body == b"2026-11-29T12:43:50.250000000Z third\n"
    assert printing.get(f"{path}?tailLines=0").body == b""
    assert printing.get(f"{path}?limitBytes=8").body == b"first\nse"
    assert printing.get(f"{path}?sinceTime=2026-11-29T12:43:40Z").body.decode() == "second é\nthird\n"
    assert printing.get(f"{path}?sinceSeconds=1").body == b""
    assert printing.get(f"{path}?container=tensorflow").status == 200
    for query in ("container=no", "tailLines=x", "sinceTime=x", "previous=true"):
        assert printing.get(f"{path}?{query}").status == 400
    for query in ("tailLines=-1", "sinceSeconds=0", "limitBytes=0"):
        refused = printing.get(f"{path}?{query}")
        assert (refused.status, refused.json()["details"]["kind"]) == (422, "PodLogOptions")
    set_state(printing, {"running": {}}, {"terminated": {"exitCode": 1}})
    assert printing.get(f"{path}?previous=true").body == b"before\n"
    assert printing.get(f"{POD_PATH}/absent/log").status == 404
    assert printing.request("POST", path, {}).status == 405


def test_a_log_is_followed_to_the_end_of_its_run(printing: SimServer) -> None:
    set_state(printing, {"running": {}})
    watch = printing.open_watch(f"{POD_PATH}/p/log?follow=true")
    watch.wait_for(b"third\n")
    lines = printing.api._logs
    printing.call(lambda: lines.entries.append((2e9, "fourth")))
    watch.wait_for(b"fourth\n")
    set_state(printing, {"terminated": {"exitCode": 0}})
    assert watch.to_end()


def test_a_pod_with_several_containers(printing: SimServer) -> None:
    both = pod("two")
    both["spec"]["containers"].append({"name": "side", "image": "x"})
    printing.request("POST", POD_PATH, both)
    message_of = printing.get(f"{POD_PATH}/two/log").json()["message"]
    assert message_of == "a container name must be specified for pod two, choose one of: [tensorflow side]"


def test_quotas_count_and_are_counted(server: SimServer) -> None:
    quota = {"metadata": {"name": "q"}, "spec": {"hard": {"pods": "1", "count/tfjobs.kubeflow.org": "1"}}}
    assert server.request("POST", "/api/v1/namespaces/wire/resourcequotas", quota).status == 201
    assert server.request("POST", POD_PATH, pod("a")).status == 201
    refused = server.request("POST", POD_PATH, pod("b"))
    assert (refused.status, refused.json()["message"]) == (
        403,
        'pods "b" is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1',
    )
    assert server.request("POST", JOBS, tfjob()).status == 201
    assert server.request("POST", JOBS, tfjob("other")).status == 403
    assert server.request("POST", "/api/v1/namespaces/default/pods", pod("b", "default")).status == 201
    used = server.get("/api/v1/namespaces/wire/resourcequotas/q").json()["status"]["used"]
    assert used == {"pods": "1", "count/tfjobs.kubeflow.org": "1"}
    server.request("PATCH", f"{POD_PATH}/a/status", {"status": {"phase": "Failed"}}, "application/merge-patch+json")
    assert server.request("POST", POD_PATH, pod("b")).status == 201


def test_quotas_of_cpu_and_memory(server: SimServer) -> None:
    def asking(name: str, **resources: Obj) -> Obj:
        body = pod(name)
        body["spec"]["containers"][0]["resources"] = resources
        return body

    hard = {"requests.cpu": "1", "memory": "1Gi", "limits.memory": "2Gi"}
    quota = {"metadata": {"name": "q"}, "spec": {"hard": hard}}
    assert server.request("POST", "/api/v1/namespaces/wire/resourcequotas", quota).status == 201
    told = server.request("POST", POD_PATH, pod("bare")).json()["message"]
    needed = "limits.memory for: tensorflow; memory for: tensorflow; requests.cpu for: tensorflow"
    assert told == f'pods "bare" is forbidden: failed quota: q: must specify {needed}'
    # What is limited is requested as well.
    first = asking("a", limits={"cpu": "700m", "memory": "512Mi"})
    assert server.request("POST", POD_PATH, first).status == 201
    used = server.get("/api/v1/namespaces/wire/resourcequotas/q").json()["status"]["used"]
    assert used == {"requests.cpu": "700m", "memory": "512Mi", "limits.memory": "512Mi"}
    refused = server.request("POST", POD_PATH, asking("b", limits={"cpu": "0.5", "memory": "1000Mi"}))
    assert (refused.status, refused.json()["message"]) == (
        403,
        'pods "b" is forbidden: exceeded quota: q, requested: memory=1000Mi,requests.cpu=500m, '
        "used: memory=512Mi,requests.cpu=700m, limited: memory=1Gi,requests.cpu=1",
    )
    small = asking("c", requests={"cpu": "1e-1", "memory": "1Mi"}, limits={"memory": "1536Mi"})
    assert server.request("POST", POD_PATH, small).status == 201
    server.request("PATCH", f"{POD_PATH}/a/status", {"status": {"phase": "Succeeded"}}, "application/merge-patch+json")
    used = server.get("/api/v1/namespaces/wire/resourcequotas/q").json()["status"]["used"]
    assert used == {"requests.cpu": "100m", "memory": "1Mi", "limits.memory": "1536Mi"}


def test_a_namespace_that_is_going_takes_nothing_new(server: SimServer) -> None:
    held = {**pod("held"), "metadata": {"name": "held", "namespace": "wire", "finalizers": ["a/b"]}}
    server.request("POST", POD_PATH, held)
    server.request("DELETE", "/api/v1/namespaces/wire")
    refused = server.request("POST", POD_PATH, pod("late"))
    assert (refused.status, refused.json()["details"]["causes"][0]["reason"]) == (403, "NamespaceTerminating")


def test_dry_runs_of_deletes(server: SimServer) -> None:
    server.request("POST", JOBS, tfjob())
    server.request("POST", POD_PATH, pod("p", node="las1"))
    assert server.request("DELETE", f"{JOBS}/tftest?dryRun=All").json()["status"] == "Success"
    marked = server.request("DELETE", f"{POD_PATH}/p", {"dryRun": ["All"]}).json()
    assert "deletionTimestamp" in marked["metadata"]
    server.request("DELETE", f"{POD_PATH}?dryRun=All")
    eviction = {"metadata": {"name": "p"}, "deleteOptions": {"dryRun": ["All"]}}
    assert server.request("POST", f"{POD_PATH}/p/eviction", eviction).status == 201
    assert "deletionTimestamp" not in server.get(f"{POD_PATH}/p").json()["metadata"]
    assert server.get(f"{JOBS}/tftest").status == 200
    eviction["metadata"]["name"] = "other"
    assert server.request("POST", f"{POD_PATH}/p/eviction", eviction).status == 400


def test_without_controllers_there_are_no_acts(shared_server: SimServer) -> None:
    answer = shared_server.request("POST", "/sim/act", {"act": "dance"})
    assert (answer.status, answer.json()) == (400, {"error": "there are no controllers to act"})
    assert shared_server.get("/sim/state").json()["acts"] == []


def test_an_answer_is_json_whatever_happened(shared_server: SimServer) -> None:
    for path in ("/apis/a/b/c/d/e/f/g", "//", "/api/v1/namespaces//pods", "/apis/kubeflow.org/v1/namespaces/x"):
        answer = shared_server.get(path)
        assert answer.status == 404
    assert json.loads(shared_server.get("/api/v1/widgets").body)["code"] == 404
    assert shared_server.call(shared_server.store.count, PODS) >= 0
