"""Whatever a client sends: an answer of the API server's kind, and never a traceback."""

import json
import logging
import os
import socket
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simcluster.resources import PODS, TFJOBS
from tests.simcluster.simserver import SimServer, pod, tfjob

Obj = dict[str, Any]
PODS_PATH, JOBS_PATH = "/api/v1/namespaces/wire/pods", "/apis/kubeflow.org/v1/namespaces/wire/tfjobs"
JSON = "application/json"
LIMIT = 3 * 1024 * 1024


@pytest.fixture(scope="module")
def server() -> Iterator[SimServer]:
    shared = SimServer().start()
    shared.call(shared.store.create, PODS, pod("p"))
    shared.call(shared.store.create, TFJOBS, tfjob())
    yield shared
    shared.stop()


def status(server: SimServer, method: str, path: str, body: Any = None, content_type: str = JSON) -> Obj:
    answer = server.request(method, path, body, content_type)
    told = answer.json()
    assert (told["kind"], told["status"], told["code"]) == ("Status", "Failure", answer.status)
    return dict(told)


def raw(server: SimServer, request: bytes, leave: bool = False) -> bytes:
    """The first bytes of the answer to what may be no HTTP; `leave`: the connection is cut at once."""
    with socket.create_connection(("127.0.0.1", server.port)) as connection:
        connection.settimeout(30)
        connection.sendall(request)
        try:
            return b"" if leave else connection.recv(65536)
        except ConnectionResetError:
            return b""


@pytest.mark.parametrize("method", ["OPTIONS", "TRACE", "PUT", "PATCH", "BREW"])
def test_methods_that_a_collection_does_not_have(server: SimServer, method: str) -> None:
    told = status(server, method, PODS_PATH, {} if method in ("PUT", "PATCH") else None)
    assert (told["code"], told["message"]) == (
        405,
        "the server does not allow this method on the requested resource",
    )


def test_custom_resources_have_words_of_their_own(server: SimServer) -> None:
    told = status(server, "DELETE", f"{JOBS_PATH}/tftest/status")
    assert (told["code"], told["message"]) == (
        405,
        'delete is not supported on resources of kind "tfjobs.kubeflow.org"',
    )
    for subresource in ("scale", "log", "nothing"):
        told = status(server, "GET", f"{JOBS_PATH}/tftest/{subresource}")
        assert (told["code"], told["message"]) == (404, 'tfjobs.kubeflow.org "tftest" not found')


def test_a_head_has_no_body(server: SimServer) -> None:
    for path, code in ((f"{JOBS_PATH}/tftest", b"200"), (f"{PODS_PATH}/p", b"405"), ("/version", b"405")):
        answer = raw(server, f"HEAD {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
        assert answer.split()[1] == code
        assert answer.endswith(b"\r\n\r\n")


@pytest.mark.parametrize("path", ["/version", "/api", "/apis", "/apis/kubeflow.org/v1", "/openapi/v3"])
def test_what_describes_the_server_cannot_be_written(server: SimServer, path: str) -> None:
    assert status(server, "POST", path, {})["code"] == 405


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("limit=abc", 'strconv.ParseInt: parsing "abc": invalid syntax'),
        ("limit=99999999999999999999", 'strconv.ParseInt: parsing "99999999999999999999": value out of range'),
        ("timeoutSeconds=1.5", 'strconv.ParseInt: parsing "1.5": invalid syntax'),
    ],
)
def test_numbers_in_queries(server: SimServer, query: str, message: str) -> None:
    told = status(server, "GET", f"{PODS_PATH}?{query}")
    assert (told["code"], told["reason"], told["message"]) == (400, "BadRequest", message)


def test_a_limit_below_0_is_none(server: SimServer) -> None:
    assert server.get(f"{JOBS_PATH}?limit=-1").json()["metadata"] == server.get(JOBS_PATH).json()["metadata"]


