"""The list/watch state machine in virtual time: what it asks, and what it makes of the answers."""

import random

import pytest

from jobs.ingest.listwatch import follow
from jobs.ingest.messages import (
    Bookmark,
    Changed,
    ListDone,
    Listed,
    Listing,
    Skipped,
    State,
    cursor_after,
)
from jobs.ingest.timing import Timing
from jobs.ingest.transport import Cut, Stop
from tests.ingest.following import PODS, Run, shape
from tests.ingest.recorded import exchange
from tests.ingest.virtual import (
    Script,
    ScriptedTransport,
    VirtualClock,
    a_bookmark,
    a_change,
    a_line,
    a_list,
    an_object,
    refusal,
)

# --- the normal course


def test_a_stream_lists_then_watches_from_the_lists_version() -> None:
    run = Run(Script(a_list(50, an_object("a", 10), an_object("b", 99))), Script(a_change("a", 51)))
    assert run.asked[:2] == ["list", "watch 50"]  # not 99: never from items
    assert shape(run.messages)[:5] == ["Listing", "Listed", "ListDone", "Status", "Changed"]
    (listed,) = run.said(Listed)
    assert [(meta.name, meta.resource_version) for meta, _ in listed.items] == [("a", 10), ("b", 99)]
    (done,) = run.said(ListDone)
    assert (done.resource_version, done.seen, done.unreadable) == (50, {"uid-a", "uid-b"}, 0)
    assert run.transport.requests[0][1] == {"limit": "500", "labelSelector": "training.kubeflow.org/operator-name"}


def test_a_watch_asks_for_bookmarks_and_a_random_timeout_between_four_and_five_minutes() -> None:
    run = Run(*[Script(60.0, a_bookmark(60 + i)) for i in range(20)], resume_rv=50)
    timeouts = {int(query["timeoutSeconds"]) for _, query in run.transport.requests}
    assert min(timeouts) >= 240
    assert max(timeouts) <= 300
    assert len(timeouts) > 5
    assert all(query["allowWatchBookmarks"] == "true" for _, query in run.transport.requests)


def test_a_stored_version_is_resumed_without_a_list() -> None:
    run = Run(Script(a_change("a", 51)), resume_rv=50)
    assert run.asked[0] == "watch 50"
    assert not run.said(Listing)


def test_a_watch_that_ends_properly_goes_on_from_objects_and_bookmarks() -> None:
    run = Run(
        Script(a_change("a", 51), 140.0),
        Script(100.0, a_bookmark(70), 100.0),
        Script(a_change("a", 80, "DELETED"), 9.0),
        resume_rv=50,
    )
    assert run.asked == ["watch 50", "watch 51", "watch 70", "watch 80"]
    assert run.pauses == []
    assert [cursor_after(message) for message in run.said(Changed, Bookmark)] == [51, 70, 80]


def test_a_list_comes_in_pages_and_in_messages_of_one_transaction() -> None:
    first, second = ([an_object(f"{page}{i}", i) for i in range(300)] for page in "ab")
    run = Run(Script(a_list(50, *first, token="t1")), Script(a_list(50, *second)), Script(9.0))
    assert run.asked[:3] == ["list", "list more", "watch 50"]
    assert run.transport.requests[1][1]["continue"] == "t1"
    assert [len(listed.items) for listed in run.said(Listed)] == [200, 100, 200, 100]
    assert len(run.said(ListDone)[0].seen) == 600


def test_a_recorded_list_page_and_a_recorded_watch_are_followed() -> None:
    page = exchange("list-paged").body.replace(b'"continue": "eyJ2', b'"none": "')
    run = Run(Script(page), Script(exchange("watch-timeout").body))
    assert run.asked == ["list", "watch 25305", "watch 25305"]
    assert [change.event.meta.name for change in run.said(Changed)] == [f"tftest-worker-{i}" for i in range(3)]


def test_the_version_does_not_go_back_within_a_watch() -> None:
    run = Run(Script(a_change("a", 60), a_change("b", 55), 9.0), resume_rv=50)
    assert run.asked == ["watch 50", "watch 60"]


# --- streaming lists


