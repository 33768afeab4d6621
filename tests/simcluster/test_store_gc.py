"""Garbage collection over the store, in virtual time."""

import random
from typing import Any

import pytest

from simcluster.clock import ManualClock
from simcluster.gc import GarbageCollector
from simcluster.resources import CONFIGMAPS, NAMESPACES, PODS, TFJOBS
from simcluster.store import Store
from tests.simcluster.simserver import pod, tfjob

Obj = dict[str, Any]


class World:
    def __init__(self) -> None:
        self.clock = ManualClock()
        self.store = Store(self.clock, random.Random(1))
        GarbageCollector(self.store, self.clock, random.Random(2))
        self.store.ensure_namespace("wire")

    def owned(self, *owners: Obj, name: str = "p", node: str | None = None) -> Obj:
        references = [{"uid": owner["metadata"]["uid"], "name": owner["metadata"]["name"]} for owner in owners]
        return self.store.create(PODS, pod(name, node=node, ownerReferences=references))


@pytest.fixture
def world() -> World:
    return World()


def test_dependents_go_after_their_owner_with_a_delay(world: World) -> None:
    owner = world.store.create(TFJOBS, tfjob())
    world.owned(owner, name="a")
    world.owned(owner, name="b", node="las1")
    world.store.delete(TFJOBS, "wire", "tftest")
    assert world.store.count(PODS) == 2
    world.clock.advance(0.009)
    assert world.store.count(PODS) == 2
    world.clock.advance(0.1)
    assert world.store.find(PODS, "wire", "a") is None
    assert world.store.get(PODS, "wire", "b")["metadata"]["deletionGracePeriodSeconds"] == 5


def test_an_owner_of_the_same_name_is_another(world: World) -> None:
    owner = world.store.create(TFJOBS, tfjob())
    world.owned(owner)
    world.store.delete(TFJOBS, "wire", "tftest")
    world.store.create(TFJOBS, tfjob())
    world.clock.advance(1)
    assert world.store.count(PODS) == 0


def test_born_without_a_living_owner(world: World) -> None:
    owner = world.store.create(TFJOBS, tfjob())
    world.store.delete(TFJOBS, "wire", "tftest")
    world.owned(owner)
    world.clock.advance(1)
    assert world.store.count(PODS) == 0


def test_one_of_two_owners_is_enough(world: World) -> None:
    first, second = world.store.create(TFJOBS, tfjob("one")), world.store.create(TFJOBS, tfjob("two"))
    world.owned(first, second)
    world.store.delete(TFJOBS, "wire", "one")
    world.clock.advance(1)
    references = world.store.get(PODS, "wire", "p")["metadata"]["ownerReferences"]
    assert [reference["uid"] for reference in references] == [second["metadata"]["uid"]]
    world.store.delete(TFJOBS, "wire", "two")
    world.clock.advance(1)
    assert world.store.count(PODS) == 0


def test_orphan_leaves_the_dependents(world: World) -> None:
    world.owned(world.store.create(TFJOBS, tfjob()))
    held = world.store.delete(TFJOBS, "wire", "tftest", propagation="Orphan")
    assert held["metadata"]["finalizers"] == ["orphan"]
    world.clock.advance(1)
    assert world.store.count(TFJOBS) == 0
    assert "ownerReferences" not in world.store.get(PODS, "wire", "p")["metadata"]


def test_foreground_waits_for_the_dependents(world: World) -> None:
    world.owned(world.store.create(TFJOBS, tfjob()), node="las1")
    world.store.delete(TFJOBS, "wire", "tftest", propagation="Foreground")
    world.clock.advance(3)
    assert world.store.get(TFJOBS, "wire", "tftest")["metadata"]["finalizers"] == ["foregroundDeletion"]
    world.store.delete(PODS, "wire", "p", grace_seconds=0)  # the kubelet is done
    world.clock.advance(1)
    assert world.store.count(TFJOBS) == 0


def test_foreground_without_dependents(world: World) -> None:
    world.store.create(TFJOBS, tfjob())
    world.store.delete(TFJOBS, "wire", "tftest", propagation="Foreground")
    world.clock.advance(1)
    assert world.store.count(TFJOBS) == 0


def test_a_namespace_goes_when_it_is_empty(world: World) -> None:
    world.store.create(TFJOBS, tfjob())
    world.store.create(CONFIGMAPS, {"metadata": {"name": "c", "namespace": "wire"}, "data": {}})
    world.store.create(PODS, pod("p", node="las1"))
    assert world.store.delete(NAMESPACES, None, "wire")["status"] == {"phase": "Terminating"}
    world.clock.advance(1)
    assert (world.store.count(TFJOBS), world.store.count(CONFIGMAPS)) == (0, 0)
    assert world.store.find(NAMESPACES, None, "wire") is not None
    world.store.delete(PODS, "wire", "p", grace_seconds=0)
    world.clock.advance(1)
    assert world.store.find(NAMESPACES, None, "wire") is None
