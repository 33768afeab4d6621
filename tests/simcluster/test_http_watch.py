"""Watches over HTTP: order, selection, replay, bookmarks, ends, slow clients."""

import json
import threading
from collections.abc import Callable
from typing import Any

import pytest

from simcluster.options import Options
from simcluster.resources import PODS, TFJOBS
from tests.simcluster.simserver import RawWatch, SimServer, pod, tfjob

JOBS = "/apis/kubeflow.org/v1/tfjobs"


def written(server: SimServer, count: int = 3) -> list[int]:
    """Creates a job and writes its status; the versions of these writes."""

    def write() -> list[int]:
        job = server.store.create(TFJOBS, tfjob())
        versions = [int(job["metadata"]["resourceVersion"])]
        for number in range(count - 1):
            job = server.store.update(TFJOBS, {**job, "status": {"n": number}}, "status")
            versions.append(int(job["metadata"]["resourceVersion"]))
        return versions

    versions: list[int] = server.call(write)
    return versions


def versions_of(lines: list[dict[str, Any]]) -> list[int]:
    return [int(line["object"]["metadata"]["resourceVersion"]) for line in lines]


def test_replay_goes_on_from_a_version(server: SimServer) -> None:
    versions = written(server, 5)
    lines = server.events(f"{JOBS}?watch=1&resourceVersion={versions[1]}&timeoutSeconds=1")
    assert versions_of(lines) == versions[2:]
    assert {line["type"] for line in lines} == {"MODIFIED"}
    everything = server.events(f"{JOBS}?watch=true&resourceVersion={versions[0] - 1}&timeoutSeconds=1")
    assert [line["type"] for line in everything] == ["ADDED", *["MODIFIED"] * 4]


@pytest.mark.parametrize("count", [199, 200, 201, 1_000])
def test_a_long_backlog_comes_whole(server: SimServer, count: int) -> None:
    """Both what there is and what has happened since a version, although it is sent in portions."""
    before = server.call(lambda: server.store.resource_version)
    server.call(lambda: [server.store.create(PODS, pod(f"p{number}")) for number in range(count)])
    wanted = list(range(before + 1, before + count + 1))
    for query in (f"resourceVersion={before}", "resourceVersion=0"):
        lines = server.events(f"/api/v1/pods?watch=1&timeoutSeconds=1&{query}")
        assert sorted(versions_of(lines)) == wanted


def test_nothing_is_lost_or_doubled_between_list_and_watch(server: SimServer) -> None:
    """A writer runs all the time; list, then several watches that each resume where the last one ended."""
    stop = threading.Event()
    made: list[int] = []

    def write() -> None:
        while not stop.is_set():
            number = len(made)
            made.append(int(server.call(server.store.create, PODS, pod(f"p{number}"))["metadata"]["resourceVersion"]))

    writer = threading.Thread(target=write)
    writer.start()
    try:
        listed = server.get("/api/v1/pods").json()
        seen = [int(item["metadata"]["resourceVersion"]) for item in listed["items"]]
        version = int(listed["metadata"]["resourceVersion"])
        for _ in range(3):
            lines = server.events(f"/api/v1/pods?watch=1&resourceVersion={version}&timeoutSeconds=1")
            seen += versions_of(lines)
            version = seen[-1]
    finally:
        stop.set()
        writer.join()
    watched = seen[len(listed["items"]) :]
    assert len(watched) > 100
    assert sorted(seen) == sorted(version for version in made if version <= seen[-1])
    assert watched == sorted(watched)


def test_selection_turns_changes_into_added_and_deleted(server: SimServer) -> None:
    start = server.call(lambda: server.store.resource_version)

    def write() -> None:
        server.store.create(PODS, {**pod("p", labels={"a": "1"}), "status": {"phase": "Pending"}})
        for phase in ("Running", "Running", "Failed"):
            old = server.store.get(PODS, "wire", "p")
            count = len(old["metadata"]["labels"])
            labels = {**old["metadata"]["labels"], f"l{count}": "x"}
            new = server.store.update(PODS, {**old, "metadata": {**old["metadata"], "labels": labels}})
            server.store.update(PODS, {**new, "status": {"phase": phase}}, "status")
        server.store.delete(PODS, "wire", "p")

    server.call(write)
    watch = f"/api/v1/pods?watch=1&resourceVersion={start}&timeoutSeconds=1"
    lines = server.events(f"{watch}&fieldSelector=status.phase%3DRunning")
    assert [line["type"] for line in lines] == ["ADDED", "MODIFIED", "MODIFIED", "DELETED"]
    assert lines[-1]["object"]["status"]["phase"] == "Running"  # as it was, with the version of the change
    assert versions_of(lines) == sorted(set(versions_of(lines)))
    labelled = server.events(f"{watch}&labelSelector=l2")
    # The label comes with the second round, whose status write changes nothing; the deletion is marked, then done.
    assert [line["type"] for line in labelled] == ["ADDED", "MODIFIED", "MODIFIED", "MODIFIED", "DELETED"]
    assert server.events(f"{watch}&labelSelector=a!%3D1") == []
    assert len(server.events(f"/api/v1/namespaces/default/pods?watch=1&resourceVersion={start}&timeoutSeconds=1")) == 0


