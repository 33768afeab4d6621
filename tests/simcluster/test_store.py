"""The store's rules for writes, seen through its subscribers; virtual time."""

import random
from typing import Any

import pytest

from simcluster.clock import ManualClock, rfc3339
from simcluster.errors import ApiError
from simcluster.resources import EVENTS, NAMESPACES, PODS, TFJOBS, VOLCANO_PODGROUPS, Resource
from simcluster.store import Store
from tests.simcluster.simserver import pod, tfjob

Obj = dict[str, Any]


class World:
    def __init__(self) -> None:
        self.clock = ManualClock()
        self.store = Store(self.clock, random.Random(1))
        self.store.ensure_namespace("wire")
        self.seen: list[tuple[str, str, int]] = []
        self.store.subscribe(self._note)

    def _note(self, kind: str, resource: Resource, obj: Obj, old: Obj | None) -> None:
        self.seen.append((kind, resource.plural, int(obj["metadata"]["resourceVersion"])))

    def kinds(self) -> list[str]:
        return [kind for kind, _, _ in self.seen]


@pytest.fixture
def world() -> World:
    return World()


def error_of(fn: Any, *args: Any, **kwargs: Any) -> ApiError:
    with pytest.raises(ApiError) as caught:
        fn(*args, **kwargs)
    return caught.value


def test_create_fills_in_what_the_server_owns(world: World) -> None:
    obj = tfjob(uid="mine", generation=9, creationTimestamp="1999-01-01T00:00:00Z")
    created = world.store.create(TFJOBS, {**obj, "status": {"conditions": []}})
    metadata = created["metadata"]
    assert metadata["uid"] != "mine"
    assert metadata["generation"] == 1
    assert metadata["creationTimestamp"] == "2026-11-29T12:43:35Z"
    assert metadata["resourceVersion"] == str(world.store.resource_version)
    assert "status" not in created
    assert list(metadata) == sorted(metadata)
    assert world.store.get(TFJOBS, "wire", "tftest") is created


def test_the_same_seed_gives_the_same_uids(world: World) -> None:
    first = world.store.create(TFJOBS, tfjob())["metadata"]["uid"]
    assert World().store.create(TFJOBS, tfjob())["metadata"]["uid"] == first


def test_run_policy_gets_its_default(world: World) -> None:
    job = tfjob()
    job["spec"]["runPolicy"] = {"backoffLimit": 3}
    assert world.store.create(TFJOBS, job)["spec"]["runPolicy"] == {"backoffLimit": 3, "suspend": False}


def test_generate_name(world: World) -> None:
    job = tfjob()
    job["metadata"] = {"generateName": "run-", "namespace": "wire"}
    name = world.store.create(TFJOBS, job)["metadata"]["name"]
    assert name.startswith("run-")
    assert len(name) == len("run-") + 5


@pytest.mark.parametrize(
    ("obj", "code"),
    [
        (tfjob(name="Bad_Name"), 422),
        (tfjob(name="x" * 254), 422),
        (tfjob(name=""), 422),
        (tfjob(namespace="absent"), 404),
        (tfjob(resourceVersion="3"), 400),
        ({**tfjob(), "kind": "PyTorchJob"}, 400),
        ({**tfjob(), "spec": "text"}, 400),
        ({**tfjob(), "metadata": None}, 422),
        ({**tfjob(), "metadata": "text"}, 400),
        (tfjob(labels={"a": 1}), 400),
        (tfjob(ownerReferences=["x"]), 400),
        ([], 400),
    ],
)
def test_create_refuses(world: World, obj: Any, code: int) -> None:
    before = world.store.resource_version
    assert error_of(world.store.create, TFJOBS, obj).code == code
    assert world.store.resource_version == before


def test_create_twice_is_a_conflict(world: World) -> None:
    world.store.create(TFJOBS, tfjob())
    assert error_of(world.store.create, TFJOBS, tfjob()).reason == "AlreadyExists"