@pytest.mark.parametrize(
    ("path", "body", "code", "message"),
    [
        (PODS_PATH, {"kind": "Pod"}, 422, 'Pod "" is invalid: [metadata.name: Required value: name or generateName'),
        (JOBS_PATH, {}, 422, 'TFJob.kubeflow.org "" is invalid: metadata.name: Required value: name or generateName'),
        (
            PODS_PATH,
            {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}},
            400,
            'Service in version "v1" cannot be handled as a Pod: converting (v1.Service) to (core.Pod): unknown',
        ),
        (
            JOBS_PATH,
            {"apiVersion": "kubeflow.org/v2", "kind": "TFJob", "metadata": {"name": "a"}},
            400,
            "the API version in the data (kubeflow.org/v2) does not match the expected API version (kubeflow.org/v1)",
        ),
        (PODS_PATH, {"metadata": {"name": "A_B"}}, 422, 'Pod "A_B" is invalid: [metadata.name: Invalid value: "A_B"'),
        (f"{PODS_PATH}/p/eviction", {}, 400, "name in URL does not match name in Eviction object"),
        (f"{PODS_PATH}?fieldManager={'x' * 129}", pod("a"), 422, 'CreateOptions.meta.k8s.io "" is invalid: field'),
    ],
)  # fmt: skip
def test_objects_that_do_not_fit(server: SimServer, path: str, body: Obj, code: int, message: str) -> None:
    told = status(server, "POST", path, body)
    assert (told["code"], told["message"][: len(message)]) == (code, message)


@pytest.mark.parametrize(
    ("kind", "body", "message"),
    [
        ("merge-patch", b"{", "error decoding patch: unexpected end of JSON input"),
        ("merge-patch", b"[]", "error decoding patch: json: cannot unmarshal array into Go value of type map"),
        ("json-patch", b"[", "unexpected end of JSON input"),
        ("json-patch", b"{}", "json: cannot unmarshal object into Go value of type jsonpatch.Patch"),
        ("strategic-merge-patch", b"7", "json: cannot unmarshal number into Go value of type map"),
    ],
)
def test_patches_that_cannot_be_read(server: SimServer, kind: str, body: bytes, message: str) -> None:
    told = status(server, "PATCH", f"{PODS_PATH}/p", body, f"application/{kind}+json")
    assert (told["code"], told["message"][: len(message)]) == (400, message)


def test_a_body_that_becomes_too_long(server: SimServer) -> None:
    """All that is sent is read before the answer: a server that closes while more comes may reset the connection."""
    head = f"POST {PODS_PATH} HTTP/1.1\r\nHost: x\r\nContent-Type: {JSON}\r\nTransfer-Encoding: chunked\r\n\r\n"
    chunk = f"{LIMIT + 1:x}\r\n".encode() + b" " * (LIMIT + 1)
    assert raw(server, head.encode() + chunk).split()[1] == b"413"


def test_a_body_that_says_it_is_too_long_is_not_waited_for(server: SimServer) -> None:
    head = f"POST {PODS_PATH} HTTP/1.1\r\nHost: x\r\nContent-Type: {JSON}\r\nContent-Length: {LIMIT + 1}\r\n\r\n"
    assert raw(server, head.encode() + b"{").split()[1] == b"413"


@pytest.mark.parametrize(
    "request_",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET /\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \x00\r\n\r\n",
    ],
)
def test_what_is_no_http_is_a_400(server: SimServer, request_: bytes) -> None:
    assert raw(server, request_).split()[1] == b"400"


