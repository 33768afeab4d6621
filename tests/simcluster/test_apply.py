"""managedFields as a real server keeps them, and server-side apply with its conflicts."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from simcluster import fields
from simcluster.resources import REGISTRY, TFJOBS
from tests.simcluster.simserver import SimServer, pod, tfjob

Obj = dict[str, Any]
SEED = Path(__file__).parents[1] / "data" / "recordings" / "seed-exitcode-138" / "watch.jsonl.gz"
APPLY, MERGE = "application/apply-patch+yaml", "application/merge-patch+json"
JOBS = "/apis/kubeflow.org/v1/namespaces/wire/tfjobs"
PODS = "/api/v1/namespaces/wire/pods"


def in_order(entries: list[Obj]) -> list[Obj]:
    return sorted(entries, key=lambda entry: (entry["manager"], entry.get("subresource", "")))


def test_managed_fields_of_every_recorded_write() -> None:
    """Each write of the recording is made again: what it leaves must be the recorded managedFields."""
    resources = {resource.qualified: resource for resource in REGISTRY}
    last: dict[str, Obj] = {}
    checked = 0
    with gzip.open(SEED, "rt") as file:
        for line in map(json.loads, file):
            resource, obj = resources.get(line["resource"]), line["object"]
            if resource is None or line["type"] in ("BOOKMARK", "DELETED"):
                continue
            old = last.get(obj["metadata"]["uid"])
            last[obj["metadata"]["uid"]] = obj
            wanted = obj["metadata"].get("managedFields", [])
            before = old["metadata"].get("managedFields", []) if old else []
            fresh = [entry for entry in wanted if entry not in before]
            if not fresh:
                continue
            (entry,) = fresh
            new = {**obj, "metadata": {**obj["metadata"], "managedFields": before}}
            found = fields.after_update(
                resource, old, new, entry["manager"], subresource=entry.get("subresource"), time=entry["time"]
            )
            assert in_order(found) == in_order(wanted)
            checked += 1
    assert checked == 198


def test_sets_of_fields() -> None:
    first = {"f:a": {".": {}, "f:x": {}}, "f:b": {}}
    second = {"f:a": {"f:x": {}}, "f:c": {}}
    assert fields.union(first, second) == {"f:a": {".": {}, "f:x": {}}, "f:b": {}, "f:c": {}}
    assert fields.difference(first, second) == {"f:a": {}, "f:b": {}}
    assert fields.difference(second, first) == {"f:c": {}}
    assert fields.intersection(first, second) == {"f:a": {"f:x": {}}}
    assert fields.union({"f:a": {}}, {"f:a": {"f:x": {}}}) == {"f:a": {".": {}, "f:x": {}}}
    assert fields.difference(first, {}) == first
    assert fields.union({}, first) == first


def apply(server: SimServer, obj: Obj, manager: str = "me", query: str = "") -> Any:
    path = f"{JOBS}/{obj['metadata']['name']}?fieldManager={manager}{query}"
    return server.request("PATCH", path, obj, APPLY)


def test_an_applied_object_is_created_then_kept(server: SimServer) -> None:
    created = apply(server, tfjob())
    assert created.status == 201
    (entry,) = created.json()["metadata"]["managedFields"]
    assert (entry["manager"], entry["operation"]) == ("me", "Apply")
    worker = entry["fieldsV1"]["f:spec"]["f:tfReplicaSpecs"]["f:Worker"]
    assert worker["f:replicas"] == {}
    assert worker["f:template"]["f:spec"]["f:containers"]['k:{"name":"tensorflow"}'] == {
        ".": {},
        "f:image": {},
        "f:name": {},
    }
    again = apply(server, tfjob())
    assert (again.status, again.json()) == (200, created.json())


def test_conflicts_are_named_all_at_once(server: SimServer) -> None:
    apply(server, tfjob())
    change = {"spec": {"tfReplicaSpecs": {"Worker": {"replicas": 9, "restartPolicy": "Never"}}}}
    server.request("PATCH", f"{JOBS}/tftest?fieldManager=other", change, MERGE)
    refused = apply(server, tfjob())
    body = refused.json()
    assert (refused.status, body["reason"]) == (409, "Conflict")
    assert body["message"] == (
        'Apply failed with 2 conflicts: conflicts with "other" using kubeflow.org/v1:\n'
        "- .spec.tfReplicaSpecs.Worker.replicas\n- .spec.tfReplicaSpecs.Worker.restartPolicy"
    )
    assert body["details"]["causes"][0] == {
        "reason": "FieldManagerConflict",
        "message": 'conflict with "other" using kubeflow.org/v1',
        "field": ".spec.tfReplicaSpecs.Worker.replicas",
    }
    forced = apply(server, tfjob(), query="&force=true").json()
    assert forced["spec"]["tfReplicaSpecs"]["Worker"]["replicas"] == 3
    assert [entry["manager"] for entry in forced["metadata"]["managedFields"]] == ["me"]


def test_a_field_nobody_wants_any_more_goes(server: SimServer) -> None:
    job = tfjob(labels={"mine": "1", "shared": "1"})
    apply(server, job)
    apply(server, {**tfjob(labels={"shared": "1"}), "spec": {"tfReplicaSpecs": {}}}, "second")
    job["metadata"]["labels"] = {}
    left = apply(server, job).json()
    assert left["metadata"]["labels"] == {"shared": "1"}
    gone = apply(server, {**tfjob(), "spec": {"tfReplicaSpecs": {}}}, "second").json()
    assert "labels" not in gone["metadata"]


def test_what_was_owned_with_all_that_holds_it_stays_while_it_is_wanted(server: SimServer) -> None:
    """Whoever updated before owns the structs as well; as an applier, as kubectl makes it, it names leaves."""
    job = server.request("POST", f"{JOBS}?fieldManager=me", tfjob(labels={"a": "1", "b": "2"})).json()
    (entry,) = job["metadata"]["managedFields"]
    assert "." in entry["fieldsV1"]["f:spec"]["f:tfReplicaSpecs"]["f:Worker"]["f:template"]["f:spec"]
    patch = [{"op": "replace", "path": "/metadata/managedFields", "value": [{**entry, "operation": "Apply"}]}]
    server.request("PATCH", f"{JOBS}/tftest?fieldManager=me", patch, "application/json-patch+json")
    applied = apply(server, tfjob(labels={"a": "1"})).json()
    assert (applied["spec"], applied["metadata"]["labels"]) == (job["spec"], {"a": "1"})


def test_lists_are_merged_by_their_keys(server: SimServer) -> None:
    first, second = pod("p"), pod("p")
    second["spec"] = {"containers": [{"name": "side", "image": "b"}]}
    path = f"{PODS}/p?fieldManager="
    assert server.request("PATCH", f"{path}a", first, APPLY).status == 201
    refused = server.request("PATCH", f"{path}b", second, APPLY)
    assert refused.status == 422  # a pod's containers cannot be changed: but both were there
    labels = {**pod("p", labels={"x": "y"}), "spec": {}}
    assert server.request("PATCH", f"{path}b", labels, APPLY).json()["metadata"]["labels"] == {"x": "y"}


def test_applied_yaml_and_status(server: SimServer) -> None:
    text = b"apiVersion: kubeflow.org/v1\nkind: TFJob\nmetadata:\n  name: y\nspec:\n  tfReplicaSpecs: {}\n"
    assert server.request("PATCH", f"{JOBS}/y?fieldManager=me", text, APPLY).status == 201
    status = {"apiVersion": "kubeflow.org/v1", "kind": "TFJob", "metadata": {"name": "y"}, "status": {"startTime": NOW}}
    applied = server.request("PATCH", f"{JOBS}/y/status?fieldManager=op", status, APPLY).json()
    assert applied["status"] == {"startTime": NOW}
    entry = next(item for item in applied["metadata"]["managedFields"] if item["manager"] == "op")
    assert (entry["subresource"], entry["operation"]) == ("status", "Apply")


NOW = "2026-11-29T12:43:35Z"


@pytest.mark.parametrize(
    ("query", "change", "code", "text"),
    [
        ("", {}, 422, "fieldManager: Required value: is required for apply patch"),
        ("?fieldManager=me", {"metadata": {"name": "x", "managedFields": []}}, 400, "managedFields must be nil"),
        ("?fieldManager=me", {"metadata": {"name": "z"}}, 400, "does not match the name on the URL"),
        ("?fieldManager=me&fieldValidation=Strict", {"spec": {"nope": 1}}, 400, 'unknown field "spec.nope"'),
        ("?fieldManager=me&dryRun=All", {}, 201, ""),
        ("?fieldManager=me&dryRun=Half", {}, 400, "dryRun"),
    ],
)
def test_refusals(server: SimServer, query: str, change: Obj, code: int, text: str) -> None:
    answer = server.request("PATCH", f"{JOBS}/x{query}", {**tfjob("x"), **change}, APPLY)
    assert (answer.status, text in answer.json().get("message", "")) == (code, True)
    assert server.call(server.store.count, TFJOBS) == 0


def test_clients_clear_managed_fields_with_one_empty_entry(server: SimServer) -> None:
    created = server.request("POST", JOBS, tfjob()).json()
    for value in ([], [{"manager": 5}], "x", None):
        operations = [{"op": "add", "path": "/metadata/managedFields", "value": value}]
        kept = server.request("PATCH", f"{JOBS}/tftest", operations, "application/json-patch+json").json()
        assert kept["metadata"]["managedFields"] == created["metadata"]["managedFields"]
    operations = [{"op": "replace", "path": "/metadata/managedFields", "value": [{}]}]
    cleared = server.request("PATCH", f"{JOBS}/tftest", operations, "application/json-patch+json").json()
    assert "managedFields" not in cleared["metadata"]
