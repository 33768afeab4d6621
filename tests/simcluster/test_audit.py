"""What the simulated cluster knows of a run, against what real audit logs say."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from simcluster.actors import Actor
from simcluster.audit import AuditLog
from simcluster.history import Change
from simcluster.resources import PODS, REGISTRY, TFJOBS
from simcluster.truth import TruthLog
from tests.simcluster.simserver import SimServer, pod, tfjob
from tests.simcluster.simulation import Simulation

Obj = dict[str, Any]
RECORDINGS = Path(__file__).parents[1] / "data" / "recordings"
FIELDS = ("incarnations", "recreations", "in_place_restarts", "true_restarts", "kubectl_restarts", "hidden_restarts")
OF_A_POD = ("uid", "exits", "other_exits", "restart_count", "status_reason", "disruption")
SCENARIOS = sorted(path.name for path in RECORDINGS.iterdir() if not path.name.startswith("trainjob"))


def changes(scenario: str) -> Iterator[Change]:
    """A recording as the writes that a watcher was told of. Who made them is not in there."""
    resources = {resource.qualified: resource for resource in REGISTRY}
    graces: dict[str, Any] = {}
    with gzip.open(RECORDINGS / scenario / "watch.jsonl.gz", "rt") as file:
        for number, text in enumerate(file):
            line = json.loads(text)
            resource = resources.get(line["resource"])
            if resource is None or line["type"] == "BOOKMARK":
                continue
            metadata = line["object"]["metadata"]
            grace = metadata.get("deletionGracePeriodSeconds")
            verb = "delete" if grace != graces.get(metadata["uid"]) or line["type"] == "DELETED" else "update"
            graces[metadata["uid"]] = grace
            yield Change(
                number, line["type"], resource, "", line["object"], None, line["received_at"], Actor("somebody"), verb
            )


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_truth_of_a_recording(scenario: str) -> None:
    log = TruthLog()
    for change in changes(scenario):
        log.note(change)
    ours = {job["uid"]: job for job in log.told(scenario)["jobs"]}
    for job in json.loads((RECORDINGS / scenario / "truth.json").read_text())["jobs"]:
        found = ours[job["uid"]]
        for key in ("kind", "name", "final_conditions", "true_restarts", "job_restarts"):
            if key in job:
                assert found[key] == job[key]
        if "restarting_condition_spans" in job:
            assert len(found["restarting_condition_spans"]) == len(job["restarting_condition_spans"])
        replicas = {(replica["type"], replica["index"]): replica for replica in found["replicas"]}
        for replica in job["replicas"]:
            mine = replicas[replica["type"].lower(), replica["index"]]
            assert {key: mine[key] for key in FIELDS} == {key: replica[key] for key in FIELDS}
            for told, real in zip(mine["pods"], replica["pods"], strict=True):
                assert {key: told[key] for key in OF_A_POD if key in real} == {
                    key: real[key] for key in OF_A_POD if key in real
                }


def test_the_truth_of_the_seed_experiment_names_who_did_it() -> None:
    simulation = Simulation()
    log = TruthLog(simulation.store)
    job = simulation.cluster.run("seed-exitcode-138")
    simulation.run(75)
    simulation.cluster.delete(job)
    simulation.run(20)
    (told,) = log.told("seed")["jobs"]
    recorded = json.loads((RECORDINGS / "seed-exitcode-138" / "truth.json").read_text())["jobs"][0]
    assert set(recorded) <= set(told)
    assert told["deleted_by"] == "person"
    worker = next(each for each in told["replicas"] if (each["type"], each["index"]) == ("worker", 0))
    real = next(each for each in recorded["replicas"] if (each["type"], each["index"]) == ("worker", 0))
    assert set(worker) == set(real)
    assert set(worker["pods"][0]) == set(real["pods"][0])
    assert worker["recreations"] in (4, 5)
    first = worker["pods"][0]
    assert (first["created_by"], [delete["by"] for delete in first["deletes"]]) == (
        "training-operator",
        ["training-operator"],
    )
    ps = next(each for each in told["replicas"] if each["type"] == "ps")
    assert [delete["by"].rpartition(":")[2] for delete in ps["pods"][0]["deletes"]] == [
        "generic-garbage-collector",
        "las1",
    ]


def test_suspension_and_scaling_down_are_no_restarts() -> None:
    log = TruthLog()
    at = iter(range(100))

    def job(conditions: list[str], replicas: int) -> None:
        status = {"conditions": [{"type": name, "status": "True"} for name in conditions]}
        obj = tfjob(uid="job")
        obj["spec"]["tfReplicaSpecs"]["Worker"]["replicas"] = replicas
        log.note(Change(0, "MODIFIED", TFJOBS, "", {**obj, "status": status}, None, next(at), Actor("x"), "update"))

    def worker(index: int, uid: str) -> None:
        labels = {"training.kubeflow.org/replica-type": "worker", "training.kubeflow.org/replica-index": str(index)}
        owner = {"uid": "job", "kind": "TFJob", "name": "tftest", "apiVersion": "kubeflow.org/v1"}
        obj = pod(f"w{index}", uid=uid, labels=labels, ownerReferences=[owner])
        log.note(Change(0, "ADDED", PODS, "", obj, None, next(at), Actor("operator"), "create"))

    job(["Created"], 2)
    worker(0, "a")
    worker(1, "b")
    job(["Suspended"], 2)
    job(["Running"], 2)
    worker(0, "c")
    worker(1, "d")
    worker(0, "e")
    job(["Running"], 1)
    job(["Running"], 2)
    worker(1, "f")
    replicas = log.told()["jobs"][0]["replicas"]
    assert [(each["incarnations"], each["recreations"]) for each in replicas] == [(3, 1), (3, 0)]


def test_each_write_says_who_made_it(server: SimServer) -> None:
    before = server.call(lambda: server.store.resource_version)
    path = "/apis/kubeflow.org/v1/namespaces/wire/tfjobs"
    server.request("POST", f"{path}?fieldManager=me", tfjob(), User_Agent="kubectl/v1.37.1 (linux/amd64)")
    server.request("DELETE", f"{path}/tftest", User_Agent="kubectl/v1.37.1 (linux/amd64)")
    entries = server.get(f"/sim/audit?after={before}").json()["entries"]
    assert [(entry["verb"], entry["manager"], entry["resource"]) for entry in entries] == [
        ("create", "me", "tfjobs.kubeflow.org"),
        ("delete", "kubectl", "tfjobs.kubeflow.org"),
    ]
    assert entries[0]["agent"].startswith("kubectl/v1.37.1")
    assert (entries[0]["namespace"], entries[0]["name"]) == ("wire", "tftest")
    (job,) = server.get("/sim/truth?scenario=x").json()["jobs"]
    assert (job["name"], job["deleted_by"], job["replicas"]) == ("tftest", "person", [])
    assert server.get("/sim/audit?after=x").status == 400


def test_the_audit_log_is_bounded() -> None:
    simulation = Simulation()
    log = AuditLog(simulation.store, limit=5)
    simulation.cluster.run("seed")
    simulation.run(5)
    assert len(log.entries()) == 5