def test_spec_raises_the_generation_and_status_does_not(world: World) -> None:
    job = world.store.create(TFJOBS, tfjob())
    job = world.store.update(TFJOBS, {**job, "status": {"conditions": []}}, "status")
    assert (job["metadata"]["generation"], job["status"]) == (1, {"conditions": []})
    job = world.store.update(TFJOBS, {**job, "spec": {**job["spec"], "x": 1}, "status": {"lost": True}})
    assert (job["metadata"]["generation"], job["status"]) == (2, {"conditions": []})
    labelled = {**job, "metadata": {**job["metadata"], "labels": {"a": "b"}}}
    assert world.store.update(TFJOBS, labelled)["metadata"]["generation"] == 2


def test_volcano_podgroup_has_no_status_subresource(world: World) -> None:
    group = world.store.create(VOLCANO_PODGROUPS, {"metadata": {"name": "a", "namespace": "wire"}, "spec": {}})
    group = world.store.update(VOLCANO_PODGROUPS, {**group, "status": {"phase": "Inqueue"}})
    assert (group["metadata"]["generation"], group["status"]) == (2, {"phase": "Inqueue"})


def test_binding_keeps_the_generation(world: World) -> None:
    new = world.store.create(PODS, pod("p"))
    bound = world.store.update(PODS, {**new, "spec": {**new["spec"], "nodeName": "las1"}}, "binding")
    assert (bound["metadata"]["generation"], bound["spec"]["nodeName"]) == (1, "las1")


def test_a_write_that_changes_nothing_is_silent(world: World) -> None:
    job = world.store.create(TFJOBS, tfjob())
    before = list(world.seen)
    assert world.store.update(TFJOBS, job) is job
    assert world.store.patch_merge(TFJOBS, "wire", "tftest", {"metadata": {"labels": {"a": None}}}) is job
    assert world.seen == before


def test_an_old_version_conflicts(world: World) -> None:
    old = world.store.create(TFJOBS, tfjob())
    world.store.update(TFJOBS, {**old, "status": {"a": 1}}, "status")
    assert error_of(world.store.update, TFJOBS, {**old, "spec": {}}).reason == "Conflict"
    unversioned = {**old, "metadata": {"name": "tftest", "namespace": "wire"}, "status": {"a": 2}}
    assert world.store.update(TFJOBS, unversioned, "status")["status"] == {"a": 2}
    other = {**unversioned, "metadata": {**unversioned["metadata"], "uid": "another"}}
    assert error_of(world.store.update, TFJOBS, other).reason == "Conflict"


def test_stored_objects_stay_as_they_were(world: World) -> None:
    first = world.store.create(TFJOBS, tfjob(labels={"a": "b"}))
    copy = {**first, "metadata": dict(first["metadata"])}
    world.store.patch_merge(TFJOBS, "wire", "tftest", {"metadata": {"labels": {"a": "c"}}, "spec": {"x": 1}})
    assert first == copy


def test_merge_patch_cannot_rename(world: World) -> None:
    world.store.create(TFJOBS, tfjob())
    patch = {"metadata": {"name": "other"}}
    assert error_of(world.store.patch_merge, TFJOBS, "wire", "tftest", patch).code == 400
    assert error_of(world.store.patch_merge, TFJOBS, "wire", "tftest", {"metadata": None}).code == 400
    assert error_of(world.store.patch_merge, TFJOBS, "wire", "tftest", [1]).code == 400


