"""Wrong manifests: the API server's words, all faults at once, for every kind."""

from typing import Any

import pytest

from simcluster import manifests, resources, validation
from simcluster.admission import replica_specs_field
from simcluster.resources import TRAINING_JOBS, VOLCANO_JOBS, Resource
from simcluster.schemas.kinds import SCHEMAS, schema_of
from simcluster.schemas.schema import Schema
from tests.simcluster.simserver import SimServer, pod, tfjob

Obj = dict[str, Any]
NAMES = {resource: f"/apis/{resource.api_version}/namespaces/wire/{resource.plural}" for resource in TRAINING_JOBS}
PODS = "/api/v1/namespaces/wire/pods"
CONTAINER = {"name": "c", "image": "i"}


def job(resource: Resource, replica: Obj, **spec: Any) -> Obj:
    field = replica_specs_field(resource)
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {"name": "x", "namespace": "wire"},
        "spec": {field: {"Worker": replica}, **spec},
    }


def causes(server: SimServer, path: str, obj: Obj) -> dict[str, str]:
    answer = server.request("POST", path, obj)
    assert answer.status == 422, answer.body
    status = answer.json()
    assert status["reason"] == "Invalid"
    return {cause["field"]: cause["message"] for cause in status["details"]["causes"]}


@pytest.mark.parametrize("resource", TRAINING_JOBS, ids=lambda resource: resource.kind)
def test_all_faults_of_a_training_job(shared_server: SimServer, resource: Resource) -> None:
    prefix = f"spec.{replica_specs_field(resource)}.Worker"
    containers = [
        {"image": 5, "ports": [{"name": "p"}], "resources": {"limits": {"cpu": "many"}}},
        {"name": "c", "env": "x"},
        {"name": "c"},
    ]
    replica = {
        "replicas": "three",
        "restartPolicy": "Sometimes",
        "template": {"metadata": {"labels": {"a": 1}}, "spec": {"containers": containers, "hostNetwork": "yes"}},
    }
    policy = {
        "backoffLimit": -1,
        "cleanPodPolicy": "Some",
        "suspend": "no",
        "activeDeadlineSeconds": 0,
        "ttlSecondsAfterFinished": 1.5,
        "schedulingPolicy": {"minAvailable": "all", "minResources": {"cpu": "lots"}},
    }
    found = causes(shared_server, NAMES[resource], job(resource, replica, runPolicy=policy))
    spec = f"{prefix}.template.spec"
    assert found[f"{prefix}.replicas"] == (
        f'Invalid value: "string": {prefix}.replicas in body must be of type integer: "string"'
    )
    assert found[f"{prefix}.restartPolicy"] == (
        'Unsupported value: "Sometimes": supported values: "Always", "ExitCode", "Never", "OnFailure"'
    )
    assert found["spec.runPolicy.backoffLimit"] == (
        "Invalid value: -1: spec.runPolicy.backoffLimit in body should be greater than or equal to 0"
    )
    assert found[f"{spec}.containers[0].name"] == "Required value"
    assert found[f"{spec}.containers[2]"] == 'Duplicate value: {"name":"c"}'
    assert "should match" in found[f"{spec}.containers[0].resources.limits.cpu"]
    assert found["<nil>"] == validation.RULES_SKIPPED["message"]
    assert set(found) >= {
        "spec.runPolicy.cleanPodPolicy",
        "spec.runPolicy.suspend",
        "spec.runPolicy.activeDeadlineSeconds",
        "spec.runPolicy.ttlSecondsAfterFinished",
        "spec.runPolicy.schedulingPolicy.minAvailable",
        "spec.runPolicy.schedulingPolicy.minResources.cpu",
        f"{prefix}.template.metadata.labels.a",
        f"{spec}.hostNetwork",
        f"{spec}.containers[0].image",
        f"{spec}.containers[0].ports[0].containerPort",
        f"{spec}.containers[1].env",
    }


@pytest.mark.parametrize("resource", TRAINING_JOBS, ids=lambda resource: resource.kind)
def test_what_a_training_job_must_have(shared_server: SimServer, resource: Resource) -> None:
    field = replica_specs_field(resource)
    empty = {**job(resource, {}), "spec": {}}
    assert causes(shared_server, NAMES[resource], empty)[f"spec.{field}"] == "Required value"
    without = job(resource, {"template": {"spec": {}}})
    found = causes(shared_server, NAMES[resource], without)
    assert found[f"spec.{field}.Worker.template.spec.containers"] == "Required value"


def test_volcano_jobs_and_podgroups(shared_server: SimServer) -> None:
    path = "/apis/batch.volcano.sh/v1alpha1/namespaces/wire/jobs"
    task = {"replicas": -1, "name": "Bad_Name", "policies": [{"event": "PodLost"}], "template": {"spec": {}}}
    spec = {"minAvailable": -2, "maxRetry": "x", "queue": "No Queue", "tasks": [task], "plugins": {"ssh": 5}}
    found = causes(shared_server, path, {"metadata": {"name": "v"}, "spec": spec})
    assert set(found) == {
        "spec.minAvailable",
        "spec.maxRetry",
        "spec.queue",
        "spec.plugins.ssh",
        "spec.tasks[0].replicas",
        "spec.tasks[0].name",
        "spec.tasks[0].policies[0].event",
        "spec.tasks[0].template.spec.containers",
    }
    groups = "/apis/scheduling.volcano.sh/v1beta1/namespaces/wire/podgroups"
    group = {"metadata": {"name": "g"}, "spec": {"minMember": "all", "minResources": 5}}
    assert set(causes(shared_server, groups, group)) == {"spec.minMember", "spec.minResources"}
    others = "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/wire/podgroups"
    group["spec"] = {"minMember": 0}
    assert set(causes(shared_server, others, group)) == {"spec.minMember"}


