"""The real kubectl: every command that the dashboard's users type works as against a real cluster."""

import json
import urllib.error
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from simcluster import manifests
from tests.simcluster.kubectl import Cluster, until
from tests.simcluster.simserver import pod, tfjob

Obj = dict[str, Any]
NS = ("-n", "wire")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    started = Cluster(tmp_path_factory.mktemp("kubectl"), "--speed", "20", "--namespace", "wire")
    yield started
    started.stop()


def lasting(name: str) -> Obj:
    return manifests.lasting_pytorchjob("wire", name)


def got(cluster: Cluster, *what: str) -> Any:
    return json.loads(cluster.kubectl("get", *what, *NS, "-o", "json"))


def test_apply_from_the_client(cluster: Cluster) -> None:
    job = tfjob("client")
    assert "tfjob.kubeflow.org/client created" in cluster.kubectl("apply", "-f", "-", manifest=job)
    assert "unchanged" in cluster.kubectl("apply", "-f", "-", manifest=job)
    job["spec"]["tfReplicaSpecs"]["Worker"]["replicas"] = 1
    assert "configured (server dry run)" in cluster.kubectl("apply", "--dry-run=server", "-f", "-", manifest=job)
    assert got(cluster, "tfjob", "client")["spec"]["tfReplicaSpecs"]["Worker"]["replicas"] == 3
    assert "configured" in cluster.kubectl("apply", "-f", "-", manifest=job)
    assert got(cluster, "tfjob", "client")["spec"]["tfReplicaSpecs"]["Worker"]["replicas"] == 1
    assert "deleted" in cluster.kubectl("delete", "tfjob", "client", *NS)
    assert '"client" not found' in cluster.refused("get", "tfjob", "client", *NS)


def test_apply_on_the_server_with_conflicts(cluster: Cluster) -> None:
    job = tfjob("server")
    apply = ("apply", "--server-side", "-f", "-")
    assert "serverside-applied" in cluster.kubectl(*apply, manifest=job)
    patch = '{"spec":{"runPolicy":{"suspend":true},"tfReplicaSpecs":{"Worker":{"replicas":5}}}}'
    cluster.kubectl("patch", "tfjob", "server", *NS, "--type=merge", "-p", patch)
    refused = cluster.refused(*apply, manifest=job)
    assert "Apply failed with 1 conflict" in refused
    assert 'conflict with "kubectl-patch" using kubeflow.org/v1: .spec.tfReplicaSpecs.Worker.replicas' in refused
    assert "serverside-applied" in cluster.kubectl(*apply, "--force-conflicts", manifest=job)
    shown = json.loads(cluster.kubectl("get", "tfjob", "server", *NS, "-o", "json", "--show-managed-fields"))
    assert shown["spec"]["tfReplicaSpecs"]["Worker"]["replicas"] == 3
    assert shown["spec"]["runPolicy"] == {"suspend": True}  # the other manager's, and not in conflict
    managers = [(entry["manager"], entry["operation"]) for entry in shown["metadata"]["managedFields"]]
    assert managers[0] == ("kubectl", "Apply")
    assert ("kubectl-patch", "Update") in managers
    del job["spec"]["tfReplicaSpecs"]["Worker"]["restartPolicy"]
    cluster.kubectl(*apply, manifest=job)
    assert "restartPolicy" not in got(cluster, "tfjob", "server")["spec"]["tfReplicaSpecs"]["Worker"]


def test_from_client_side_to_server_side(cluster: Cluster) -> None:
    job = tfjob("moved")
    cluster.kubectl("apply", "-f", "-", manifest=job)
    job["spec"]["tfReplicaSpecs"]["Worker"]["replicas"] = 2
    assert "serverside-applied" in cluster.kubectl("apply", "--server-side", "-f", "-", manifest=job)
    assert got(cluster, "tfjob", "moved")["spec"] == job["spec"]
    del job["spec"]["tfReplicaSpecs"]["Worker"]["restartPolicy"]
    cluster.kubectl("apply", "--server-side", "-f", "-", manifest=job)
    assert got(cluster, "tfjob", "moved")["spec"] == job["spec"]