def test_a_streaming_list_is_told_as_a_list_and_goes_on_as_a_watch() -> None:
    body = exchange("watch-initial-events").body
    run = Run(Script(body, a_change("x", 25310), 9.0), streaming_lists=True)
    assert run.asked == ["watch all", "watch 25310"]
    assert run.transport.requests[0][1]["sendInitialEvents"] == "true"
    assert shape(run.messages)[:5] == ["Listing", "Status", "Listed", "ListDone", "Changed"]
    (done,) = run.said(ListDone)
    assert (done.resource_version, len(done.seen)) == (25309, 3)


@pytest.mark.parametrize("answer", [refusal(422, "Invalid"), Script(a_change("a", 5, "ADDED"), 9.0)])
def test_a_cluster_without_streaming_lists_is_paged(answer: Script) -> None:
    run = Run(answer, Script(a_list(50)), Script(9.0), streaming_lists=True)
    assert run.asked[:3] == ["watch all", "list", "watch 50"]
    assert run.pauses == []


def test_an_interrupted_streaming_list_is_not_taken_for_complete() -> None:
    run = Run(
        Script(a_change("a", 5, "ADDED"), end=Cut("cut")),
        Script(a_change("a", 5, "ADDED"), a_bookmark(9, initial=True), 9.0),
        streaming_lists=True,
    )
    assert run.asked[:3] == ["watch all", "watch all", "watch 9"]
    assert len(run.said(ListDone)) == 1


# --- bad objects


def test_an_odd_object_is_skipped_named_and_not_taken_for_gone() -> None:
    odd = an_object("odd", 11, status={"phase": 7}, spec={"containers": [{"env": "hunter2"}]})
    run = Run(Script(a_list(50, odd, an_object("a", 10), {"metadata": None})), Script(a_line("ADDED", odd), 9.0))
    assert [(s.reason, s.uid) for s in run.said(Skipped)] == [
        ("wrong type: status.phase", "uid-odd"),
        ("no metadata", ""),
        ("wrong type: status.phase", "uid-odd"),
    ]
    assert run.said(Skipped)[0].sample == "ns/odd"
    (done,) = run.said(ListDone)
    assert (done.seen, done.unreadable) == ({"uid-odd", "uid-a"}, 1)
    assert State.WATCHING in run.states


def test_a_bad_line_does_not_end_the_watch() -> None:
    lines = [a_change("a", 51), b"\xff\xfe not json\n", b"\n", a_line("MOVED", an_object("a", 52)), a_change("a", 53)]
    run = Run(Script(*lines, 9.0), resume_rv=50)
    assert [skipped.reason for skipped in run.said(Skipped)] == ["not JSON", "unknown event type"]
    assert all(character.isprintable() for skipped in run.said(Skipped) for character in skipped.sample)
    assert [change.event.resource_version for change in run.said(Changed)] == [51, 53]
    assert run.asked[1] == "watch 53"


def test_a_huge_line_is_dropped_in_bounded_memory() -> None:
    chunks = [a_change("a", 51)[:-1], b"\n" + b"x" * 600, b"y" * 600, b"y\n" + a_change("a", 52)]
    run = Run(Script(*chunks, 9.0), resume_rv=50, timing=Timing(max_line=1000))
    assert [(s.reason, s.sample) for s in run.said(Skipped)] == [("line too long", "x" * 80)]
    assert [change.event.resource_version for change in run.said(Changed)] == [51, 52]


def test_chunk_borders_inside_characters_do_not_matter() -> None:
    line = a_line("ADDED", an_object("a", 51, status={"message": "détaillé 中文"}))
    run = Run(Script(*[line[i : i + 1] for i in range(len(line))], 9.0), resume_rv=50)
    assert run.said(Changed)[0].event.facts.status_message == "détaillé 中文"


# --- stop


def test_a_stop_ends_the_stream_between_messages() -> None:
    clock, stop = VirtualClock(), Stop()
    transport = ScriptedTransport(clock, Script(a_change("a", 51), a_change("a", 52), end=Cut("shut down")))
    messages = []
    for message in follow(PODS, transport, clock=clock, rng=random.Random(1), stop=stop, resume_rv=50):
        messages.append(message)
        if isinstance(message, Changed) and message.event.resource_version == 52:
            stop.set()
    assert shape(messages) == ["Status", "Changed", "Changed"]  # the shut socket is no trouble to tell
    assert clock.pauses == []