def test_a_running_pod_is_deleted_in_three_writes(world: World) -> None:
    world.store.create(PODS, pod("p", node="las1"))
    world.clock.advance(10)
    asked = world.clock.now()
    marked = world.store.delete(PODS, "wire", "p")["metadata"]
    assert (marked["deletionTimestamp"], marked["deletionGracePeriodSeconds"]) == (rfc3339(asked + 5), 5)
    assert marked["generation"] == 2
    assert world.store.delete(PODS, "wire", "p")["metadata"] == marked  # nothing new
    assert world.store.delete(PODS, "wire", "p", grace_seconds=60)["metadata"] == marked  # may only be shortened
    world.clock.advance(1)
    gone = world.store.delete(PODS, "wire", "p", grace_seconds=0)["metadata"]
    assert (gone["deletionTimestamp"], gone["deletionGracePeriodSeconds"]) == (
        rfc3339(asked + 1),
        0,
    )  # as recorded: now
    assert gone["generation"] == 2
    assert world.kinds() == ["ADDED", "MODIFIED", "MODIFIED", "DELETED"]
    versions = [version for _, _, version in world.seen]
    assert versions == sorted(set(versions))
    assert world.store.find(PODS, "wire", "p") is None


@pytest.mark.parametrize(("node", "phase"), [(None, "Pending"), ("las1", "Failed"), ("las1", "Succeeded")])
def test_a_pod_that_does_not_run_goes_at_once(world: World, node: str | None, phase: str) -> None:
    world.store.create(PODS, {**pod("p", node=node), "status": {"phase": phase}})
    gone = world.store.delete(PODS, "wire", "p")["metadata"]
    assert (gone["deletionGracePeriodSeconds"], gone["deletionTimestamp"]) == (0, rfc3339(world.clock.now()))
    assert world.kinds() == ["ADDED", "MODIFIED", "DELETED"]


def test_a_job_goes_without_a_mark(world: World) -> None:
    world.store.create(TFJOBS, tfjob())
    gone = world.store.delete(TFJOBS, "wire", "tftest")
    assert "deletionTimestamp" not in gone["metadata"]
    assert gone["metadata"]["resourceVersion"] == str(world.store.resource_version)
    assert world.kinds() == ["ADDED", "DELETED"]


@pytest.mark.parametrize("resource", [PODS, TFJOBS])
def test_a_finalizer_holds_the_object(world: World, resource: Resource) -> None:
    obj = pod("tftest") if resource is PODS else tfjob()
    obj["metadata"]["finalizers"] = ["example.com/hold"]
    world.store.create(resource, obj)
    held = world.store.delete(resource, "wire", "tftest")
    assert held["metadata"]["deletionTimestamp"] == rfc3339(world.clock.now())
    assert world.kinds() == ["ADDED", "MODIFIED"]
    world.store.patch_merge(resource, "wire", "tftest", {"metadata": {"finalizers": None}})
    assert world.kinds() == ["ADDED", "MODIFIED", "MODIFIED", "DELETED"]
    assert world.store.find(resource, "wire", "tftest") is None


def test_delete_preconditions(world: World) -> None:
    world.store.create(TFJOBS, tfjob())
    wrong_uid = error_of(world.store.delete, TFJOBS, "wire", "tftest", uid="another")
    assert "does not match the UID in record" in wrong_uid.message
    assert error_of(world.store.delete, TFJOBS, "wire", "tftest", resource_version="1").code == 409
    assert error_of(world.store.delete, TFJOBS, "wire", "absent").code == 404
    assert world.kinds() == ["ADDED"]


def test_writes_of_subscribers_are_delivered_in_order() -> None:
    world = World()
    second: list[tuple[str, int]] = []

    def first(kind: str, resource: Resource, obj: Obj, old: Obj | None) -> None:
        if kind == "ADDED" and resource is TFJOBS:
            world.store.update(TFJOBS, {**obj, "status": {"a": 1}}, "status")
            assert world.store.get(TFJOBS, "wire", "tftest")["status"] == {"a": 1}  # complete, only not told yet

    world.store.subscribe(first)
    world.store.subscribe(
        lambda kind, resource, obj, old: second.append((kind, int(obj["metadata"]["resourceVersion"])))
    )
    world.store.create(TFJOBS, tfjob())
    assert second == [("ADDED", 2), ("MODIFIED", 3)]