def test_patches_labels_and_annotations(cluster: Cluster) -> None:
    cluster.kubectl("apply", "-f", "-", manifest=pod("patched"))
    cluster.kubectl("label", "pod", "patched", *NS, "team=red")
    cluster.kubectl("annotate", "pod", "patched", *NS, "note=x")
    strategic = '{"spec":{"containers":[{"name":"tensorflow","image":"other"}]}}'
    cluster.kubectl("patch", "pod", "patched", *NS, "-p", strategic)
    operations = '[{"op":"replace","path":"/metadata/labels/team","value":"blue"}]'
    cluster.kubectl("patch", "pod", "patched", *NS, "--type=json", "-p", operations)
    shown = got(cluster, "pod", "patched")
    assert (shown["metadata"]["labels"], shown["metadata"]["annotations"]["note"]) == ({"team": "blue"}, "x")
    (container,) = shown["spec"]["containers"]
    assert (container["image"], container["terminationMessagePolicy"]) == ("other", "File")
    refused = cluster.refused("patch", "pod", "patched", *NS, "-p", '{"spec":{"nodeName":"elsewhere"}}')
    assert "pod updates may not change fields other than" in refused
    assert "not found" in cluster.refused("patch", "tfjob", "absent", *NS, "--type=merge", "-p", "{}")


def test_scale_and_logs(cluster: Cluster) -> None:
    cluster.kubectl("apply", "-f", "-", manifest=lasting("scaled"))
    for condition in ("create", "condition=Ready"):
        cluster.kubectl("wait", f"--for={condition}", "pod/scaled-worker-1", *NS, "--timeout=20s")
    assert "scaled" in cluster.kubectl("scale", "pytorchjob/scaled", "--replicas=1", *NS)
    until(lambda: "scaled-worker-1" not in cluster.kubectl("get", "pods", *NS))
    assert "scaled" in cluster.kubectl("scale", "pytorchjob/scaled", "--replicas=2", "--current-replicas=1", *NS)
    table = cluster.kubectl("get", "pytorchjob", "scaled", *NS, "--subresource=scale").splitlines()
    assert table[0].split() == ["NAME", "DESIRED", "AVAILABLE"]
    assert table[1].split()[:2] == ["scaled", "2"]
    cluster.kubectl("apply", "-f", "-", manifest=tfjob("whole"))
    assert 'tfjobs.kubeflow.org "whole" not found' in cluster.refused("scale", "tfjob/whole", "--replicas=1", *NS)
    logs = cluster.kubectl("logs", "scaled-master-0", *NS, "--timestamps", "--tail=1")
    assert len(logs.splitlines()) == 1
    assert logs[4] == "-"
    assert "previous terminated container" in cluster.refused("logs", "scaled-master-0", *NS, "--previous")
    assert "is not valid for pod" in cluster.refused("logs", "scaled-master-0", "-c", "no", *NS)
    described = cluster.kubectl("describe", "pod", "scaled-master-0", *NS)
    assert "Controlled By:  PyTorchJob/scaled" in described
    assert "Successfully assigned wire/scaled-master-0" in described
    assert "Created pod: scaled-worker-0" in cluster.kubectl("describe", "pytorchjob", "scaled", *NS)
    assert "SuccessfulCreatePod" in cluster.kubectl("events", *NS)
    cluster.kubectl("delete", "pytorchjob", "scaled", *NS, "--cascade=foreground")
    assert "scaled-master-0" not in cluster.kubectl("get", "pods", *NS)


def test_what_there_is(cluster: Cluster) -> None:
    listed = cluster.kubectl("api-resources")
    for line in ("pytorchjobs", "podgroups", "resourcequotas", "rolebindings"):
        assert line in listed
    assert "replicas" in cluster.kubectl("explain", "tfjob.spec.tfReplicaSpecs")
    assert "containers" in cluster.kubectl("explain", "pods.spec")
    assert "enum: Always, ExitCode, Never, OnFailure" in cluster.kubectl(
        "explain", "pytorchjob.spec.pytorchReplicaSpecs", "--recursive"
    )
    assert 'field "nope" does not exist' in cluster.refused("explain", "tfjob.spec.nope")
    assert "Server Version: v1.36.2" in cluster.kubectl("version")
    assert cluster.kubectl("get", "--raw", "/readyz") == "ok"
    assert "las1   Ready" in cluster.kubectl("get", "nodes")


def test_rights(cluster: Cluster) -> None:
    assert cluster.kubectl("auth", "can-i", "create", "tfjobs", *NS) == "yes\n"
    assert "system:authenticated" in cluster.kubectl("auth", "whoami")
    assert "[*]" in cluster.kubectl("auth", "can-i", "--list")
    cluster.control("forbidden", resources=["tfjobs.kubeflow.org:create"])
    try:
        assert cluster.run("auth", "can-i", "create", "tfjobs", *NS)[:2] == (1, "no\n")
        assert "is forbidden: User" in cluster.refused("create", "-f", "-", manifest=tfjob("no"))
    finally:
        cluster.control("forbidden", resources=[])


