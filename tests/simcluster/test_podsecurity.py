"""Pod security admission: a namespace's labels, and the words in which a real API server refuses pods and warns."""

from typing import Any

import pytest

from tests.simcluster.simserver import Answer, SimServer, pod, tfjob

Obj = dict[str, Any]
PREFIX = "pod-security.kubernetes.io/"
PODS = "/api/v1/namespaces/kept/pods"
BARE = (
    'allowPrivilegeEscalation != false (container "tensorflow" must set '
    "securityContext.allowPrivilegeEscalation=false), "
    'unrestricted capabilities (container "tensorflow" must set securityContext.capabilities.drop=["ALL"]), '
    'runAsNonRoot != true (pod or container "tensorflow" must set securityContext.runAsNonRoot=true), '
    'seccompProfile (pod or container "tensorflow" must set securityContext.seccompProfile.type to "RuntimeDefault" '
    'or "Localhost")'
)
GOOD = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
    "runAsUser": 1000,
    "seccompProfile": {"type": "RuntimeDefault"},
}
CONTAINER_ONLY = {name: GOOD[name] for name in ("allowPrivilegeEscalation", "capabilities")}
POD_LEVEL = {name: GOOD[name] for name in ("runAsNonRoot", "runAsUser", "seccompProfile")}


def labelled(server: SimServer, **labels: str) -> None:
    """A namespace ``kept`` with these labels, the prefix left out; ``_`` stands for ``-``."""
    names = {PREFIX + name.replace("_", "-"): value for name, value in labels.items()}
    answer = server.request("POST", "/api/v1/namespaces", {"metadata": {"name": "kept", "labels": names}})
    assert answer.status == 201, answer.body


def made(security: Obj | None = None, *, name: str = "p", **spec: Any) -> Obj:
    """A pod whose only container has this security context."""
    found = pod(name, "kept")
    if security is not None:
        found["spec"]["containers"][0]["securityContext"] = security
    found["spec"] |= spec
    return found


def warnings_of(answer: Answer) -> list[str]:
    return [text.removeprefix('299 - "').removesuffix('"').replace('\\"', '"')
            for text in answer.headers.get_all("warning") or []]  # fmt: skip


def why(answer: Answer) -> str:
    """What a refusal says after naming the standard."""
    assert answer.status == 403, answer.body
    return str(answer.json()["message"]).partition('": ')[2]


@pytest.mark.parametrize("query", ["", "?dryRun=All"])
def test_a_bare_pod_is_refused_in_the_real_servers_words(server: SimServer, query: str) -> None:
    labelled(server, enforce="restricted")
    answer = server.request("POST", PODS + query, made())
    assert answer.status == 403
    assert answer.json() == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": f'pods "p" is forbidden: violates PodSecurity "restricted:latest": {BARE}',
        "reason": "Forbidden",
        "details": {"name": "p", "kind": "pods"},
        "code": 403,
    }
    assert server.get(f"{PODS}/p").status == 404


@pytest.mark.parametrize("pod_level", [False, True])
def test_what_satisfies_the_standard_is_let_in_without_a_word(server: SimServer, pod_level: bool) -> None:
    labelled(server, enforce="restricted", warn="restricted")
    wanted = made(CONTAINER_ONLY, securityContext=POD_LEVEL) if pod_level else made(GOOD)
    answer = server.request("POST", PODS, wanted)
    assert (answer.status, warnings_of(answer)) == (201, [])


def test_init_containers_and_sidecars_are_asked_as_well(server: SimServer) -> None:
    labelled(server, enforce="restricted")
    init = [{"name": "init-pytorch", "image": "alpine"}, {"name": "proxy", "image": "i", "restartPolicy": "Always"}]
    told = why(server.request("POST", PODS, made(GOOD, initContainers=init)))
    assert told.startswith('allowPrivilegeEscalation != false (containers "init-pytorch", "proxy" must set')
    assert "tensorflow" not in told


@pytest.mark.parametrize(
    ("changes", "spec", "told"),
    [
        (
            {"capabilities": {"drop": ["ALL"], "add": ["NET_ADMIN", "NET_BIND_SERVICE"]}},
            {},
            'unrestricted capabilities (container "tensorflow" must not include "NET_ADMIN" in '
            "securityContext.capabilities.add)",
        ),
        (
            {"runAsNonRoot": False},
            {},
            'runAsNonRoot != true (container "tensorflow" must not set securityContext.runAsNonRoot=false)',
        ),
        (
            {"runAsUser": 0},
            {"securityContext": {"runAsUser": 0}},
            'runAsUser=0 (pod and container "tensorflow" must not set runAsUser=0)',
        ),
        (
            {"seccompProfile": {"type": "Unconfined"}},
            {},
            'seccompProfile (container "tensorflow" must not set securityContext.seccompProfile.type to "Unconfined")',
        ),
        (
            {},
            {"hostNetwork": True, "hostIPC": True},
            "host namespaces (hostNetwork=true, hostIPC=true)",
        ),
        (
            {},
            {"volumes": [{"name": "a", "hostPath": {"path": "/"}}, {"name": "b", "emptyDir": {}}]},
            'restricted volume types (volume "a" uses restricted volume type "hostPath")',
        ),
    ],
)
def test_each_thing_that_restricted_forbids(server: SimServer, changes: Obj, spec: Obj, told: str) -> None:
    labelled(server, enforce="restricted")
    assert why(server.request("POST", PODS, made(GOOD | changes, **spec))) == told