def test_watch_of_one_object_by_path(server: SimServer) -> None:
    server.call(server.store.create, TFJOBS, tfjob("a"))
    server.call(server.store.create, TFJOBS, tfjob("b"))
    lines = server.events("/apis/kubeflow.org/v1/namespaces/wire/tfjobs/b?watch=1&timeoutSeconds=1")
    assert [line["object"]["metadata"]["name"] for line in lines] == ["b"]


def test_bookmarks_but_none_for_events(start_server: Callable[..., SimServer]) -> None:
    server = start_server(Options(bookmark_seconds=0.4))
    written(server)
    version = server.call(lambda: server.store.resource_version)
    query = f"watch=1&allowWatchBookmarks=true&resourceVersion={version}&timeoutSeconds=1"
    lines = server.events(f"{JOBS}?{query}")
    assert [line["type"] for line in lines] == ["BOOKMARK", "BOOKMARK"]
    assert lines[0]["object"] == {
        "apiVersion": "kubeflow.org/v1",
        "kind": "TFJob",
        "metadata": {"resourceVersion": str(version)},
    }
    assert server.events(f"/api/v1/events?{query}") == []
    assert server.events(f"{JOBS}?watch=1&resourceVersion={version}&timeoutSeconds=1") == []


def test_future_version_is_silent_until_it_is_reached(server: SimServer) -> None:
    ahead = server.call(lambda: server.store.resource_version) + 2
    watch = server.open_watch(f"{JOBS}?watch=1&resourceVersion={ahead}&timeoutSeconds=2")
    versions = written(server, 4)
    assert watch.to_end()
    shown = [version for version in versions if f'"resourceVersion":"{version}"'.encode() in watch.received]
    assert shown == [version for version in versions if version > ahead]
    watch.close()


def test_ends_on_purpose(server: SimServer) -> None:
    closed, cut = server.open_watch(f"{JOBS}?watch=1"), server.open_watch("/api/v1/pods?watch=1")
    assert server.control("watches/end", mode="close", resource="tfjobs.kubeflow.org") == {"ended": 1}
    assert closed.to_end()
    assert server.control("watches/end", mode="abort") == {"ended": 1}
    assert not cut.to_end()
    assert server.get("/sim/state").json()["watches"] == []


def test_stalled_streams_are_silent_and_lose_nothing(server: SimServer) -> None:
    watch = server.open_watch(f"{JOBS}?watch=1&timeoutSeconds=60")
    server.control("watches/stall", on=True)
    versions = written(server)
    assert watch.silent_for(0.3)
    server.control("watches/stall", on=False)
    watch.wait_for(f'"resourceVersion":"{versions[-1]}"'.encode())
    watch.close()


def test_a_client_that_leaves_is_forgotten(server: SimServer) -> None:
    watch = server.open_watch(f"{JOBS}?watch=1")
    assert server.get("/sim/state").json()["watches"] == ["tfjobs.kubeflow.org"]
    watch.close()
    for _ in range(100):
        if not server.get("/sim/state").json()["watches"]:
            return
    raise AssertionError("the watch is still there")


def test_a_slow_client_blocks_nobody_and_is_dropped(start_server: Callable[..., SimServer]) -> None:
    server = start_server(Options(queue_limit=50))
    slow = RawWatch(server.port, f"{JOBS}?watch=1&resourceVersion=2", receive_buffer=4096)
    quick = server.open_watch(f"{JOBS}?watch=1&resourceVersion=2&fieldSelector=metadata.name%3Dlast")

    def write(batch: int) -> None:
        for number in range(40):
            server.store.create(TFJOBS, tfjob(f"j{batch}-{number}", annotations={"big": "x" * 20_000}))

    for batch in range(40):
        server.call(write, batch)
    server.call(server.store.create, TFJOBS, tfjob("last"))
    quick.wait_for(b'"name":"last"')
    assert server.get("/sim/state").json()["watches"] == ["tfjobs.kubeflow.org"]
    assert not slow.to_end()
    assert slow.received.count(b'"ADDED"') < 1600
    for watch in (slow, quick):
        watch.close()


def test_initial_events_need_their_match(server: SimServer) -> None:
    answer = server.get(f"{JOBS}?watch=1&sendInitialEvents=true")
    assert (answer.status, answer.json()["reason"]) == (422, "Invalid")


def test_go_escapes_in_lines(server: SimServer) -> None:
    server.call(server.store.create, TFJOBS, tfjob(annotations={"command": "sleep 1 && echo <done>"}))
    body = server.get(f"{JOBS}?watch=1&timeoutSeconds=1").body
    assert b"sleep 1 \\u0026\\u0026 echo \\u003cdone\\u003e" in body
    assert json.loads(body)["object"]["metadata"]["annotations"]["command"] == "sleep 1 && echo <done>"