def test_a_failing_subscriber_keeps_nothing_from_the_others(world: World) -> None:
    def fail(*_: Any) -> None:
        raise RuntimeError("broken")

    stop = world.store.subscribe(fail)
    with pytest.raises(RuntimeError):
        world.store.create(TFJOBS, tfjob())
    stop()
    late: list[str] = []
    world.store.subscribe(lambda kind, *_: late.append(kind))
    world.store.delete(TFJOBS, "wire", "tftest")
    assert (world.kinds(), late) == (["ADDED", "DELETED"], ["DELETED"])


def test_lists_are_in_key_order_and_select(world: World) -> None:
    for namespace in ("wire-2", "other"):
        world.store.ensure_namespace(namespace)
    for name, namespace in (("b", "wire"), ("a", "wire"), ("c", "wire-2"), ("d", "other")):
        world.store.create(PODS, {**pod(name, namespace, labels={"n": name}), "status": {"phase": "Pending"}})

    def names(**selectors: str | None) -> list[str]:
        return [obj["metadata"]["name"] for obj in world.store.list(PODS, **selectors)]

    assert names() == ["d", "c", "a", "b"]  # etcd's order: "wire-2/" sorts before "wire/"
    assert names(namespace="wire") == ["a", "b"]
    assert names(label_selector="n in (a,c)") == ["c", "a"]
    assert names(field_selector="metadata.namespace=wire,metadata.name!=a") == ["b"]
    assert names(field_selector="status.phase=Running") == []


def test_scan_shows_an_earlier_version(world: World) -> None:
    for name in ("a", "b", "c"):
        world.store.create(PODS, pod(name))
    then = world.store.resource_version
    before = world.store.list(PODS, "wire")
    world.store.update(PODS, {**world.store.get(PODS, "wire", "a"), "status": {"phase": "Running"}}, "status")
    world.store.delete(PODS, "wire", "b")
    world.store.create(PODS, pod("b"))
    world.store.delete(PODS, "wire", "c")
    world.store.create(PODS, pod("d"))
    keys, lookup = world.store.scan(PODS, "wire", version=then)
    assert [lookup(key) for key in keys] == before
    keys, lookup = world.store.scan(PODS, None, start="wire/b\0", version=then)
    assert [lookup(key) for key in keys] == before[2:]
    world.store.compact()
    assert error_of(world.store.scan, PODS, "wire", version=then).code == 410


def test_compaction_by_version_and_by_age(world: World) -> None:
    world.store.create(TFJOBS, tfjob("a"))
    world.clock.advance(100)
    world.store.create(TFJOBS, tfjob("b"))
    newest = world.store.resource_version
    assert world.store.compact(keep_seconds=50) == newest - 1
    assert [change.version for change in world.store.history(TFJOBS)] == [newest]
    too_old = error_of(world.store.checked_history, TFJOBS, newest - 2)
    assert (too_old.code, too_old.message) == (410, f"too old resource version: {newest - 2} ({newest - 1})")
    events = error_of(world.store.checked_history, EVENTS, 0)
    assert events.message == "The resourceVersion for the provided watch is too old."
    world.store.checked_history(TFJOBS, newest - 1)


def test_history_is_bounded() -> None:
    store = Store(ManualClock(), random.Random(1), history_limit=10)
    store.ensure_namespace("wire")
    job = store.create(TFJOBS, tfjob())
    for number in range(100):
        job = store.update(TFJOBS, {**job, "status": {"n": number}}, "status")
    assert 10 <= len(store.history(TFJOBS)) <= 13
    with pytest.raises(ApiError):
        store.checked_history(TFJOBS, 50)


def test_namespaces_carry_the_servers_fields(world: World) -> None:
    namespace = world.store.get(NAMESPACES, None, "wire")
    assert namespace["metadata"]["labels"] == {"kubernetes.io/metadata.name": "wire"}
    assert namespace["status"] == {"phase": "Active"}
    assert "namespace" not in namespace["metadata"]