def test_acts_of_the_cluster(cluster: Cluster) -> None:
    assert {"lose_node", "return_node", "evict"} <= set(cluster.control("state")["acts"])
    cluster.control("act", act="lose_node", name="las1")
    until(lambda: "las1   NotReady" in cluster.kubectl("get", "nodes"))
    cluster.control("act", act="return_node", name="las1")
    until(lambda: "las1   Ready" in cluster.kubectl("get", "nodes"))
    for wrong in ({"act": "dance"}, {"act": 5}, {"act": "lose_node", "names": 1}, {"act": "lose_node", "name": "x"}):
        with pytest.raises(urllib.error.HTTPError) as caught:
            cluster.control("act", **wrong)
        assert (caught.value.code, bool(json.loads(caught.value.read())["error"])) == (400, True)


def test_small_kinds_that_kubectl_sends_in_its_own_way(cluster: Cluster) -> None:
    cluster.kubectl("create", "namespace", "made")
    cluster.kubectl("create", "configmap", "settings", "--from-literal=a=b", "-n", "made")
    assert got(cluster, "namespace", "made")["status"]["phase"] == "Active"
    cluster.kubectl("create", "serviceaccount", "robot", "-n", "made")
    assert cluster.kubectl("create", "token", "robot", "-n", "made").count(".") == 2
    cluster.kubectl("create", "role", "reader", "--verb=get,list", "--resource=pods", "-n", "made")
    cluster.kubectl("create", "rolebinding", "readers", "--role=reader", "--serviceaccount=made:robot", "-n", "made")
    assert "Role/reader" in cluster.kubectl("get", "rolebinding", "-n", "made", "-owide")
    cluster.kubectl("create", "quota", "few", "--hard=pods=0,count/tfjobs.kubeflow.org=0", "-n", "made")
    refused = cluster.refused("create", "-f", "-", manifest=pod("p", "made"))
    assert 'pods "p" is forbidden: exceeded quota: few, requested: pods=1, used: pods=0, limited: pods=0' in refused
    assert "count/tfjobs.kubeflow.org: 0/0" in cluster.kubectl("get", "quota", "-n", "made")
    cluster.kubectl("delete", "namespace", "made")
    assert '"made" not found' in cluster.refused("get", "namespace", "made")


def test_wrong_manifests(cluster: Cluster) -> None:
    unknown = tfjob("unknown")
    unknown["spec"]["tfReplicaSpecs"]["Worker"]["replica"] = 3
    assert 'unknown field "spec.tfReplicaSpecs.Worker.replica"' in cluster.refused("apply", "-f", "-", manifest=unknown)
    invalid = tfjob("invalid")
    invalid["spec"]["tfReplicaSpecs"]["Worker"] |= {"replicas": -1, "restartPolicy": "Sometimes"}
    refused = cluster.refused("apply", "-f", "-", manifest=invalid)
    assert "spec.tfReplicaSpecs.Worker.replicas: Invalid value: -1" in refused
    assert 'Unsupported value: "Sometimes": supported values: "Always", "ExitCode", "Never", "OnFailure"' in refused
    assert "no matches for kind" in cluster.refused(
        "apply", "-f", "-", manifest={"apiVersion": "kubeflow.org/v1", "kind": "MXJob", "metadata": {"name": "x"}}
    )
    assert "apiVersion not set" in cluster.refused("apply", "-f", "-", manifest={"kind": "TFJob"})
    assert "spec.containers[0].image: Required value" in cluster.refused(
        "apply", "-f", "-", manifest={**pod("p"), "spec": {"containers": [{"name": "a"}]}}
    )


def test_pod_security(cluster: Cluster) -> None:
    label = "pod-security.kubernetes.io"
    cluster.kubectl("create", "namespace", "kept")
    cluster.kubectl("label", "namespace", "kept", f"{label}/enforce=restricted")
    refused = cluster.refused("run", "p", "--image=busybox", "-n", "kept")
    assert 'pods "p" is forbidden: violates PodSecurity "restricted:latest": allowPrivilegeEscalation' in refused
    cluster.kubectl("label", "namespace", "kept", f"{label}/enforce-", f"{label}/warn=restricted")
    code, out, told = cluster.run("run", "p", "--image=busybox", "-n", "kept")
    assert (code, out) == (0, "pod/p created\n")
    assert told.startswith('Warning: would violate PodSecurity "restricted:latest": allowPrivilegeEscalation')
    assert "must be one of privileged, baseline, restricted" in cluster.refused(
        "label", "namespace", "kept", f"{label}/enforce=strict"
    )


