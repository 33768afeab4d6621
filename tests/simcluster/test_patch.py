"""Patches: JSON, merge and strategic, by themselves and over HTTP."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcluster import patch
from simcluster.errors import ApiError
from simcluster.resources import PODS
from simcluster.schemas.kinds import schema_of
from tests.simcluster.simserver import SimServer, pod, tfjob

JOBS = "/apis/kubeflow.org/v1/namespaces/wire/tfjobs"
JSON_PATCH, MERGE = "application/json-patch+json", "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"


@pytest.mark.parametrize(
    ("operations", "result"),
    [
        ([{"op": "add", "path": "/c", "value": 1}], {"a": {"b": [1, 2]}, "c": 1}),
        ([{"op": "add", "path": "/a/b/1", "value": 9}], {"a": {"b": [1, 9, 2]}}),
        ([{"op": "add", "path": "/a/b/-", "value": 9}], {"a": {"b": [1, 2, 9]}}),
        ([{"op": "replace", "path": "/a/b/0", "value": 9}], {"a": {"b": [9, 2]}}),
        ([{"op": "remove", "path": "/a/b/0"}], {"a": {"b": [2]}}),
        ([{"op": "remove", "path": "/a"}], {}),
        ([{"op": "copy", "from": "/a/b", "path": "/c"}], {"a": {"b": [1, 2]}, "c": [1, 2]}),
        ([{"op": "move", "from": "/a/b", "path": "/x~1y~0"}], {"a": {}, "x/y~": [1, 2]}),
        ([{"op": "test", "path": "/a/b/1", "value": 2}, {"op": "remove", "path": "/a/b"}], {"a": {}}),
        ([{"op": "replace", "path": "", "value": {"z": 1}}], {"z": 1}),
    ],
)
def test_json_patch(operations: Any, result: Any) -> None:
    target = {"a": {"b": [1, 2]}}
    before = copy.deepcopy(target)
    assert patch.json_patch(target, operations) == result
    assert target == before


@pytest.mark.parametrize(
    ("operations", "code"),
    [
        ({}, 400),
        ([1], 400),
        ([{"op": "add"}], 400),
        ([{"op": "jump", "path": "/a"}], 400),
        ([{"op": "move", "path": "/a"}], 400),
        ([{"op": "test", "path": "/a", "value": 1}], 422),
        ([{"op": "remove", "path": "/nope"}], 422),
        ([{"op": "replace", "path": "/a/b/7", "value": 1}], 422),
        ([{"op": "add", "path": "/a/b/x", "value": 1}], 422),
        ([{"op": "add", "path": "a", "value": 1}], 422),
        ([{"op": "add", "path": "/a/b/0/c", "value": 1}], 422),
        ([{"op": "remove", "path": "/a"}] * 10_001, 413),
    ],
)
def test_json_patches_that_fail(operations: Any, code: int) -> None:
    with pytest.raises(ApiError) as caught:
        patch.json_patch({"a": {"b": [1, 2]}}, operations)
    assert caught.value.code == code


CONTAINERS = [{"name": "a", "image": "1"}, {"name": "b", "image": "2"}]


@pytest.mark.parametrize(
    ("change", "containers"),
    [
        ([{"name": "b", "image": "3"}], [{"name": "a", "image": "1"}, {"name": "b", "image": "3"}]),
        ([{"name": "c", "image": "3"}], [*CONTAINERS, {"name": "c", "image": "3"}]),
        ([{"name": "a", "$patch": "delete"}], [{"name": "b", "image": "2"}]),
        ([{"$patch": "replace"}, {"name": "z"}], [{"name": "z"}]),
        ([{"name": "a", "image": None}], [{"name": "a"}, {"name": "b", "image": "2"}]),
        (
            [{"name": "a", "env": [{"name": "X", "value": "1"}]}],
            [{"name": "a", "image": "1", "env": [{"name": "X", "value": "1"}]}, {"name": "b", "image": "2"}],
        ),
    ],
)
def test_lists_are_merged_by_their_keys(change: Any, containers: Any) -> None:
    target = {"spec": {"containers": CONTAINERS, "nodeName": "n"}}
    merged = patch.strategic(schema_of(PODS), target, {"spec": {"containers": change}})
    assert merged == {"spec": {"containers": containers, "nodeName": "n"}}
    assert target["spec"]["containers"] == CONTAINERS


def test_directives() -> None:
    schema = schema_of(PODS)
    target = {
        "metadata": {"finalizers": ["a", "b"], "labels": {"x": "1", "y": "2"}},
        "spec": {"containers": CONTAINERS},
    }
    change: Any = {
        "metadata": {"$deleteFromPrimitiveList/finalizers": ["a"], "labels": {"$patch": "replace", "z": "3"}},
        "spec": {
            "$setElementOrder/containers": [{"name": "c"}, {"name": "b"}, {"name": "a"}],
            "containers": [{"name": "c"}],
        },
    }
    merged = patch.strategic(schema, target, change)
    assert merged["metadata"] == {"finalizers": ["b"], "labels": {"z": "3"}}
    assert [item["name"] for item in merged["spec"]["containers"]] == ["c", "b", "a"]
    added = patch.strategic(schema, target, {"metadata": {"finalizers": ["c", "a"]}})
    assert added["metadata"]["finalizers"] == ["a", "b", "c"]
    kept = patch.strategic(schema, target, {"metadata": {"$retainKeys": ["labels"]}})
    assert list(kept["metadata"]) == ["labels"]
    assert patch.strategic(schema, target, {"spec": {"$patch": "delete"}})["spec"] == {}
    for wrong in ({"$patch": "shake"}, {"spec": {"containers": ["a"]}}, {"spec": {"containers": [{"image": "x"}]}}):
        with pytest.raises(ApiError):
            patch.strategic(schema, target, wrong)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text("ab$", max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(("a", "b", "$patch")), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(VALUES, VALUES)
def test_hostile_patches_never_change_their_target(target: Any, change: Any) -> None:
    before = copy.deepcopy(target)
    for apply in (patch.merge, patch.json_patch):
        try:
            apply(target, change)
        except ApiError as error:
            assert error.code in (400, 413, 422)
    if isinstance(change, dict):
        try:
            patch.strategic(schema_of(PODS), target, {"spec": change})
        except ApiError as error:
            assert error.code == 400
    assert target == before


def test_patches_over_http(server: SimServer) -> None:
    server.request("POST", JOBS, tfjob())
    path = f"{JOBS}/tftest"
    operations = [{"op": "replace", "path": "/spec/tfReplicaSpecs/Worker/replicas", "value": 5}]
    patched = server.request("PATCH", path, operations, JSON_PATCH).json()
    assert (patched["spec"]["tfReplicaSpecs"]["Worker"]["replicas"], patched["metadata"]["generation"]) == (5, 2)
    refused = server.request("PATCH", path, [{"op": "test", "path": "/kind", "value": "x"}], JSON_PATCH)
    assert (refused.status, refused.json()["reason"]) == (422, "Invalid")
    assert refused.json()["message"] == "the server rejected our request due to an error in our request"
    assert server.request("PATCH", path, {"spec": {}}, STRATEGIC).status == 415
    stale = {"metadata": {"resourceVersion": "1", "labels": {"a": "b"}}}
    assert server.request("PATCH", path, stale, MERGE).status == 409
    renamed = server.request("PATCH", path, {"metadata": {"name": "other"}}, MERGE)
    assert (renamed.status, renamed.json()["reason"]) == (400, "BadRequest")
    for body in (None, [1], "x"):
        assert server.request("PATCH", path, body, MERGE).status == 400


def test_a_patched_status(server: SimServer) -> None:
    pods = "/api/v1/namespaces/wire/pods"
    server.request("POST", pods, pod("a", node="las1"))
    condition = {"type": "Ready", "status": "True"}
    status = {"status": {"conditions": [condition], "phase": "Running"}}
    assert server.request("PATCH", f"{pods}/a/status", status, STRATEGIC).status == 200
    other = {"status": {"conditions": [{"type": "Initialized", "status": "True"}]}}
    patched = server.request("PATCH", f"{pods}/a/status", other, STRATEGIC).json()
    assert [item["type"] for item in patched["status"]["conditions"]] == ["Ready", "Initialized"]


def test_scale(server: SimServer) -> None:
    job = tfjob("job") | {"kind": "PyTorchJob"}
    job["spec"] = {"pytorchReplicaSpecs": {"Worker": job["spec"]["tfReplicaSpecs"]["Worker"]}}
    path = "/apis/kubeflow.org/v1/namespaces/wire/pytorchjobs"
    assert server.request("POST", path, job).status == 201
    scale = server.get(f"{path}/job/scale").json()
    assert (scale["kind"], scale["spec"], scale["status"]) == ("Scale", {"replicas": 3}, {"replicas": 0})
    scale["spec"]["replicas"] = 7
    assert server.request("PUT", f"{path}/job/scale", scale).json()["spec"] == {"replicas": 7}
    assert server.request("PUT", f"{path}/job/scale", scale).status == 409
    assert server.request("PATCH", f"{path}/job/scale", {"spec": {"replicas": 2}}, MERGE).status == 200
    assert server.get(f"{path}/job").json()["spec"]["pytorchReplicaSpecs"]["Worker"]["replicas"] == 2
    for wrong, code in (({"spec": {"replicas": -1}}, 422), ({"spec": {"replicas": "x"}}, 400), ({"spec": 5}, 400)):
        assert server.request("PATCH", f"{path}/job/scale", wrong, MERGE).status == code
    job["metadata"]["name"], job["spec"] = "none", {"pytorchReplicaSpecs": {"Master": {}}}
    server.request("POST", path, job)
    assert server.get(f"{path}/none/scale").status == 500
    assert server.get(f"{JOBS}/x/scale").status == 404
