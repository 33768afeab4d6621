"""The Event recorder: counting, folding, the limit of 25, expiry. Virtual time."""

import random
from typing import Any

import pytest

from simcluster.clock import ManualClock, rfc3339
from simcluster.controllers.recorder import FOLDED_PREFIX, EventRecorder
from simcluster.resources import EVENTS, TFJOBS
from simcluster.store import Store

Obj = dict[str, Any]


class World:
    def __init__(self, **options: Any) -> None:
        self.clock = ManualClock()
        self.store = Store(self.clock, random.Random(1))
        self.store.ensure_namespace("default")
        self.recorder = EventRecorder(self.store, self.clock, random.Random(2), "tfjob-controller", **options)
        self.job = self.made("tftest")

    def made(self, name: str) -> Obj:
        spec = {"runPolicy": {}, "tfReplicaSpecs": {}}
        return self.store.create(TFJOBS, {"metadata": {"name": name}, "spec": spec}, "default")

    def tell(self, message: str, reason: str = "Reason", about: Obj | None = None) -> None:
        self.recorder.event(about or self.job, "Normal", reason, message)
        self.clock.advance(0.1)

    def events(self) -> list[Obj]:
        return self.store.list(EVENTS)


def test_the_same_message_raises_the_count_of_the_first_event() -> None:
    world = World()
    for _ in range(3):
        world.tell("Created pod: a")
        world.clock.advance(1)
    (event,) = world.events()
    assert event["count"] == 3
    assert event["firstTimestamp"] == event["metadata"]["creationTimestamp"]
    assert event["lastTimestamp"] > event["firstTimestamp"]
    assert event["involvedObject"]["uid"] == world.job["metadata"]["uid"]


def test_a_repetition_keeps_the_involved_objects_first_version() -> None:
    world = World()
    world.tell("same")
    newer = world.store.update(TFJOBS, {**world.job, "status": {"startTime": "2026-11-29T12:43:35Z"}}, "status")
    world.tell("same", about=newer)
    (event,) = world.events()
    assert event["involvedObject"]["resourceVersion"] == world.job["metadata"]["resourceVersion"]


def test_messages_of_one_moment_become_events_in_order() -> None:
    world = World()
    for index in range(5):
        world.recorder.event(world.job, "Normal", "Reason", f"message {index}")
    world.clock.advance(1)
    by_version = sorted(world.events(), key=lambda event: int(event["metadata"]["resourceVersion"]))
    assert [event["message"] for event in by_version] == [f"message {index}" for index in range(5)]


def test_the_tenth_similar_message_is_folded() -> None:
    world = World()
    for index in range(12):
        world.tell(f"Created pod: {index}")
    folded = [event for event in world.events() if event["message"].startswith(FOLDED_PREFIX)]
    assert len(world.events()) == 10
    assert [event["message"] for event in folded] == [f"{FOLDED_PREFIX}Created pod: 11"]
    assert folded[0]["count"] == 3


def test_similar_means_the_same_reason() -> None:
    world = World()
    for index in range(9):
        world.tell(f"Created pod: {index}")
    world.tell("Deleted pod: 1", reason="Other")
    assert not [event for event in world.events() if event["message"].startswith(FOLDED_PREFIX)]


def test_nothing_is_folded_when_ten_minutes_lie_between() -> None:
    world = World()
    for index in range(12):
        world.tell(f"Created pod: {index}")
        world.clock.advance(601 if index == 8 else 0)
    assert not [event for event in world.events() if event["message"].startswith(FOLDED_PREFIX)]


def test_after_25_events_of_an_object_one_gets_through_in_5_minutes() -> None:
    world = World()
    for index in range(40):
        world.tell("again", reason=f"Reason{index % 20}")
    assert sum(event["count"] for event in world.events()) == 25
    assert world.recorder.dropped == 15
    world.clock.advance(300)
    world.tell("again", reason="Reason0")
    world.tell("again", reason="Reason1")
    counts = {event["reason"]: event["count"] for event in world.events()}
    assert counts["Reason0"] == 3  # what was dropped has been counted
    assert counts["Reason1"] == 2


def test_a_first_event_that_was_dropped_appears_later_with_its_true_count() -> None:
    world = World()
    for index in range(25):
        world.tell("x", reason=f"Reason{index}")
    for _ in range(3):
        world.tell("late", reason="Late")
    assert not [event for event in world.events() if event["reason"] == "Late"]
    world.clock.advance(300)
    world.tell("late", reason="Late")
    (late,) = [event for event in world.events() if event["reason"] == "Late"]
    assert late["count"] == 4


def test_the_limit_is_per_object() -> None:
    world = World()
    other = world.made("other")
    for index in range(30):
        world.tell("x", reason=f"Reason{index}")
    world.tell("x", about=other)
    assert [event for event in world.events() if event["involvedObject"]["name"] == "other"]


def test_volcanos_limit_goes_by_reason() -> None:
    world = World(by_reason=True)
    for _ in range(30):
        world.tell("again", "Unschedulable")
    world.tell("ready", "Scheduled")
    assert {event["reason"]: event["count"] for event in world.events()} == {"Unschedulable": 25, "Scheduled": 1}


@pytest.mark.parametrize(("after", "left"), [(3590, 1), (3700, 0)])
def test_an_event_lives_for_an_hour_after_its_last_write(after: float, left: int) -> None:
    world = World()
    world.tell("x")
    world.clock.advance(1800)
    world.tell("x")
    written = world.events()[0]["lastTimestamp"]
    assert written == rfc3339(world.clock.now() - 0.1)
    world.clock.advance(after)
    assert len(world.events()) == left


def test_events_about_a_vanished_namespace_are_dropped() -> None:
    world = World()
    lost = {**world.job, "metadata": {**world.job["metadata"], "namespace": "gone"}}
    world.tell("x", about=lost)
    assert world.events() == []
    assert world.recorder.dropped == 1


def test_what_was_said_long_ago_is_forgotten() -> None:
    """Only so many messages are remembered: a repetition of an older one is a new Event."""
    world = World(by_reason=True)
    world.tell("old", reason="Old")
    for index in range(4096):
        world.recorder.event(world.job, "Normal", f"Reason{index}", "new")
    world.clock.advance(100)
    world.tell("old", reason="Old")
    assert [event["count"] for event in world.events() if event["reason"] == "Old"] == [1, 1]
