"""Lists, writes, rights, faults and the control API over HTTP."""

from collections.abc import Callable
from typing import Any

import pytest

from simcluster.options import Options, parse_missing
from simcluster.resources import PODS, TFJOBS
from tests.simcluster.simserver import SimServer, pod, tfjob

JOBS = "/apis/kubeflow.org/v1/namespaces/wire/tfjobs"
ALL_PODS = "/api/v1/pods"
MERGE = "application/merge-patch+json"


def fill(server: SimServer, count: int, namespace: str = "wire") -> None:
    server.call(lambda: [server.store.create(PODS, pod(f"p{number:03}", namespace)) for number in range(count)])


def names(page: Any) -> list[str]:
    return [f"{item['metadata']['namespace']}/{item['metadata']['name']}" for item in page["items"]]


@pytest.mark.parametrize("path", [ALL_PODS, "/api/v1/namespaces/wire/pods"])
def test_pages_show_one_moment(server: SimServer, path: str) -> None:
    fill(server, 10)
    fill(server, 3, "default")
    whole = server.get(path).json()
    page = server.get(f"{path}?limit=4").json()
    found = names(page)
    assert page["metadata"]["remainingItemCount"] == len(whole["items"]) - 4
    server.call(server.store.delete, PODS, "wire", "p009")
    server.call(server.store.create, PODS, pod("p0095"))
    while token := page["metadata"].get("continue"):
        page = server.get(f"{path}?limit=4&continue={token}").json()
        found += names(page)
        assert page["metadata"]["resourceVersion"] == whole["metadata"]["resourceVersion"]
    assert found == names(whole)
    assert names(server.get(path).json()) != found


def test_an_expired_page_offers_an_inconsistent_rest(server: SimServer) -> None:
    fill(server, 5)
    token = server.get(f"{ALL_PODS}?limit=2").json()["metadata"]["continue"]
    server.call(server.store.delete, PODS, "wire", "p003")
    server.control("compact")
    expired = server.get(f"{ALL_PODS}?limit=2&continue={token}")
    assert (expired.status, expired.json()["reason"]) == (410, "Expired")
    rest = server.get(f"{ALL_PODS}?limit=9&continue={expired.json()['metadata']['continue']}").json()
    assert names(rest) == ["wire/p002", "wire/p004"]
    assert "continue" not in rest["metadata"]


def test_selected_pages_have_no_remaining_count(server: SimServer) -> None:
    fill(server, 5)
    page = server.get(f"{ALL_PODS}?limit=2&fieldSelector=metadata.name!%3Dp001").json()
    assert names(page) == ["wire/p000", "wire/p002"]
    assert "remainingItemCount" not in page["metadata"]
    assert names(server.get(f"{ALL_PODS}?continue={page['metadata']['continue']}").json())[0] == "wire/p003"


def test_versions_of_lists(server: SimServer) -> None:
    fill(server, 2)
    version = server.call(lambda: server.store.resource_version)
    server.call(server.store.delete, PODS, "wire", "p000")
    exact = server.get(f"{ALL_PODS}?resourceVersion={version}&resourceVersionMatch=Exact").json()
    assert (names(exact), exact["metadata"]["resourceVersion"]) == (["wire/p000", "wire/p001"], str(version))
    assert names(server.get(f"{ALL_PODS}?resourceVersion=0").json()) == ["wire/p001"]
    future = server.get(f"{ALL_PODS}?resourceVersion=9999")
    assert (future.status, future.json()["reason"], future.headers["retry-after"]) == (504, "Timeout", "1")
    assert server.get(f"{ALL_PODS}?resourceVersion=x").status == 500
    server.control("compact")
    assert server.get(f"{ALL_PODS}?resourceVersion={version}&resourceVersionMatch=Exact").status == 410


@pytest.mark.parametrize(
    "query",
    [
        "limit=x",
        "limit=1.5",
        "limit=9223372036854775808",
        "timeoutSeconds=abc",
        "timeoutSeconds=1e3&watch=1",
        "continue=!!!",
        "continue=e30",
        "continue=bnVsbA",
        "labelSelector=a%20in%20(b",
        "labelSelector=,a",
        "labelSelector=a,",
        "labelSelector=a%3E%3Eb",
        "labelSelector=a%3Eb",
        "fieldSelector=spec.containers%3Da",
        "fieldSelector=phase",
    ],
)
def test_bad_queries(shared_server: SimServer, query: str) -> None:
    answer = shared_server.get(f"{ALL_PODS}?{query}")
    assert (answer.status, answer.json()["reason"]) == (400, "BadRequest")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"null",
        b'"x"',
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"metadata": {"name": 5}}',
        b'{"metadata": []}',
        b"NaN",
    ],
)
def test_hostile_bodies(shared_server: SimServer, body: bytes) -> None:
    for method, path in (("POST", JOBS), ("PUT", f"{JOBS}/tftest"), ("PATCH", f"{JOBS}/tftest")):
        content_type = "application/merge-patch+json" if method == "PATCH" else "application/json"
        answer = shared_server.request(method, path, body, content_type)
        assert answer.status in (400, 404), answer.body
        assert answer.json()["kind"] == "Status"