def test_huge_headers_harm_nobody(server: SimServer) -> None:
    raw(server, b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"y" * 2_000_000 + b"\r\n\r\n")
    raw(server, b"GET / HTTP/1.1\r\nHost: x\r\n" + b"a: b\r\n" * 5_000 + b"\r\n")
    assert raw(server, b"GET /" + b"a" * 50_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n").split()[1] in (b"400", b"404")
    assert server.get("/healthz").status == 200


def test_a_client_that_leaves_in_the_middle_is_no_error(server: SimServer, caplog: pytest.LogCaptureFixture) -> None:
    head = f"POST {PODS_PATH} HTTP/1.1\r\nHost: x\r\nContent-Type: {JSON}\r\nContent-Length: 1000\r\n\r\n{{"
    with caplog.at_level(logging.ERROR):
        raw(server, head.encode(), leave=True)
        for _ in range(20):  # the server has its turn
            assert server.get("/healthz").status == 200
    assert "Traceback" not in caplog.text
    assert "failed" not in caplog.text


# Anything at all

NAMES = st.sampled_from(["p", "tftest", "absent", "A_B", "", "%2e%2e", "%00", "%ff", "x" * 300])
PATHS = st.one_of(
    st.builds("{}/{}".format, st.sampled_from([PODS_PATH, JOBS_PATH]), NAMES),
    st.builds(
        "{}/{}/{}".format,
        st.sampled_from([PODS_PATH, JOBS_PATH]),
        NAMES,
        st.sampled_from(["status", "log", "eviction", "scale", "exec", "binding"]),
    ),
    st.sampled_from(
        [
            PODS_PATH,
            JOBS_PATH,
            "/api/v1/pods",
            "/api/v1/nodes",
            "/api/v1/namespaces/wire/resourcequotas",
            "/api/v1/namespaces/wire/serviceaccounts/default/token",
            "/api/v1/namespaces/wire/events",
            "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
            "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews",
            "/apis/authentication.k8s.io/v1/tokenreviews",
            "/apis/rbac.authorization.k8s.io/v1/clusterroles",
            "/apis/batch.volcano.sh/v1alpha1/namespaces/wire/jobs",
            "/apis/scheduling.volcano.sh/v1beta1/namespaces/wire/podgroups",
            "/openapi/v3/apis/kubeflow.org/v1",
            "/sim/compact",
            "/sim/faults",
            "/sim/forbidden",
            "/sim/clock",
            "/sim/audit",
            "/sim/truth",
        ]
    ),
)
WORDS = st.sampled_from(
    ["", "1", "-1", "0", "true", "abc", "All", "Foreground", "Strict", "a in (b", "a=b", "%00", "e30"]
)
QUERIES = st.dictionaries(
    st.sampled_from(
        ["limit", "continue", "labelSelector", "fieldSelector", "resourceVersion", "resourceVersionMatch", "dryRun",
         "propagationPolicy", "gracePeriodSeconds", "fieldManager", "fieldValidation", "force", "tailLines",
         "sinceSeconds", "sinceTime", "container", "pretty", "after", "includeObject"]
    ),
    WORDS,
    max_size=3,
)  # fmt: skip
KEYS = st.sampled_from(
    ["apiVersion", "kind", "metadata", "spec", "status", "name", "namespace", "labels", "ownerReferences", "finalizers",
     "managedFields", "containers", "image", "tfReplicaSpecs", "Worker", "template", "replicas", "restartPolicy", "op",
     "path", "value", "hard", "tasks", "conditions", "preconditions", "uid", "dryRun", "token", "rules", "verbs",
     "resourceAttributes", "deleteOptions", "gracePeriodSeconds", "code", "count", "to", "resources", "minMember",
     "policies", "generateName", "annotations", "resourceVersion", "initContainers", "limits", "ports", "env"]
)  # fmt: skip
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(1 << 70), 1 << 70)
    | st.floats(allow_nan=False)
    | st.text(max_size=8)
    | st.sampled_from(["v1", "Pod", "TFJob", "kubeflow.org/v1", "wire", "p", "add", "/metadata/name", "1", "2Gi"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=25,
)
MEDIA_TYPES = st.sampled_from(
    [JSON, "application/yaml", "application/merge-patch+json", "application/json-patch+json", "text/plain",
     "application/strategic-merge-patch+json", "application/apply-patch+yaml", "application/vnd.kubernetes.protobuf"]
)  # fmt: skip
BODIES = st.one_of(VALUES.map(lambda value: json.dumps(value).encode()), st.binary(max_size=40))


@settings(
    max_examples=400,
    deadline=None,
    derandomize="EXPLORE" not in os.environ,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    method=st.sampled_from(["GET", "POST", "PUT", "PATCH", "DELETE", "BREW"]),
    path=PATHS,
    query=QUERIES,
    body=BODIES,
    media_type=MEDIA_TYPES,
)
def test_any_request_is_answered(
    server: SimServer,
    caplog: pytest.LogCaptureFixture,
    *,
    method: str,
    path: str,
    query: dict[str, str],
    body: bytes,
    media_type: str,
) -> None:
    """No 500 but that for an unreadable resourceVersion, which a real server gives as well, and nothing is logged."""
    words = "&".join(f"{key}={value.replace(' ', '%20')}" for key, value in query.items())
    answer = server.request(method, f"{path}?{words}", None if method == "GET" else body, media_type)
    told = answer.json() if answer.headers["content-type"].startswith(JSON) and answer.body else {}
    if answer.status >= 500:
        assert told["message"].startswith("resourceVersion: Invalid value") or told["reason"] == "Timeout", told
    assert [record.message for record in caplog.records if record.levelno >= logging.ERROR] == []
    if path.startswith("/sim/"):
        server.control("faults", count=0)
        server.control("forbidden", resources=[])
        server.control("clock", speed=1)
