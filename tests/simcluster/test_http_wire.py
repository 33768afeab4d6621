"""The server's answers against those of a real API server, byte for byte where nothing varies."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from simcluster.discovery import AGGREGATED_TYPE
from simcluster.options import Options, parse_forbidden
from tests.simcluster.simserver import SimServer, pod, tfjob

WIRE = Path(__file__).parent.parent / "data" / "wire"
TFJOBS = "/apis/kubeflow.org/v1/namespaces/wire/tfjobs"
PODS = "/api/v1/namespaces/wire/pods"


class Exchange:
    """A recorded exchange; the files end with one newline that is not part of the body."""

    def __init__(self, name: str) -> None:
        text = (WIRE / f"{name}.http").read_text(encoding="utf-8")
        head, _, body = text.partition("\n\n")
        lines = head.splitlines()
        self.status = int(lines[1].split()[1])
        self.headers = dict(line.split(": ", 1) for line in lines[2:])
        length = self.headers.get("content-length")
        self.body = body.encode()[: int(length)] if length else body.encode()

    def json(self) -> Any:
        return json.loads(self.body)

    def lines(self) -> list[Any]:
        return [json.loads(line) for line in self.body.splitlines() if line]


def same(answer: Any, name: str) -> None:
    wanted = Exchange(name)
    assert answer.body.decode() == wanted.body.decode()
    assert answer.status == wanted.status
    assert answer.headers["content-type"] == wanted.headers["content-type"]
    assert answer.headers["cache-control"] == wanted.headers["cache-control"]


def post(server: SimServer, path: str, body: Any) -> Any:
    return server.request("POST", path, body)


def test_simple_errors(server: SimServer) -> None:
    same(server.get(f"{TFJOBS}/nope"), "not-found")
    same(server.get("/apis/example.com/v1/things"), "not-installed")
    same(server.get("/api/v1/pods?labelSelector=a%3Db%3Dc"), "list-bad-selector")
    same(server.get("/api/v1/pods?limit=2&continue=aW52YWxpZA"), "list-bad-continue")
    same(server.get("/api/v1/pods?watch=1&resourceVersion=abc"), "watch-bad-rv")


def test_create_errors(server: SimServer) -> None:
    assert post(server, TFJOBS, tfjob()).status == 201
    same(post(server, TFJOBS, tfjob()), "already-exists")
    same(post(server, TFJOBS, tfjob("Bad_Name")), "invalid-name")
    same(post(server, TFJOBS, b'{"apiVersion":'), "malformed")
    absent = TFJOBS.replace("wire", "absent")
    same(post(server, absent, tfjob(namespace="absent")), "no-namespace")


def test_invalid_by_schema(server: SimServer) -> None:
    bad = tfjob("bad")
    bad["spec"]["tfReplicaSpecs"]["Worker"] |= {"replicas": "three", "restartPolicy": 5}
    same(post(server, TFJOBS, bad), "invalid")


def test_update_conflict(server: SimServer) -> None:
    job = post(server, TFJOBS, tfjob()).json()
    job["spec"]["runPolicy"] = {"backoffLimit": 1}
    assert server.request("PUT", f"{TFJOBS}/tftest", job).status == 200
    job["spec"]["runPolicy"] = {"backoffLimit": 2}
    same(server.request("PUT", f"{TFJOBS}/tftest", job), "conflict")


def test_delete_of_a_job(server: SimServer) -> None:
    uid = post(server, TFJOBS, tfjob()).json()["metadata"]["uid"]
    wanted = Exchange("delete-job")
    answer = server.request("DELETE", f"{TFJOBS}/tftest")
    assert answer.body.replace(uid.encode(), wanted.json()["details"]["uid"].encode()) == wanted.body


def test_delete_of_a_running_pod(server: SimServer) -> None:
    post(server, PODS, pod("tftest-worker-1", node="las1"))
    answer = server.request("DELETE", f"{PODS}/tftest-worker-1")
    wanted = Exchange("delete-pod")
    assert answer.status == wanted.status
    ours, theirs = answer.json(), wanted.json()
    assert list(ours)[:4] == list(theirs)[:4]
    keys = [key for key in theirs["metadata"] if key in ours["metadata"]]
    assert list(ours["metadata"]) == keys
    for field in ("deletionGracePeriodSeconds", "generation"):
        assert ours["metadata"][field] == theirs["metadata"][field]


def test_eviction(server: SimServer) -> None:
    post(server, PODS, pod("p", node="las1"))
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p", "namespace": "wire"}}
    same(post(server, f"{PODS}/p/eviction", eviction), "evict")
    evicted = server.get(f"{PODS}/p").json()
    assert evicted["status"]["conditions"][-1]["reason"] == "EvictionByEvictionAPI"
    assert evicted["metadata"]["deletionGracePeriodSeconds"] == 5


def test_forbidden(start_server: Callable[..., SimServer]) -> None:
    user = "system:serviceaccount:wire:weak"
    server = start_server(Options(user=user, forbidden=parse_forbidden(["pods", "tfjobs.kubeflow.org:watch"])))
    same(server.get("/api/v1/pods"), "forbidden")
    same(server.get("/apis/kubeflow.org/v1/tfjobs?watch=true"), "forbidden-watch")
    assert server.get("/apis/kubeflow.org/v1/tfjobs").status == 200
    assert server.get("/api/v1/nodes").status == 200


@pytest.mark.parametrize(("name", "forbidden"), [("ssar-yes", []), ("ssar-no", ["tfjobs.kubeflow.org:create"])])
def test_access_review(start_server: Callable[..., SimServer], name: str, forbidden: list[str]) -> None:
    server = start_server(Options(forbidden=parse_forbidden(forbidden)))
    recorded = Exchange(name)
    asked = {key: recorded.json()[key] for key in ("kind", "apiVersion", "spec")}
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    answer = server.request("POST", path, asked, User_Agent="curl/8.14.1")
    then = recorded.json()["metadata"]["managedFields"][0]["time"]
    now = answer.json()["metadata"]["managedFields"][0]["time"]
    assert answer.status == 201
    assert answer.body.decode().replace(now, then) == recorded.body.decode()


def test_bearer_token(start_server: Callable[..., SimServer]) -> None:
    server = start_server(Options(token="secret"))
    same(server.get("/api/v1/pods", Authorization="Bearer wrong"), "unauthorized")
    same(server.get("/api/v1/pods"), "unauthorized")
    assert server.get("/api/v1/pods", Authorization="Bearer secret").status == 200


def test_version(server: SimServer) -> None:
    ours, theirs = server.get("/version"), Exchange("version")
    assert list(ours.json()) == list(theirs.json())
    assert ours.json()["gitVersion"] == theirs.json()["gitVersion"]


def test_discovery_of_a_group(server: SimServer) -> None:
    theirs = Exchange("discovery-group").json()
    ours = server.get("/apis/kubeflow.org/v1").json()
    wanted = {entry["name"]: entry for entry in theirs["resources"]}
    assert {entry["name"]: entry for entry in ours["resources"]} == wanted
    assert list(ours) == list(theirs)
    assert [list(entry) for entry in ours["resources"][:2]] == [list(entry) for entry in theirs["resources"][:2]]


def test_aggregated_discovery(server: SimServer) -> None:
    theirs = Exchange("discovery-aggregated")
    ours = server.get("/apis", Accept=f"{AGGREGATED_TYPE},application/json")
    assert ours.headers["content-type"] == theirs.headers["content-type"]
    document = ours.json()
    assert theirs.body.startswith(json.dumps(document, indent=2).encode()[:110])
    version = next(item for item in document["items"] if item["metadata"]["name"] == "scheduling.k8s.io")["versions"][0]
    assert version["resources"][0]["responseKind"] == {"group": "", "version": "", "kind": "PriorityClass"}
    kubeflow = next(item for item in document["items"] if item["metadata"]["name"] == "kubeflow.org")
    assert kubeflow["versions"][0]["freshness"] == "Current"
    assert kubeflow["versions"][0]["resources"][0]["subresources"][0]["verbs"] == ["get", "patch", "update"]


def test_watch_errors_and_silence(server: SimServer) -> None:
    for number in range(60):
        post(server, TFJOBS, tfjob(f"j{number}"))
    compacted = server.control("compact")["compacted"]
    for path in ("/apis/kubeflow.org/v1/tfjobs", "/api/v1/pods"):
        answer = server.get(f"{path}?watch=1&resourceVersion=50")
        wanted = Exchange("watch-too-old").body.rstrip(b"\n").replace(b"24539", str(compacted).encode())
        assert (answer.status, answer.body.rstrip(b"\n")) == (200, wanted)
    future = server.get("/apis/kubeflow.org/v1/tfjobs?watch=1&resourceVersion=99999&timeoutSeconds=1")
    assert (future.status, future.body) == (200, Exchange("watch-future").body.strip())


@pytest.mark.parametrize(
    ("name", "query"),
    [
        ("watch-timeout", "allowWatchBookmarks=true"),
        ("watch-initial-events", "allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"),
    ],
)
def test_watch_from_the_present_state(server: SimServer, name: str, query: str) -> None:
    theirs = Exchange(name).lines()
    for line in theirs[:-1]:
        given = {key: line["object"][key] for key in ("kind", "apiVersion", "spec", "status")}
        metadata = {key: line["object"]["metadata"][key] for key in ("name", "namespace", "labels")}
        post(server, PODS, {**given, "metadata": metadata})
        server.request("PUT", f"{PODS}/{metadata['name']}/status", {**given, "metadata": metadata})
    ours = server.events(f"{PODS}?watch=1&timeoutSeconds=1&{query}")
    assert [line["type"] for line in ours] == [line["type"] for line in theirs]
    for mine, real in zip(ours[:-1], theirs[:-1], strict=True):
        assert list(mine["object"]) == list(real["object"])
        assert mine["object"]["spec"] == real["object"]["spec"]
        assert mine["object"]["status"] == real["object"]["status"]
    bookmark, real = ours[-1]["object"], theirs[-1]["object"]
    real["metadata"]["resourceVersion"] = bookmark["metadata"]["resourceVersion"]
    assert json.dumps(bookmark) == json.dumps(real)


def test_paged_list(server: SimServer) -> None:
    for number in range(3):
        post(server, PODS, pod(f"tftest-worker-{number}"))
    theirs = Exchange("list-paged").json()
    ours = server.get(f"{PODS}?limit=2").json()
    assert list(ours) == list(theirs)
    assert list(ours["metadata"]) == list(theirs["metadata"])
    assert ours["metadata"]["remainingItemCount"] == theirs["metadata"]["remainingItemCount"]
    assert [item["metadata"]["name"] for item in ours["items"]] == [i["metadata"]["name"] for i in theirs["items"]]
    assert "kind" not in ours["items"][0]
    real = theirs["metadata"]["continue"]  # a real server's token is understood as well, only its version is another's
    assert server.get(f"{PODS}?limit=2&continue={real}").json()["items"][0]["metadata"]["name"] == "tftest-worker-2"