@pytest.mark.parametrize(("depth", "code"), [(100, 201), (250, 400), (100_000, 400)])
def test_deeply_nested_objects_are_refused(server: SimServer, depth: int, code: int) -> None:
    spec = f'{{"tfReplicaSpecs": {{}}, "x": {"[" * depth}{"]" * depth}}}'
    body = f'{{"metadata": {{"name": "deep"}}, "spec": {spec}}}'.encode()
    assert server.request("POST", JOBS, body).status == code
    assert server.request("PATCH", f"{JOBS}/deep", body, MERGE).status == (200 if code == 201 else code)
    assert len(server.get(JOBS).json()["items"]) == (1 if code == 201 else 0)


def test_kubectl_learns_that_the_server_validates(server: SimServer) -> None:
    path = server.get("/openapi/v3").json()["paths"]["apis/kubeflow.org/v1"]["serverRelativeURL"]
    patch = server.get(path).json()["paths"]["/apis/kubeflow.org/v1/namespaces/{namespace}/tfjobs/{name}"]["patch"]
    assert patch["x-kubernetes-group-version-kind"] == {"group": "kubeflow.org", "version": "v1", "kind": "TFJob"}
    assert "fieldValidation" in [parameter["name"] for parameter in patch["parameters"]]
    assert server.get("/openapi/v3/apis/example.com/v1").status == 404


@pytest.mark.parametrize(
    ("method", "path", "code"),
    [
        ("POST", f"{JOBS}/tftest", 405),
        ("PUT", JOBS, 405),
        ("DELETE", f"{JOBS}/tftest/status", 405),
        ("GET", f"{JOBS}/tftest/scale", 404),
        ("GET", "/api/v1/widgets", 404),
        ("GET", "/apis/kubeflow.org/v2/tfjobs", 404),
        ("GET", "/api/v2", 404),
        ("GET", "/", 404),
        ("GET", "/apis/kubeflow.org/v1/tfjobs/tftest", 404),
        ("GET", "/api/v1/namespaces/wire/nodes", 404),
    ],
)
def test_paths_that_lead_nowhere(shared_server: SimServer, method: str, path: str, code: int) -> None:
    assert shared_server.request(method, path, {} if method != "GET" else None).status == code


def test_status_and_patches(server: SimServer) -> None:
    job = server.request("POST", JOBS, tfjob()).json()
    status = {"conditions": [{"type": "Created", "status": "True"}]}
    put = server.request("PUT", f"{JOBS}/tftest/status", {**job, "status": status, "spec": {}})
    assert (put.json()["status"], put.json()["spec"]) == (status, job["spec"])
    merge = "application/merge-patch+json"
    patched = server.request(
        "PATCH", f"{JOBS}/tftest", {"metadata": {"labels": {"a": "b"}}, "status": {}}, merge
    ).json()
    assert (patched["metadata"]["labels"], patched["status"]) == ({"a": "b"}, status)
    patched = server.request("PATCH", f"{JOBS}/tftest/status", {"status": {"conditions": None}}, merge).json()
    assert patched["status"] == {}
    for content_type in ("application/strategic-merge-patch+json", "text/plain"):
        refused = server.request("PATCH", f"{JOBS}/tftest", {"metadata": {}}, content_type)
        assert (refused.status, refused.json()["reason"]) == (415, "UnsupportedMediaType")


def test_update_of_a_custom_resource_needs_its_version(server: SimServer) -> None:
    server.request("POST", JOBS, tfjob())
    answer = server.request("PUT", f"{JOBS}/tftest", tfjob())
    assert (answer.status, "must be specified for an update" in answer.json()["message"]) == (422, True)
    assert server.request("PUT", f"{JOBS}/tftest", tfjob("other", resourceVersion="1")).status == 400
    assert server.request("PUT", f"{JOBS}/nope", tfjob("nope", resourceVersion="1")).status == 404


def test_dry_runs_change_nothing(server: SimServer) -> None:
    created = server.request("POST", f"{JOBS}?dryRun=All", tfjob())
    assert created.status == 201
    assert "resourceVersion" not in created.json()["metadata"]
    assert server.get(f"{JOBS}/tftest").status == 404
    job = server.request("POST", JOBS, tfjob()).json()
    merge = "application/merge-patch+json"
    patched = server.request(
        "PATCH", f"{JOBS}/tftest?dryRun=All", {"spec": {"runPolicy": {"backoffLimit": 1}}}, merge
    ).json()
    assert patched["spec"]["runPolicy"]["backoffLimit"] == 1
    assert server.request("DELETE", f"{JOBS}/tftest?dryRun=All").status == 200
    assert server.get(f"{JOBS}/tftest").json() == job
    assert server.request("POST", f"{JOBS}?dryRun=Some", tfjob()).status == 400