@pytest.mark.parametrize(
    ("security", "spec", "told"),
    [
        (
            {"capabilities": {"add": ["SYS_ADMIN", "CHOWN"]}},
            {},
            'non-default capabilities (container "tensorflow" must not include "SYS_ADMIN" in '
            "securityContext.capabilities.add)",
        ),
        ({"privileged": True}, {}, 'privileged (container "tensorflow" must not set securityContext.privileged=true)'),
        ({}, {"volumes": [{"name": "a", "hostPath": {"path": "/"}}]}, 'hostPath volumes (volume "a")'),
        (
            {},
            {"containers": [{"name": "c", "image": "i", "ports": [{"containerPort": 80, "hostPort": 8080}]}]},
            'hostPort (container "c" uses hostPort 8080)',
        ),
    ],
)
def test_what_baseline_forbids(server: SimServer, security: Obj, spec: Obj, told: str) -> None:
    labelled(server, enforce="baseline")
    assert why(server.request("POST", PODS, made(security, **spec))) == told
    assert server.request("POST", PODS, made(name="bare")).status == 201


def test_the_version_is_named_as_the_label_has_it(server: SimServer) -> None:
    labelled(server, enforce="restricted", enforce_version="v1.31")
    told = server.request("POST", PODS, made()).json()["message"]
    assert 'violates PodSecurity "restricted:v1.31": ' in told


@pytest.mark.parametrize("query", ["", "?dryRun=All"])
def test_the_warn_label_warns_and_lets_in(server: SimServer, query: str) -> None:
    labelled(server, enforce="baseline", warn="restricted", audit="restricted")
    answer = server.request("POST", PODS + query, made())
    assert answer.status == 201
    assert warnings_of(answer) == [f'would violate PodSecurity "restricted:latest": {BARE}']
    assert warnings_of(server.request("POST", f"{PODS}?dryRun=All", made(GOOD, name="good"))) == []


def test_a_job_is_let_in_without_a_word_though_its_pods_will_not_be(server: SimServer) -> None:
    """The admission knows the built-in workloads only."""
    labelled(server, enforce="restricted", warn="restricted")
    answer = server.request("POST", "/apis/kubeflow.org/v1/namespaces/kept/tfjobs", tfjob(namespace="kept"))
    assert (answer.status, warnings_of(answer)) == (201, [])


def test_labels_of_no_meaning_are_refused(server: SimServer) -> None:
    labels = {f"{PREFIX}enforce": "strict", f"{PREFIX}warn-version": "1.31"}
    answer = server.request("POST", "/api/v1/namespaces", {"metadata": {"name": "kept", "labels": labels}})
    assert answer.status == 422
    assert answer.json()["message"] == (
        f'Namespace "kept" is invalid: [metadata.labels[{PREFIX}enforce]: Invalid value: "strict": must be one of '
        f'privileged, baseline, restricted, metadata.labels[{PREFIX}warn-version]: Invalid value: "1.31": must be '
        '"latest" or "v1.x"]'
    )
    merge = "application/merge-patch+json"
    patched = server.request("PATCH", "/api/v1/namespaces/wire", {"metadata": {"labels": labels}}, merge)
    assert patched.status == 422


def test_a_namespace_that_comes_to_enforce_more_names_the_pods_in_it(server: SimServer) -> None:
    labelled(server)
    for number in range(3):
        assert server.request("POST", PODS, made(name=f"p{number}")).status == 201
    assert server.request("POST", PODS, made(GOOD, name="good")).status == 201
    path, merge = "/api/v1/namespaces/kept", "application/merge-patch+json"
    change = {"metadata": {"labels": {f"{PREFIX}enforce": "restricted"}}}
    answer = server.request("PATCH", path, change, merge)
    assert answer.status == 200
    assert warnings_of(answer) == [
        'existing pods in namespace "kept" violate the new PodSecurity enforce level "restricted:latest"',
        "p0 (and 2 other pods): allowPrivilegeEscalation != false, unrestricted capabilities, runAsNonRoot != true, "
        "seccompProfile",
    ]
    assert warnings_of(server.request("PATCH", path, change, merge)) == [], "nothing has changed now"
    assert server.request("GET", f"{PODS}/p0").status == 200, "what is there stays"


def test_a_pod_of_before_may_be_written_but_not_given_another_image(server: SimServer) -> None:
    labelled(server)
    server.request("POST", PODS, made())
    merge = "application/merge-patch+json"
    labels = {f"{PREFIX}enforce": "restricted"}
    server.request("PATCH", "/api/v1/namespaces/kept", {"metadata": {"labels": labels}}, merge)
    assert server.request("PATCH", f"{PODS}/p", {"metadata": {"labels": {"a": "b"}}}, merge).status == 200
    strategic = "application/strategic-merge-patch+json"
    image = {"spec": {"containers": [{"name": "tensorflow", "image": "other"}]}}
    assert why(server.request("PATCH", f"{PODS}/p", image, strategic)) == BARE