def test_defaults(server: SimServer) -> None:
    path = "/apis/batch.volcano.sh/v1alpha1/namespaces/wire/jobs"
    created = server.request("POST", path, {"metadata": {"name": "v"}, "spec": {"tasks": []}}).json()
    assert created["spec"] == {"tasks": [], "maxRetry": 3, "queue": "default"}
    job_path = "/apis/kubeflow.org/v1/namespaces/wire/tfjobs"
    manifest = tfjob()
    manifest["spec"]["runPolicy"] = {}
    assert server.request("POST", job_path, manifest).json()["spec"]["runPolicy"] == {"suspend": False}


def test_unknown_fields_are_dropped_warned_of_or_refused(server: SimServer) -> None:
    manifest = tfjob()
    manifest["spec"]["tfReplicaSpecs"]["Worker"]["replica"] = 1
    manifest["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]["imagee"] = "x"
    path = "/apis/kubeflow.org/v1/namespaces/wire/tfjobs"
    strict = server.request("POST", f"{path}?fieldValidation=Strict", manifest)
    assert (strict.status, strict.json()["message"]) == (
        400,
        'TFJob in version "v1" cannot be handled as a TFJob: strict decoding error: '
        'unknown field "spec.tfReplicaSpecs.Worker.template.spec.containers[0].imagee", '
        'unknown field "spec.tfReplicaSpecs.Worker.replica"',
    )
    created = server.request("POST", path, manifest)
    assert created.status == 201
    assert "replica" not in created.json()["spec"]["tfReplicaSpecs"]["Worker"]
    assert created.headers.get_all("warning")[1] == ('299 - "unknown field \\"spec.tfReplicaSpecs.Worker.replica\\""')
    manifest["metadata"]["name"] = "quiet"
    assert server.request("POST", f"{path}?fieldValidation=Ignore", manifest).headers.get_all("warning") is None
    assert server.request("POST", f"{path}?fieldValidation=Maybe", manifest).status == 422


def test_pods(shared_server: SimServer) -> None:
    found = causes(shared_server, PODS, {**pod("p"), "spec": {"restartPolicy": "Often"}})
    assert found == {
        "spec.containers": "Required value",
        "spec.restartPolicy": 'Unsupported value: "Often": supported values: "Always", "Never", "OnFailure"',
    }
    twice = [CONTAINER, CONTAINER, {"imagePullPolicy": "Now"}]
    found = causes(
        shared_server, PODS, {**pod("p"), "spec": {"containers": twice, "terminationGracePeriodSeconds": -1}}
    )
    assert set(found) == {
        "spec.containers[1].name",
        "spec.containers[2].name",
        "spec.containers[2].image",
        "spec.containers[2].imagePullPolicy",
        "spec.terminationGracePeriodSeconds",
    }
    unreadable = {**pod("p"), "spec": {"containers": "x"}}
    answer = shared_server.request("POST", PODS, unreadable)
    assert (answer.status, answer.json()["message"]) == (
        400,
        'Pod in version "v1" cannot be handled as a Pod: json: cannot unmarshal string into Go struct field '
        "Pod.spec.containers of type []interface {}",
    )


def test_a_pod_gets_what_every_pod_gets(server: SimServer) -> None:
    created = server.request("POST", PODS, pod("p")).json()
    spec = created["spec"]
    assert (spec["serviceAccountName"], spec["schedulerName"], spec["priority"]) == ("default", "default-scheduler", 0)
    assert spec["volumes"][0]["name"].startswith("kube-api-access-")
    assert spec["containers"][0]["volumeMounts"][0]["readOnly"] is True
    assert [item["key"] for item in spec["tolerations"]] == [
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/unreachable",
    ]
    assert created["status"] == {"phase": "Pending", "qosClass": "BestEffort"}
    again = {**created, "metadata": {"name": "q"}}
    assert server.request("POST", PODS, again).json()["spec"]["volumes"] == spec["volumes"]


def test_what_may_change_in_a_pod(server: SimServer) -> None:
    created = server.request("POST", PODS, pod("p")).json()
    created["spec"]["containers"][0]["image"] = "newer"
    updated = server.request("PUT", f"{PODS}/p", created)
    assert updated.status == 200
    other = updated.json()
    other["spec"]["nodeName"] = "elsewhere"
    refused = server.request("PUT", f"{PODS}/p", other).json()
    assert refused["details"]["causes"][0]["reason"] == "FieldValueForbidden"


def every(schema: Schema, path: str = "") -> Any:
    yield path, schema
    for key, inner in schema.properties.items():
        yield from every(inner, f"{path}.{key}")
    for inner in (schema.items, schema.values):
        if inner is not None:
            yield from every(inner, f"{path}[]")


@pytest.mark.parametrize("resource", SCHEMAS, ids=lambda resource: resource.qualified)
def test_shapes_are_sound(resource: Resource) -> None:
    for path, schema in every(schema_of(resource)):
        assert set(schema.required) <= set(schema.properties), path
        if schema.keys:
            assert schema.items is not None, path
            assert schema.items.is_open or set(schema.keys) <= set(schema.items.properties), path
        if schema.default is not None:
            assert validation.faults(schema, schema.default) == [], path


def test_every_experiment_passes() -> None:
    for name, experiment in manifests.EXPERIMENTS.items():
        manifest = experiment()
        resource = resources.by_kind(manifest["apiVersion"], manifest["kind"])
        assert resource is not None
        kept, unknown = validation.pruned(schema_of(resource), manifest)
        assert (unknown, kept) == ([], manifest), name
        assert validation.faults(schema_of(resource), manifest) == [], name
    assert VOLCANO_JOBS in SCHEMAS