def test_delete_options_in_query_and_body(server: SimServer) -> None:
    pods = "/api/v1/namespaces/wire/pods"
    for name in ("a", "b"):
        uid = server.request("POST", pods, pod(name, node="las1")).json()["metadata"]["uid"]
    body = {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 2, "preconditions": {"uid": "other"}}
    assert server.request("DELETE", f"{pods}/b", body).status == 409
    assert server.request("DELETE", f"{pods}/b?preconditions.uid=other").status == 409
    body["preconditions"] = {"uid": uid}
    marked = server.request("DELETE", f"{pods}/b?gracePeriodSeconds=9", body).json()
    assert marked["metadata"]["deletionGracePeriodSeconds"] == 2
    assert server.request("DELETE", f"{pods}/a?gracePeriodSeconds=0").status == 200
    assert server.get(f"{pods}/a").status == 404
    assert server.request("DELETE", f"{pods}/b?propagationPolicy=Sideways").status == 422
    assert server.request("DELETE", f"{pods}/b", {"gracePeriodSeconds": "x"}).status == 400


def test_foreground_deletion_is_accepted(server: SimServer) -> None:
    server.request("POST", JOBS, tfjob())
    answer = server.request("DELETE", f"{JOBS}/tftest?propagationPolicy=Foreground")
    assert (answer.status, answer.json()["metadata"]["finalizers"]) == (202, ["foregroundDeletion"])


def test_delete_collection(server: SimServer) -> None:
    for name, label in (("a", "x"), ("b", "y"), ("c", "x")):
        server.request("POST", JOBS, tfjob(name, labels={"l": label}))
    deleted = server.request("DELETE", f"{JOBS}?labelSelector=l%3Dx").json()
    assert names(deleted) == ["wire/a", "wire/c"]
    assert names(server.get(JOBS).json()) == ["wire/b"]


def test_crds_that_are_not_installed(start_server: Callable[..., SimServer]) -> None:
    missing = ["mpijobs.kubeflow.org", "podgroups.scheduling.x-k8s.io"]
    server = start_server(Options(missing=parse_missing(missing)))
    for path in ("/apis/kubeflow.org/v1/mpijobs", "/apis/scheduling.x-k8s.io/v1alpha1/podgroups"):
        answer = server.get(path)
        assert (answer.status, answer.body) == (404, b"404 page not found\n")
    groups = [group["name"] for group in server.get("/apis").json()["groups"]]
    assert "kubeflow.org" in groups
    assert "scheduling.x-k8s.io" not in groups
    kinds = [entry["kind"] for entry in server.get("/apis/kubeflow.org/v1").json()["resources"]]
    assert "TFJob" in kinds
    assert "MPIJob" not in kinds
    server.control("missing", resources=[])
    assert server.get("/apis/kubeflow.org/v1/mpijobs").status == 200


def test_faults_hit_the_next_requests(server: SimServer) -> None:
    server.control("faults", code=429, count=2, retry_after=7, resource="pods")
    server.control("faults", code=500, count=1)
    assert server.get("/version").status == 500
    first = server.get(ALL_PODS)
    assert (first.status, first.headers["retry-after"]) == (429, "7")
    assert server.get(JOBS).status == 200
    assert [server.get(ALL_PODS).status for _ in range(2)] == [429, 200]
    server.control("faults", code=503, count=5)
    server.control("faults", count=0)
    assert server.get(ALL_PODS).status == 200


def test_forbidden_at_run_time(server: SimServer) -> None:
    server.control("forbidden", resources=["pods:list"])
    answer = server.get("/api/v1/namespaces/wire/pods")
    assert answer.json()["message"].endswith('cannot list resource "pods" in API group "" in the namespace "wire"')
    server.control("forbidden", resources=[])
    assert server.get("/api/v1/namespaces/wire/pods").status == 200


def test_clock_control(server: SimServer) -> None:
    before = server.call(server.clock.now)
    server.control("clock", jump=3600)
    server.control("clock", speed=10)
    assert server.call(server.clock.now) - before >= 3600
    assert server.get("/sim/state").json()["speed"] == 10


@pytest.mark.parametrize(
    ("action", "body"),
    [
        ("compact", {"to": "x"}),
        ("watches/end", {"mode": "softly"}),
        ("watches/end", {"resource": "widgets"}),
        ("faults", {"code": 200}),
        ("faults", {"count": -1}),
        ("forbidden", {"resources": "pods"}),
        ("missing", {"resources": ["pods"]}),
        ("clock", {"speed": 0}),
        ("clock", {"jump": "x"}),
    ],
)
def test_control_refuses_with_a_sentence(shared_server: SimServer, action: str, body: Any) -> None:
    answer = shared_server.request("POST", f"/sim/{action}", body)
    assert (answer.status, bool(answer.json()["error"])) == (400, True)


def test_control_of_unknown_things(server: SimServer) -> None:
    assert server.request("POST", "/sim/dance", {}).status == 404
    assert server.request("POST", "/sim/clock", b"{").status == 400
    assert server.request("POST", "/sim/clock", b"[]").status == 400


def test_a_write_by_http_is_seen_by_subscribers(server: SimServer) -> None:
    seen: list[str] = []
    server.call(lambda: server.store.subscribe(lambda kind, resource, *_: seen.append(f"{kind} {resource.plural}")))
    server.request("POST", JOBS, tfjob())
    assert seen == ["ADDED tfjobs"]
    assert server.call(server.store.count, TFJOBS) == 1