def test_disruption_budgets_and_quotas(cluster: Cluster) -> None:
    """kubectl sends both in protobuf."""
    space = ("-n", "held")
    cluster.kubectl("create", "namespace", "held")
    job = manifests.lasting_pytorchjob("held", "held", seconds=100_000)
    cluster.kubectl("apply", "-f", "-", manifest=job)
    cluster.kubectl("wait", "--for=create", "pod/held-worker-1", *space, "--timeout=20s")
    cluster.kubectl("wait", "--for=condition=Ready", "pod", "--all", *space, "--timeout=20s")
    selector = "--selector=training.kubeflow.org/job-name=held"
    cluster.kubectl("create", "pdb", "all", selector, "--min-available=100%", *space)
    cluster.kubectl("create", "pdb", "three", selector, "--min-available=3", *space)
    cells = cluster.kubectl("get", "pdb", "three", *space, "--no-headers").split()
    assert cells[:4] == ["three", "3", "N/A", "0"]
    assert cluster.kubectl("get", "pdb", "all", *space, "--no-headers").split()[1] == "100%"
    cluster.kubectl("delete", "pdb", "all", *space)
    drained = cluster.refused("drain", "las1", "--pod-selector=training.kubeflow.org/job-name=held", "--timeout=1s")
    assert "Cannot evict pod as it would violate the pod's disruption budget." in drained
    assert len(json.loads(cluster.kubectl("get", "pods", *space, "-o", "json"))["items"]) == 3
    cluster.kubectl("delete", "pdb", "three", *space)
    assert "evicted" in cluster.kubectl("drain", "las1", "--pod-selector=training.kubeflow.org/replica-type=worker")
    cluster.kubectl("uncordon", "las1")
    cluster.kubectl("create", "quota", "q", "--hard=limits.memory=1Gi,pods=9", *space)
    refused = cluster.refused("run", "extra", "--image=busybox", *space)
    assert 'pods "extra" is forbidden: failed quota: q: must specify limits.memory for: extra' in refused
    assert "limits.memory" in cluster.kubectl("describe", "quota", "q", *space)


def each(api_version: str, kind: str, **content: Any) -> Obj:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "each"}, **content}


EVERY_KIND: list[Obj] = [
    each("v1", "ConfigMap", data={"a": "1"}),
    each("v1", "ResourceQuota", spec={"hard": {"services": "99"}}),
    each("policy/v1", "PodDisruptionBudget", spec={"maxUnavailable": 1}),
    each("scheduling.k8s.io/v1", "PriorityClass", value=5),
    each("scheduling.volcano.sh/v1beta1", "Queue", spec={"weight": 1}),
    each("scheduling.volcano.sh/v1beta1", "PodGroup"),
    each("scheduling.x-k8s.io/v1alpha1", "PodGroup", spec={"minMember": 1}),
    each("batch.volcano.sh/v1alpha1", "Job", spec={"tasks": []}),
    *(
        manifests.training_job(
            kind, f"each-{kind.lower()}", "wire", {"Worker": manifests.replica("main", ["x"], 1, "Never")}
        )
        for kind in ("TFJob", "PyTorchJob", "MPIJob", "XGBoostJob", "PaddleJob", "JAXJob")
    ),
]


def test_every_kind_can_be_described_and_explained(cluster: Cluster) -> None:
    cluster.kubectl("create", "role", "each", *NS, "--verb=get", "--resource=pods")
    cluster.kubectl("create", "rolebinding", "each", *NS, "--role=each", "--serviceaccount=wire:default")
    cluster.kubectl("create", "clusterrole", "each", "--verb=get", "--resource=pods")
    cluster.kubectl("create", "clusterrolebinding", "each", "--clusterrole=each", "--user=x")
    together = {"apiVersion": "v1", "kind": "List", "items": EVERY_KIND}
    cluster.kubectl("apply", *NS, "-f", "-", manifest=together)
    cluster.kubectl("wait", "--for=create", "pod/each-tfjob-worker-0", *NS, "--timeout=20s")
    listable = cluster.kubectl("api-resources", "--verbs=list", "-o", "name").split()
    assert len(listable) == 24
    # For each object it asks for Events, at 50 requests a second: Events themselves would take long.
    described = cluster.kubectl("describe", ",".join(name for name in listable if name != "events"), "-A")
    shown = json.loads(cluster.kubectl("get", ",".join(listable), "-A", "-o", "json"))["items"]
    assert described.count("Name:") >= 23
    assert len({(item["apiVersion"], item["kind"]) for item in shown}) == 24
    for name in ("tfjob", "mpijob.spec", "jaxjob.spec.jaxReplicaSpecs", "vcjob.spec.tasks", "pdb.spec", "pod.status"):
        assert "VERSION:" in cluster.kubectl("explain", name)
    cluster.kubectl("delete", *NS, "--wait=false", "-f", "-", manifest=together)


