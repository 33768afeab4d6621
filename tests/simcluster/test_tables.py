"""Server-side Tables: columns, cells and rows as a real server sends them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from simcluster import durations
from simcluster.columns import cells_of, columns_of
from simcluster.podcells import pod_cells
from simcluster.resources import NODES, PODS, REGISTRY, VOLCANO_PODGROUPS
from tests.simcluster.simserver import SimServer, pod, tfjob

Obj = dict[str, Any]
WIRE = Path(__file__).parent.parent / "data" / "wire"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
PARTIAL = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json"
NOW = 1_795_959_996.0


def recorded(name: str) -> Any:
    return json.loads((WIRE / f"{name}.http").read_text().partition("\n\n")[2])


def columns(table: Obj) -> list[Obj]:
    return [{**column, "description": ""} for column in table["columnDefinitions"]]


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("table-pods", "/api/v1/pods"),
        ("table-tfjobs", "/apis/kubeflow.org/v1/tfjobs"),
        ("table-podgroups", "/apis/scheduling.volcano.sh/v1beta1/podgroups"),
    ],
)
def test_columns_are_the_recorded_ones(shared_server: SimServer, name: str, path: str) -> None:
    theirs, ours = recorded(name), shared_server.get(path, Accept=TABLE)
    assert ours.headers["content-type"] == "application/json"
    table = ours.json()
    assert (list(table), table["rows"]) == (list(theirs), [])
    assert columns(table) == columns(theirs)
    if name != "table-pods":  # those of built-in kinds are prose
        assert table["columnDefinitions"][1:] == theirs["columnDefinitions"][1:]


def test_rows_hold_cells_and_metadata(server: SimServer) -> None:
    server.request("POST", "/apis/kubeflow.org/v1/namespaces/wire/tfjobs", tfjob())
    for path in ("/apis/kubeflow.org/v1/tfjobs", "/apis/kubeflow.org/v1/namespaces/wire/tfjobs/tftest"):
        theirs, table = recorded("table-tfjobs"), server.get(path, Accept=TABLE).json()
        (row,), (real,) = table["rows"], theirs["rows"]
        assert (row["cells"][0], row["cells"][1], list(row)) == ("tftest", None, list(real))
        assert list(row["object"]) == list(real["object"])
        kept = [key for key in real["object"]["metadata"] if key in row["object"]["metadata"]]
        assert list(row["object"]["metadata"]) == kept  # not in the order of the job itself, which is alphabetical
    for include, keys in (("None", ["cells"]), ("Object", ["cells", "object"])):
        row = server.get(f"{path}?includeObject={include}", Accept=TABLE).json()["rows"][0]
        assert list(row) == keys
    assert row["object"]["spec"]["tfReplicaSpecs"]
    assert server.get(f"{path}?includeObject=All", Accept=TABLE).status == 400


def test_a_watch_names_its_columns_once(server: SimServer) -> None:
    pods = "/api/v1/namespaces/wire/pods"
    for name in ("a", "b"):
        server.request("POST", pods, pod(name))
    answer = server.get(f"{pods}?watch=1&timeoutSeconds=1", Accept=TABLE)
    first, second = [json.loads(line)["object"] for line in answer.body.splitlines()]
    assert [column["name"] for column in first["columnDefinitions"]][:2] == ["Name", "Ready"]
    assert second["columnDefinitions"] is None
    assert [table["rows"][0]["cells"][0] for table in (first, second)] == ["a", "b"]
    assert b'"columnDefinitions":null,"rows":[{"cells":["b","0/1"' in answer.body


def test_watchers_of_other_forms_do_not_disturb_each_other(server: SimServer) -> None:
    path = "/api/v1/namespaces/wire/pods?watch=1&resourceVersion={}&timeoutSeconds=1"
    version = server.call(lambda: server.store.resource_version)
    for number in range(3):
        server.request("POST", "/api/v1/namespaces/wire/pods", pod(f"p{number}"))
    kinds = {
        accept: [json.loads(line)["object"]["kind"] for line in answer.splitlines()]
        for accept in ("application/json", TABLE, PARTIAL)
        for answer in [server.get(path.format(version), Accept=accept).body]
    }
    assert kinds == {"application/json": ["Pod"] * 3, TABLE: ["Table"] * 3, PARTIAL: ["PartialObjectMetadata"] * 3}


def test_lists_are_paged_as_tables_too(server: SimServer) -> None:
    server.call(lambda: [server.store.create(PODS, pod(f"p{number:03}")) for number in range(7)])
    page = server.get("/api/v1/pods?limit=3", Accept=TABLE).json()
    assert (len(page["rows"]), page["metadata"]["remainingItemCount"]) == (3, 4)
    rest = server.get(f"/api/v1/pods?continue={page['metadata']['continue']}", Accept=TABLE).json()
    assert [row["cells"][0] for row in rest["rows"]] == ["p003", "p004", "p005", "p006"]


def test_metadata_alone(server: SimServer) -> None:
    server.request("POST", "/api/v1/namespaces/wire/pods", pod("a"))
    answer = server.get("/api/v1/pods", Accept=PARTIAL).json()
    assert answer["kind"] == "PartialObjectMetadataList"
    assert [list(item) for item in answer["items"]] == [["kind", "apiVersion", "metadata"]]


def test_a_form_that_nobody_knows(shared_server: SimServer) -> None:
    refused = shared_server.get("/api/v1/pods", Accept="application/xml")
    assert (refused.status, refused.json()["reason"]) == (406, "NotAcceptable")
    assert shared_server.get("/api/v1/pods", Accept="application/xml,*/*").status == 200
    protobuf = "application/vnd.kubernetes.protobuf,application/json"
    assert shared_server.get("/api/v1/pods", Accept=protobuf).status == 200


@pytest.mark.parametrize("resource", REGISTRY, ids=lambda resource: resource.qualified)
def test_every_kind_has_a_cell_for_each_column(resource: Any) -> None:
    hostile: Obj = {"metadata": {"name": "x"}, "spec": None, "status": {"conditions": 5}, "roleRef": "", "data": []}
    for obj in ({"metadata": {"name": "x", "creationTimestamp": "2026-11-29T13:46:36Z"}}, hostile):
        cells = cells_of(resource, obj, NOW)
        assert len(cells) == len(columns_of(resource))


def test_cells_of_a_podgroup() -> None:
    group = {"metadata": {"name": "g", "creationTimestamp": "2026-11-29T13:46:34Z"}, "spec": {"minMember": 4}}
    assert cells_of(VOLCANO_PODGROUPS, group, NOW) == ["g", None, 4, None, "2s", None]
    group["status"] = {"phase": "Running", "running": 3}
    assert cells_of(VOLCANO_PODGROUPS, group, NOW)[:4] == ["g", "Running", 4, 3]


def test_cells_of_a_node() -> None:
    node = {
        "metadata": {"name": "las1", "labels": {"node-role.kubernetes.io/worker": ""}},
        "spec": {"unschedulable": True},
        "status": {"conditions": [{"type": "Ready", "status": "Unknown"}], "nodeInfo": {"kubeletVersion": "v1.36.2"}},
    }
    assert cells_of(NODES, node, NOW)[1:5] == ["NotReady,SchedulingDisabled", "worker", "<unknown>", "v1.36.2"]


def container(state: Obj, restarts: int = 0, ready: bool = False, last: Obj | None = None, name: str = "c") -> Obj:
    return {"name": name, "state": state, "restartCount": restarts, "ready": ready, "lastState": last or {}}


RUNNING: Obj = {"running": {}}
BACK_OFF: Obj = {"waiting": {"reason": "CrashLoopBackOff"}}
ENDED: Callable[..., Obj] = lambda code, **more: {"terminated": {"exitCode": code, **more}}  # noqa: E731
LAST = ENDED(1, finishedAt="2026-11-29T13:46:31Z")


@pytest.mark.parametrize(
    ("status", "metadata", "cells"),
    [
        ({"phase": "Pending"}, {}, ["0/1", "Pending", "0"]),
        ({"phase": "Running", "containerStatuses": [container(RUNNING, ready=True)]}, {}, ["1/1", "Running", "0"]),
        (
            {"phase": "Running", "containerStatuses": [container(RUNNING, 1, True, LAST)]},
            {},
            ["1/1", "Running", "1 (5s ago)"],
        ),
        ({"phase": "Failed", "containerStatuses": [container(ENDED(138, reason="Error"))]}, {}, ["0/1", "Error", "0"]),
        ({"phase": "Failed", "containerStatuses": [container(ENDED(138))]}, {}, ["0/1", "ExitCode:138", "0"]),
        ({"phase": "Failed", "containerStatuses": [container(ENDED(0, signal=9))]}, {}, ["0/1", "Signal:9", "0"]),
        (
            {"phase": "Running", "containerStatuses": [container(BACK_OFF, 3, last=LAST)]},
            {},
            ["0/1", "CrashLoopBackOff", "3 (5s ago)"],
        ),
        ({"phase": "Failed", "reason": "Evicted"}, {}, ["0/1", "Evicted", "0"]),
        ({"phase": "Running"}, {"deletionTimestamp": "x"}, ["0/1", "Terminating", "0"]),
        ({"phase": "Failed"}, {"deletionTimestamp": "x"}, ["0/1", "Failed", "0"]),
        (
            {"phase": "Pending", "initContainerStatuses": [container(RUNNING, 2, last=LAST, name="i")]},
            {},
            ["0/1", "Init:0/1", "2 (5s ago)"],
        ),
        (
            {"phase": "Failed", "initContainerStatuses": [container(ENDED(1, reason="Error"), name="i")]},
            {},
            ["0/1", "Init:Error", "0"],
        ),
        (
            {"phase": "Pending", "initContainerStatuses": [container(ENDED(0), name="i")],
             "containerStatuses": [container({"waiting": {"reason": "PodInitializing"}})]},
            {},
            ["0/1", "PodInitializing", "0"],
        ),
    ],
)  # fmt: skip
def test_a_pod_in_one_word(status: Obj, metadata: Obj, cells: list[str]) -> None:
    has_init = "initContainerStatuses" in status
    spec = {"containers": [{"name": "c"}], "initContainers": [{"name": "i"}] if has_init else []}
    shown = pod_cells({"metadata": {"name": "p", **metadata}, "spec": spec, "status": status}, NOW)
    assert shown[1:4] == cells


def test_a_pod_with_a_finished_and_a_running_container() -> None:
    statuses = [container(ENDED(0, reason="Completed")), container(RUNNING, ready=True, name="side")]
    spec = {"containers": [{"name": "c"}, {"name": "side"}]}
    for ready, word in (("True", "Running"), ("False", "NotReady")):
        status = {"phase": "Running", "containerStatuses": statuses, "conditions": [{"type": "Ready", "status": ready}]}
        assert pod_cells({"metadata": {"name": "p"}, "spec": spec, "status": status}, NOW)[1:3] == ["1/2", word]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5, "<invalid>"),
        (-0.5, "0s"),
        (119, "119s"),
        (120, "2m"),
        (200, "3m20s"),
        (600, "10m"),
        (10_799, "179m"),
        (10_800, "3h"),
        (11_400, "3h10m"),
        (100_000, "27h"),
        (200_000, "2d7h"),
        (1_000_000, "11d"),
        (70_000_000, "2y80d"),
        (400_000_000, "12y"),
    ],
)
def test_ages(seconds: float, text: str) -> None:
    assert durations.human(seconds) == text
    assert durations.since(None, NOW) == durations.since("yesterday", NOW) == "<unknown>"