def test_what_else_is_typed(cluster: Cluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    cluster.kubectl("apply", "-f", "-", manifest=tfjob("typed"))
    file = tmp_path / "typed.json"
    file.write_text(json.dumps(tfjob("typed")))
    assert cluster.kubectl("diff", "-f", str(file)) == ""
    changed = tfjob("typed")
    changed["spec"]["tfReplicaSpecs"]["Worker"]["replicas"] = 2
    file.write_text(json.dumps(changed))
    code, diff, _ = cluster.run("diff", "-f", str(file))
    assert (code, "-      replicas: 3" in diff, "+      replicas: 2" in diff) == (1, True, True)
    monkeypatch.setenv("EDITOR", "sed -i s/busybox/another/")
    assert "edited" in cluster.kubectl("edit", "tfjob", "typed", *NS)
    cluster.kubectl("wait", "--for=condition=Created", "tfjob/typed", *NS, "--timeout=20s")
    assert "timed out" in cluster.refused("wait", "--for=condition=Failed", "tfjob/typed", *NS, "--timeout=1s")
    cluster.kubectl("label", "tfjob", "typed", *NS, "x=1")
    assert "already has a value" in cluster.refused("label", "tfjob", "typed", *NS, "x=2")
    cluster.kubectl("wait", "--for=create", "pod/typed-worker-2", *NS, "--timeout=20s")
    assert "SuccessfulCreatePod" in cluster.kubectl("events", *NS, "--for", "tfjob/typed")
    cluster.kubectl("delete", "tfjob", "typed", *NS, "--cascade=orphan")
    orphan = got(cluster, "pod", "typed-worker-0")
    assert "ownerReferences" not in orphan["metadata"]
    cluster.kubectl("taint", "node", "las1", "k=v:NoSchedule")
    assert '"key":"k"' in cluster.kubectl("get", "node", "las1", "-o", "jsonpath={.spec.taints}")
    cluster.kubectl("taint", "node", "las1", "k-")
    assert "Metrics API not available" in cluster.refused("top", "pods", *NS)
    assert "doesn't have a resource type" in cluster.refused("rollout", "status", "deployment/x")
    assert "name or generateName is required" not in cluster.refused("get", "tfjob", "typed", *NS)


def test_rbac_with_service_accounts(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, "--bare", "--rbac", "--namespace", "wire")
    try:
        assert cluster.kubectl("auth", "can-i", "*", "*") == "yes\n"
        assert "kubernetes-admin" in cluster.kubectl("auth", "whoami")
        cluster.kubectl("create", "serviceaccount", "weak", *NS)
        token = cluster.kubectl("create", "token", "weak", *NS).strip()
        as_weak = ("--token", token)
        refused = cluster.refused("get", "pods", "-A", *as_weak)
        assert (
            'pods is forbidden: User "system:serviceaccount:wire:weak" cannot list resource "pods" in API group "" '
            "at the cluster scope" in refused
        )
        cluster.kubectl("create", "clusterrolebinding", "viewers", "--clusterrole=view", "--serviceaccount=wire:weak")
        assert cluster.kubectl("get", "pods", "-A", *as_weak) == ""
        assert cluster.kubectl("auth", "can-i", "watch", "tfjobs", *as_weak) == "yes\n"
        assert cluster.run("auth", "can-i", "delete", "tfjobs", *as_weak)[0] == 1
        impersonated = ("--as", "system:serviceaccount:wire:weak")
        assert cluster.kubectl("auth", "can-i", "get", "pods", "--subresource=log", *impersonated) == "yes\n"
        assert "cannot impersonate" in cluster.refused("get", "pods", "--as", "somebody", *as_weak)
        assert "must be logged in" in cluster.refused("get", "pods", "--token", "nonsense")
    finally:
        cluster.stop()
